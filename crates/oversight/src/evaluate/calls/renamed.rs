//! Functions that start something under another name, or without a call that shows what they are given.

use crate::evaluate::tokens::{Family, Token};
use crate::value::HOLE;

use super::{Calls, Start, Takes};

/// Functions that make another function of the one that they are given.
const MAKERS: &[&str] = &["partial", "promisify"];

impl Calls {
    /// Learns other names: `from subprocess import run as r`, `go = os.system`, `const run = promisify(exec)`. A function
    /// that is handed to another one, as in `map(os.system, commands)`, starts what nobody knows.
    pub(super) fn renamings(&mut self) -> Vec<Start> {
        let mut handed = Vec::new();
        for at in 0..self.code.tokens.len() {
            let after = at.saturating_add(1);
            if self.code.sign(after, '(') {
                continue;
            }
            let Some(takes) = self.starter(at) else {
                continue;
            };
            if let Some(name) = self.other_name(at) {
                self.renamed.insert(name.to_owned(), takes);
            } else if self.is_handed(at) {
                handed.push(match takes {
                    Takes::Code => Start::Code(HOLE.to_string()),
                    _ => Start::Shell(HOLE.to_string()),
                });
            }
        }
        handed
    }

    /// How the function that is named here takes what it starts.
    fn starter(&self, at: usize) -> Option<Takes> {
        let word = self.code.word(at)?;
        let begin = self.first_of(at)?;
        let dotted = begin != at;
        let of = self
            .code
            .word(begin)
            .filter(|of| dotted && *of != "require");
        match self.code.family {
            Family::Python => self.python(word, of, dotted),
            Family::Script => self.script(word, of, dotted),
            _ => None,
        }
    }

    /// Where `os.system` or `require("child_process").exec` begins.
    fn first_of(&self, at: usize) -> Option<usize> {
        let dot = at.checked_sub(1).filter(|dot| self.code.sign(*dot, '.'));
        let Some(of) = dot.map(|dot| dot.saturating_sub(1)) else {
            return Some(at);
        };
        let required = of.checked_sub(3).filter(|_| self.code.sign(of, ')'));
        let begin = required.unwrap_or(of);
        self.code.word(begin).map(|_| begin)
    }

    fn other_name(&self, at: usize) -> Option<&str> {
        let after = at.saturating_add(1);
        let behind = || self.code.word(at.saturating_add(2));
        if self.code.word(after) == Some("as") {
            return behind();
        }
        if self.code.sign(after, ':') && self.is_unpacked(at) {
            return behind();
        }
        let begin = self.first_of(at)?;
        self.assigned(begin).or_else(|| {
            let maker = begin.checked_sub(2)?;
            let made = self.code.sign(begin.checked_sub(1)?, '(')
                && MAKERS.contains(&self.code.word(maker)?);
            self.assigned(self.first_of(maker).filter(|_| made)?)
        })
    }

    /// The name before `=`.
    fn assigned(&self, begin: usize) -> Option<&str> {
        let equals = begin.checked_sub(1)?;
        self.code
            .word(equals.checked_sub(1)?)
            .filter(|_| self.code.sign(equals, '='))
    }

    /// `const { exec: run } = …`.
    fn is_unpacked(&self, at: usize) -> bool {
        let open = (at.saturating_sub(32)..at)
            .rev()
            .find(|at| self.code.sign(*at, '{'));
        open.is_some_and(|open| self.code.sign(self.code.closing(open), '='))
    }

    /// `map(os.system, …)`, `submit(subprocess.run, …)`; a class is handed over to be asked about.
    fn is_handed(&self, at: usize) -> bool {
        let begin = self.first_of(at).filter(|begin| *begin != at);
        let before = begin.and_then(|begin| begin.checked_sub(1));
        before.is_some_and(|before| self.code.sign(before, '(') || self.code.sign(before, ','))
            && self.code.word(at) != Some("Popen")
    }

    /// `processes["exec"](…)`: by a name that is written there, or by one that nobody knows.
    pub(super) fn member(&self, open: usize) -> Vec<Start> {
        let of = open.checked_sub(1).and_then(|at| self.code.word(at));
        let call = self.code.closing(open);
        if self.code.family != Family::Script || !self.code.sign(call, '(') {
            return Vec::new();
        }
        let Some(of) = of.filter(|of| self.processes.contains(*of)) else {
            return Vec::new();
        };
        match (
            self.code.token(open.saturating_add(1)),
            call.checked_sub(open),
        ) {
            (Some(Token::Text(name)), Some(3)) => self
                .script(name, Some(of), true)
                .map_or_else(Vec::new, |takes| {
                    self.started(takes, &self.code.arguments(call))
                }),
            _ => vec![Start::Shell(HOLE.to_string())],
        }
    }

    /// $`command`.
    pub(super) fn tagged(&self, at: usize) -> Option<Start> {
        match self.code.token(at.saturating_add(1)) {
            Some(Token::Text(text)) if self.code.family == Family::Script => {
                Some(Start::Shell(text.clone()))
            }
            _ => None,
        }
    }
}
