//! Cursor to one value of a document. Aliases are followed implicitly; the position stays that of the alias.

use std::ops::Range;

use super::{Document, Position, scalar};

/// Id of a value of a document, which does not borrow it.
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

/// Stored form of a value.
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

/// Notation of a value, for edits.
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
    /// A list with dashes, or a map with one key per line.
    Block,
    /// `*name`.
    Alias,
}

/// Type and content of a value.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'d> {
    /// An empty value, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number, also infinite and NaN.
    Number(f64),
    /// Any other scalar.
    Text(&'d str),
    /// A sequence; see [`Node::items`].
    List,
    /// A mapping; see [`Node::entries`].
    Map,
}

/// A value and its position.
#[derive(Clone, Copy, Debug)]
pub struct Node<'d> {
    document: &'d Document,
    id: NodeId,
}

impl<'d> Node<'d> {
    pub(super) fn new(document: &'d Document, id: NodeId) -> Self {
        Self { document, id }
    }

    /// Returns its id for [`Document::node`].
    #[must_use]
    pub fn id(self) -> NodeId {
        self.id
    }

    /// Returns its type and content.
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

    /// Returns `true` if it is null.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    /// Returns `true` if it is a list.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(self.kind(), Kind::List)
    }

    /// Returns `true` if it is a map.
    #[must_use]
    pub fn is_map(self) -> bool {
        matches!(self.kind(), Kind::Map)
    }

    /// Returns the text, if it is text.
    #[must_use]
    pub fn text(self) -> Option<&'d str> {
        match self.kind() {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if it is one.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self.kind() {
            Kind::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the boolean, if it is one.
    #[must_use]
    pub fn truth(self) -> Option<bool> {
        match self.kind() {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns text, a number or a boolean as text; `None` for null and collections.
    #[must_use]
    pub fn label(self) -> Option<String> {
        if self.is_null() {
            return None;
        }
        self.scalar_text()
    }

    /// Returns `true` if it is null, false, 0, NaN or an empty string.
    #[must_use]
    pub fn is_falsy(self) -> bool {
        match self.kind() {
            Kind::Null | Kind::Bool(false) => true,
            Kind::Number(number) => number == 0.0 || number.is_nan(),
            Kind::Text(text) => text.is_empty(),
            Kind::Bool(true) | Kind::List | Kind::Map => false,
        }
    }

    /// Returns the items of a list; empty for any other value.
    pub fn items(self) -> impl ExactSizeIterator<Item = Self> {
        let stretch = match self.resolved() {
            RawValue::List(stretch) => stretch.range(),
            _ => 0..0,
        };
        let members = self.document.members.get(stretch).unwrap_or_default();
        members.iter().map(move |id| Self::new(self.document, *id))
    }

    /// Returns the keys and values of a map, as written; empty for any other value.
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

    /// Returns the value of a key of a map. A key that is a number or null goes by its text, and the last of equals
    /// wins.
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

    /// Returns a scalar in the form of a map's key: text as it is, numbers printed, null as an empty string. `None`
    /// for collections.
    #[must_use]
    pub fn name(self) -> Option<String> {
        match self.kind() {
            Kind::Null => Some(String::new()),
            _ => self.scalar_text(),
        }
    }

    /// Returns a scalar as text; null is `null`. `None` for collections.
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

    /// Returns its range in bytes of the source. Quotes belong to it; anchors, tags and the `|` line of a block do
    /// not.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        self.raw().map_or(0..0, |raw| raw.span.range())
    }

    /// Returns its notation.
    #[must_use]
    pub fn style(self) -> Style {
        self.raw().map_or(Style::Plain, |raw| raw.style)
    }

    /// Returns its start position.
    #[must_use]
    pub fn position(self) -> Position {
        self.document.source.position(self.span().start)
    }

    fn raw(self) -> Option<&'d Raw> {
        self.document.nodes.get(self.id.index())
    }

    /// Resolves an alias, which never points at an alias, so that one step is enough.
    fn resolved(self) -> RawValue {
        let value = |id: NodeId| self.document.nodes.get(id.index()).map(|raw| raw.value);
        match value(self.id) {
            Some(RawValue::Alias(target)) => value(target),
            other => other,
        }
        .unwrap_or(RawValue::Null)
    }
}
