//! The ledger on disk: one line per sealed bundle in `leaves.jsonl`, and the newest signed checkpoint beside it.
//!
//! A seal first signs the next checkpoint and keeps it as `checkpoint.next`; then it appends the leaf, gives the bundle
//! its final name, and puts the new checkpoint in place. The next [`writer`] finishes what a crash interrupted; a
//! reader only reports it. [`tombstones`] lists the bundles that a person deleted, [`record`] stores size and root
//! outside the workspace.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witness::extension::Chain;
use witness::key::PublicKey;
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::{Attested, SignedCheckpoint};
use witness::ledger::{Consistency, Leaf, Ledger};
use witness::wire::TaskId;

use base::files::{self, Action, FileError, Lock};

pub mod record;
pub mod seals;
pub mod tombstones;
pub(crate) mod writer;

const LEAVES: &str = "leaves.jsonl";
const ORIGIN: &str = "origin";
const CHECKPOINT: &str = "checkpoint";
/// The checkpoint of a seal in progress, signed before its leaves are appended.
const NEXT: &str = "checkpoint.next";
/// Largest leaves file that is read; the leaves of ten million bundles fit.
const MAX_LEAVES: u64 = 4 << 30;
const MAX_SMALL: u64 = 64 * 1024;
const LOCK: &str = ".lock";
/// Extension of a bundle that is written but not yet logged.
pub(crate) const SEALING: &str = "sealing";

/// Error of a ledger operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line before the last one is not a leaf.
    #[error("`{}` line {line} is not a leaf of the ledger: {why}", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Error of the line.
        why: String,
    },
    /// A name or checkpoint cannot be parsed.
    #[error("`{}` cannot be read: {why}", path.display())]
    BadText {
        /// The file.
        path: PathBuf,
        /// Error of the text.
        why: String,
    },
    /// The leaves are not those of our own checkpoint. Signing them would hide that.
    #[error("the ledger does not fit its own checkpoint: {0}")]
    Tampered(String),
}

/// One line of the leaves file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    index: u64,
    task_id: String,
    created_ns: u64,
    sha256: String,
    file: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
}

/// A logged bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Content of the tree.
    pub leaf: Leaf,
    /// Path of the bundle, below the witness directory.
    pub file: String,
    /// Set if it was sealed elsewhere, so that its own chain is not about this ledger.
    pub imported: bool,
}

/// The ledger as it is on disk.
#[derive(Debug)]
pub struct LedgerFile {
    directory: PathBuf,
    entries: Vec<Entry>,
    ledger: Ledger,
    /// Bytes at the end of the leaves file that a crash cut off.
    torn: Option<String>,
}

impl LedgerFile {
    /// Reads the ledger without changing anything; `None` when there is none yet.
    ///
    /// # Errors
    /// A file cannot be read or is damaged other than by a cut-off last line.
    pub fn read(directory: &Path) -> Result<Option<Self>, LedgerError> {
        let Some(origin) = read_origin(directory)? else {
            return Ok(None);
        };
        let (entries, torn) = read_leaves(&directory.join(LEAVES))?;
        let ledger = Ledger::from_leaves(origin, entries.iter().map(|entry| entry.leaf));
        Ok(Some(Self {
            directory: directory.to_owned(),
            entries,
            ledger,
            torn,
        }))
    }

    /// Returns the logged bundles, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    #[must_use]
    pub fn tree(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the text that a crash cut off at the end of the leaves, if any.
    #[must_use]
    pub fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    /// Returns the newest signed checkpoint; `None` if none was written yet.
    ///
    /// # Errors
    /// The file cannot be read or is not a signed checkpoint.
    pub fn checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        if_there(read_checkpoint(&self.directory.join(CHECKPOINT)))
    }

    /// Returns the chain section of the bundle that was sealed as the leaf with this index.
    #[must_use]
    pub fn chain_at(&self, index: usize) -> Chain {
        let before = index.checked_sub(1).and_then(|last| self.entries.get(last));
        Chain {
            sequence: index as u64,
            previous: before.map_or([0; 32], |entry| entry.leaf.bundle_sha256),
        }
    }

    /// Compares the leaves with the checkpoint beside them.
    pub(crate) fn coverage(&self, trusted: &[PublicKey]) -> Result<Coverage, LedgerError> {
        let Some(signed) = self.checkpoint()? else {
            return Ok(match self.entries.len() {
                0 => Coverage::Whole,
                _ => Coverage::Missing,
            });
        };
        let attested = match attest(&signed, trusted) {
            Ok(attested) => attested,
            Err(why) => return Ok(Coverage::Stranger(why)),
        };
        Ok(match self.ledger.compare(attested.checkpoint()) {
            Consistency::Same => Coverage::Whole,
            Consistency::Extended { added } => Coverage::Part {
                added,
                is_pledged: self.is_pledged(trusted)?,
            },
            broken => Coverage::Broken(broken),
        })
    }

    /// Returns `true` if one of our seals announced exactly these leaves before it appended the last ones.
    fn is_pledged(&self, trusted: &[PublicKey]) -> Result<bool, LedgerError> {
        let next = match if_there(read_checkpoint(&self.directory.join(NEXT))) {
            Err(LedgerError::BadText { .. }) => None,
            read => read?,
        };
        let attested = next.and_then(|signed| attest(&signed, trusted).ok());
        Ok(
            attested
                .is_some_and(|next| self.ledger.compare(next.checkpoint()) == Consistency::Same),
        )
    }
}

/// The leaves that the checkpoint beside them covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// All of them.
    Whole,
    /// All but the last ones.
    Part {
        /// Number of leaves that it does not cover.
        added: u64,
        /// Set if they are the remains of an interrupted seal.
        is_pledged: bool,
    },
    /// There is no checkpoint.
    Missing,
    /// No trusted key signed it; as a sentence for people.
    Stranger(String),
    /// Its leaves are different ones.
    Broken(Consistency),
}

/// Turns the error of a missing file into `None`; any other error stays one.
fn if_there<T>(read: Result<T, LedgerError>) -> Result<Option<T>, LedgerError> {
    match read {
        Err(LedgerError::File(error)) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Reads the name of the ledger; `None` if there is no such file.
fn read_origin(directory: &Path) -> Result<Option<Origin>, LedgerError> {
    let path = directory.join(ORIGIN);
    let read = files::read(&path, MAX_SMALL).map_err(LedgerError::from);
    let Some(bytes) = if_there(read)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let origin = Origin::parse(text.trim_end()).map_err(|error| LedgerError::BadText {
        path,
        why: error.to_string(),
    })?;
    Ok(Some(origin))
}

/// Returns the index of a leaf and the number of leaves, read from the file without building the tree: a page about one
/// bundle must not wait for a hundred thousand others. `None` if the leaf is not logged.
///
/// # Errors
/// The file cannot be read, or the line that names the task is damaged.
pub fn place_of(directory: &Path, leaf: &Leaf) -> Result<Option<(u64, u64)>, LedgerError> {
    let path = directory.join(LEAVES);
    let Some(bytes) = if_there(files::read(&path, MAX_LEAVES).map_err(LedgerError::from))? else {
        return Ok(None);
    };
    let whole = bytes.get(..after_last_newline(&bytes)).unwrap_or_default();
    let lines_in = |part: &[u8]| memchr::memchr_iter(b'\n', part).count();
    let task = leaf.task_id.to_string();
    for found in memchr::memmem::find_iter(whole, task.as_bytes()) {
        let (before, after) = whole.split_at_checked(found).unwrap_or((whole, &[]));
        let start = after_last_newline(before);
        let end = found + memchr::memchr(b'\n', after).unwrap_or(after.len());
        let index = lines_in(before);
        let line = whole.get(start..end).unwrap_or_default();
        let entry = read_line(line, index as u64).map_err(|why| LedgerError::BadLine {
            path: path.clone(),
            line: index + 1,
            why,
        })?;
        if entry.leaf == *leaf {
            return Ok(Some((index as u64, lines_in(whole) as u64)));
        }
    }
    Ok(None)
}

/// Reads a signed checkpoint: our own, or one that was kept elsewhere.
///
/// # Errors
/// The file cannot be read or is not a signed checkpoint.
pub fn read_checkpoint(path: &Path) -> Result<SignedCheckpoint, LedgerError> {
    let bytes = files::read(path, MAX_SMALL)?;
    let bad = |why: String| LedgerError::BadText {
        path: path.to_owned(),
        why,
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| bad(error.to_string()))?;
    SignedCheckpoint::parse(text).map_err(|error| bad(error.to_string()))
}

/// Checks a signed checkpoint with the trusted keys.
///
/// # Errors
/// No trusted key signed it; as a sentence for people.
pub fn attest(signed: &SignedCheckpoint, keys: &[PublicKey]) -> Result<Attested, String> {
    signed.verify(keys).map_err(|error| error.to_string())
}

/// Waits until a writer is done and blocks others, if the ledger has a readable lock.
pub(crate) fn pause_writers(directory: &Path) -> Option<Lock> {
    Lock::share(&directory.join(LOCK)).ok()
}

/// Returns `true` if there is a ledger, or another file in the place of its name.
pub(crate) fn is_named(directory: &Path) -> bool {
    is_there(&directory.join(ORIGIN)).unwrap_or(true)
}

/// Returns `true` if anything of a ledger lies in the directory.
///
/// # Errors
/// A file cannot be checked.
pub(crate) fn has_remains(directory: &Path) -> Result<bool, FileError> {
    for name in [LEAVES, CHECKPOINT, NEXT] {
        if is_there(&directory.join(name))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if the file exists. An error is not taken for absence.
pub(crate) fn is_there(path: &Path) -> Result<bool, FileError> {
    match files::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError::new(Action::Read, path, error)),
    }
}

fn lines(first: usize, entries: &[Entry]) -> String {
    let mut text = String::new();
    for (index, entry) in (first as u64..).zip(entries) {
        let line = Line {
            index,
            task_id: entry.leaf.task_id.to_string(),
            created_ns: entry.leaf.created_ns,
            sha256: hex::encode(entry.leaf.bundle_sha256),
            file: entry.file.clone(),
            imported: entry.imported,
        };
        text.push_str(&serde_json::to_string(&line).unwrap_or_default());
        text.push('\n');
    }
    text
}

/// Reads the entries, and the rest of the last line if it was cut off.
fn read_leaves(path: &Path) -> Result<(Vec<Entry>, Option<String>), LedgerError> {
    let read = files::read(path, MAX_LEAVES).map_err(LedgerError::from);
    let bytes = if_there(read)?.unwrap_or_default();
    let end = after_last_newline(&bytes);
    let (whole, rest) = bytes.split_at_checked(end).unwrap_or((&bytes, &[]));
    let mut entries = Vec::new();
    for (index, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let entry = read_line(line, index as u64).map_err(|why| LedgerError::BadLine {
            path: path.to_owned(),
            line: index + 1,
            why,
        })?;
        entries.push(entry);
    }
    let torn = (!rest.is_empty()).then(|| String::from_utf8_lossy(rest).into_owned());
    Ok((entries, torn))
}

fn after_last_newline(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)
}

/// Lists the files of a ledger.
pub(crate) fn files_in(directory: &Path) -> Vec<PathBuf> {
    [ORIGIN, LEAVES, CHECKPOINT, NEXT, tombstones::FILE]
        .iter()
        .map(|name| directory.join(name))
        .collect()
}

/// Returns the path of a ledger's leaves.
#[must_use]
pub fn leaves_path(directory: &Path) -> PathBuf {
    directory.join(LEAVES)
}

/// Reads one line of the leaves, whose index, from 0, must be the expected one.
///
/// # Errors
/// The line is malformed or has another index; as a sentence for people.
pub fn read_line(bytes: &[u8], expected: u64) -> Result<Entry, String> {
    let line: Line = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if line.index != expected {
        return Err(format!(
            "it has the index {}, {expected} was due; lines were removed or moved",
            line.index
        ));
    }
    let sha256 = hex::decode(&line.sha256).ok();
    let leaf = TaskId::parse(&line.task_id)
        .zip(sha256.and_then(|hash| hash.try_into().ok()))
        .map(|(task_id, bundle_sha256)| Leaf {
            task_id,
            created_ns: line.created_ns,
            bundle_sha256,
        })
        .ok_or("its task id or hash is not hexadecimal")?;
    if !is_inside(&line.file) {
        return Err("its file lies outside of the witness directory".to_owned());
    }
    Ok(Entry {
        leaf,
        file: line.file,
        imported: line.imported,
    })
}

/// Returns `true` if a path from the leaves file stays below the witness directory.
fn is_inside(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    !file.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// A problem that `ledger verify` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable name, as used in JSON.
    pub kind: &'static str,
    /// One sentence for people.
    pub detail: String,
}

impl Problem {
    pub(crate) fn new(kind: &'static str, detail: impl fmt::Display) -> Self {
        Self {
            kind,
            detail: detail.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
