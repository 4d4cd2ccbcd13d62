//! Installed roles on disk: `.role-os/roles/<slug>.<language>.yaml`, one file per role, written as a whole under a
//! lock.

use std::path::{Path, PathBuf};

use ::catalog::contents::Contents;
use ::catalog::install::{
    self, Import, NotStored, Policy, Request, Unavailable, Update, UpdateError,
};
use ::catalog::installed::Installed;
use ::catalog::yaml::MAX_BYTES;

use base::files::{self, Action, FileError, Lock, Privacy};
use base::recorded;

/// Directory of installed roles.
#[derive(Clone, Debug)]
pub struct Roles {
    folder: PathBuf,
}

/// A role and its file.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Name of the file.
    pub file: String,
    /// Content of the file, or why it is not a role.
    pub role: Result<Installed, String>,
}

/// Error of an import or an update.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RolesError {
    #[error(transparent)]
    File(#[from] FileError),
    /// The catalog is not available.
    #[error("the catalog cannot be installed from")]
    Unavailable(Unavailable),
}

/// Result of an update for one role.
#[derive(Debug)]
pub struct Updated {
    /// Name of the file.
    pub file: String,
    /// The role before the update.
    pub before: Installed,
    /// Result of the update, or the error.
    pub outcome: Result<Update, String>,
}

/// Result of a removal for one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Name of the file.
    pub file: String,
    /// Set if it was edited by hand, so that it still exists.
    pub kept: bool,
}

impl Roles {
    /// Creates the directory's handle; the directory need not exist yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns all roles by the names of their files, unreadable ones included.
    pub fn list(&self) -> Result<Vec<Stored>, FileError> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let fail = |source| FileError::new(Action::Read, &self.folder, source);
        let mut found = Vec::new();
        for entry in files::read_dir(&self.folder).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            let name = name.to_string_lossy().into_owned();
            if name.ends_with(".yaml") && !name.starts_with('.') {
                found.push(name);
            }
        }
        found.sort();
        Ok(found.into_iter().map(|file| self.read(file)).collect())
    }

    /// Returns the role of this name: by slug first, then by name. If it has several languages, the first file
    /// counts.
    #[must_use]
    pub fn find(&self, role: &str) -> Option<Installed> {
        let stored = self.list().ok()?;
        let roles = || stored.iter().filter_map(|stored| stored.role.as_ref().ok());
        let has_slug = |one: &&Installed| {
            one.source
                .as_ref()
                .is_some_and(|source| source.slug == role)
        };
        roles()
            .find(has_slug)
            .or_else(|| roles().find(|one| one.content.name == role))
            .cloned()
    }

    fn read(&self, file: String) -> Stored {
        let bytes = files::read(&self.folder.join(&file), MAX_BYTES as u64);
        let role = bytes
            .map_err(|error| error.source.to_string())
            .and_then(Installed::parse);
        Stored { file, role }
    }

    /// Imports from a catalog under the lock.
    pub fn import(&self, contents: &Contents, request: Request<'_>) -> Result<Import, RolesError> {
        let _lock = self.lock()?;
        let known: Vec<_> = self
            .list()?
            .into_iter()
            .filter_map(|one| one.role.ok())
            .collect();
        install::import(contents, &known, request, &mut |role| self.insert(role))
            .map_err(RolesError::Unavailable)
    }

    /// Inserts a role; never replaces a file, whatever its content.
    fn insert(&self, role: &Installed) -> Result<(), NotStored> {
        let failed = |what: &str| NotStored::Failed(what.to_owned());
        let name = role.source.as_ref().and_then(|source| source.file_name());
        let name = name.ok_or_else(|| failed("the slug is not safe in a path"))?;
        let path = self.folder.join(&name);
        if path.symlink_metadata().is_ok() {
            return Err(failed(
                "its file is there and is another role's, or cannot be read",
            ));
        }
        let text = role.print().map_err(NotStored::Failed)?;
        files::write(&path, text.as_bytes(), Privacy::Shared)
            .map_err(|error| NotStored::Failed(format!("{error}: {}", error.source)))?;
        recorded::mark();
        Ok(())
    }

    /// Updates the roles that `wanted` selects, one after another, under the lock. One that fails does not stop the
    /// rest.
    pub fn update(
        &self,
        contents: &Contents,
        policy: Policy,
        wanted: impl Fn(&Installed) -> bool,
    ) -> Result<Vec<Updated>, FileError> {
        let _lock = self.lock()?;
        let stored = self.list()?;
        let mut roles: Vec<_> = stored
            .into_iter()
            .filter_map(|one| Some((one.file, one.role.ok()?)))
            .collect();
        let mut done = Vec::new();
        for place in 0..roles.len() {
            let Some((file, before)) = roles.get(place).cloned() else {
                break;
            };
            if !wanted(&before) {
                continue;
            }
            let others = roles.iter().enumerate();
            let others = others
                .filter(|(other, _)| *other != place)
                .map(|(_, (_, role))| role);
            let outcome = install::update(contents, &before, others, policy);
            let outcome = outcome.map_err(|error| said(&error)).and_then(|outcome| {
                if let Update::Updated { role, .. } = &outcome {
                    let text = role.print()?;
                    files::write(&self.folder.join(&file), text.as_bytes(), Privacy::Shared)
                        .map_err(|error| format!("{error}: {}", error.source))?;
                    if let Some(slot) = roles.get_mut(place) {
                        slot.1.clone_from(role);
                    }
                }
                Ok(outcome)
            });
            done.push(Updated {
                file,
                before,
                outcome,
            });
        }
        Ok(done)
    }

    /// Removes the roles that `wanted` selects, under the lock. Returns the files. One that was edited stays unless
    /// `edited_too`, and is returned as kept.
    ///
    /// # Errors
    /// Fails if a file cannot be removed.
    pub fn remove(
        &self,
        wanted: impl Fn(&Installed) -> bool,
        edited_too: bool,
    ) -> Result<Vec<Removed>, FileError> {
        let _lock = self.lock()?;
        let mut done = Vec::new();
        for (file, role) in self.readable()?.filter(|(_, role)| wanted(role)) {
            let kept = role.is_edited() && !edited_too;
            let path = self.folder.join(&file);
            if !kept {
                let fail = |source| FileError::new(Action::Write, &path, source);
                files::remove_file(&path).map_err(fail)?;
            }
            done.push(Removed { file, kept });
        }
        Ok(done)
    }

    /// Enables or disables the roles that `wanted` selects, under the lock. Returns the files, and `true` for each
    /// that changed.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn enable(
        &self,
        wanted: impl Fn(&Installed) -> bool,
        enabled: bool,
    ) -> Result<Vec<(String, bool)>, FileError> {
        let _lock = self.lock()?;
        let mut done = Vec::new();
        for (file, mut role) in self.readable()?.filter(|(_, role)| wanted(role)) {
            let changes = role.enabled != enabled;
            if changes {
                role.enabled = enabled;
                let path = self.folder.join(&file);
                let fail = |why| FileError::new(Action::Write, &path, std::io::Error::other(why));
                let text = role.print().map_err(fail)?;
                files::write(&path, text.as_bytes(), Privacy::Shared)?;
            }
            done.push((file, changes));
        }
        Ok(done)
    }

    fn readable(&self) -> Result<impl Iterator<Item = (String, Installed)> + use<>, FileError> {
        let stored = self.list()?.into_iter();
        Ok(stored.filter_map(|one| Some((one.file, one.role.ok()?))))
    }

    fn lock(&self) -> Result<Lock, FileError> {
        files::make_directory(&self.folder, Privacy::Shared)?;
        Lock::take(&self.folder.join(".lock"))
    }
}

fn said(error: &UpdateError) -> String {
    match error {
        UpdateError::NoSource => "it came from no catalog".to_owned(),
        UpdateError::Unavailable(Unavailable::File(path, refusal)) => {
            format!("`{path}` of the catalog is {}", refusal.name())
        }
        UpdateError::Unfit(what) => what.clone(),
        _ => "the catalog cannot be installed from".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::catalog::catalog::Draft;
    use ::catalog::install::{Conflict, Models, Reason};
    use ::catalog::source::{File, Sources};

    fn draft(version: u32) -> Draft {
        let index = format!(
            "schemaVersion: 1\nbundles: [{{ id: a, name: {{}}, languages: [en], roles: [{{ slug: x, version: {version} }}] }}]"
        );
        let mut sources = Sources::new(File::of(index.into()));
        let text = format!(
            "schemaVersion: 1\nlanguage: en\nroles: [{{ slug: x, name: N, instructions: v{version} }}]"
        );
        sources.add("bundles/a/en.yaml".to_owned(), File::of(text.into()));
        Draft::read(sources)
    }

    const REQUEST: Request<'static> = Request {
        bundle: "a",
        language: "en",
        slugs: &[],
        conflict: Conflict::Skip,
        models: Models::Ignore,
    };
    const POLICY: Policy = Policy {
        overwrite: false,
        models: Models::Ignore,
    };

    #[test]
    fn a_role_is_installed_once_and_updated_in_place() {
        let guard = tempfile::tempdir().unwrap();
        let roles = Roles::new(guard.path().join("roles"));
        assert!(roles.list().unwrap().is_empty());
        assert_eq!(
            roles
                .import(draft(1).claims(), REQUEST)
                .unwrap()
                .created
                .len(),
            1
        );
        assert_eq!(
            roles
                .import(draft(1).claims(), REQUEST)
                .unwrap()
                .skipped
                .len(),
            1
        );
        let path = guard.path().join("roles/x.en.yaml");
        let mut text = std::fs::read_to_string(&path).unwrap();
        text = text.replace("enabled: true", "enabled: false") + "specialist:\n  a: b # c\n";
        files::write(&path, text.as_bytes(), Privacy::Shared).unwrap();
        let done = roles.update(draft(2).claims(), POLICY, |_| true).unwrap();
        assert!(matches!(done[0].outcome, Ok(Update::Updated { .. })));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("enabled: false") && text.ends_with("v2\nspecialist:\n  a: b # c\n"),
            "{text}"
        );
        files::write(
            &path,
            text.replace("v2", "mine").as_bytes(),
            Privacy::Shared,
        )
        .unwrap();
        let done = roles.update(draft(3).claims(), POLICY, |_| true).unwrap();
        assert_eq!(done[0].outcome, Ok(Update::Unchanged(Reason::LocalEdits)));
    }

    #[test]
    fn a_file_that_is_no_role_is_shown_and_never_replaced() {
        let guard = tempfile::tempdir().unwrap();
        let roles = Roles::new(guard.path().to_owned());
        let path = guard.path().join("x.en.yaml");
        files::write(&path, b"- broken", Privacy::Shared).unwrap();
        let done = roles.import(draft(1).claims(), REQUEST).unwrap();
        assert_eq!((done.created.len(), done.errors.len()), (0, 1));
        assert!(roles.list().unwrap()[0].role.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"- broken");
    }
}
