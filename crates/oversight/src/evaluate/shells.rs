//! Shells as programs: `-c` text, scripts, and what comes through their input.

use crate::lookup::{absolute, base_name};
use crate::value::{HOLE, LISTED, Value};

use super::files::File;
use super::run::program_name;
use super::{Evaluator, Outcome};

/// Whether a program is a shell that reads our language.
pub(crate) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "mksh"
            | "ash"
            | "rbash"
            | "fish"
            | "yash"
            | "csh"
            | "tcsh"
            | "ksh93"
            | "lksh"
            | "pdksh"
            | "xonsh"
            | "nu"
            | "elvish"
            | "rc"
    )
}

impl Evaluator<'_> {
    /// Follows a shell.
    pub(crate) fn shell(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        if !is_shell(name) {
            return None;
        }
        let call = Call::parse(arguments);
        if call.syntax_only {
            return Some(Outcome::quiet(None));
        }
        let mut state = self.state.child();
        state.shell_name = name.into();
        state.reads_escapes = !matches!(name, "bash" | "rbash" | "fish");
        Some(self.apart(state, |this| {
            for function in std::mem::take(&mut this.passed_functions) {
                this.shell_text(&function);
            }
            this.start_files(name, arguments);
            if name == "fish"
                && let Some(text) =
                    super::wrapper::option_value(arguments, &["-C", "--init-command"])
            {
                this.linked("fish -C", |this| this.evaluated(&text));
            }
            for variable in call.start_variables(name, arguments) {
                this.start_file(variable, call.start_file.as_deref());
            }
            this.prompts(arguments);
            let outcome = this.shell_call(name, &call);
            this.prompts(arguments);
            outcome
        }))
    }

    /// Reads the file that a variable names, or the one that was given instead.
    fn start_file(&mut self, variable: &str, given: Option<&str>) {
        let named = self.state.get(variable);
        let file = named.as_ref().and_then(Value::known).or(given);
        let Some(file) = file.filter(|file| !file.is_empty()) else {
            return;
        };
        let file = self.value(&crate::shell::lower::single_word(file));
        self.run(&["source".to_owned(), file.first().to_owned()]);
    }

    /// What a login shell or an interactive one reads and runs first.
    ///
    /// Files that the command itself wrote are followed like any; the user's own count for gated acts only.
    fn start_files(&mut self, name: &str, arguments: &[String]) {
        let has = |letter: char| {
            arguments
                .iter()
                .take_while(|word| word.starts_with('-'))
                .any(|word| !word.starts_with("--") && word.contains(letter))
        };
        let login = has('l') || arguments.iter().any(|word| word == "--login");
        let interactive = has('i');
        let mut files: Vec<&str> = Vec::new();
        if login {
            files.extend([".bash_profile", ".bash_login", ".profile", ".zprofile"]);
        }
        if interactive && !arguments.iter().any(|word| word == "--norc") {
            files.extend([".bashrc", ".zshrc"]);
        }
        match name {
            "zsh" => files.extend([".zshenv", ".zprofile", ".zshrc", ".zlogin"]),
            "fish" => files.push(".config/fish/config.fish"),
            _ => {}
        }
        let elsewhere = self.state.get("ZDOTDIR").filter(|_| name == "zsh");
        let place = elsewhere.map_or_else(|| self.home.clone(), |place| place.first().to_owned());
        for file in files {
            let path = absolute(&self.state.directory, &format!("{place}/{file}"));
            let Some(text) = self.known_file(&path) else {
                continue;
            };
            if self.written.contains_key(&path) {
                self.linked(file, |this| this.shell_text(&text));
            } else if self.catalog.mentions_part(&text) {
                // What it defines can be called by its name.
                let before = std::mem::replace(&mut self.certainty, super::Certainty::Possible);
                self.linked(file, |this| this.shell_text(&text));
                self.certainty = before;
            }
        }
    }

    /// What an interactive shell runs before it asks for a command.
    fn prompts(&mut self, arguments: &[String]) {
        let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--");
        if !arguments
            .iter()
            .any(|word| is_short(word) && word.contains('i'))
        {
            return;
        }
        for variable in ["PROMPT_COMMAND", "PS1", "PS0", "PS4"] {
            let Some(text) = self
                .state
                .get(variable)
                .map(|value| value.first().to_owned())
            else {
                continue;
            };
            if variable == "PROMPT_COMMAND" {
                self.linked(variable, |this| this.shell_text(&text));
            } else {
                let word =
                    crate::shell::lower::single_word(&super::parameter::double_quoted(&text));
                self.linked(variable, |this| this.value(&word));
            }
        }
    }

    fn shell_call(&mut self, name: &str, call: &Call) -> Outcome {
        if call.reads_text {
            let Some((text, rest)) = call.words.split_first() else {
                return Outcome::quiet(Some(false));
            };
            let mut rest = rest.iter().cloned();
            if let Some(zero) = rest.next() {
                self.state.shell_name = zero.into();
            }
            self.state.positional = rest.collect();
            let text = if name == "nu" {
                // `^git`: the program and no command of the shell.
                text.replace('^', "")
            } else if name == "elvish" {
                text.replace("e:", "")
            } else {
                text.clone()
            };
            self.other_dialect(name, &text);
            return self.linked(format!("{name} -c"), |this| {
                let traps = this.traps.len();
                let outcome = this.evaluated(&text);
                this.run_traps(traps);
                outcome
            });
        }
        match call.words.split_first() {
            Some((script, rest)) if !call.reads_input => self.script_file(script, rest, name),
            _ => {
                self.state.positional = call.words.clone();
                self.input_text(name)
            }
        }
    }

    /// What bash would read in another way.
    fn other_dialect(&mut self, name: &str, text: &str) {
        if name != "zsh" {
            return;
        }
        let marks = ["${(", "${=", "${~", "$=", "alias -g", "alias -s", "set -A"];
        let found = marks.iter().any(|mark| text.contains(mark))
            || finds_program(text)
            || spreads_array(text)
            || indexes_bare(text);
        if found && self.catalog.mentions_part(text) {
            self.opaque("zsh reads this in its own way", text);
        }
    }

    /// A shell that reads commands from its input.
    fn input_text(&mut self, name: &str) -> Outcome {
        let Some(input) = self.state.input.clone() else {
            return Outcome::quiet(None);
        };
        // The commands themselves see an input that is used up.
        self.state.input = Some(Value::empty());
        let mut outcome = Outcome::quiet(None);
        for text in input.possibilities().to_vec() {
            self.other_dialect(name, &text);
            outcome = self.linked(format!("{name} <"), |this| this.evaluated(&text));
        }
        outcome
    }

    /// A script file, by the shell that was named or by its first line.
    pub(crate) fn script_file(&mut self, path: &str, arguments: &[String], by: &str) -> Outcome {
        if self.is_of_package(path) {
            return self.perhaps(|this| this.script_file(path, arguments, by));
        }
        let content = match self.file(path) {
            File::Text(content) => content,
            File::Missing => {
                // `bash git`: a shell also looks for its script on the path, where programs are no text.
                return Outcome::quiet(None);
            }
            File::Binary => return Outcome::unknown(),
            File::Unreadable(why) => {
                self.opaque(format!("the script cannot be read: {why}"), path);
                return Outcome::unknown();
            }
        };
        if by != "source" && self.may_be_another(path) {
            self.opaque("git may have brought another version of the script", path);
        }
        let key = format!("{by} {path} {}", arguments.join(" "));
        if !self.walking.insert(key.clone()) {
            return Outcome::unknown();
        }
        let mut outcome = Outcome::quiet(None);
        for text in content.possibilities().to_vec() {
            outcome = self.linked(path, |this| this.script_text(&text, path, arguments, by));
        }
        self.walking.remove(&key);
        outcome
    }

    fn script_text(&mut self, text: &str, path: &str, arguments: &[String], by: &str) -> Outcome {
        let interpreter = if by == "run" {
            first_line_program(text)
        } else {
            None
        };
        let mut state = self.state.child();
        state.positional = arguments.to_vec();
        state.shell_name = path.into();
        state.set("BASH_SOURCE", Value::text(path), false);
        match interpreter {
            Some(words) if !words.first().is_some_and(|name| is_shell(name)) => {
                let mut words = words;
                words.push(path.to_owned());
                words.extend(arguments.iter().cloned());
                self.apart(state, |this| this.run(&words))
            }
            interpreter => self.apart(state, |this| {
                let shell = interpreter.as_ref().and_then(|words| words.first());
                this.other_dialect(shell.map_or(by, String::as_str), text);
                if text.contains([HOLE, LISTED]) {
                    this.opaque("a script that nobody can know is run", path);
                }
                if by == "run" && !text.starts_with("#!/bin/sh") {
                    this.start_file("BASH_ENV", None);
                }
                let traps = this.traps.len();
                let outcome = this.shell_text(text);
                this.run_traps(traps);
                outcome
            }),
        }
    }
}

/// `=git`: where the program lies.
fn finds_program(text: &str) -> bool {
    let begins = |part: &str| part.starts_with(|one: char| one.is_alphabetic());
    let ends = |part: &str| {
        let before = part.chars().next_back();
        before.is_none_or(|one| one.is_whitespace() || ";|&(\"'`".contains(one))
    };
    let mut signs = text.match_indices('=').map(|(at, _)| text.split_at(at));
    signs.any(|(before, after)| ends(before) && after.strip_prefix('=').is_some_and(begins))
}

/// `a=(git push); $a`: an array by its name alone is all of its words.
fn spreads_array(text: &str) -> bool {
    let of_name = |one: char| one.is_alphanumeric() || one == '_';
    let mut arrays = text.match_indices("=(").take(64).map(|(at, _)| {
        let before = text.split_at(at).0.trim_end_matches('+');
        let start = before.trim_end_matches(of_name).len();
        before.split_at(start).1
    });
    arrays.any(|name| {
        let mut uses = text.match_indices(name).filter(|_| !name.is_empty());
        uses.any(|(at, _)| {
            let (before, rest) = text.split_at(at);
            let after = rest.strip_prefix(name).unwrap_or_default();
            (before.ends_with('$') || before.ends_with("${"))
                && !after.starts_with(|one: char| of_name(one) || one == '[')
        })
    })
}

/// The words of `#!/usr/bin/env python3`.
fn first_line_program(text: &str) -> Option<Vec<String>> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let program = if base_name(first) == "env" {
        words.find(|word| !word.starts_with('-') && !word.contains('='))?
    } else {
        first
    };
    let mut all = vec![program_name(program)];
    all.extend(words.filter(|word| *word != "-").map(str::to_owned));
    Some(all)
}

/// How a shell was called.
struct Call {
    reads_text: bool,
    reads_input: bool,
    syntax_only: bool,
    start_file: Option<String>,
    words: Vec<String>,
}

impl Call {
    /// Variables that name a file which this shell reads first.
    fn start_variables(&self, name: &str, arguments: &[String]) -> &'static [&'static str] {
        let flags = |letter: char| {
            move |word: &String| {
                word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
            }
        };
        let interactive =
            arguments.iter().any(flags('i')) || arguments.iter().any(|word| word.contains("posix"));
        let given = self.reads_text || !self.words.is_empty();
        match name {
            _ if self.start_file.is_some() => &["BASH_ENV", "ENV"],
            "bash" | "rbash" if !interactive => &["BASH_ENV"],
            // `ENV` is for those who type: not where a text or a script was given.
            "sh" | "dash" | "ash" if given && !self.reads_input && !interactive => &[],
            "sh" | "dash" | "ash" => &["ENV"],
            _ => &["BASH_ENV", "ENV"],
        }
    }

    fn parse(arguments: &[String]) -> Self {
        let mut call = Self {
            reads_text: false,
            reads_input: false,
            syntax_only: false,
            start_file: None,
            words: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.as_slice().first() {
            match word.as_str() {
                "--" | "-" => {
                    words.next();
                    break;
                }
                "--rcfile" | "--init-file" => {
                    words.next();
                    call.start_file = words.as_slice().first().cloned();
                }
                // `fish --command=text`, `nu --commands text`.
                "--command" | "--commands" => call.reads_text = true,
                flags if flags.starts_with("--command") && flags.contains('=') => {
                    call.reads_text = true;
                    let text = flags.split_once('=').map(|(_, text)| text.to_owned());
                    call.words.extend(text);
                }
                flags if flags.starts_with("--") => {}
                flags if flags.starts_with(['-', '+']) && flags.len() > 1 => {
                    let set = flags.starts_with('-');
                    call.reads_text |= set && flags.contains('c');
                    call.reads_input |= set && flags.contains('s');
                    if flags.contains('n') {
                        call.syntax_only = set;
                    }
                    if flags.contains(['o', 'O']) {
                        words.next();
                    }
                }
                _ => break,
            }
            words.next();
        }
        call.words.extend(words.cloned());
        call
    }
}

/// `$list[2]`: an element in zsh, a value and a text in other shells.
fn indexes_bare(text: &str) -> bool {
    text.split('$').skip(1).any(|rest| {
        let after = rest.trim_start_matches(|one: char| one.is_ascii_alphanumeric() || one == '_');
        after.len() < rest.len() && after.starts_with('[')
    })
}
