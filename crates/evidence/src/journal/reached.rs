//! Notes how far the journal of each session has come, so that lines which a program cut off, exchanged or removed are
//! noticed when the journal is opened again.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use base::files::{self, FileError};
use base::sealed_files::SealedFiles;
use base::workspace::Workspace;

use super::SessionId;

/// Position that a journal had reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reached {
    pub(crate) session: String,
    /// Number of its lines.
    pub(crate) lines: u64,
    /// Their length in bytes.
    pub(crate) length: u64,
    /// SHA-256 of the last of them, in hexadecimal digits.
    pub(crate) hash: String,
}

/// The notes of one workspace, in the user's trust store.
#[derive(Debug)]
pub struct JournalNotes {
    store: SealedFiles,
}

impl JournalNotes {
    /// Opens the notes, creates them if missing. Returns `None` if the user has no trust store.
    ///
    /// # Errors
    /// The trust store cannot be read or created.
    pub fn open(workspace: &Workspace) -> Result<Option<Self>, FileError> {
        let store = SealedFiles::open(workspace)?;
        Ok(store.map(|store| Self { store }))
    }

    /// Opens the notes, if the user's trust store has any.
    #[must_use]
    pub fn existing(workspace: &Workspace) -> Option<Self> {
        SealedFiles::has_key(workspace.state()?).then(|| Self::open(workspace).ok().flatten())?
    }

    /// Returns the note of a session. A note that a crash tore is restored from its copy, which is written after it and
    /// covers the same lines or fewer.
    pub(crate) fn read(&self, session: &SessionId) -> Result<Option<Reached>, FileError> {
        let path = self.path(session);
        match self.store.unseal(&path) {
            Err(_) if self.store.recover(&path) => self.store.unseal(&path),
            read => read,
        }
    }

    /// Overwrites the note of a session without waiting for the disk.
    pub(crate) fn write(&self, session: &SessionId, reached: &Reached) -> Result<(), FileError> {
        let path = self.path(session);
        let bytes = self.store.sealed(&path, reached)?;
        files::write_plainly(&path, &bytes)?;
        self.store.copy().keep(&path, &bytes);
        Ok(())
    }

    /// Forgets a session, because its lines are in a bundle.
    pub fn forget(&self, session: &SessionId) {
        // A note that stays is removed with the next seal.
        self.store.copy().remove(&self.path(session));
        fs::remove_file(self.path(session)).ok();
    }

    /// Returns the sessions that have a note.
    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let notes = entries.filter_map(|entry| {
            let reached: Option<Reached> = self.store.unseal(&entry.path()).ok()?;
            Some(SessionId::new(&reached?.session))
        });
        notes.collect()
    }

    fn folder(&self) -> PathBuf {
        self.store.folder("journals")
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        self.folder().join(session.as_str())
    }
}
