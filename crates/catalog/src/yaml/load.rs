//! Conversion of the parser's events to values: limits, duplicate keys, anchors and aliases.
//!
//! The parser crate handles the syntax; [`super::scalar`] interprets scalars.

use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle, Tag};

use super::keys::{self, Key};
use super::node::{NodeId, Raw, RawValue, Stretch, Style};
use super::{
    BYTE_ORDER_MARK, Broken, Document, Kind, MAX_ALIAS_COUNT, MAX_BYTES, MAX_DEPTH, MAX_EXPANSION,
    Remark, Source, scalar,
};

/// Parses and keeps the text.
pub(super) fn load(bytes: Vec<u8>) -> Result<Document, Box<Broken>> {
    let text = match String::from_utf8(bytes) {
        Ok(text) if text.len() <= MAX_BYTES => text,
        Ok(text) => return load_values(text.as_bytes()),
        Err(error) => return load_values(error.as_bytes()),
    };
    match Loader::read(&text).map(Loader::into_document) {
        Ok(mut document) => {
            document.source = Source::new(text);
            Ok(document)
        }
        Err(error) => Err(broken(text, error)),
    }
}

/// Parses and keeps the text only if it is broken.
pub(super) fn load_values(bytes: &[u8]) -> Result<Document, Box<Broken>> {
    if bytes.len() > MAX_BYTES {
        let what = format!("the file has {} bytes, more than {MAX_BYTES}", bytes.len());
        return Err(broken(String::new(), Remark { what, offset: 0 }));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let error = Remark {
            what: "the text is not UTF-8".to_owned(),
            offset: error.valid_up_to(),
        };
        // The position stays right if invalid bytes behind it are replaced.
        broken(String::from_utf8_lossy(bytes).into_owned(), error)
    })?;
    let loader = Loader::read(text).map_err(|error| broken(text.to_owned(), error))?;
    Ok(loader.into_document())
}

fn broken(text: String, error: Remark) -> Box<Broken> {
    let source = Source::new(text);
    Box::new(Broken { source, error })
}

/// An open list or map.
struct Frame {
    node: NodeId,
    is_map: bool,
    /// Column of a block, counted from 0, to the left of its content. `None` in brackets.
    indent: Option<usize>,
    /// Index of its first member among the pending ones.
    first: usize,
    anchor: usize,
    load: Load,
}

/// Cost of one more use of a value.
#[derive(Clone, Copy, Default)]
struct Load {
    /// Number of values and bytes of text, with aliases expanded.
    size: u64,
    /// Occurrences of its most repeated scalar; 0 for an empty collection.
    repeats: u64,
    /// Depth of its collections.
    depth: usize,
}

impl Load {
    fn include(&mut self, member: Self) {
        self.depth = self.depth.max(member.depth + 1);
        self.size = self.size.saturating_add(member.size);
        self.repeats = self.repeats.max(member.repeats);
    }
}

struct Anchor {
    node: NodeId,
    /// Number of uses so far, the anchored value itself included.
    uses: u64,
    /// `None` while the value is still open.
    load: Option<Load>,
}

struct Loader<'t> {
    /// The whole text.
    text: &'t str,
    /// Length of a byte order mark; the parser counts from behind it.
    base: usize,
    nodes: Vec<Raw>,
    members: Vec<NodeId>,
    strings: String,
    pending: Vec<NodeId>,
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, Anchor>,
    expansion: u64,
    warnings: Vec<Remark>,
    root: Option<NodeId>,
    documents: usize,
}

impl<'t> Loader<'t> {
    fn read(whole: &'t str) -> Result<Self, Remark> {
        let text = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole);
        let mut loader = Self {
            text: whole,
            base: whole.len() - text.len(),
            nodes: Vec::new(),
            members: Vec::new(),
            strings: String::with_capacity(text.len()),
            pending: Vec::new(),
            frames: Vec::new(),
            anchors: BTreeMap::new(),
            expansion: 0,
            warnings: Vec::new(),
            root: None,
            documents: 0,
        };
        loader.run(text)?;
        Ok(loader)
    }

    fn run(&mut self, text: &str) -> Result<(), Remark> {
        let mut options = Options::default();
        options.flow_nesting_limit = MAX_DEPTH;
        options.block_nesting_limit = MAX_DEPTH;
        options.set_emit_comments(false);
        let mut parser = Parser::new_from_str_with_options(text, options);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| Remark {
                what: error.info(),
                offset: self.base + error.marker().byte_offset().unwrap_or_default(),
            })?;
            self.take(event, &span)?;
        }
        Ok(())
    }

    /// Builds the document. A file without a document is null.
    fn into_document(mut self) -> Document {
        let root = self.root.unwrap_or(NodeId(0));
        if self.root.is_none() {
            self.nodes.push(Raw {
                span: Stretch { start: 0, end: 0 },
                style: Style::Plain,
                value: RawValue::Null,
            });
        }
        Document {
            nodes: self.nodes,
            members: self.members,
            strings: self.strings,
            root,
            warnings: self.warnings,
            source: Source::default(),
        }
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Remark> {
        match event {
            Event::DocumentStart(_, version) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.wrong(span, "a second document begins here; a file holds one"));
                }
                // In another version, words such as `yes` have another meaning.
                if version.is_some_and(|version| (version.major, version.minor) != (1, 2)) {
                    return Err(self.wrong(span, "the file asks for a YAML version other than 1.2"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), span)?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.open(false, style, anchor, tag.as_deref(), span)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.open(true, style, anchor, tag.as_deref(), span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            Event::Alias(anchor) => self.alias(anchor, span)?,
            // Stream marks and presentation; with the option, unresolved aliases stay an error of the parser.
            _ => {}
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<(), Remark> {
        let kind = match tag {
            None if style == ScalarStyle::Plain => scalar::resolve(text),
            None => Kind::Text(text),
            Some(tag) => self.tagged(text, tag, span),
        };
        let value = match kind {
            Kind::Null => RawValue::Null,
            Kind::Bool(value) => RawValue::Bool(value),
            Kind::Number(value) => RawValue::Number(value),
            Kind::Text(text) => RawValue::Text(self.keep(text)),
            Kind::List | Kind::Map => RawValue::Null,
        };
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        let load = Load {
            size: 1 + text.len() as u64,
            repeats: 1,
            depth: 0,
        };
        let node = self.add(value, style, span);
        if matches!(style, Style::SingleQuoted | Style::DoubleQuoted) {
            let (start, end) = offsets(span);
            self.refuse_outdented(self.base + start, self.base + end, false)?;
        }
        self.anchored(anchor, node, Some(load));
        self.place(node, load, span)
    }

    /// Applies a tag: a core tag forces its type if the text allows it; any other tag gives text and a warning.
    fn tagged<'s>(&mut self, text: &'s str, tag: &Tag, span: &Span) -> Kind<'s> {
        let plain = || scalar::resolve(text);
        let found = match tag.core_suffix() {
            Some("str") => Some(Kind::Text(text)),
            Some("int") => scalar::integer(text).map(Kind::Number),
            Some("float") => scalar::float(text).map(Kind::Number),
            Some("bool") => Some(plain()).filter(|kind| matches!(kind, Kind::Bool(_))),
            Some("null") => Some(plain()).filter(|kind| matches!(kind, Kind::Null)),
            None if tag.original() == "!" => Some(Kind::Text(text)),
            _ => None,
        };
        found.unwrap_or_else(|| {
            self.unknown_tag(tag, span);
            Kind::Text(text)
        })
    }

    fn unknown_tag(&mut self, tag: &Tag, span: &Span) {
        let what = format!(
            "the tag `{}` means nothing here and is ignored",
            tag.original()
        );
        let warning = self.wrong(&span.tag_span().unwrap_or(*span), &what);
        self.warnings.push(warning);
    }

    fn open(
        &mut self,
        is_map: bool,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<(), Remark> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let own = if is_map { "map" } else { "seq" };
        if let Some(tag) = tag
            && tag.core_suffix() != Some(own)
            && tag.original() != "!"
        {
            self.unknown_tag(tag, span);
        }
        let (style, indent) = match style {
            StructureStyle::Flow => (Style::Flow, None),
            StructureStyle::Block => (Style::Block, Some(self.indent_of(is_map, span))),
        };
        let node = self.add(RawValue::Null, style, span);
        self.anchored(anchor, node, None);
        self.frames.push(Frame {
            node,
            is_map,
            indent,
            first: self.pending.len(),
            anchor,
            load: Load {
                size: 1,
                repeats: 0,
                depth: 1,
            },
        });
        Ok(())
    }

    /// Returns the indentation of a collection. A list below its key need not be indented; the parser then points at
    /// its first item, not at a dash.
    fn indent_of(&self, is_map: bool, span: &Span) -> usize {
        let byte = self.text.as_bytes().get(self.base + offsets(span).0);
        let parent = self.frames.last().and_then(|frame| frame.indent);
        match (is_map || byte == Some(&b'-'), parent) {
            (false, Some(indent)) => indent,
            _ => span.start.col(),
        }
    }

    fn close(&mut self, span: &Span) -> Result<(), Remark> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let start = short(self.members.len());
        self.members.extend(self.pending.drain(frame.first..));
        let members = Stretch {
            start,
            end: short(self.members.len()),
        };
        if frame.is_map {
            self.refuse_duplicates(members)?;
        }
        let end = short(self.base + offsets(span).1);
        if frame.indent.is_none() {
            let start = self
                .nodes
                .get(frame.node.index())
                .map_or(0, |raw| raw.span.start);
            self.refuse_outdented(start as usize, end as usize, true)?;
        }
        if let Some(raw) = self.nodes.get_mut(frame.node.index()) {
            raw.value = if frame.is_map {
                RawValue::Map(members)
            } else {
                RawValue::List(members)
            };
            raw.span.end = raw.span.end.max(end);
        }
        if let Some(anchor) = self.anchors.get_mut(&frame.anchor) {
            anchor.load = Some(frame.load);
        }
        self.place(frame.node, frame.load, span)
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<(), Remark> {
        let Some(target) = self.anchors.get_mut(&anchor) else {
            return Err(self.wrong(span, "the alias names no anchor"));
        };
        let Some(mut load) = target.load else {
            return Err(self.wrong(span, "the alias stands inside of what it names"));
        };
        target.uses += 1;
        load.repeats = load.repeats.saturating_mul(target.uses);
        let node = target.node;
        self.expansion = self.expansion.saturating_add(load.size);
        if load.repeats > MAX_ALIAS_COUNT || self.expansion > MAX_EXPANSION {
            return Err(self.wrong(span, "aliases repeat too much"));
        }
        if self.frames.len() + load.depth > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let node = self.add(RawValue::Alias(node), Style::Alias, span);
        self.place(node, load, span)
    }

    /// Adds a finished value to the open collection, or sets it as the root.
    fn place(&mut self, node: NodeId, load: Load, span: &Span) -> Result<(), Remark> {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.load.include(load);
        let is_key = frame.is_map && (self.pending.len() - frame.first).is_multiple_of(2);
        self.pending.push(node);
        if is_key && self.is_collection(node) {
            return Err(self.wrong(span, "a list or a map cannot be a key"));
        }
        Ok(())
    }

    /// Refuses quotes and brackets over several lines that are not to the right of their block; otherwise a forgotten
    /// quote would swallow the keys that follow. The parser is more tolerant. A closing bracket may be below its key.
    fn refuse_outdented(&self, start: usize, end: usize, is_brackets: bool) -> Result<(), Remark> {
        let Some(indent) = self.frames.last().and_then(|frame| frame.indent) else {
            return Ok(());
        };
        let text = self.text.get(start..end).unwrap_or_default();
        let mut offset = start;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let content = line.trim_start_matches(' ');
            let column = line.len() - content.len();
            let is_close = is_brackets && offset + line.len() == end && content.len() == 1;
            let is_blank = content.trim_start_matches(['\t', '\r', '\n']).is_empty()
                || (is_brackets && content.starts_with('#'));
            if number > 0 && !is_blank && column + usize::from(is_close) <= indent {
                return Err(Remark {
                    what: "this line must be indented more than the key that it belongs to"
                        .to_owned(),
                    offset: offset + column,
                });
            }
            offset += line.len();
        }
        Ok(())
    }

    fn is_collection(&self, node: NodeId) -> bool {
        let value = |node: NodeId| self.nodes.get(node.index()).map(|raw| raw.value);
        let value = match value(node) {
            Some(RawValue::Alias(target)) => value(target),
            other => other,
        };
        matches!(value, Some(RawValue::List(_) | RawValue::Map(_)))
    }

    fn add(&mut self, value: RawValue, style: Style, span: &Span) -> NodeId {
        let id = NodeId(short(self.nodes.len()));
        let (start, end) = offsets(span);
        let span = Stretch {
            start: short(self.base + start),
            end: short(self.base + end),
        };
        self.nodes.push(Raw { span, style, value });
        id
    }

    fn anchored(&mut self, anchor: usize, node: NodeId, load: Option<Load>) {
        if anchor != 0 {
            let uses = 1;
            self.anchors.insert(anchor, Anchor { node, uses, load });
        }
    }

    fn keep(&mut self, text: &str) -> Stretch {
        let start = short(self.strings.len());
        self.strings.push_str(text);
        let end = short(self.strings.len());
        Stretch { start, end }
    }

    fn refuse_duplicates(&self, members: Stretch) -> Result<(), Remark> {
        let members = self.members.get(members.range()).unwrap_or_default();
        let (pairs, _) = members.as_chunks::<2>();
        let keys = pairs
            .iter()
            .filter_map(|[node, _]| self.key(*node).map(|key| (key, *node)));
        let Some(node) = keys::second_time(&keys.collect::<Vec<_>>()) else {
            return Ok(());
        };
        let raw = self.nodes.get(node.index());
        Err(Remark {
            what: "the same key stands here a second time".to_owned(),
            offset: raw.map_or(0, |raw| raw.span.range().start),
        })
    }

    fn key(&self, node: NodeId) -> Option<Key<'_>> {
        let raw = self.nodes.get(node.index())?;
        match raw.value {
            RawValue::Null => Some(Key::Null),
            RawValue::Bool(value) => Some(Key::Bool(value)),
            RawValue::Number(number) => Key::number(number),
            RawValue::Text(text) => self.strings.get(text.range()).map(Key::Text),
            // Targets are never aliases themselves.
            RawValue::Alias(target) => self.key(target),
            RawValue::List(_) | RawValue::Map(_) => None,
        }
    }

    fn too_deep(&self, span: &Span) -> Remark {
        self.wrong(span, &format!("nested deeper than {MAX_DEPTH} levels"))
    }

    fn wrong(&self, span: &Span, what: &str) -> Remark {
        Remark {
            what: what.to_owned(),
            offset: self.base + offsets(span).0,
        }
    }
}

/// Returns the byte offsets of a span; the parser has them for every text that it gets as a whole.
fn offsets(span: &Span) -> (usize, usize) {
    span.byte_range()
        .map_or((0, 0), |range| (range.start, range.end))
}

/// Converts a length, which is at most a small multiple of [`MAX_BYTES`].
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
