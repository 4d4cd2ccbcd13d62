//! Package managers of JavaScript: scripts of `package.json` and their life cycle.

use crate::lookup::absolute;
use crate::value::{Value, has_hole};

use super::run::quote;
use super::wrapper::option_value;
use super::{Evaluator, Outcome};

/// Commands of npm that run scripts by themselves.
const LIFE_CYCLE: &[(&[&str], &[&str])] = &[
    (
        &[
            "install",
            "i",
            "in",
            "ins",
            "add",
            "ci",
            "clean-install",
            "isntall",
        ],
        &[
            "preinstall",
            "install",
            "postinstall",
            "prepublish",
            "preprepare",
            "prepare",
            "postprepare",
        ],
    ),
    (&["pack"], &["prepack", "prepare", "postpack"]),
    (
        &["publish"],
        &[
            "prepublishOnly",
            "prepack",
            "prepare",
            "postpack",
            "publish",
            "postpublish",
        ],
    ),
    (&["version"], &["preversion", "version", "postversion"]),
    (
        &["rebuild", "rb"],
        &["preinstall", "install", "postinstall", "prepare"],
    ),
    (
        &["uninstall", "un", "rm", "remove"],
        &["preuninstall", "uninstall", "postuninstall"],
    ),
    (
        &["link", "ln"],
        &["preinstall", "install", "postinstall", "prepare"],
    ),
];

/// What `npm install-test` runs.
const INSTALL_TEST: &[&str] = crate::words::names!("preinstall install postinstall prepare test");

/// Options that take a value in the next word.
const VALUED: &[&str] = &[
    "-w",
    "--workspace",
    "--prefix",
    "-C",
    "--dir",
    "--cwd",
    "--filter",
    "-F",
    "--loglevel",
    "--userconfig",
    "--registry",
    "--tag",
    "--otp",
    "--cache",
];

impl Evaluator<'_> {
    /// Follows the scripts that a package manager runs.
    pub(crate) fn package_manager(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        if matches!(name, "npm-run-all" | "run-s" | "run-p" | "npm-run-all2") {
            return Some(self.run_all(arguments));
        }
        if name == "npx" || name == "concurrently" {
            let scripts = arguments
                .iter()
                .filter_map(|word| word.strip_prefix("npm:"));
            let scripts: Vec<String> = scripts.map(str::to_owned).collect();
            if !scripts.is_empty() {
                self.run_all(&scripts);
            }
        }
        if name == "node" && arguments.first().is_some_and(|word| word == "--run") {
            self.script_of(arguments.get(1)?, &[], None);
            return Some(Outcome::unknown());
        }
        if !matches!(name, "npm" | "pnpm" | "yarn" | "bun") {
            return None;
        }
        let words = positional(arguments);
        let verb = words.first().map_or("", String::as_str).to_owned();
        if has_hole(&verb) {
            return Some(Outcome::unknown());
        }
        if verb == "completion" {
            return None;
        }
        let directory = option_value(arguments, &["--prefix", "-C", "--dir", "--cwd"]);
        let mut state = self.state.clone();
        if let Some(directory) = directory {
            state.directory = absolute(&state.directory, &directory).into();
        }
        if name == "npm" && is_dry(arguments) {
            // npm hands its options on to what its scripts start.
            state.set("npm_config_dry_run", Value::text("true"), true);
        }
        self.apart(state, |this| {
            this.package_command(name, &verb, &words, arguments);
        });
        Some(Outcome::unknown())
    }

    /// Scripts that are in a manifest that the command itself brings are not known.
    fn needs_scripts(&mut self) {
        if let super::files::File::Unreadable(why) = self.file("package.json")
            && !self.is_only_switched()
        {
            self.opaque(
                format!("the package file cannot be read: {why}"),
                "package.json",
            );
        }
    }

    fn package_command(&mut self, name: &str, verb: &str, words: &[String], arguments: &[String]) {
        let member = option_value(arguments, &["-w", "--workspace", "--filter", "-F"]);
        let all = arguments
            .iter()
            .any(|word| matches!(word.as_str(), "--workspaces" | "-ws" | "-r" | "--recursive"));
        let place = if all { Some("*".to_owned()) } else { member };
        let extra = after_dashes(arguments);
        let scripts: Vec<String> = match verb {
            "run" | "run-script" | "rum" | "urn" => {
                let Some(script) = words.get(1) else { return };
                if has_hole(script) {
                    self.opaque("the name of the script is not known", script);
                    return;
                }
                vec![script.clone()]
            }
            "test" | "t" | "tst" => vec!["test".to_owned()],
            "install-test" | "it" | "install-ci-test" | "cit" if name == "npm" => INSTALL_TEST
                .iter()
                .map(|&script| script.to_owned())
                .collect(),
            "start" => vec!["start".to_owned()],
            "stop" => vec!["stop".to_owned()],
            "restart" => vec!["restart".to_owned(), "stop".to_owned(), "start".to_owned()],
            _ => Vec::new(),
        };
        if !scripts.is_empty() {
            self.needs_scripts();
            let extra = if extra.is_empty() {
                behind_script(name, verb, words)
            } else {
                extra
            };
            self.shell_of_scripts();
            for script in scripts {
                let found = self.script_of(&script, &extra, place.as_deref());
                if !found && script == "start" {
                    self.server_file();
                }
                if !found && name != "npm" && self.catalog.is_program(&script) {
                    let mut all = vec![script.clone()];
                    all.extend(
                        arguments
                            .iter()
                            .skip_while(|word| **word != script)
                            .skip(1)
                            .cloned(),
                    );
                    self.linked(name, |this| this.run(&all));
                }
            }
            return;
        }
        if verb == "workspaces" || verb == "workspace" {
            self.in_workspaces(name, arguments);
            return;
        }
        if matches!(verb, "pkg" | "set-script") {
            self.set_script(words);
            return;
        }
        let verb = if verb.is_empty() && name == "yarn" {
            "install"
        } else {
            verb
        };
        let silent = arguments
            .iter()
            .any(|word| matches!(word.as_str(), "--ignore-scripts" | "--ignore-scripts=true"));
        if let Some((_, cycle)) = LIFE_CYCLE.iter().find(|(names, _)| names.contains(&verb)) {
            if !silent {
                for script in cycle.iter() {
                    self.single_script(script, &[], place.as_deref());
                }
            }
            return;
        }
        if name != "npm"
            && !verb.is_empty()
            && !self.script_of(verb, words.get(1..).unwrap_or_default(), place.as_deref())
        {
            // `yarn gh-pages`, `pnpm tsc`: a program of the project.
            let known = self.catalog.is_program(verb)
                || super::shells::is_shell(verb)
                || super::language::of(verb).is_some();
            if known && verb != "npm" {
                let all: Vec<String> = arguments
                    .iter()
                    .skip_while(|word| *word != verb)
                    .cloned()
                    .collect();
                self.linked(name, |this| this.run(&all));
            }
        }
    }

    /// `yarn workspaces foreach …`.
    fn in_workspaces(&mut self, name: &str, arguments: &[String]) {
        // `yarn workspaces foreach exec …` and `run …` start what follows.
        let mut rest = arguments
            .iter()
            .skip_while(|word| !matches!(word.as_str(), "exec" | "run" | "dlx"));
        let kind = rest.next().map_or("", String::as_str);
        let rest: Vec<String> = rest.cloned().collect();
        let one = arguments.iter().skip_while(|word| *word != "workspace");
        let one: Vec<String> = one.skip(2).filter(|word| *word != "run").cloned().collect();
        if let Some(program) = one.first().filter(|word| *word != "npm")
            && self.catalog.is_program(program)
        {
            // `yarn workspace site gh-pages -d dist`: a program of that package.
            self.linked(name, |this| this.run(&one));
        }
        if kind == "run" {
            for script in rest.iter().take(1) {
                self.script_of(script, &[], Some("*"));
            }
        } else if !rest.is_empty() {
            self.linked(name, |this| this.run(&rest));
        }
    }

    /// Without a script, `npm start` runs this file.
    fn server_file(&mut self) {
        if let Some(language) = super::language::of("node")
            && self.known_file("server.js").is_some()
        {
            self.code_file(language, "node", "server.js");
        }
    }

    /// `npm pkg set scripts.x=…` writes the manifest.
    fn set_script(&mut self, words: &[String]) {
        let text = self
            .known_file("package.json")
            .unwrap_or_else(|| "{}".to_owned());
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let pairs: Vec<(String, String)> = match words {
            [verb, name, text] if verb == "set-script" => vec![(name.clone(), text.clone())],
            _ => words
                .iter()
                .filter_map(|word| word.strip_prefix("scripts.")?.split_once('='))
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
        };
        let Some(document_map) = document.as_object_mut().filter(|_| !pairs.is_empty()) else {
            return;
        };
        let scripts = document_map
            .entry("scripts")
            .or_insert_with(|| serde_json::json!({}));
        if let Some(scripts) = scripts.as_object_mut() {
            scripts.extend(
                pairs
                    .into_iter()
                    .map(|(name, text)| (name, serde_json::Value::String(text))),
            );
        }
        self.write("package.json", &Value::text(document.to_string()), false);
    }

    fn run_all(&mut self, arguments: &[String]) -> Outcome {
        let names = self.script_names();
        for wanted in arguments.iter().filter(|word| !word.starts_with('-')) {
            for name in names
                .iter()
                .filter(|name| super::pattern::matches(wanted, name))
            {
                self.script_of(name, &[], None);
            }
        }
        Outcome::unknown()
    }

    fn script_names(&mut self) -> Vec<String> {
        let text = self.known_file("package.json").unwrap_or_default();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let scripts = document
            .get("scripts")
            .and_then(serde_json::Value::as_object);
        scripts
            .map(|scripts| scripts.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// A script with what runs before and after it; false when there is none.
    pub(crate) fn script_of(&mut self, name: &str, extra: &[String], place: Option<&str>) -> bool {
        let mut found = false;
        for (script, extra) in [
            (format!("pre{name}"), &[][..]),
            (name.to_owned(), extra),
            (format!("post{name}"), &[][..]),
        ] {
            found |= self.single_script(&script, extra, place);
        }
        found
    }

    fn single_script(&mut self, name: &str, extra: &[String], place: Option<&str>) -> bool {
        let mut found = false;
        for directory in self.packages(place) {
            let mut state = self.state.child();
            state.directory = directory.as_str().into();
            found |= self.apart(state, |this| {
                let Some(text) = this.known_file("package.json") else {
                    return false;
                };
                if text.contains(crate::value::HOLE) {
                    this.opaque("a package.json that nobody can know is used", name);
                }
                let Ok(document) = serde_json::from_str::<serde_json::Value>(&text) else {
                    return false;
                };
                let Some(script) = document
                    .get("scripts")
                    .and_then(|scripts| scripts.get(name))
                    .and_then(serde_json::Value::as_str)
                else {
                    return false;
                };
                for (key, value) in document
                    .get("config")
                    .and_then(serde_json::Value::as_object)
                    .into_iter()
                    .flatten()
                {
                    if let Some(value) = value.as_str() {
                        this.state.set(
                            &format!("npm_package_config_{key}"),
                            Value::text(value),
                            true,
                        );
                    }
                }
                let mut whole = script.to_owned();
                for word in extra {
                    whole.push(' ');
                    whole.push_str(&quote(word));
                }
                let key = format!("{directory} {name}");
                if this.walking.insert(key.clone()) {
                    this.linked(format!("package script {name}"), |this| {
                        this.shell_text(&whole)
                    });
                    this.walking.remove(&key);
                }
                true
            });
        }
        found
    }

    /// Where the scripts are looked for: here, or in the packages of the workspace.
    fn packages(&mut self, place: Option<&str>) -> Vec<String> {
        let here = self.state.directory.to_string();
        let Some(place) = place else {
            return vec![here];
        };
        let text = self.known_file("package.json").unwrap_or_default();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let list = document
            .get("workspaces")
            .and_then(|list| list.as_array().or_else(|| list.get("packages")?.as_array()));
        let mut patterns: Vec<String> = list
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_str)
            .map(str::to_owned)
            .collect();
        let other = self.known_file("pnpm-workspace.yaml").unwrap_or_default();
        patterns.extend(
            other
                .lines()
                .filter_map(|line| line.trim().strip_prefix("- "))
                .map(|line| line.trim_matches(['"', '\'']).to_owned()),
        );
        let mut all = Vec::new();
        for wanted in patterns.iter().map(String::as_str) {
            let found = if super::pattern::is_active(wanted) {
                self.matching_files(wanted)
            } else {
                vec![wanted.to_owned()]
            };
            all.extend(found.into_iter().map(|path| absolute(&here, &path)));
        }
        let bare = crate::lookup::base_name(place.trim_end_matches("...")).to_owned();
        let chosen: Vec<String> = all
            .iter()
            .filter(|path| crate::lookup::base_name(path) == bare)
            .cloned()
            .collect();
        if place == "*" || chosen.is_empty() {
            if all.is_empty() { vec![here] } else { all }
        } else {
            chosen
        }
    }
}

fn positional(arguments: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            break;
        }
        if VALUED.contains(&word.as_str()) {
            rest.next();
        } else if !word.starts_with('-') {
            words.push(word.clone());
        }
    }
    words
}

/// Words behind the name of a script are handed on to it.
fn behind_script(name: &str, verb: &str, words: &[String]) -> Vec<String> {
    let named = name != "npm" || verb.starts_with(['r', 'u']);
    words
        .iter()
        .skip(if named { 2 } else { 1 })
        .cloned()
        .collect()
}

fn after_dashes(arguments: &[String]) -> Vec<String> {
    arguments
        .iter()
        .skip_while(|word| *word != "--")
        .skip(1)
        .cloned()
        .collect()
}

/// Whether `--dry-run` stands among the options of npm and nothing takes it back.
fn is_dry(arguments: &[String]) -> bool {
    let mut dry = false;
    let mut words = arguments
        .iter()
        .map(String::as_str)
        .take_while(|word| *word != "--")
        .peekable();
    while let Some(word) = words.next() {
        match word {
            "--dry-run=true" => dry = true,
            // A word that follows may be its value.
            "--dry-run" => dry = words.peek().is_none_or(|next| next.starts_with('-')),
            other if other.contains("dry-run") || has_hole(other) => return false,
            _ => {}
        }
    }
    dry
}
