//! Seals the sources of evidence about adapters: records of exams, the head of the run log, the state.
//!
//! A seal is a keyed hash; the key lies in the user's trust store, which the gate keeps from agents. In an initialised
//! workspace only sealed evidence counts; elsewhere all evidence counts.
//!
//! A seal is valid for ever, so the trust store also records a head for each name: its newest evidence. Restored older
//! evidence is sealed, but does not count.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files::{self, FileError};
use crate::sealed_files::{SealedFiles, short};
use crate::trust::{Doubt, Trust};
use crate::workspace::Workspace;

/// Most attempts to read a head that changes meanwhile.
const MAX_LOOKS: usize = 8;

/// The folder of the heads.
const HEADS: &str = "heads";

fn head_path(store: &SealedFiles, name: &str) -> PathBuf {
    store.folder(HEADS).join(short(name.as_bytes()))
}

/// Seals and checks evidence of one workspace; without a workspace, it does neither.
#[derive(Clone, Debug, Default)]
pub struct Seals {
    workspace: Option<Workspace>,
    store: Arc<OnceLock<Option<SealedFiles>>>,
}

impl Seals {
    /// Returns the seals of a workspace. Nothing is opened before it is needed.
    #[must_use]
    pub fn of(workspace: &Workspace) -> Self {
        Self {
            workspace: Some(workspace.clone()),
            store: Arc::default(),
        }
    }

    /// Returns `true` if only sealed evidence counts.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        let workspace = self.workspace.as_ref();
        workspace.is_some_and(|workspace| Trust::of(workspace).is_initialised())
    }

    /// Returns the seal of a content under a name; `None` if the user has no trust store.
    #[must_use]
    pub fn seal(&self, name: &str, content: &[u8]) -> Option<String> {
        let (workspace, store) = (self.workspace.as_ref()?, self.store()?);
        // The seal covers the workspace, so that evidence of one does not count in another.
        Some(store.mac(&workspace.root().join(Path::new(name)), content))
    }

    fn store(&self) -> Option<&SealedFiles> {
        let workspace = self.workspace.as_ref()?;
        let open = || SealedFiles::open(workspace).ok().flatten();
        self.store.get_or_init(open).as_ref()
    }

    /// Records the newest evidence of a name. Does nothing if the user has no trust store.
    ///
    /// # Errors
    /// The trust store cannot be written.
    pub fn set_head<T: Serialize>(&self, name: &str, head: &T) -> Result<(), FileError> {
        let Some(store) = self.store() else {
            return Ok(());
        };
        let path = head_path(store, name);
        let bytes = store.sealed(&path, head)?;
        files::write_plainly(&path, &bytes)?;
        store.copy().keep(&path, &bytes);
        Ok(())
    }

    /// Returns the recorded newest evidence of a name.
    ///
    /// # Errors
    /// The record exists and cannot be used.
    pub fn head<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Doubt> {
        let Some(store) = self.store() else {
            return Ok(None);
        };
        let path = head_path(store, name);
        let mut looks = (0..MAX_LOOKS).map(|_| store.unseal(&path));
        // It may have been in the middle of a write.
        let head = looks.find_map(Result::ok);
        head.ok_or(Doubt::Unreadable)
    }

    /// Replaces evidence with a mark. Until `write` is done, both marks count as the newest, so that a crash leaves one
    /// of them.
    ///
    /// # Errors
    /// The trust store cannot be written, or `write` failed.
    pub fn replace<R>(
        &self,
        name: &str,
        mark: &str,
        write: impl FnOnce() -> Result<R, FileError>,
    ) -> Result<R, FileError> {
        let mut marks = self.marks(name).unwrap_or_default();
        if marks == [mark] {
            return write();
        }
        marks.push(mark.to_owned());
        self.set_head(name, &marks)?;
        let done = write()?;
        self.set_head(name, &[mark])?;
        Ok(done)
    }

    /// Returns the marks of the newest evidence of a name; none if nothing was recorded.
    ///
    /// # Errors
    /// The record exists and cannot be used.
    pub fn marks(&self, name: &str) -> Result<Vec<String>, Doubt> {
        Ok(self.head(name)?.unwrap_or_default())
    }

    /// Checks that evidence with one of these marks is the newest, if only sealed evidence counts. Evidence that was
    /// never recorded counts.
    ///
    /// # Errors
    /// It does not count; the error is the reason.
    pub fn check_newest(&self, name: &str, marks: &[&str]) -> Result<(), Doubt> {
        if !self.is_enforced() {
            return Ok(());
        }
        let newest = self.marks(name)?;
        let is_newest = newest.iter().any(|newest| marks.contains(&newest.as_str()));
        match is_newest || newest.is_empty() {
            true => Ok(()),
            false => Err(Doubt::Older),
        }
    }

    /// Removes the heads of a workspace that its owner removes.
    pub fn forget_heads(&self) {
        if let Some(store) = self.store() {
            let folder = store.folder(HEADS);
            let copy = store.copy().path(&folder);
            for folder in [Some(folder), copy].into_iter().flatten() {
                // A remaining head only makes less evidence count.
                std::fs::remove_dir_all(folder).ok();
            }
        }
    }

    /// Checks that `roleos` wrote this content here, if only sealed evidence counts.
    ///
    /// # Errors
    /// It does not count; the error is the reason.
    pub fn check(&self, name: &str, content: &[u8], seal: Option<&str>) -> Result<(), Doubt> {
        if !self.is_enforced() {
            return Ok(());
        }
        match (seal, self.seal(name, content)) {
            (None, _) => Err(Doubt::NotConfirmed),
            (Some(_), None) => Err(Doubt::Unreadable),
            (Some(seal), Some(right)) if seal == right => Ok(()),
            (Some(_), Some(_)) => Err(Doubt::Changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::trust;

    #[test]
    fn only_sealed_content_counts_in_an_initialised_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir(&root).unwrap();
        let environment = Environment {
            state: Some(folder.path().join("state")),
            ..Environment::default()
        };
        let workspace = Workspace::find(Some(&root), &environment).unwrap();
        let seals = Seals::of(&workspace);
        assert_eq!(seals.check("a", b"x", None), Ok(()), "not initialised");
        let seal = seals.seal("a", b"x").unwrap();
        trust::initialise(&workspace).unwrap();
        for (name, content, seal, expected) in [
            ("a", "x", Some(seal.as_str()), Ok(())),
            ("a", "y", Some(seal.as_str()), Err(Doubt::Changed)),
            ("b", "x", Some(seal.as_str()), Err(Doubt::Changed)),
            ("a", "x", None, Err(Doubt::NotConfirmed)),
        ] {
            let found = seals.check(name, content.as_bytes(), seal);
            assert_eq!(found, expected, "{name} {content}");
        }
        let again = Seals::of(&workspace);
        assert_eq!(
            again.check("a", b"x", Some(&seal)),
            Ok(()),
            "another process"
        );
        assert_eq!(Seals::default().seal("a", b"x"), None);
        assert_eq!(again.head::<u64>("a"), Ok(None));
        again.set_head("a", &100_u64).unwrap();
        again.set_head("a", &7_u64).unwrap();
        assert_eq!(seals.head("a"), Ok(Some(7_u64)));
        assert_eq!(seals.head::<u64>("b"), Ok(None), "of another name");
        let path = head_path(seals.store().unwrap(), "a");
        files::write_plainly(&path, b"7").unwrap();
        assert_eq!(seals.head::<u64>("a"), Err(Doubt::Unreadable));
        seals.forget_heads();
        for (mark, writes) in [("1", true), ("2", true), ("3", false)] {
            let failed = || FileError::new(files::Action::Write, &path, std::io::Error::other(""));
            let found = seals.replace("c", mark, || writes.then_some(()).ok_or_else(failed));
            assert_eq!(found.is_ok(), writes);
        }
        for (mark, expected) in [("1", Err(Doubt::Older)), ("2", Ok(())), ("3", Ok(()))] {
            assert_eq!(seals.check_newest("c", &[mark]), expected, "{mark}");
        }
        assert_eq!(seals.check_newest("d", &["1"]), Ok(()), "not recorded");
        assert_eq!(seals.head::<u64>("a"), Ok(None));
        Seals::default().set_head("a", &1_u64).unwrap();
    }
}
