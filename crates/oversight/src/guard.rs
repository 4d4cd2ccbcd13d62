//! Things that an agent may not touch while the gate is on: our own rules and keys, the agents' settings, our binary.
//! What only starts programs later (git hooks, shell start files) is asked about.
//!
//! Paths are compared as written and as they really are, through links, and without regard to case. [`programs`] knows
//! which words of a program are files that it reads or writes, [`inputs`] the same of tools that are no shell,
//! [`own`] which commands of ours are for people.

pub(crate) mod inputs;
pub(crate) mod own;
pub(crate) mod programs;

use crate::evaluate::Certainty;
use crate::evaluate::pattern;
use crate::lookup::{Content, Lookup, absolute, base_name};
use crate::shell::ir::Span;
use crate::value::{for_people, has_hole};
use crate::verdict::Verdict;

/// Where our things lie, as far as their names do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The workspace's root, a real path.
    pub root: Option<String>,
    /// The binary that decides, a real path.
    pub binary: Option<String>,
    /// Things of these names that are links: where each leads, and its name.
    pub linked: Vec<(String, String)>,
}

/// Something protected that a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// The path or command.
    pub what: String,
    /// Why it is stopped, a whole sentence.
    pub reason: String,
    /// [`Verdict::Ask`] or [`Verdict::Deny`].
    pub verdict: Verdict,
    /// The part of the command that shows it.
    pub span: Option<Span>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Its content is read.
    Read,
    /// It and all below is read.
    Take,
    /// It is made, changed or removed.
    Write,
    /// It and all below is moved or removed.
    Tree,
    /// A program that we do not know is given its name.
    Named,
}

/// What is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Keys,
    Ours,
    Settings,
    Binary,
    Hooks,
    GitSettings,
    StartFile,
}

impl Thing {
    fn is_denied(self) -> bool {
        matches!(
            self,
            Self::Keys | Self::Ours | Self::Settings | Self::Binary
        )
    }

    fn why(self) -> &'static str {
        match self {
            Self::Keys => "the keys of this workspace are for people",
            Self::Ours => {
                "the rules, grants and records of Role OS are changed by a person in a terminal"
            }
            Self::Settings => {
                "an agent's settings decide whether it is watched; a person changes them"
            }
            Self::Binary => "the `roleos` program guards this workspace",
            Self::Hooks => "git hooks run later, without being looked at again",
            Self::GitSettings => "git's settings can name hooks and programs that run later",
            Self::StartFile => "a shell start file runs in every new shell",
        }
    }
}

/// A file in an agent's directory that decides whether it is watched: directory, then its protected entries.
const SETTINGS: &[(&str, &[&str])] = &[
    (
        ".claude",
        &["settings.json", "settings.local.json", "settings-*.json"],
    ),
    (".codex", &["*"]),
    (
        ".gemini",
        &["settings.json", "hooks", "policies", "extensions"],
    ),
    (".cursor", &["hooks.json", "hooks"]),
    (".github", &["hooks"]),
    (
        ".copilot",
        &["hooks", "config.json", "settings.json", "mcp-config.json"],
    ),
    (".windsurf", &["hooks.json"]),
    ("windsurf", &["hooks.json"]),
    ("claude-code", &["managed-settings*"]),
    ("github-copilot", &["policy.d"]),
];

/// Files in the home directory that a new shell runs.
const START_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xprofile",
    ".config/fish/config.fish",
    ".config/fish/conf.d",
    ".config/powershell",
];

/// The same for everybody.
const SYSTEM_START_FILES: &[&str] = &[
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zsh",
    "/etc/zshrc",
    "/etc/zshenv",
    "/etc/environment",
];

/// Whether a written name can be this one: case does not count, and a pattern counts as what it can match.
fn can_be(written: &str, name: &str) -> bool {
    if written == name {
        return true;
    }
    let active = written.contains(['*', '?', '[']);
    active && !written.starts_with(['*', '?', '[']) && pattern::matches(written, name)
}

/// Whether a path is this directory or lies in it.
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || directory.ends_with('/'))
}

impl Guard {
    /// What a path names: by its words, and by the names of links that lead to it.
    fn thing(&self, path: &str, home: &str) -> Option<Thing> {
        self.named(path, home).or_else(|| {
            let mut names = self.linked.iter().filter_map(|(real, name)| {
                let rest = path.strip_prefix(real.as_str())?;
                is_within(path, real).then(|| format!("{name}{rest}"))
            });
            names.find_map(|name| self.named(&name, home))
        })
    }

    fn named(&self, path: &str, home: &str) -> Option<Thing> {
        if self.binary.as_deref() == Some(path) {
            return Some(Thing::Binary);
        }
        let lower = path.to_lowercase();
        let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
        let mut found = None;
        for (index, part) in parts.iter().enumerate() {
            let next = parts.get(index.saturating_add(1)).copied();
            let thing = Self::part_thing(part, next, parts.get(index..).unwrap_or_default());
            if thing.is_some() {
                found = thing;
                break;
            }
        }
        if let [.., "bin", "roleos" | "roleos.exe"] = parts.as_slice() {
            found = found.or(Some(Thing::Binary));
        }
        found.or_else(|| start_file(&lower, &home.to_lowercase()))
    }

    fn part_thing(part: &str, next: Option<&str>, rest: &[&str]) -> Option<Thing> {
        if can_be(part, ".role-os") {
            let keys = next.is_some_and(|next| next == "keys" || next.contains(['*', '?', '[']));
            return Some(if keys { Thing::Keys } else { Thing::Ours });
        }
        if part == ".git" {
            return match next {
                Some("config" | "config.worktree") => Some(Thing::GitSettings),
                _ if rest.contains(&"hooks") => Some(Thing::Hooks),
                _ => None,
            };
        }
        if part == ".gitconfig" || matches!(rest, [".config", "git", "config", ..]) {
            return Some(Thing::GitSettings);
        }
        let next = next?;
        if can_be(part, ".claude") && can_be(next, "role-os") {
            return Some(Thing::Ours);
        }
        let (_, entries) = SETTINGS.iter().find(|(name, _)| can_be(part, name))?;
        let hit = entries
            .iter()
            .any(|entry| pattern::matches(entry, next) || can_be(next, entry));
        hit.then_some(Thing::Settings)
    }

    /// What a pattern for all hidden files names of those that are there.
    fn hidden_thing(&self, path: &Hidden, home: &str, lookup: &dyn Lookup) -> Option<Thing> {
        let names = lookup.list(path.directory);
        let mut matching = names
            .iter()
            .filter(|name| pattern::matches(path.pattern, name));
        matching.find_map(|name| {
            let whole = format!("{}/{name}{}", path.directory, path.rest);
            self.thing(&whole, home)
                .or_else(|| self.below(&whole, "", lookup))
        })
    }

    /// What of ours lies below a path.
    fn below(&self, path: &str, home: &str, lookup: &dyn Lookup) -> Option<Thing> {
        let has = |name: &str| !lookup.list(&format!("{path}/{name}")).is_empty();
        let name = base_name(path).to_lowercase();
        let holds = |directory: &str| !directory.is_empty() && is_within(directory, path);
        if self.root.as_deref().is_some_and(holds) || has(".role-os") {
            return Some(Thing::Ours);
        }
        if self.binary.as_deref().is_some_and(holds) {
            return Some(Thing::Binary);
        }
        if self.linked.iter().any(|(real, _)| holds(real)) {
            return Some(Thing::Settings);
        }
        let settings = |directory: &str| {
            let names = lookup.list(directory);
            names
                .iter()
                .any(|name| name == "role-os" || name.starts_with("settings"))
        };
        let of_agent = SETTINGS.iter().find(|(directory, _)| name == *directory);
        let holds_settings = of_agent.is_some_and(|(_, entries)| {
            let names = lookup.list(path);
            let mut pairs = names
                .iter()
                .flat_map(|name| entries.iter().map(move |entry| (entry, name)));
            pairs.any(|(entry, name)| pattern::matches(entry, &name.to_lowercase()))
        });
        if name == ".claude" || holds_settings || settings(&format!("{path}/.claude")) {
            return Some(Thing::Settings);
        }
        let starts = || START_FILES.iter().any(|name| is_there(lookup, home, name));
        (home.len() > 1 && holds(home) && starts()).then_some(Thing::StartFile)
    }

    /// Whether keys lie below a path.
    fn keys_below(&self, path: &str, lookup: &dyn Lookup) -> bool {
        let has = |root: &str| !lookup.list(&format!("{root}/.role-os/keys")).is_empty();
        has(path)
            || self
                .root
                .as_deref()
                .is_some_and(|root| is_within(root, path) && has(root))
    }

    /// What stands against touching a path. `directory` is where a relative one starts.
    pub(crate) fn judge(
        &self,
        touch: Touch,
        written: &str,
        directory: &str,
        home: &str,
        lookup: &dyn Lookup,
    ) -> Option<Guarded> {
        let joined = joined(written, directory, home);
        let plain = absolute("/", &joined);
        let mut thing = match all_hidden(&plain) {
            // A pattern of a program's own, as in `--accept-hosts '.*'`.
            Some(_) if touch == Touch::Named => return None,
            Some(hidden) => self.hidden_thing(&hidden, home, lookup),
            None => self.thing(&plain, home),
        };
        let known = !has_hole(&joined) && !joined.contains(['*', '?', '[']);
        let mut real = plain;
        if thing.is_none() && known && touch != Touch::Named {
            real = lookup.real(&joined);
            thing = self.thing(&real, home);
        }
        let (verdict, thing, does) = self.weigh(touch, thing, &real, home, lookup)?;
        let shown = for_people(written);
        Some(Guarded {
            reason: format!("{does} `{shown}`: {}", thing.why()),
            what: shown,
            verdict,
            span: None,
        })
    }

    fn weigh(
        &self,
        touch: Touch,
        thing: Option<Thing>,
        path: &str,
        home: &str,
        lookup: &dyn Lookup,
    ) -> Option<(Verdict, Thing, &'static str)> {
        match (touch, thing) {
            (Touch::Read | Touch::Take | Touch::Named, Some(Thing::Keys)) => {
                Some((Verdict::Deny, Thing::Keys, "it reads"))
            }
            (Touch::Take, Some(Thing::Ours)) if base_name(path) == ".role-os" => {
                Some((Verdict::Deny, Thing::Keys, "it copies the keys in"))
            }
            (Touch::Take, None) if self.keys_below(path, lookup) => {
                Some((Verdict::Ask, Thing::Keys, "it may copy the keys below"))
            }
            (Touch::Read | Touch::Take, _) => None,
            (Touch::Named, Some(thing)) if thing.is_denied() => {
                Some((Verdict::Ask, thing, "it may change"))
            }
            (Touch::Named, _) => None,
            (Touch::Write | Touch::Tree, Some(thing)) if thing.is_denied() => {
                Some((Verdict::Deny, thing, "it changes"))
            }
            (Touch::Write | Touch::Tree, Some(thing)) => Some((Verdict::Ask, thing, "it changes")),
            (Touch::Tree, None) => {
                let thing = self.below(path, home, lookup)?;
                let verdict = if thing.is_denied() {
                    Verdict::Deny
                } else {
                    Verdict::Ask
                };
                Some((verdict, thing, "it removes or moves all below"))
            }
            (Touch::Write, None) => None,
        }
    }
}

/// Whether a file or a directory with files is there, or may be.
fn is_there(lookup: &dyn Lookup, directory: &str, name: &str) -> bool {
    let path = format!("{directory}/{name}");
    !matches!(lookup.read(&path), Content::Missing) || !lookup.list(&path).is_empty()
}

/// A path with a pattern that means all hidden files: `.*`, `.[!.]*`, `.??*`.
struct Hidden<'p> {
    directory: &'p str,
    pattern: &'p str,
    rest: &'p str,
}

fn all_hidden(path: &str) -> Option<Hidden<'_>> {
    let (at, _) = path.match_indices("/.").find(|(at, _)| {
        path.get(at.saturating_add(2)..)
            .is_some_and(|rest| rest.starts_with(['*', '?', '[']))
    })?;
    let directory = path.get(..at)?;
    let name = path.get(at.saturating_add(1)..)?;
    let end = name.find('/').unwrap_or(name.len());
    let known = !has_hole(directory) && !directory.contains(['*', '?', '[']);
    known.then_some(Hidden {
        directory,
        pattern: name.get(..end)?,
        rest: name.get(end..)?,
    })
}

/// The path with its directory in front, `..` still in it: only the machine knows where a link's parent is.
fn joined(written: &str, directory: &str, home: &str) -> String {
    let written = written.strip_prefix("file://").unwrap_or(written);
    if written == "~" {
        return home.to_owned();
    }
    if let Some(rest) = written.strip_prefix("~/") {
        return format!("{home}/{rest}");
    }
    if written.starts_with('/') || directory.is_empty() {
        return written.to_owned();
    }
    format!("{directory}/{written}")
}

fn start_file(lower: &str, home: &str) -> Option<Thing> {
    let in_home = |path: &str| {
        START_FILES
            .iter()
            .any(|name| is_within(path, name) || can_be(path, name))
    };
    let at_home = lower
        .strip_prefix(home)
        .filter(|_| home.len() > 1)
        .and_then(|rest| rest.strip_prefix('/'))
        // `$HOME` of somebody else, or one that is not known.
        .or_else(|| {
            let (first, rest) = lower.trim_start_matches('/').split_once('/')?;
            (has_hole(first) || first == "root").then_some(rest)
        });
    let system = SYSTEM_START_FILES.iter().any(|file| is_within(lower, file));
    (system || at_home.is_some_and(in_home)).then_some(Thing::StartFile)
}

/// A question instead of a refusal where the words may not run at all.
pub(crate) fn softened(mut guarded: Guarded, certainty: Certainty) -> Guarded {
    if certainty == Certainty::Possible {
        guarded.verdict = Verdict::Ask;
    }
    guarded
}

#[cfg(test)]
mod tests;
