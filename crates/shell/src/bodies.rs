//! The text of a here-document is not a command: it is removed before anything is counted or parsed, and a mark is
//! left in its place. If the parser finds the mark as the text of a here-document, the removed text is inserted
//! again.
//!
//! `scan` alone decides which `<<` is a here-document. The operators of the others are replaced until the words are
//! read, so that the parser cannot decide otherwise; if `scan` is not sure, the text is refused.

mod scan;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt::Write as _;

use super::lower::Refused;
use scan::Scan;

/// First character of a mark.
pub(super) const MARK: char = '\u{FDD0}';

/// Replacement of a `<` that is not part of a here-document's operator.
const SIGN: char = '\u{FDD1}';

/// Returns `true` if a text has our marks; a text from outside with them is not read.
pub(super) fn has_marks(text: &str) -> bool {
    text.contains([MARK, SIGN])
}

/// Removed texts of here-documents, of a text and of the texts in it.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    kept: RefCell<Vec<Kept>>,
    differ: Cell<bool>,
}

#[derive(Debug)]
struct Kept {
    text: String,
    is_found: bool,
}

/// A text with marks.
pub(super) struct Marked {
    pub(super) text: String,
    /// Byte offset of every character in the original text, and the end of that text.
    pub(super) bytes: Vec<usize>,
}

impl Bodies {
    /// Removes the texts of here-documents; `None` if there are none. A text that is part of another may have its
    /// marks already.
    ///
    /// # Errors
    /// Fails if the here-documents cannot be determined.
    pub(super) fn take_out(&self, text: &str) -> Result<Option<Marked>, Refused> {
        if !scan::may_hold(text) || has_marks(text) {
            return Ok(None);
        }
        let scan = Scan::of(text);
        if !scan.is_sure {
            return Err(Refused::Syntax);
        }
        let mut kept = self.kept.borrow_mut();
        let mut marked = Marked {
            text: String::with_capacity(text.len().min(4096)),
            bytes: Vec::new(),
        };
        let mut others = scan.others.iter().copied().peekable();
        let mut at = 0;
        for body in &scan.bodies {
            marked.add(text, at, body.from, &mut others);
            marked.mark(kept.len(), body);
            at = body.end;
            kept.push(Kept {
                text: inside(text, body),
                is_found: false,
            });
        }
        marked.add(text, at, text.len(), &mut others);
        marked.bytes.push(text.len());
        Ok(Some(marked))
    }

    /// Returns the removed text at this mark.
    pub(super) fn behind(&self, mark: &str) -> Option<String> {
        let found = || {
            let number = mark.strip_prefix(MARK)?.strip_suffix('\n')?.parse().ok()?;
            let mut kept = self.kept.borrow_mut();
            let kept: &mut Kept = kept.get_mut::<usize>(number)?;
            kept.is_found = true;
            Some(kept.text.clone())
        };
        let text = found();
        self.differ.set(self.differ.get() || text.is_none());
        text
    }

    /// Returns `true` if the parser found the texts of here-documents in their positions, and in no other.
    pub(super) fn agree(&self) -> bool {
        !self.differ.get() && self.kept.borrow().iter().all(|kept| kept.is_found)
    }
}

/// Returns the text of a here-document as a program reads it, before expansions.
fn inside(text: &str, body: &scan::Body<'_>) -> String {
    let inside = text.get(body.from..body.to).unwrap_or_default();
    let lines = inside
        .split_inclusive('\n')
        .map(|line| match body.without_tabs {
            true => line.trim_start_matches('\t'),
            false => line,
        });
    let mut inside: String = lines.collect();
    if !inside.is_empty() && !inside.ends_with('\n') {
        inside.push('\n');
    }
    inside
}

/// Restores the replaced operators of a text.
pub(super) fn restored(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains(SIGN) {
        true => Cow::Owned(text.replace(SIGN, "<")),
        false => text,
    }
}

impl Marked {
    /// Adds a part of the text, with the operators that are not here-documents replaced.
    fn add(
        &mut self,
        text: &str,
        from: usize,
        to: usize,
        others: &mut std::iter::Peekable<impl Iterator<Item = usize>>,
    ) {
        let part = text.get(from..to).unwrap_or_default();
        let mut hidden = 0_u8;
        for (at, one) in part.char_indices() {
            let at = from.saturating_add(at);
            if others.next_if_eq(&at).is_some() {
                hidden = 2;
            }
            self.text.push(if hidden > 0 { SIGN } else { one });
            self.bytes.push(at);
            hidden = hidden.saturating_sub(1);
        }
    }

    fn mark(&mut self, number: usize, body: &scan::Body<'_>) {
        let before = self.text.len();
        let line = if self.text.ends_with('\n') { "" } else { "\n" };
        let name = body.name;
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{line}{MARK}{number}\n{name}\n");
        let mark = self.text.get(before..).unwrap_or_default();
        self.bytes.extend(mark.chars().map(|_| body.from));
    }
}

/// Splits a text into its commands and the texts of its here-documents.
#[must_use]
pub fn divided(text: &str) -> (Cow<'_, str>, Vec<&str>) {
    if !scan::may_hold(text) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut commands = String::with_capacity(text.len());
    let mut inside = Vec::new();
    let mut at = 0;
    for body in Scan::of(text).bodies {
        commands.push_str(text.get(at..body.from).unwrap_or_default());
        inside.extend(text.get(body.from..body.to));
        at = body.to;
    }
    commands.push_str(text.get(at..).unwrap_or_default());
    (Cow::Owned(commands), inside)
}
