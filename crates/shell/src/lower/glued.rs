//! Words that touch a redirection or a process: `{name}>file`, `--file=<(…)`. The parser reads two parts, the shell
//! reads one.

use std::cell::Cell;

use brush_parser::ast;

/// Positions in a text, counted in characters.
pub(super) struct Places {
    /// Positions of a `}` directly before `<` or `>`.
    redirections: Vec<usize>,
    /// Positions of `<(` or `>(`.
    processes: Vec<usize>,
    /// Position of the end of the last word.
    last: Cell<Option<usize>>,
}

impl Places {
    pub(super) fn new(text: &str) -> Self {
        let mut places = Self {
            redirections: Vec::new(),
            processes: Vec::new(),
            last: Cell::new(None),
        };
        let marks = ["}>", "}<", "<(", ">("];
        if !marks.iter().any(|mark| text.contains(mark)) {
            return places;
        }
        let pairs = text.chars().zip(text.chars().skip(1));
        for (at, pair) in pairs.enumerate() {
            match pair {
                ('}', '<' | '>') => places.redirections.push(at.saturating_add(1)),
                ('<' | '>', '(') => places.processes.push(at),
                _ => {}
            }
        }
        places
    }

    /// Records the end of a word.
    pub(super) fn passed(&self, word: &ast::Word) {
        self.last
            .set(word.loc.as_ref().map(|place| place.end.index));
    }

    /// Returns `true` if a following process substitution belongs to the word before it.
    pub(super) fn is_glued(&self) -> bool {
        let last = self.last.get();
        last.is_some_and(|end| self.processes.binary_search(&end).is_ok())
    }

    /// Returns `true` if a word is the name for the number of a redirection, and not a word of the command.
    pub(super) fn is_descriptor(&self, word: &ast::Word) -> bool {
        let name = word.value.strip_prefix('{');
        let name = name.and_then(|name| name.strip_suffix('}'));
        let is_name = |name: &str| {
            let mut bytes = name.bytes();
            let first = bytes.next();
            first.is_some_and(|one| one.is_ascii_alphabetic() || one == b'_')
                && bytes.all(|one| one.is_ascii_alphanumeric() || one == b'_')
        };
        let end = word.loc.as_ref().map(|place| place.end.index);
        end.is_some_and(|end| self.redirections.binary_search(&end).is_ok())
            && name.is_some_and(is_name)
    }
}
