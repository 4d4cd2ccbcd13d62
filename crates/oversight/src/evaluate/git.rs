//! Git as a launcher: aliases, readable hooks, and settings and options whose value is executed.

use actions::git_config::settings_of;
use actions::lookup::{Lookup as _, absolute, directory_of};
use actions::{git_command, is_git_builtin};
use protection::git_settings;
use shell::escape::with_words;
use shell::value::{has_hole, unknown};
use shell::words::names;

use super::mistyped::is_unknown;
use super::world::File;
use super::{Evaluator, Outcome};
use actions::git_config::{is_include, is_run};

/// Options of git commands whose value is a command.
const COMMANDS: &[&str] = names!(
    "-x --extcmd --exec --tree-filter --index-filter --msg-filter --env-filter --commit-filter --tag-name-filter \
    --parent-filter --setup -O --open-files-in-pager --upload-pack --receive-pack --to-cmd --cc-cmd --header-cmd \
    --sendmail-cmd --smtp-server --browser --httpd"
);

/// Git commands that have such options.
const TAKE_COMMANDS: &[&str] = names!(
    "difftool mergetool filter-branch rebase grep fetch pull clone ls-remote archive send-email instaweb help push \
    send-pack fetch-pack"
);

/// Git commands that put other files into the working tree.
const SWITCHING: &[&str] = names!(
    "checkout restore switch stash reset merge pull rebase cherry-pick revert submodule apply am read-tree \
    checkout-index worktree"
);

/// Parts of the names of the hooks that a git command runs, if they differ from the command's name.
const HOOKS: &[(&str, &[&str])] = &[
    ("am", names!("applypatch")),
    ("cherry-pick", names!("commit")),
    ("clone", names!("checkout")),
    ("gc", names!("auto-gc")),
    ("merge", names!("merge commit")),
    ("pull", names!("merge rebase rewrite")),
    ("rebase", names!("rebase rewrite checkout commit")),
    ("revert", names!("commit")),
    ("send-email", names!("sendemail")),
    ("switch", names!("checkout")),
    ("worktree", names!("checkout")),
];

/// Hooks of every command that moves a reference or writes the index.
const ALWAYS: &[&str] = names!("reference-transaction post-index-change");

/// Git commands that only read.
const READING: &[&str] = names!(
    "status log diff show config rev-parse ls-files blame grep help describe for-each-ref remote branch"
);

impl Evaluator<'_> {
    pub(crate) fn git(&mut self, arguments: &[String]) -> Outcome {
        let call = git_command(arguments);
        let mut state = self.state.clone();
        if let Some(directory) = &call.directory {
            state.directory = match has_hole(directory) {
                true => unknown().into(),
                false => absolute(&state.directory, directory).into(),
            };
        }
        if let Some(folder) = &call.git_dir {
            state.set("GIT_DIR", folder.clone(), false);
        }
        let Some((verb, rest)) = call.rest.split_first().filter(|_| !call.only_prints) else {
            return Outcome::unknown();
        };
        // A setting by `git config` applies to the rest of the same command, whichever file it is written to.
        let mut made = git_settings::made(arguments);
        let stored = match verb.as_str() {
            "config" => made.split_off(call.settings.len().min(made.len())),
            _ => Vec::new(),
        };
        let own = self.own_settings(&made);
        let stored = stored.into_iter().filter(|(_, value)| !value.is_empty());
        let stored = stored.map(|(key, value)| (key.to_ascii_lowercase(), value));
        drop(self.world.settings.splice(0..0, stored));
        let place = state.directory.clone();
        let outcome = self.apart(state, |this| {
            this.run_settings(&own);
            this.repository_settings();
            if this.git_alias(verb, rest, &own) {
                return Outcome::unknown();
            }
            if is_unknown(verb) {
                this.opaque(
                    "git runs a command or an alias that is not read",
                    &format!("git {}", call.rest.join(" ")),
                );
                for words in this.git_corrections(verb, rest, &own) {
                    this.linked(format!("git {verb}"), |this| this.run(&words));
                }
            }
            this.git_launches(verb, rest);
            this.git_hooks(verb, rest, &own);
            Outcome::unknown()
        });
        let makes_branch = rest
            .iter()
            .any(|word| matches!(word.as_str(), "-b" | "-B" | "-c" | "-C" | "list"));
        let only_keeps = verb == "stash"
            && rest
                .first()
                .is_none_or(|word| word != "pop" && word != "apply" && word != "branch");
        if SWITCHING.contains(&verb.as_str()) && !makes_branch && !only_keeps {
            let before = std::mem::replace(&mut self.state.directory, place);
            let top = self.repository();
            let top = top.strip_suffix("/.git").unwrap_or(".").to_owned();
            self.changed(&top, "git may bring another version of it");
            if verb == "worktree" {
                self.changed("/", "git may bring another version of it");
            }
            self.state.directory = before;
        }
        outcome
    }

    /// Evaluates the settings of this command that git executes. The user's own settings in files are not judged.
    fn run_settings(&mut self, settings: &[(String, String)]) {
        for (key, value) in settings {
            if is_include(key)
                || matches!(key.as_str(), "core.hookspath" | "init.templatedir")
                || key.starts_with("url.ext::")
            {
                self.opaque(
                    "git takes settings or hooks from a place that the command names",
                    &format!("{key}={value}"),
                );
            } else if is_run(key, value) {
                let value = value.trim_start_matches('!').to_owned();
                if self.acts_in(&value) && key == "sequence.editor" {
                    self.opaque("a program runs what this setting holds", &value);
                }
                self.in_shell(&format!("git {key}"), &value);
            }
        }
    }

    /// Evaluates the settings of the repository itself, which may come from other people: acts in them count.
    fn repository_settings(&mut self) {
        let text = self.content(&format!("{}/config", self.repository()));
        for (key, value) in settings_of(&text) {
            if value.starts_with("ext::") {
                self.opaque("git runs a transport that is a command", &value);
            } else if is_run(&key, &value) && self.acts_in(&value) {
                self.opaque(
                    "git runs what a setting of the repository holds",
                    &format!("{key}={value}"),
                );
            }
        }
    }

    fn git_alias(&mut self, verb: &str, rest: &[String], own: &[(String, String)]) -> bool {
        if is_git_builtin(verb) {
            return false;
        }
        let wanted = format!("alias.{}", verb.to_ascii_lowercase());
        let found = own
            .iter()
            .find(|(key, _)| *key == wanted)
            .map(|(_, value)| value.clone());
        let Some(text) = found.or_else(|| self.stored_setting(&wanted)) else {
            return false;
        };
        let key = format!("git {verb}");
        if !self.world.walking.insert(key.clone()) {
            return true;
        }
        // Options of this call also apply to the git that an alias starts, through the environment.
        let before = self.world.settings.clone();
        self.world.settings.extend(own.iter().cloned());
        self.linked(format!("git alias {verb}"), |this| {
            match text.trim().strip_prefix('!') {
                Some(command) => {
                    let whole = with_words(command, rest);
                    let mut state = this.state.child();
                    state.positional = rest.to_vec();
                    this.apart(state, |this| this.evaluated(&whole))
                }
                None => this.evaluated(&with_words(&format!("git {text}"), rest)),
            }
        });
        self.world.settings = before;
        self.world.walking.remove(&key);
        true
    }

    /// Returns the `.git` of the directory or of one above it; for a linked working tree, that of the main one.
    pub(crate) fn repository(&self) -> String {
        let mut directory = self.state.directory.to_string();
        if has_hole(&directory) {
            return ".git".to_owned();
        }
        loop {
            let candidate = [directory.trim_end_matches('/'), "/.git"].concat();
            let below = |path: &String| path.strip_prefix(&candidate)?.strip_prefix('/').map(drop);
            if self.world.written.keys().any(|path| below(path).is_some()) {
                return candidate;
            }
            if self.world.lookup.has(&candidate) {
                let File::Text(text) = self.file(&candidate) else {
                    return candidate;
                };
                if let Some(linked) = text.trim().strip_prefix("gitdir:") {
                    let linked = absolute(&directory, linked.trim());
                    let common = linked.split_once("/worktrees/");
                    return common
                        .map_or(linked.as_str(), |(common, _)| common)
                        .to_owned();
                }
            }
            if directory == "/" || directory == "." {
                return ".git".to_owned();
            }
            directory = directory_of(&directory).to_owned();
        }
    }

    /// Evaluates subcommands that start a command of the caller.
    fn git_launches(&mut self, verb: &str, rest: &[String]) {
        let link = format!("git {verb}");
        let first = rest.first().map_or("", String::as_str);
        match verb {
            "bisect" if first == "run" => {
                let words = rest.get(1..).unwrap_or_default();
                self.linked(link, |this| this.run(words));
            }
            "submodule" => {
                let words = rest.iter().skip_while(|word| *word != "foreach").skip(1);
                let words: Vec<String> = words
                    .filter(|word| !word.starts_with("--"))
                    .cloned()
                    .collect();
                self.in_shell(&link, &words.join(" "));
            }
            "for-each-repo" => {
                let words = rest
                    .iter()
                    .skip_while(|word| word.starts_with('-'))
                    .cloned();
                let words: Vec<String> = std::iter::once("git".to_owned()).chain(words).collect();
                self.linked(link, |this| this.run(&words));
            }
            "subtree" if first != "push" && rest.iter().any(|word| word == "push") => {
                let others = rest.iter().filter(|word| *word != "push").cloned();
                let words = ["git", "subtree", "push"].map(str::to_owned).into_iter();
                let words: Vec<String> = words.chain(others).collect();
                self.linked(link, |this| this.run(&words));
            }
            "filter-repo" if rest.iter().any(|word| word.contains("-callback")) => {
                self.opaque("code of another language is run", &rest.join(" "));
            }
            verb if TAKE_COMMANDS.contains(&verb) => {
                for text in command_values(verb, rest) {
                    self.in_shell(&link, &text);
                }
            }
            _ => {}
        }
        let transports = rest.iter().filter_map(|word| word.strip_prefix("ext::"));
        for text in transports
            .map(|text| text.replace("% ", " "))
            .collect::<Vec<_>>()
        {
            self.in_shell("git ext::", &text);
            self.opaque("git runs a transport that is a command", &text);
        }
    }

    /// Evaluates existing hooks: acts in them count, other behaviour belongs to the project.
    fn git_hooks(&mut self, verb: &str, rest: &[String], settings: &[(String, String)]) {
        let first = rest.first().map_or("", String::as_str);
        let shows_help = matches!(first, "--help" | "-h");
        if READING.contains(&verb) || shows_help {
            return;
        }
        let given = settings.iter().find(|(key, _)| key == "core.hookspath");
        let given = given.map(|(_, value)| value.clone());
        let place = given.or_else(|| self.stored_setting("core.hookspath"));
        let place = place.map(|place| place.replacen('~', &self.home, 1));
        let place = place.unwrap_or_else(|| self.repository() + "/hooks");
        let place = absolute(&self.state.directory, &place);
        let unchecked = rest
            .iter()
            .any(|word| word == "--no-verify" || (word == "-n" && verb == "commit"));
        let parts = HOOKS.iter().find(|(name, _)| *name == verb);
        let own = [verb];
        let parts = parts.map_or(&own[..], |(_, parts)| parts);
        let mut hooks = self.world.lookup.list(&place);
        let written = self.world.written.keys();
        hooks.extend(
            written.filter_map(|path| Some(path.strip_prefix(&place)?.get(1..)?.to_owned())),
        );
        hooks.retain(|hook| {
            let is_skipped = unchecked && (hook.starts_with("pre-") || hook == "commit-msg");
            let is_run = verb == "hook"
                || ALWAYS.contains(&hook.as_str())
                || parts.iter().any(|part| hook.contains(part));
            is_run && !is_skipped && !hook.ends_with(".sample")
        });
        for hook in hooks {
            let path = format!("{place}/{hook}");
            // Git skips a hook that is not executable; one that begins like a script may become executable at any
            // time.
            let is_there = match self.file(&path) {
                File::Missing => false,
                File::Text(text) if text.starts_with("#!") => true,
                _ => self.world.lookup.may_start(&path),
            };
            if is_there && self.is_foreign(&path) {
                self.opaque("git runs a hook that is no script of a shell", &path);
            }
            if is_there {
                self.muted(|this| {
                    this.linked(format!("git hook {hook}"), |this| this.run(&[path]))
                });
            }
        }
    }
}

/// Returns the values of options that are commands; git accepts any unique prefix of a long option.
fn command_values(verb: &str, rest: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (word.as_str(), None),
        };
        let begins =
            |option: &&str| name.len() > 4 && name.starts_with("--") && option.starts_with(name);
        let is_upload = name == "-u" && matches!(verb, "clone" | "fetch" | "ls-remote");
        let is_option = COMMANDS.contains(&name)
            || COMMANDS.iter().any(begins)
            || is_upload
            || (verb == "difftool" && name == "-yx");
        let glued = ["-x", "-O"]
            .iter()
            .find_map(|option| word.strip_prefix(option));
        let glued = glued.filter(|text| !text.is_empty() && !word.starts_with("--"));
        match value.filter(|_| is_option).or(glued) {
            Some(text) => all.push(text.to_owned()),
            None if is_option && value.is_none() => all.extend(words.next().cloned()),
            None => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_git_that_are_commands() {
        let words = |text: &[&str]| {
            text.iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        for (verb, rest, expected) in [
            (
                "rebase",
                &["--exec=git push", "main"][..],
                &["git push"][..],
            ),
            ("grep", &["-Oless", "x"], &["less"]),
            ("difftool", &["-y", "-x", "meld"], &["meld"]),
            ("push", &["-u", "origin", "main"], &[]),
        ] {
            assert_eq!(
                command_values(verb, &words(rest)),
                words(expected),
                "{rest:?}"
            );
        }
    }
}
