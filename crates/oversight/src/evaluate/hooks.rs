//! Hooks of git, and code that it is given to change commits.

use crate::lookup::absolute;

use super::Evaluator;
use super::wrapper::option_value;

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
    /// Runs the hooks of a command.
    pub(crate) fn git_hooks(&mut self, verb: &str, rest: &[String], settings: &[(String, String)]) {
        let asked: Vec<&str> = match rest {
            [run, hooks @ ..] if verb == "hook" && run == "run" => {
                hooks.iter().map(String::as_str).collect()
            }
            _ => Vec::new(),
        };
        let named = HOOKS
            .iter()
            .find(|(name, _)| *name == verb)
            .map_or(asked.as_slice(), |(_, hooks)| hooks);
        // Whatever moves a reference or writes the index runs these.
        let reads = matches!(
            verb,
            "status"
                | "log"
                | "diff"
                | "show"
                | "config"
                | "rev-parse"
                | "ls-files"
                | "blame"
                | "grep"
                | "help"
        );
        let always: &[&str] = if reads {
            &[]
        } else {
            &["reference-transaction", "post-index-change"]
        };
        if named.is_empty() && always.is_empty() {
            return;
        }
        let unchecked = rest
            .iter()
            .any(|word| word == "--no-verify" || (word == "-n" && verb == "commit"));
        let directory = settings
            .iter()
            .find(|(key, _)| key == "core.hookspath")
            .map(|(_, value)| match value.strip_prefix('~') {
                Some(rest) => format!("{}{rest}", self.home),
                None => value.clone(),
            });
        let directory = directory.unwrap_or_else(|| self.repository() + "/hooks");
        let template = option_value(rest, &["--template"])
            .or_else(|| {
                self.state
                    .get("GIT_TEMPLATE_DIR")
                    .map(|value| value.first().to_owned())
            })
            .or_else(|| {
                settings
                    .iter()
                    .find(|(key, _)| key == "init.templatedir")
                    .map(|(_, value)| value.clone())
            });
        let directory = match template.filter(|_| matches!(verb, "clone" | "init")) {
            Some(template) if verb == "init" => {
                self.template = Some(absolute(
                    &self.state.directory,
                    &format!("{template}/hooks"),
                ));
                return;
            }
            Some(template) => format!("{template}/hooks"),
            None => match (
                &self.template,
                self.names_in(&absolute(&self.state.directory, &directory))
                    .is_empty(),
            ) {
                (Some(template), true) => template.clone(),
                _ => directory,
            },
        };
        let places: Vec<String> = std::iter::once(directory)
            .chain(self.template.clone())
            .collect();
        for (hook, directory) in named
            .iter()
            .chain(always)
            .flat_map(|hook| places.iter().map(move |place| (hook, place)))
        {
            if unchecked
                && matches!(
                    *hook,
                    "pre-commit" | "commit-msg" | "pre-push" | "pre-merge-commit"
                )
            {
                continue;
            }
            let path = format!("{directory}/{hook}");
            // Git passes over a hook that cannot be started.
            if self.known_file(&path).is_some() && !self.cannot_start(&path) {
                self.linked(format!("git hook {hook}"), |this| {
                    this.script_file(&path, &[], "run")
                });
            }
        }
    }

    /// `git filter-repo --message-callback code`: Python.
    pub(crate) fn git_callbacks(&mut self, rest: &[String]) {
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let (option, code) = match word.split_once('=') {
                Some((option, code)) => (option, Some(code.to_owned())),
                None => (word.as_str(), None),
            };
            if option.ends_with("-callback")
                && let Some(code) = code.or_else(|| words.next().cloned())
                && let Some(language) = super::modules::python()
            {
                self.code(language, "python", &code);
            }
        }
    }
}
