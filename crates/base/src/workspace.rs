//! The workspace: its root folder, and the paths below it.
//!
//! Only finds and names; it creates nothing and reads no file's content.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The folder that makes its parent a workspace.
const ROLE_OS: &str = ".role-os";

/// An existing folder, by its real path, so that a link or a later `cd` cannot move it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    /// The folder of the user's trust store, if there is one.
    state: Option<PathBuf>,
}

impl Workspace {
    /// Finds the root: the caller's, else `ROLEOS_ROOT`, else the one around the current folder.
    ///
    /// # Errors
    /// The named folder, or the current one, is not a reachable folder.
    pub fn find(named: Option<&Path>, environment: &Environment) -> Result<Self, FindError> {
        let found = match named.or(environment.root.as_deref()) {
            Some(root) => Self::at(root),
            None => Self::around(Path::new(".")),
        };
        Ok(found?.trusted_by(environment))
    }

    /// Uses the trust store of `environment` for this workspace.
    #[must_use]
    pub fn trusted_by(self, environment: &Environment) -> Self {
        Self {
            state: environment.state.clone(),
            ..self
        }
    }

    /// Returns the folder of the user's trust store.
    #[must_use]
    pub fn state(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// Uses `root` as it is, without searching parent folders.
    ///
    /// # Errors
    /// It is not a reachable folder.
    pub fn at(root: &Path) -> Result<Self, FindError> {
        real_folder(root).map(|root| Self { root, state: None })
    }

    /// Searches upwards from `folder`: the nearest with `.role-os/`, else the git root, else `folder` itself.
    ///
    /// # Errors
    /// `folder` is not a reachable folder.
    pub fn around(folder: &Path) -> Result<Self, FindError> {
        let folder = real_folder(folder)?;
        let nearest =
            |holds: fn(&Path) -> bool| folder.ancestors().find(|ancestor| holds(ancestor));
        let root = nearest(holds_role_os)
            .or_else(|| nearest(holds_git))
            .unwrap_or(&folder)
            .to_owned();
        Ok(Self { root, state: None })
    }

    /// Returns the root itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `.role-os/`, the folder with all files of Role OS.
    #[must_use]
    pub fn role_os_dir(&self) -> PathBuf {
        self.root.join(ROLE_OS)
    }

    /// Returns `.role-os/config.toml`, the default settings file.
    #[must_use]
    pub fn config_path(&self) -> PathBuf {
        self.role_os_dir().join("config.toml")
    }

    /// Returns `.role-os/witness/`, with the bundles by year and month.
    #[must_use]
    pub fn witness_dir(&self) -> PathBuf {
        self.role_os_dir().join("witness")
    }

    /// Returns `.role-os/ledger/`, the Merkle log over the bundles.
    #[must_use]
    pub fn ledger_dir(&self) -> PathBuf {
        self.role_os_dir().join("ledger")
    }

    /// Returns `.role-os/roles/`, the installed roles.
    #[must_use]
    pub fn roles_dir(&self) -> PathBuf {
        self.role_os_dir().join("roles")
    }

    /// Returns `.role-os/sessions/`, the journals of the agents' sessions.
    #[must_use]
    pub fn sessions_dir(&self) -> PathBuf {
        self.role_os_dir().join("sessions")
    }

    /// Returns the effective settings file: the one that `ROLEOS_CONFIG` names, else the workspace's.
    #[must_use]
    pub fn settings_path(&self, environment: &Environment) -> PathBuf {
        let named = environment.config.clone();
        named.unwrap_or_else(|| self.config_path())
    }

    /// Returns `.claude/role-os/capabilities.json`, the grants.
    #[must_use]
    pub fn grants_path(&self) -> PathBuf {
        self.root.join(oversight::grants::MANIFEST)
    }

    /// Returns `.role-os/approvals/`, the refused acts that may be approved once.
    #[must_use]
    pub fn approvals_dir(&self) -> PathBuf {
        self.role_os_dir().join("approvals")
    }

    /// Returns `.role-os/receipts.jsonl`, the changes that a person made through us.
    #[must_use]
    pub fn receipts_path(&self) -> PathBuf {
        self.role_os_dir().join("receipts.jsonl")
    }

    /// Returns `.claude/role-os/tool-contracts.json`, the contracts of tool calls.
    #[must_use]
    pub fn contracts_path(&self) -> PathBuf {
        self.root.join(".claude/role-os/tool-contracts.json")
    }

    /// Returns `.role-os/keys/`, the secrets.
    #[must_use]
    pub fn keys_dir(&self) -> PathBuf {
        self.role_os_dir().join("keys")
    }
}

/// Error of finding the root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The path does not exist, or may not be followed.
    #[error("cannot open the workspace root `{path}`")]
    Unreachable {
        /// The path, as the caller named it.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The path is not a folder.
    #[error("the workspace root `{path}` is not a folder")]
    NotAFolder {
        /// The path, as the caller named it.
        path: PathBuf,
    },
}

impl FindError {
    /// Returns the remedy for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "name an existing folder with `--root` or `ROLEOS_ROOT`, or unset both to search upwards from the current folder"
    }
}

fn real_folder(path: &Path) -> Result<PathBuf, FindError> {
    let real = fs::canonicalize(path).map_err(|source| FindError::Unreachable {
        path: path.to_owned(),
        source,
    })?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(FindError::NotAFolder {
            path: path.to_owned(),
        })
    }
}

fn holds_role_os(folder: &Path) -> bool {
    folder.join(ROLE_OS).is_dir()
}

/// Returns `true` if the folder has an entry `.git`, which in a linked worktree or a submodule is a file.
fn holds_git(folder: &Path) -> bool {
    folder.join(".git").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates `layout` (a trailing slash makes a folder) and asserts that the search from `start` ends at `expected`.
    fn check(layout: &[&str], start: &str, expected: &str) {
        let (_guard, top) = made(layout);
        let found = Workspace::around(&top.join(start)).unwrap();
        assert_eq!(found.root(), top.join(expected));
    }

    fn made(layout: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let top = guard.path().canonicalize().unwrap();
        for entry in layout {
            let path = top.join(entry);
            if entry.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::File::create(path).unwrap();
            }
        }
        (guard, top)
    }

    #[test]
    fn nearest_role_os_wins_over_a_farther_one() {
        check(&[".role-os/", "a/.role-os/", "a/b/"], "a/b", "a");
    }

    #[test]
    fn role_os_above_wins_over_a_nearer_git_root() {
        check(&[".role-os/", "a/.git/", "a/b/"], "a/b", "");
    }

    #[test]
    fn git_root_is_next() {
        check(&["a/.git/", "a/b/c/"], "a/b/c", "a");
    }

    #[test]
    fn a_linked_worktree_is_a_git_root() {
        check(&["a/b/", "a/.git"], "a/b", "a");
    }

    #[test]
    fn a_file_called_role_os_makes_no_workspace() {
        check(&["a/b/.git/", "a/.role-os"], "a/b", "a/b");
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_itself_is_last() {
        // `/` has no parent, so the answer is always `/`.
        let found = Workspace::around(Path::new("/")).unwrap();
        assert_eq!(found.root(), Path::new("/"));
    }

    #[test]
    fn a_named_root_wins_over_the_variable_and_both_over_the_search() {
        let (_guard, top) = made(&["named/", "variable/"]);
        let environment = Environment {
            root: Some(top.join("variable")),
            ..Environment::default()
        };
        let named = Workspace::find(Some(&top.join("named")), &environment).unwrap();
        assert_eq!(named.root(), top.join("named"));
        let variable = Workspace::find(None, &environment).unwrap();
        assert_eq!(variable.root(), top.join("variable"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_once_and_for_all() {
        let (_guard, top) = made(&["real/"]);
        std::os::unix::fs::symlink(top.join("real"), top.join("link")).unwrap();
        let found = Workspace::at(&top.join("link")).unwrap();
        assert_eq!(found.root(), top.join("real"));
    }

    #[test]
    fn a_bad_root_is_named_in_the_error() {
        let (_guard, top) = made(&["file"]);
        let missing = Workspace::at(&top.join("missing")).unwrap_err();
        assert!(
            matches!(&missing, FindError::Unreachable { path, .. } if path.ends_with("missing"))
        );
        let file = Workspace::at(&top.join("file")).unwrap_err();
        assert!(file.to_string().ends_with("file` is not a folder"));
    }

    #[test]
    fn standard_paths_lie_under_role_os() {
        let (_guard, top) = made(&[]);
        let workspace = Workspace::at(&top).unwrap();
        assert_eq!(workspace.config_path(), top.join(".role-os/config.toml"));
        assert_eq!(workspace.witness_dir(), top.join(".role-os/witness"));
        assert_eq!(workspace.ledger_dir(), top.join(".role-os/ledger"));
        assert_eq!(workspace.keys_dir(), top.join(".role-os/keys"));
    }
}
