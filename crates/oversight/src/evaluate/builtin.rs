//! What the shell does itself: directories, positional parameters, `eval`, `source`, `read`, `trap` and their kin.

use crate::guard::Touch;
use crate::lookup::absolute;
use crate::shell::ir::{Argument, Word};
use crate::value::{HOLE, Value, has_hole};

use super::files::File;
use super::{Evaluator, Outcome, arithmetic};

impl Evaluator<'_> {
    /// Does what the shell does itself; None when the name is no builtin of interest.
    pub(crate) fn builtin(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        Some(match name {
            ":" | "true" => Outcome::quiet(Some(true)),
            "false" => Outcome::quiet(Some(false)),
            "cd" | "pushd" => self.change_directory(arguments),
            "popd" => {
                self.state.directory = HOLE.to_string().into();
                Outcome::quiet(None)
            }
            "eval" => {
                let text = without_dashes(arguments).join(" ");
                return Some(self.linked("eval", |this| this.evaluated(&text)));
            }
            "source" | "." => self.source(without_dashes(arguments)),
            "set" => self.set(arguments),
            "shift" => self.shift(arguments),
            "unset" => self.unset(arguments),
            // Its name was quoted or computed, or stood behind `command`.
            name if super::declare::declares(name) => {
                let words = arguments
                    .iter()
                    .map(|text| Argument::Word(Word::literal(text)));
                self.declare(name, &words.collect::<Vec<_>>())
            }
            "alias" => self.alias(arguments),
            "unalias" => {
                for name in arguments {
                    self.state.aliases.remove(name);
                }
                Outcome::quiet(Some(true))
            }
            "trap" => self.trap(arguments),
            "compgen" | "complete" => self.completion(arguments),
            "read" => self.read(arguments),
            "mapfile" | "readarray" => self.map_file(arguments),
            "getopts" => self.get_options(arguments),
            "printf" if arguments.first().is_some_and(|first| first == "-v") => {
                let value = super::text::printf(arguments.get(2..).unwrap_or_default());
                if let Some(name) = arguments.get(1).cloned() {
                    self.set_by_name(&name, value);
                }
                Outcome::quiet(Some(true))
            }
            "test" | "[" => Outcome::quiet(self.test_words(name, arguments)),
            "let" => {
                let mut last = None;
                for text in arguments {
                    last = self.number(text, 8);
                }
                Outcome::quiet(last.map(|number| number != 0))
            }
            "enable" => self.enabled(arguments),
            "hash" | "type" if shows_path(arguments) => {
                let program = arguments.get(1).map_or("", String::as_str);
                Outcome {
                    status: None,
                    output: Value::text(format!("/usr/bin/{program}\n")),
                }
            }
            "hash" => {
                if let [flag, path, name] = arguments
                    && flag == "-p"
                {
                    self.alias_file(path, &format!("/hashed/{name}"));
                }
                Outcome::quiet(Some(true))
            }
            "history" => {
                // `fc -s` runs what stands there.
                if let Some((flag, words)) = arguments.split_first()
                    && flag == "-s"
                {
                    let text = words.join(" ");
                    self.perhaps(|this| this.linked("history", |this| this.shell_text(&text)));
                }
                Outcome::unknown()
            }
            "wait" => {
                if let Some(name) = super::wrapper::option_value(arguments, &["-p"]) {
                    self.subscripted(&name);
                }
                Outcome::unknown()
            }
            "shopt" => {
                let on = |option: &str| arguments.iter().any(|word| word == option);
                let sets = arguments.first().is_some_and(|flag| flag == "-s");
                self.state.last_pipe |= sets && on("lastpipe");
                self.state.any_case |= sets && on("nocasematch");
                self.state.reads_escapes |= sets && on("xpg_echo");
                Outcome::unknown()
            }
            "return" | "break" | "continue" => {
                self.jumps = self.jumps.saturating_add(1);
                Outcome::unknown()
            }
            "jobs" => self.jobs(arguments),
            "exit" | "umask" | "ulimit" | "fg" | "bg" | "disown" | "bind" | "type" | "logout"
            | "times" | "suspend" | "help" | "caller" | "dirs" | "getopt" => Outcome {
                status: None,
                output: Value::unknown(),
            },
            _ => return None,
        })
    }

    /// `jobs -x program`; a list otherwise.
    fn jobs(&mut self, arguments: &[String]) -> Outcome {
        match arguments.split_first() {
            Some((flag, words)) if flag == "-x" => self.linked("jobs -x", |this| this.run(words)),
            _ => Outcome::unknown(),
        }
    }

    fn change_directory(&mut self, arguments: &[String]) -> Outcome {
        let target = arguments
            .iter()
            .find(|word| !word.starts_with('-') || *word == "-");
        let directory = match target.map(String::as_str) {
            None => self.home.clone(),
            Some("-") => HOLE.to_string(),
            Some(path)
                if has_hole(path) || has_hole(&self.state.directory) && !path.starts_with('/') =>
            {
                crate::value::ENVIRONMENT.to_string()
            }
            Some(path) => absolute(&self.state.directory, path),
        };
        self.state.directory = directory.into();
        Outcome::quiet(None)
    }

    /// Text that `eval` or a shell reads: unknown where a program stands is opaque, and so is foreign output.
    pub(crate) fn evaluated(&mut self, text: &str) -> Outcome {
        if self.hides_commands(text) {
            self.opaque("text that nobody can know is run as a command", text);
        }
        if text.trim().is_empty() {
            return Outcome::quiet(Some(true));
        }
        self.shell_text(text)
    }

    fn source(&mut self, arguments: &[String]) -> Outcome {
        let Some((path, rest)) = arguments.split_first() else {
            // In fish it reads its input.
            let input = self.state.input.clone().unwrap_or_else(Value::empty);
            return self.linked("source", |this| this.evaluated(input.first()));
        };
        self.touch(Touch::Read, path);
        match self.file(path) {
            File::Text(_) if self.is_shared(path) => Outcome::quiet(None),
            File::Text(value) => {
                let before = (!rest.is_empty())
                    .then(|| std::mem::replace(&mut self.state.positional, rest.to_vec()));
                let key = format!("source {path}");
                let mut outcome = Outcome::quiet(None);
                if self.walking.insert(key.clone()) {
                    for text in value.possibilities().to_vec() {
                        outcome =
                            self.linked(format!("source {path}"), |this| this.evaluated(&text));
                    }
                    self.walking.remove(&key);
                }
                if let Some(before) = before {
                    self.state.positional = before;
                }
                outcome
            }
            File::Missing | File::Binary => Outcome::quiet(None),
            File::Unreadable(why) => {
                self.opaque(format!("a sourced file cannot be read: {why}"), path);
                Outcome::unknown()
            }
        }
    }

    fn set(&mut self, arguments: &[String]) -> Outcome {
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

    fn shift(&mut self, arguments: &[String]) -> Outcome {
        let count = arguments.first().map_or(Some(1), |text| {
            self.number(text, 8)
                .and_then(|count| usize::try_from(count).ok())
        });
        match count {
            Some(count) if count <= self.state.positional.len() => {
                self.state.positional.drain(..count);
                Outcome::quiet(Some(true))
            }
            _ => Outcome::quiet(Some(false)),
        }
    }

    fn unset(&mut self, arguments: &[String]) -> Outcome {
        for name in arguments.iter().filter(|word| !word.starts_with('-')) {
            self.subscripted(name);
            if let Some((array, key)) = name.split_once('[') {
                let key = key.trim_end_matches(']');
                let mut elements = self.state.elements(array).unwrap_or_default();
                elements.retain(|(old, _)| old != key);
                self.state.set_array(array, elements);
                continue;
            }
            match self.state.variables.get(name) {
                Some(variable) if variable.constant => {}
                Some(_) => drop(std::rc::Rc::make_mut(&mut self.state.variables).remove(name)),
                None => self.state.undefine(name),
            }
        }
        if arguments.first().is_some_and(|flag| flag == "-f") {
            for name in arguments {
                self.state.undefine(name);
            }
        }
        Outcome::quiet(Some(true))
    }

    fn trap(&mut self, arguments: &[String]) -> Outcome {
        let arguments = without_dashes(arguments);
        let Some(text) = arguments
            .first()
            .filter(|text| !matches!(text.as_str(), "" | "-" | "-l" | "-p"))
        else {
            return Outcome::quiet(Some(true));
        };
        let text = text.clone();
        if self.traps.len() < 16 {
            self.traps.push(text.clone());
        }
        let state = self.state.clone();
        let outcome = self.apart(state, |this| {
            this.linked("trap", |this| this.evaluated(&text))
        });
        // It prints when it runs, at the end or never.
        Outcome {
            status: Some(true),
            output: Value::empty().or(&outcome.output),
        }
    }

    fn get_options(&mut self, arguments: &[String]) -> Outcome {
        let [letters, name, rest @ ..] = arguments else {
            return Outcome::quiet(None);
        };
        let words = if rest.is_empty() {
            self.state.positional.clone()
        } else {
            rest.to_vec()
        };
        let at = self.state.option_index;
        let Some(letter) = words
            .get(at)
            .and_then(|word| word.strip_prefix('-'))
            .and_then(|word| word.chars().next())
        else {
            return Outcome::quiet(Some(false));
        };
        self.state.set(name, Value::text(letter.to_string()), false);
        let mut next = at.saturating_add(1);
        if letters.contains(&format!("{letter}:")) {
            let word = words.get(at).map_or("", String::as_str);
            let glued: String = word.chars().skip(2).collect();
            let value = if glued.is_empty() {
                next = next.saturating_add(1);
                words.get(at.saturating_add(1)).cloned().unwrap_or_default()
            } else {
                glued
            };
            self.state.set("OPTARG", Value::text(value), false);
        }
        self.state.option_index = next;
        Outcome::quiet(Some(true))
    }

    fn read(&mut self, arguments: &[String]) -> Outcome {
        let request = Request::parse(arguments);
        let source = match request.descriptor {
            Some(number) => self.state.descriptors.get(&number).cloned(),
            None => self.state.input.clone(),
        };
        let Some(text) = source.as_ref().and_then(Value::known).map(str::to_owned) else {
            let value = if source.is_some() {
                Value::unknown()
            } else {
                Value::environment()
            };
            for name in &request.names {
                self.set_by_name(name, value.clone());
            }
            if let Some(name) = &request.array {
                self.state.set(name, value, false);
            }
            return Outcome::quiet(None);
        };
        if text.is_empty() {
            return Outcome::quiet(Some(false));
        }
        let (line, rest) = request.take(&text);
        match request.descriptor {
            Some(number) => drop(self.state.descriptors.insert(number, Value::text(rest))),
            None => self.state.input = Some(Value::text(rest)),
        }
        let line = if request.raw {
            line
        } else {
            line.replace('\\', "")
        };
        let separators = self
            .state
            .get("IFS")
            .map_or_else(String::new, |ifs| ifs.first().to_owned());
        let mut words: Vec<String> = line
            .split(|character| separators.contains(character))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if let Some(name) = &request.array {
            let elements = words.into_iter().enumerate();
            let elements = elements.map(|(index, word)| (index.to_string(), Value::text(word)));
            self.state.set_array(name, elements.collect());
            return Outcome::quiet(Some(true));
        }
        let last = request.names.len().saturating_sub(1);
        for (index, name) in request.names.iter().enumerate() {
            let value = if last == 0 {
                line.trim_matches(|character| separators.contains(character))
                    .to_owned()
            } else if index == last {
                words.join(" ")
            } else if words.is_empty() {
                String::new()
            } else {
                words.remove(0)
            };
            self.set_by_name(name, Value::text(value));
        }
        Outcome::quiet(Some(true))
    }

    fn test_words(&mut self, name: &str, arguments: &[String]) -> Option<bool> {
        let words = match (name, arguments.split_last()) {
            ("[", Some((last, rest))) if last == "]" => rest,
            _ => arguments,
        };
        for pair in words.windows(2) {
            if let [flag, variable] = pair
                && flag == "-v"
            {
                self.subscripted(variable);
            }
        }
        if words.iter().any(|word| has_hole(word)) {
            return None;
        }
        match words {
            [] => Some(false),
            [one] => Some(!one.is_empty()),
            [not, rest @ ..] if not == "!" => self.test_words("test", rest).map(|holds| !holds),
            [operator, text] if operator == "-z" => Some(text.is_empty()),
            [operator, text] if operator == "-n" => Some(!text.is_empty()),
            [left, operator, right] => match operator.as_str() {
                "=" | "==" => Some(left == right),
                "!=" => Some(left != right),
                operator => arithmetic::compare(operator, left.parse().ok()?, right.parse().ok()?),
            },
            _ => None,
        }
    }
}

/// `hash -t x`, `type -p x`: where a program lies.
fn shows_path(arguments: &[String]) -> bool {
    matches!(arguments, [flag, _] if matches!(flag.as_str(), "-t" | "-p" | "-P" | "-ap" | "-pa"))
}

pub(super) fn without_dashes(arguments: &[String]) -> &[String] {
    match arguments.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => arguments,
    }
}

/// What `read` was asked for.
struct Request {
    names: Vec<String>,
    array: Option<String>,
    descriptor: Option<i32>,
    delimiter: char,
    count: Option<usize>,
    raw: bool,
}

impl Request {
    fn parse(arguments: &[String]) -> Self {
        let mut request = Self {
            names: Vec::new(),
            array: None,
            descriptor: None,
            delimiter: '\n',
            count: None,
            raw: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let Some(flags) = word.strip_prefix('-') else {
                request.names.push(word.clone());
                continue;
            };
            request.raw |= flags.contains('r');
            let Some(flag) = flags.chars().find(|flag| "adinNptu".contains(*flag)) else {
                continue;
            };
            let glued = flags.split_once(flag).map_or("", |(_, rest)| rest);
            let value = if glued.is_empty() {
                words.next().map_or("", String::as_str)
            } else {
                glued
            };
            match flag {
                'a' => request.array = Some(value.to_owned()),
                'd' => request.delimiter = value.chars().next().unwrap_or('\0'),
                'n' | 'N' => request.count = value.parse().ok(),
                'u' => request.descriptor = value.parse().ok(),
                _ => {}
            }
        }
        if request.names.is_empty() && request.array.is_none() {
            request.names.push("REPLY".to_owned());
        }
        request
    }

    fn take(&self, text: &str) -> (String, String) {
        if let Some(count) = self.count {
            let line: String = text.chars().take(count).collect();
            return (line, text.chars().skip(count).collect());
        }
        match text.split_once(self.delimiter) {
            Some((line, rest)) => (line.to_owned(), rest.to_owned()),
            None => (text.to_owned(), String::new()),
        }
    }
}
