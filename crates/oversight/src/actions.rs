//! The gated actions: one table, from program and subcommand to the action it performs, with what undoes it.
//!
//! Adding an action is one entry of [`ACTIONS`] and one of [`RULES`]. How single programs read their words is in
//! [`words`], the `gh api` equivalents in [`api`]. Nothing here knows a shell.

mod api;
mod words;

use std::collections::BTreeSet;

pub(crate) use words::{GitCall, git_command, is_git_builtin};

use crate::value::{has_hole, without_holes};

/// An act that cannot simply be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Stable name, as in the grants.
    pub id: String,
    /// For people.
    pub label: String,
    /// What undoes it, as far as possible.
    pub compensator: String,
    /// Ships switched off.
    pub extended: bool,
}

const fn action(
    id: &'static str,
    label: &'static str,
    compensator: &'static str,
) -> (&'static str, &'static str, &'static str, bool) {
    (id, label, compensator, false)
}

const fn extended(
    id: &'static str,
    label: &'static str,
    compensator: &'static str,
) -> (&'static str, &'static str, &'static str, bool) {
    (id, label, compensator, true)
}

const ACTIONS: &[(&str, &str, &str, bool)] = &[
    action(
        "npm:publish",
        "publish a package to npm",
        "npm deprecate <package>@<version> '<reason>' (unpublish only within 72 hours)",
    ),
    action(
        "pypi:publish",
        "publish a package to PyPI",
        "yank the release on PyPI; a version number is never free again",
    ),
    action(
        "gh:release",
        "change a GitHub release",
        "gh release delete <tag>, or edit it back; assets already downloaded stay out",
    ),
    action(
        "gh:pr-create",
        "open a pull request",
        "gh pr close <number>",
    ),
    action(
        "gh:repo-edit",
        "change, archive, rename or delete a repository",
        "gh repo edit, rename or unarchive back; a deletion only by GitHub support",
    ),
    action(
        "git:push",
        "push to a remote",
        "git push --force-with-lease of the old tip; who fetched it keeps it",
    ),
    action(
        "pages:deploy",
        "deploy a website",
        "deploy the previous commit again",
    ),
    extended(
        "cargo:publish",
        "publish a crate",
        "cargo yank --version <version>",
    ),
    extended(
        "docker:push",
        "push an image",
        "delete the tag in the registry",
    ),
    extended("gem:push", "publish a gem", "gem yank <name> -v <version>"),
    extended(
        "npm:unpublish",
        "remove a package from npm",
        "none: the version cannot be published again",
    ),
    extended(
        "gh:pr-merge",
        "merge a pull request",
        "git revert -m 1 <merge>",
    ),
    extended(
        "terraform:apply",
        "change infrastructure",
        "terraform apply of the previous state",
    ),
    extended(
        "kubectl:delete",
        "delete a resource of a cluster",
        "kubectl apply of its manifest; its data may be gone",
    ),
    extended(
        "jj:push",
        "push to a remote with jj",
        "jj git push of the old bookmark",
    ),
];

/// How a program's words perform an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The action.
    pub action: String,
    /// The program.
    pub program: String,
    /// Subcommands in order; `a|b` are alternatives, `*` is any word.
    pub path: Vec<String>,
    /// Options that make it harmless.
    pub harmless: Vec<String>,
}

const RULES: &[(&str, &str, &str, &str)] = &[
    (
        "npm:publish",
        "npm",
        "publish|pub|publ|publi|publis|pu",
        "--dry-run",
    ),
    ("npm:publish", "pnpm", "publish", "--dry-run"),
    (
        "npm:publish",
        "pnpm",
        "recursive|multi|m publish",
        "--dry-run",
    ),
    ("npm:publish", "yarn", "publish", "--dry-run"),
    ("npm:publish", "yarn", "npm publish", "--dry-run"),
    ("npm:publish", "yarn", "workspace * publish", "--dry-run"),
    (
        "npm:publish",
        "yarn",
        "workspace * npm publish",
        "--dry-run",
    ),
    (
        "npm:publish",
        "yarn",
        "workspaces foreach npm publish",
        "--dry-run",
    ),
    ("npm:publish", "bun", "publish", "--dry-run"),
    ("pypi:publish", "twine", "upload", ""),
    ("pypi:publish", "uv", "publish", "--dry-run"),
    ("pypi:publish", "poetry", "publish", "--dry-run"),
    ("pypi:publish", "hatch", "publish", ""),
    ("pypi:publish", "flit", "publish", ""),
    (
        "gh:release",
        "gh",
        "release create|new|delete|edit|upload",
        "",
    ),
    ("gh:pr-create", "gh", "pr create|new", ""),
    ("gh:repo-edit", "gh", "repo edit|delete|archive|rename", ""),
    ("git:push", "git", "push|send-pack|http-push", ""),
    ("git:push", "git", "subtree push", ""),
    ("git:push", "git", "lfs push", "--dry-run"),
    ("pages:deploy", "gh-pages", "", "-n --no-push"),
    ("pages:deploy", "wrangler", "pages deploy|publish", ""),
    ("pages:deploy", "wrangler", "pages deployment create", ""),
    ("cargo:publish", "cargo", "publish", "--dry-run -n"),
    ("docker:push", "docker", "push", ""),
    ("docker:push", "docker", "image|compose push", ""),
    ("gem:push", "gem", "push", ""),
    ("npm:unpublish", "npm", "unpublish", "--dry-run"),
    ("gh:pr-merge", "gh", "pr merge", ""),
    ("terraform:apply", "terraform", "apply|destroy", ""),
    (
        "kubectl:delete",
        "kubectl",
        "delete",
        "--dry-run=client --dry-run=server",
    ),
    ("jj:push", "jj", "git push", "--dry-run"),
];

/// Whether the text may name a protected thing at all.
pub(crate) fn mentions_guarded(text: &str) -> bool {
    const MARKS: &[&str] = &[
        "role", ".claude", ".codex", ".gemini", ".cursor", ".copilot", "hooks", ".github", "rc",
        "profile", ".git", ".mcp", ".agents",
    ];
    let text = text.to_lowercase();
    MARKS.iter().any(|mark| text.contains(mark))
}

/// What a program's words say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Ids with a label for the chain.
    pub(crate) actions: Vec<(String, String)>,
    /// Why they do not say it all.
    pub(crate) unknown: Option<&'static str>,
}

/// The actions that are gated in one workspace.
#[derive(Clone, Debug)]
pub struct Catalog {
    actions: Vec<Action>,
    rules: Vec<Rule>,
    programs: BTreeSet<String>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(&[], Vec::new(), Vec::new())
    }
}

impl Catalog {
    /// The standard set, those of the extended set that are named, and the user's own.
    #[must_use]
    pub fn new(extended: &[&str], own_actions: Vec<Action>, own_rules: Vec<Rule>) -> Self {
        let actions = ACTIONS
            .iter()
            .filter(|(id, .., extra)| !extra || extended.contains(id));
        let mut actions: Vec<Action> = actions
            .map(|(id, label, compensator, extended)| Action {
                id: (*id).to_owned(),
                label: (*label).to_owned(),
                compensator: (*compensator).to_owned(),
                extended: *extended,
            })
            .collect();
        for own in own_actions {
            // The id of an action that is gated already only adds a way to perform it.
            if !actions.iter().any(|action| action.id == own.id) {
                actions.push(own);
            }
        }
        let split = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let mut rules: Vec<Rule> = RULES
            .iter()
            .filter(|(id, ..)| actions.iter().any(|action| action.id == *id))
            .map(|(action, program, path, harmless)| Rule {
                action: (*action).to_owned(),
                program: (*program).to_owned(),
                path: split(path),
                harmless: split(harmless),
            })
            .collect();
        rules.extend(own_rules);
        let programs = rules.iter().map(|rule| rule.program.clone()).collect();
        Self {
            actions,
            rules,
            programs,
        }
    }

    /// The ids that ship switched off.
    pub fn extended_ids() -> impl Iterator<Item = &'static str> {
        let extra = ACTIONS.iter().filter(|(.., extra)| *extra);
        extra.map(|(id, ..)| *id)
    }

    /// All actions that are gated.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// One of them.
    #[must_use]
    pub fn action(&self, id: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }

    /// The programs by which the actions are performed.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(String::as_str)
    }

    /// Program and last word of each act.
    pub(crate) fn acts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().flat_map(|rule| {
            let verbs = rule.path.last().map_or("", String::as_str).split('|');
            verbs
                .filter(|verb| !verb.is_empty())
                .map(|verb| (rule.program.as_str(), verb))
        })
    }

    pub(crate) fn is_program(&self, name: &str) -> bool {
        self.programs.contains(name)
    }

    /// Whether the text may name one of the programs at all.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        has_hole(text)
            || self
                .programs
                .iter()
                .any(|program| text.contains(program.as_str()))
            || ["$", "`", "\\", "sh"]
                .iter()
                .any(|mark| text.contains(mark))
            || mentions_guarded(text)
    }

    /// Whether the text names a part of an act, so that a computed word may complete it.
    pub(crate) fn mentions_part(&self, text: &str) -> bool {
        self.programs
            .iter()
            .any(|program| text.contains(program.as_str()))
            || [
                "push", "publish", "upload", "deploy", "release", "hsup", "hsilbup",
            ]
            .iter()
            .any(|word| text.contains(word))
    }

    /// What a program does with these words.
    pub(crate) fn classify(
        &self,
        program: &str,
        arguments: &[String],
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Answer {
        let mut answer = Answer::default();
        if program == "git" {
            self.git(arguments, &mut answer);
            return answer;
        }
        if program == "gh" && arguments.iter().any(|word| word == "api") {
            api::classify(arguments, &mut answer);
        }
        let readings = words::readings(program, arguments);
        for rule in self.rules.iter().filter(|rule| rule.program == program) {
            let fit = readings
                .iter()
                .map(|words| fits(&rule.path, words))
                .fold(Fit::No, Fit::or);
            match fit {
                Fit::No => {}
                Fit::Unknown => answer.unknown = Some("the subcommand is not known"),
                Fit::Yes => {
                    if !words::is_harmless(rule, arguments, environment)
                        && words::is_complete(rule, arguments)
                    {
                        answer.add(rule);
                    }
                }
            }
        }
        answer
    }

    fn git(&self, arguments: &[String], answer: &mut Answer) {
        let call = git_command(arguments);
        if call.only_prints {
            return;
        }
        for rule in self.rules.iter().filter(|rule| rule.program == "git") {
            match fits(&rule.path, &call.rest) {
                Fit::No => {}
                Fit::Unknown => answer.unknown = Some("the subcommand is not known"),
                Fit::Yes => {
                    let rest = call.rest.get(rule.path.len()..).unwrap_or_default();
                    let prints = if rule.path.len() == 1 {
                        words::git_push_is_dry(rest)
                    } else {
                        words::asks_for_help(rest)
                            || rest.iter().any(|word| rule.harmless.contains(word))
                    };
                    if !prints {
                        answer.add(rule);
                    }
                }
            }
        }
    }
}

impl Answer {
    fn add(&mut self, rule: &Rule) {
        let path: Vec<&str> = rule
            .path
            .iter()
            .map(|part| part.split('|').next().unwrap_or(part))
            .collect();
        let label = format!("{} {}", rule.program, path.join(" "))
            .trim_end()
            .to_owned();
        if !self.actions.iter().any(|(id, _)| *id == rule.action) {
            self.actions.push((rule.action.clone(), label));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    No,
    Unknown,
    Yes,
}

impl Fit {
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            _ => Self::No,
        }
    }
}

/// Whether the words begin with the path. A word that nobody knows may also be nothing.
fn fits(path: &[String], words: &[String]) -> Fit {
    let mut words = words.iter();
    let mut unknown = false;
    for part in path {
        loop {
            let Some(word) = words.next() else {
                return if unknown { Fit::Unknown } else { Fit::No };
            };
            if part == "*" {
                break;
            }
            if has_hole(word) {
                let bare = without_holes(word);
                unknown = true;
                if part.split('|').any(|one| one == bare) {
                    break;
                }
                if bare.is_empty() {
                    continue;
                }
                return Fit::Unknown;
            }
            if part.split('|').any(|one| one == word) {
                break;
            }
            return if unknown { Fit::Unknown } else { Fit::No };
        }
    }
    Fit::Yes
}
