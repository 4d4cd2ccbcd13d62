//! Environments of tests: created once per key by a setup command with a network, then read-only for all.

use std::fs;
use std::path::{Path, PathBuf};

use base::files::{self, Lock};
use sha2::{Digest as _, Sha256};

use crate::boxes::{self, Toolchains};
use crate::repo::Repo;
use crate::task::Task;

/// File that marks a complete environment.
const DONE: &str = ".roleos-done";

/// All environments of a user.
#[derive(Clone, Debug)]
pub struct Environments {
    root: PathBuf,
    tools: Toolchains,
}

impl Environments {
    /// Opens the environments below a folder.
    #[must_use]
    pub fn at(root: &Path, tools: Toolchains) -> Self {
        Self {
            root: root.to_owned(),
            tools,
        }
    }

    /// Returns the toolchains for environments.
    #[must_use]
    pub fn tools(&self) -> &Toolchains {
        &self.tools
    }

    /// Returns the folder of a task's environment, created if missing; `None` if the task needs none.
    ///
    /// # Errors
    /// It cannot be created; the error is the reason.
    pub fn ready(&self, task: &Task, repo: &Repo) -> Result<Option<PathBuf>, String> {
        if task.environment.setup.is_empty() {
            return Ok(None);
        }
        let key_files: Vec<(&String, Vec<u8>)> = task
            .environment
            .key
            .iter()
            .filter_map(|path| Some((path, repo.file(&task.base_tree, path)?)))
            .collect();
        let folder = self.root.join(self.key(task, &key_files));
        if folder.join(DONE).exists() {
            return Ok(Some(folder));
        }
        fs::create_dir_all(&self.root).map_err(|error| error.to_string())?;
        let _lock = Lock::take_patiently(&folder.with_extension("lock"))
            .map_err(|error| base::said(&error))?;
        if folder.join(DONE).exists() {
            return Ok(Some(folder));
        }
        let making = folder.with_extension("making");
        fs::remove_dir_all(&making).ok();
        for (path, bytes) in &key_files {
            files::write_plainly(&making.join(path), bytes).map_err(|error| base::said(&error))?;
        }
        fs::create_dir_all(&making).map_err(|error| error.to_string())?;
        boxes::run_setup(&self.tools, &making, &task.environment.setup)?;
        files::write_plainly(&making.join(DONE), b"").map_err(|error| base::said(&error))?;
        fs::rename(&making, &folder).map_err(|error| error.to_string())?;
        Ok(Some(folder))
    }

    fn key(&self, task: &Task, files: &[(&String, Vec<u8>)]) -> String {
        let mut hash = Sha256::new();
        let parts = [
            task.environment.setup.as_bytes(),
            self.tools.facts.as_bytes(),
        ];
        let files = files
            .iter()
            .flat_map(|(path, bytes)| [path.as_bytes(), bytes]);
        for part in parts.into_iter().chain(files) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex::encode(hash.finalize()).chars().take(32).collect()
    }
}
