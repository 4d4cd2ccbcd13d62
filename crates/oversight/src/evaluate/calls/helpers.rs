//! Functions of modules that start what they are given: `run("npm publish")`, where `run` stands in another file.

use std::collections::BTreeSet;

use crate::evaluate::Evaluator;
use crate::evaluate::language::Language;
use crate::evaluate::tokens::{Family, Token};

use super::{Calls, Own};

/// More such functions than this are not kept.
const MAX_HELPERS: usize = 64;

/// An import names what it binds within so many pieces before its module.
const NEAR: usize = 24;

impl Evaluator<'_> {
    /// Follows calls of what the modules of this code start, and learns what it starts itself for those that load it.
    pub(crate) fn helper_calls(&mut self, language: &Language, name: &str, code: &str) {
        let Some(loaded) = &self.loaded else { return };
        let mut named = language.starts.iter();
        if loaded.helpers.is_empty() && !named.any(|word| code.contains(word)) {
            return;
        }
        let helpers = loaded.helpers.clone();
        let first = language.names.first().copied().unwrap_or_default();
        let Some(mut reader) = Calls::new(first, code, &[]) else {
            return;
        };
        reader.own = helpers;
        let known = reader.own.len();
        let found = reader.calls_around();
        // The calls of its own are followed elsewhere; here they only show which functions start what they are given.
        reader.calls();
        let more = reader.own.split_off(known.min(reader.own.len()));
        if let Some(loaded) = &mut self.loaded {
            let more = more.into_iter().map(|own| Own {
                elsewhere: true,
                ..own
            });
            loaded.helpers.extend(more);
            loaded.helpers.truncate(MAX_HELPERS);
        }
        self.follow_starts(language, name, code, found);
    }
}

impl Calls {
    /// Names that the code binds by loading modules of the project.
    pub(super) fn imported_words(&self, own: &Own) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        if !own.elsewhere {
            return words;
        }
        let tokens = &self.code.tokens;
        let word = |token: &Token| match token {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        };
        for (at, token) in tokens.iter().enumerate() {
            let range = match token {
                Token::Text(text) if text.starts_with('.') => at.saturating_sub(NEAR)..at,
                Token::Word(word) if matches!(word.as_str(), "import" | "use") => {
                    at..at.saturating_add(NEAR)
                }
                _ => continue,
            };
            words.extend(
                tokens
                    .get(range.start..range.end.min(tokens.len()))
                    .into_iter()
                    .flatten()
                    .filter_map(word),
            );
        }
        words
    }

    /// Whether a function is called here: one of this code by its name, one of another file by a name that was loaded.
    pub(super) fn calls_own(&self, own: &Own, imported: &BTreeSet<String>, at: usize) -> bool {
        let Some(word) = self.code.word(at) else {
            return false;
        };
        let before = |by: usize| at.checked_sub(by);
        let called = self.code.sign(at.saturating_add(1), '(');
        let defined = before(1).is_some_and(|before| {
            matches!(self.code.word(before), Some("def" | "function" | "sub"))
        });
        if !called || defined {
            return false;
        }
        if !own.elsewhere {
            return word == own.name;
        }
        let dotted = before(1).is_some_and(|dot| self.code.sign(dot, '.'));
        if matches!(own.name.as_str(), "exports" | "default") {
            return !dotted && imported.contains(word) && !matches!(word, "require" | "import");
        }
        let of = before(2).filter(|_| dotted);
        let of_module = of.is_none_or(|of| {
            self.code.sign(of, ')') || self.code.word(of).is_some_and(|of| imported.contains(of))
        });
        word == own.name
            && of_module
            && (dotted || imported.contains(word) || self.code.family == Family::Perl)
    }

    /// A function that starts what it is given, where somebody else calls it: `commands.forEach(run)`,
    /// `on("data", function run(c) {…})`, `tasks["run"](c)`, `@command` before it.
    pub(super) fn is_handed_on(&self, own: &Own, at: usize) -> bool {
        if own.elsewhere {
            return false;
        }
        let after = at.saturating_add(1);
        let listed = |at: Option<usize>| {
            at.is_some_and(|at| self.code.sign(at, '(') || self.code.sign(at, ','))
        };
        if let Some(Token::Text(text)) = self.code.token(at) {
            let called = self.code.sign(after, ']') && self.code.sign(at.saturating_add(2), '(');
            return *text == own.name && called;
        }
        if self.code.word(at) != Some(&own.name) {
            return false;
        }
        let before = at.checked_sub(1);
        match before.and_then(|before| self.code.word(before)) {
            Some("function") => listed(at.checked_sub(2)),
            Some("def") => self.is_decorated(at.saturating_sub(1)),
            _ => {
                let ends = self.code.sign(after, ')') || self.code.sign(after, ',');
                let given = ends && before.is_some_and(|before| self.code.sign(before, '('));
                given || self.is_renamed(at)
            }
        }
    }

    /// `h = run`, `const h = run`; `exports.run = run` only hands it out.
    fn is_renamed(&self, at: usize) -> bool {
        let ends = matches!(
            self.code.token(at.saturating_add(1)),
            None | Some(Token::Sign('\n' | ';'))
        );
        let declared = at.checked_sub(3).is_some_and(|at| {
            self.code.family == Family::Python
                || matches!(self.code.word(at), Some("const" | "let" | "var"))
        });
        let equals = at.checked_sub(1).is_some_and(|at| self.code.sign(at, '='));
        ends && declared && equals
    }

    /// Whether the line before a definition is `@something`.
    fn is_decorated(&self, definition: usize) -> bool {
        let begin = definition.saturating_sub(NEAR);
        let before = (begin..definition).rev();
        let mut before = before
            .take_while(|at| !matches!(self.code.word(*at), Some("def" | "class" | "return")));
        before.any(|at| {
            let fresh = at == 0 || self.code.sign(at.saturating_sub(1), '\n');
            fresh && self.code.sign(at, '@')
        })
    }
}
