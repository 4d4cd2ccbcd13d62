//! The last known state of each ledger, in the user's trust store. A ledger that is rolled back together with its
//! checkpoint looks whole inside the workspace, but not compared with this record.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witness::ledger::Ledger;

use super::Problem;
use base::clock;
use base::files::{Action, FileError};
use base::trust_store::TrustStore;

/// Folder of the records in the trust store.
const FOLDER: &str = "ledgers";

/// Most records that are read.
const MAX_RECORDS: usize = 10_000;

/// Kind of the problem of a rolled back ledger.
pub const ROLLED_BACK: &str = "rolled_back";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Path of the ledger, for people; the file's name is its hash.
    ledger: PathBuf,
    origin: String,
    size: u64,
    root: String,
    at: String,
}

impl Record {
    fn of(directory: &Path, tree: &Ledger) -> Self {
        Self {
            ledger: directory.to_owned(),
            origin: tree.origin().as_str().to_owned(),
            size: tree.len(),
            root: hex::encode(tree.root()),
            at: clock::text(clock::now_ns()),
        }
    }

    /// Returns the contradiction between this record and its ledger, if there is one.
    fn contradiction(&self, tree: Option<&Ledger>) -> Option<String> {
        let (size, at) = (self.size, &self.at);
        let Some(tree) = tree else {
            return Some(format!("the ledger had {size} leaves at {at} and is gone"));
        };
        if tree.origin().as_str() != self.origin {
            return Some(format!(
                "another ledger with {size} leaves lay here at {at}; this one bears another name"
            ));
        }
        match tree.root_at(size) {
            None => Some(format!(
                "the ledger has {} leaves and had {size} at {at}",
                tree.len()
            )),
            Some(root) if hex::encode(root) != self.root => Some(format!(
                "the first {size} leaves are not those that the ledger had at {at}"
            )),
            Some(_) => None,
        }
    }
}

/// Returns the canonical directory and the name of its record. For a missing directory, the name is derived from its
/// parent.
fn named(directory: &Path) -> Result<(PathBuf, String), FileError> {
    let fail = |error| FileError::new(Action::Read, directory, error);
    let canonical = match fs::canonicalize(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = base::files::parent(directory);
            let name = directory.file_name().unwrap_or_default();
            match fs::canonicalize(parent) {
                Ok(parent) => parent.join(name),
                Err(_) => std::path::absolute(directory).map_err(fail)?,
            }
        }
        found => found.map_err(fail)?,
    };
    let hash = base::digest(canonical.as_os_str().as_encoded_bytes());
    let short = hash.first_chunk::<16>().map(hex::encode);
    let name = format!("{FOLDER}/{}.json", short.unwrap_or_default());
    Ok((canonical, name))
}

/// Returns the path of a ledger's record below the trust store.
pub fn path_of(directory: &Path) -> Option<String> {
    named(directory).ok().map(|(_, name)| name)
}

/// The state of a ledger before a new one is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Before {
    /// Number of leaves before the new ones.
    pub(crate) leaves: u64,
    /// Set if the workspace was initialised, so that a record of these leaves must exist.
    pub(crate) is_expected: bool,
}

/// Records the state of a ledger unless an earlier record contradicts it, which is returned as a sentence. Without a
/// record, an existing ledger may be an older copy: only a person can rule that out.
///
/// # Errors
/// The record cannot be read or written.
pub(crate) fn remember(
    store: &TrustStore,
    directory: &Path,
    tree: &Ledger,
    before: Before,
) -> Result<Option<String>, FileError> {
    let (canonical, name) = named(directory)?;
    if before.leaves > 0 && store.read::<Record>(&name)?.is_none() {
        let doubt = unrecorded(store, tree, before.is_expected);
        if let Some(problem) = doubt {
            return Ok(Some(problem.detail));
        }
    }
    let mut contradiction = None;
    store.update(&name, |known: Option<Record>| {
        contradiction = known
            .as_ref()
            .and_then(|known| known.contradiction(Some(tree)));
        match known {
            Some(known) if contradiction.is_some() => known,
            _ => Record::of(&canonical, tree),
        }
    })?;
    Ok(contradiction)
}

/// Replaces the record by the state that the ledger has now, regardless of the earlier one.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn replace(
    store: &TrustStore,
    directory: &Path,
    tree: &Ledger,
) -> Result<(), FileError> {
    let (canonical, name) = named(directory)?;
    store.update(&name, |_: Option<serde_json::Value>| {
        serde_json::to_value(Record::of(&canonical, tree)).unwrap_or_default()
    })
}

/// Removes the record of a ledger that its owner is about to remove.
pub fn forget(store: &TrustStore, directory: &Path) {
    if let Ok((_, name)) = named(directory) {
        store.remove(&name);
    }
}

/// Compares a ledger with its record. A record that cannot be read, or is missing where one must exist, is a problem:
/// it may be the one that shows a rollback.
pub(crate) fn compare(
    store: &TrustStore,
    directory: &Path,
    tree: Option<&Ledger>,
    is_expected: bool,
) -> Option<Problem> {
    let read = named(directory).and_then(|(_, name)| store.read::<Record>(&name));
    match read {
        Ok(None) => unrecorded(store, tree.filter(|tree| !tree.is_empty())?, is_expected),
        Ok(Some(known)) => known
            .contradiction(tree)
            .map(|why| Problem::new(ROLLED_BACK, why)),
        Err(error) => Some(Problem::new(
            "record_unreadable",
            format_args!("{error}: {}", error.source),
        )),
    }
}

/// Returns the problem of a ledger that has leaves and no record.
fn unrecorded(store: &TrustStore, tree: &Ledger, is_expected: bool) -> Option<Problem> {
    newer_original(store, tree).or_else(|| {
        let why =
            "the trust store has no record of this ledger; `roleos ledger adopt` takes it over";
        is_expected.then(|| Problem::new("record_missing", why))
    })
}

/// Looks for a record of a ledger with the same name in another directory: an older copy is a rollback as well.
fn newer_original(store: &TrustStore, tree: &Ledger) -> Option<Problem> {
    let entries = fs::read_dir(store.folder().join(FOLDER)).ok()?;
    let records = entries.take(MAX_RECORDS).flatten().filter_map(|entry| {
        let name = format!("{FOLDER}/{}", entry.file_name().to_str()?);
        store.read::<Record>(&name).ok()?
    });
    let mut same = records.filter(|known| known.origin == tree.origin().as_str());
    same.find_map(|known| {
        let why = known.contradiction(Some(tree))?;
        let original = known.ledger.display();
        Some(Problem::new(
            ROLLED_BACK,
            format_args!("this is a copy of `{original}`: {why}"),
        ))
    })
}

/// Returns the path of a ledger's record, so that a reader can notice when it changes.
#[must_use]
pub fn path(store: &TrustStore, directory: &Path) -> Option<PathBuf> {
    let (_, name) = named(directory).ok()?;
    Some(store.folder().join(name))
}
