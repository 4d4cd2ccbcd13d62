//! Dispatch of one program with its arguments to the handler that evaluates it.

use actions::lookup::base_name;
use actions::{Answer, Around};
use shell::escape::with_words;
use shell::ir::{Argument, Assignment, Command, Redirect};
use shell::pattern;
use shell::value::{for_people, has_hole, without_holes};

use super::{Evaluator, Finding, Outcome, assign, programs, wrapper};

/// Reason that a command with an unknown first word is opaque.
pub(crate) const UNKNOWN_PROGRAM: &str = "the name of the program is not known";

/// Other names of the same program.
const OTHERS: &[(&str, &str)] = &[
    ("rush-pnpm", "pnpm"),
    ("yarnpkg", "yarn"),
    ("hub", "git"),
    ("wrangler2", "wrangler"),
    ("gmake", "make"),
    ("go-task", "task"),
    ("vi", "vim"),
    ("nvim", "vim"),
    ("view", "vim"),
    ("ex", "vim"),
    ("mawk", "awk"),
    ("gawk", "awk"),
    ("nawk", "awk"),
];

/// Programs that are JavaScript files: `npm-cli.js`, `yarn-4.1.0.cjs`, `gh-pages.js`.
const JAVASCRIPT: &[&str] = shell::words::names!("npm npx yarn pnpm pnpx gh-pages wrangler");

/// Programs whose name may end in a version.
const VERSIONED: &[&str] = shell::words::names!("python pypy perl ruby php lua node tclsh pip");

/// Returns the canonical name of a program: no directory, no version, no extension.
pub(crate) fn program_name(program: &str) -> String {
    // `~/.local/share/claude/versions/2.1.0`: the file is named by its version.
    let place = program.contains('/').then_some(program);
    let place = place.and_then(|program| program.rsplit_once("/versions/"));
    let is_version =
        |file: &str| file.starts_with(|one: char| one.is_ascii_digit()) && !file.contains('/');
    let place = place.filter(|(_, file)| is_version(file));
    let place = place.map_or(program, |(place, _)| place);
    let name = base_name(place).to_ascii_lowercase();
    if let Some((_, known)) = OTHERS.iter().find(|(other, _)| *other == name) {
        return (*known).to_owned();
    }
    if let Some((stem, "js" | "cjs" | "mjs")) = name.rsplit_once('.') {
        let is_it = |known: &&&str| match stem.strip_prefix(**known) {
            Some("" | "-cli" | "-berry") => true,
            Some(rest) => rest.starts_with('-') && rest.contains('.'),
            None => false,
        };
        return JAVASCRIPT
            .iter()
            .find(is_it)
            .map_or(name.as_str(), |known| known)
            .to_owned();
    }
    let endings = [".exe", ".cmd", ".bat"];
    let ending = endings.iter().find(|end| name.ends_with(**end));
    let mut name = name;
    name.truncate(name.len().saturating_sub(ending.map_or(0, |end| end.len())));
    let is_digit = |one: char| one.is_ascii_digit() || one == '.';
    let versioned = VERSIONED.iter().find(|known| {
        name.strip_prefix(**known)
            .is_some_and(|rest| rest.chars().all(is_digit))
    });
    match versioned {
        Some(&"pypy") => "python".to_owned(),
        Some(known) => (*known).to_owned(),
        // `gsed`, `gxargs`: the GNU tools on other systems.
        None => match name.strip_prefix('g') {
            Some(
                rest @ ("sed" | "env" | "find" | "xargs" | "tar" | "sort" | "split" | "nice"
                | "timeout" | "stdbuf"),
            ) => rest.to_owned(),
            _ => name,
        },
    }
}

impl Evaluator<'_> {
    pub(crate) fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Argument],
        redirects: &[Redirect],
    ) -> Outcome {
        if let Some((name, declared)) = assign::declaration(words)
            && !self.state.functions.contains_key(name)
        {
            for assignment in assignments {
                self.assign(assignment, true);
            }
            return self.redirected(redirects, |this| this.declare(name, declared));
        }
        let fields = self.arguments(words);
        if fields.is_empty() {
            for assignment in assignments {
                self.assign(assignment, false);
            }
            // A substitution in it decides the exit status.
            let is_certain = words.is_empty();
            return self.redirected(redirects, |_| Outcome::quiet(is_certain.then_some(true)));
        }
        if fields == ["exec"] && !self.state.functions.contains_key("exec") {
            self.open_for_good(redirects);
            return Outcome::quiet(Some(true));
        }
        let old = |one: &Assignment| {
            (
                one.name.clone(),
                self.state.variables.get(&one.name).cloned(),
            )
        };
        let before: Vec<_> = assignments.iter().map(old).collect();
        for assignment in assignments {
            self.assign(assignment, true);
        }
        let outcome = self.redirected(redirects, |this| this.run(&fields));
        self.state.restore(before);
        outcome
    }

    /// Evaluates one program.
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
        if has_hole(base_name(program)) || (pattern::is_active(program) && program != "[[") {
            self.opaque(UNKNOWN_PROGRAM, &words.join(" "));
            let bare = without_holes(base_name(program));
            if bare.is_empty() {
                // It may be empty, or a launcher: `$SUDO git push`.
                return self.run(arguments);
            }
            let mut again = vec![bare];
            again.extend(arguments.iter().cloned());
            return self.known_program(&again);
        }
        if let Some(outcome) = self.function(program, arguments) {
            return outcome;
        }
        self.guard_keys(program, arguments);
        if !program.contains('/') {
            if let Some(text) = self.state.aliases.get(program.as_str()).cloned() {
                // Scripts do not expand aliases unless enabled, so the program counts as well.
                let whole = with_words(&text, arguments);
                if self.world.walking.insert(format!("alias {program}")) {
                    self.linked(format!("alias {program}"), |this| this.shell_text(&whole));
                    if whole.contains("<<") {
                        // Bash does not look for a body within an alias: the lines behind `<<` are commands.
                        self.unread("a here-document in an alias", &whole);
                    }
                    self.world.walking.remove(&format!("alias {program}"));
                }
            }
            let own = wrapper::of_the_shell(program, arguments);
            let (program, arguments) = own.unwrap_or((program, arguments));
            if let Some(outcome) = self.builtin(program, arguments) {
                return outcome;
            }
        }
        self.known_program(words)
    }

    /// Calls a function of this name; `None` if a program of the name may run instead.
    fn function(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let bodies = self.state.functions.get(name)?.clone();
        if let [Some(only)] = bodies.as_slice() {
            return Some(self.call(name, only, arguments));
        }
        for body in bodies.iter().flatten() {
            let state = self.state.clone();
            self.apart(state, |this| this.call(name, body, arguments));
        }
        bodies.iter().all(Option::is_some).then(Outcome::unknown)
    }

    fn call(&mut self, name: &str, body: &Command, arguments: &[String]) -> Outcome {
        let before = std::mem::replace(&mut self.state.positional, arguments.to_vec());
        let locals = self.state.locals.replace(Vec::new());
        let start = self.state.clone();
        let outcome = self.linked(format!("{name}()"), |this| this.command(body));
        if leaves_early(body) {
            self.state.widen(&start);
        }
        let own = std::mem::replace(&mut self.state.locals, locals);
        self.state.restore(own.unwrap_or_default());
        self.state.positional = before;
        outcome
    }

    pub(crate) fn known_program(&mut self, words: &[String]) -> Outcome {
        let Some((program, arguments)) = words.split_first() else {
            return Outcome::unknown();
        };
        let renamed = (program.contains('/') && !self.world.copies.is_empty()).then(|| {
            let path = actions::lookup::absolute(&self.state.directory, program);
            self.world.copies.get(&path).cloned()
        });
        if let Some(name) = renamed.flatten() {
            let again = [&[name], arguments].concat();
            return self.linked(program, |this| this.known_program(&again));
        }
        let name = program_name(program);
        let arguments = &*programs::without_switch(&name, arguments);
        self.guard_program(&name, arguments);
        self.classify(&name, arguments);
        let is_path = program.contains('/') && !self.world.is_system(program);
        if is_path {
            return self.by_path(program, &name, arguments);
        }
        let is_made = |path: &String| base_name(path) == program && !path.starts_with("/dev/");
        if self.world.own_path || self.world.written.keys().any(is_made) {
            self.opaque(
                "programs are looked for where the command can write",
                &words.join(" "),
            );
        }
        if let Some(outcome) = self.wrapped(&name, arguments) {
            return outcome;
        }
        let handler = HANDLERS
            .iter()
            .find(|(names, _)| names.contains(&name.as_str()));
        match handler {
            Some((_, handler)) => handler(self, &name, arguments),
            None => self.other_program(&name, arguments),
        }
    }

    /// Returns the actions that a program performs by itself.
    pub(super) fn answer(&self, name: &str, arguments: &[String]) -> Answer {
        if !self.catalog.has_rules(name) {
            return Answer::default();
        }
        let variables = &self.state.variables;
        let environment = |variable: &str| {
            let found = variables.get(variable).filter(|found| found.exported)?;
            self.state
                .get(variable)
                .filter(|text| !has_hole(text) && found.reads == super::state::Reads::Plain)
        };
        let around = Around {
            directory: &self.state.directory,
            home: &self.home,
            environment: &environment,
            lookup: &self.world.lookup,
            input: self
                .state
                .input()
                .map(String::as_str)
                .filter(|text| !has_hole(text)),
        };
        // A pattern is a file name, and the file system is not searched.
        if arguments.iter().any(|word| is_pattern(word)) {
            let masked: Vec<String> = arguments.iter().map(|word| masked(word)).collect();
            return self.catalog.classify(name, &masked, &around);
        }
        self.catalog.classify(name, arguments, &around)
    }

    /// Records the actions that this program performs by itself.
    pub(crate) fn classify(&mut self, name: &str, arguments: &[String]) {
        let answer = self.answer(name, arguments);
        if let Some(reason) = answer.unknown {
            self.opaque(reason, &format!("{name} {}", arguments.join(" ")));
        }
        for (action, label) in answer.actions {
            self.found(&action, &label, name, arguments);
        }
    }

    pub(crate) fn found(&mut self, action: &str, label: &str, name: &str, arguments: &[String]) {
        let mut chain = self.notes.chain.clone();
        chain.push(label.to_owned());
        let mut words = vec![name.to_owned()];
        words.extend(arguments.iter().map(|word| for_people(word)));
        self.notes.findings.act(Finding {
            action: action.to_owned(),
            span: self.notes.span,
            chain,
            certainty: self.certainty(),
            words,
            directory: for_people(&self.state.directory),
            environment: self.state.steering(),
        });
    }
}

/// Function that evaluates a program by its name.
type Handler = fn(&mut Evaluator<'_>, &str, &[String]) -> Outcome;

macro_rules! handlers {
    ($($names:expr => $handler:expr;)*) => { &[$(($names, $handler)),*] };
}

/// Handlers by program. A program without an entry is handled in [`programs`].
const HANDLERS: &[(&[&str], Handler)] = handlers! {
    super::shells::SHELLS => |this, name, words| this.shell(name, words);
    // `capsh -- -c text`: the rest are arguments of a shell.
    &["capsh"] => |this, _, words| {
        let at = words.iter().position(|word| word == "--");
        let words = at.and_then(|at| words.get(at.saturating_add(1)..));
        words.map_or_else(Outcome::unknown, |words| this.shell("bash", words))
    };
    &["echo"] => |_, _, words| super::text::echo(words);
    &["printf"] => |_, _, words| super::text::printf(words);
    &["cat"] => |this, _, words| this.cat(words);
    &["tee"] => |this, _, words| this.tee(words);
    &["which"] => |_, _, words| super::text::path_of(words);
    &["git"] => |this, _, words| this.git(words);
    &["gh"] => |this, _, words| this.gh(words);
    &["xargs"] => |this, _, words| this.xargs(words);
    &["find", "fd", "fdfind"] => |this, name, words| this.find(name, words);
    &["parallel", "env_parallel", "rush", "sem"] => |this, _, words| this.parallel(words);
    &["su", "script"] => |this, name, words| this.session(name, words);
    super::remote::HANDLED => |this, name, words| this.remote(name, words);
    programs::FILTERS => |this, name, words| this.filter(name, words);
};

fn is_pattern(word: &str) -> bool {
    !word.starts_with('-') && !word.contains('/') && word.contains(['*', '?', '['])
}

fn masked(word: &str) -> String {
    match is_pattern(word) {
        true => shell::value::unknown(),
        false => word.to_owned(),
    }
}

/// Returns `true` if a function may return before its end.
fn leaves_early(body: &Command) -> bool {
    let shell::ir::Kind::Group(script) = &body.kind else {
        return true;
    };
    shell::names::program_words(script).contains("return")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_names() {
        for (program, name) in [
            ("/usr/bin/git", "git"),
            ("python3.12", "python"),
            ("Node.exe", "node"),
            ("npm-cli.js", "npm"),
            ("yarn-4.1.0.cjs", "yarn"),
            ("gh-pages.js", "gh-pages"),
            ("gh-pages-clean.js", "gh-pages-clean.js"),
            ("claude/versions/2.1.0", "claude"),
            ("gsed", "sed"),
            ("gh", "gh"),
        ] {
            assert_eq!(program_name(program), name, "{program}");
        }
    }
}
