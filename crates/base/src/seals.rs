//! Seals what evidence of adapters is read from: records of exams, the head of the run log, the state.
//!
//! A seal is a keyed hash; the key lies in the user's trust store, which the gate keeps from agents. In an initialised
//! workspace only sealed evidence counts; elsewhere it counts as it is written.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::sealed_files::SealedFiles;
use crate::trust::{Doubt, Trust};
use crate::workspace::Workspace;

/// Seals and checks for one workspace; without one, it does neither.
#[derive(Clone, Debug, Default)]
pub struct Seals {
    workspace: Option<Workspace>,
    store: Arc<OnceLock<Option<SealedFiles>>>,
}

impl Seals {
    /// Returns those of a workspace. Nothing is opened before it is needed.
    #[must_use]
    pub fn of(workspace: &Workspace) -> Self {
        Self {
            workspace: Some(workspace.clone()),
            store: Arc::default(),
        }
    }

    /// Returns `true` if only what is sealed counts.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        let workspace = self.workspace.as_ref();
        workspace.is_some_and(|workspace| Trust::of(workspace).is_initialised())
    }

    /// Returns the seal of a content under a name; `None` where the user has no trust store.
    #[must_use]
    pub fn seal(&self, name: &str, content: &[u8]) -> Option<String> {
        let workspace = self.workspace.as_ref()?;
        let open = || SealedFiles::open(workspace).ok().flatten();
        let store = self.store.get_or_init(open).as_ref()?;
        // The workspace is covered, so that evidence of one does not count in another.
        Some(store.mac(&workspace.root().join(Path::new(name)), content))
    }

    /// Checks that `roleos` wrote this content here, where that is needed for it to count.
    ///
    /// # Errors
    /// Why it does not count.
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
    }
}
