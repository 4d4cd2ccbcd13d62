//! What of the protected things a started program touches. The guard decides; this only says what is touched where.

use crate::guard::inputs::patched;
use crate::guard::{Guarded, Touch, agents, git_settings, own, programs, snapshots, softened};
use crate::value::has_hole;

use super::{Evaluator, shells, wrapper};

/// Longer strings in code are texts.
const MAX_PATH: usize = 4096;

/// Words of code that changes files.
const CHANGING: &[&str] = crate::words::names!(
    "write open( unlink remove rename rmtree copy move mkdir touch truncate dump save chmod symlink link spew append \
    >> rm( mv( cp( delete outputstream file_put fopen"
);

impl Evaluator<'_> {
    /// A file is touched by the command itself or by a program that it starts.
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
        let directory = self.state.directory.clone();
        let found = guard.judge(touch, path, &directory, &self.home, self.world.lookup);
        if let Some(guarded) = found {
            self.guarded(guarded);
        }
    }

    pub(super) fn guarded(&mut self, guarded: Guarded) {
        let mut guarded = softened(guarded, self.certainty());
        guarded.span = self.notes.span;
        self.notes.findings.guard(guarded);
    }

    /// Looks at the files that a program is given, and at commands of ours that are for people.
    pub(crate) fn guard_program(&mut self, name: &str, arguments: &[String]) {
        let is_launcher = wrapper::is_wrapper(name) || shells::is_shell(name);
        let input = self.state.input().filter(|input| !has_hole(input)).cloned();
        if !is_launcher {
            for (touch, path) in programs::touches(name, arguments, input.as_deref()) {
                self.touch(touch, &path);
                if !matches!(name, "mkdir" | "chmod" | "touch" | "tee") {
                    self.writes(touch, &path);
                }
            }
            if matches!(name, "curl" | "wget") {
                self.downloads(name, arguments);
            }
        }
        if self.guard.is_none() {
            return;
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
        if name == "git" {
            let drops = snapshots::change(arguments, input.as_deref());
            let changes = git_settings::change(arguments, &self.git_environment());
            for guarded in drops.into_iter().chain(changes) {
                self.guarded(guarded);
            }
        }
        if agents::is_agent(name)
            && let Some(guarded) = agents::start(name, arguments, &self.settings_variables())
        {
            self.guarded(guarded);
        }
        if !is_launcher {
            self.guard_trees(name, arguments);
        }
    }

    /// Files that come from the network.
    fn downloads(&mut self, name: &str, arguments: &[String]) {
        let is_curl = name == "curl";
        let by_name = |word: &String| matches!(word.as_str(), "--remote-name" | "--remote-name-all" | "-K" | "--config") || (word.starts_with('-') && !word.starts_with("--") && word.contains('O'));
        if !is_curl || arguments.iter().any(by_name) {
            self.changed(".", "the command itself brings it");
        }
    }

    /// `cargo run -p roleos -- grant …`.
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

    /// Settings of git that the command puts into the environment.
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

    /// Variables that the command sets and that change which settings an agent loads.
    fn settings_variables(&self) -> Vec<String> {
        let is_new = |name: &str| name != "HOME" || self.state.get(name).as_deref() != Some(&self.home);
        let exported = self.state.variables.iter().filter(|(_, variable)| variable.exported);
        let names = exported.map(|(name, _)| name);
        names.filter(|name| agents::is_settings_variable(name) && is_new(name)).cloned().collect()
    }

    /// Paths in the code of another language: code that changes files and names a protected one may change it.
    pub(crate) fn guard_code(&mut self, code: &str) {
        if self.guard.is_none() || !crate::actions::mentions_guarded(code) {
            return;
        }
        let lower = code.to_lowercase();
        let may_change = CHANGING.iter().any(|word| lower.contains(word));
        let mut parts = String::new();
        for text in code.split(['"', '\'', '`']) {
            // `Path('.claude', 'role-os', 'x')`: the parts of a path.
            let is_between = text.trim_matches([' ', ',', '/', '+', '\n']).is_empty();
            if is_between || text.len() > MAX_PATH || text.contains('\n') || has_hole(text) {
                continue;
            }
            parts = format!("{parts}/{text}");
            let paths = if parts.len() > MAX_PATH { vec![text.to_owned()] } else { vec![text.to_owned(), parts.trim_start_matches('/').to_owned()] };
            for path in paths {
                if (may_change && crate::actions::mentions_guarded(&path)) || path.contains("keys") {
                    self.touch(Touch::Named, &path);
                }
            }
            if !crate::actions::mentions_guarded(text) {
                parts.clear();
            }
        }
    }

    /// Attributes of git that name a driver.
    pub(crate) fn guard_attributes(&mut self, path: &str, text: &str) {
        let found = self.guard.and_then(|_| git_settings::attributes(path, text));
        if let Some(guarded) = found {
            self.guarded(guarded);
        }
    }

    /// The user's folder of states is where the trust store lies, whatever the command calls it.
    pub(crate) fn know_trust(&mut self) {
        let folder = self.guard.and_then(|guard| guard.trust.as_deref());
        if let Some(parent) = folder.and_then(|folder| folder.strip_suffix("/roleos")) {
            self.state.set("XDG_STATE_HOME", parent.to_owned(), false);
        }
    }

    /// The files that a patch changes.
    pub(crate) fn guard_patch(&mut self, patch: &str) {
        for (touch, path) in patched(patch) {
            self.touch(touch, &path);
        }
    }
}
