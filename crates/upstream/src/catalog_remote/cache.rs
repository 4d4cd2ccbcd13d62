//! Copies of remote files on disk, so that an unchanged file need not be transferred again.
//!
//! One pair of files per full address: `<sha256 of the address>.body`, and beside it `.json`, with the address, the
//! time, the validators and the hash of the body. The body is written first, so a pair that was written by two
//! processes or partly written is inconsistent; such a pair counts as absent and is replaced. The caller decides about
//! the use of a copy. Only the owner may read copies, like the password with which they may have been fetched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base::files::{self, FileError, Lock, Privacy};
use serde::{Deserialize, Serialize};

use super::source::Address;

/// Longest label that is read; it has an address, two short headers and a hash.
const MAX_LABEL: u64 = 16 * 1024;

/// Length of a file's name before its extension.
const NAME: usize = 64;

/// A folder of copies.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    directory: PathBuf,
    /// Most bytes of all copies together.
    max_bytes: u64,
}

/// Values of a server for the next conditional request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl Validators {
    /// Returns `true` if both can be sent in a header; a damaged label must not stop the request.
    fn can_be_sent(&self) -> bool {
        let visible = |text: &String| text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        self.etag.iter().chain(&self.last_modified).all(visible)
    }
}

/// One copy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) bytes: Vec<u8>,
    pub(super) validators: Validators,
    pub(super) cached_at_ns: u64,
}

/// The file beside the body.
#[derive(Deserialize, Serialize)]
struct Label {
    url: String,
    cached_at_ns: u64,
    #[serde(flatten)]
    validators: Validators,
    sha256: String,
}

impl Cache {
    pub(super) fn new(directory: PathBuf, max_bytes: u64) -> Self {
        Self {
            directory,
            max_bytes,
        }
    }

    /// Returns the valid copy of this address, if there is one. One from the future is invalid: its age would be wrong.
    pub(super) fn find(&self, address: &Address, limit: usize, now_ns: u64) -> Option<Entry> {
        let label = files::read(&self.label_path(address), MAX_LABEL).ok()?;
        let label: Label = serde_json::from_slice(&label).ok()?;
        let bytes = files::read(&self.body_path(address), limit as u64).ok()?;
        let agrees = label.url == address.masked()
            && label.cached_at_ns <= now_ns
            && label.validators.can_be_sent()
            && label.sha256 == hex::encode(base::digest(&bytes));
        agrees.then_some(Entry {
            bytes,
            validators: label.validators,
            cached_at_ns: label.cached_at_ns,
        })
    }

    /// Replaces the copy of this address, and removes the oldest copies if all together are too large.
    pub(super) fn keep(&self, address: &Address, entry: &Entry) -> Result<(), FileError> {
        files::make_directory(&self.directory, Privacy::Secret)?;
        let _lock = Lock::take(&self.directory.join("lock"))?;
        files::write(&self.body_path(address), &entry.bytes, Privacy::Secret)?;
        let label = label_text(address, entry);
        files::write(&self.label_path(address), &label, Privacy::Secret)?;
        self.trim();
        Ok(())
    }

    /// Removes the copy of this address. The label is removed first, because a body without one is never used.
    pub(super) fn forget(&self, address: &Address) {
        remove(&self.label_path(address));
        remove(&self.body_path(address));
    }

    fn label_path(&self, address: &Address) -> PathBuf {
        self.directory.join(format!("{}.json", name(address)))
    }

    fn body_path(&self, address: &Address) -> PathBuf {
        self.directory.join(format!("{}.body", name(address)))
    }

    /// Removes the oldest copies. If the folder cannot be listed, it stays as it is; the copies in it are still valid.
    fn trim(&self) {
        let pairs = self.pairs();
        let mut total: u64 = pairs.values().map(|pair| pair.bytes).sum();
        let mut oldest: Vec<_> = pairs.into_iter().collect();
        oldest.sort_by_key(|(_, pair)| pair.written);
        for (name, pair) in oldest {
            if total <= self.max_bytes {
                return;
            }
            remove(&self.directory.join(format!("{name}.json")));
            remove(&self.directory.join(format!("{name}.body")));
            total = total.saturating_sub(pair.bytes);
        }
    }

    /// Returns the pairs by name; other files in the folder are not ours to count or remove.
    fn pairs(&self) -> BTreeMap<String, Pair> {
        let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let path = entry.path();
            let (Some(name), Ok(metadata)) = (pair_name(&path), entry.metadata()) else {
                continue;
            };
            let pair = pairs.entry(name.to_owned()).or_default();
            pair.bytes = pair.bytes.saturating_add(metadata.len());
            pair.written = pair.written.max(metadata.modified().ok());
        }
        pairs
    }
}

/// Size and time of the two files of one address.
#[derive(Default)]
struct Pair {
    bytes: u64,
    written: Option<SystemTime>,
}

fn label_text(address: &Address, entry: &Entry) -> Vec<u8> {
    let label = Label {
        url: address.masked(),
        cached_at_ns: entry.cached_at_ns,
        validators: entry.validators.clone(),
        sha256: hex::encode(base::digest(&entry.bytes)),
    };
    // Strings and numbers always have a JSON form; an empty label would count as absent.
    serde_json::to_vec_pretty(&label).unwrap_or_default()
}

/// Returns the name for the full address, user info included: a copy of one user must not be used for another.
fn name(address: &Address) -> String {
    hex::encode(base::digest(address.url.secret_text().as_bytes()))
}

fn pair_name(path: &Path) -> Option<&str> {
    let extension = path.extension()?.to_str()?;
    let name = path.file_stem()?.to_str()?;
    let ours = matches!(extension, "body" | "json")
        && name.len() == NAME
        && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    ours.then_some(name)
}

fn remove(path: &Path) {
    // A missing file is fine, and one that cannot be removed is replaced or ignored later.
    drop(fs::remove_file(path));
}

#[cfg(test)]
mod tests;
