//! Programs that are neither shells nor launchers with a grammar: those that run code that is not analysed are
//! opaque, those that only handle data are skipped, and for all others the arguments are examined.

use std::borrow::Cow;

use crate::execution::within;
use shell::value::has_hole;
use shell::words::names;

mod packages;

pub(crate) use actions::programs::FILTERS;
use actions::programs::{
    BUILDERS, CARRY_TEXT, DATA, ENVIRONMENTS, INTERPRETERS, ORDINARY, PACKAGE_OPTIONS, RUNNERS,
    STARTING_OPTIONS, TEXTS,
};

use super::run::program_name;
use super::world::File;
use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome, scripts, shells, wrapper};

/// Returns `true` if a program runs code of another language.
pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(name)
}

/// Returns the arguments without a switch of pnpm before its command, as in `pnpm -w publish`, where npm takes a
/// value.
pub(crate) fn without_switch<'w>(name: &str, arguments: &'w [String]) -> Cow<'w, [String]> {
    let mut own = arguments.iter().take_while(|word| word.starts_with('-'));
    let at = own.position(|word| word == "-w").filter(|_| name == "pnpm");
    let Some(at) = at else {
        return arguments.into();
    };
    let mut words = arguments.to_vec();
    words.remove(at);
    words.into()
}

/// Returns `true` if a call only shows information about the program.
fn only_shows(arguments: &[String]) -> bool {
    let shows = names!("--version -V -version --help -h --list -l -v version --tasks -T --summary");
    !arguments.is_empty() && arguments.iter().all(|word| shows.contains(&word.as_str()))
}

impl Evaluator<'_> {
    /// Evaluates a program without an entry in the table of handlers.
    pub(crate) fn other_program(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let verbs = git_program(name);
        if let Some(verb) = verbs {
            let words = [&["git".to_owned(), verb.to_owned()], arguments].concat();
            return self.run(&words);
        }
        if only_shows(arguments) {
            return Outcome::unknown();
        }
        if is_interpreter(name) {
            self.interpreted(name, arguments);
            return Outcome::unknown();
        }
        if name == "jj" {
            self.program_alias(name, arguments);
        }
        if RUNNERS.contains(name) {
            self.opaque(
                "it runs recipes, scripts or tasks that are not read",
                &format!("{name} {}", arguments.join(" ")),
            );
            for word in arguments
                .iter()
                .filter(|word| TEXTS.contains(&name) && word.contains(' '))
            {
                self.in_shell(name, word);
            }
            self.handed_on(name, arguments);
            return Outcome::unknown();
        }
        if self.package_program(name, arguments) {
            return Outcome::unknown();
        }
        if let Some((_, words)) = ENVIRONMENTS.iter().find(|(names, _)| names.contains(&name)) {
            self.environment(name, words, arguments);
            return Outcome::unknown();
        }
        self.project_commands(name, arguments);
        if BUILDERS.contains(name) {
            let mut texts = self.world.written.values().flatten();
            if texts.any(|text| self.acts_in(text)) {
                self.opaque(
                    "it may run a file that the command wrote",
                    &format!("{name} {}", arguments.join(" ")),
                );
            }
        }
        let starts = STARTING_OPTIONS
            .iter()
            .find(|(programs, _)| programs.contains(&name));
        let by_option = |option: &&str| {
            let letter = option.chars().nth(1).filter(|_| option.len() == 2);
            let is_it = |word: &String| {
                word.starts_with(*option)
                    || letter.is_some_and(|letter| {
                        word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
                    })
                    || (option.starts_with("--")
                        && word.len() > 7
                        && option.starts_with(word.split('=').next().unwrap_or_default()))
            };
            arguments.iter().any(is_it)
        };
        let is_started = starts.is_some_and(|(_, options)| options.iter().any(by_option));
        if is_started && arguments.iter().any(|word| has_hole(word)) {
            self.opaque(
                "an option may name a program to start",
                &format!("{name} {}", arguments.join(" ")),
            );
        }
        if is_started || !DATA.contains(name) {
            self.handed_on(name, arguments);
        }
        Outcome::unknown()
    }

    /// Evaluates code in the arguments, in a file or on the input.
    fn interpreted(&mut self, name: &str, arguments: &[String]) {
        for word in arguments {
            self.guard_code(word);
        }
        if let Some(input) = self.state.input().cloned() {
            self.guard_code(&input);
        }
        let only_checks: &[&str] = match name {
            "node" => names!("--check -c"),
            "ruby" => names!("-c -wc"),
            "php" => names!("-l -m -i"),
            "java" => names!("-version --version"),
            _ => &[],
        };
        let first = arguments.first().map_or("", String::as_str);
        if only_checks.contains(&first) || (arguments.is_empty() && self.state.input().is_none()) {
            return;
        }
        // `python -m twine`, `node npm-cli.js`: a program by the name of its script.
        if let Some((program, words)) = within(name, arguments)
            && self.catalog.is_program(&program)
        {
            let words = [&[program], words.as_slice()].concat();
            self.linked(name, |this| this.run(&words));
        }
        let module = arguments
            .iter()
            .position(|word| word == "-m")
            .filter(|_| name == "python");
        if let Some(words) = module.and_then(|at| arguments.get(at.saturating_add(1)..)) {
            let module = words.first().map_or("", String::as_str);
            let shadowed = !matches!(
                self.file(&format!(
                    "{}.py",
                    module.split('.').next().unwrap_or_default()
                )),
                File::Missing
            );
            if ORDINARY.contains(module) && module != "unittest" && !shadowed {
                return;
            }
        }
        if matches!(name, "gdb" | "lldb")
            && let Some(at) = arguments
                .iter()
                .position(|word| word == "--args" || word == "--")
        {
            let words = arguments.get(at.saturating_add(1)..).unwrap_or_default();
            self.linked(name, |this| this.run(words));
        }
        self.opaque(
            "code of another language is run, which is not read",
            &format!("{name} {}", arguments.join(" ")),
        );
        self.handed_on(name, arguments);
    }

    /// Evaluates `poetry run words`, `nix-shell --run text`: the arguments behind are a command.
    fn environment(&mut self, name: &str, verbs: &[&str], arguments: &[String]) {
        if let Some(text) = option_value(arguments, &["--run"]) {
            self.in_shell(name, &text);
            return;
        }
        if self.state.input().is_some_and(|input| self.acts_in(input)) {
            self.opaque("it may start what it reads", name);
        }
        if name == "direnv"
            && arguments.first().is_some_and(|verb| verb == "allow")
            && self
                .world
                .written
                .keys()
                .any(|path| path.ends_with(".envrc"))
        {
            self.opaque("it runs a file that the command wrote", "direnv allow");
        }
        let at = arguments
            .iter()
            .position(|word| verbs.contains(&word.as_str()) || word == "--");
        let Some(at) = at else {
            self.handed_on(name, arguments);
            return;
        };
        let mut words = arguments.get(at.saturating_add(1)..).unwrap_or_default();
        if let Some(at) = words
            .iter()
            .position(|word| word == "--" || word == "-c" || word == "--command")
        {
            words = words.get(at.saturating_add(1)..).unwrap_or_default();
        } else {
            words = skip_options(words, "npw", PACKAGE_OPTIONS);
            words = words.strip_prefix(&["run".to_owned()]).unwrap_or(words);
            if name == "direnv" {
                words = words.get(1..).unwrap_or_default();
            }
        }
        let Some(program) = words.first() else {
            self.handed_on(name, arguments);
            return;
        };
        match words {
            [text] if text.contains(' ') => self.in_shell(name, text),
            words => self.linked(name, |this| this.run(words)),
        };
        let known = program_name(program);
        let is_known = ORDINARY.contains(known.as_str())
            || DATA.contains(known.as_str())
            || self.starts(program)
            || wrapper::is_wrapper(&known);
        if !is_known {
            self.opaque(
                "it may run a script of the project, which is not read",
                &format!("{name} {}", arguments.join(" ")),
            );
        }
        self.handed_on(name, arguments);
    }

    /// Evaluates programs with their own language, in which only some constructs start another program.
    pub(crate) fn filter(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let read = |path: &String| self.content(path);
        let code = match name {
            "awk" => scripts::awk_code(arguments),
            "sed" => scripts::sed_code(arguments, &read),
            "vim" => scripts::editor_code(arguments, self.state.input()),
            _ => scripts::database_code(arguments, self.state.input(), &read),
        };
        if name == "awk" {
            self.guard_code(&code);
        }
        let starts = match name {
            "awk" => scripts::awk_starts(&code),
            "sed" => scripts::sed_starts(&code),
            "vim" => !code.is_empty(),
            _ => scripts::database_starts(&code),
        };
        let computed = code.contains(shell::value::HOLE);
        if starts || computed {
            let text = format!("{name} {}", arguments.join(" "));
            self.opaque("a script in its words can start programs", &text);
            self.handed_on(name, arguments);
        }
        Outcome::unknown()
    }

    /// Returns `true` if an argument names a program that can start others, or a script of the project.
    fn starts(&self, word: &str) -> bool {
        let name = program_name(word);
        self.catalog.is_program(&name)
            || shells::is_shell(&name)
            || is_interpreter(&name)
            || RUNNERS.contains(name.as_str())
            || self.is_script(word)
    }

    /// Returns `true` for `./x` if that is a script of the project or of this command.
    fn is_script(&self, word: &str) -> bool {
        let is_local = word.contains('/') && !word.contains("://") && word.len() < 256;
        if !is_local || self.world.is_system(word) || word.starts_with("/dev/") {
            return false;
        }
        let path = actions::lookup::absolute(&self.state.directory, word);
        self.world.written.contains_key(&path)
            || match self.file(word) {
                File::Text(text) => text.starts_with("#!"),
                File::Unknown(_) => word.starts_with("./"),
                File::Missing | File::Binary => false,
            }
    }

    /// Returns `true` if a file is a script of another language, or not a script.
    pub(crate) fn is_foreign(&self, path: &str) -> bool {
        match self.file(path) {
            File::Text(text) => {
                shells::first_line_program(&text).is_some_and(|program| !shells::is_shell(&program))
            }
            _ => true,
        }
    }

    /// Returns `true` if a text contains a command that acts: a program of the actions with arguments that may be an
    /// act, or a script.
    pub(crate) fn acts_in(&self, text: &str) -> bool {
        let is_sign = |one: char| one.is_whitespace() || "'\"`;|&()!=,:+{}[]<>".contains(one);
        let text = match text.contains('\\') {
            true => Cow::Owned(text.replace('\\', "")),
            false => Cow::Borrowed(text),
        };
        let mut words = text.split(is_sign).filter(|word| !word.is_empty());
        while let Some(program) = words.next() {
            if self.is_script(program) {
                return true;
            }
            let name = program_name(program);
            if !self.catalog.is_program(&name) {
                continue;
            }
            let rest: Vec<String> = words.clone().map(str::to_owned).collect();
            let answer = self.answer(&name, &rest);
            if !answer.actions.is_empty() || answer.unknown.is_some() {
                return true;
            }
        }
        false
    }

    /// Handles code that a tool runs out of sight: an act that is written in it counts.
    pub(crate) fn code_outside(&mut self, code: &str) {
        self.guard_code(code);
        if self.acts_in(code) {
            self.outside(|this| {
                this.opaque(
                    "code of another language is run, and it names a gated act",
                    code,
                );
            });
        }
    }

    /// Handles the arguments of a program that may execute them: an act in them is possible, a script or a text that
    /// acts is a doubt.
    pub(crate) fn handed_on(&mut self, name: &str, arguments: &[String]) {
        let mut is_text = false;
        for (at, word) in arguments.iter().enumerate() {
            if std::mem::replace(
                &mut is_text,
                CARRY_TEXT.contains(word.as_str()) && name != "split" && name != "mail",
            ) {
                continue;
            }
            let (head, value) = word.split_once('=').unwrap_or(("", word));
            if CARRY_TEXT.contains(head) && !(name == "split" && head == "--filter") {
                continue;
            }
            let glued = word
                .get(2..)
                .filter(|_| word.starts_with('-') && !word.starts_with("--") && word.len() > 3);
            let value = glued.unwrap_or(value);
            let known = program_name(value);
            let rest = arguments.get(at..).unwrap_or_default();
            if self.catalog.is_program(&known) && !has_hole(value) {
                let words: Vec<String> = std::iter::once(known.clone())
                    .chain(rest.iter().skip(1).cloned())
                    .collect();
                self.perhaps(|this| this.linked(name, |this| this.run(&words)));
            }
            let may_start = self.is_script(value) || self.acts_in(value);
            let is_launcher = shells::is_shell(&known)
                || is_interpreter(&known)
                || (wrapper::is_wrapper(&known) && known != "-" && at > 0);
            if is_launcher {
                self.perhaps(|this| this.run(rest));
            }
            let runs_code = shells::is_shell(&known) || is_interpreter(&known);
            if may_start || runs_code && rest.len() > 1 {
                self.opaque(
                    "it may start what it is given",
                    &format!("{name} {}", arguments.join(" ")),
                );
            }
        }
        let input = self.state.input().cloned();
        if input.is_some_and(|input| self.acts_in(&input)) {
            self.opaque("it may start what it reads", name);
        }
    }
}

/// Returns the git command of a program such as `/usr/lib/git-core/git-push`: each command is a program as well.
fn git_program(name: &str) -> Option<&str> {
    let verb = name.strip_prefix("git-");
    verb.filter(|verb| actions::is_git_builtin(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_pnpm_are_taken_away() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            without_switch("pnpm", &words("-w publish")),
            words("publish")
        );
        assert_eq!(
            without_switch("npm", &words("-w a publish")),
            words("-w a publish")
        );
        assert!(only_shows(&words("--version")));
        assert!(!only_shows(&words("--version x")));
        assert_eq!(git_program("git-push"), Some("push"));
    }
}
