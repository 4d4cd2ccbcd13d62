//! A second copy of the trust store's records, in another folder of the user, from which a record that is gone comes back.
//!
//! An agent's command that removes the trust store would otherwise remove what is known of the files that it changed. The
//! copy is no further proof: a program of the same user can remove both, and then the records are missing in both.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{self, FileError, Privacy};

/// The copy of one trust store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCopy {
    state: PathBuf,
    folder: PathBuf,
}

impl SecondCopy {
    /// Returns the copy of the trust store in the folder `state`: `~/.local/share/roleos/trust` for
    /// `~/.local/state/roleos`, else a hidden folder beside it.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        let name = state.file_name().unwrap_or_default().to_string_lossy();
        let parent = files::parent(state);
        let folder = match parent.parent() {
            Some(above) if parent.ends_with(".local/state") => {
                above.join("share").join(&*name).join("trust")
            }
            _ => parent.join(format!(".{name}-copy")),
        };
        Self {
            state: state.to_owned(),
            folder,
        }
    }

    /// Returns the folder of the copy.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns where the copy of a record lies.
    #[must_use]
    pub fn path(&self, record: &Path) -> Option<PathBuf> {
        let below = record.strip_prefix(&self.state).ok()?;
        Some(self.folder.join(below))
    }

    /// Keeps the content of a record. A copy that cannot be written is missed only when the record is gone as well.
    pub fn keep(&self, record: &Path, bytes: &[u8]) {
        let Some(path) = self.path(record) else {
            return;
        };
        let written = files::write_plainly(&path, bytes).or_else(|_| {
            files::make_directory(files::parent(&path), Privacy::Secret)?;
            files::write_plainly(&path, bytes)
        });
        if written.is_err() {
            // A part of a copy is none.
            fs::remove_file(&path).ok();
        }
    }

    /// Reads a record. One that is gone is put back from its copy.
    ///
    /// # Errors
    /// The record cannot be read, or there is neither it nor a copy.
    pub fn read(&self, record: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        let missing = match files::read(record, limit) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => error,
            read => return read,
        };
        let Some(bytes) = self
            .path(record)
            .and_then(|path| files::read(&path, limit).ok())
        else {
            return Err(missing);
        };
        files::make_directory(&self.state, Privacy::Secret)?;
        files::make_directory(files::parent(record), Privacy::Secret)?;
        files::write(record, &bytes, Privacy::Secret)?;
        Ok(bytes)
    }

    /// Removes the copy of a record that its owner removes.
    pub fn remove(&self, record: &Path) {
        if let Some(path) = self.path(record) {
            fs::remove_file(path).ok();
        }
    }

    /// Returns `true` if a record is gone and its copy is there.
    #[must_use]
    pub fn is_lost(&self, record: &Path) -> bool {
        let is_gone = |path: &Path| matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound);
        is_gone(record) && self.path(record).is_some_and(|path| path.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_where_one_command_does_not_reach_both() {
        for (state, expected) in [
            ("/h/.local/state/roleos", "/h/.local/share/roleos/trust"),
            ("/x/st/roleos", "/x/st/.roleos-copy"),
        ] {
            assert_eq!(
                SecondCopy::of(Path::new(state)).folder(),
                Path::new(expected)
            );
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that writes a throwaway file"
    )]
    fn a_record_that_is_gone_comes_back_and_one_that_was_removed_on_purpose_does_not() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("roleos");
        let copy = SecondCopy::of(&state);
        let record = state.join("workspaces/a.json");
        assert!(copy.read(&record, 100).is_err());
        copy.keep(&record, b"1");
        assert!(copy.is_lost(&record));
        assert_eq!(copy.read(&record, 100).unwrap(), b"1");
        assert_eq!(fs::read(&record).unwrap(), b"1");
        assert!(!copy.is_lost(&record));
        fs::write(&record, "2").unwrap();
        assert_eq!(
            copy.read(&record, 100).unwrap(),
            b"2",
            "the record itself counts"
        );
        fs::remove_dir_all(&state).unwrap();
        copy.remove(&record);
        assert!(copy.read(&record, 100).is_err());
    }
}
