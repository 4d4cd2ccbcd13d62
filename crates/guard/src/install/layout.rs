//! The layout of a JSON text, with insertions and removals that preserve it.

use std::borrow::Cow;

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use base::insertion::Insertion;

/// Position of a list or an object, brackets included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    pub(super) start: usize,
    pub(super) end: usize,
    /// First and last byte of its last item.
    pub(super) last: Option<(usize, usize)>,
}

/// Line ends and indentation of a text.
#[derive(Clone, Debug)]
pub(super) struct Layout<'a> {
    text: &'a str,
    newline: &'static str,
    unit: Cow<'a, str>,
    /// Set if everything is on one line, without blanks.
    compact: bool,
}

impl<'a> Layout<'a> {
    /// Detects the layout of a text whose first item begins at `first`.
    pub(super) fn of(text: &'a str, first: Option<usize>) -> Self {
        let newline = match text.split_once('\n') {
            Some((before, _)) if before.ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let unit = first.and_then(|first| own_line(text, first));
        Self {
            text,
            newline,
            unit: match unit {
                Some(unit) if !unit.is_empty() => Cow::Borrowed(unit),
                _ => Cow::Borrowed("  "),
            },
            compact: false,
        }
    }

    /// Returns the layout of a text on one line.
    pub(super) fn compact(text: &'a str) -> Self {
        Self {
            text,
            newline: "",
            unit: Cow::Borrowed(""),
            compact: true,
        }
    }

    pub(super) fn newline(&self) -> &'static str {
        self.newline
    }

    /// Formats a value, with its lines after the first indented by `indent`.
    pub(super) fn written(&self, value: &Value, indent: &str) -> String {
        if self.compact {
            return value.to_string();
        }
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
        // Writing into memory cannot fail, and every key is a string.
        value.serialize(&mut serializer).ok();
        let text = String::from_utf8(bytes).unwrap_or_default();
        text.replace('\n', &format!("{}{indent}", self.newline))
    }

    pub(super) fn append_properties(
        &self,
        container: &Container,
        properties: &[(&str, Value)],
    ) -> Vec<Insertion> {
        let colon = if self.compact { ":" } else { ": " };
        let write = |(key, value): &(&str, Value), indent: &str| {
            let value = self.written(value, indent);
            format!("{}{colon}{value}", Value::from(*key))
        };
        self.append(container, properties, &write)
    }

    pub(super) fn append_elements(
        &self,
        container: &Container,
        elements: &[&Value],
    ) -> Vec<Insertion> {
        self.append(container, elements, &|value: &&Value, indent: &str| {
            self.written(value, indent)
        })
    }

    /// Appends items after the last one, on their own lines; comments stay with the item beside them.
    fn append<T>(
        &self,
        container: &Container,
        items: &[T],
        write: &dyn Fn(&T, &str) -> String,
    ) -> Vec<Insertion> {
        if items.is_empty() {
            return Vec::new();
        }
        let outer = line_indent(self.text, container.start);
        let beside = container
            .last
            .and_then(|(start, _)| own_line(self.text, start));
        let indent = match beside {
            Some(indent) => indent.to_owned(),
            None if self.compact => String::new(),
            None => format!("{outer}{}", self.unit),
        };
        let joint = format!("{}{indent}", self.newline);
        let written: Vec<String> = items
            .iter()
            .map(|item| format!("{joint}{}", write(item, &indent)))
            .collect();
        let mut text = written.join(",");
        let (comma, from) = match container.last {
            None => (None, container.start + 1),
            Some((_, end)) => match self.comma_after(end) {
                Some(comma) => {
                    text.push(',');
                    (None, comma + 1)
                }
                None => (Some(end), end),
            },
        };
        let at = end_of_comments(self.text, from);
        if !self.between(at, container.end).contains('\n') {
            text.push_str(self.newline);
            if !self.compact {
                text.push_str(outer);
            }
        }
        match comma {
            Some(comma) if comma == at => vec![Insertion {
                at,
                text: format!(",{text}"),
            }],
            Some(comma) => vec![
                Insertion {
                    at: comma,
                    text: ",".to_owned(),
                },
                Insertion { at, text },
            ],
            None => vec![Insertion { at, text }],
        }
    }

    /// Returns the text without one of these neighbours, its comma and its line.
    pub(super) fn cut(&self, items: &[(usize, usize)], index: usize) -> String {
        let Some(&(start, end)) = items.get(index) else {
            return self.text.to_owned();
        };
        let before = index.checked_sub(1).and_then(|index| items.get(index));
        let following = self.comma_after(end);
        // Without its line end, a comment before the item would hide the text after it on the same line.
        let rest = self.between(following.map_or(end, |comma| comma + 1), self.text.len());
        let ends_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        let alone = own_line(self.text, start).is_some();
        let from = if alone && !ends_line {
            start
        } else {
            line_start_before(self.text, start)
        };
        if let Some(comma) = following {
            let whole = self.text.len();
            return self.joined(&[(0, from), (end, comma), (comma + 1, whole)]);
        }
        let comma = before.and_then(|(_, end)| self.comma_after(*end));
        match comma {
            Some(comma) if comma < from => {
                self.joined(&[(0, comma), (comma + 1, from), (end, self.text.len())])
            }
            Some(comma) => self.joined(&[(0, comma), (end, self.text.len())]),
            None => self.joined(&[(0, from), (end, self.text.len())]),
        }
    }

    fn joined(&self, parts: &[(usize, usize)]) -> String {
        parts
            .iter()
            .map(|(start, end)| self.between(*start, *end))
            .collect()
    }

    /// Returns the position of the comma after an item, past blanks and comments.
    fn comma_after(&self, end: usize) -> Option<usize> {
        let at = skip(self.text, end, &|byte| byte.is_ascii_whitespace()).0;
        (self.text.as_bytes().get(at) == Some(&b',')).then_some(at)
    }

    fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// Returns the end of comments on the same line; `from` itself if there are none.
fn end_of_comments(text: &str, from: usize) -> usize {
    skip(text, from, &|byte| matches!(byte, b' ' | b'\t')).1
}

/// Skips blanks and comments. Returns the end, and the end of the last comment.
fn skip(text: &str, from: usize, blank: &dyn Fn(u8) -> bool) -> (usize, usize) {
    let mut at = from;
    let mut end_of_comment = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let length = match rest.as_bytes() {
            [byte, ..] if blank(*byte) => 1,
            [b'/', b'/', ..] => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => return (at, end_of_comment),
        };
        let comment = rest.starts_with('/');
        at += length;
        if comment {
            end_of_comment = at;
        }
    }
}

/// Returns the blanks at the beginning of the line of `at`.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..at).unwrap_or_default();
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..indent).unwrap_or_default()
}

/// Returns the indentation of an item that is the first on its line.
fn own_line(text: &str, start: usize) -> Option<&str> {
    let before = text.get(..start)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    let blank = line.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    blank.then_some(line)
}

/// Returns the position where the blanks before an item begin, the line end above included.
fn line_start_before(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    let before = before.trim_end_matches([' ', '\t']);
    let before = before.strip_suffix('\n').unwrap_or(before);
    before.strip_suffix('\r').unwrap_or(before).len()
}
