//! Files in YAML as trees of texts, as far as a tool reads them so. A file that is not understood is not read at all: then
//! the caller looks through its lines instead.

use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser, ScalarStyle};

/// Deeper files are not read.
const MAX_DEPTH: usize = 24;

/// Larger files are not read.
const MAX_BYTES: usize = 256 * 1024;

/// More values than this are not read, those that aliases repeat included.
const MAX_VALUES: usize = 20_000;

/// A value of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Node {
    /// The file as a tree, where all of it is understood.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let mut options = Options::default();
        options.flow_nesting_limit = MAX_DEPTH;
        options.block_nesting_limit = MAX_DEPTH;
        options.set_emit_comments(false);
        let mut parser = Parser::new_from_str_with_options(text, options);
        let mut reader = Reader::default();
        while let Some(event) = parser.next_event() {
            reader.take(event.ok()?.0)?;
        }
        reader.root
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.pairs()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn pairs(&self) -> &[(String, Self)] {
        match self {
            Self::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// The items of a list; what is no list is its only item.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Text(text) if text.is_empty() => &[],
            other => std::slice::from_ref(other),
        }
    }

    fn size(&self) -> usize {
        let inner: usize = match self {
            Self::Text(text) => text.len() / 64,
            Self::List(items) => items.iter().map(Self::size).sum(),
            Self::Map(pairs) => pairs.iter().map(|(_, node)| node.size()).sum(),
        };
        inner.saturating_add(1)
    }
}

/// A list or a map that is being read.
struct Frame {
    anchor: usize,
    node: Node,
    /// The key whose value comes next.
    key: Option<String>,
    /// `<<: *other`.
    merged: Vec<Node>,
}

#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, Node>,
    values: usize,
    root: Option<Node>,
}

impl Reader {
    /// None when the file says something that is not read.
    fn take(&mut self, event: Event<'_>) -> Option<()> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let nothing = style == ScalarStyle::Plain && matches!(&*text, "~" | "null");
                let text = if nothing {
                    String::new()
                } else {
                    text.to_string()
                };
                self.keep(anchor, Node::Text(text))
            }
            Event::SequenceStart(_, anchor, _) => self.open(anchor, Node::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.open(anchor, Node::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => {
                let mut frame = self.frames.pop()?;
                if let Node::Map(pairs) = &mut frame.node {
                    frame.merged.iter().for_each(|other| merge(pairs, other));
                }
                self.keep(frame.anchor, frame.node)
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor)?.clone();
                self.count(node.size())?;
                self.keep(0, node)
            }
            // A second document.
            Event::DocumentStart(..) => self.root.is_none().then_some(()),
            _ => Some(()),
        }
    }

    fn open(&mut self, anchor: usize, node: Node) -> Option<()> {
        self.frames.push(Frame {
            anchor,
            node,
            key: None,
            merged: Vec::new(),
        });
        (self.frames.len() <= MAX_DEPTH).then_some(())
    }

    fn count(&mut self, values: usize) -> Option<()> {
        self.values = self.values.saturating_add(values);
        (self.values <= MAX_VALUES).then_some(())
    }

    /// Puts a value where it belongs.
    fn keep(&mut self, anchor: usize, node: Node) -> Option<()> {
        self.count(1)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        match (&mut frame.node, frame.key.take()) {
            (Node::Map(_), Some(key)) if key == "<<" => frame.merged.push(node),
            (Node::Map(pairs), Some(key)) => {
                if pairs.iter().any(|(name, _)| *name == key) {
                    return None;
                }
                pairs.push((key, node));
            }
            (Node::Map(_), None) => frame.key = Some(node.text()?.to_owned()),
            (Node::List(items), _) => items.push(node),
            (Node::Text(_), _) => return None,
        }
        Some(())
    }
}

/// `<<: *other`: what is not set here itself.
fn merge(pairs: &mut Vec<(String, Node)>, other: &Node) {
    for (key, value) in other.items().iter().flat_map(Node::pairs) {
        if !pairs.iter().any(|(name, _)| name == key) {
            pairs.push((key.clone(), value.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
