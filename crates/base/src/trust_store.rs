//! The user's trust store: a folder outside every workspace that records what this user confirmed.
//!
//! A file in a workspace can come with a clone, an archive or an agent's tool call. A file here cannot: the folder
//! belongs to the user (mode 0700) and the gate refuses writes by agents. Each record is one JSON file.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::environment::Environment;
use crate::files::{self, Action, FileError, Lock, Privacy};
use crate::sealed_files;
use crate::second_copy::SecondCopy;

/// Longest record that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// The folder, which need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustStore {
    folder: PathBuf,
    copy: SecondCopy,
}

impl TrustStore {
    /// Returns the store of this user, or `None` if the user has no home directory.
    #[must_use]
    pub fn of(environment: &Environment) -> Option<Self> {
        environment.state.as_deref().map(Self::at)
    }

    /// Returns the store in this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            copy: SecondCopy::of(folder),
            folder: folder.to_owned(),
        }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads a record; a missing one is `None`.
    ///
    /// # Errors
    /// The record cannot be read or is damaged. Then it confirms nothing.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FileError> {
        let path = self.folder.join(name);
        match self.copy.read(&path, MAX_FILE) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| FileError::new(Action::Read, &path, error.into())),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a record and its copy.
    pub fn remove(&self, name: &str) {
        let path = self.folder.join(name);
        // A remaining record makes its subject look rolled back, which is the safe side.
        sealed_files::announce(Some(&self.folder), &path, None).ok();
        self.copy.remove(&path);
        std::fs::remove_file(path).ok();
    }

    /// Changes a record under the store's lock: `change` receives the present value and returns the new one.
    ///
    /// # Errors
    /// The record is damaged, or the folder cannot be written.
    pub fn update<T: DeserializeOwned + Serialize>(
        &self,
        name: &str,
        change: impl FnOnce(Option<T>) -> T,
    ) -> Result<(), FileError> {
        let path = self.folder.join(name);
        files::make_directory(&self.folder, Privacy::Secret)?;
        files::make_directory(files::parent(&path), Privacy::Secret)?;
        let _alone = Lock::take(&self.folder.join(".lock"))?;
        let mut bytes = serde_json::to_vec_pretty(&change(self.read(name)?))
            .map_err(|error| FileError::new(Action::Write, &path, error.into()))?;
        bytes.push(b'\n');
        if files::read(&path, MAX_FILE).is_ok_and(|present| present == bytes) {
            // The store may be older than the copies.
            self.copy.keep(&path, &bytes);
            return Ok(());
        }
        sealed_files::announce(Some(&self.folder), &path, Some(&bytes))?;
        files::write(&path, &bytes, Privacy::Secret)?;
        self.copy.keep(&path, &bytes);
        Ok(())
    }
}
