//! The text of a here-document is no command: it is taken out before anything is counted or parsed, and a mark is left
//! in its place. Where the parser finds the mark as the text of a here-document, what was taken out is put in again.
//!
//! So two readers must agree that a text is one. Where they do not, nothing is taken out.

use std::cell::{Cell, RefCell};

use super::quoted;

/// Begins a mark. No text that holds it has anything taken out.
pub(super) const MARK: char = '\u{FDD0}';

/// What was taken out of a text and of the texts in it.
#[derive(Debug)]
pub(super) struct Bodies {
    /// None when nothing is to be taken out.
    kept: Option<RefCell<Vec<Kept>>>,
    differ: Cell<bool>,
}

#[derive(Debug)]
struct Kept {
    text: String,
    is_found: bool,
}

/// A text with marks in it.
pub(super) struct Marked {
    pub(super) text: String,
    /// The byte of every character in the text that it was made of, and the end of that.
    pub(super) bytes: Vec<usize>,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self {
            kept: Some(RefCell::default()),
            differ: Cell::new(false),
        }
    }

    /// Leaves every text as it is.
    pub(super) fn left_in() -> Self {
        Self {
            kept: None,
            differ: Cell::new(false),
        }
    }

    /// Takes the texts of here-documents out; none when there are none, or not for sure.
    pub(super) fn take_out(&self, text: &str) -> Option<Marked> {
        let kept = self.kept.as_ref()?;
        let (bodies, differ) = bodies(text);
        if differ {
            self.differ.set(true);
        }
        if bodies.is_empty() {
            return None;
        }
        let mut kept = kept.borrow_mut();
        let mut marked = Marked {
            text: String::with_capacity(text.len().min(4096)),
            bytes: Vec::new(),
        };
        let mut at = 0;
        for body in bodies {
            let inside = text.get(body.from..body.to)?;
            marked.add(text.get(at..body.from)?, at);
            marked.mark(kept.len(), body.from);
            at = body.to;
            let text = if body.without_tabs {
                let lines = inside.split_inclusive('\n');
                lines.map(|line| line.trim_start_matches('\t')).collect()
            } else {
                inside.to_owned()
            };
            kept.push(Kept {
                text,
                is_found: false,
            });
        }
        marked.add(text.get(at..)?, at);
        marked.bytes.push(text.len());
        Some(marked)
    }

    /// What was taken out where this mark is.
    pub(super) fn behind(&self, mark: &str) -> Option<String> {
        let number = mark.strip_prefix(MARK)?.strip_suffix('\n')?.parse().ok()?;
        let mut kept = self.kept.as_ref()?.borrow_mut();
        let kept: &mut Kept = kept.get_mut::<usize>(number)?;
        kept.is_found = true;
        Some(kept.text.clone())
    }

    /// Whether shells differ about the end of one of them.
    pub(super) fn differ(&self) -> bool {
        self.differ.get()
    }

    /// Whether the parser found every mark where a here-document has its text.
    pub(super) fn are_found(&self) -> bool {
        let kept = self.kept.as_ref();
        kept.is_none_or(|kept| kept.borrow().iter().all(|kept| kept.is_found))
    }
}

impl Marked {
    fn add(&mut self, part: &str, from: usize) {
        self.text.push_str(part);
        let places = part.char_indices();
        self.bytes
            .extend(places.map(|(at, _)| from.saturating_add(at)));
    }

    fn mark(&mut self, number: usize, from: usize) {
        let before = self.text.len();
        self.text.push_str(&format!("{MARK}{number}\n"));
        let mark = self.text.get(before..).unwrap_or_default();
        self.bytes.extend(mark.chars().map(|_| from));
    }
}

fn bodies(text: &str) -> (Vec<quoted::Body>, bool) {
    if !text.contains("<<") || text.contains(MARK) {
        return (Vec::new(), false);
    }
    quoted::bodies(text)
}

/// Divides a text into its commands and the texts of its here-documents.
#[must_use]
pub fn divided(text: &str) -> (String, Vec<&str>) {
    let mut commands = String::with_capacity(text.len());
    let mut inside = Vec::new();
    let mut at = 0;
    for body in bodies(text).0 {
        commands.push_str(text.get(at..body.from).unwrap_or_default());
        inside.extend(text.get(body.from..body.to));
        at = body.to;
    }
    commands.push_str(text.get(at..).unwrap_or_default());
    (commands, inside)
}
