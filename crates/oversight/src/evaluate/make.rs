//! `make`: which recipes run, and what `$(shell …)` runs while the file is read.

mod functions;
mod line;
mod makefile;
mod scope;

use crate::lookup::absolute;
use crate::value::{HOLE, Value, has_hole};

use self::makefile::Makefile;
use self::scope::{Effects, Scope};
use super::Evaluator;
use super::wrapper::option_value;

/// More targets than this are not followed.
const MAX_TARGETS: usize = 200;

/// More files than this stay a pattern.
const MAX_LISTED: usize = 32;

/// How make was called.
#[derive(Clone)]
struct Call {
    targets: Vec<String>,
    variables: Vec<(String, String)>,
    /// Even then `$(shell …)` and lines that begin with `+` run.
    only_prints: bool,
}

impl Evaluator<'_> {
    pub(crate) fn make(&mut self, arguments: &[String]) {
        let given = |options: &[&str]| {
            let mut words = arguments.iter();
            words.any(|word| options.contains(&word.as_str()))
        };
        if given(&["--version", "-v", "--help"]) {
            return;
        }
        let (targets, variables) = make_words(arguments);
        let call = Call {
            targets,
            variables,
            only_prints: runs_no_recipe(arguments),
        };
        let mut state = self.state.child();
        if let Some(directory) = option_value(arguments, &["-C", "--directory"])
            .or_else(|| super::launch::letter_value(arguments, 'C'))
        {
            state.directory = absolute(&state.directory, &directory).into();
        }
        for text in texts_of(arguments, &["--eval", "-E"], None) {
            self.linked("make --eval", |this| this.makefile(&text, &call));
        }
        if let Some(flags) = self.state.get("MAKEFLAGS")
            && let Some((_, text)) = flags.first().split_once("--eval=")
        {
            let text = text.replace("${IFS}", " ").replace("\\ ", " ");
            self.linked("MAKEFLAGS", |this| this.makefile(&text, &call));
        }
        let more = self.state.get("MAKEFILES");
        let more = more.and_then(|value| value.known().map(str::to_owned));
        for file in more.unwrap_or_default().split_whitespace() {
            if let Some(text) = self.known_file(file) {
                self.linked("MAKEFILES", |this| this.makefile(&text, &call));
            }
        }
        // Rules that are built in run `$(CC)` and its kin.
        for (name, value) in &call.variables {
            if self.catalog.mentions(value) {
                self.perhaps(|this| this.in_shell(&format!("make {name}"), value));
            }
        }
        self.apart(state, |this| {
            let shells = call.variables.iter();
            for (_, shell) in shells.filter(|(name, _)| name.ends_with("SHELL")) {
                this.in_shell("make SHELL", shell);
            }
            let named = texts_of(arguments, &["-f", "--file", "--makefile"], Some('f'));
            this.make_files(&named, &call);
        });
    }

    fn make_files(&mut self, named: &[String], call: &Call) {
        let mut whole = String::new();
        let names = ["GNUmakefile", "makefile", "Makefile"].map(str::to_owned);
        for file in if named.is_empty() { &names } else { named } {
            match self.file(file) {
                super::files::File::Text(value) => {
                    if value.first().contains([HOLE, crate::value::LISTED]) {
                        self.opaque("a makefile that nobody can know is run", file);
                    }
                    whole.push_str(value.first());
                    whole.push('\n');
                    if named.is_empty() {
                        break;
                    }
                }
                super::files::File::Unreadable(why) if !self.is_only_switched() => {
                    self.opaque(format!("the makefile cannot be read: {why}"), file);
                }
                _ => {}
            }
        }
        if !whole.is_empty() {
            self.linked("make", |this| this.makefile(&whole, call));
        }
        self.built_in_rules(call);
    }

    /// Without a rule of its own, `x` is made of `x.sh` or `x.c`.
    fn built_in_rules(&mut self, call: &Call) {
        for target in call.targets.iter().take(MAX_TARGETS) {
            if let Some(text) = self.known_file(&format!("{target}.sh")) {
                self.write(target, &Value::text(text), false);
            }
            for ending in ["c", "cc", "cpp"] {
                let source = format!("{target}.{ending}");
                if self.known_file(&source).is_some() {
                    self.compiles("gcc", &["-o".to_owned(), target.clone(), source]);
                }
            }
        }
    }

    /// The text with what it includes.
    fn included_makefiles(&mut self, text: &str, depth: usize) -> String {
        let mut whole = String::new();
        for line in text.lines() {
            let names = ["include ", "-include ", "sinclude "]
                .iter()
                .find_map(|word| line.trim_start_matches(' ').strip_prefix(word));
            match names {
                Some(names) if depth > 0 => {
                    for name in &self.included_names(names, &whole) {
                        // What is included and has a rule is made first.
                        whole.push_str(&format!("{}: {name}\n", makefile::REMADE));
                        let more = self.known_file(name).unwrap_or_default();
                        whole.push_str(&self.included_makefiles(&more, depth.saturating_sub(1)));
                    }
                }
                _ => {
                    whole.push_str(line);
                    whole.push('\n');
                }
            }
        }
        whole
    }

    /// The files that `include` names: by variables of the lines before, by patterns and by `$(wildcard …)`.
    fn included_names(&self, names: &str, before: &str) -> Vec<String> {
        let mut names = names.replace("$(wildcard ", "").replace("$(CURDIR)/", "");
        for line in before.lines() {
            if names.contains('$')
                && let Some((name, value)) = line.split_once('=')
            {
                let name = name.trim_end_matches([':', '?', ' ']);
                names = names.replace(&format!("$({name})"), value.trim());
                names = names.replace(&format!("${{{name}}}"), value.trim());
            }
        }
        let mut all = Vec::new();
        for name in names.split_whitespace().take(32) {
            let name = name.trim_end_matches(')');
            if super::pattern::is_active(name) {
                all.extend(self.matching_files(name).into_iter().take(32));
            } else {
                all.push(name.to_owned());
            }
        }
        all
    }

    fn makefile(&mut self, text: &str, call: &Call) {
        let text = self.included_makefiles(text, 4);
        let text = self.with_listed_files(&text);
        let variables = self.state.variables.iter();
        let exported = variables.filter(|(_, variable)| variable.exported);
        let environment: Vec<(String, String)> = exported
            .map(|(name, variable)| (name.clone(), variable.stored.scalar().first().to_owned()))
            .collect();
        let mut effects = Effects::default();
        let mut file = Makefile::parse(
            &text.replace("\\\n", " "),
            &call.variables,
            environment,
            &mut effects,
        );
        file.take_own_variables(&call.targets);
        self.make_effects(effects);
        self.make_shell(&file);
        let mut state = self.state.clone();
        for (name, value) in file.exported() {
            state.set(&name, Value::text(value), true);
        }
        self.apart(state, |this| {
            this.make_start_file(&file, call);
            this.make_targets(&file, call);
        });
    }

    /// `BASH_ENV`: what a bash reads before each line of a recipe.
    fn make_start_file(&mut self, file: &Makefile, call: &Call) {
        let shell = file.last("SHELL").unwrap_or_default();
        let named = self.state.get("BASH_ENV");
        let named = named.and_then(|value| value.known().map(str::to_owned));
        if shell.contains("bash")
            && !call.only_prints
            && let Some(path) = named.filter(|path| !path.is_empty())
        {
            self.linked("make BASH_ENV", |this| {
                this.run(&["source".to_owned(), path]);
            });
        }
    }

    /// The text with the names of the files that are there in the place of `$(wildcard …)`.
    fn with_listed_files(&self, text: &str) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("$(wildcard ") {
            whole.push_str(before);
            let inner = after.split(')').next().unwrap_or_default();
            let found: Vec<String> = if inner.contains(['$', '(']) {
                Vec::new()
            } else {
                let wanted = inner.split_whitespace().take(8);
                wanted.flat_map(|one| self.matching_files(one)).collect()
            };
            if found.is_empty() || found.len() > MAX_LISTED {
                whole.push_str("$(wildcard ");
                rest = after;
            } else {
                whole.push_str(&found.join(" "));
                rest = after
                    .get(inner.len().saturating_add(1)..)
                    .unwrap_or_default();
            }
        }
        whole.push_str(rest);
        whole
    }

    fn make_effects(&mut self, effects: Effects) {
        for command in effects.shell {
            self.in_shell("$(shell)", &command);
        }
        for (path, text) in effects.writes {
            self.write(&path, &Value::text(text), false);
        }
    }

    /// A shell of the makefile's own that is none we know.
    fn make_shell(&mut self, file: &Makefile) {
        let flags = file.last(".SHELLFLAGS");
        if let Some((_, text)) = flags.as_deref().and_then(|flags| flags.split_once("-c "))
            && !text.trim().is_empty()
        {
            // The line of the recipe is only a parameter then.
            let text = format!("bash -c {text}");
            self.in_shell("make .SHELLFLAGS", &text);
        }
        let Some(shell) = file.last("SHELL") else {
            return;
        };
        // `/bin/bash -e`, `/usr/bin/env bash`.
        let mut words = shell.split_whitespace().map(super::run::program_name);
        let named = words.find(|word| word != "env" && !word.starts_with('-'));
        if named.is_some_and(|name| super::shells::is_shell(&name)) {
            return;
        }
        let flags = flags.unwrap_or_else(|| "-c".to_owned());
        let lines = file.rules.iter().flat_map(|rule| rule.lines.iter());
        let code: Vec<&str> = lines.map(String::as_str).collect();
        let words = format!("{shell} {flags} {}", super::run::quote(&code.join("\n")));
        self.in_shell("make SHELL", &words);
    }

    fn make_targets(&mut self, file: &Makefile, call: &Call) {
        let mut waiting = if call.targets.is_empty() {
            file.default_targets()
        } else {
            call.targets.clone()
        };
        waiting.extend(file.remade());
        let unknown = waiting.iter().any(|target| has_hole(target));
        self.make_each(file, call, waiting);
        // A target that nobody can know may be any.
        if unknown {
            let known = file.rules.iter().map(|rule| rule.target.clone());
            let known = known.filter(|target| !has_hole(target)).collect();
            self.perhaps(|this| this.make_each(file, call, known));
        }
    }

    fn make_each(&mut self, file: &Makefile, call: &Call, targets: Vec<String>) {
        // With each target the patterns that led to it: make uses none of them twice in a chain.
        let mut waiting: Vec<(String, Vec<usize>)> = targets
            .into_iter()
            .map(|target| (target, Vec::new()))
            .collect();
        let mut done: Vec<(String, Vec<usize>)> = Vec::new();
        while let Some((target, chain)) = waiting.pop() {
            if done.contains(&(target.clone(), chain.clone())) {
                continue;
            }
            if done.len() > MAX_TARGETS {
                self.opaque("make has more targets than are followed", &target);
                return;
            }
            let rules = file.rules.iter().enumerate();
            let fitting: Vec<_> = rules
                .filter(|(at, rule)| rule.fits(&target) && !chain.contains(at))
                .collect();
            let fallback = file.rules.iter().enumerate();
            let fallback = fallback.filter(|(_, rule)| rule.target == ".DEFAULT");
            let rules = if fitting.is_empty() && call.targets.contains(&target) {
                fallback.collect()
            } else {
                fitting
            };
            for (at, rule) in rules {
                let scope = Scope::of(rule, &target);
                let mut chain = chain.clone();
                chain.extend((rule.target != target).then_some(at));
                let needs = scope.needs.iter().cloned();
                waiting.extend(needs.map(|need| (need, chain.clone())));
                for way in 0..file.ways() {
                    self.make_recipe(file, &scope.with_way(way), &rule.lines, call);
                }
            }
            done.push((target, chain));
        }
    }

    fn make_recipe(&mut self, file: &Makefile, scope: &Scope, lines: &[String], call: &Call) {
        let mut whole = String::new();
        for line in lines {
            let marks = line.trim_start();
            let always = marks
                .split(|mark| !matches!(mark, '+' | '@' | '-' | ' '))
                .next()
                .is_some_and(|marks| marks.contains('+'));
            let again = line.contains("$(MAKE)") || line.contains("${MAKE}");
            if call.only_prints && !always && !again {
                continue;
            }
            let mut effects = Effects::default();
            let text = file.expand(line, scope, &mut effects);
            effects.shell.clear();
            self.make_effects(effects);
            for line in text.lines() {
                whole.push_str(line.trim_start_matches(['@', '-', '+', ' ', '\t']));
                whole.push('\n');
            }
            if !file.one_shell {
                let command = std::mem::take(&mut whole);
                let label = format!("make {}", scope.target);
                for command in command.lines().filter(|line| !line.is_empty()) {
                    self.in_shell(&label, command);
                }
            }
        }
        if !whole.is_empty() {
            self.in_shell(&format!("make {}", scope.target), &whole);
        }
    }
}

/// The values of an option that may be given more than once.
fn texts_of(arguments: &[String], options: &[&str], letter: Option<char>) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if options.contains(&word.as_str()) {
            all.extend(words.next().cloned());
            continue;
        }
        let glued = options
            .iter()
            .filter(|option| option.starts_with("--"))
            .find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
        all.extend(glued.map(str::to_owned));
        let flags = word
            .strip_prefix('-')
            .filter(|flags| !flags.starts_with('-'));
        if let (Some(letter), Some(flags)) = (letter, flags)
            && let Some((before, rest)) = flags.split_once(letter)
            && before.chars().all(|flag| !"CIoWjlE".contains(flag))
        {
            if rest.is_empty() {
                all.extend(words.next().cloned());
            } else {
                all.push(rest.to_owned());
            }
        }
    }
    all
}

/// Whether make only prints, asks or touches; an option after `--` or in the place of a value is none.
fn runs_no_recipe(arguments: &[String]) -> bool {
    const VALUED: &[&str] = &[
        "-C",
        "-E",
        "-I",
        "-W",
        "-f",
        "-o",
        "--assume-new",
        "--assume-old",
        "--directory",
        "--eval",
        "--file",
        "--include-dir",
        "--makefile",
        "--new-file",
        "--old-file",
        "--what-if",
    ];
    const NONE_RUNS: &[&str] = &[
        "-n",
        "--dry-run",
        "--just-print",
        "--recon",
        "-q",
        "--question",
        "-t",
        "--touch",
    ];
    let mut words = arguments.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if VALUED.contains(&word.as_str()) {
            words.next();
        } else if NONE_RUNS.contains(&word.as_str()) {
            return true;
        }
    }
    false
}

fn make_words(arguments: &[String]) -> (Vec<String>, Vec<(String, String)>) {
    let mut targets = Vec::new();
    let mut variables = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(
            word.as_str(),
            "-C" | "-f" | "--file" | "--directory" | "-I" | "-o" | "-W" | "--makefile" | "-E"
        ) || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('f'))
        {
            words.next();
        } else if let Some((name, value)) = word.split_once('=').filter(|_| !word.starts_with('-'))
        {
            let name = name.trim_end_matches([':', '?', '+']);
            variables.push((name.to_owned(), value.to_owned()));
        } else if !word.starts_with('-') {
            targets.push(word.clone());
        }
    }
    (targets, variables)
}
