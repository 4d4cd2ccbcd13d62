//! The refs that a session's rollback needs: one that a call removed or moved is restored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::content::facts_at;
use base::files;
use base::git::Git;
use base::repository::Location;

/// Prefix of the refs.
const PREFIX: &str = "refs/roleos";
/// Longest ref, and longest list of packed refs, that is read.
const MAX_REF: u64 = 4096;
const MAX_PACKED: u64 = 64 * 1024 * 1024;
/// Most refs that are read.
const MAX_REFS: usize = 10_000;

/// The refs of one repository at the last check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refs {
    /// The directory that holds them; empty if the workspace is not in a repository.
    pub(super) directory: String,
    /// Facts by which the same refs are recognised without reading them.
    facts: Option<String>,
    values: BTreeMap<String, String>,
}

impl Refs {
    /// Finds the repository around a workspace and reads its refs.
    pub(super) fn around(root: &Path, now_ns: u64) -> Self {
        let location = Location::around(root);
        let directory = location.map(|location| location.common_dir);
        directory.map_or_else(Self::default, |directory| Self::at(&directory, now_ns))
    }

    /// Reads the refs in this directory.
    pub(super) fn at(directory: &Path, now_ns: u64) -> Self {
        Self {
            directory: directory.to_string_lossy().into_owned(),
            facts: facts(directory, now_ns),
            values: values(directory),
        }
    }

    /// Returns the directory, if there is one.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        (!self.directory.is_empty()).then(|| PathBuf::from(&self.directory))
    }

    /// Returns `true` if nothing has changed since.
    pub(super) fn is_unchanged(&self, now_ns: u64) -> bool {
        self.directory()
            .is_none_or(|directory| self.facts.is_some() && facts(&directory, now_ns) == self.facts)
    }

    /// Returns the refs that are missing or differ in `now`, with their recorded values.
    pub(super) fn lost<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let differs = |(name, value): &(&String, &String)| now.values.get(*name) != Some(*value);
        let known = self.values.iter().filter(differs);
        known.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Restores the value of a ref.
///
/// # Errors
/// git refuses; its message for people.
pub(super) fn put_back(root: &Path, name: &str, value: &str) -> Result<(), String> {
    let git = Git::at(root).map_err(|error| error.to_string())?;
    let done = git.run(["update-ref", name, value], &[]);
    done.map(drop).map_err(|error| error.to_string())
}

/// Returns the facts of the folders with loose refs, and of the list of packed ones.
fn facts(directory: &Path, now_ns: u64) -> Option<String> {
    let places = [
        "packed-refs",
        PREFIX,
        "refs/roleos/snapshot",
        "refs/roleos/undone",
    ];
    let all: Option<Vec<String>> = places
        .iter()
        .map(|place| facts_at(&directory.join(place), now_ns))
        .collect();
    Some(all?.join(" "))
}

fn values(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let packed = files::read(&directory.join("packed-refs"), MAX_PACKED).unwrap_or_default();
    for line in String::from_utf8_lossy(&packed).lines() {
        if let Some((value, name)) = line.split_once(' ')
            && name.starts_with(PREFIX)
        {
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    let mut folders = vec![PREFIX.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(directory.join(&folder))
            .into_iter()
            .flatten();
        for entry in entries.flatten().take(MAX_REFS) {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(name);
            } else if let Ok(value) = files::read(&entry.path(), MAX_REF) {
                found.insert(name, String::from_utf8_lossy(&value).trim().to_owned());
            }
        }
    }
    found
}
