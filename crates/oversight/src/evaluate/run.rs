//! One program with its words: who is asked what it does, and in which order.

use crate::actions::Around;
use crate::lookup::base_name;
use crate::shell::ir::{Argument, Assignment, Redirect};
use crate::value::{HOLE, for_people, has_hole, without_holes};

use super::starter::is_harmless;
use super::{Certainty, Evaluator, Finding, Outcome};

/// Environment variables whose value some program runs.
const RUN_BY_NAME: &[&str] = crate::words::names!(
    "EDITOR PAGER COMMAND SHELL OPEN ASKPASS DIFF SSH BROWSER HELPER VISUAL RSH PROG OPTIONS \
    LESSCLOSE MAKEFLAGS GOFLAGS WRAPPER PROXY_COMMAND RUSTC RUSTDOC CC CXX LINKER RUNNER FCEDIT"
);

/// Knows what some programs do: name and arguments, and None for all others.
type Handler<E> = fn(&mut E, &str, &[String]) -> Option<Outcome>;

/// The name by which a program is known: no directory, no version, no ending.
pub(crate) fn program_name(program: &str) -> String {
    // `~/.local/share/claude/versions/2.1.0`: the file is named by its version.
    let is_version =
        |file: &str| file.starts_with(|digit: char| digit.is_ascii_digit()) && !file.contains('/');
    let place = program.rsplit_once("/versions/");
    let place = place
        .filter(|(_, file)| is_version(file))
        .map(|(place, _)| place);
    let name = base_name(place.unwrap_or(program)).to_ascii_lowercase();
    if let Some(known) = super::names::of_file(&name) {
        return known.to_owned();
    }
    let name = [".exe", ".cmd", ".bat"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    if let Some(rest) = name
        .strip_prefix("python")
        .or_else(|| name.strip_prefix("pypy"))
        && rest
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.')
    {
        return "python".to_owned();
    }
    let versioned = ["perl", "ruby", "php", "lua", "node", "tclsh", "pip"];
    for known in versioned {
        if name.strip_prefix(known).is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .chars()
                    .all(|character| character.is_ascii_digit() || character == '.')
        }) {
            return known.to_owned();
        }
    }
    name.to_owned()
}

/// Why a command whose first word is unknown is opaque.
pub(crate) const UNKNOWN_PROGRAM: &str = "the name of the program is not known";

impl Evaluator<'_> {
    pub(crate) fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Argument],
        redirects: &[Redirect],
    ) -> Outcome {
        if let Some((name, declared)) = super::declare::declaration(words)
            && !self.state.functions.contains_key(name)
        {
            for assignment in assignments {
                self.assign(assignment, true);
            }
            return self.redirected(redirects, |this| this.declare(name, declared));
        }
        let outer = std::mem::take(&mut self.readers);
        let ways = self.arguments(words);
        let readers = std::mem::replace(&mut self.readers, outer);
        if ways.iter().all(Vec::is_empty) {
            for assignment in assignments {
                self.assign(assignment, false);
                self.assigned_danger(&assignment.name);
            }
            // What is substituted decides how an assignment ends.
            let runs = assignments.iter().any(super::assign::runs_command);
            return self.redirected(redirects, |_| Outcome::quiet((!runs).then_some(true)));
        }
        if let [only] = ways.as_slice()
            && let [exec] = only.as_slice()
            && exec == "exec"
        {
            self.open_for_good(redirects);
            return Outcome::quiet(Some(true));
        }
        let before: Vec<_> = assignments
            .iter()
            .map(|one| {
                (
                    one.name.clone(),
                    self.state.variables.get(&one.name).cloned(),
                )
            })
            .collect();
        for assignment in assignments {
            self.assign(assignment, true);
            self.assigned_danger(&assignment.name);
        }
        let outcome = self.redirected(redirects, |this| this.all_ways(&ways));
        self.read_by_processes(words, &readers);
        for (name, old) in before {
            match old {
                Some(variable) => {
                    std::rc::Rc::make_mut(&mut self.state.variables).insert(name, variable)
                }
                None => std::rc::Rc::make_mut(&mut self.state.variables).remove(&name),
            };
        }
        outcome
    }

    fn all_ways(&mut self, ways: &[Vec<String>]) -> Outcome {
        if let [only] = ways {
            let settled = self.settled_file(only);
            return settled.unwrap_or_else(|| self.run(only));
        }
        let mut all: Option<Outcome> = None;
        let before = self.state.clone();
        let mut after: Option<super::state::State> = None;
        for way in super::outputs::meant(ways) {
            let state = std::mem::replace(&mut self.state, before.clone());
            match &mut after {
                None if all.is_none() => {}
                None => after = Some(state),
                Some(after) => after.join(state),
            }
            let outcome = self.run(way);
            all = Some(match all {
                None => outcome,
                Some(before) => Outcome {
                    status: before
                        .status
                        .filter(|status| outcome.status == Some(*status)),
                    output: before.output.or(&outcome.output),
                },
            });
        }
        if let Some(after) = after {
            self.state.join(after);
        }
        all.unwrap_or_else(|| Outcome::quiet(None))
    }

    /// Variables whose value is run by the shell or by programs that it starts.
    pub(crate) fn assigned_danger(&mut self, name: &str) {
        if matches!(name, "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES") {
            self.preloaded_library(name);
        }
        let by_shell = name == "PS4";
        let by_programs =
            RUN_BY_NAME.iter().any(|ending| name.ends_with(ending)) && name != "PROMPT_COMMAND";
        if !by_shell && !by_programs {
            return;
        }
        if matches!(name, "CC" | "CXX" | "RUSTC" | "RUSTDOC") {
            let own = self.state.get(name).is_some_and(|value| {
                value.first().starts_with(['.', '/']) || self.catalog.mentions(value.first())
            });
            if !own {
                return;
            }
        }
        let Some(value) = self.state.get(name) else {
            return;
        };
        for text in value.possibilities().to_vec() {
            if name == "GIT_SEQUENCE_EDITOR" {
                self.todo_editor(&text);
            }
            let program = text.split_whitespace().next().unwrap_or_default();
            if name.starts_with("GIT_") && program.contains(HOLE) {
                self.opaque(
                    "what git would start is not known",
                    &format!("{name}={text}"),
                );
            }
            if !self.starts_in(&text) {
                continue;
            }
            self.fetched_setting(name, &text);
            self.perhaps(|this| {
                this.linked(format!("${name}"), |this| {
                    if by_shell {
                        this.value(&crate::shell::lower::single_word(
                            &super::parameter::double_quoted(&text),
                        ));
                    } else {
                        this.shell_text(&text);
                        let text = text.replace("${IFS}", " ");
                        this.glance_inside(name, &text);
                        // `-toolexec=./x.sh`: a script behind an option.
                        if let Some((_, script)) = text
                            .rsplit_once('=')
                            .filter(|(_, script)| script.starts_with("./"))
                        {
                            this.shell_text(script);
                        }
                    }
                });
            });
        }
    }

    /// Follows one program.
    pub(crate) fn run(&mut self, words: &[String]) -> Outcome {
        if !self.step() {
            return Outcome::unknown();
        }
        self.deeper(Outcome::unknown, |this| this.dispatch(words))
    }

    fn dispatch(&mut self, words: &[String]) -> Outcome {
        let Some((program, arguments)) = words.split_first() else {
            return Outcome::quiet(Some(true));
        };
        if program.is_empty() {
            return Outcome::quiet(Some(false));
        }
        if has_hole(base_name(program)) {
            self.opaque(UNKNOWN_PROGRAM, &words.join(" "));
            let bare = without_holes(base_name(program));
            if bare.is_empty() {
                // What follows may be a command of its own: `$SUDO git push`.
                return match arguments.first() {
                    Some(next) if self.catalog.is_program(&program_name(next)) => {
                        self.run(arguments)
                    }
                    _ => Outcome::unknown(),
                };
            }
            let mut again = vec![bare];
            again.extend(arguments.iter().cloned());
            return self.known_program(&again);
        }
        if !program.contains('/') {
            if let Some((body, other)) = self.state.bodies(program) {
                if let Some(other) = other {
                    let state = self.state.clone();
                    self.apart(state, |this| this.call(program, &other, arguments));
                }
                if !self.state.may_lack(program) {
                    return self.call(program, &body, arguments);
                }
                let state = self.state.clone();
                self.apart(state, |this| this.call(program, &body, arguments));
            }
            if let Some(text) = self.state.aliases.get(program.as_str()).cloned() {
                let outcome = self.expand_alias(program, &text, arguments);
                // Scripts do not expand aliases unless they are told to.
                if !self.is_known(&program_name(program)) {
                    return outcome;
                }
            }
            let own = super::wrapper::of_the_shell(program, arguments);
            let (program, arguments) = own.unwrap_or((program, arguments));
            if let Some(outcome) = self.builtin(program, arguments) {
                return outcome;
            }
        }
        // Another process has loaded nothing yet.
        let loaded = self.loaded.take();
        let outcome = self.known_program(words);
        self.loaded = loaded;
        outcome
    }

    pub(crate) fn call(
        &mut self,
        name: &str,
        body: &crate::shell::ir::Command,
        arguments: &[String],
    ) -> Outcome {
        let before = std::mem::replace(&mut self.state.positional, arguments.to_vec());
        let jumps = self.jumps;
        let locals = self.state.locals.replace(Vec::new());
        let outcome = self.linked(format!("{name}()"), |this| this.command(body));
        self.state.leave_function(locals);
        self.jumps = jumps;
        self.state.positional = before;
        outcome
    }

    fn known_program(&mut self, words: &[String]) -> Outcome {
        let Some((program, arguments)) = words.split_first() else {
            return Outcome::unknown();
        };
        let name = program_name(program);
        let switched = super::names::without_switch(&name, arguments);
        let arguments = switched.as_deref().unwrap_or(arguments);
        self.guard_program(&name, arguments);
        self.modes_kept &= super::started::keeps_modes(&name, arguments);
        if let Some(outcome) = self.written_program(program, arguments) {
            return outcome;
        }
        self.classify(&name, arguments);
        self.command_options(&name, arguments);
        self.project_tool(&name, arguments);
        let handlers: [Handler<Self>; 9] = [
            Self::wrapped,
            Self::launched,
            Self::shell,
            Self::interpreted,
            Self::git,
            Self::package_manager,
            Self::build_tool,
            Self::file_tool,
            Self::computed,
        ];
        if super::outputs::prints_completion(&name, arguments) {
            return Outcome::quiet(None);
        }
        let outcome = handlers
            .iter()
            .find_map(|handler| handler(self, &name, arguments));
        let outcome = outcome.unwrap_or_else(|| {
            if !is_harmless(&name) {
                self.unknown_launcher(&name, arguments);
                if !program.contains('/') {
                    self.own_files(&name, arguments);
                }
                self.not_found(words);
            }
            Outcome::unknown()
        });
        if let Some(output) = self.packed_tree(&name, arguments) {
            return Outcome { output, ..outcome };
        }
        super::outputs::of_known_kind(&name, arguments, outcome)
    }

    /// Whether a name says what the program does.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.catalog.is_program(name)
            || super::shells::is_shell(name)
            || super::wrapper::is_wrapper(name)
            || super::language::of(name).is_some()
            || is_harmless(name)
            || matches!(
                name,
                "npx"
                    | "bunx"
                    | "uvx"
                    | "pipx"
                    | "xargs"
                    | "find"
                    | "parallel"
                    | "ssh"
                    | "make"
                    | "just"
            )
    }

    pub(super) fn renamed(&mut self, program: &str, target: &str, arguments: &[String]) -> Outcome {
        let mut words = vec![target.to_owned()];
        words.extend(arguments.iter().cloned());
        self.linked(program, |this| this.run(&words))
    }

    /// Notes the actions that this program performs by itself.
    pub(crate) fn classify(&mut self, name: &str, arguments: &[String]) {
        let variables = &self.state.variables;
        let environment = |variable: &str| {
            let found = variables.get(variable).filter(|found| found.exported)?;
            found.stored.scalar().known().map(str::to_owned)
        };
        let around = Around {
            directory: &self.state.directory,
            home: &self.home,
            environment: &environment,
            lookup: self.lookup,
            input: self.state.input.as_ref().and_then(|input| input.known()),
        };
        let answer = self.catalog.classify(name, arguments, &around);
        if let Some(reason) = answer.unknown {
            self.opaque(reason, &format!("{name} {}", arguments.join(" ")));
        }
        for (action, label) in answer.actions {
            self.found(&action, &label, name, arguments);
        }
    }

    pub(crate) fn found(&mut self, action: &str, label: &str, name: &str, arguments: &[String]) {
        let mut chain = self.chain.clone();
        chain.push(label.to_owned());
        let mut words = vec![name.to_owned()];
        words.extend(arguments.iter().map(|word| for_people(word)));
        let finding = Finding {
            action: action.to_owned(),
            span: self.span,
            chain,
            certainty: self.certainty,
            words,
            directory: for_people(&self.state.directory),
            environment: self.state.steering(),
        };
        let known = self.findings.actions.iter().any(|old| {
            old.action == finding.action
                && old.certainty >= finding.certainty
                && old.words == finding.words
                && old.directory == finding.directory
                && old.environment == finding.environment
        });
        if !known && self.findings.actions.len() < 256 {
            self.findings.actions.push(finding);
        }
    }

    /// What runs when the shell ends: traps again, with what is known by then.
    pub(crate) fn at_exit(&mut self) {
        self.certainty = Certainty::Certain;
        self.run_traps(0);
    }

    /// Runs the traps that were set since there were so many.
    pub(crate) fn run_traps(&mut self, before: usize) {
        if self.traps.len() <= before {
            return;
        }
        for text in self.traps.split_off(before) {
            self.linked("trap", |this| this.evaluated(&text));
        }
    }
}

/// One word as shell text.
pub(crate) fn quote(text: &str) -> String {
    let plain = |character: char| {
        character.is_alphanumeric()
            || "-_./=:@%+,".contains(character)
            || has_hole(&character.to_string())
    };
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A command as shell text, with words behind it.
pub(crate) fn with_words(command: &str, words: &[String]) -> String {
    let mut whole = command.to_owned();
    for word in words {
        whole.push(' ');
        whole.push_str(&quote(word));
    }
    whole
}
