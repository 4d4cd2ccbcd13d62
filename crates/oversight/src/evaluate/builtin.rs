//! Builtins of the shell: directories, positional parameters, `eval`, `source`, `read`, `trap` and others.

use std::rc::Rc;

use actions::lookup::absolute;
use protection::Touch;
use shell::ir::{Argument, Word};
use shell::value::{ENVIRONMENT, HOLE, has_hole, part_of, unknown};

use super::state::Stored;
use super::world::File;
use super::{Evaluator, Outcome, parameter, text};

impl Evaluator<'_> {
    /// Evaluates a builtin; `None` if the name is not a relevant builtin.
    pub(crate) fn builtin(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        Some(match name {
            ":" | "true" => Outcome::quiet(Some(true)),
            "false" => Outcome::quiet(Some(false)),
            "pwd" => Outcome::prints(format!("{}\n", self.state.directory)),
            "cd" | "pushd" => self.change_directory(arguments),
            "popd" => {
                self.state.directory = HOLE.to_string().into();
                Outcome::unknown()
            }
            "eval" => {
                let text = without_dashes(arguments).join(" ");
                self.linked("eval", |this| this.evaluated(&text))
            }
            "source" | "." => self.source(without_dashes(arguments)),
            "set" => self.set(arguments),
            "shift" => self.shift(arguments),
            "unset" => {
                for name in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.named(name);
                    match name.split_once('[') {
                        Some((array, _)) => self.state.set(array, unknown(), false),
                        None => self.state.unset(name),
                    }
                }
                if let Some((_, names)) = arguments.split_first().filter(|(flag, _)| *flag == "-f")
                {
                    let functions = Rc::make_mut(&mut self.state.functions);
                    names.iter().for_each(|name| drop(functions.remove(name)));
                }
                Outcome::quiet(Some(true))
            }
            // Its name was quoted or computed, or was behind `command`.
            name if super::assign::declares(name) => {
                let words = arguments
                    .iter()
                    .map(|text| Argument::Word(Word::literal(text)));
                self.declare(name, &words.collect::<Vec<_>>())
            }
            "alias" => self.alias(arguments),
            "unalias" => {
                let aliases = Rc::make_mut(&mut self.state.aliases);
                arguments.iter().for_each(|name| drop(aliases.remove(name)));
                Outcome::quiet(Some(true))
            }
            "trap" => self.trap(arguments),
            "read" | "mapfile" | "readarray" | "getopts" | "wait" => self.read(name, arguments),
            "printf" if arguments.first().is_some_and(|first| first == "-v") => {
                let text = text::printf(arguments.get(2..).unwrap_or_default()).output;
                let name = arguments.get(1).map_or("", String::as_str).to_owned();
                self.set_by_name(&name, text);
                Outcome::quiet(Some(true))
            }
            "test" | "[" => {
                let behind = arguments.iter().skip_while(|word| *word != "-v");
                behind.skip(1).for_each(|name| self.named(name));
                Outcome::quiet(None)
            }
            "let" => {
                for text in arguments {
                    self.number(text);
                }
                Outcome::quiet(None)
            }
            "enable" | "hash" | "compgen" | "complete" | "history" | "bind" | "fc" | "jobs" => {
                self.hook(name, arguments)
            }
            "type" => text::path_of(arguments),
            "shopt" => {
                self.state.last_pipe |= arguments.iter().any(|word| word == "lastpipe");
                Outcome::unknown()
            }
            "return" | "break" | "continue" | "exit" | "umask" | "ulimit" | "fg" | "bg"
            | "disown" | "logout" | "times" | "suspend" | "help" | "caller" | "dirs" | "getopt" => {
                Outcome::unknown()
            }
            _ => return None,
        })
    }

    /// Evaluates builtins that store or print a command for later.
    fn hook(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let has = |flags: &[&str]| {
            let mut words = arguments.iter();
            words.any(|word| flags.iter().any(|flag| word.starts_with(flag)))
        };
        let keeps = match name {
            "enable" => has(&["-f"]),
            "hash" => has(&["-p"]),
            "compgen" | "complete" => has(&["-C", "-F", "-W"]),
            "history" => has(&["-s"]),
            "bind" => has(&["-x"]),
            _ => name == "fc" && !has(&["-l", "-n"]),
        };
        if keeps {
            let text = format!("{name} {}", arguments.join(" "));
            self.opaque("the shell keeps a command for later", &text);
        }
        for word in arguments {
            self.touch(Touch::Given, word);
            if word.contains(' ') {
                self.muted(|this| this.shell_text(word));
            }
        }
        match arguments.split_first() {
            Some((flag, words)) if name == "jobs" && flag == "-x" => self.run(words),
            Some((flag, _)) if name == "hash" && flag == "-t" => text::path_of(arguments),
            _ => Outcome::unknown(),
        }
    }

    fn change_directory(&mut self, arguments: &[String]) -> Outcome {
        let target = arguments
            .iter()
            .find(|word| !word.starts_with('-') || *word == "-");
        let directory = match target.map(String::as_str) {
            None => self.home.clone(),
            Some("-") => unknown(),
            Some(path) if has_hole(path) => ENVIRONMENT.to_string(),
            Some(path) if has_hole(&self.state.directory) && !path.starts_with('/') => unknown(),
            Some(path) => absolute(&self.state.directory, path),
        };
        self.state.directory = directory.into();
        Outcome::quiet(None)
    }

    /// Evaluates text that `eval` or a shell reads: foreign output in it may contain any command.
    pub(crate) fn evaluated(&mut self, text: &str) -> Outcome {
        if parameter::foreign(text) {
            self.opaque("text that is computed is run as a command", text);
        }
        if text.trim().is_empty() {
            return Outcome::quiet(Some(true));
        }
        self.shell_text(text)
    }

    fn source(&mut self, arguments: &[String]) -> Outcome {
        let Some((path, rest)) = arguments.split_first() else {
            // In fish, it reads its input.
            let input = self.state.input().cloned().unwrap_or_default();
            return self.linked("source", |this| this.evaluated(&input));
        };
        self.touch(Touch::Read, path);
        let text = match self.file(path) {
            File::Text(text) => text,
            File::Missing => {
                self.opaque("a sourced file is not there yet", path);
                return Outcome::unknown();
            }
            File::Binary => return Outcome::unknown(),
            File::Unknown(why) => {
                self.opaque(format!("a sourced file cannot be read: {why}"), path);
                return Outcome::unknown();
            }
        };
        let key = format!("source {path}");
        if !self.world.walking.insert(key.clone()) {
            return Outcome::unknown();
        }
        let given = (!rest.is_empty()).then(|| rest.to_vec());
        let before = given.map(|given| std::mem::replace(&mut self.state.positional, given));
        let outcome = self.in_file(path, |this| {
            this.linked(key.clone(), |this| this.evaluated(&text))
        });
        if let Some(before) = before {
            self.state.positional = before;
        }
        self.world.walking.remove(&key);
        outcome
    }

    fn set(&mut self, arguments: &[String]) -> Outcome {
        let mut rest = arguments.iter();
        while let Some(word) = rest.as_slice().first() {
            if word == "--" {
                rest.next();
                self.state.positional = rest.cloned().collect();
                return Outcome::quiet(Some(true));
            }
            if !word.starts_with(['-', '+']) {
                self.state.positional = rest.cloned().collect();
                return Outcome::quiet(Some(true));
            }
            rest.next();
            let takes_word = word.ends_with('o');
            let option = takes_word.then(|| rest.next()).flatten();
            let is_all = word.contains('a') || option.is_some_and(|option| option == "allexport");
            self.state.exports_all |= word.starts_with('-') && is_all;
        }
        Outcome::unknown()
    }

    fn shift(&mut self, arguments: &[String]) -> Outcome {
        let count = match arguments.first() {
            None => Some(1),
            Some(text) => self
                .number(text)
                .and_then(|count| usize::try_from(count).ok()),
        };
        let is_unknown = self.state.positional.iter().any(|word| has_hole(word));
        match count {
            Some(_) | None if is_unknown => self.state.positional = vec![unknown()],
            Some(count) if count <= self.state.positional.len() => {
                self.state.positional.drain(..count);
            }
            Some(_) => {}
            None => self.state.positional = vec![unknown()],
        }
        Outcome::quiet(None)
    }

    fn alias(&mut self, arguments: &[String]) -> Outcome {
        for (name, text) in arguments.iter().filter_map(|word| word.split_once('=')) {
            // A blank at its end makes the next word an alias as well.
            if name.starts_with('-') || has_hole(name) || text.ends_with(' ') {
                self.opaque("a command gets another meaning", &arguments.join(" "));
            }
            Rc::make_mut(&mut self.state.aliases).insert(name.to_owned(), text.to_owned());
        }
        Outcome::unknown()
    }

    /// Evaluates `trap`: its command runs later, but is walked here as well, with the state so far.
    fn trap(&mut self, arguments: &[String]) -> Outcome {
        let arguments = without_dashes(arguments);
        let is_command = |text: &&String| !matches!(text.as_str(), "" | "-" | "-l" | "-p");
        let Some(text) = arguments.first().filter(is_command).cloned() else {
            return Outcome::unknown();
        };
        let state = self.state.clone();
        let output = self
            .apart(state, |this| {
                this.linked("trap", |this| this.evaluated(&text))
            })
            .output;
        self.world.traps.push(text);
        self.world.trapped = Some(self.state.clone());
        // It prints when it runs, at the end or never.
        match output.is_empty() {
            true => Outcome::quiet(Some(true)),
            false => Outcome::unknown(),
        }
    }

    /// Runs the traps after a command that changed the state: one may run between any two commands, and its
    /// assignments may hold from then on.
    pub(crate) fn fire_traps(&mut self) {
        let known = self.world.trapped.take();
        let is_alike = known
            .as_ref()
            .is_some_and(|known| known.is_alike(&self.state));
        if is_alike || self.world.traps.is_empty() {
            self.world.trapped = known;
            return;
        }
        let texts = std::mem::take(&mut self.world.traps);
        let before = self.state.clone();
        for text in &texts {
            self.linked("trap", |this| this.evaluated(text));
        }
        self.world.traps.splice(0..0, texts);
        self.world.trapped = Some(before.clone());
        self.state.join(before);
    }

    /// Runs the traps that were set after the first `before` ones, with the current state.
    pub(crate) fn run_traps(&mut self, before: usize) {
        if self.world.traps.len() > before {
            for text in self.world.traps.split_off(before) {
                self.linked("trap", |this| this.evaluated(&text));
            }
        }
    }

    /// Evaluates `read`, `mapfile`, `getopts`: the values of their variables are only known at run time, unless the
    /// whole input is known.
    fn read(&mut self, builtin: &str, arguments: &[String]) -> Outcome {
        let is_option = |word: &&String| word.starts_with('-') && builtin != "getopts";
        let mut options = arguments.iter().filter(is_option);
        if builtin != "read" && options.any(|word| word.contains('C')) {
            self.opaque(
                "the shell calls a command for each line",
                &arguments.join(" "),
            );
            for text in arguments {
                self.muted(|this| this.shell_text(text));
            }
        }
        // Values of options are not distinguished: most of them cannot be names.
        let mut names: Vec<String> = arguments
            .iter()
            .filter(|word| !is_option(word))
            .cloned()
            .collect();
        let only = match (names.as_slice(), self.state.input()) {
            ([_], Some(input))
                if arguments
                    .iter()
                    .all(|word| !is_option(&word) || word == "-r") =>
            {
                let line = input.strip_suffix('\n').unwrap_or(input).trim();
                (!has_hole(line) && !line.contains(['\n', '\\'])).then(|| line.to_owned())
            }
            _ => None,
        };
        names.extend(["REPLY", "MAPFILE", "OPTARG", "OPTIND"].map(str::to_owned));
        // It is not determined which of them is read.
        let inputs = self.state.descriptors.values().map(String::as_str);
        let inputs = inputs.chain(names.iter().map(String::as_str));
        let inputs = inputs.collect::<Vec<_>>().join("\n");
        let has_input = !self.state.descriptors.is_empty() || builtin != "read";
        let only = only.filter(|_| builtin == "read");
        for name in names {
            let text = match (&only, self.state.get(&name)) {
                (Some(only), _) => only.clone(),
                (None, _) if !has_input => ENVIRONMENT.to_string(),
                // It may keep its value.
                (None, old) => part_of(&format!("{inputs}\n{}", old.unwrap_or_default())),
            };
            self.set_by_name(&name, text);
        }
        for content in self.state.descriptors.values_mut() {
            *content = unknown();
        }
        Outcome::quiet(None)
    }

    /// Sets the variable that a word names, which may be an element.
    fn set_by_name(&mut self, name: &str, text: String) {
        self.named(name);
        match name.split_once('[') {
            Some((array, _)) => self.state.set(array, unknown(), false),
            None if has_hole(name) => self.opaque("the name of a variable is not known", name),
            None => {
                self.given(name, &text);
                // It may be an array with any number of elements.
                let stored = match text.contains(HOLE) {
                    true => Stored::Array(vec![(unknown(), text)]),
                    false => Stored::Text(text),
                };
                self.state.store(name, stored, false);
            }
        }
        self.assigned(name);
    }
}

/// Returns the arguments behind `--`.
fn without_dashes(arguments: &[String]) -> &[String] {
    match arguments.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => arguments,
    }
}
