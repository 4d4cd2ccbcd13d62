//! Git as a launcher: aliases, hooks, and settings and options whose value it runs.
//!
//! Its configuration is read as files through the lookup; git itself is never run.

use crate::actions::git_command;
use crate::lookup::absolute;
use crate::value::has_hole;

use super::run::quote;
use super::{Evaluator, Outcome};

/// Settings whose value git gives to a shell.
const RUN_SETTINGS: &[&str] = &[
    "core.editor",
    "core.pager",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "diff.external",
    "sequence.editor",
    "gpg.program",
    "credential.helper",
    "interactive.difffilter",
    "uploadpack.packobjectshook",
    "sendemail.smtpserver",
    "web.browser",
    "init.templatedir",
    "ssh.variant",
    "browser.cmd",
];

/// Endings of settings of the same kind, as in `filter.x.clean`.
const RUN_ENDINGS: &[&str] = &[
    ".clean",
    ".smudge",
    ".process",
    ".cmd",
    ".command",
    ".textconv",
    ".driver",
    ".helper",
    ".editor",
    ".pager",
    ".program",
    ".sshcommand",
    ".uploadpack",
    ".receivepack",
];

/// Hooks that a command runs.
const HOOKS: &[(&str, &[&str])] = &[
    (
        "commit",
        &[
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-rewrite",
        ],
    ),
    (
        "merge",
        &[
            "pre-merge-commit",
            "post-merge",
            "commit-msg",
            "prepare-commit-msg",
        ],
    ),
    ("pull", &["post-merge", "pre-rebase", "post-rewrite"]),
    ("checkout", &["post-checkout"]),
    ("switch", &["post-checkout"]),
    ("clone", &["post-checkout"]),
    ("worktree", &["post-checkout"]),
    ("rebase", &["pre-rebase", "post-rewrite", "post-checkout"]),
    (
        "am",
        &["applypatch-msg", "pre-applypatch", "post-applypatch"],
    ),
    ("push", &["pre-push"]),
    ("gc", &["pre-auto-gc"]),
    ("add", &["post-index-change"]),
    ("reset", &["post-index-change"]),
    ("cherry-pick", &["post-commit", "prepare-commit-msg"]),
    ("revert", &["post-commit", "prepare-commit-msg"]),
];

impl Evaluator<'_> {
    /// Follows what git starts.
    pub(crate) fn git(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        if name == "gh" {
            return self.gh_alias(arguments);
        }
        if name != "git" {
            return None;
        }
        let call = git_command(arguments);
        let settings = self.git_settings_now(&call.settings);
        let mut state = self.state.clone();
        if let Some(directory) = &call.directory {
            state.directory = if has_hole(directory) {
                crate::value::ENVIRONMENT.to_string()
            } else {
                absolute(&state.directory, directory)
            };
        }
        Some(self.apart(state, |this| {
            for (key, value) in settings.iter().filter(|(key, _)| is_run(key)) {
                let value = value.trim_start_matches('!').to_owned();
                if this.catalog.mentions(&value) || has_hole(&value) {
                    this.in_shell(&format!("git {key}"), &value);
                }
            }
            let Some((verb, rest)) = call.rest.split_first() else {
                return Outcome::unknown();
            };
            if let Some(outcome) = this.git_alias(verb, rest, &settings) {
                return outcome;
            }
            this.git_launches(verb, rest);
            this.git_hooks(verb, rest, &settings);
            Outcome::unknown()
        }))
    }

    /// Settings of this call, of this command, of the environment and of the files, the strongest first.
    fn git_settings_now(&mut self, own: &[(String, String)]) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        for (key, value) in own {
            // `--config-env=alias.x=VARIABLE` names a variable.
            let value = match value.strip_prefix('\u{1}') {
                Some(variable) => self
                    .state
                    .get(variable)
                    .map_or_else(String::new, |value| value.first().to_owned()),
                None => value.clone(),
            };
            all.push((key.to_ascii_lowercase(), value));
        }
        for index in 0..16 {
            let Some(key) = self.state.get(&format!("GIT_CONFIG_KEY_{index}")) else {
                break;
            };
            let value = self.state.get(&format!("GIT_CONFIG_VALUE_{index}"));
            all.push((
                key.first().to_ascii_lowercase(),
                value.map_or_else(String::new, |value| value.first().to_owned()),
            ));
        }
        if let Some(parameters) = self.state.get("GIT_CONFIG_PARAMETERS") {
            for part in parameters
                .first()
                .split('\'')
                .filter(|part| part.contains('='))
            {
                if let Some((key, value)) = part.split_once('=') {
                    all.push((key.to_ascii_lowercase(), value.to_owned()));
                }
            }
        }
        all.extend(
            self.git_settings
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"].map(|variable| {
            self.state
                .get(variable)
                .map(|value| value.first().to_owned())
        });
        let home = self.home.clone();
        let files = [
            ".git/config".to_owned(),
            format!("{home}/.gitconfig"),
            format!("{home}/.config/git/config"),
        ];
        for file in named.into_iter().flatten().chain(files) {
            self.git_file(&file, &mut all, 4);
        }
        all
    }

    fn git_file(&mut self, path: &str, settings: &mut Vec<(String, String)>, depth: usize) {
        let Some(text) = self.known_file(path) else {
            return;
        };
        let read = settings_of(&text);
        for (key, value) in &read {
            let included =
                key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"));
            if included && let Some(depth) = depth.checked_sub(1) {
                let value = value.replacen('~', &self.home, 1);
                let directory = crate::lookup::directory_of(path).to_owned();
                self.git_file(
                    &absolute(&absolute(&self.state.directory, &directory), &value),
                    settings,
                    depth,
                );
            }
        }
        settings.extend(read);
    }

    fn git_alias(
        &mut self,
        verb: &str,
        rest: &[String],
        settings: &[(String, String)],
    ) -> Option<Outcome> {
        let wanted = format!("alias.{}", verb.to_ascii_lowercase());
        let text = settings
            .iter()
            .find(|(key, _)| *key == wanted)
            .map(|(_, value)| value.clone())?;
        if crate::actions::is_git_builtin(verb) || !self.walking.insert(format!("git {verb}")) {
            return None;
        }
        // Options of this call hold for the git that an alias starts, through the environment.
        let before = self.git_settings.clone();
        for (key, value) in settings.iter().rev() {
            self.git_settings.insert(key.clone(), value.clone());
        }
        let outcome = self.linked(format!("git alias {verb}"), |this| {
            match text.trim().strip_prefix('!') {
                Some(command) => {
                    let mut whole = command.to_owned();
                    for word in rest {
                        whole.push(' ');
                        whole.push_str(&quote(word));
                    }
                    this.in_shell("git !", &whole)
                }
                None => {
                    let mut whole = format!("git {text}");
                    for word in rest {
                        whole.push(' ');
                        whole.push_str(&quote(word));
                    }
                    this.shell_text(&whole)
                }
            }
        });
        self.git_settings = before;
        self.walking.remove(&format!("git {verb}"));
        Some(outcome)
    }

    /// Subcommands that start a command of the caller's.
    fn git_launches(&mut self, verb: &str, rest: &[String]) {
        let from = |at: usize| rest.get(at..).unwrap_or_default().to_vec();
        match verb {
            "bisect" if rest.first().is_some_and(|word| word == "run") => {
                self.linked("git bisect run", |this| this.run(&from(1)));
            }
            "submodule" => {
                if let Some(at) = rest.iter().position(|word| word == "foreach") {
                    let words: Vec<String> = rest
                        .iter()
                        .skip(at.saturating_add(1))
                        .filter(|word| !word.starts_with("--"))
                        .cloned()
                        .collect();
                    self.in_shell("git submodule foreach", &words.join(" "));
                }
            }
            "config" => self.git_config(rest),
            "difftool" | "mergetool" | "filter-branch" | "rebase" | "grep" | "fetch" | "pull"
            | "clone" | "ls-remote" | "archive" | "for-each-repo" => {
                let options = [
                    "-x",
                    "--extcmd",
                    "--exec",
                    "--tree-filter",
                    "--index-filter",
                    "--msg-filter",
                    "--env-filter",
                    "--commit-filter",
                    "--tag-name-filter",
                    "--parent-filter",
                    "--setup",
                    "-O",
                    "--open-files-in-pager",
                    "--upload-pack",
                    "-u",
                ];
                let mut words = rest.iter();
                while let Some(word) = words.next() {
                    let glued = options
                        .iter()
                        .find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
                    let short = ["-x", "-O"]
                        .iter()
                        .find_map(|option| word.strip_prefix(option))
                        .filter(|text| !text.is_empty() && !word.starts_with("--"));
                    let text = match glued.or(short) {
                        Some(text) => Some(text.to_owned()),
                        None if options.contains(&word.as_str()) => words.next().cloned(),
                        None => None,
                    };
                    if let Some(text) =
                        text.filter(|text| self.catalog.mentions(text) || has_hole(text))
                    {
                        self.in_shell(&format!("git {verb}"), &text);
                    }
                }
                for word in rest {
                    // `ext::sh -c …` is a transport that runs a command.
                    if let Some(text) = word.strip_prefix("ext::") {
                        self.in_shell("git ext::", text);
                    }
                }
            }
            _ => {}
        }
    }

    /// `git config alias.x push` holds for what follows in the same command.
    fn git_config(&mut self, rest: &[String]) {
        let words: Vec<&String> = rest
            .iter()
            .filter(|word| !word.starts_with('-') && *word != "set")
            .collect();
        if let [key, value, ..] = words.as_slice() {
            self.git_settings
                .insert(key.to_ascii_lowercase(), (*value).clone());
        }
    }

    fn git_hooks(&mut self, verb: &str, rest: &[String], settings: &[(String, String)]) {
        let Some((_, hooks)) = HOOKS.iter().find(|(name, _)| *name == verb) else {
            return;
        };
        let unchecked = rest
            .iter()
            .any(|word| word == "--no-verify" || (word == "-n" && verb == "commit"));
        let directory = settings
            .iter()
            .find(|(key, _)| key == "core.hookspath")
            .map_or(".git/hooks", |(_, value)| value.as_str())
            .to_owned();
        for hook in hooks.iter() {
            if unchecked
                && matches!(
                    *hook,
                    "pre-commit" | "commit-msg" | "pre-push" | "pre-merge-commit"
                )
            {
                continue;
            }
            let path = format!("{directory}/{hook}");
            if self.known_file(&path).is_some() {
                self.linked(format!("git hook {hook}"), |this| {
                    this.script_file(&path, &[], "run")
                });
            }
        }
    }

    /// `gh` has aliases as well: in its configuration, and made by the same command.
    fn gh_alias(&mut self, arguments: &[String]) -> Option<Outcome> {
        let first = arguments.first()?;
        if first == "alias" {
            let words: Vec<&String> = arguments
                .iter()
                .skip(2)
                .filter(|word| !word.starts_with("--") && *word != "-s")
                .collect();
            let shell = arguments
                .iter()
                .any(|word| word == "--shell" || word == "-s");
            if let [name, text, ..] = words.as_slice() {
                let text = if shell && !text.starts_with('!') {
                    format!("!{text}")
                } else {
                    (*text).clone()
                };
                self.git_settings.insert(format!("gh.{name}"), text);
            }
            return Some(Outcome::quiet(None));
        }
        let mut text = self.git_settings.get(&format!("gh.{first}")).cloned();
        if text.is_none() {
            let file = format!("{}/.config/gh/config.yml", self.home);
            text = self.known_file(&file).and_then(|config| {
                let mut lines = config
                    .lines()
                    .skip_while(|line| !line.starts_with("aliases:"))
                    .skip(1)
                    .take_while(|line| line.starts_with(' '));
                lines.find_map(|line| {
                    Some(
                        line.trim()
                            .strip_prefix(first.as_str())?
                            .strip_prefix(':')?
                            .trim()
                            .trim_matches(['"', '\''])
                            .to_owned(),
                    )
                })
            });
        }
        let text = text?;
        if !self.walking.insert(format!("gh {first}")) {
            return None;
        }
        let mut whole = match text.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("gh {text}"),
        };
        for word in arguments.iter().skip(1) {
            whole.push(' ');
            whole.push_str(&quote(word));
        }
        let outcome = self.linked(format!("gh alias {first}"), |this| this.shell_text(&whole));
        self.walking.remove(&format!("gh {first}"));
        Some(outcome)
    }
}

fn is_run(key: &str) -> bool {
    RUN_SETTINGS.contains(&key) || RUN_ENDINGS.iter().any(|ending| key.ends_with(ending))
}

/// Keys and values of a git configuration file, keys in lower case.
pub(crate) fn settings_of(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut all = Vec::new();
    for line in text.replace("\\\n", "").lines() {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            let (head, rest) = head.split_once(']').unwrap_or((head, ""));
            section = head
                .replacen(" \"", ".", 1)
                .trim_end_matches('"')
                .to_ascii_lowercase();
            if rest.trim().is_empty() {
                continue;
            }
        }
        let line = line
            .rsplit_once(']')
            .filter(|_| line.starts_with('['))
            .map_or(line, |(_, rest)| rest.trim());
        if line.starts_with(['#', ';']) || line.is_empty() {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = unquoted(value.trim());
        all.push((
            format!("{section}.{}", key.trim().to_ascii_lowercase()),
            value,
        ));
    }
    all
}

fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => text.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            }),
            '#' | ';' if !quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}
