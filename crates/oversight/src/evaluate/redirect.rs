//! Redirections, and files as far as the command itself or the lookup knows them.

use crate::guard::Touch;
use crate::shell::ir::{Argument, Kind, Piece, Redirect, Script, Target, Word};
use crate::value::Value;

use super::files::File;
use super::{Evaluator, Outcome};

/// Where a command's output goes.
enum Sink {
    File {
        path: String,
        append: bool,
    },
    Process(usize),
    Nowhere,
    /// The process that runs beside us.
    Beside,
}

impl Evaluator<'_> {
    /// Runs something with its redirections in force.
    pub(crate) fn redirected(
        &mut self,
        redirects: &[Redirect],
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        if redirects.is_empty() {
            return run(self);
        }
        let input = self.state.input.clone();
        let descriptors = self.state.descriptors.clone();
        let writers = self.state.writers.clone();
        let sinks = self.open(redirects);
        let caught = redirects.iter().find(|redirect| redirect.descriptor == 2);
        let errors = std::mem::replace(&mut self.errors, Value::empty());
        let mut outcome = run(self);
        let sent = std::mem::replace(&mut self.errors, errors);
        self.state.input = input;
        self.state.descriptors = descriptors;
        self.state.writers = writers;
        if sent != Value::empty() {
            match caught.map(|redirect| &redirect.target) {
                Some(Target::Duplicate(_)) => {
                    let both = outcome.output.then(&sent);
                    outcome.output = outcome.output.or(&both);
                }
                Some(Target::Write(word) | Target::Append(word)) => {
                    let path = self.value(word).first().to_owned();
                    self.write(&path, &sent, false);
                }
                _ => {
                    let all = std::mem::replace(&mut self.errors, Value::empty());
                    self.errors = all.followed(sent);
                }
            }
        }
        if !sinks.is_empty() {
            self.deliver(&outcome.output, sinks, redirects);
            // `3>&1 1>&2 2>&3`: what is caught is what goes to the errors.
            let swapped = |redirect: &Redirect| {
                let Target::Duplicate(word) = &redirect.target else {
                    return false;
                };
                let number = match word.pieces.as_slice() {
                    [Piece::Text(number)] => number.parse::<u32>().ok(),
                    _ => None,
                };
                redirect.descriptor == 2 && number.is_some_and(|number| number > 2)
            };
            outcome.output = if redirects.iter().any(swapped) {
                Value::unknown()
            } else {
                Value::empty()
            };
        }
        outcome
    }

    /// `exec` without a program: the redirections stay.
    pub(crate) fn open_for_good(&mut self, redirects: &[Redirect]) {
        let sinks = self.open(redirects);
        self.deliver(&Value::unknown(), sinks, redirects);
    }

    /// `4> file`: what is sent to the number goes there, and others may write to it by themselves.
    fn opened_by_number(&mut self, number: i32, path: String, append: bool) {
        let unsure = Value::empty().or(&Value::unknown());
        self.write(&path, &unsure, append);
        self.state.writers.insert(number, path);
    }

    fn open(&mut self, redirects: &[Redirect]) -> Vec<Sink> {
        let mut sinks = Vec::new();
        // `<&3 3<<< x`: what is read by number may be opened to the right of it.
        let later = redirects.iter().filter(|redirect| {
            redirect.descriptor > 2
                && matches!(redirect.target, Target::HereString(_) | Target::Here(_))
        });
        for redirect in later {
            if let Target::HereString(word) | Target::Here(word) = &redirect.target {
                let content = self.value(word);
                self.feed(redirect.descriptor, content);
            }
        }
        for (index, redirect) in redirects.iter().enumerate() {
            let number = redirect.descriptor;
            match &redirect.target {
                Target::Read(word) => {
                    let path = self.opened(Touch::Read, word);
                    let content = self.content_value(&path);
                    self.feed(number, content);
                }
                Target::Here(word) => {
                    let content = self.value(word);
                    self.feed(number, content);
                }
                Target::HereString(word) => {
                    let content = self.value(word).then(&Value::text("\n"));
                    self.feed(number, content);
                }
                Target::ReadProcess(script) => {
                    let state = self.state.clone();
                    let content = self.apart(state, |this| this.script(script)).output;
                    self.feed(number, content);
                }
                Target::Duplicate(word) => self.duplicate(number, word, &mut sinks),
                Target::Write(word) | Target::Append(word) => {
                    let path = self.opened(Touch::Write, word);
                    let append = matches!(redirect.target, Target::Append(_));
                    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
                        self.state.input = Some(Value::unknown());
                    }
                    if number == 1 {
                        sinks.push(Sink::File { path, append });
                    } else if number > 2 {
                        self.opened_by_number(number, path, append);
                    }
                }
                Target::WriteProcess(_) => sinks.push(Sink::Process(index)),
            }
        }
        sinks
    }

    /// The file of a redirection: the first that it can be, after the guard has seen all of them.
    fn opened(&mut self, touch: Touch, word: &Word) -> String {
        let value = self.value(word);
        for path in value.possibilities() {
            self.touch(touch, path);
        }
        value.first().to_owned()
    }

    fn duplicate(&mut self, number: i32, word: &Word, sinks: &mut Vec<Sink>) {
        let from = self.value(word).first().to_owned();
        match from.parse::<i32>() {
            Ok(source) if number == 0 => {
                if let Some(content) = self.state.descriptors.get(&source).cloned() {
                    self.state.input = Some(content);
                }
            }
            Ok(2) if number == 1 => sinks.push(Sink::Nowhere),
            Ok(60) if number == 1 && self.coprocess.is_some() => sinks.push(Sink::Beside),
            Err(_) if from.starts_with("/dev/tcp/") || from.starts_with("/dev/udp/") => {
                self.state.input = Some(Value::unknown());
            }
            Ok(source) if number != 2 => {
                let path = self.state.writers.get(&source).cloned();
                match path {
                    Some(path) if number == 1 => sinks.push(Sink::File { path, append: true }),
                    Some(path) => drop(self.state.writers.insert(number, path)),
                    None => {}
                }
            }
            Ok(_) => {}
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

    fn feed(&mut self, number: i32, content: Value) {
        if number == 0 {
            self.state.input = Some(content);
        } else {
            self.state.descriptors.insert(number, content);
        }
    }

    fn deliver(&mut self, output: &Value, sinks: Vec<Sink>, redirects: &[Redirect]) {
        for sink in sinks {
            match sink {
                Sink::Nowhere => {
                    let errors = std::mem::replace(&mut self.errors, Value::empty());
                    self.errors = errors.followed(output.clone());
                }
                Sink::Beside => {
                    if let Some(body) = self.coprocess.take() {
                        let mut state = self.state.clone();
                        state.input = Some(output.clone());
                        self.apart(state, |this| this.command(&body));
                        self.coprocess = Some(body);
                    }
                }
                Sink::File { path, append } => self.write(&path, output, append),
                Sink::Process(index) => {
                    if let Some(Redirect {
                        target: Target::WriteProcess(script),
                        ..
                    }) = redirects.get(index)
                    {
                        let mut state = self.state.clone();
                        state.input = Some(output.clone());
                        self.apart(state, |this| this.script(script));
                    }
                }
            }
        }
    }

    /// `tee >(sh)`: what was written to a process, where that is known.
    pub(crate) fn read_by_processes(&mut self, words: &[Argument], paths: &[String]) {
        let scripts = words.iter().filter_map(|word| match word {
            Argument::Process {
                writes: true,
                script,
                ..
            } => Some(script),
            _ => None,
        });
        for (script, path) in scripts.zip(paths) {
            let content = self.content_value(path);
            if content.known().is_some_and(|text| !text.is_empty()) {
                let mut state = self.state.clone();
                state.input = Some(content);
                self.apart(state, |this| this.script(script));
            }
        }
    }

    /// `$(<file)`.
    pub(crate) fn file_of(&mut self, script: &Script) -> Option<Value> {
        let [item] = script.items.as_slice() else {
            return None;
        };
        let [(_, pipeline)] = item.pipelines.as_slice() else {
            return None;
        };
        let [command] = pipeline.commands.as_slice() else {
            return None;
        };
        let [redirect] = command.redirects.as_slice() else {
            return None;
        };
        let alone = matches!(&command.kind, Kind::Simple { assignments, words }
            if assignments.is_empty() && words.is_empty());
        match &redirect.target {
            Target::Read(word) if alone => {
                let path = self.opened(Touch::Read, word);
                Some(self.content_value(&path))
            }
            Target::ReadProcess(script) if alone => Some(self.script(script).output),
            _ => None,
        }
    }

    /// The content of a file as an input: what is missing gives nothing, what cannot be read could be anything.
    fn is_elsewhere(&self, path: &str) -> bool {
        let own = [&*self.start, self.home.as_str(), "/tmp/", "/dev/"];
        path.starts_with('/') && !own.iter().any(|place| path.starts_with(place))
    }

    pub(crate) fn content_value(&mut self, path: &str) -> Value {
        match self.file(path) {
            File::Text(value) => value,
            // Programs are no text; a copy of one could do anything.
            File::Missing if super::files::is_system(path) && !path.ends_with('/') => {
                Value::unknown()
            }
            // What lies elsewhere on the machine and is not there for us may be there when it is read.
            File::Missing if self.is_elsewhere(path) => Value::environment(),
            File::Missing => Value::empty(),
            File::Binary | File::Unreadable(_) => Value::unknown(),
        }
    }
}
