//! Package managers of JavaScript: scripts of `package.json` and their life cycle.

use crate::lookup::absolute;
use crate::value::{Value, has_hole};

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
        } else if matches!(self.file("package.json"), super::files::File::Missing)
            && let Some((path, _)) = self.file_above(&["package.json".to_owned()])
        {
            // The nearest package above is the one that is meant.
            state.directory = crate::lookup::directory_of(&path).into();
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
            let extra = if extra.is_empty() || name != "npm" {
                behind_script(name, verb, words, arguments)
            } else {
                extra
            };
            self.shell_of_scripts();
            let silent = name == "npm" && self.ignores_scripts(name, arguments);
            for script in scripts {
                let found = if silent {
                    self.single_script(&script, &extra, place.as_deref())
                } else {
                    self.script_of(&script, &extra, place.as_deref())
                };
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
        let silent = self.ignores_scripts(name, arguments);
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
            && !self.script_of(verb, &handed_on(arguments, verb), place.as_deref())
        {
            // `yarn gh-pages`, `pnpm tsc`: a program of the project.
            let known = self.catalog.is_program(verb)
                || crate::guard::agents::is_agent(verb)
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

    /// Whether the scripts of the life cycle are left out: an option, or a setting that nothing takes back.
    fn ignores_scripts(&mut self, name: &str, arguments: &[String]) -> bool {
        let named = |word: &&String| word.contains("ignore-scripts");
        let words = arguments.iter().take_while(|word| *word != "--");
        let mut words = words.filter(named).peekable();
        if words.peek().is_some() {
            return words
                .all(|word| matches!(word.as_str(), "--ignore-scripts" | "--ignore-scripts=true"));
        }
        let text = self.known_file(".npmrc").unwrap_or_default();
        let settings = text.lines().filter_map(|line| line.split_once('='));
        let own = settings.filter(|(key, _)| key.trim() == "ignore-scripts");
        let own = own.map(|(_, value)| value.trim()).next_back();
        // What stands below a head belongs to that; and an installation for all reads other settings.
        let elsewhere = text.lines().any(|line| line.trim_start().starts_with('['))
            || arguments
                .iter()
                .any(|word| word == "-g" || word.contains("global"));
        let taken_back = ["npm_config_ignore_scripts", "NPM_CONFIG_IGNORE_SCRIPTS"]
            .iter()
            .any(|variable| self.state.get(variable).is_some());
        matches!(name, "npm" | "pnpm") && own == Some("true") && !taken_back && !elsewhere
    }

    /// `yarn workspaces foreach …`.
    fn in_workspaces(&mut self, name: &str, arguments: &[String]) {
        // `yarn workspaces foreach exec …` and `run …` start what follows.
        let mut rest = arguments
            .iter()
            .skip_while(|word| !matches!(word.as_str(), "exec" | "run" | "dlx"));
        let kind = rest.next().map_or("", String::as_str);
        if kind.is_empty()
            && let [first, member, script, ..] = positional(arguments).as_slice()
            && first == "workspace"
            && self.script_of(script, &[], Some(member))
        {
            return;
        }
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

    /// `npm pkg set scripts.x=…` writes the manifest.
    fn set_script(&mut self, words: &[String]) {
        let text = self
            .known_file("package.json")
            .unwrap_or_else(|| "{}".to_owned());
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let pairs: Vec<(String, String)> = match words {
            [verb, name, text] if verb == "set-script" => vec![(name.clone(), text.clone())],
            _ => words.iter().flat_map(|word| scripts_in(word)).collect(),
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
}

/// `scripts.x=text`, `scripts[x]=text`, `scripts={"x":"text"}`.
fn scripts_in(word: &str) -> Vec<(String, String)> {
    let named = word
        .strip_prefix("scripts")
        .and_then(|rest| rest.split_once('='));
    let Some((name, text)) = named else {
        return Vec::new();
    };
    let name = name.trim_matches(['.', '[', ']', '"', '\'']);
    if !name.is_empty() {
        return vec![(name.to_owned(), text.to_owned())];
    }
    let all: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).unwrap_or_default();
    let texts = all.into_iter();
    texts
        .filter_map(|(name, text)| Some((name, text.as_str()?.to_owned())))
        .collect()
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

/// Words behind the name of a script are handed on to it; npm keeps the options for itself.
fn behind_script(name: &str, verb: &str, words: &[String], arguments: &[String]) -> Vec<String> {
    let named = verb.starts_with(['r', 'u']) && verb != "restart";
    if name != "npm" {
        let script = if named { words.get(1) } else { words.first() };
        return handed_on(arguments, script.map_or("", String::as_str));
    }
    let own = if named { 2 } else { 1 };
    words.iter().skip(own).cloned().collect()
}

/// All words behind this one, without the first dashes.
fn handed_on(arguments: &[String], script: &str) -> Vec<String> {
    let behind = arguments.iter().skip_while(|word| *word != script).skip(1);
    let mut all: Vec<String> = behind.cloned().collect();
    if let Some(at) = all.iter().position(|word| word == "--") {
        all.remove(at);
    }
    all
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
