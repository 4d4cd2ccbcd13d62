//! Git's configuration, read as files and from the environment: what a call of git would see, and which values it runs.

use crate::lookup::absolute;

use super::Evaluator;

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
    "gpg.ssh.program",
    "gpg.ssh.defaultkeycommand",
    "man.viewer",
    "sendemail.tocmd",
    "sendemail.cccmd",
    "core.alternaterefscommand",
    "gc.recentobjectshook",
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
    "command",
    "cmd",
    "hook",
];

/// More settings of the environment than this are not followed.
const MAX_SETTINGS: usize = 256;

impl Evaluator<'_> {
    /// Settings of this call, of this command, of the environment and of the files, the strongest first.
    pub(crate) fn git_settings_now(&mut self, own: &[(String, String)]) -> Vec<(String, String)> {
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
        for index in 0..MAX_SETTINGS {
            let Some(key) = self.state.get(&format!("GIT_CONFIG_KEY_{index}")) else {
                break;
            };
            let value = self.state.get(&format!("GIT_CONFIG_VALUE_{index}"));
            all.push((
                key.first().to_ascii_lowercase(),
                value.map_or_else(String::new, |value| value.first().to_owned()),
            ));
            if index.saturating_add(1) == MAX_SETTINGS {
                self.opaque("the environment sets more of git than is followed", "git");
            }
        }
        if let Some(parameters) = self.state.get("GIT_CONFIG_PARAMETERS") {
            // `'key=value'` and the newer `'key'='value'`.
            let text = parameters.first().replace("'='", "=");
            for part in text.split('\'').filter(|part| part.contains('=')) {
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
        let home = self.state.get("HOME");
        let home = home.and_then(|home| home.known().map(str::to_owned));
        let home = home.unwrap_or_else(|| self.home.clone());
        let home = absolute(&self.state.directory, &home);
        let included: Vec<String> = all
            .iter()
            .filter(|(key, _)| is_include(key))
            .map(|(_, value)| value.replacen('~', &home, 1))
            .collect();
        for file in included {
            // From the command line it is meant from here, from the repository's settings from there.
            let stored = absolute(&self.repository(), &file);
            self.git_file(&file, &mut all, 4);
            self.git_file(&stored, &mut all, 4);
        }
        let files = [
            format!("{}/config", self.repository()),
            format!("{home}/.gitconfig"),
            format!("{home}/.config/git/config"),
        ];
        let files = files.into_iter().chain(
            self.state
                .get("XDG_CONFIG_HOME")
                .map(|place| format!("{}/git/config", place.first())),
        );
        for file in named.into_iter().flatten().chain(files) {
            self.git_file(&file, &mut all, 4);
        }
        all
    }

    /// `git config alias.x push` holds for what follows in the same command, whatever file it is written to.
    pub(crate) fn git_config(&mut self, rest: &[String]) {
        const VALUED: &[&str] = &[
            "-f",
            "--file",
            "--blob",
            "--type",
            "--default",
            "--value",
            "--comment",
        ];
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            if VALUED.contains(&word.as_str()) {
                words.next();
            } else if !word.starts_with('-') && word != "set" {
                // What follows the key is its value, even when it begins with a dash.
                let value = words.find(|word| {
                    !matches!(
                        word.as_str(),
                        "--add" | "--replace-all" | "--append" | "--all"
                    )
                });
                if let Some(value) = value {
                    self.git_settings
                        .insert(word.to_ascii_lowercase(), value.clone());
                }
                return;
            }
        }
    }

    /// Programs that git finds by a part of their name: helpers for credentials, transports and ways to merge.
    pub(crate) fn git_helpers(
        &mut self,
        verb: &str,
        rest: &[String],
        settings: &[(String, String)],
    ) {
        let asks = matches!(
            verb,
            "fetch" | "pull" | "ls-remote" | "remote" | "push" | "submodule" | "archive" | "clone"
        );
        let mut programs: Vec<String> = Vec::new();
        for (key, value) in settings {
            let word = value.split_whitespace().next().unwrap_or_default();
            if key.starts_with("credential.") && key.ends_with("helper") {
                programs.push(format!("git-credential-{word}"));
            } else if let Some(base) = key.strip_prefix("url.ext::") {
                // `url.ext::cmd.insteadOf`: addresses become a transport that runs it.
                let command = base.rsplit_once('.').map_or(base, |(base, _)| base);
                let command = command.trim_end_matches('#').to_owned();
                self.perhaps(|this| this.transport(&command));
            } else if let Some(command) = value.strip_prefix("ext::").filter(|_| asks) {
                self.perhaps(|this| this.transport(command));
            } else if key.ends_with(".vcs") {
                programs.push(format!("git-remote-{word}"));
            } else if let Some((helper, _)) = word.split_once("::") {
                programs.push(format!("git-remote-{helper}"));
            }
        }
        let mut before = "";
        for word in rest {
            if let Some((helper, _)) = word.split_once("::") {
                programs.push(format!("git-remote-{helper}"));
            } else if matches!(before, "-s" | "--strategy") {
                programs.push(format!("git-merge-{word}"));
            } else if let Some(name) = word.strip_prefix("--strategy=") {
                programs.push(format!("git-merge-{name}"));
            }
            before = word;
        }
        for program in programs {
            if let Some(path) = self.on_path(&program) {
                self.linked(program, |this| this.script_file(&path, &[], "run"));
            }
        }
    }

    /// An editor of the list of a rebase may write `exec …` into it.
    pub(crate) fn todo_editor(&mut self, editor: &str) {
        let mut texts = vec![editor.replace('\\', "")];
        for word in editor.split_whitespace().take(8) {
            texts.extend(self.known_file(word.trim_matches(['"', '\''])));
        }
        for text in texts {
            for mark in ["exec ", "x "] {
                let found = text.match_indices(mark).take(8);
                let starts: Vec<usize> = found.map(|(at, _)| at).collect();
                for at in starts {
                    let command = text.get(at.saturating_add(mark.len())..);
                    let command = command.and_then(|rest| rest.lines().next());
                    let command = command.unwrap_or_default();
                    let command = command.split(['>', '"', '\'', '/']).next();
                    let command = command.unwrap_or_default().trim().to_owned();
                    if self.starts_in(&command) {
                        self.perhaps(|this| {
                            this.in_shell("git rebase", &command);
                        });
                    }
                }
            }
        }
    }

    /// The `.git` of the directory or of one above it.
    pub(crate) fn repository(&mut self) -> String {
        let directory = self.state.directory.clone();
        if crate::value::has_hole(&directory) {
            return ".git".to_owned();
        }
        // Only what the command itself writes can change the answer.
        let key = (directory.clone(), self.written.len(), self.links.len());
        if let Some((known, found)) = &self.repository_before
            && *known == key
        {
            return found.clone();
        }
        let found = self.repository_of(directory.to_string());
        self.repository_before = Some((key, found.clone()));
        found
    }

    fn repository_of(&self, mut directory: String) -> String {
        for _ in 0..12 {
            let candidate = format!("{}/.git", directory.trim_end_matches('/'));
            if !self.names_in(&candidate).is_empty() {
                return candidate;
            }
            if directory == "/" {
                break;
            }
            directory = crate::lookup::directory_of(&directory).to_owned();
        }
        ".git".to_owned()
    }

    fn git_file(&mut self, path: &str, settings: &mut Vec<(String, String)>, depth: usize) {
        let Some(text) = self.known_file(path) else {
            return;
        };
        let read = settings_of(&text);
        for (key, value) in &read {
            if is_include(key)
                && let Some(depth) = depth.checked_sub(1)
            {
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
}

/// Settings that name a file of further settings.
pub(crate) fn is_include(key: &str) -> bool {
    key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"))
}

pub(crate) fn is_run(key: &str, value: &str) -> bool {
    // `submodule.x.update = !command` and its kin; an alias runs only when it is called.
    if value.starts_with('!') && !key.starts_with("alias.") {
        return true;
    }
    (key.starts_with("pager.") && key != "pager.branch")
        || RUN_SETTINGS.contains(&key)
        || (key.ends_with(".path")
            && ["difftool.", "mergetool.", "man.", "browser."]
                .iter()
                .any(|start| key.starts_with(start)))
        || RUN_ENDINGS.iter().any(|ending| key.ends_with(ending))
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
