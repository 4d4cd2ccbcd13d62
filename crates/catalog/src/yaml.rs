//! Parser of YAML 1.2 with the core schema, whose values have their positions.
//!
//! The dialect is that of the catalog format: `no` and dates are text, `<<` is an ordinary key, a second document and
//! a duplicate key are errors, an unknown tag is a warning. Every document counts as hostile: length, depth, aliases
//! and their expansion have limits, and nothing here recurses. It is independent of roles, and it writes no YAML.

mod keys;
mod load;
mod node;
mod scalar;

pub use node::{Kind, Node, NodeId, Style};
pub use scalar::number_text;

use std::ops::Range;
use std::sync::OnceLock;

use node::Raw;

/// Limit of the length of a text in bytes after decoding, as in the published format; exactly this length is allowed.
pub const MAX_BYTES: usize = 1_000_000;
/// Limit of the depth of collections. Catalogs need five.
pub const MAX_DEPTH: usize = 100;
/// Limit of the occurrences of one scalar, at its anchor and through aliases.
pub const MAX_ALIAS_COUNT: u64 = 100;
/// Limit of the expansion of all aliases together, in values and bytes of text.
pub const MAX_EXPANSION: u64 = 10_000_000;
/// Limit of the part of a line that is shown with an error, in characters.
const MAX_EXCERPT: usize = 120;

/// A parsed document, with its text.
#[derive(Debug)]
pub struct Document {
    source: Source,
    nodes: Vec<Raw>,
    /// Members of all collections, those of one adjacent; a map's are key, value, key, value.
    members: Vec<NodeId>,
    /// Text of all scalars.
    strings: String,
    root: NodeId,
    warnings: Vec<Remark>,
}

impl Document {
    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// Fails if they are not one YAML document of this dialect, or exceed a limit.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Box<Broken>> {
        load::load(bytes)
    }

    /// Does the same as [`parse`](Self::parse), but does not keep the text, so that one buffer serves many files.
    /// Positions are then only bytes; for lines and columns, make a [`Source`] of the same text.
    ///
    /// # Errors
    /// Fails like [`parse`](Self::parse).
    pub fn parse_without_source(bytes: &[u8]) -> Result<Self, Box<Broken>> {
        load::load_values(bytes)
    }

    /// Returns the outermost value; null for an empty file.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::new(self, self.root)
    }

    /// Returns a value by its id; null if the id is of another document.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Node<'_> {
        Node::new(self, id)
    }

    /// Returns the text, for positions and edits; empty if it was not kept.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the warnings: unknown tags.
    #[must_use]
    pub fn warnings(&self) -> &[Remark] {
        &self.warnings
    }
}

/// A text that is not a document.
#[derive(Debug)]
pub struct Broken {
    /// The text; empty if it was too long or not UTF-8.
    pub source: Source,
    /// The error.
    pub error: Remark,
}

/// Remark about a position of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Message in lower case, without a full stop.
    pub what: String,
    /// Byte offset, counted from 0.
    pub offset: usize,
}

/// The text of a document, byte for byte.
#[derive(Debug, Default)]
pub struct Source {
    text: String,
    /// Offsets of the lines, computed on first use.
    lines: OnceLock<Vec<usize>>,
}

/// Position in a text, counted from 1 as in editors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number; lines end at a line feed.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

/// Part of a line that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Text of the part, without the line's end.
    pub text: String,
    /// Number of its characters before the position.
    pub before: usize,
}

impl Source {
    /// Creates the source of a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self {
            text,
            lines: OnceLock::new(),
        }
    }

    /// Returns the whole text, a byte order mark included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns line and column of a byte.
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

    /// Returns the line of a byte, cut to the width of a screen; a file may be a single line of a megabyte.
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

    /// Returns the text with one part replaced, for edits that leave everything else as it is. Returns `None` if the
    /// range is not inside the text.
    #[must_use]
    pub fn replaced(&self, range: Range<usize>, with: &str) -> Option<String> {
        let before = self.text.get(..range.start)?;
        let after = self.text.get(range.end..)?;
        (range.start <= range.end).then(|| [before, with, after].concat())
    }

    /// Returns the number, counted from 0, and the range of the line of a byte.
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
