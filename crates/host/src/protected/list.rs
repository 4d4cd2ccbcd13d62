//! Names the protected files: the settings of agents, our own rules and keys, git's hook, the record in the trust store.
//!
//! Every path is fixed or was found when a session began, so that a look is a few calls of `stat`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::environment::{self, Environment};
use crate::repository::Location;
use crate::trust;
use crate::workspace::Workspace;

/// Names in one folder that are looked at.
const MAX_NAMES: usize = 64;

/// What kind of thing a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A folder that must not become a link.
    Folder,
    /// A folder whose files are protected as well.
    Listed,
    /// Settings in which an agent's hooks stand, or can be switched off.
    Settings(Agent),
    /// Any other file of ours or of an agent.
    Plain,
    /// The `pre-push` hook, which a person may let an agent change.
    GitHook,
    /// git's configuration, of which only where hooks come from is protected.
    GitConfig,
}

/// One protected path. No link below `base` is followed when it is put back.
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

/// In the workspace, folders before what lies in them.
const IN_WORKSPACE: &[(&str, Kind)] = &[
    (".claude", Kind::Folder),
    (".claude/settings.json", CLAUDE),
    (".claude/settings.local.json", CLAUDE),
    (".claude/role-os", Kind::Listed),
    (".mcp.json", Kind::Plain),
    (".role-os", Kind::Folder),
    (".role-os/config.toml", Kind::Plain),
    (".role-os/installed.json", Kind::Plain),
    (".role-os/keys", Kind::Listed),
    (".role-os/keys/approval", Kind::Listed),
    (".codex", Kind::Folder),
    (".codex/config.toml", CODEX),
    (".codex/hooks.json", CODEX),
    (".gemini", Kind::Folder),
    (".gemini/settings.json", GEMINI),
    (".cursor", Kind::Folder),
    (".cursor/hooks.json", CURSOR),
    (".cursor/mcp.json", Kind::Plain),
    (".github", Kind::Folder),
    (".github/hooks", Kind::Folder),
    (".github/hooks/role-os.json", COPILOT),
];

/// In the user's home directory.
const AT_HOME: &[(&str, Kind)] = &[
    (".claude", Kind::Folder),
    (".claude/settings.json", CLAUDE),
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

/// Returns the paths of the repository around the workspace. Looking for it costs more than a look at the files.
pub(super) fn of_repository(workspace: &Workspace) -> Vec<Item> {
    let Some(location) = Location::around(workspace.root()) else {
        return Vec::new();
    };
    let hook = location.common_dir.join("hooks/pre-push");
    let config = location.common_dir.join("config");
    vec![
        Item::alone(config, Kind::GitConfig),
        Item::alone(hook, Kind::GitHook),
    ]
}

impl Item {
    /// Returns a path whose folder is taken as it is.
    pub(super) fn alone(path: PathBuf, kind: Kind) -> Self {
        Self {
            base: crate::files::parent(&path).to_owned(),
            path,
            kind,
        }
    }

    /// Returns the files in a listed folder; names with a dot in front are locks and files that are being written.
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
        let item = |name| Self {
            base: self.base.clone(),
            path: self.path.join(name),
            kind: Kind::Plain,
        };
        names.into_iter().map(item).collect()
    }
}
