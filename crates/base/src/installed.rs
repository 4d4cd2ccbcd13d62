//! The record of inserted text, `.role-os/installed.json`, so that it can be removed again byte for byte.
//!
//! It contains only our own text, never a copy of other settings, which may contain secrets.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::files::{self, FileError, Privacy};
use crate::sealed_files;
use crate::workspace::Workspace;

use crate::insertion::{self, Insertion};

const FORMAT: &str = "roleos-installed/v1";
const MAX_FILE: u64 = 4 * 1024 * 1024;
const FILE: &str = "installed.json";

/// All inserted texts, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    format: String,
    files: Vec<Put>,
    /// Time of the first sealed bundle, so that a missing ledger is noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// The text inserted into one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// The file, as an absolute path.
    pub path: String,
    /// Set if the file did not exist before.
    pub made: bool,
    /// SHA-256 of the file afterwards, in hexadecimal digits.
    pub sha256: String,
    pub insertions: Vec<Insertion>,
}

impl Installed {
    /// Returns `true` if there is a record.
    #[must_use]
    pub fn exists(workspace: &Workspace) -> bool {
        let facts = files::metadata(&workspace.role_os_dir().join(FILE));
        !matches!(facts, Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Reads the record. A missing or damaged one is empty: entries are then found by their content.
    #[must_use]
    pub fn read(workspace: &Workspace) -> Self {
        let read = files::read(&workspace.role_os_dir().join(FILE), MAX_FILE);
        let parsed = read
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        parsed
            .filter(|record| record.format == FORMAT)
            .unwrap_or_default()
    }

    /// Returns the path and the new text of the record; no text if it is empty.
    #[must_use]
    pub fn file(&self, workspace: &Workspace) -> (std::path::PathBuf, Option<Vec<u8>>) {
        let path = workspace.role_os_dir().join(FILE);
        if self.files.is_empty() {
            return (path, None);
        }
        let record = Self {
            format: FORMAT.to_owned(),
            files: self.files.clone(),
            sealed: self.sealed.clone(),
        };
        let mut text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        text.push(b'\n');
        (path, Some(text))
    }

    /// Returns `true` if a bundle was sealed in this workspace.
    #[must_use]
    pub fn has_sealed(&self) -> bool {
        self.sealed.is_some()
    }

    /// Adds to the record, if there is one, that a bundle was sealed.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn note_seal(workspace: &Workspace) -> Result<(), FileError> {
        let mut record = Self::read(workspace);
        if record.files.is_empty() || record.sealed.is_some() {
            return Ok(());
        }
        record.sealed = Some(clock::text(clock::now_ns()));
        let (path, text) = record.file(workspace);
        let text = text.unwrap_or_default();
        sealed_files::announce(workspace.state(), &path, Some(&text))?;
        files::write(&path, &text, Privacy::Secret)
    }

    /// Records the text inserted into a file, in place of the earlier record.
    pub fn put(&mut self, path: &Path, made: bool, after: &str, insertions: Vec<Insertion>) {
        self.forget(path);
        self.files.push(Put {
            path: path.to_string_lossy().into_owned(),
            made,
            sha256: hex::encode(crate::digest(after.as_bytes())),
            insertions,
        });
    }

    /// Removes a file from the record.
    pub fn forget(&mut self, path: &Path) {
        self.files.retain(|put| Path::new(&put.path) != path);
    }

    /// Returns the files with inserted text.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|put| Path::new(&put.path))
    }

    /// Returns the text inserted into a file.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<&Put> {
        self.files.iter().find(|put| Path::new(&put.path) == path)
    }

    /// Returns the text from before, if the file is unchanged since; the inner `None` means that the file did not
    /// exist.
    #[must_use]
    pub fn before(&self, path: &Path, now: &str) -> Option<Option<String>> {
        let put = self.of(path)?;
        let unchanged = put.sha256 == hex::encode(crate::digest(now.as_bytes()));
        let before = unchanged.then(|| insertion::undo(now, &put.insertions))??;
        Some((!put.made || !before.is_empty()).then_some(before))
    }
}

/// Reads a text file; a missing one is `None`.
///
/// # Errors
/// It cannot be read, is longer than 4 MiB, or is not text.
pub fn read_text(path: &Path) -> Result<Option<String>, FileError> {
    let bytes = match files::read(path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8");
        FileError::new(files::Action::Read, path, source)
    })
}
