//! `declare`, `export`, `local`, `readonly`: assignments that are words of a command, and attributes of variables.

use crate::shell::ir::{Argument, Assigned};
use crate::value::Value;

use super::state::Letters;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// `declare`, `export`, `local`, `readonly`: assignments as words.
    pub(crate) fn declare(&mut self, name: &str, words: &[Argument]) -> Outcome {
        let exported = name == "export";
        let local = matches!(name, "local" | "declare" | "typeset");
        let mut flags = String::from(if name == "readonly" { "r" } else { "" });
        for argument in words {
            match argument {
                Argument::Assignment(assignment) => {
                    if local && !flags.contains('g') {
                        self.state.make_local(&assignment.name);
                    }
                    if let Assigned::Scalar(word) = &assignment.value
                        && flags.contains(['a', 'A'])
                    {
                        if flags.contains('A') {
                            self.state.declare_associative(&assignment.name);
                        }
                        let text = self.value(word).first().to_owned();
                        if text.starts_with('(') {
                            self.shell_text(&format!("{}={text}", assignment.name));
                            continue;
                        }
                    }
                    if flags.contains('A') {
                        self.state.declare_associative(&assignment.name);
                    }
                    self.assign(assignment, exported || flags.contains('x'));
                    self.attributes(&assignment.name, &flags);
                    self.assigned_danger(&assignment.name);
                }
                Argument::Word(word) => {
                    for field in self.fields(word).into_iter().flatten() {
                        if field.starts_with(['-', '+']) {
                            flags.push_str(&field);
                        } else if let Some((name, value)) = field.split_once('=') {
                            self.subscripted(name);
                            if flags.contains(['a', 'A']) && value.starts_with('(') {
                                self.shell_text(&field);
                                continue;
                            }
                            self.state.set(
                                name,
                                Value::text(value),
                                exported || flags.contains('x'),
                            );
                            self.attributes(name, &flags);
                            self.assigned_danger(name);
                        } else if local && !flags.contains(['p', 'f', 'F', 'g', 'n']) {
                            self.state.make_local(&field);
                            if flags.contains('A') {
                                self.state.declare_associative(&field);
                            } else if flags.contains(['i', 'l', 'u', 'r']) {
                                self.attributes(&field, &flags);
                            }
                        } else if flags.contains(['p', 'f', 'F']) {
                        } else if flags.contains('A') {
                            self.state.declare_associative(&field);
                        } else if flags.contains(['i', 'n', 'r']) {
                            if flags.contains('n') && self.state.get(&field).is_none() {
                                self.state.set(&field, Value::empty(), false);
                            }
                            self.attributes(&field, &flags);
                        } else if exported
                            && let Some(variable) =
                                std::rc::Rc::make_mut(&mut self.state.variables).get_mut(&field)
                        {
                            variable.exported = true;
                        }
                    }
                }
                Argument::Process { script, .. } => {
                    self.script(script);
                }
            }
        }
        // `declare -f`, `export -p`: what they print is code.
        if flags.contains(['p', 'f', 'F']) || words.is_empty() {
            return Outcome {
                // A function that there is not yet.
                status: None,
                output: Value::unknown(),
            };
        }
        Outcome::quiet(Some(true))
    }

    fn attributes(&mut self, name: &str, flags: &str) {
        if flags.contains('i') {
            if self.state.get(name).is_none() {
                self.state.set(name, Value::text("0"), false);
            }
            if let Some(variable) = std::rc::Rc::make_mut(&mut self.state.variables).get_mut(name) {
                variable.integer = true;
            }
        }
        let letters = match flags.find(['l', 'u']).and_then(|at| flags.get(at..)) {
            Some(flag) if flag.starts_with('l') => Some(Letters::Lower),
            Some(_) => Some(Letters::Upper),
            None => None,
        };
        if letters.is_some() && self.state.get(name).is_none() {
            self.state.set(name, Value::empty(), false);
        }
        let Some(value) = self.state.get(name) else {
            return;
        };
        if flags.contains('n') {
            let target = value.first().to_owned();
            self.subscripted(&target);
        }
        if let Some(variable) = std::rc::Rc::make_mut(&mut self.state.variables).get_mut(name) {
            variable.reference |= flags.contains('n');
            variable.letters = letters.or(variable.letters);
        }
        if letters.is_some() {
            self.state.set(name, value, false);
        } else if flags.contains('i')
            && let Some(text) = value.known().map(str::to_owned)
        {
            let number = self.number(&text, 8);
            self.state.set(
                name,
                number.map_or_else(Value::unknown, |number| Value::text(number.to_string())),
                false,
            );
        }
        if flags.contains('r')
            && let Some(variable) = std::rc::Rc::make_mut(&mut self.state.variables).get_mut(name)
        {
            variable.constant = true;
        }
    }
}

/// Whether a command declares variables.
pub(crate) fn declares(name: &str) -> bool {
    matches!(
        name,
        "export" | "declare" | "typeset" | "local" | "readonly"
    )
}

/// A command that declares variables as its words stand there: its name, and what it declares.
pub(crate) fn declaration(words: &[Argument]) -> Option<(&str, &[Argument])> {
    let (Argument::Word(word), rest) = words.split_first()? else {
        return None;
    };
    let [crate::shell::ir::Piece::Text(name)] = word.pieces.as_slice() else {
        return None;
    };
    declares(name).then_some((name.as_str(), rest))
}
