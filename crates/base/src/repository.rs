//! The state of a git repository, read from files: git is never executed while a decision waits for it.
//!
//! An approval is valid for one state only, so a [`State`] contains everything that determines content and target of a
//! push.

pub mod index;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use walkdir::WalkDir;

use crate::environment;
use crate::files;

/// Longest ref or pointer file.
const MAX_POINTER: u64 = 64 * 1024;
/// Longest git configuration or list of packed refs that is read.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Most loose refs that are read; with more, the state counts as unknown.
const MAX_REFS: usize = 100_000;
/// Most remotes that are shown.
const MAX_REMOTES: usize = 16;

/// Location of a repository's parts. In a linked worktree, these are two directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The top of the working tree.
    pub top: PathBuf,
    /// Directory of this worktree's `HEAD` and index.
    pub git_dir: PathBuf,
    /// Directory of the refs and settings that all worktrees share.
    pub common_dir: PathBuf,
}

impl Location {
    /// Returns the repository around `directory`, if there is one.
    #[must_use]
    pub fn around(directory: &Path) -> Option<Self> {
        let directory = fs::canonicalize(directory).ok()?;
        let top = directory
            .ancestors()
            .find(|folder| is_git_entry(&folder.join(".git")))?;
        let entry = top.join(".git");
        let git_dir = if entry.is_dir() {
            entry
        } else {
            let text = pointer(&entry)?;
            top.join(text.strip_prefix("gitdir:")?.trim())
        };
        let common_dir = pointer(&git_dir.join("commondir"))
            .map_or_else(|| git_dir.clone(), |text| git_dir.join(text.trim()));
        // One spelling for every worktree: file names become part of a state.
        let common_dir = fs::canonicalize(common_dir).ok()?;
        Some(Self {
            top: top.to_owned(),
            git_dir,
            common_dir,
        })
    }
}

/// Returns `true` if this is a git directory, or a file that points to one. git ignores any other `.git` as well.
fn is_git_entry(entry: &Path) -> bool {
    fs::metadata(entry)
        .is_ok_and(|facts| facts.is_file() || fs::symlink_metadata(entry.join("HEAD")).is_ok())
}

/// Everything that determines content and target of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Top of the working tree.
    pub top: String,
    /// Content of `HEAD`: `ref: refs/heads/main`, or a commit.
    pub head: String,
    /// Its commit, if found.
    pub commit: Option<String>,
    /// Remotes by name with their URLs, for people.
    pub remotes: Vec<(String, String)>,
    /// SHA-256 over all branches and tags.
    pub refs: String,
    /// SHA-256 over the repository's and the worktree's settings.
    pub settings: String,
    /// SHA-256 over the user's and the machine's settings.
    pub user_settings: String,
}

impl State {
    /// Reads the repository around `directory`; `None` outside of any.
    #[must_use]
    pub fn read(directory: &Path) -> Option<Self> {
        let location = Location::around(directory)?;
        let head = pointer(&location.git_dir.join("HEAD")).unwrap_or_default();
        let head = head.trim().to_owned();
        Some(Self {
            top: location.top.to_string_lossy().into_owned(),
            commit: commit_of(&location, &head),
            head,
            remotes: remotes(&location),
            refs: refs(&location),
            settings: hash_of(&[
                location.common_dir.join("config"),
                location.git_dir.join("config.worktree"),
            ]),
            user_settings: user_settings(),
        })
    }

    /// Returns `true` if the repository is unchanged. The approver's own settings are ignored, since they may differ.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let now = Self::read(Path::new(&self.top));
        now.is_some_and(|now| {
            let user_settings = self.user_settings.clone();
            *self
                == Self {
                    user_settings,
                    ..now
                }
        })
    }

    /// Returns the branch, or the beginning of the commit, for people.
    #[must_use]
    pub fn branch(&self) -> &str {
        let name = self.head.strip_prefix("ref: refs/heads/");
        name.unwrap_or(&self.head)
    }
}

fn pointer(path: &Path) -> Option<String> {
    let bytes = files::read(path, MAX_POINTER).ok()?;
    String::from_utf8(bytes).ok()
}

fn commit_of(location: &Location, head: &str) -> Option<String> {
    let Some(name) = head.strip_prefix("ref: ") else {
        return (!head.is_empty()).then(|| head.to_owned());
    };
    if name.split('/').any(|part| part == "..") {
        return None;
    }
    if let Some(text) = pointer(&location.common_dir.join(name)) {
        return Some(text.trim().to_owned());
    }
    let packed = files::read(&location.common_dir.join("packed-refs"), MAX_FILE).ok()?;
    let packed = String::from_utf8_lossy(&packed);
    let line = packed
        .lines()
        .find(|line| line.split_once(' ').is_some_and(|(_, is)| is == name))?;
    line.split_once(' ').map(|(commit, _)| commit.to_owned())
}

/// Hashes branches and tags, loose and packed; of a repository with ref tables, the list of the tables, which changes
/// with every ref.
fn refs(location: &Location) -> String {
    let mut hash = Sha256::new();
    for name in ["packed-refs", "reftable/tables.list"] {
        feed(&mut hash, name, &location.common_dir.join(name));
    }
    for kind in ["refs/heads", "refs/tags"] {
        let walk = WalkDir::new(location.common_dir.join(kind)).sort_by_file_name();
        for (count, entry) in walk.into_iter().flatten().enumerate() {
            if count > MAX_REFS {
                return "unknown".to_owned();
            }
            if entry.file_type().is_file() {
                feed(&mut hash, &entry.path().to_string_lossy(), entry.path());
            }
        }
    }
    hex::encode(hash.finalize())
}

/// Hashes the user's settings: the target of a remote name can be set outside of the repository too.
fn user_settings() -> String {
    let mut paths = vec![PathBuf::from("/etc/gitconfig")];
    if let Some(home) = environment::home() {
        paths.push(home.join(".gitconfig"));
        paths.push(home.join(".config/git/config"));
    }
    hash_of(&paths)
}

fn hash_of(paths: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    for path in paths {
        feed(&mut hash, &path.to_string_lossy(), path);
    }
    hex::encode(hash.finalize())
}

fn feed(hash: &mut Sha256, name: &str, path: &Path) {
    let content = match files::read(path, MAX_FILE) {
        Ok(bytes) => hex::encode(Sha256::digest(&bytes)),
        Err(error) => format!("{:?}", error.source.kind()),
    };
    hash.update(name.as_bytes());
    hash.update(b"\0");
    hash.update(content.as_bytes());
    hash.update(b"\n");
}

/// Parses the remotes, only for people: an approval binds the hash of the whole files.
fn remotes(location: &Location) -> Vec<(String, String)> {
    let Ok(bytes) = files::read(&location.common_dir.join("config"), MAX_FILE) else {
        return Vec::new();
    };
    let mut section = None;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&bytes).lines().map(str::trim) {
        if let Some(heading) = line.strip_prefix('[') {
            section = heading
                .strip_prefix("remote \"")
                .and_then(|rest| rest.strip_suffix("\"]"))
                .map(str::to_owned);
        }
        let Some((name, (key, value))) = section.as_ref().zip(line.split_once('=')) else {
            continue;
        };
        let is_address = ["url", "pushurl"].contains(&key.trim().to_lowercase().as_str());
        if is_address && found.len() < MAX_REMOTES {
            found.push((name.clone(), without_password(value.trim())));
        }
    }
    found
}

/// Removes the part of a URL between `//` and `@`, which may be a secret, before it is shown and stored.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    match rest.split_once('@') {
        Some((user, host)) if !user.contains('/') => format!("{scheme}://***@{host}"),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests;
