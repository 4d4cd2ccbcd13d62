//! What of the protected things a started program touches. The guard decides; this only says what is touched where.

use crate::guard::inputs::patched;
use crate::guard::{Guarded, Touch, agents, git_settings, own, programs, snapshots, softened};
use crate::value::{Value, has_hole};

use super::code::changing;
use super::literal::literals;
use super::{Evaluator, shells, wrapper};

/// More files than this are not looked at.
const MAX_FILES: usize = 16 * 1024;

impl Evaluator<'_> {
    /// A file is touched by the command itself or by a program that it starts.
    pub(crate) fn touch(&mut self, touch: Touch, path: &str) {
        let Some(guard) = self.guard else {
            return;
        };
        if path.is_empty() || path == "-" || path.starts_with("/dev/") {
            return;
        }
        self.files = self.files.saturating_add(1);
        if self.files > MAX_FILES {
            if self.files == MAX_FILES.saturating_add(1) {
                self.opaque("it names more files than can be looked at", path);
            }
            return;
        }
        let directory = self.state.directory.clone();
        let found = guard.judge(touch, path, &directory, &self.home, self.lookup);
        if let Some(guarded) = found {
            self.guarded(guarded);
        }
    }

    pub(super) fn guarded(&mut self, guarded: Guarded) {
        let mut guarded = softened(guarded, self.certainty);
        guarded.span = self.span;
        let known = self.findings.guarded.contains(&guarded);
        if !known && self.findings.guarded.len() < 64 {
            self.findings.guarded.push(guarded);
        }
    }

    /// Looks at the files that a program is given, and at commands of ours that are for people.
    pub(crate) fn guard_program(&mut self, name: &str, arguments: &[String]) {
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
            self.guard_git(arguments);
        }
        let variables = self.settings_variables();
        if let Some(guarded) = agents::start(name, arguments, &variables) {
            self.guarded(guarded);
        }
        if wrapper::is_wrapper(name) || shells::is_shell(name) {
            return;
        }
        let input = self.state.input.as_ref().and_then(|input| input.known());
        let touches = programs::touches(name, arguments, input);
        for (touch, path) in touches {
            self.touch(touch, &path);
        }
        self.guard_trees(name, arguments);
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

    /// Settings that name programs, and refs of the snapshots.
    fn guard_git(&mut self, arguments: &[String]) {
        let input = self.state.input.as_ref().and_then(|input| input.known());
        let drops = snapshots::change(arguments, input);
        let changes = git_settings::change(arguments, &self.git_environment());
        for guarded in drops.into_iter().chain(changes) {
            self.guarded(guarded);
        }
    }

    /// Settings of git that the command puts into the environment.
    fn git_environment(&self) -> Vec<(String, String)> {
        const KEY: &str = "GIT_CONFIG_KEY_";
        let after = self.state.variables.range(KEY.to_owned()..);
        let pair = |name: &String| {
            let number = name.strip_prefix(KEY)?;
            let key = self.state.get(name)?;
            let value = self.state.get(&format!("GIT_CONFIG_VALUE_{number}"));
            let value = value.map_or_else(String::new, |value| value.first().to_owned());
            Some((key.first().to_owned(), value))
        };
        let mut settings: Vec<(String, String)> = after.map_while(|(name, _)| pair(name)).collect();
        if let Some(parameters) = self.state.get("GIT_CONFIG_PARAMETERS") {
            // `'key=value'` and the newer `'key'='value'`.
            let text = parameters.first().replace("'='", "=");
            let pairs = text.split('\'').filter_map(|part| part.split_once('='));
            settings.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
        }
        settings
    }

    /// Variables that the command sets and that change which settings an agent loads.
    fn settings_variables(&self) -> Vec<String> {
        let is_new = |name: &str| {
            let value = self.state.get(name);
            let value = value.as_ref().and_then(|value| value.known());
            match name {
                "HOME" => value != Some(self.home.as_str()),
                _ => true,
            }
        };
        let exported = self
            .state
            .variables
            .iter()
            .filter(|(_, variable)| variable.exported);
        exported
            .map(|(name, _)| name)
            .filter(|name| agents::is_settings_variable(name) && is_new(name))
            .cloned()
            .collect()
    }

    /// Paths in the code of another language: who opens one to write, or reads a key, does it here. Code that changes
    /// files and names a protected one elsewhere may change it.
    pub(crate) fn guard_code(&mut self, code: &str) {
        if self.guard.is_none() || !crate::actions::mentions_guarded(code) {
            return;
        }
        let may_change = changing::may_change(code);
        let mut parts = String::new();
        for literal in literals(code).iter().take(2000) {
            let text = literal.text.as_str();
            // `Path('.claude', 'role-os', 'x')`: the parts of a path.
            if literal.follows && parts.len() < 4096 {
                parts = format!("{parts}/{text}");
                if may_change && crate::actions::mentions_guarded(&parts) {
                    self.touch(Touch::Named, &parts);
                }
            } else {
                text.clone_into(&mut parts);
            }
            if text.len() > 4096 || text.contains('\n') || has_hole(text) {
                continue;
            }
            let touch = match code.find(text) {
                Some(at) if changing::changes(code, at, text.len()) => Touch::Write,
                _ => Touch::Named,
            };
            let named = may_change && crate::actions::mentions_guarded(text);
            if touch == Touch::Write || named || text.contains("keys") {
                self.touch(touch, text);
            }
        }
    }

    /// Attributes of git that name a driver.
    pub(crate) fn guard_attributes(&mut self, path: &str, text: &str) {
        let found = self
            .guard
            .and_then(|_| git_settings::attributes(path, text));
        if let Some(guarded) = found {
            self.guarded(guarded);
        }
    }

    /// The user's folder of states is where the trust store lies, whatever the command calls it.
    pub(crate) fn know_trust(&mut self) {
        let folder = self.guard.and_then(|guard| guard.trust.as_deref());
        if let Some(parent) = folder.and_then(|folder| folder.strip_suffix("/roleos")) {
            self.state.set("XDG_STATE_HOME", Value::text(parent), false);
        }
    }

    /// The files that a patch changes.
    pub(crate) fn guard_patch(&mut self, patch: &str) {
        if self.guard.is_some() {
            for (touch, path) in patched(patch) {
                self.touch(touch, &path);
            }
        }
    }
}
