//! The context of a command: workspace, settings, store. Loaded once, before the command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use evidence::archive::{Archive, ArchiveError};
use evidence::scan;
use evidence::store::Store;
use witness::wire::TaskId;

use crate::failure::Failure;

/// Locations from the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The workspace root.
    pub root: Option<&'a Path>,
    /// The user's trust store.
    pub state: Option<&'a Path>,
    /// The database that a team shares.
    pub store: Option<&'a str>,
}

/// State shared by commands.
#[derive(Debug)]
pub struct Context {
    pub workspace: Workspace,
    /// The settings.
    pub config: Config,
    /// The environment variables.
    pub environment: Environment,
    /// Bundles, keys and ledger.
    pub store: Store,
}

impl Context {
    /// Finds the workspace and reads its settings.
    pub fn load(place: Place<'_>) -> Result<Self, Failure> {
        let environment = Environment::read().with_state(place.state);
        let workspace = Workspace::find(place.root, &environment)?;
        Ok(Self::of(workspace, environment)?.with_store(place.store))
    }

    /// Reads the settings of a workspace.
    pub fn of(workspace: Workspace, environment: Environment) -> Result<Self, Failure> {
        let config = Config::load(&workspace, &environment)?;
        let store = Store::of(&workspace, config.witness.max_bundle_bytes());
        Ok(Self {
            workspace,
            config,
            environment,
            store,
        })
    }

    /// Uses another database than that of the settings, if `url` is given.
    #[must_use]
    pub fn with_store(mut self, url: Option<&str>) -> Self {
        if let Some(url) = url {
            url.clone_into(&mut self.config.store.url);
        }
        self
    }

    /// Returns the archive for the evidence of other machines.
    pub fn archive(&self) -> Result<Arc<dyn Archive>, Failure> {
        let max_bytes = self.config.witness.max_bundle_bytes();
        let archive = team::archive(&self.workspace, &self.config.store, max_bytes);
        archive.map_err(|error| {
            Failure::refused("bad_store", error.to_string())
                .hint("`roleos config list` shows `store.url` and `store.password_env`")
        })
    }

    /// Returns the options for reading bundle files.
    #[must_use]
    pub fn scan_options(&self) -> scan::Options {
        scan::Options {
            threads: self.config.witness.thread_count(),
            max_bytes: self.config.witness.max_bundle_bytes(),
        }
    }

    /// Returns the bundle files under the given paths, or all of the workspace.
    pub fn bundles(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        if !paths.is_empty() {
            return Ok(scan::find(paths)?);
        }
        Ok(self.store.bundle_paths()?)
    }

    /// Finds a bundle by its file, its task id (or a prefix of it), or `latest`.
    pub fn bundle(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = PathBuf::from(name);
        if path.exists() {
            return Ok(path);
        }
        if name == "latest" {
            return self.latest();
        }
        let wanted = name.replace('-', "").to_lowercase();
        let missing = || {
            Failure::input("bundle_not_found", format!("there is no bundle `{name}`"))
                .hint("name a file, or a task id from `roleos witness list`")
        };
        if !begins_task_id(name) {
            return Err(missing());
        }
        let mut found = self.bundles(&[])?;
        found.retain(|path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            stem.starts_with(&wanted)
        });
        match (found.pop(), found.is_empty()) {
            (Some(path), true) => Ok(path),
            (Some(_), false) => Err(Failure::input(
                "bundle_ambiguous",
                format!("`{name}` is the beginning of several task ids"),
            )
            .hint("give more of the id, or the file")),
            (None, _) => Err(missing()),
        }
    }

    /// Returns the bundle that was logged last.
    fn latest(&self) -> Result<PathBuf, Failure> {
        let ledger = self.store.ledger()?;
        let last = ledger.as_ref().and_then(|ledger| ledger.entries().last());
        last.map(|entry| self.store.witness_dir().join(&entry.file))
            .ok_or_else(|| {
                Failure::input("bundle_not_found", "no bundle was sealed here yet")
                    .hint("`roleos witness seal --help` shows how one is made")
            })
    }
}

/// Returns `true` if a name can be a task id, or a prefix of one.
#[must_use]
pub fn begins_task_id(name: &str) -> bool {
    let mut digits = name.bytes().filter(|byte| *byte != b'-');
    digits.clone().count() >= 4 && digits.all(|byte| byte.is_ascii_hexdigit())
}

/// Parses a task id.
pub fn parse_task_id(text: &str) -> Result<TaskId, String> {
    TaskId::parse(text)
        .ok_or_else(|| "expected 32 hexadecimal digits, with or without dashes".to_owned())
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        match &error {
            ArchiveError::Unfit(_) => Self::input("archive_unfit", error.to_string()),
            ArchiveError::Away(_) => {
                Self::refused("archive_away", error.to_string()).hint("try again later")
            }
            _ => Self::refused("archive", error.to_string()),
        }
    }
}
