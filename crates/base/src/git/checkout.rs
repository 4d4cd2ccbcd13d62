//! A checkout of one commit in a separate repository, for running tests again.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::settings::Settings;
use super::{Git, GitError};
use crate::files;
use crate::repository::Location;

/// Longest list of shallow commits that is copied.
const MAX_SHALLOW: u64 = 64 * 1024 * 1024;

/// A checkout of one commit in a separate directory, removed when dropped.
///
/// It is a repository that borrows the objects and copies the refs of the other one. It has none of its settings, so
/// the checkout runs no filter and no hook, and a test that commits or tags does not change the user's repository.
#[derive(Debug)]
pub struct Checkout {
    directory: tempfile::TempDir,
}

impl Checkout {
    /// Checks out `commit` of `repository` into a fresh temporary directory.
    ///
    /// # Errors
    /// The repository has no such commit, or the checkout fails.
    pub fn new(repository: &Path, commit: &str) -> Result<Self, GitError> {
        let git = Git::at(repository)?;
        // `--end-of-options` keeps a commit name that starts with a dash from being an option.
        let wanted = format!("{commit}^{{commit}}");
        let commit = git.line(["rev-parse", "--verify", "--end-of-options", &wanted])?;
        let refs = git.run(["for-each-ref", "--format=%(objectname) %(refname)"], &[])?;
        let settings = Settings::read(&git.location().top)?;
        let fail = |error: io::Error| GitError::new("checkout", &error.to_string());
        let checkout = Self {
            directory: tempfile::Builder::new()
                .prefix("roleos-rerun-")
                .tempdir()
                .map_err(fail)?,
        };
        checkout
            .write_repository(git.location(), &settings, &commit, &refs)
            .map_err(fail)?;
        Git::at(&checkout.path())?.run(["read-tree", "--reset", "-u", &commit], &[])?;
        Ok(checkout)
    }

    /// Returns the directory of the files.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    /// Applies a unified diff. An empty diff changes nothing.
    ///
    /// # Errors
    /// The diff does not apply.
    pub fn apply(&self, diff: &[u8]) -> Result<(), GitError> {
        if diff.trim_ascii().is_empty() {
            return Ok(());
        }
        Git::at(&self.path())?.run(["apply", "--whitespace=nowarn", "-"], diff)?;
        Ok(())
    }

    fn write_repository(
        &self,
        from: &Location,
        settings: &Settings,
        commit: &str,
        refs: &[u8],
    ) -> io::Result<()> {
        let git_dir = self.path().join(".git");
        fs::create_dir_all(git_dir.join("objects/info"))?;
        fs::create_dir_all(git_dir.join("refs"))?;
        let put = |name: &str, bytes: &[u8]| File::create(git_dir.join(name))?.write_all(bytes);
        // Refs are copied as files, for any ref storage of the repository.
        let format: String = settings
            .format_lines()
            .lines()
            .filter(|line| !line.contains("refstorage"))
            .map(|line| format!("{line}\n"))
            .collect();
        let config = format!("{format}{}\tbare = false\n", settings.content_lines());
        put("config", config.as_bytes())?;
        put("HEAD", format!("{commit}\n").as_bytes())?;
        put("packed-refs", refs)?;
        let objects = from.common_dir.join("objects");
        let mut alternates = super::quoted(&objects);
        alternates.push("\n");
        put("objects/info/alternates", alternates.as_encoded_bytes())?;
        match files::read(&from.common_dir.join("shallow"), MAX_SHALLOW) {
            Ok(shallow) => put("shallow", &shallow),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.source),
        }
    }
}
