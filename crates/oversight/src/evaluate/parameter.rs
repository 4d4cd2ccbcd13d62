//! `$X` and all forms of `${…}`.

mod change;

use crate::shell::ir::{Operation, Parameter, Subject, Word};
use crate::shell::{escape, lower};
use crate::value::{HOLE, Value, has_hole};

use self::change::{changed_case, changed_where, edit, replaced, slice};
use super::expand::choices;
use super::{Evaluator, pattern};

impl Evaluator<'_> {
    /// Parameters that expand to several fields: `$@`, `${a[@]}` and their slices, one list for each possibility.
    pub(crate) fn separate(
        &mut self,
        parameter: &Parameter,
        quoted: bool,
    ) -> Option<Vec<Vec<String>>> {
        if let (Operation::Names, Subject::Named(name), true) =
            (&parameter.operation, &parameter.subject, parameter.indirect)
        {
            let elements = self.state.elements(name)?;
            let mut keys: Vec<String> = elements.into_iter().map(|(key, _)| key).collect();
            let mut ways = vec![keys.clone()];
            if keys.len() > 1 && self.state.is_associative(name) {
                // Nobody knows their order.
                keys.reverse();
                ways.push(keys);
            }
            return Some(ways);
        }
        if parameter.indirect {
            // `${!r}` with `r='a[@]'`.
            let target = self.subject(&parameter.subject)?;
            let (name, _) = target
                .known()?
                .split_once("[@]")
                .or_else(|| target.known()?.split_once("[*]"))?;
            let elements = self.state.elements(name)?;
            let fields = elements.iter().map(|(_, value)| value.first().to_owned());
            return Some(vec![fields.collect()]);
        }
        if let (Operation::Declared | Operation::Pairs, Subject::Elements { name, .. }) =
            (&parameter.operation, &parameter.subject)
        {
            let text = match parameter.operation {
                Operation::Declared => self.declared(name),
                _ => self.pairs(name),
            };
            let ways = text?.into_possibilities().into_iter();
            return Some(ways.map(|text| vec![text]).collect());
        }
        let lists: Vec<Vec<Value>> = match &parameter.subject {
            Subject::All { joined } if !(*joined && quoted) => {
                let texts = self.state.positional.iter();
                vec![texts.map(|text| Value::text(text.clone())).collect()]
            }
            Subject::Elements { name, joined } if !(*joined && quoted) => {
                let arrays = self.state.arrays(name);
                let arrays = arrays.or_else(|| Some(vec![self.state.elements(name)?]))?;
                let values = arrays
                    .into_iter()
                    .map(|array| array.into_iter().map(|(_, value)| value));
                values.map(Iterator::collect).collect()
            }
            _ => return None,
        };
        let mut ways = Vec::new();
        for values in lists {
            ways.extend(choices(&self.changed_list(values, parameter)?));
        }
        Some(ways)
    }

    /// Several values after what a parameter does with them.
    fn changed_list(&mut self, values: Vec<Value>, parameter: &Parameter) -> Option<Vec<Value>> {
        let unknown = |value: &Value| {
            value
                .possibilities()
                .iter()
                .any(|text| *text == HOLE.to_string())
        };
        Some(match &parameter.operation {
            // Nobody knows how many stand there.
            Operation::Substring { .. } if values.iter().any(unknown) => vec![Value::unknown()],
            Operation::Substring { offset, length } => {
                let from = self.arithmetic(offset)?;
                let positional = matches!(parameter.subject, Subject::All { .. });
                let count = match length {
                    Some(length) => Some(self.arithmetic(length)?),
                    None => None,
                };
                slice(
                    &values,
                    if positional && from > 0 {
                        from - 1
                    } else {
                        from
                    },
                    count,
                )
            }
            Operation::Length => return None,
            Operation::Default { word, .. } if values.is_empty() => vec![self.value(word)],
            Operation::Alternative { word, .. } => {
                if values.is_empty() {
                    Vec::new()
                } else {
                    vec![self.value(word)]
                }
            }
            operation => {
                let mut changed = Vec::with_capacity(values.len());
                for value in values {
                    changed.push(self.change(&value, operation));
                }
                changed
            }
        })
    }

    /// `"${*:2}"`, `"${a[*]#x}"`: every word is changed by itself, and then they are joined.
    fn changed_and_joined(&mut self, parameter: &Parameter) -> Option<Value> {
        let joined = matches!(
            parameter.subject,
            Subject::All { joined: true } | Subject::Elements { joined: true, .. }
        );
        let whole = matches!(
            parameter.operation,
            Operation::Value
                | Operation::Length
                | Operation::Default { .. }
                | Operation::Alternative { .. }
                | Operation::Required(_)
                | Operation::Names
        );
        if !joined || whole || parameter.indirect {
            return None;
        }
        let ways = self.separate(parameter, false)?;
        let separator = self.separator();
        Some(Value::one_of(
            ways.into_iter().map(|way| way.join(&separator)),
        ))
    }

    /// The value of any other parameter.
    pub(crate) fn parameter(&mut self, parameter: &Parameter) -> Value {
        if let Some(value) = self.changed_and_joined(parameter) {
            return value;
        }
        let mut found = self.subject(&parameter.subject);
        let mut name = match &parameter.subject {
            Subject::Named(name) => Some(name.clone()),
            _ => None,
        };
        if matches!(parameter.operation, Operation::Names) {
            return self.names(name.as_deref().unwrap_or_default(), parameter.indirect);
        }
        if parameter.indirect {
            let target = found.as_ref().and_then(Value::known).map(str::to_owned);
            found = target.as_deref().and_then(|target| self.by_text(target));
            name = target;
        }
        match &parameter.operation {
            Operation::Default {
                empty_counts,
                assigns,
                word,
            } => {
                let default = |this: &mut Self| {
                    let value = this.value(word);
                    if *assigns && let Some(name) = &name {
                        this.state.set(name, value.clone(), false);
                    }
                    value
                };
                match found {
                    // A command is given without words of its own.
                    None if matches!(parameter.subject, Subject::Positional(_)) => default(self),
                    // Nobody assigned it: the environment may still have it.
                    None => default(self).or(&Value::environment()),
                    Some(value)
                        if (*empty_counts || self.may_be_unset(parameter, name.as_deref()))
                            && value.possibilities().iter().any(String::is_empty) =>
                    {
                        let other = default(self);
                        if value.known() == Some("") {
                            other
                        } else {
                            value.or(&other)
                        }
                    }
                    Some(value) => value,
                }
            }
            Operation::Alternative { empty_counts, word } => match found {
                None => Value::empty().or(&self.value(word)),
                Some(value)
                    if (*empty_counts || self.is_beyond(parameter))
                        && value.known() == Some("") =>
                {
                    Value::empty()
                }
                Some(value) if value.known().is_some() => self.value(word),
                Some(_) => self.value(word).or(&Value::empty()),
            },
            Operation::Required(message) => {
                self.value(message);
                found.unwrap_or_else(Value::environment)
            }
            Operation::Length => self.length(parameter, found.as_ref()),
            Operation::Declared => {
                let text = name.as_deref().and_then(|name| self.declared(name));
                text.unwrap_or_else(Value::unknown)
            }
            operation => {
                let value = found.unwrap_or_else(Value::environment);
                self.change(&value, operation)
            }
        }
    }

    /// A word beyond those that were given reads as empty, and is not there.
    fn is_beyond(&self, parameter: &Parameter) -> bool {
        matches!(parameter.subject, Subject::Positional(number) if number > self.state.positional.len())
    }

    fn may_be_unset(&self, parameter: &Parameter, name: Option<&str>) -> bool {
        if self.is_beyond(parameter) {
            return true;
        }
        let variable = name.and_then(|name| self.state.variables.get(name));
        variable.is_some_and(|variable| variable.perhaps)
    }

    fn length(&self, parameter: &Parameter, found: Option<&Value>) -> Value {
        let number = match &parameter.subject {
            Subject::All { .. } => Some(self.state.positional.len()),
            Subject::Elements { name, .. } => {
                self.state.elements(name).map(|elements| elements.len())
            }
            _ => found
                .and_then(Value::known)
                .map(|text| text.chars().count()),
        };
        number.map_or_else(Value::environment, |number| Value::text(number.to_string()))
    }

    fn subject(&mut self, subject: &Subject) -> Option<Value> {
        match subject {
            Subject::Positional(number) => {
                let index = number.checked_sub(1)?;
                match self.state.positional.get(index) {
                    Some(text) => Some(Value::text(text.clone())),
                    None if self.state.positional.iter().any(|text| has_hole(text)) => {
                        Some(Value::unknown())
                    }
                    // `set` or a call gave the words: there are no more.
                    None if self.texts > 0 || !self.state.positional.is_empty() => {
                        Some(Value::empty())
                    }
                    None => None,
                }
            }
            Subject::All { .. } => {
                let texts = self.state.positional.join(&self.separator());
                Some(Value::text(texts))
            }
            Subject::Count => Some(Value::text(self.state.positional.len().to_string())),
            Subject::Number => Some(Value::environment()),
            Subject::ShellName => Some(Value::text(&*self.state.shell_name)),
            Subject::Named(name) => {
                let function = || self.function_name("0").filter(|_| name == "FUNCNAME");
                let value = self.state.get(name).or_else(function)?;
                let variable = self.state.variables.get(name);
                // On one of the ways nobody has set it.
                Some(match variable.filter(|variable| variable.perhaps) {
                    Some(_) => value.or(&Value::empty()),
                    None => value,
                })
            }
            Subject::Element(name, index) => {
                let key = self.key(name, index);
                let function = || self.function_name(&key).filter(|_| name == "FUNCNAME");
                self.element(name, &key).or_else(function)
            }
            Subject::Elements { name, .. } => {
                let elements = self.state.elements(name)?;
                let mut whole = Value::empty();
                let separator: String = self.separator();
                for (index, (_, value)) in elements.iter().enumerate() {
                    if index > 0 {
                        whole = whole.then(&Value::text(separator.clone()));
                    }
                    whole = whole.then(value);
                }
                Some(whole)
            }
        }
    }

    /// What stands between the words of `"$*"`: the first character of IFS.
    fn separator(&self) -> String {
        let ifs = self.state.get("IFS").unwrap_or_else(|| Value::text(" "));
        ifs.first()
            .chars()
            .next()
            .map(String::from)
            .unwrap_or_default()
    }

    /// `${!X}`: the parameter that the text names.
    fn by_text(&mut self, text: &str) -> Option<Value> {
        if let Some((name, rest)) = text.split_once('[') {
            let index = lower::single_word(rest.trim_end_matches(']'));
            return self.subject(&Subject::Element(name.to_owned(), index));
        }
        if let Ok(number) = text.parse::<usize>() {
            return self.subject(&Subject::Positional(number));
        }
        self.state.get(text)
    }

    fn names(&self, name: &str, keys: bool) -> Value {
        if keys {
            let elements = self.state.elements(name).unwrap_or_default();
            let keys: Vec<String> = elements.into_iter().map(|(key, _)| key).collect();
            return Value::text(keys.join(" "));
        }
        let all = self.state.variables.keys();
        let names: Vec<&str> = all
            .map(String::as_str)
            .filter(|one| one.starts_with(name))
            .collect();
        Value::text(names.join(" "))
    }

    /// Applies a change to a value that is set.
    fn change(&mut self, value: &Value, operation: &Operation) -> Value {
        match operation {
            Operation::RemovePrefix {
                longest,
                pattern: wanted,
            } => {
                let wanted = self.pattern(wanted);
                edit(value, &wanted, |text, wanted| {
                    pattern::remove_prefix(text, wanted, *longest)
                })
            }
            Operation::RemoveSuffix {
                longest,
                pattern: wanted,
            } => {
                let wanted = self.pattern(wanted);
                edit(value, &wanted, |text, wanted| {
                    pattern::remove_suffix(text, wanted, *longest)
                })
            }
            Operation::Substring { offset, length } => {
                self.substring(value, offset, length.as_ref())
            }
            Operation::Replace {
                pattern: wanted,
                replacement,
                place,
            } => {
                let wanted = self.pattern(wanted);
                let with = self.value(replacement);
                // `&` is what was found, unless it is quoted or the shell is an old one.
                let found = with.possibilities().iter().any(|with| with.contains('&'));
                let both: &[bool] = if found { &[true, false] } else { &[false] };
                let ways = with.possibilities().iter();
                let ways = ways.flat_map(|with| both.iter().map(move |found| (with, *found)));
                let mut ways = ways.map(|(with, found)| {
                    edit(value, &wanted, |text, wanted| {
                        replaced(text, wanted, *place, |part| {
                            if found {
                                with.replace('&', part)
                            } else {
                                with.clone()
                            }
                        })
                    })
                });
                let first = ways.next().unwrap_or_else(Value::unknown);
                ways.fold(first, |all, way| all.or(&way))
            }
            Operation::Case {
                upper,
                all,
                pattern,
            } => {
                if let Some(word) = pattern {
                    let wanted = self.pattern(word);
                    if wanted.first() != "" {
                        return edit(value, &wanted, |text, wanted| {
                            changed_where(text, wanted, *upper, *all)
                        });
                    }
                }
                value.map(|text| changed_case(text, *upper, *all))
            }
            Operation::Escapes => value.map(|text| escape::ansi_c(text)),
            Operation::Prompt => {
                // A prompt is expanded like a word in double quotes: its substitutions run.
                let mut whole: Option<Value> = None;
                for text in value.possibilities() {
                    let again = self.value(&lower::single_word(&double_quoted(text)));
                    whole = Some(whole.map_or_else(|| again.clone(), |before| before.or(&again)));
                }
                whole.unwrap_or_else(Value::unknown)
            }
            Operation::Quote | Operation::Pairs => value.map(|text| {
                if has_hole(text) {
                    text.clone()
                } else {
                    super::run::quote(text)
                }
            }),
            Operation::Transform | Operation::Declared => Value::unknown(),
            _ => value.clone(),
        }
    }

    fn substring(&mut self, value: &Value, offset: &Word, length: Option<&Word>) -> Value {
        let from = self.arithmetic(offset);
        let count = match length {
            Some(length) => match self.arithmetic(length) {
                Some(count) => Some(count),
                None => return Value::unknown(),
            },
            None => None,
        };
        let Some(from) = from else {
            return Value::unknown();
        };
        value.map(|text| {
            if has_hole(text) {
                return crate::value::HOLE.to_string();
            }
            let characters: Vec<char> = text.chars().collect();
            slice(&characters, from, count).into_iter().collect()
        })
    }
}

/// Text as one word in double quotes, as a prompt is expanded: substitutions in it keep their own quotes.
pub(crate) fn double_quoted(text: &str) -> String {
    let mut whole = String::from('"');
    let mut depth = 0_usize;
    let mut before = ' ';
    for character in text.chars() {
        match character {
            '(' if depth > 0 || before == '$' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            '"' if depth == 0 => whole.push('\\'),
            _ => {}
        }
        whole.push(character);
        before = character;
    }
    whole.push('"');
    whole
}
