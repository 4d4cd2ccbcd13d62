//! Names that a loop in code gives one value after the other: `for c in ["a", "b"]`, `for name, c in checks.items()`.

use crate::value::HOLE;

use super::{Code, Given};
use crate::evaluate::tokens::Family;

/// A loop over more values than this is not followed.
const MAX_VALUES: usize = 64;

/// More loops than this, or more names of one, are not followed.
const MAX_LOOPS: usize = 256;
const MAX_NAMES: usize = 8;

impl Code {
    /// `for c in ["a", "b"]`, `foreach my $c ("a", "b")`, `for name, c in [("a", "b")]`.
    pub(super) fn bind_loop(&mut self, mut at: usize) {
        while matches!(self.word(at), Some("my" | "const" | "let" | "var"))
            || self.sign(at, '(')
            || self.sign(at, '[')
        {
            at = at.saturating_add(1);
        }
        let mut names = Vec::new();
        while let Some(name) = self.word(at).map(str::to_owned) {
            names.push(name);
            at = at.saturating_add(1);
            if !self.sign(at, ',') {
                break;
            }
            at = at.saturating_add(1);
        }
        if self.sign(at, ')') || self.sign(at, ']') {
            at = at.saturating_add(1);
        }
        let listed = matches!(self.word(at), Some("in" | "of"));
        let bracketed = self.family == Family::Perl && self.sign(at, '(');
        if names.is_empty() || (!listed && !bracketed) {
            return;
        }
        self.loops = self.loops.saturating_add(1);
        if self.loops > MAX_LOOPS || names.len() > MAX_NAMES {
            for name in names {
                self.bind_name(name, Given::hole());
            }
            return;
        }
        let begin = if listed { at.saturating_add(1) } else { at };
        let several = names.len() > 1;
        for (place, name) in names.into_iter().enumerate() {
            let value = if several {
                self.unpacked(begin, place)
            } else {
                self.each(begin)
            };
            self.bind_name(name, value);
        }
    }

    /// The value of a name that takes every element of a list in turn.
    fn each(&self, begin: usize) -> Given {
        let nested = self.elements(begin).and_then(|all| self.columns(&all));
        match (nested, self.value(begin).0) {
            (Some(nested @ Given::Lists(_)), _) => nested,
            (_, Given::Words(words)) => Given::Each(words),
            (_, Given::Text(text)) if self.family == Family::Perl => Given::Text(text),
            _ => Given::hole(),
        }
    }

    /// The value of a name that takes one place of every element: `for name, c in [("a", "b")]`.
    fn unpacked(&self, begin: usize, place: usize) -> Given {
        let rows = self.elements(begin).unwrap_or_default();
        let places: Option<Vec<usize>> = rows
            .iter()
            .map(|row| self.elements(*row)?.get(place).copied())
            .collect();
        // `{"a": "b"}.items()` gives its keys and values.
        let places = places.or_else(|| self.pairs(begin, place));
        let column = places.and_then(|places| self.columns(&places));
        column.unwrap_or_else(Given::hole)
    }

    /// What stands at these places: one text each, or one list of texts each.
    fn columns(&self, places: &[usize]) -> Option<Given> {
        if places.is_empty() || places.len() > MAX_VALUES {
            return None;
        }
        let values: Vec<Given> = places.iter().map(|at| self.value(*at).0).collect();
        let texts = values.iter().map(|value| match value {
            Given::Text(text) => Some(text.clone()),
            _ => None,
        });
        if let Some(texts) = texts.collect() {
            return Some(Given::Each(texts));
        }
        let lists = values.into_iter().map(|value| match value {
            Given::Words(words) => Some(words),
            _ => None,
        });
        lists.collect::<Option<_>>().map(Given::Lists)
    }

    /// Where the elements of a list begin that is written out here, or that a name holds.
    fn elements(&self, at: usize) -> Option<Vec<usize>> {
        let at = self.written_at(at);
        if !self.sign(at, '[') && !self.sign(at, '(') {
            return None;
        }
        Some(self.parts(at))
    }

    /// Where the keys or values of a dictionary begin.
    fn pairs(&self, begin: usize, place: usize) -> Option<Vec<usize>> {
        let at = self.written_at(begin);
        // `Object.entries(checks)`.
        let within = self.word(at) == Some("Object")
            && self.word(at.saturating_add(2)) == Some("entries")
            && self.sign(at.saturating_add(3), '(');
        let at = if within {
            self.written_at(at.saturating_add(4))
        } else {
            at
        };
        if !self.sign(at, '{') {
            return None;
        }
        let keys = self.parts(at);
        if place == 0 {
            return Some(keys);
        }
        let values = keys.iter().map(|key| {
            let colon = key.saturating_add(1);
            self.sign(colon, ':').then(|| colon.saturating_add(1))
        });
        values.collect()
    }

    /// `TASKS[name]`: any value of a dictionary that is written out once and not changed.
    pub(super) fn entry(&self, at: usize) -> Option<(Given, usize)> {
        let open = at.saturating_add(1);
        if !self.sign(open, '[') {
            return None;
        }
        let table = self.word(at)?;
        let changes = |at: usize| {
            let behind = at.saturating_add(1);
            let end = self.closing(behind);
            let set = self.sign(behind, '[')
                && self.sign(end, '=')
                && !self.sign(end.saturating_add(1), '=');
            let called = matches!(
                self.word(at.saturating_add(2)),
                Some("update" | "setdefault" | "assign")
            );
            self.word(at) == Some(table) && (set || called)
        };
        self.places.get(table).copied().flatten()?;
        let values = self.pairs(at, 1)?;
        if (0..self.tokens.len()).any(changes) {
            return None;
        }
        Some((self.columns(&values)?, self.closing(open)))
    }

    /// The parts of what stands in a bracket.
    fn parts(&self, open: usize) -> Vec<usize> {
        let end = self.closing(open).saturating_sub(1);
        let mut all = Vec::new();
        let mut fresh = true;
        let mut at = open.saturating_add(1);
        while at < end && all.len() <= MAX_VALUES {
            let blank = self.sign(at, '\n');
            if fresh && !blank {
                all.push(at);
            }
            fresh = self.sign(at, ',') || (fresh && blank);
            let opens = ['(', '[', '{'].iter().any(|sign| self.sign(at, *sign));
            at = if opens {
                self.closing(at).max(at.saturating_add(1))
            } else {
                at.saturating_add(1)
            };
        }
        all
    }

    /// Where the value of a name is written that is bound once, else the place itself.
    fn written_at(&self, at: usize) -> usize {
        let place = self.word(at).and_then(|name| self.places.get(name));
        place.copied().flatten().unwrap_or(at)
    }

    /// Learns where the values of names are written: `name = …`, once.
    pub(super) fn find_places(&mut self) {
        for at in 0..self.tokens.len() {
            let after = at.saturating_add(1);
            let begin = at.saturating_add(2);
            if !self.sign(after, '=') || self.sign(begin, '=') {
                continue;
            }
            if let Some(name) = self.word(at).map(str::to_owned) {
                let once = self.places.entry(name);
                once.and_modify(|place| *place = None)
                    .or_insert(Some(begin));
            }
        }
    }
}

/// A list with one word that a loop gives: once for each value.
pub(in crate::evaluate) fn spread(all: &[Given]) -> Option<Given> {
    let mut each = all.iter().enumerate().filter_map(|(at, one)| match one {
        Given::Each(values) => Some((at, values)),
        _ => None,
    });
    let (place, values) = each.next()?;
    if each.next().is_some() || values.len() > MAX_VALUES {
        return None;
    }
    let row = |value: &String| -> Vec<String> {
        let words = all.iter().enumerate().flat_map(|(at, one)| {
            if at == place {
                vec![value.clone()]
            } else {
                one.words()
            }
        });
        words.collect()
    };
    Some(Given::Lists(values.iter().map(row).collect()))
}

/// What a name may hold that two loops give values to.
pub(super) fn joined(before: &Given, after: &Given) -> Given {
    match (before, after) {
        (Given::Each(one), Given::Each(two)) => Given::Each([one.clone(), two.clone()].concat()),
        (Given::Lists(one), Given::Lists(two)) => Given::Lists([one.clone(), two.clone()].concat()),
        _ => Given::Text(HOLE.to_string()),
    }
}
