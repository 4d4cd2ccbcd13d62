//! `$X` and the forms of `${…}`, arithmetic and subscripts. The results of rarer forms are unknown.

use shell::ir::{Operation, Parameter, Place, Subject, Word};
use shell::lower;
use shell::value::{ENVIRONMENT, HOLE, has_hole, unknown};

use super::Evaluator;
use shell::pattern;

impl Evaluator<'_> {
    /// Expands parameters that give several fields: `$@`, `${a[@]}` and their slices.
    pub(crate) fn separate(&mut self, parameter: &Parameter, quoted: bool) -> Option<Vec<String>> {
        let texts: Vec<String> = match &parameter.subject {
            Subject::All { joined } if !(*joined && quoted) => self.state.positional.clone(),
            Subject::Elements { name, joined } if !(*joined && quoted) => {
                let elements = self.state.elements(name);
                elements?.into_iter().map(|(_, text)| text).collect()
            }
            _ => return None,
        };
        if parameter.indirect {
            return Some(vec![unknown()]);
        }
        Some(match &parameter.operation {
            Operation::Value => texts,
            Operation::Length | Operation::Declared | Operation::Pairs => return None,
            Operation::Default { word, .. } if texts.is_empty() => vec![self.value(word)],
            Operation::Alternative { .. } if texts.is_empty() => Vec::new(),
            Operation::Alternative { word, .. } => vec![self.value(word)],
            Operation::Substring { offset, length } => {
                let from = self.arithmetic(offset);
                let count = length.as_ref().map(|length| self.arithmetic(length));
                let is_positional = matches!(parameter.subject, Subject::All { .. });
                match (from, count) {
                    (Some(from), None | Some(Some(_)))
                        if !texts.iter().any(|text| has_hole(text)) =>
                    {
                        let first = i64::from(is_positional && from > 0);
                        slice(&texts, from.saturating_sub(first), count.flatten())
                    }
                    _ => vec![unknown()],
                }
            }
            operation => {
                let change = |text: &String| self.change(text, operation);
                texts.iter().map(change).collect()
            }
        })
    }

    /// Expands any other parameter.
    pub(crate) fn parameter(&mut self, parameter: &Parameter) -> String {
        let found = self.subject(&parameter.subject);
        if parameter.indirect || matches!(parameter.operation, Operation::Names) {
            if let Some(text) = found {
                self.named(&text);
            }
            return unknown();
        }
        match &parameter.operation {
            Operation::Default {
                empty_counts,
                assigns,
                word,
            } => match found {
                Some(text) if !(has_hole(&text) || text.is_empty() && *empty_counts) => text,
                found => {
                    let other = self.value(word);
                    // An unknown value may be empty.
                    let text = found.filter(|text| has_hole(text));
                    let text = text.unwrap_or_else(|| other.clone());
                    if let (true, Subject::Named(name)) = (*assigns, &parameter.subject) {
                        self.given(name, &other);
                        self.state.set(name, text.clone(), false);
                    }
                    text
                }
            },
            Operation::Alternative { empty_counts, word } => {
                let other = self.value(word);
                match found {
                    // The shell or the environment may set it.
                    None if matches!(parameter.subject, Subject::Positional(_)) => String::new(),
                    None => format!("{ENVIRONMENT}{other}"),
                    Some(text) if has_hole(&text) => unknown(),
                    Some(text) if text.is_empty() && *empty_counts => String::new(),
                    Some(_) => other,
                }
            }
            Operation::Required(message) => {
                self.value(message);
                found.unwrap_or_else(|| ENVIRONMENT.to_string())
            }
            Operation::Length => match (&parameter.subject, found) {
                (Subject::All { .. }, _) => self.state.positional.len().to_string(),
                (Subject::Elements { name, .. }, _) => {
                    let elements = self.state.elements(name).unwrap_or_default();
                    elements.len().to_string()
                }
                (_, Some(text)) if !has_hole(&text) => text.chars().count().to_string(),
                _ => ENVIRONMENT.to_string(),
            },
            operation => {
                let text = found.unwrap_or_else(|| ENVIRONMENT.to_string());
                self.change(&text, operation)
            }
        }
    }

    fn subject(&mut self, subject: &Subject) -> Option<String> {
        Some(match subject {
            Subject::Positional(number) => {
                let index = number.checked_sub(1)?;
                match self.state.positional.get(index) {
                    Some(text) => text.clone(),
                    None if self.state.positional.iter().any(|text| has_hole(text)) => unknown(),
                    // The arguments come from a call: there are no more.
                    None if self.notes.texts > 0 || !self.state.positional.is_empty() => {
                        return None;
                    }
                    None => return None,
                }
            }
            Subject::All { .. } => self.state.positional.join(&self.separator()),
            Subject::Count => self.state.positional.len().to_string(),
            Subject::Number => ENVIRONMENT.to_string(),
            Subject::ShellName => self.state.name.to_string(),
            Subject::Named(name) => self.state.get(name)?,
            Subject::Element(name, index) => {
                let key = self.value(index);
                self.subscripted(&key);
                self.element(name, &key)?
            }
            Subject::Elements { name, .. } => {
                let separator = self.separator();
                let elements = self.state.elements(name)?;
                let texts: Vec<String> = elements.into_iter().map(|(_, text)| text).collect();
                texts.join(&separator)
            }
        })
    }

    /// Returns the separator of `"$*"`: the first character of IFS.
    fn separator(&self) -> String {
        let ifs = self.state.get("IFS");
        let first = ifs.as_deref().unwrap_or(" ").chars().next();
        first.map(String::from).unwrap_or_default()
    }

    /// Returns an element of an array. Only a literal key finds one.
    fn element(&mut self, name: &str, key: &str) -> Option<String> {
        let elements = self.state.elements(name)?;
        let key = key.trim_matches(['"', '\'']);
        let is_known = |(old, _): &(String, String)| !has_hole(old);
        if has_hole(key) || !elements.iter().all(is_known) {
            return Some(unknown());
        }
        if let Some((_, text)) = elements.iter().rev().find(|(old, _)| old == key) {
            return Some(text.clone());
        }
        match self.number(key) {
            Some(number) if number >= 0 => {
                let key = number.to_string();
                let found = elements.iter().rev().find(|(old, _)| *old == key);
                found.map(|(_, text)| text.clone())
            }
            _ => Some(unknown()),
        }
    }

    /// Applies an operation to a value that is set.
    fn change(&mut self, text: &str, operation: &Operation) -> String {
        match operation {
            Operation::Value => return text.to_owned(),
            Operation::RemovePrefix {
                longest,
                pattern: wanted,
            } => {
                let wanted = self.pattern(wanted);
                if !has_hole(text) && !has_hole(&wanted) {
                    return pattern::remove_prefix(text, &wanted, *longest);
                }
            }
            Operation::RemoveSuffix {
                longest,
                pattern: wanted,
            } => {
                let wanted = self.pattern(wanted);
                if !has_hole(text) && !has_hole(&wanted) {
                    return pattern::remove_suffix(text, &wanted, *longest);
                }
            }
            Operation::Replace {
                pattern: wanted,
                replacement,
                place,
            } => {
                let wanted = self.pattern(wanted);
                let with = self.value(replacement);
                let is_plain = !has_hole(text) && !has_hole(&wanted) && !with.contains(['&', '\\']);
                if is_plain && matches!(place, Place::First | Place::All) {
                    return pattern::replace(text, &wanted, &with, *place == Place::All);
                }
            }
            Operation::Substring { offset, length } => {
                let from = self.arithmetic(offset);
                let count = length.as_ref().map(|length| self.arithmetic(length));
                if let (Some(from), None | Some(Some(_))) = (from, count)
                    && !has_hole(text)
                {
                    let characters: Vec<char> = text.chars().collect();
                    return slice(&characters, from, count.flatten())
                        .into_iter()
                        .collect();
                }
            }
            Operation::Case {
                upper,
                all: true,
                pattern: None,
            } if !has_hole(text) => {
                return if *upper {
                    text.to_uppercase()
                } else {
                    text.to_lowercase()
                };
            }
            Operation::Case {
                pattern: Some(wanted),
                ..
            } => drop(self.pattern(wanted)),
            // `@P` expands the text again.
            Operation::Prompt => self.computed(text),
            _ => {}
        }
        unknown()
    }

    /// Returns the number of an expression, if it is literal.
    pub(crate) fn arithmetic(&mut self, word: &Word) -> Option<i64> {
        let text = self.value(word);
        self.number(&text)
    }

    /// Evaluates an expression: numbers and variables with numbers; the values that it assigns are unknown
    /// afterwards.
    pub(crate) fn number(&mut self, text: &str) -> Option<i64> {
        let text = text.trim();
        if let Some(number) = integer(text) {
            return Some(number);
        }
        if let Some(value) = self.state.get(text)
            && let Some(number) = integer(value.trim())
        {
            return Some(number);
        }
        self.subscripted(text);
        if text.contains('=') || text.contains("++") || text.contains("--") {
            for name in names_in(text) {
                if self.state.get(name).is_some() {
                    self.state.set(name, ENVIRONMENT.to_string(), false);
                }
            }
        }
        sum(text)
    }

    /// Handles text that bash evaluates as arithmetic or as a name: a substitution in a subscript runs, and so does
    /// one in the value of a variable that it names.
    pub(crate) fn subscripted(&mut self, text: &str) {
        self.computed(text);
        let mut open: Vec<String> = names_in(text).map(str::to_owned).collect();
        let mut seen: Vec<String> = Vec::new();
        while let Some(name) = open.pop() {
            if seen.contains(&name) || !self.step() {
                continue;
            }
            for (_, value) in self.state.elements(&name).into_iter().flatten() {
                self.computed(&value);
                open.extend(names_in(&value).map(str::to_owned));
            }
            seen.push(name);
        }
    }

    /// Handles text that bash evaluates as the name of a variable: a subscript in it is computed.
    pub(crate) fn named(&mut self, text: &str) {
        self.computed(text);
        if let Some((_, subscript)) = text.split_once('[') {
            self.subscripted(subscript);
        }
    }

    /// Handles text of a computation; if it is unknown, so are the commands that it runs.
    fn computed(&mut self, text: &str) {
        self.hidden_command(text);
        if foreign(text) {
            self.opaque("a text that is not known is computed with", text);
        }
    }

    /// Handles text that is expanded again, which runs the substitutions in it.
    pub(crate) fn hidden_command(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            let word = lower::single_word(&format!("\"{}\"", text.replace('"', "\\\"")));
            self.deeper(String::new, |this| this.value(&word));
            self.opaque("a text that is expanded again holds a command", text);
        }
    }
}

/// Evaluates `2+1`, `4-1`: numbers with operators between them.
fn sum(text: &str) -> Option<i64> {
    let mut total = 0_i64;
    let spaced = text.replace(' ', "").replace('-', "+-");
    for part in spaced.split('+').filter(|part| !part.is_empty()) {
        total = total.checked_add(integer(part)?)?;
    }
    (!spaced.is_empty()).then_some(total)
}

/// Parses a literal number; a leading zero makes it octal, which is seldom intended.
fn integer(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.trim_start_matches('-');
    let is_plain = digits.len() == 1 || !digits.starts_with('0');
    text.parse().ok().filter(|_| is_plain)
}

/// Returns the names of variables in an expression.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|one: char| !one.is_alphanumeric() && one != '_')
        .filter(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}

/// Slices like bash: a negative offset counts from the end, and so does a negative length.
fn slice<T: Clone>(all: &[T], offset: i64, length: Option<i64>) -> Vec<T> {
    let size = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 {
        size.saturating_add(offset)
    } else {
        offset
    };
    let end = match length {
        None => size,
        Some(length) if length < 0 => size.saturating_add(length),
        Some(length) => start.saturating_add(length),
    };
    let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end.min(size))) else {
        return Vec::new();
    };
    all.get(start..end).map(<[T]>::to_vec).unwrap_or_default()
}

/// Returns `true` if a text contains a hole that may hide a command.
pub(crate) fn foreign(text: &str) -> bool {
    text.contains(HOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_where_they_are_written_out() {
        for (text, expected) in [
            ("", Some(0)),
            ("12", Some(12)),
            ("-1", Some(-1)),
            ("2+1-4", Some(-1)),
            ("012", None),
            ("2*3", None),
            ("x", None),
        ] {
            assert_eq!(integer(text).or_else(|| sum(text)), expected, "{text}");
        }
        assert_eq!(slice(&[1, 2, 3], -2, Some(1)), [2]);
        assert_eq!(slice(&[1, 2, 3], 1, Some(9)), [2, 3]);
    }
}
