//! `declare`, `export`, `local`, `readonly`: assignments that are words of a command, and attributes of variables.

use crate::shell::ir::{Argument, Assigned};
use crate::value::Value;

use super::state::Letters;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    pub(super) fn shell_options(&mut self, arguments: &[String]) -> Outcome {
        let on = |option: &str| arguments.iter().any(|word| word == option);
        let sets = arguments.first().is_some_and(|flag| flag == "-s");
        self.state.last_pipe |= sets && on("lastpipe");
        self.state.null_glob |= sets && on("nullglob");
        self.state.any_case |= sets && on("nocasematch");
        self.state.reads_escapes |= sets && on("xpg_echo");
        Outcome::unknown()
    }

    pub(super) fn set(&mut self, arguments: &[String]) -> Outcome {
        if arguments.is_empty() {
            // It shows all variables.
            return Outcome::unknown();
        }
        if &*self.state.shell_name == "fish" {
            // `set -gx name words`.
            let words = super::wrapper::skip_options(arguments, "", &[]);
            if let Some((name, words)) = words.split_first() {
                self.state.set(name, Value::text(words.join(" ")), true);
            }
            return Outcome::quiet(Some(true));
        }
        let mut rest = arguments.iter();
        while let Some(word) = rest.as_slice().first() {
            match word.as_str() {
                "--" => {
                    rest.next();
                    self.state.positional = rest.cloned().collect();
                    return Outcome::quiet(Some(true));
                }
                "-a" | "-o" | "+o" => {
                    self.state.exports_all |= word == "-a"
                        || rest
                            .as_slice()
                            .get(1)
                            .is_some_and(|next| next == "allexport");
                    if word != "-a" {
                        rest.next();
                    }
                }
                "+a" => self.state.exports_all = false,
                flags if flags.starts_with(['-', '+']) => {
                    self.state.exports_all |= flags.starts_with('-') && flags.contains('a');
                    if flags.starts_with('-') && flags.contains('x') {
                        self.assigned_danger("PS4");
                    }
                    // `set -euo pipefail`: the last letter takes the word that follows.
                    if flags.ends_with('o') {
                        rest.next();
                    }
                }
                _ => {
                    self.state.positional = rest.cloned().collect();
                    return Outcome::quiet(Some(true));
                }
            }
            rest.next();
        }
        Outcome::quiet(Some(true))
    }

    /// `declare`, `export`, `local`, `readonly`: assignments as words.
    pub(crate) fn declare(&mut self, name: &str, words: &[Argument]) -> Outcome {
        let exported = name == "export";
        let local = matches!(name, "local" | "declare" | "typeset");
        let mut shown: Vec<String> = Vec::new();
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
                            shown.push(field);
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
        if flags.contains('p') && !flags.contains(['f', 'F']) && !shown.is_empty() {
            let texts = shown.iter().map(|name| self.declared(name));
            let whole = texts.reduce(|all, one| Some(all?.then(&Value::text("\n")).then(&one?)));
            if let Some(whole) = whole.flatten() {
                let output = whole.then(&Value::text("\n"));
                return Outcome {
                    status: Some(true),
                    output,
                };
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
