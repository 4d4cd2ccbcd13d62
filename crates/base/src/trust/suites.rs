//! Suites of tasks that came with a repository: their commands are executed only after the user confirmed them.
//!
//! `suite.toml` holds the digest of every task, so a confirmation of it covers the whole suite.

use std::path::{Path, PathBuf};

use super::{Belief, Doubt, Kind, Trust};
use crate::repository::index;
use crate::workspace::Workspace;

/// Name of the file that describes a suite.
pub const FILE: &str = "suite.toml";

/// Checks if the suite with this `suite.toml` may run: the user created it here, or confirmed it.
#[must_use]
pub fn belief(trust: &Trust<'_>, path: &Path, content: &[u8]) -> Belief {
    match trust.confirmed(path, content, Kind::Plain) {
        Err(_) if index::is_tracked(path) => Belief::Unconfirmed(Doubt::Tracked),
        _ => Belief::Own,
    }
}

/// Returns the suites of a workspace: in its root, and in `suites`.
pub(super) fn find(workspace: &Workspace) -> Vec<PathBuf> {
    let folders = [workspace.root().to_owned(), workspace.root().join("suites")];
    let entries = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok());
    let files = entries
        .flatten()
        .flatten()
        .map(|entry| entry.path().join(FILE));
    let mut found: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    found.sort();
    found
}
