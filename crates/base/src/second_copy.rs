//! A second copy of the trust store's records, in another folder of the user, from which a missing record is restored.
//!
//! An agent's command that removes the trust store would otherwise remove the records of the files that it changed. The
//! copy is not further proof: a program of the same user can remove both, and then the records are missing in both.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

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

    /// Returns the path of a record's copy.
    #[must_use]
    pub fn path(&self, record: &Path) -> Option<PathBuf> {
        let below = record.strip_prefix(&self.state).ok()?;
        Some(self.folder.join(below))
    }

    /// Stores a copy of a record. A failure matters only if the record is lost as well.
    pub fn keep(&self, record: &Path, bytes: &[u8]) {
        let Some(path) = self.path(record) else {
            return;
        };
        if files::write_plainly(&path, bytes).is_err() {
            // A partial copy is not used.
            fs::remove_file(&path).ok();
        }
    }

    /// Reads a record. A missing or empty one is restored from its copy, even if its folder was replaced by something
    /// else.
    ///
    /// # Errors
    /// The record cannot be read, or neither it nor a copy exists.
    pub fn read(&self, record: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        let read = files::read(record, limit);
        match &read {
            Ok(bytes) if !bytes.is_empty() => return read,
            Err(_) if !self.is_gone(record) => return read,
            _ => {}
        }
        let copy = self.path(record);
        let Some(bytes) = copy.and_then(|path| files::read(&path, limit).ok()) else {
            return read;
        };
        if let Some(obstacle) = self.obstacle(record) {
            fs::remove_file(obstacle).ok();
        }
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

    /// Returns `true` if a record is missing and its copy exists.
    #[must_use]
    pub fn is_lost(&self, record: &Path) -> bool {
        self.is_gone(record) && self.path(record).is_some_and(|path| path.is_file())
    }

    fn is_gone(&self, record: &Path) -> bool {
        let facts = fs::symlink_metadata(record);
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        facts.as_ref().is_err_and(is_missing) || self.obstacle(record).is_some()
    }

    /// Returns the file or dangling link in the place of a folder of the trust store.
    fn obstacle<'r>(&self, record: &'r Path) -> Option<&'r Path> {
        let above = record.ancestors().skip(1);
        let mut inside = above.take_while(|folder| folder.starts_with(&self.state));
        inside.find(|folder| fs::symlink_metadata(folder).is_ok() && !folder.is_dir())
    }
}

/// Longest record that is held.
const MAX_HELD: u64 = 16 * 1024 * 1024;

/// Copies of records in memory, while a command could remove the records and their copies at the same time.
#[derive(Debug)]
pub struct HeldCopies {
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Records that only an attack removes.
    vital: Vec<PathBuf>,
}

impl SecondCopy {
    /// Reads copies into memory: `vital` records, and the content of a folder of records.
    #[must_use]
    pub fn hold(&self, vital: &[PathBuf], folder: &Path) -> HeldCopies {
        let vital: Vec<PathBuf> = vital.iter().filter_map(|path| self.path(path)).collect();
        let below = self.path(folder).into_iter();
        let below = below.flat_map(|folder| WalkDir::new(folder).into_iter().flatten());
        let below = below.filter(|entry| entry.file_type().is_file());
        let below = below.map(DirEntry::into_path);
        let below = below.filter(|path| !vital.contains(path));
        let paths = vital.iter().cloned().chain(below);
        let files =
            paths.filter_map(|path| Some((path.clone(), files::read(&path, MAX_HELD).ok()?)));
        HeldCopies {
            files: files.collect(),
            vital,
        }
    }
}

impl HeldCopies {
    /// Writes the copies again if a vital one is missing. The records are then restored from them.
    pub fn put_back(self) {
        let is_held = |path: &&PathBuf| self.files.iter().any(|(held, _)| held == *path);
        let mut vital = self.vital.iter().filter(is_held);
        if vital.all(|path| path.exists()) {
            return;
        }
        for (path, bytes) in self.files.iter().filter(|(path, _)| !path.exists()) {
            // A failed copy is lost, as without this.
            files::write_plainly(path, bytes).ok();
        }
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
        for (place, is_link) in [
            (&state, false),
            (&state, true),
            (&state.join("workspaces"), false),
        ] {
            copy.keep(&record, b"3");
            fs::remove_dir_all(place).unwrap();
            match is_link {
                true => std::os::unix::fs::symlink("/nowhere", place).unwrap(),
                false => fs::write(place, "x").unwrap(),
            }
            assert!(copy.is_lost(&record));
            assert_eq!(copy.read(&record, 100).unwrap(), b"3");
        }
        fs::write(&record, "").unwrap();
        assert_eq!(
            copy.read(&record, 100).unwrap(),
            b"3",
            "an empty record is none"
        );
        fs::remove_dir_all(&state).unwrap();
        copy.remove(&record);
        assert!(copy.read(&record, 100).is_err());
    }

    #[test]
    fn held_copies_come_back_when_a_vital_one_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("roleos");
        let copy = SecondCopy::of(&state);
        let [vital, other] = ["key", "a/b/c"].map(|name| state.join(name));
        copy.keep(&vital, b"1");
        copy.keep(&other, b"2");
        copy.hold(std::slice::from_ref(&vital), &state.join("a"))
            .put_back();
        let held = copy.hold(std::slice::from_ref(&vital), &state.join("a"));
        copy.remove(&other);
        held.put_back();
        assert!(copy.read(&other, 9).is_err(), "its owner removed it");
        copy.keep(&other, b"2");
        let held = copy.hold(std::slice::from_ref(&vital), &state.join("a"));
        fs::remove_dir_all(copy.folder()).unwrap();
        held.put_back();
        assert_eq!(copy.read(&vital, 9).unwrap(), b"1");
        assert_eq!(copy.read(&other, 9).unwrap(), b"2");
    }
}
