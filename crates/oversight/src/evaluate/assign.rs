//! Assignments: variables, elements of arrays and their keys. A key that cannot be computed may be any.

use crate::shell::ir::{Assigned, Assignment, Piece, Word};
use crate::value::{HOLE, Value, has_hole};

use super::Evaluator;
use super::stored::{Elements, MAX_ARRAYS};

impl Evaluator<'_> {
    pub(crate) fn assign(&mut self, assignment: &Assignment, exported: bool) {
        let name = assignment.name.as_str();
        match &assignment.value {
            Assigned::Scalar(word) => {
                let mut value = self.value(word);
                if let Some(index) = &assignment.index {
                    let key = self.key(name, index);
                    if assignment.append {
                        let before = self.element(name, &key).unwrap_or_else(Value::empty);
                        value = before.then(&value);
                    }
                    // The last two are those of zsh.
                    if matches!(name, "BASH_ALIASES" | "aliases" | "galiases" | "functions") {
                        let text = value.first().to_owned();
                        self.state.aliases.insert(key.clone(), text);
                    }
                    if name == "BASH_CMDS" {
                        self.alias_file(value.first(), &format!("/hashed/{key}"));
                    }
                    self.set_element(name, key, value);
                    return;
                }
                let before = self.state.variables.get(name);
                let integer = before.is_some_and(|old| old.integer);
                if assignment.append {
                    let plus = Value::text(if integer { "+" } else { "" });
                    let before = self.state.get(name).unwrap_or_else(Value::empty);
                    value = before.then(&plus).then(&value);
                }
                if integer && let Some(text) = value.known().map(str::to_owned) {
                    let number = self.number(&text, 8);
                    value = number
                        .map_or_else(Value::unknown, |number| Value::text(number.to_string()));
                }
                if name == "BASH_ARGV0" {
                    self.state.shell_name = value.first().into();
                }
                self.state.set(name, value, exported);
            }
            Assigned::Array(parts) => self.assign_array(assignment, parts),
        }
    }

    fn assign_array(&mut self, assignment: &Assignment, parts: &[(Option<Word>, Vec<Word>)]) {
        let name = assignment.name.as_str();
        let bare = parts.iter().all(|(key, _)| key.is_none());
        let mut elements = if assignment.append {
            self.state.elements(name).unwrap_or_default()
        } else {
            Vec::new()
        };
        // `declare -A a=(key value)`: words in pairs.
        if self.state.is_associative(name) && bare && !parts.is_empty() {
            let words = parts.iter().flat_map(|(_, words)| words);
            let values: Vec<Value> = words
                .collect::<Vec<_>>()
                .into_iter()
                .flat_map(|word| columns(&self.fields(word)))
                .collect();
            for pair in values.chunks(2) {
                let key = pair.first().map_or("", Value::first).to_owned();
                let value = pair.get(1).cloned().unwrap_or_else(Value::empty);
                elements.retain(|(old, _)| *old != key);
                elements.push((key, value));
            }
            self.state.set_array(name, elements);
            return;
        }
        let several = self.state.arrays(name).filter(|_| assignment.append);
        let mut arrays = several.unwrap_or_else(|| vec![elements]);
        for (key, words) in parts {
            match key {
                Some(key) => {
                    let key = self.key(name, key);
                    let value = words
                        .first()
                        .map_or_else(Value::empty, |word| self.value(word));
                    for elements in &mut arrays {
                        elements.retain(|(old, _)| *old != key);
                        elements.push((key.clone(), value.clone()));
                    }
                }
                None => {
                    for word in words {
                        arrays = extended(&arrays, &self.fields(word));
                    }
                }
            }
        }
        self.state.set_arrays(name, arrays);
    }

    /// `X=1` where it is a word of a program.
    pub(crate) fn assignment_texts(&mut self, assignment: &Assignment) -> Vec<String> {
        let value = match &assignment.value {
            Assigned::Scalar(word) => self.value(word),
            Assigned::Array(_) => Value::unknown(),
        };
        let plus = if assignment.append { "+" } else { "" };
        let texts = value.possibilities().iter();
        texts
            .map(|value| format!("{}{plus}={value}", assignment.name))
            .collect()
    }

    /// The key of an array element: its text in an associative array, else a number; a hole when that is not known.
    pub(crate) fn key(&mut self, name: &str, index: &Word) -> String {
        let text = self.value(index).first().to_owned();
        self.key_of(name, &text)
    }

    /// The same, of a subscript whose text is there already: expanding it again would double the work at every level
    /// of nesting.
    pub(crate) fn key_of(&mut self, name: &str, text: &str) -> String {
        let unquoted = || text.trim_matches(['"', '\'']).to_owned();
        if self.state.is_associative(name) {
            return unquoted();
        }
        if has_hole(text) {
            return HOLE.to_string();
        }
        match self.number(text, 8) {
            Some(number) => number.to_string(),
            // Nobody declared the array here: it may be associative.
            None if self.state.elements(name).is_none() => unquoted(),
            None => HOLE.to_string(),
        }
    }

    /// An element of an array, by its key.
    pub(crate) fn element(&self, name: &str, key: &str) -> Option<Value> {
        let Some(arrays) = self.state.arrays(name) else {
            return element(&self.state.elements(name)?, key);
        };
        let each = arrays.iter().map(|elements| element(elements, key));
        let each = each.map(|value| value.unwrap_or_else(Value::empty));
        each.reduce(|one, two| one.or(&two))
    }

    /// Sets an element of an array.
    pub(crate) fn set_element(&mut self, name: &str, key: String, value: Value) {
        let mut elements = self.state.elements(name).unwrap_or_default();
        match elements.iter_mut().find(|(old, _)| *old == key) {
            Some((_, old)) if has_hole(&key) => *old = old.or(&value),
            Some((_, old)) => *old = value,
            None => elements.push((key, value)),
        }
        self.state.set_array(name, elements);
    }
}

/// The fields of a word as values: each is one of those that the ways have at its place.
fn columns(ways: &[Vec<String>]) -> Vec<Value> {
    if let [only] = ways {
        return only.iter().map(|text| Value::text(text.clone())).collect();
    }
    let longest = ways.iter().map(Vec::len).max().unwrap_or_default();
    let column = |at: usize| {
        let texts = ways.iter().map(|way| way.get(at).cloned());
        Value::one_of(texts.map(Option::unwrap_or_default))
    };
    (0..longest).map(column).collect()
}

/// Arrays with the fields of a word behind their elements: ways of another length make other arrays.
fn extended(arrays: &[Elements], ways: &[Vec<String>]) -> Vec<Elements> {
    let alike = ways.windows(2).all(|pair| match pair {
        [one, two] => one.len() == two.len(),
        _ => true,
    });
    let choices: Vec<Vec<Value>> = if alike {
        vec![columns(ways)]
    } else {
        let texts = |way: &Vec<String>| way.iter().map(|text| Value::text(text.clone())).collect();
        ways.iter().map(texts).collect()
    };
    // More than are kept apart are cut off here and unknown as a whole there.
    let most = MAX_ARRAYS.saturating_add(1);
    let longer = arrays.iter().flat_map(|elements| {
        choices.iter().map(|values| {
            let mut elements = elements.clone();
            for value in values {
                elements.push((next_key(&elements), value.clone()));
            }
            elements
        })
    });
    longer.take(most).collect()
}

/// Where an element goes that has no key of its own: behind the last number.
fn next_key(elements: &[(String, Value)]) -> String {
    if elements.iter().any(|(key, _)| has_hole(key)) {
        return HOLE.to_string();
    }
    let numbers = elements
        .iter()
        .filter_map(|(key, _)| key.parse::<i64>().ok());
    let next = numbers.max().map_or(0, |last| last.saturating_add(1));
    next.to_string()
}

/// Whether a value is what a command prints.
pub(super) fn runs_command(assignment: &Assignment) -> bool {
    fn within(piece: &Piece) -> bool {
        match piece {
            Piece::Command(_) => true,
            Piece::Double(pieces) => pieces.iter().any(within),
            _ => false,
        }
    }
    matches!(&assignment.value, Assigned::Scalar(word) if word.pieces.iter().any(within))
}

/// An element of one array.
fn element(elements: &Elements, key: &str) -> Option<Value> {
    let any = |values: &mut dyn Iterator<Item = &Value>| {
        let mut values = values.take(17);
        let first = values.next().cloned();
        first.map(|first| values.fold(first, |all, value| all.or(value)))
    };
    if has_hole(key) {
        let all = any(&mut elements.iter().map(|(_, value)| value));
        return Some(all.unwrap_or_else(Value::unknown));
    }
    let found = match key.parse::<i64>() {
        Ok(number) if number < 0 => {
            let back = usize::try_from(number.unsigned_abs()).ok()?;
            let at = elements.len().checked_sub(back);
            at.and_then(|at| elements.get(at))
        }
        _ => elements.iter().rev().find(|(old, _)| old == key),
    };
    let found = found.map(|(_, value)| value.clone());
    // What was stored under a key that nobody knows may be this one.
    let mut unknown = elements.iter().filter(|(key, _)| has_hole(key));
    let other = any(&mut unknown.by_ref().map(|(_, value)| value));
    Some(match (found, other) {
        (Some(found), Some(other)) => found.or(&other),
        (Some(one), None) => one,
        (None, Some(other)) => other.or(&Value::empty()),
        // Arrays that could not be kept apart any more.
        (None, None) if matches!(elements.as_slice(), [(_, value)] if value.first() == HOLE.to_string()) => {
            Value::unknown()
        }
        (None, None) => Value::empty(),
    })
}
