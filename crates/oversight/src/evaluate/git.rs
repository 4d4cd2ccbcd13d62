//! Git as a launcher: aliases, hooks, and settings and options whose value it runs.
//!
//! Its configuration is read as files through the lookup; git itself is never run.

use crate::actions::git_command;
use crate::lookup::absolute;
use crate::value::has_hole;

use super::run::with_words;
use super::settings::is_run;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// Follows what git starts.
    pub(crate) fn git(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        if name == "gh" {
            self.gh_brings(arguments);
            return self.gh_alias(arguments);
        }
        if name != "git" {
            return None;
        }
        let call = git_command(arguments);
        let mut state = self.state.clone();
        if let Some(directory) = &call.directory {
            state.directory = if has_hole(directory) {
                crate::value::ENVIRONMENT.to_string().into()
            } else {
                absolute(&state.directory, directory).into()
            };
        }
        if let Some(place) = arguments
            .iter()
            .find_map(|word| word.strip_prefix("--exec-path="))
        {
            state.set("GIT_EXEC_PATH", crate::value::Value::text(place), true);
        }
        let outcome = self.apart(state, |this| {
            let mut own = call.settings.clone();
            own.extend(cloned_settings(&call.rest));
            let settings = this.git_settings_now(&own);
            for (key, value) in settings.iter().filter(|(key, value)| is_run(key, value)) {
                let value = value.trim_start_matches('!').to_owned();
                if key == "sequence.editor" {
                    this.todo_editor(&value);
                }
                if this.starts_in(&value) || has_hole(&value) || value.contains('/') {
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
            this.git_helpers(verb, rest, &settings);
            this.git_hooks(verb, rest, &settings);
            this.git_external(verb, rest, &settings);
            let root = this.repository();
            if let ([option], Some(root)) = (rest, root.strip_suffix("/.git"))
                && verb == "rev-parse"
                && option == "--show-toplevel"
            {
                return Outcome::prints(crate::value::Value::text(format!("{root}\n")));
            }
            super::outputs::git_format(verb, rest).map_or_else(Outcome::unknown, Outcome::prints)
        });
        if let Some((verb, rest)) = call.rest.split_first() {
            let before = self.state.directory.clone();
            let elsewhere = call.directory.filter(|place| !has_hole(place));
            if let Some(place) = elsewhere.map(|place| absolute(&before, &place)) {
                let words: Vec<&String> =
                    rest.iter().filter(|word| !word.starts_with('-')).collect();
                if changes_tree(verb, rest, &words) {
                    self.trees.insert(place.clone(), place.clone());
                }
                self.state.directory = place.into();
            }
            self.git_brings(verb, rest);
            self.state.directory = before;
        }
        Some(outcome)
    }

    /// `git x` runs `git-x` from the path, and a misspelt command when git is told to correct it.
    fn git_external(&mut self, verb: &str, rest: &[String], settings: &[(String, String)]) {
        if crate::actions::is_git_builtin(verb) {
            return;
        }
        let program = format!("git-{verb}");
        if let Some(path) = self.on_path(&program).or_else(|| self.beside_git(&program)) {
            self.linked(program, |this| this.script_file(&path, rest, "run"));
        } else if settings
            .iter()
            .any(|(key, value)| key == "help.autocorrect" && value != "0" && value != "never")
        {
            self.opaque("git corrects a command that it does not know", verb);
        }
    }

    /// A command in the directory that git is told to look into.
    fn beside_git(&mut self, program: &str) -> Option<String> {
        let place = self.state.get("GIT_EXEC_PATH")?.first().to_owned();
        let path = absolute(&self.state.directory, &format!("{place}/{program}"));
        self.known_file(&path).map(|_| path)
    }

    /// Commands of git that bring files from elsewhere.
    fn git_brings(&mut self, verb: &str, rest: &[String]) {
        let words: Vec<&String> = rest.iter().filter(|word| !word.starts_with('-')).collect();
        if matches!(
            verb,
            "checkout"
                | "restore"
                | "switch"
                | "stash"
                | "reset"
                | "revert"
                | "merge"
                | "pull"
                | "rebase"
                | "cherry-pick"
        ) {
            self.brought_back();
        }
        self.switched |= changes_tree(verb, rest, &words);
        match verb {
            "clone" => {
                let Some(last) = words.last() else { return };
                let is_address = words.len() == 1 || last.contains("://") || last.contains('@');
                let place = if is_address {
                    crate::lookup::base_name(last)
                        .trim_end_matches(".git")
                        .to_owned()
                } else {
                    (*last).clone()
                };
                self.filled(&place);
            }
            "worktree" if words.first().is_some_and(|word| *word == "add") => {
                let valued = ["-b", "-B", "--reason", "--orphan"];
                let value = |at: usize| {
                    let before = at.checked_sub(1).and_then(|at| rest.get(at));
                    before.is_some_and(|word| valued.contains(&word.as_str()))
                };
                let mut given = rest.iter().enumerate().skip(1);
                let place = given.find(|(at, word)| !word.starts_with('-') && !value(*at));
                if let Some((_, place)) = place.filter(|(_, place)| !has_hole(place)) {
                    self.filled(place);
                    let from = self.state.directory.to_string();
                    self.trees.insert(absolute(&from, place), from);
                }
            }
            "apply" | "am" => self.patched(rest),
            "checkout" | "restore"
                if rest
                    .iter()
                    .any(|word| word == "--" || word.starts_with("--source")) =>
            {
                let after = rest.iter().skip_while(|word| *word != "--").skip(1);
                let paths: Vec<&String> = after.collect();
                let plain = |path: &&String| {
                    !has_hole(path) && !path.contains(['*', '?', '[', ':']) && **path != "."
                };
                let named = !paths.is_empty() && paths.iter().all(plain);
                for path in if named { paths } else { words } {
                    let place = absolute(&self.state.directory, path);
                    if !self.names_in(&place).is_empty() {
                        self.switched = true;
                        self.filled(path);
                    } else if self.exists(&place) {
                        self.write(path, &crate::value::Value::unknown(), false);
                    } else if named {
                        // A file or a directory that is not there now.
                        self.write(path, &crate::value::Value::unknown(), false);
                        self.filled(path);
                    }
                }
                if !named {
                    self.switched = true;
                    self.filled(".");
                }
            }
            "stash" if !changes_tree(verb, rest, &words) => {}
            "checkout" | "switch" | "pull" | "merge" | "stash" | "reset" | "submodule"
            | "worktree" | "cherry-pick" => {
                let makes = rest.iter().any(|word| {
                    matches!(word.as_str(), "-b" | "-B" | "-c" | "push" | "list" | "save")
                });
                if !makes {
                    self.filled(".");
                }
            }
            _ => {}
        }
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
                    let inner = command
                        .strip_prefix('"')
                        .and_then(|rest| rest.strip_suffix('"'));
                    let whole = with_words(inner.unwrap_or(command), rest);
                    let mut state = this.state.child();
                    state.positional = rest.to_vec();
                    this.apart(state, |this| {
                        this.linked("git !", |this| this.evaluated(&whole))
                    })
                }
                None => {
                    let whole = with_words(&format!("git {text}"), rest);
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
            "filter-repo" => self.git_callbacks(rest),
            "config" => self.git_config(rest),
            "for-each-repo" => {
                let words: Vec<String> = rest
                    .iter()
                    .skip_while(|word| word.starts_with('-'))
                    .cloned()
                    .collect();
                let mut all = vec!["git".to_owned()];
                all.extend(words);
                self.linked("git for-each-repo", |this| this.run(&all));
            }
            "subtree" if rest.iter().any(|word| word == "push") => {
                let mut all = vec!["git".to_owned(), "subtree".to_owned(), "push".to_owned()];
                all.extend(rest.iter().filter(|word| *word != "push").cloned());
                if rest.first().is_none_or(|word| word != "push") {
                    self.linked("git subtree", |this| this.run(&all));
                }
            }

            "difftool" | "mergetool" | "filter-branch" | "rebase" | "grep" | "fetch" | "pull"
            | "clone" | "ls-remote" | "archive" | "send-email" | "instaweb" | "help" | "push"
            | "send-pack" | "fetch-pack" => {
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
                    "--receive-pack",
                    "-u",
                    "--to-cmd",
                    "--cc-cmd",
                    "--header-cmd",
                    "--sendmail-cmd",
                    "--smtp-server",
                    "--browser",
                    "--httpd",
                ];
                let mut words = rest.iter();
                while let Some(word) = words.next() {
                    // Git takes any beginning of a long option that only one has.
                    let (name, value) = match word.split_once('=') {
                        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                        _ => (word.as_str(), None),
                    };
                    let is_option = options.contains(&name)
                        || (name.len() > 4
                            && name.starts_with("--")
                            && options.iter().any(|option| option.starts_with(name)));
                    let glued = value.filter(|_| is_option);
                    // `-yx command`.
                    let clustered = verb == "difftool" && name == "-yx";
                    let is_option = is_option || clustered;
                    let short = ["-x", "-O"]
                        .iter()
                        .find_map(|option| word.strip_prefix(option))
                        .filter(|text| !text.is_empty() && !word.starts_with("--"));
                    let text = match glued.or(short) {
                        Some(text) => Some(text.to_owned()),
                        // `git push -u` only remembers the branch.
                        None if verb == "push" && word == "-u" => None,
                        None if is_option => words.next().cloned(),
                        None => None,
                    };
                    if let Some(text) = text.filter(|text| self.starts_in(text) || has_hole(text)) {
                        self.in_shell(&format!("git {verb}"), &text);
                    }
                }
            }
            _ => {}
        }
        for word in rest {
            if let Some(text) = word.strip_prefix("ext::") {
                self.transport(text);
            }
        }
    }

    /// `ext::sh -c …` is a transport that runs a command; `% ` is a blank inside a word.
    pub(crate) fn transport(&mut self, text: &str) {
        let words: Vec<String> = text
            .replace("% ", "\u{1}")
            .split(' ')
            .map(|word| word.replace('\u{1}', " ").replace("%%", "%"))
            .collect();
        self.in_shell("git ext::", text);
        self.linked("git ext::", |this| this.run(&words));
    }
}

/// `git clone -c key=value` makes settings for the new repository and uses them.
fn cloned_settings(words: &[String]) -> Vec<(String, String)> {
    if words.first().is_none_or(|verb| verb != "clone") {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let setting = match word.as_str() {
            "-c" | "--config" => words.next().map(String::as_str),
            glued => glued.strip_prefix("--config="),
        };
        let pair = setting.and_then(|setting| setting.split_once('='));
        all.extend(pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    all
}

/// Whether git puts other versions of tracked files into the working tree.
fn changes_tree(verb: &str, rest: &[String], words: &[&String]) -> bool {
    let given = |options: &[&str]| rest.iter().any(|word| options.contains(&word.as_str()));
    match verb {
        "checkout" | "switch" => {
            let other = !words.is_empty() || given(&["-"]);
            other && !given(&["--", "-b", "-B", "-c", "-C", "--create", "--orphan"])
        }
        "stash" => words
            .first()
            .is_some_and(|word| matches!(word.as_str(), "pop" | "apply" | "branch")),
        "reset" => given(&["--hard", "--merge", "--keep"]) && !words.is_empty(),
        "pull" | "merge" | "rebase" | "cherry-pick" | "revert" => !given(&["--abort", "--quit"]),
        _ => false,
    }
}
