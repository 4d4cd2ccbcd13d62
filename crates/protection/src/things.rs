//! Names of protected things: a path is recognised by its parts alone.

use authority::verdict::Verdict;
use shell::pattern;
use shell::value::has_hole;
use shell::words::names;

use crate::is_within;

/// Kind of protected thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Keys,
    Ours,
    Trust,
    Snapshot,
    Settings,
    Binary,
    Hooks,
    GitSettings,
    StartFile,
}

impl Thing {
    pub(crate) fn is_denied(self) -> bool {
        matches!(
            self,
            Self::Keys | Self::Ours | Self::Trust | Self::Snapshot | Self::Settings | Self::Binary
        )
    }

    /// Returns the answer to a change of it.
    pub(crate) fn verdict(self) -> Verdict {
        if self.is_denied() {
            Verdict::Deny
        } else {
            Verdict::Ask
        }
    }

    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Keys => "the keys of this workspace are for people",
            Self::Ours => {
                "the rules, grants and records of Role OS are changed by a person in a terminal"
            }
            Self::Trust => "the trust store records decisions of the user",
            Self::Snapshot => "the repository holds the snapshots from which a session is undone",
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

/// Files in an agent's directory that decide if it is watched: directory, then its protected entries.
pub(crate) const SETTINGS: &[(&str, &[&str])] = &[
    (
        ".claude",
        names!("settings.json settings.local.json settings-*.json agents plugins skills"),
    ),
    (".agents", names!("plugins skills")),
    (".codex", names!("*")),
    (
        ".gemini",
        names!("settings.json hooks policies extensions agents skills"),
    ),
    (".cursor", names!("hooks.json hooks mcp.json agents skills")),
    (".github", names!("hooks")),
    (
        ".copilot",
        names!("hooks config.json settings.json mcp-config.json agents plugins skills"),
    ),
    (".windsurf", names!("hooks.json")),
    ("windsurf", names!("hooks.json")),
    ("claude-code", names!("managed-settings*")),
    ("github-copilot", names!("policy.d")),
];

/// Files of agents' settings outside of such a directory.
const SETTINGS_FILES: &[&str] = &[".mcp.json", ".claude.json"];

/// Directories in the home directory that record the user's decisions.
const TRUST: &[[&str; 3]] = &[[".local", "state", "roleos"], [".local", "share", "roleos"]];

/// Files in the home directory that a new shell runs.
pub(crate) const START_FILES: &[&str] = names!(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout \
    .kshrc .cshrc .tcshrc .login .inputrc .xprofile .config/fish/config.fish .config/fish/conf.d .config/powershell"
);

/// Files that a new shell of any user runs.
const SYSTEM_START_FILES: &[&str] = names!(
    "/etc/profile /etc/profile.d /etc/bash.bashrc /etc/bashrc /etc/zsh /etc/zshrc /etc/zshenv /etc/environment"
);

/// Returns `true` if a written name can be this one: case does not count, and a pattern counts as every name that it
/// can match.
fn can_be(written: &str, name: &str) -> bool {
    if written.as_bytes().first() != name.as_bytes().first() {
        return false;
    }
    if written == name {
        return true;
    }
    // A pattern that begins with text must begin like the name.
    match written.find(['*', '?', '[', '\\']) {
        None | Some(0) => false,
        Some(at) => {
            let begins = written.get(..at).is_some_and(|text| name.starts_with(text));
            begins && pattern::matches(written, name)
        }
    }
}

/// Returns `true` if a pattern can match a name without a leading dot.
fn can_match(written: &str, name: &str) -> bool {
    can_be(written, name)
        || (written.starts_with(['*', '?', '['])
            && !name.starts_with('.')
            && pattern::matches(written, name))
}

/// Returns `true` if a path, whose parts can be patterns, can be this directory or inside it.
pub(crate) fn can_be_within(path: &str, folder: &str) -> bool {
    if !path.contains(['*', '?', '[']) {
        return is_within(path, folder);
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let mut names = folder.split('/').filter(|part| !part.is_empty());
    names.all(|name| parts.next().is_some_and(|part| can_match(part, name)))
}

/// Returns `true` if a path, whose parts can be patterns, can be this place or a directory above it.
pub(crate) fn can_hold(path: &str, place: &str) -> bool {
    if !path.contains(['*', '?', '[']) {
        return is_within(place, path);
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let mut names = place.split('/').filter(|part| !part.is_empty());
    parts.all(|part| names.next().is_some_and(|name| can_match(part, name)))
}

/// Returns the protected thing that a path names, compared in lower case.
pub(crate) fn named(lower: &str, home: &str) -> Option<Thing> {
    let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
    let by_part = (0..parts.len()).find_map(|at| begins(parts.get(at..).unwrap_or_default()));
    let is_binary = matches!(
        parts.as_slice(),
        [
            ..,
            "bin",
            "roleos" | "roleos.exe" | "roleos-hook" | "roleos-watch"
        ]
    );
    by_part
        .or_else(|| is_binary.then_some(Thing::Binary))
        .or_else(|| start_file(lower, home))
}

/// Returns the protected thing that a path names, with the directory in which its name begins.
pub(crate) fn located(path: &str, home: &str) -> Option<(Thing, String)> {
    let lower = path.to_lowercase();
    let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
    let found = (0..parts.len()).find_map(|at| {
        let thing = begins(parts.get(at..).unwrap_or_default())?;
        let folder: Vec<&str> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .take(at)
            .collect();
        Some((thing, format!("/{}", folder.join("/"))))
    });
    found.or_else(|| Some((start_file(&lower, home)?, home.to_owned())))
}

/// Returns the thing that begins at the first of these parts.
fn begins(parts: &[&str]) -> Option<Thing> {
    let (part, rest) = parts.split_first()?;
    let next = rest.first().copied();
    if can_be(part, ".role-os") {
        let keys = next.is_some_and(|next| next == "keys" || next.contains(['*', '?', '[']));
        return Some(if keys { Thing::Keys } else { Thing::Ours });
    }
    if *part == ".git" {
        return in_repository(rest);
    }
    if *part == ".gitconfig" || matches!(parts, [".config", "git", "config", ..]) {
        return Some(Thing::GitSettings);
    }
    let is_trust = |place: &&[&str; 3]| {
        let mut pairs = place.iter().zip(parts);
        parts.len() >= place.len() && pairs.all(|(name, part)| can_match(part, name))
    };
    if TRUST.iter().any(|place| is_trust(&place)) {
        return Some(Thing::Trust);
    }
    if SETTINGS_FILES.iter().any(|name| can_be(part, name)) {
        return Some(Thing::Settings);
    }
    let next = next?;
    if can_be(part, ".claude") && can_match(next, "role-os") {
        return Some(Thing::Ours);
    }
    let (_, entries) = SETTINGS.iter().find(|(name, _)| can_be(part, name))?;
    let hit = entries
        .iter()
        .any(|entry| pattern::matches(entry, next) || can_match(next, entry));
    hit.then_some(Thing::Settings)
}

/// Files of a git directory that contain its settings, or name the directory of settings and hooks.
const GIT_SOURCES: &[&str] = names!("config config.worktree commondir gitdir");

/// Returns the thing at these parts below `.git`. The directories of worktrees and submodules are deeper.
fn in_repository(parts: &[&str]) -> Option<Thing> {
    let is_source = |part: &&str| GIT_SOURCES.iter().any(|name| can_match(part, name));
    match parts {
        ["refs", "roleos", ..] => Some(Thing::Snapshot),
        _ if parts.contains(&"hooks") => Some(Thing::Hooks),
        // Names of branches and of objects.
        ["refs" | "logs" | "objects", ..] => None,
        _ => parts.iter().any(is_source).then_some(Thing::GitSettings),
    }
}

/// Returns `true` if an agent looks for its settings in this directory.
pub(crate) fn is_settings_folder(lower: &str) -> bool {
    let name = actions::lookup::base_name(lower);
    // Workflows and templates are ordinary in this one.
    name.starts_with('.')
        && name != ".github"
        && SETTINGS.iter().any(|(folder, _)| can_be(name, folder))
}

fn start_file(lower: &str, home: &str) -> Option<Thing> {
    let in_home = |path: &str| {
        START_FILES
            .iter()
            .any(|name| is_within(path, name) || can_be(path, name))
    };
    let below_home = || {
        let home = home.to_lowercase();
        let rest = lower.strip_prefix(&home).filter(|_| home.len() > 1);
        rest.and_then(|rest| rest.strip_prefix('/'))
            // The home directory of another user, or an unknown one.
            .or_else(|| {
                let (first, rest) = lower.trim_start_matches('/').split_once('/')?;
                (has_hole(first) || first == "root").then_some(rest)
            })
    };
    // All of them are hidden files.
    let at_home = lower.contains("/.").then(below_home).flatten();
    let system = SYSTEM_START_FILES.iter().any(|file| is_within(lower, file));
    (system || at_home.is_some_and(in_home)).then_some(Thing::StartFile)
}
