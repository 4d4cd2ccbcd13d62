//! Names the protected files: the settings of agents, our own rules and keys, git's hook, the record in the trust store.
//!
//! Every path is fixed or was found when a session began, so that a check is a few calls of `stat`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::content::MAX_FILE;
use crate::agents::Agent;
use base::environment::{self, Environment};
use base::files;
use base::repository::Location;
use base::trust;
use base::workspace::Workspace;
use evidence::ledger;

/// Most names in one folder that are read.
const MAX_NAMES: usize = 1024;

/// Kind of a protected path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A folder that must not become a link.
    Folder,
    /// A folder whose files, and those of the folders in it, are protected as well.
    Listed,
    /// A file that our own commands change at any time, such as the ledger: a missing one is restored.
    Kept,
    /// Settings that contain an agent's hooks, or can switch them off.
    Settings(Agent),
    /// Any other file of Role OS or of an agent.
    Plain,
    /// The `pre-push` hook, which a person may let an agent change.
    GitHook,
    /// A file that names the directory from which git takes settings and hooks, which a person may let an agent change.
    GitPointer,
    /// git's configuration, of which only the location of hooks is protected.
    GitConfig,
}

/// One protected path. Restoring it follows no link below `base`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) base: PathBuf,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

const CLAUDE: Kind = Kind::Settings(Agent::Claude);
const CODEX: Kind = Kind::Settings(Agent::Codex);
const GEMINI: Kind = Kind::Settings(Agent::Gemini);
const CURSOR: Kind = Kind::Settings(Agent::Cursor);
const COPILOT: Kind = Kind::Settings(Agent::Copilot);

/// Paths in the workspace, folders before their content.
const IN_WORKSPACE: &[(&str, Kind)] = &[
    (".claude", Kind::Folder),
    (".claude/settings.json", CLAUDE),
    (".claude/settings.local.json", CLAUDE),
    (".claude/role-os", Kind::Listed),
    (".claude/agents", Kind::Listed),
    (".claude/skills", Kind::Listed),
    (".claude/plugins", Kind::Listed),
    (".agents", Kind::Folder),
    (".agents/plugins", Kind::Listed),
    (".agents/skills", Kind::Listed),
    (".mcp.json", Kind::Plain),
    (".role-os", Kind::Folder),
    (".role-os/config.toml", Kind::Plain),
    (".role-os/installed.json", Kind::Plain),
    (".role-os/keys", Kind::Listed),
    (".role-os/keys/approval", Kind::Listed),
    (".role-os/receipts.jsonl", Kind::Kept),
    (".role-os/specialists.json", Kind::Kept),
    (".role-os/ledger", Kind::Folder),
    (".role-os/ledger/origin", Kind::Kept),
    (".role-os/ledger/leaves.jsonl", Kind::Kept),
    (".role-os/ledger/checkpoint", Kind::Kept),
    (".role-os/ledger/tombstones.jsonl", Kind::Kept),
    (".codex", Kind::Listed),
    (".codex/config.toml", CODEX),
    (".codex/hooks.json", CODEX),
    (".gemini", Kind::Folder),
    (".gemini/settings.json", GEMINI),
    (".gemini/hooks", Kind::Listed),
    (".gemini/policies", Kind::Listed),
    (".gemini/extensions", Kind::Listed),
    (".gemini/agents", Kind::Listed),
    (".gemini/skills", Kind::Listed),
    (".cursor", Kind::Folder),
    (".cursor/hooks.json", CURSOR),
    (".cursor/hooks", Kind::Listed),
    (".cursor/mcp.json", Kind::Plain),
    (".cursor/agents", Kind::Listed),
    (".cursor/skills", Kind::Listed),
    (".github", Kind::Folder),
    (".github/hooks", Kind::Listed),
    (".github/hooks/role-os.json", COPILOT),
];

/// Paths in the user's home directory.
const AT_HOME: &[(&str, Kind)] = &[
    (".claude", Kind::Folder),
    (".claude/settings.json", CLAUDE),
    (".claude/agents", Kind::Listed),
    (".codex", Kind::Folder),
    (".codex/config.toml", CODEX),
    (".codex/hooks.json", CODEX),
    (".gemini", Kind::Folder),
    (".gemini/settings.json", GEMINI),
    (".cursor", Kind::Folder),
    (".cursor/hooks.json", CURSOR),
    (".copilot", Kind::Folder),
    (".copilot/config.json", COPILOT),
    (".copilot/settings.json", COPILOT),
];

/// Returns the paths that are protected in every workspace.
pub(super) fn fixed(workspace: &Workspace, environment: &Environment) -> Vec<Item> {
    let mut items = Vec::new();
    let below = |base: &Path, names: &[(&str, Kind)], items: &mut Vec<Item>| {
        items.extend(names.iter().map(|(name, kind)| Item {
            base: base.to_owned(),
            path: base.join(name),
            kind: *kind,
        }));
    };
    below(workspace.root(), IN_WORKSPACE, &mut items);
    if let Some(home) = environment::home().filter(|home| home != workspace.root()) {
        below(&home, AT_HOME, &mut items);
    }
    if let Some(state) = workspace.state() {
        let record = trust::record_path(workspace);
        below(state, &[(record.as_str(), Kind::Plain)], &mut items);
    }
    if let Some(config) = &environment.config {
        items.push(Item::alone(config.clone(), Kind::Plain));
    }
    items
}

/// Returns the paths that depend on the repository and its settings. The search costs more than a check of the files.
pub(super) fn searched(workspace: &Workspace) -> Vec<Item> {
    let mut items = Vec::new();
    if let (Some(state), Some(name)) = (
        workspace.state(),
        ledger::record::path_of(&workspace.ledger_dir()),
    ) {
        items.push(Item::below(state, state.join(name), Kind::Plain));
    }
    let Some(location) = Location::around(workspace.root()) else {
        return items;
    };
    let config = location.common_dir.join("config");
    let text = files::read(&config, MAX_FILE).unwrap_or_default();
    let moved = hooks_path(&String::from_utf8_lossy(&text)).map(|path| location.top.join(path));
    items.push(Item::alone(config, Kind::GitConfig));
    let own = location.git_dir.join("config.worktree");
    items.push(Item::alone(own, Kind::GitConfig));
    let pointers = ["commondir", "gitdir"].map(|name| location.git_dir.join(name));
    // In a linked worktree and in a submodule, `.git` is such a file itself.
    let entry = Some(location.top.join(".git")).filter(|entry| !entry.is_dir());
    let pointers = pointers.into_iter().chain(entry);
    items.extend(pointers.map(|path| Item::alone(path, Kind::GitPointer)));
    for hooks in [Some(location.common_dir.join("hooks")), moved] {
        let hook = hooks.map(|hooks| Item::alone(hooks.join("pre-push"), Kind::GitHook));
        items.extend(hook);
    }
    items
}

/// Returns the folder that git's configuration names for hooks.
fn hooks_path(config: &str) -> Option<PathBuf> {
    let settings = config.lines().filter_map(|line| line.split_once('='));
    let mut named = settings.filter(|(key, _)| {
        let name = key.trim().rsplit([' ', '\t', ']']).next();
        name.is_some_and(|name| name.eq_ignore_ascii_case("hookspath"))
    });
    let value = named.next_back()?.1.trim().trim_matches('"');
    match value.strip_prefix("~/") {
        Some(below) => Some(environment::home()?.join(below)),
        None => Some(PathBuf::from(value)),
    }
}

impl Item {
    /// Returns a path below a folder; missing parts are recreated.
    pub(super) fn below(base: &Path, path: PathBuf, kind: Kind) -> Self {
        Self {
            base: base.to_owned(),
            path,
            kind,
        }
    }

    /// Returns a path whose folder is used as it is.
    pub(super) fn alone(path: PathBuf, kind: Kind) -> Self {
        Self {
            base: files::parent(&path).to_owned(),
            path,
            kind,
        }
    }

    /// Returns the content of a listed folder; names with a dot in front are locks and unfinished files.
    pub(super) fn listed(&self) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names
            .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
            .take(MAX_NAMES)
            .collect();
        names.sort();
        let item = |name| {
            let path = self.path.join(name);
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
            Self {
                base: self.base.clone(),
                kind: if is_folder { Kind::Listed } else { Kind::Plain },
                path,
            }
        };
        names.into_iter().map(item).collect()
    }
}
