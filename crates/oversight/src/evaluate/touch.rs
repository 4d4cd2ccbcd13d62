//! What of the protected things a started program touches. The guard decides; this only says what is touched where.

use crate::guard::inputs::patched;
use crate::guard::{Guarded, Touch, own, programs, softened};
use crate::value::has_hole;
use crate::verdict::Verdict;

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

    fn guarded(&mut self, guarded: Guarded) {
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
        if name == "git" && (programs::moves_hooks(arguments) || self.hooks_by_environment()) {
            self.guarded(Guarded {
                what: "core.hooksPath".to_owned(),
                reason:
                    "it changes where git finds its hooks (`core.hooksPath`): hooks run later, \
                         without being looked at again"
                        .to_owned(),
                verdict: Verdict::Ask,
                span: None,
            });
        }
        if wrapper::is_wrapper(name) || shells::is_shell(name) {
            return;
        }
        let input = self.state.input.as_ref().and_then(|input| input.known());
        let touches = programs::touches(name, arguments, input);
        for (touch, path) in touches {
            self.touch(touch, &path);
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

    fn hooks_by_environment(&self) -> bool {
        const KEY: &str = "GIT_CONFIG_KEY_";
        let after = self.state.variables.range(KEY.to_owned()..);
        after
            .take_while(|(name, _)| name.starts_with(KEY))
            .filter_map(|(name, _)| self.state.get(name))
            .any(|key| key.first().eq_ignore_ascii_case("core.hookspath"))
    }

    /// Paths in the code of another language: who opens one to write, or reads a key, does it here. Code that changes
    /// files and names a protected one elsewhere may change it.
    pub(crate) fn guard_code(&mut self, code: &str) {
        if self.guard.is_none() || !crate::actions::mentions_guarded(code) {
            return;
        }
        let may_change = changing::may_change(code);
        for literal in literals(code).iter().take(2000) {
            let text = literal.text.as_str();
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

    /// The files that a patch changes.
    pub(crate) fn guard_patch(&mut self, patch: &str) {
        if self.guard.is_some() {
            for (touch, path) in patched(patch) {
                self.touch(touch, &path);
            }
        }
    }
}
