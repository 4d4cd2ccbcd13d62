//! Protected things that a started program touches. The guard decides; this module only reports the touches.

use crate::verdict::Verdict;
use actions::lookup::{absolute, base_name};
use protection::inputs::patched;
use protection::{
    Guarded, Touch, agents, git_settings, links, own, processes, programs, snapshots,
};
use shell::pattern;
use shell::value::has_hole;

use super::{Certainty, Evaluator, remote, shells, wrapper};
use actions::changing;

/// Limit of the length of a string in code that may be a path.
const MAX_PATH: usize = 4096;

/// Programs that change files, for calls from code.
const FILE_PROGRAMS: &[&str] =
    shell::words::names!("rm mv cp ln tee sed dd truncate unlink chmod rmdir echo printf");

impl Evaluator<'_> {
    /// Records that the command or a program that it starts touches a file.
    pub(crate) fn touch(&mut self, touch: Touch, path: &str) {
        let Some(guard) = self.guard else {
            return;
        };
        if path.is_empty() || path == "-" || path.starts_with("/dev/") {
            return;
        }
        let granted = self.budget.file();
        if !self.afford(granted, path) {
            return;
        }
        if self.notes.muted > 0 && matches!(touch, Touch::Given | Touch::Named) {
            // The use of the file by an existing script is unknown, and not the act of this command.
            return;
        }
        let directory = self.state.directory.clone();
        let judge =
            |path: &str| guard.judge(touch, path, &directory, &self.home, &self.world.lookup);
        let found = judge(path).or_else(|| {
            if !self.world.has_links() {
                return None;
            }
            let behind = self.world.behind_links(&absolute(&directory, path));
            behind.iter().find_map(|path| judge(path))
        });
        if let Some(guarded) = found {
            self.guarded(guarded);
        }
    }

    pub(crate) fn guarded(&mut self, guarded: Guarded) {
        let mut guarded = guarded;
        // A question instead of a refusal, because the program is possibly not started.
        if self.certainty() == Certainty::Possible {
            guarded.verdict = Verdict::Ask;
        }
        guarded.span = self.notes.span;
        self.notes.findings.guard(guarded);
    }

    /// Checks the files in a program's arguments, and our commands that are for people.
    pub(crate) fn guard_program(&mut self, name: &str, arguments: &[String]) {
        let is_launcher = wrapper::is_wrapper(name) || shells::is_shell(name);
        let input = self.state.input().filter(|input| !has_hole(input)).cloned();
        if name == "patch"
            || name == "git" && arguments.iter().any(|word| word == "apply" || word == "am")
        {
            let named = |word: &String| {
                let file = ["--input=", "-i"]
                    .iter()
                    .find_map(|option| word.strip_prefix(option));
                file.unwrap_or(word).to_owned()
            };
            let files: Vec<String> = arguments
                .iter()
                .map(named)
                .filter(|word| !word.starts_with('-'))
                .collect();
            let texts = files
                .iter()
                .map(|path| self.content(path))
                .chain(input.clone());
            for text in texts.collect::<Vec<_>>() {
                self.guard_patch(&text);
            }
        }
        if !is_launcher {
            for (touch, path) in programs::touches(name, arguments, input.as_deref()) {
                self.touch(touch, &path);
                if !matches!(name, "mkdir" | "chmod" | "touch" | "tee") {
                    self.writes(touch, &path);
                }
            }
            match name {
                "curl" | "wget" => self.downloads(name, arguments),
                "patch" => self.changed(".", "the command itself changes it"),
                "cp" | "mv" | "ln" | "install" => self.copied(arguments),
                _ => {}
            }
            self.note_links(name, arguments);
        }
        if self.guard.is_none() {
            return;
        }
        if is_launcher {
            let mut found = Vec::new();
            programs::outputs(name, arguments, &mut found);
            found
                .iter()
                .for_each(|(touch, path)| self.touch(*touch, path));
        }
        if name == "roleos" {
            if let Some(guarded) = own::command(arguments) {
                self.guarded(guarded);
            }
            return;
        }
        if name == "cargo" {
            self.guard_cargo(arguments);
        }
        self.guard_processes(name, arguments);
        if name == "git" {
            for path in self.git_files() {
                self.touch(Touch::Given, &path);
            }
            let drops = snapshots::change(arguments, input.as_deref());
            let changes = git_settings::change(arguments, &self.git_environment());
            for guarded in drops.into_iter().chain(changes) {
                self.guarded(guarded);
            }
        }
        if let Some(guarded) = agents::start(name, arguments, &|| self.settings_variables()) {
            self.guarded(guarded);
        }
        if !is_launcher {
            self.guard_trees(name, arguments);
            self.packed_tree(name, arguments);
        }
    }

    /// Refuses arguments that name a key, unless the program or builtin reads names only.
    pub(crate) fn guard_keys(&mut self, program: &str, arguments: &[String]) {
        let Some(guard) = self.guard else {
            return;
        };
        let name = super::run::program_name(program);
        let only_names = programs::only_names(&name, arguments);
        let is_launcher = only_names
            || remote::HANDLED.contains(&name.as_str())
            || wrapper::is_wrapper(&name)
            || shells::is_shell(&name)
            || matches!(name.as_str(), "eval" | "trap");
        let in_ours = self.state.directory.contains("/.r");
        let names_ours = |path: &str| {
            let mut parts = path.as_bytes().windows(b"role-os".len());
            parts.any(|part| part.eq_ignore_ascii_case(b"role-os"))
        };
        let may_be = |path: &str| in_ours || path.contains(['*', '?', '[']) || names_ours(path);
        let mut words = programs::perhaps_read(&name, is_launcher, arguments, &may_be);
        if super::is_interpreter(&name) || matches!(name.as_str(), "cpio" | "pax") {
            // Code, or the names of files.
            let input: Vec<String> = self.state.input().cloned().into_iter().collect();
            words.extend(programs::perhaps_read(&name, false, &input, &may_be));
        }
        if only_names {
            let keys = match arguments.iter().any(|word| word.ends_with("name")) {
                true => guard.keys_below(&self.state.directory, &self.world.lookup),
                false => Vec::new(),
            };
            let is_key = |word: &String| {
                let names = keys.iter().map(|key| base_name(key));
                word.len() > 2 && names.into_iter().any(|name| pattern::matches(word, name))
            };
            let directory = &self.state.directory;
            let holds_keys = |word: &String| {
                let lookup = &self.world.lookup;
                let found = guard.judge(Touch::Take, word, directory, &self.home, lookup);
                found.is_some_and(|found| found.verdict == Verdict::Deny)
            };
            let names_keys = words.iter().any(holds_keys) || arguments.iter().any(is_key);
            self.world.names_keys |= names_keys;
            return;
        }
        let exported = self
            .state
            .variables
            .iter()
            .filter(|(_, variable)| variable.exported);
        let exported = exported.filter_map(|(name, _)| self.state.get(name));
        words.extend(exported.filter(|value| value.contains("role-os")));
        if self.world.names_keys && arguments.iter().any(|word| has_hole(word)) {
            // A program that read the names of the keys may have printed them.
            words.push(".role-os/keys".to_owned());
        }
        for path in words {
            self.touch(Touch::Read, &path);
        }
    }

    /// Records the other names that the command gives to files: links, and directories that are mounted.
    fn note_links(&mut self, name: &str, arguments: &[String]) {
        for (link, target) in links::made(name, arguments) {
            let link = absolute(&self.state.directory, &link);
            let folder = link.rsplit_once('/').map_or("/", |(folder, _)| folder);
            // A symbolic link starts at its directory, all others at the working directory.
            let targets = [
                absolute(folder, &target),
                absolute(&self.state.directory, &target),
            ];
            for real in targets {
                self.touch(Touch::Link, &real);
                self.world.link(link.clone(), real);
            }
        }
    }

    /// Refuses to end our guarding processes, by their names or by the results of a search for them.
    fn guard_processes(&mut self, name: &str, arguments: &[String]) {
        if processes::looks_for_ours(name, arguments) {
            self.world.found_ours = true;
        }
        let found = self.world.found_ours;
        if let Some(guarded) = processes::ends_ours(name, arguments, found) {
            self.guarded(guarded);
        }
    }

    /// Returns the files that git uses by variables of the command: its directory, its index, its traces.
    fn git_files(&self) -> Vec<String> {
        let exported = self
            .state
            .variables
            .range("GIT_".to_owned().."GIT`".to_owned());
        let names = exported.filter(|(_, variable)| variable.exported);
        let values = names.filter_map(|(name, _)| self.state.get(name));
        values.filter(|value| !value.contains(' ')).collect()
    }

    /// Records `cp /usr/bin/git x`: a system program under another name.
    fn copied(&mut self, arguments: &[String]) {
        let words: Vec<&String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .collect();
        if let [from, to] = words.as_slice()
            && (self.world.is_system(from) || self.world.copies.contains_key(from.as_str()))
        {
            let name = super::run::program_name(from);
            let to = absolute(&self.state.directory, to);
            self.world
                .copies
                .insert(format!("{to}/{name}"), name.clone());
            self.world.copies.insert(to, name);
        }
    }

    /// Records files that come from the network.
    fn downloads(&mut self, name: &str, arguments: &[String]) {
        let is_curl = name == "curl";
        let by_name = |word: &String| {
            matches!(
                word.as_str(),
                "--remote-name" | "--remote-name-all" | "-K" | "--config"
            ) || (word.starts_with('-') && !word.starts_with("--") && word.contains('O'))
        };
        if !is_curl || arguments.iter().any(by_name) {
            self.changed(".", "the command itself brings it");
        }
    }

    /// Checks `cargo run -p roleos -- grant …`.
    fn guard_cargo(&mut self, arguments: &[String]) {
        let runs = arguments.iter().any(|word| word == "run" || word == "r");
        let ours = arguments.iter().any(|word| word.contains("roleos"));
        let after = arguments.iter().position(|word| word == "--");
        if let Some(at) = after.filter(|_| runs && ours) {
            let rest = arguments.get(at.saturating_add(1)..).unwrap_or_default();
            if let Some(guarded) = own::command(rest) {
                self.guarded(guarded);
            }
        }
    }

    /// Returns the git settings that the command puts into the environment.
    pub(super) fn git_environment(&self) -> Vec<(String, String)> {
        const KEY: &str = "GIT_CONFIG_KEY_";
        let after = self.state.variables.range(KEY.to_owned()..);
        let pair = |name: &String| {
            let number = name.strip_prefix(KEY)?;
            let value = self.state.get(&format!("GIT_CONFIG_VALUE_{number}"));
            Some((self.state.get(name)?, value.unwrap_or_default()))
        };
        let mut settings: Vec<(String, String)> = after.map_while(|(name, _)| pair(name)).collect();
        if let Some(parameters) = self.state.get("GIT_CONFIG_PARAMETERS") {
            // `'key=value'` and the newer `'key'='value'`.
            let text = parameters.replace("'='", "=");
            let pairs = text.split('\'').filter_map(|part| part.split_once('='));
            settings.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
        }
        settings
    }

    /// Returns the variables that the command sets and that change the settings an agent loads.
    fn settings_variables(&self) -> Vec<String> {
        let is_new =
            |name: &str| name != "HOME" || self.state.get(name).as_deref() != Some(&self.home);
        let exported = self
            .state
            .variables
            .iter()
            .filter(|(_, variable)| variable.exported);
        let names = exported.map(|(name, _)| name);
        names
            .filter(|name| agents::is_settings_variable(name) && is_new(name))
            .cloned()
            .collect()
    }

    /// Checks paths in the code of another language: code that opens one to write, or reads a key, does it here. Code
    /// that changes files and names a protected one elsewhere may change it.
    pub(crate) fn guard_code(&mut self, code: &str) {
        if self.guard.is_none() || !actions::mentions_guarded(code) {
            return;
        }
        let may_change = changing::may_change(code);
        let mut parts = String::new();
        let mut listed: Vec<String> = Vec::new();
        // Every second part is between quotes.
        for (at, text) in code.split(['"', '\'', '`']).enumerate() {
            let is_between = at % 2 == 0;
            if is_between || text.len() > MAX_PATH || text.contains('\n') || has_hole(text) {
                // `Path('.claude', 'role-os', 'x')`: the parts of a path.
                if !text.trim_matches([' ', ',', '/', '+']).is_empty() {
                    parts.clear();
                    let words = std::mem::take(&mut listed);
                    if words
                        .first()
                        .is_some_and(|first| FILE_PROGRAMS.contains(&first.as_str()))
                    {
                        self.muted(|this| this.run(&words));
                    }
                }
                continue;
            }
            parts = format!("{parts}/{text}").trim_start_matches('/').to_owned();
            if parts != text
                && parts.len() < MAX_PATH
                && may_change
                && actions::mentions_guarded(&parts)
            {
                self.touch(Touch::Named, &parts.clone());
            }
            let touch = match code.find(text) {
                Some(at) if changing::changes(code, at, text.len()) => Touch::Write,
                _ => Touch::Named,
            };
            let is_named = may_change && actions::mentions_guarded(text);
            if touch == Touch::Write || is_named || text.contains("keys") {
                self.touch(touch, text);
            }
            // A command in a text or in a list: the files that it touches count.
            if parts.is_empty() || !listed.is_empty() || FILE_PROGRAMS.contains(&text) {
                listed.push(text.to_owned());
            }
            let first = text.split(' ').next().unwrap_or_default();
            if text.contains(' ') && FILE_PROGRAMS.contains(&first) {
                self.muted(|this| this.shell_text(text));
            }
        }
    }

    /// Checks git attributes that name a driver.
    pub(crate) fn guard_attributes(&mut self, path: &str, text: &str) {
        let found = self
            .guard
            .and_then(|_| git_settings::attributes(path, text));
        if let Some(guarded) = found {
            self.guarded(guarded);
        }
    }

    /// Records that the user's directory of states contains the trust store, whatever the command calls it.
    pub(crate) fn know_trust(&mut self) {
        let folder = self.guard.and_then(|guard| guard.trust.first());
        if let Some(parent) = folder.and_then(|folder| folder.strip_suffix("/roleos")) {
            self.state.set("XDG_STATE_HOME", parent.to_owned(), false);
        }
    }

    /// Checks the files that a patch changes.
    pub(crate) fn guard_patch(&mut self, patch: &str) {
        for (touch, path) in patched(patch) {
            self.touch(touch, &path);
        }
    }
}
