//! One value of a document, as a cursor into it. Aliases are followed silently; the place stays that of the alias.

use std::ops::Range;

use super::{Document, Position, scalar};

/// Names a value of a document without borrowing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of the document's strings or members. Limits keep both far below four billion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Stretch {
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// How a value is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    pub(super) span: Stretch,
    pub(super) style: Style,
    pub(super) value: RawValue,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum RawValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(Stretch),
    List(Stretch),
    Map(Stretch),
    Alias(NodeId),
}

/// How a value is written, for those who edit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// `'…'`.
    SingleQuoted,
    /// `"…"`.
    DoubleQuoted,
    /// `|` block.
    Literal,
    /// `>` block.
    Folded,
    /// `[…]` or `{…}`.
    Flow,
    /// A list with dashes, or a map with one key a line.
    Block,
    /// `*name`.
    Alias,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'d> {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number; infinite and NaN too.
    Number(f64),
    /// Everything else without members.
    Text(&'d str),
    /// A sequence; see [`Node::items`].
    List,
    /// A mapping; see [`Node::entries`].
    Map,
}

/// A value and its place.
#[derive(Clone, Copy, Debug)]
pub struct Node<'d> {
    document: &'d Document,
    id: NodeId,
}

impl<'d> Node<'d> {
    pub(super) fn new(document: &'d Document, id: NodeId) -> Self {
        Self { document, id }
    }

    /// Its name, to find it again with [`Document::node`].
    #[must_use]
    pub fn id(self) -> NodeId {
        self.id
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> Kind<'d> {
        match self.resolved() {
            RawValue::Null | RawValue::Alias(_) => Kind::Null,
            RawValue::Bool(value) => Kind::Bool(value),
            RawValue::Number(value) => Kind::Number(value),
            RawValue::Text(stretch) => Kind::Text(
                self.document
                    .strings
                    .get(stretch.range())
                    .unwrap_or_default(),
            ),
            RawValue::List(_) => Kind::List,
            RawValue::Map(_) => Kind::Map,
        }
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(self.kind(), Kind::List)
    }

    /// Whether it is a map.
    #[must_use]
    pub fn is_map(self) -> bool {
        matches!(self.kind(), Kind::Map)
    }

    /// The text, when it is text.
    #[must_use]
    pub fn text(self) -> Option<&'d str> {
        match self.kind() {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, when it is one.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self.kind() {
            Kind::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The truth value, when it is one.
    #[must_use]
    pub fn truth(self) -> Option<bool> {
        match self.kind() {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The text or number or truth value as text; nothing for null and collections.
    #[must_use]
    pub fn label(self) -> Option<String> {
        if self.is_null() {
            return None;
        }
        self.scalar_text()
    }

    /// Whether it counts as nothing: null, false, 0, NaN or empty text.
    #[must_use]
    pub fn is_falsy(self) -> bool {
        match self.kind() {
            Kind::Null | Kind::Bool(false) => true,
            Kind::Number(number) => number == 0.0 || number.is_nan(),
            Kind::Text(text) => text.is_empty(),
            Kind::Bool(true) | Kind::List | Kind::Map => false,
        }
    }

    /// What a list holds; nothing when it is no list.
    pub fn items(self) -> impl ExactSizeIterator<Item = Self> {
        let stretch = match self.resolved() {
            RawValue::List(stretch) => stretch.range(),
            _ => 0..0,
        };
        let members = self.document.members.get(stretch).unwrap_or_default();
        members.iter().map(move |id| Self::new(self.document, *id))
    }

    /// Keys and values of a map, as written; nothing when it is no map.
    pub fn entries(self) -> impl ExactSizeIterator<Item = (Self, Self)> {
        let stretch = match self.resolved() {
            RawValue::Map(stretch) => stretch.range(),
            _ => 0..0,
        };
        let members = self.document.members.get(stretch).unwrap_or_default();
        let (pairs, _) = members.as_chunks::<2>();
        let node = move |id| Self::new(self.document, id);
        pairs
            .iter()
            .map(move |[key, value]| (node(*key), node(*value)))
    }

    /// The value of a key of a map. A key that is a number or null goes by its text, and the last of equals wins.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        let mut found = None;
        for (key, value) in self.entries() {
            let matches = match key.kind() {
                Kind::Text(text) => text == name,
                _ => key.name().is_some_and(|text| text == name),
            };
            if matches {
                found = Some(value);
            }
        }
        found
    }

    /// A scalar as a key of a map reads: text as it is, numbers printed, null as nothing. `None` for collections.
    #[must_use]
    pub fn name(self) -> Option<String> {
        match self.kind() {
            Kind::Null => Some(String::new()),
            _ => self.scalar_text(),
        }
    }

    /// A scalar as text; null is `null`. `None` for collections.
    #[must_use]
    pub fn scalar_text(self) -> Option<String> {
        match self.kind() {
            Kind::Null => Some("null".to_owned()),
            Kind::Bool(value) => Some(value.to_string()),
            Kind::Number(number) => Some(scalar::number_text(number)),
            Kind::Text(text) => Some(text.to_owned()),
            Kind::List | Kind::Map => None,
        }
    }

    /// Where it is written, in bytes of the source. Quotes belong to it; anchors, tags and the `|` line of a block do not.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        self.raw().map_or(0..0, |raw| raw.span.range())
    }

    /// How it is written.
    #[must_use]
    pub fn style(self) -> Style {
        self.raw().map_or(Style::Plain, |raw| raw.style)
    }

    /// Where it begins.
    #[must_use]
    pub fn position(self) -> Position {
        self.document.source.position(self.span().start)
    }

    fn raw(self) -> Option<&'d Raw> {
        self.document.nodes.get(self.id.index())
    }

    /// An alias never points at an alias, so that one step is enough.
    fn resolved(self) -> RawValue {
        let value = |id: NodeId| self.document.nodes.get(id.index()).map(|raw| raw.value);
        match value(self.id) {
            Some(RawValue::Alias(target)) => value(target),
            other => other,
        }
        .unwrap_or(RawValue::Null)
    }
}
