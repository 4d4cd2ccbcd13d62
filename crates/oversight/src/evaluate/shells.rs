//! Shells: the text, the script or the input that they read. A named script is read as shell code.

use actions::lookup::base_name;
use shell::value::has_hole;
use shell::words::names;

use super::run::program_name;
use super::world::File;
use super::{Evaluator, Outcome};

/// Programs that read shell text.
pub(crate) const SHELLS: &[&str] =
    names!("bash sh dash zsh ksh mksh ash fish rbash lksh yash csh tcsh oksh loksh posh");

/// Returns `true` if a program reads shell text.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Marks of syntax that only zsh or fish parses differently.
const OTHER_DIALECT: &[&str] = &[
    "${(", "${=", "${~", "$=", "alias -g", "alias -s", "set -A", " =", "((", "autoload",
];

impl Evaluator<'_> {
    pub(crate) fn shell(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let call = Call::parse(arguments);
        if call.only_checks {
            return Outcome::quiet(None);
        }
        let mut state = self.state.child();
        state.name = name.into();
        self.apart(state, |this| {
            if call.is_interactive {
                this.user_start_files();
            }
            if call.is_interactive || name == "zsh" || name == "fish" {
                this.own_start_files(name);
            }
            for text in &call.first {
                this.linked(format!("{name} -C"), |this| this.evaluated(text));
            }
            if let Some(file) = &call.start_file {
                this.run(&["source".to_owned(), file.clone()]);
            }
            this.shell_call(name, &call)
        })
    }

    /// Evaluates the start files of a new shell, if the command itself wrote them.
    fn own_start_files(&mut self, name: &str) {
        let mut written = self.world.written.keys();
        let is_start = |path: &String| {
            let file = base_name(path);
            file.ends_with("rc")
                || file.ends_with("profile")
                || file.ends_with("env")
                || file.ends_with("login")
                || file == "config.fish"
        };
        if written.any(is_start) {
            self.opaque("a new shell reads a file that the command wrote", name);
        }
    }

    /// Evaluates the user's own start files, whose definitions can be called by name; acts in them count, doubts do
    /// not.
    fn user_start_files(&mut self) {
        for file in [".profile", ".bash_profile", ".bashrc"] {
            let text = self.content(&format!("{}/{file}", self.home));
            if self.acts_in(&text) {
                self.notes.muted = self.notes.muted.saturating_add(1);
                self.linked(file, |this| this.shell_text(&text));
                self.notes.muted = self.notes.muted.saturating_sub(1);
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
                self.state.name = zero.into();
            }
            self.state.positional = rest.collect();
            self.other_dialect(name, text);
            return self.linked(format!("{name} -c"), |this| this.evaluated(text));
        }
        match call.words.split_first() {
            Some((script, rest)) if !call.reads_input => self.script_file(script, rest, name),
            _ => {
                self.state.positional.clone_from(&call.words);
                let Some(input) = self.state.descriptors.insert(0, String::new()) else {
                    // The caller's own input, which is a terminal or empty.
                    self.state.descriptors.remove(&0);
                    return Outcome::quiet(None);
                };
                self.other_dialect(name, &input);
                self.linked(format!("{name} <"), |this| this.evaluated(&input))
            }
        }
    }

    /// Handles text that bash would parse differently.
    fn other_dialect(&mut self, name: &str, text: &str) {
        let is_other = match name {
            "zsh" => {
                let mut uses = text.split('$').skip(1);
                OTHER_DIALECT.iter().any(|mark| text.contains(mark))
                    || text.starts_with('=')
                    || (text.contains("=(") && text.contains('$'))
                    || uses.any(|rest| {
                        rest.trim_start_matches(|one: char| one.is_alphanumeric() || one == '_')
                            .starts_with('[')
                    })
            }
            "fish" | "csh" | "tcsh" => true,
            _ => false,
        };
        if is_other && self.catalog.mentions_part(text) {
            self.opaque(format!("{name} reads this in its own way"), text);
        }
    }

    /// Evaluates a script file by the named shell.
    pub(crate) fn script_file(&mut self, path: &str, arguments: &[String], by: &str) -> Outcome {
        let text = match self.file(path) {
            File::Text(text) => text,
            File::Missing => {
                self.opaque("the script is not there yet", path);
                return Outcome::unknown();
            }
            File::Binary => {
                self.opaque("a program that is no script is run", path);
                return Outcome::unknown();
            }
            File::Unknown(why) => {
                self.opaque(format!("the script cannot be read: {why}"), path);
                return Outcome::unknown();
            }
        };
        let key = format!("{by} {path} {}", arguments.join(" "));
        if !self.world.walking.insert(key.clone()) {
            return Outcome::unknown();
        }
        let mut state = self.state.child();
        state.positional = arguments.to_vec();
        state.name = path.into();
        state.set("BASH_SOURCE", path.to_owned(), false);
        let outcome = self.apart(state, |this| {
            this.other_dialect(by, &text);
            let traps = this.world.traps.len();
            let outcome = this.in_file(path, |this| {
                this.linked(path, |this| this.shell_text(&text))
            });
            this.run_traps(traps);
            outcome
        });
        self.world.walking.remove(&key);
        outcome
    }

    /// Evaluates a program that is named by its path: a script of a shell is read, everything else is not.
    pub(crate) fn by_path(&mut self, path: &str, name: &str, arguments: &[String]) -> Outcome {
        let shell = match self.file(path) {
            File::Text(text) => match first_line_program(&text) {
                Some(program) => is_shell(&program).then_some(program),
                // Without a first line of its own, the shell reads it.
                None => Some("sh".to_owned()),
            },
            _ => None,
        };
        if let Some(shell) = shell {
            return self.linked(path, |this| this.script_file(path, arguments, &shell));
        }
        if has_hole(path) && self.world.is_system(path) {
            return self.other_program(name, arguments);
        }
        // Its name counts as that of the program, the use of its arguments is unknown.
        self.opaque("a program of the project is run, which is not read", path);
        if super::wrapper::is_wrapper(name) || is_shell(name) {
            let words = [&[name.to_owned()], arguments].concat();
            return self.run(&words);
        }
        self.handed_on(name, arguments);
        Outcome::unknown()
    }
}

/// Returns the program of `#!/usr/bin/env bash`.
pub(crate) fn first_line_program(text: &str) -> Option<String> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let program = match base_name(first) {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        _ => first,
    };
    Some(program_name(program))
}

/// Options of a shell call.
#[derive(Default)]
struct Call {
    reads_text: bool,
    reads_input: bool,
    only_checks: bool,
    is_interactive: bool,
    start_file: Option<String>,
    /// Texts that run before the others.
    first: Vec<String>,
    words: Vec<String>,
}

impl Call {
    fn parse(arguments: &[String]) -> Self {
        let mut call = Self::default();
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
                "--login" => call.is_interactive = true,
                // `fish --command=text`.
                "--command" | "--commands" => call.reads_text = true,
                "-C" | "--init-command" => {
                    words.next();
                    call.first.extend(words.as_slice().first().cloned());
                }
                long if long.starts_with("--") => {
                    let text = long.split_once('=').map(|(_, text)| text.to_owned());
                    if long.starts_with("--command") && text.is_some() {
                        call.reads_text = true;
                        call.words.extend(text);
                    } else if long.starts_with("--init-command") {
                        call.first.extend(text);
                    }
                }
                flags if flags.starts_with(['-', '+']) && flags.len() > 1 => {
                    let sets = flags.starts_with('-');
                    call.reads_text |= sets && flags.contains('c');
                    call.reads_input |= sets && flags.contains('s');
                    call.is_interactive |= sets && flags.contains(['i', 'l']);
                    if flags.contains('n') {
                        call.only_checks = sets;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_shells_are_read() {
        let parse =
            |text: &str| Call::parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(parse("-lc x").reads_text);
        assert!(parse("-n x").only_checks);
        assert!(!parse("-n +n -c x").only_checks);
        assert_eq!(parse("-o pipefail -c x").words, ["x"]);
        assert_eq!(parse("x.sh a").words, ["x.sh", "a"]);
        assert_eq!(
            first_line_program("#!/usr/bin/env -S python3 -u\n").as_deref(),
            Some("python")
        );
        assert_eq!(first_line_program("#!/bin/sh -e\n").as_deref(), Some("sh"));
    }
}
