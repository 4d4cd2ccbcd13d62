//! Loops in Python code that are written out: each round gives known values to the names of the loop.

use std::collections::BTreeSet;

use crate::value::{HOLE, has_hole};

use super::given::{Given, MAX_ASKED};
use super::python::Python;
use crate::evaluate::tokens::Token;

/// More rounds than this are not followed.
const MAX_ROUNDS: usize = 64;

/// Names are looked for in so many pieces of a call.
const MAX_PIECES: usize = 200;

/// The names of a loop and what they hold in one round.
pub(super) type Round = Vec<(String, Given)>;

/// Where a loop begins, and its rounds.
struct Loop {
    begin: usize,
    rounds: Vec<Round>,
}

impl Python {
    /// The rounds of the loop that a call takes its words from: none when it takes them from no loop, or not for sure.
    pub(super) fn rounds_of(&self, call: usize) -> Option<Vec<Round>> {
        let open = call.saturating_add(1);
        let end = self.walk.closing(open)?;
        let mut names: BTreeSet<String> = BTreeSet::new();
        for at in open..end.min(open.saturating_add(MAX_PIECES)) {
            if !self.walk.dotted(at) {
                names.extend(self.walk.word(at).map(str::to_owned));
            }
            let fillings = self.walk.fillings_at(at).unwrap_or_default();
            names.extend(fillings.iter().cloned());
        }
        let mut found: Option<Loop> = None;
        for name in names {
            self.asked.set(self.asked.get().saturating_add(1));
            if self.asked.get() > MAX_ASKED {
                return None;
            }
            let Some(one) = self.written_loop(&name) else {
                continue;
            };
            if found.as_ref().is_some_and(|other| other.begin != one.begin) {
                return None;
            }
            found = Some(one);
        }
        found.map(|one| one.rounds)
    }

    /// The loop that binds a name, when nothing else does and its list stands there.
    fn written_loop(&self, name: &str) -> Option<Loop> {
        let mut bindings = self.occurrences(name).filter(|at| self.is_bound(*at));
        let at = bindings.next()?;
        if bindings.next().is_some() || self.parameters.iter().any(|one| one.name == name) {
            return None;
        }
        let mut begin = at;
        while self.walk.word(begin) != Some("for") {
            begin = begin.checked_sub(1)?;
            match self.walk.token(begin)? {
                Token::Word(_) | Token::Sign(',' | '(') => {}
                _ => return None,
            }
        }
        let mut names = Vec::new();
        let mut at = begin.saturating_add(1);
        while self.walk.word(at) != Some("in") {
            match self.walk.token(at)? {
                Token::Word(name) => names.push(name.clone()),
                Token::Sign(',' | '(' | ')') => {}
                _ => return None,
            }
            at = at.saturating_add(1);
        }
        let rows = self.rows(at.saturating_add(1))?;
        if rows.len() > MAX_ROUNDS {
            return None;
        }
        let rounds: Option<Vec<Round>> = rows.iter().map(|row| self.round(&names, row)).collect();
        let rounds = rounds?;
        // A list may be changed on the way.
        let lists = rounds.iter().flatten().filter(|(_, given)| given.is_list());
        for (name, _) in lists {
            let mut uses = self.occurrences(name).filter(|at| !self.is_bound(*at));
            if !uses.all(|at| self.reads_words(at)) || self.fills_with(name) {
                return None;
            }
        }
        Some(Loop { begin, rounds })
    }

    /// What the names of a loop hold in one round.
    fn round(&self, names: &[String], row: &[Vec<usize>]) -> Option<Round> {
        let given = |places: &[usize]| {
            let given = self.given(places, 1)?;
            let known = match &given {
                Given::Text(text) => !has_hole(text),
                Given::Words(words) => !words.iter().any(|word| has_hole(word)),
                Given::Own { .. } => false,
            };
            known.then_some(given)
        };
        let values: Vec<Given> = match (names, row) {
            ([_], [only]) => vec![given(only)?],
            ([_, _, ..], [only]) => {
                let open = *only.first()?;
                let bracket = self.walk.sign(open, '(') || self.walk.sign(open, '[');
                let parts = self.walk.parts(open).filter(|_| bracket)?;
                let values = parts.iter().map(|part| given(&self.walk.places(*part)));
                values.collect::<Option<_>>()?
            }
            ([_, _], [key, value]) => vec![given(key)?, given(value)?],
            _ => return None,
        };
        (values.len() == names.len()).then(|| names.iter().cloned().zip(values).collect())
    }

    /// The elements of the list that a loop goes through; an entry of a dictionary is a pair.
    fn rows(&self, at: usize) -> Option<Vec<Vec<Vec<usize>>>> {
        let named = self.walk.word(at);
        let (open, after) = match named {
            Some(name) => (self.written_list(name)?, at.saturating_add(1)),
            None => (at, self.walk.closing(at)?.saturating_add(1)),
        };
        let items = self.walk.sign(after, '.')
            && self.walk.word(after.saturating_add(1)) == Some("items")
            && self.walk.sign(after.saturating_add(2), '(')
            && self.walk.sign(after.saturating_add(3), ')');
        let after = if items {
            after.saturating_add(4)
        } else {
            after
        };
        if !self.walk.sign(after, ':') || items != self.walk.sign(open, '{') {
            return None;
        }
        let parts = self.walk.parts(open)?;
        let rows = parts.iter().map(|part| {
            let places = self.walk.places(*part);
            if !items {
                return Some(vec![places]);
            }
            match places.as_slice() {
                [key, colon, value @ ..] if self.walk.sign(*colon, ':') => {
                    Some(vec![vec![*key], value.to_vec()])
                }
                _ => None,
            }
        });
        rows.collect()
    }

    /// Where the list begins that a name holds, when it is bound once and only gone through.
    fn written_list(&self, name: &str) -> Option<usize> {
        let mut bindings = self.occurrences(name).filter(|at| self.is_bound(*at));
        let at = bindings.next()?;
        let open = at.saturating_add(2);
        let whole = self.walk.begins(at)
            && self.walk.sign(at.saturating_add(1), '=')
            && self.walk.closing(open)?.saturating_add(1) == self.end_of_statement(open);
        let gone_through = |at: usize| {
            let next = at.saturating_add(1);
            self.walk.word_before(at, 1) == Some("in")
                && (self.walk.sign(next, ':')
                    || self.walk.word(at.saturating_add(2)) == Some("items"))
        };
        let mut others = self.occurrences(name).filter(|other| *other != at);
        let only = bindings.next().is_none()
            && others.all(|at| gone_through(at) || self.only_reads(at))
            && !self.fills_with(name);
        (whole && only).then_some(open)
    }

    /// Whether a list of texts is only looked at here: `[*words]`, `words[0]`, `f(words)`.
    fn reads_words(&self, at: usize) -> bool {
        let next = at.saturating_add(1);
        let spread = self.walk.sign_before(at, 1, '*')
            && self
                .walk
                .outer(at)
                .is_some_and(|open| self.walk.sign(open, '['));
        let element = self.walk.sign(next, '[')
            && self.walk.closing(next).is_some_and(|end| {
                let after = end.saturating_add(1);
                let ends = [',', ')', ']', '\n', ':'];
                ends.iter().any(|sign| self.walk.sign(after, *sign))
            });
        spread || element || self.only_reads(at)
    }

    /// A text with the values of names in the places that they fill.
    pub(super) fn filled_in(&self, places: &[usize], text: String) -> String {
        let fillings = match places {
            [only] => self.walk.fillings_at(*only),
            _ => None,
        };
        let Some(fillings) = fillings else {
            return text;
        };
        let mut pieces = text.split(HOLE);
        let mut whole = pieces.next().unwrap_or_default().to_owned();
        for (piece, filling) in pieces.zip(fillings) {
            match self.name(filling, 0) {
                Some(Given::Text(value)) => whole.push_str(&value),
                _ => whole.push(HOLE),
            }
            whole.push_str(piece);
        }
        whole
    }
}
