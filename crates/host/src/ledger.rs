//! The ledger on disk: one line a sealed bundle in `leaves.jsonl`, and the newest signed checkpoint beside it.
//!
//! A leaf is written before its bundle gets its final name, and the checkpoint last. Whoever opens the ledger for
//! writing finishes what a crash interrupted; whoever only reads reports it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::{Attested, SignedCheckpoint};
use witness::ledger::{Leaf, Ledger};
use witness::wire::TaskId;

use crate::files::{self, FileError, Lock, Prepared, Privacy};

const LEAVES: &str = "leaves.jsonl";
const ORIGIN: &str = "origin";
const CHECKPOINT: &str = "checkpoint";
/// The leaves of ten million bundles fit.
const MAX_LEAVES: u64 = 4 << 30;
const MAX_SMALL: u64 = 64 * 1024;
const LOCK: &str = ".lock";
/// Ending of a bundle that is written but not yet logged.
pub(crate) const SEALING: &str = "sealing";

/// Why the ledger could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line that is no leaf, before the last one.
    #[error("`{}` line {line} is not a leaf of the ledger: {why}", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A name or checkpoint that cannot be read.
    #[error("`{}` cannot be read: {why}", path.display())]
    BadText {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The leaves are not those that our own checkpoint vouches for. To sign them would hide it.
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
}

/// A logged bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the tree covers.
    pub leaf: Leaf,
    /// Where the bundle lies, below the witness directory.
    pub file: String,
}

/// The ledger as it lies on disk.
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
        let origin_path = directory.join(ORIGIN);
        if !origin_path.exists() {
            return Ok(None);
        }
        let origin = files::read(&origin_path, MAX_SMALL)?;
        let origin = String::from_utf8_lossy(&origin);
        let origin = Origin::parse(origin.trim_end()).map_err(|error| LedgerError::BadText {
            path: origin_path,
            why: error.to_string(),
        })?;
        let (entries, torn) = read_leaves(&directory.join(LEAVES))?;
        let ledger = Ledger::from_leaves(origin, entries.iter().map(|entry| entry.leaf));
        Ok(Some(Self {
            directory: directory.to_owned(),
            entries,
            ledger,
            torn,
        }))
    }

    /// What was logged, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Ledger {
        &self.ledger
    }

    /// What a crash cut off at the end of the leaves, if it did.
    #[must_use]
    pub fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    /// The newest signed checkpoint; `None` when none was written yet.
    ///
    /// # Errors
    /// The file cannot be read or is no signed checkpoint.
    pub fn checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        let path = self.directory.join(CHECKPOINT);
        if !path.exists() {
            return Ok(None);
        }
        read_checkpoint(&path).map(Some)
    }

    /// A checkpoint of a signer who is not known here says nothing; `ledger verify` reports it.
    fn compare_with_own_checkpoint(&self, trusted: &[PublicKey]) -> Result<(), LedgerError> {
        let signed = self.checkpoint()?;
        let Some(attested) = signed.and_then(|signed| attest(&signed, trusted).ok()) else {
            return Ok(());
        };
        let consistency = self.ledger.compare(attested.checkpoint());
        if consistency.holds() {
            Ok(())
        } else {
            Err(LedgerError::Tampered(consistency.explain()))
        }
    }
}

/// Where a leaf stands and how many there are, read off the file without making the tree: a page about one bundle must not
/// wait for a hundred thousand others. `None` when it is not logged.
///
/// # Errors
/// The file cannot be read, or the line that names the task is damaged.
pub fn place_of(directory: &Path, leaf: &Leaf) -> Result<Option<(u64, u64)>, LedgerError> {
    let path = directory.join(LEAVES);
    if matches!(fs::exists(&path), Ok(false)) {
        return Ok(None);
    }
    let bytes = files::read(&path, MAX_LEAVES)?;
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

/// Reads a signed checkpoint, ours or one that was kept elsewhere.
///
/// # Errors
/// The file cannot be read or is no signed checkpoint.
pub fn read_checkpoint(path: &Path) -> Result<SignedCheckpoint, LedgerError> {
    let bytes = files::read(path, MAX_SMALL)?;
    let bad = |why: String| LedgerError::BadText {
        path: path.to_owned(),
        why,
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| bad(error.to_string()))?;
    SignedCheckpoint::parse(text).map_err(|error| bad(error.to_string()))
}

/// Checks a signed checkpoint with the keys that are believed here.
///
/// # Errors
/// No believed key signed it, in words for people.
pub fn attest(signed: &SignedCheckpoint, keys: &[PublicKey]) -> Result<Attested, String> {
    signed.verify(keys).map_err(|error| error.to_string())
}

/// Waits for a writer to be done and keeps others from starting, as far as the ledger has a lock that can be read.
pub(crate) fn pause_writers(directory: &Path) -> Option<Lock> {
    Lock::share(&directory.join(LOCK)).ok()
}

/// Whether anything of a ledger lies in the directory.
pub(crate) fn has_remains(directory: &Path) -> bool {
    [LEAVES, CHECKPOINT]
        .iter()
        .any(|name| directory.join(name).exists())
}

/// The ledger, locked for writing.
#[derive(Debug)]
pub(crate) struct LedgerWriter {
    file: LedgerFile,
    _lock: Lock,
}

impl LedgerWriter {
    /// Locks the ledger, makes it when there is none, and repairs a cut-off last line.
    ///
    /// A ledger that does not fit the checkpoint beside it, signed by one of `trusted`, is not opened.
    pub(crate) fn open(directory: &Path, trusted: &[PublicKey]) -> Result<Self, LedgerError> {
        files::make_directory(directory, Privacy::Shared)?;
        let lock = Lock::take(&directory.join(LOCK))?;
        if !directory.join(ORIGIN).exists() {
            let origin = format!("roleos/{}\n", uuid::Uuid::now_v7());
            files::write(&directory.join(ORIGIN), origin.as_bytes(), Privacy::Shared)?;
        }
        let Some(file) = LedgerFile::read(directory)? else {
            return Err(LedgerError::BadText {
                path: directory.join(ORIGIN),
                why: "it was removed while it was being read".to_owned(),
            });
        };
        file.compare_with_own_checkpoint(trusted)?;
        if file.torn.is_some() {
            let whole = lines(0, &file.entries);
            files::write(&directory.join(LEAVES), whole.as_bytes(), Privacy::Shared)?;
        }
        Ok(Self { file, _lock: lock })
    }

    pub(crate) fn file(&self) -> &LedgerFile {
        &self.file
    }

    /// Appends leaves in one durable write. What comes back is the checkpoint that covers them, to be committed last.
    ///
    /// The checkpoint is prepared first, so that a full disk is met while nothing is logged yet.
    pub(crate) fn append(
        &mut self,
        new: &[Entry],
        key: Option<&SigningKey>,
    ) -> Result<Option<Prepared>, LedgerError> {
        let first = self.file.entries.len();
        if first == 0
            && let Some(key) = key
        {
            // With a checkpoint from the start, one that is missing later was taken away.
            self.prepare_checkpoint(key)?.commit()?;
        }
        for entry in new {
            self.file.ledger.push(entry.leaf);
            self.file.entries.push(entry.clone());
        }
        let checkpoint = key.map(|key| self.prepare_checkpoint(key)).transpose()?;
        let text = lines(first, new);
        files::append(&self.file.directory.join(LEAVES), text.as_bytes())?;
        Ok(checkpoint)
    }

    fn prepare_checkpoint(&self, key: &SigningKey) -> Result<Prepared, FileError> {
        let signed = SignedCheckpoint::sign(&self.file.ledger.checkpoint(), key);
        let path = self.file.directory.join(CHECKPOINT);
        files::prepare(&path, signed.to_text().as_bytes(), Privacy::Shared)
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
        };
        text.push_str(&serde_json::to_string(&line).unwrap_or_default());
        text.push('\n');
    }
    text
}

/// The entries, and what is left over when the last line was cut off.
fn read_leaves(path: &Path) -> Result<(Vec<Entry>, Option<String>), LedgerError> {
    let bytes = match fs::exists(path) {
        Ok(false) => return Ok((Vec::new(), None)),
        _ => files::read(path, MAX_LEAVES)?,
    };
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

/// Where the leaves of a ledger lie.
#[must_use]
pub fn leaves_path(directory: &Path) -> PathBuf {
    directory.join(LEAVES)
}

/// Reads one line of the leaves, which must be the one with this number, from 0.
///
/// # Errors
/// What is wrong with it, in words for people.
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
    })
}

/// Whether a path from the leaves file stays below the witness directory.
fn is_inside(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    !file.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// What `ledger verify` found wrong.
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
