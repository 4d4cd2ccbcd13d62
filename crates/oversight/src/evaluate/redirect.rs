//! Redirections: the inputs of a command, and the targets of its output.

use protection::Touch;
use shell::ir::{Redirect, Script, Target, Word};
use shell::value::{joined, unknown};

use super::{Evaluator, Outcome};

/// Target of a command's output.
enum Sink<'r> {
    File {
        path: String,
        append: bool,
    },
    Process(&'r Script),
    /// Standard error.
    Errors,
    /// A descriptor that leads elsewhere.
    Elsewhere,
}

impl Evaluator<'_> {
    /// Runs a closure with the redirections in force.
    pub(crate) fn redirected(
        &mut self,
        redirects: &[Redirect],
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        if redirects.is_empty() {
            return run(self);
        }
        let descriptors = self.state.descriptors.clone();
        let sinks = self.open(redirects);
        let errors = self.world.errors;
        let mut outcome = run(self);
        self.state.descriptors = descriptors;
        let catches = |redirect: &Redirect| {
            redirect.descriptor == 2 && matches!(redirect.target, Target::Duplicate(_))
        };
        if self.world.errors != errors && redirects.iter().any(catches) {
            outcome.output = unknown();
        }
        self.deliver(&mut outcome, sinks);
        // `3>&1 1>&2 2>&3`: the captured output is that of standard error.
        let swaps = |redirect: &Redirect| match &redirect.target {
            Target::Duplicate(word) => {
                redirect.descriptor == 2
                    && self
                        .value(word)
                        .parse::<i32>()
                        .is_ok_and(|number| number > 2)
            }
            _ => false,
        };
        if redirects.iter().any(swaps) {
            outcome.output = unknown();
        }
        outcome
    }

    /// Evaluates `exec` without a program: the redirections stay.
    pub(crate) fn open_for_good(&mut self, redirects: &[Redirect]) {
        let sinks = self.open(redirects);
        let mut outcome = Outcome::unknown();
        self.deliver(&mut outcome, sinks);
    }

    fn open<'r>(&mut self, redirects: &'r [Redirect]) -> Vec<Sink<'r>> {
        let mut sinks = Vec::new();
        for redirect in redirects {
            let number = redirect.descriptor;
            match &redirect.target {
                Target::Read(word) => {
                    let path = self.opened(Touch::Read, word);
                    let content = self.content(&path);
                    self.state.descriptors.insert(number, content);
                }
                Target::Here(word) => {
                    let content = self.value(word);
                    self.state.descriptors.insert(number, content);
                }
                Target::HereString(word) => {
                    let content = joined(self.value(word), "\n");
                    self.state.descriptors.insert(number, content);
                }
                Target::ReadProcess(script) => {
                    let state = self.state.clone();
                    let content = self.apart(state, |this| this.script(script)).output;
                    self.state.descriptors.insert(number, content);
                }
                Target::Duplicate(word) => self.duplicate(number, word, &mut sinks),
                Target::Write(word) | Target::Append(word) => {
                    let path = self.opened(Touch::Write, word);
                    let append = matches!(redirect.target, Target::Append(_));
                    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
                        self.state.descriptors.insert(0, unknown());
                    }
                    if number == 1 {
                        sinks.push(Sink::File { path, append });
                    } else {
                        self.write(&path, &unknown(), append);
                    }
                }
                Target::WriteProcess(script) => sinks.push(Sink::Process(script)),
            }
        }
        sinks
    }

    fn opened(&mut self, touch: Touch, word: &Word) -> String {
        let path = self.value(word);
        self.touch(touch, &path);
        path
    }

    fn duplicate(&mut self, number: i32, word: &Word, sinks: &mut Vec<Sink<'_>>) {
        let from = self.value(word);
        match from.parse::<i32>() {
            Ok(source) if number == 0 => {
                // It may also be opened further to the right.
                let content = self.state.descriptors.get(&source).cloned();
                self.state
                    .descriptors
                    .insert(0, content.unwrap_or_else(unknown));
            }
            Ok(2) if number == 1 => sinks.push(Sink::Errors),
            Ok(source) if number == 1 && source > 2 => sinks.push(Sink::Elsewhere),
            Ok(source) if number > 2 => {
                let content = self.state.descriptors.get(&source).cloned();
                self.state
                    .descriptors
                    .insert(number, content.unwrap_or_else(unknown));
            }
            Ok(_) => {}
            Err(_) if from.starts_with("/dev/tcp/") || from.starts_with("/dev/udp/") => {
                self.state.descriptors.insert(0, unknown());
            }
            Err(_) if number == 1 && from != "-" => {
                self.touch(Touch::Write, &from);
                sinks.push(Sink::File {
                    path: from,
                    append: false,
                });
            }
            Err(_) => {}
        }
    }

    fn deliver(&mut self, outcome: &mut Outcome, sinks: Vec<Sink<'_>>) {
        let output = outcome.output.clone();
        for sink in sinks {
            outcome.output = String::new();
            match sink {
                Sink::Errors => {
                    self.world.errors = self.world.errors.saturating_add(1);
                }
                Sink::Elsewhere => {
                    self.world.errors = self.world.errors.saturating_add(1);
                    outcome.output = unknown();
                }
                Sink::File { path, append } => self.write(&path, &output, append),
                Sink::Process(script) => {
                    let mut state = self.state.clone();
                    state.descriptors.insert(0, output.clone());
                    self.apart(state, |this| this.script(script));
                }
            }
        }
    }
}
