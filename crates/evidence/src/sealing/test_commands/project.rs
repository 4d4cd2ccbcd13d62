//! The commands behind a test command of the project: the scripts of `package.json`, `composer.json` and
//! `pyproject.toml`, the recipes of a Makefile or a justfile, the commands of tox, and shell scripts.
//!
//! A name such as `npm test` proves nothing: the author of the script decides what it prints. The script behind the
//! name is parsed like any other command, and only a test runner in it can be trusted. Nothing is executed.

use serde_json::Value;

use oversight::lookup::{Content, Lookup, absolute, base_name, directory_of};
use shell::words::names;

use super::programs::{RUNNERS, TARGETS, after_options, is_in, is_test_script, name_of};
use super::{Credit, TestCommand, credit, own_words};

/// Nesting of scripts that is followed.
const MAX_DEPTH: usize = 6;

/// Package managers that run the scripts of `package.json`.
const MANAGERS: &[&str] = names!("npm pnpm yarn bun");

/// Programs that run the scripts of `pyproject.toml`.
const OF_PYTHON: &[&str] = names!("hatch pdm rye pixi poe rtx");

/// Build tools of [`TARGETS`] that find and run the tests themselves.
const OWN_RUNNERS: &[&str] = names!("mvn mvnw gradle gradlew");

/// Options that name the directory of the project.
const FOLDER_OPTIONS: &[&str] = names!("-C --directory --prefix --cwd --dir");

/// Files of other languages, by the program that runs them and a string in them that calls a test runner.
const CALLS: &[(&str, &str, &[&str])] = &[
    (
        "nox",
        "noxfile.py",
        &[
            "session.run(\"pytest\"",
            "session.run('pytest'",
            "\"-m\", \"pytest\"",
            "\"-m\", \"unittest\"",
        ],
    ),
    ("rake", "Rakefile", &["TestTask", "RakeTask", "load_tasks"]),
    (
        "ninja",
        "build.ninja",
        &["ctest --force-new-ctest-process", "meson test"],
    ),
];

/// Strings in Python and Ruby scripts that start a test runner.
const STARTS: &[&str] = &[
    "unittest.main(",
    "pytest.main(",
    "execute_from_command_line",
    "minitest",
    "test_helper",
    "test/unit",
    "\"pytest\"",
    "'pytest'",
];

/// A program of a test command that runs scripts of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectScript {
    /// The program, as written.
    program: String,
    arguments: Vec<String>,
    /// The directory in which it runs, according to the command.
    folder: String,
    /// Set if the program runs itself without a script of that name: `yarn run jest`.
    is_optional: bool,
}

impl ProjectScript {
    /// Returns the script behind a test program, `None` if the program finds the tests itself. `wrappers` stand in
    /// front of it.
    pub(super) fn of(
        wrappers: &[String],
        (program, arguments): (&str, &[String]),
        folder: &str,
    ) -> Option<Self> {
        let name = name_of(program);
        let first = wrappers.first().map(|word| name_of(word));
        let by_manager = first.filter(|first| is_in(MANAGERS, first) || is_in(OF_PYTHON, first));
        let runs_script = wrappers.iter().any(|word| word == "run");
        if let Some(manager) = by_manager.filter(|_| runs_script) {
            let mut words = vec!["run".to_owned(), program.to_owned()];
            words.extend_from_slice(arguments);
            return Some(Self {
                program: manager.to_owned(),
                arguments: words,
                folder: folder.to_owned(),
                is_optional: true,
            });
        }
        let is_script = is_test_script(program) || runs_project(name, arguments);
        is_script.then(|| Self {
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            folder: folder.to_owned(),
            is_optional: false,
        })
    }

    /// Returns the name for people.
    fn name(&self) -> String {
        let mut words = vec![self.program.clone()];
        words.extend(self.arguments.iter().take(3).cloned());
        words.join(" ")
    }
}

/// Returns `true` if a test program runs scripts of the project.
fn runs_project(name: &str, arguments: &[String]) -> bool {
    let has = |wanted: &str| arguments.iter().any(|word| word == wanted);
    let first = after_options(arguments).first().map_or("", String::as_str);
    match name {
        "tox" | "nox" | "composer" | "nx" | "turbo" | "lerna" => true,
        "deno" => has("task"),
        "cargo" => has("xtask"),
        // Bun's own runner.
        "bun" => first != "test",
        _ if is_in(MANAGERS, name) => true,
        _ if is_in(OF_PYTHON, name) => has("run"),
        _ if is_in(TARGETS, name) => !is_in(OWN_RUNNERS, name),
        _ => !is_in(RUNNERS, name) && is_script_file(first),
    }
}

/// Returns `true` for a file argument of an interpreter.
fn is_script_file(word: &str) -> bool {
    is_test_script(word) || word.ends_with(".py") || word.ends_with(".rb")
}

/// The scripts behind a test command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// The commands of the scripts that run tests, each with the directory in which it runs.
    pub commands: Vec<(TestCommand, String)>,
    /// Why no test runner is known to have been started, if so.
    pub doubt: Option<String>,
}

/// Reads the scripts behind a test command that was started in `cwd`. `top` is the top directory of the project.
#[must_use]
pub fn behind(
    test: &TestCommand,
    cwd: &str,
    top: &str,
    own: &[String],
    lookup: &dyn Lookup,
) -> Behind {
    let mut search = Search {
        top,
        own,
        lookup,
        found: Behind::default(),
    };
    search.command(test, cwd, 0);
    search.found
}

struct Search<'s> {
    top: &'s str,
    own: &'s [String],
    lookup: &'s dyn Lookup,
    found: Behind,
}

impl Search<'_> {
    fn command(&mut self, test: &TestCommand, cwd: &str, depth: usize) {
        for script in &test.scripts {
            let folder = absolute(cwd, &script.folder);
            let text = self.text(script, &folder);
            let why = match text {
                Text::None if script.is_optional => continue,
                Text::Calls => continue,
                Text::None => "what it runs is not known".to_owned(),
                Text::Shell(text, folder) => {
                    match self.shell(&text, (&script.program, &folder), depth) {
                        None => continue,
                        Some(why) => why,
                    }
                }
            };
            let doubt = format!("`{}`: {why}", script.name());
            self.found.doubt.get_or_insert(doubt);
        }
    }

    /// Parses a script as a command; returns a reason if no test runner is known to run in it.
    fn shell(
        &mut self,
        text: &str,
        (manager, folder): (&str, &str),
        depth: usize,
    ) -> Option<String> {
        if depth >= MAX_DEPTH {
            return Some("its scripts start each other".to_owned());
        }
        let shown: String = text.chars().take(60).collect();
        let Some(mut inner) = credit::read(text, &own_words(self.own)) else {
            return Some(format!(
                "it runs `{shown}`, which is no test runner that is known"
            ));
        };
        if matches!(inner.credit, Credit::Nothing) {
            return Some(format!("it runs `{shown}`, which may print what it likes"));
        }
        let place = absolute(folder, &inner.folder);
        self.command(&inner, folder, depth + 1);
        // A package manager looks up programs in the project first.
        if !manager.contains('/') {
            inner.programs.push(manager.to_owned());
        }
        self.found.commands.push((inner, place));
        None
    }

    fn text(&self, script: &ProjectScript, folder: &str) -> Text {
        let name = name_of(&script.program);
        let arguments = &script.arguments;
        let folder = match folder_option(arguments) {
            Some(other) => absolute(folder, other),
            None => folder.to_owned(),
        };
        // The selected package is unknown.
        let is_elsewhere = |word: &String| {
            matches!(
                word.as_str(),
                "-w" | "--workspace"
                    | "--workspaces"
                    | "-r"
                    | "--recursive"
                    | "workspaces"
                    | "workspace"
            ) || word.starts_with("--filter")
                || word.starts_with("--workspace=")
        };
        if is_in(MANAGERS, name) {
            if arguments.iter().any(is_elsewhere) {
                return Text::None;
            }
            return self.package(script_name(arguments), &folder);
        }
        match name {
            "composer" => self.composer(script_name(arguments), &folder),
            "make" | "gmake" => {
                self.recipes(&["GNUmakefile", "makefile", "Makefile"], arguments, &folder)
            }
            "just" => self.recipes(&["justfile", "Justfile", ".justfile"], arguments, &folder),
            "tox" => self.tox(&folder),
            _ if is_in(OF_PYTHON, name) => self.python(script_name(arguments), &folder),
            _ => match CALLS.iter().find(|(program, ..)| *program == name) {
                Some((_, file, calls)) => self.calls(&absolute(&folder, file), calls),
                None => self.file(script, &folder),
            },
        }
    }

    fn read(&self, path: &str) -> Option<String> {
        match self.lookup.read(path) {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the nearest file of that name, from a directory up to the top of the project.
    fn nearest(&self, name: &str, folder: &str) -> Option<(String, String)> {
        let mut place = folder.to_owned();
        loop {
            if let Some(text) = self.read(&absolute(&place, name)) {
                return Some((text, place));
            }
            if place == self.top || place == "/" {
                return None;
            }
            place = directory_of(&place).to_owned();
        }
    }

    fn package(&self, script: &str, folder: &str) -> Text {
        let Some((text, place)) = self.nearest("package.json", folder) else {
            return Text::None;
        };
        let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
        // Scripts before and after print into the same log.
        let parts: Vec<&str> = [
            format!("pre{script}"),
            script.to_owned(),
            format!("post{script}"),
        ]
        .iter()
        .filter_map(|name| manifest.get("scripts")?.get(name)?.as_str())
        .collect();
        let is_there = manifest
            .get("scripts")
            .is_some_and(|scripts| scripts.get(script).is_some());
        match is_there {
            true => Text::Shell(parts.join(" && "), place),
            false => Text::None,
        }
    }

    fn composer(&self, script: &str, folder: &str) -> Text {
        let Some((text, place)) = self.nearest("composer.json", folder) else {
            return Text::None;
        };
        let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
        match manifest
            .get("scripts")
            .and_then(|scripts| scripts.get(script))
        {
            Some(Value::String(text)) => Text::Shell(text.clone(), place),
            Some(Value::Array(lines)) => {
                let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                Text::Shell(lines.join(" && "), place)
            }
            _ => Text::None,
        }
    }

    /// Looks up `name = "command"` in a table of scripts or tasks.
    fn python(&self, script: &str, folder: &str) -> Text {
        let Some((text, place)) = self.nearest("pyproject.toml", folder) else {
            return Text::None;
        };
        // `hatch run py3.12:test`
        let script = script.rsplit(':').next().unwrap_or(script);
        let mut is_table = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                is_table = line.contains("scripts") || line.contains("tasks");
            } else if let Some((key, value)) = line.split_once('=').filter(|_| is_table)
                && key.trim().trim_matches('"') == script
            {
                let value = value.trim();
                let quoted = value
                    .strip_prefix('"')
                    .and_then(|value| value.strip_suffix('"'));
                return quoted.map_or(Text::None, |text| Text::Shell(braces(text), place));
            }
        }
        Text::None
    }

    /// Returns the commands of every environment of tox, regardless of the one that runs.
    fn tox(&self, folder: &str) -> Text {
        let Some((text, place)) = self.nearest("tox.ini", folder) else {
            return Text::None;
        };
        let mut commands = Vec::new();
        let mut is_inside = false;
        for line in text.lines() {
            let is_deeper = line.starts_with([' ', '\t']);
            let trimmed = line.trim();
            if !is_deeper {
                let value = trimmed
                    .strip_prefix("commands")
                    .and_then(|rest| rest.split_once('='));
                is_inside =
                    value.is_some_and(|(name, _)| matches!(name.trim(), "" | "_pre" | "_post"));
                commands.extend(value.filter(|_| is_inside).map(|(_, first)| first.trim()));
            } else if is_inside {
                commands.push(trimmed);
            }
        }
        let commands: Vec<String> = commands
            .into_iter()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| braces(line.trim_start_matches(['-', '!']).trim()))
            .collect();
        match commands.is_empty() {
            true => Text::None,
            false => Text::Shell(commands.join(" && "), place),
        }
    }

    fn recipes(&self, files: &[&str], arguments: &[String], folder: &str) -> Text {
        let named = arguments
            .iter()
            .position(|word| word == "-f" || word == "--file");
        let named = named
            .and_then(|place| arguments.get(place + 1))
            .map(String::as_str);
        let files = named.as_ref().map_or(files, std::slice::from_ref);
        let text = files
            .iter()
            .find_map(|file| self.read(&absolute(folder, file)));
        let recipes = text.and_then(|text| super::recipes::read(&text, arguments));
        recipes.map_or(Text::None, |text| Text::Shell(text, folder.to_owned()))
    }

    fn calls(&self, path: &str, calls: &[&str]) -> Text {
        let text = self.read(path).unwrap_or_default();
        match calls.iter().any(|call| text.contains(call)) {
            true => Text::Calls,
            false => Text::None,
        }
    }

    /// Returns the content of a script that is started by its path, or by an interpreter.
    fn file(&self, script: &ProjectScript, folder: &str) -> Text {
        let operand = after_options(&script.arguments).first();
        let operand = operand
            .filter(|word| is_script_file(word) && !is_in(TARGETS, name_of(&script.program)));
        let program = Some(&script.program).filter(|program| is_test_script(program));
        let Some(path) = program.or(operand) else {
            return Text::None;
        };
        let Some(text) = self.read(&absolute(folder, path)) else {
            return Text::None;
        };
        let first = text.lines().next().unwrap_or_default();
        let is_shell = match first.strip_prefix("#!") {
            Some(program) => program
                .split_whitespace()
                .any(|word| matches!(base_name(word), "sh" | "bash" | "dash" | "zsh" | "ksh")),
            None => !path.ends_with(".py") && !path.ends_with(".rb"),
        };
        if is_shell {
            return Text::Shell(text, folder.to_owned());
        }
        match STARTS.iter().any(|call| text.contains(call)) {
            true => Text::Calls,
            false => Text::None,
        }
    }
}

/// The content behind the name of a script.
enum Text {
    /// Nothing readable.
    None,
    /// Code that calls a test runner.
    Calls,
    /// A command, and the directory in which it runs.
    Shell(String, String),
}

/// Returns the script name in the arguments of a package manager.
fn script_name(arguments: &[String]) -> &str {
    let plain = after_options(arguments);
    match plain.first().map_or("", String::as_str) {
        "run" | "run-script" => after_options(plain.get(1..).unwrap_or_default())
            .first()
            .map_or("", String::as_str),
        "t" | "tst" => "test",
        first => first,
    }
}

fn folder_option(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if is_in(FOLDER_OPTIONS, word) {
            return words.next();
        }
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        if is_in(FOLDER_OPTIONS, option) {
            return Some(value);
        }
    }
    None
}

/// Removes placeholders for arguments, as in `{posargs}` and `{args:tests}`.
fn braces(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}
