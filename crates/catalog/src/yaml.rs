//! YAML 1.2 with the core schema: text in, values with their places out.
//!
//! The dialect is that of the catalog format: `no` and dates are text, `<<` is an ordinary key, a second document and a
//! duplicate key are errors, an unknown tag is a warning. Every document is taken as hostile: length, depth, aliases and
//! what they expand to have limits, and nothing here recurses. It knows nothing of roles, and it writes no YAML.

mod keys;
mod load;
mod node;
mod scalar;

pub use node::{Kind, Node, NodeId, Style};
pub use scalar::number_text;

use std::ops::Range;
use std::sync::OnceLock;

use node::Raw;

/// Longest text, as in the published format: after decoding, and exactly this much is still fine.
pub const MAX_BYTES: usize = 1_000_000;
/// Collections inside each other. Catalogs need five.
pub const MAX_DEPTH: usize = 100;
/// How often one scalar may stand in the document, at its anchor and through aliases.
pub const MAX_ALIAS_COUNT: u64 = 100;
/// What all aliases together may expand to, in values and bytes of text.
pub const MAX_EXPANSION: u64 = 10_000_000;
/// Longest piece of a line that is shown with an error, in characters.
const MAX_EXCERPT: usize = 120;

/// A document that was read, with its text.
#[derive(Debug)]
pub struct Document {
    source: Source,
    nodes: Vec<Raw>,
    /// Members of all collections, those of one side by side; a map's are key, value, key, value.
    members: Vec<NodeId>,
    /// The text of all scalars.
    strings: String,
    root: NodeId,
    warnings: Vec<Remark>,
}

impl Document {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// They are not one YAML document of this dialect, or they exceed a limit.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Box<Broken>> {
        load::load(bytes)
    }

    /// Like [`parse`](Self::parse), but does not keep the text, so that one buffer serves many files. Places are then
    /// only bytes; for lines and columns, make a [`Source`] of the same text.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_without_source(bytes: &[u8]) -> Result<Self, Box<Broken>> {
        load::load_values(bytes)
    }

    /// The outermost value; null for an empty file.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::new(self, self.root)
    }

    /// A value that was found before; null when the name is another document's.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Node<'_> {
        Node::new(self, id)
    }

    /// The text, to point into and to edit; empty when it was not kept.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What is odd but no error: tags that mean nothing here.
    #[must_use]
    pub fn warnings(&self) -> &[Remark] {
        &self.warnings
    }
}

/// A text that is no document.
#[derive(Debug)]
pub struct Broken {
    /// What was there; empty when it was too long or not text.
    pub source: Source,
    /// What is wrong with it.
    pub error: Remark,
}

/// Something about one place of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// In lower case, without a full stop.
    pub what: String,
    /// In bytes, counted from 0.
    pub offset: usize,
}

/// The text of a document, byte for byte.
#[derive(Debug, Default)]
pub struct Source {
    text: String,
    /// Where each line starts; made when somebody asks.
    lines: OnceLock<Vec<usize>>,
}

/// Where something stands, counted from 1 as editors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Lines end at a line feed.
    pub line: usize,
    /// In characters.
    pub column: usize,
}

/// The part of a line that is worth showing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Part of the line, without its end.
    pub text: String,
    /// How many characters of it come before the place.
    pub before: usize,
}

impl Source {
    /// A text to point into.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self {
            text,
            lines: OnceLock::new(),
        }
    }

    /// All of it, a byte order mark included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let (line, range) = self.line_at(offset);
        let before = self.text.get(range.start..offset).unwrap_or_default();
        let before = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before);
        Position {
            line: line + 1,
            column: before.chars().count() + 1,
        }
    }

    /// The line of a byte, cut to what fits on a screen; a file may be a single line of a megabyte.
    #[must_use]
    pub fn excerpt(&self, offset: usize) -> Excerpt {
        let (_, range) = self.line_at(offset);
        let line = self.text.get(range).unwrap_or_default();
        let line = line.trim_end_matches(['\n', '\r']);
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let column = self.position(offset).column - 1;
        let skipped = column.saturating_sub(MAX_EXCERPT / 2);
        Excerpt {
            text: line.chars().skip(skipped).take(MAX_EXCERPT).collect(),
            before: column - skipped,
        }
    }

    /// The text with one part replaced, for edits that leave everything else as it is.
    /// `None` when the range is not inside the text.
    #[must_use]
    pub fn replaced(&self, range: Range<usize>, with: &str) -> Option<String> {
        let before = self.text.get(..range.start)?;
        let after = self.text.get(range.end..)?;
        (range.start <= range.end).then(|| [before, with, after].concat())
    }

    /// Number, counted from 0, and range of the line that holds a byte.
    fn line_at(&self, offset: usize) -> (usize, Range<usize>) {
        let starts = self.lines.get_or_init(|| {
            let ends = memchr::memchr_iter(b'\n', self.text.as_bytes());
            std::iter::once(0).chain(ends.map(|end| end + 1)).collect()
        });
        let line = starts.partition_point(|start| *start <= offset).max(1) - 1;
        let start = starts.get(line).copied().unwrap_or_default();
        let end = starts.get(line + 1).copied().unwrap_or(self.text.len());
        (line, start..end)
    }
}

const BYTE_ORDER_MARK: char = '\u{FEFF}';

#[cfg(test)]
mod tests;
