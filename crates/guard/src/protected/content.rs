//! Reads the content of a protected path, and detects cheaply that nothing changed there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use base::files;

/// Longest file that is compared and kept.
pub(super) const MAX_FILE: u64 = 1024 * 1024;

/// A change within this time after the last one may leave the same times, so the facts of a fresh file prove nothing.
const SETTLED_NS: i128 = 2_000_000_000;

/// The content of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// SHA-256 of its bytes, in hexadecimal digits.
        sha256: String,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link to this path.
    Link(String),
    Folder,
    /// A device, a pipe, or a file that is too long or cannot be read.
    Other,
}

impl Content {
    /// Returns the content of a file with these bytes and permissions.
    pub(super) fn file(bytes: &[u8], mode: u32) -> Self {
        Self::File {
            sha256: hex::encode(base::digest(bytes)),
            mode,
        }
    }

    /// Returns the hash of a file.
    pub(super) fn sha256(&self) -> Option<&str> {
        match self {
            Self::File { sha256, .. } => Some(sha256),
            _ => None,
        }
    }

    /// Returns a short name for people.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::File { .. } => "another file",
            Self::Link(_) => "a link",
            Self::Folder => "a folder",
            Self::Other => "no readable file",
        }
    }
}

/// Result of reading a path.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) content: Content,
    /// The bytes, if it is a file.
    pub(super) bytes: Option<Vec<u8>>,
    /// Facts by which the same content is recognised without reading it; `None` while they prove nothing.
    pub(super) facts: Option<String>,
}

impl Seen {
    /// Reads the content of `path`.
    pub(super) fn at(path: &Path, now_ns: u64) -> Self {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return Self::of(Content::Absent, None, Some(ABSENT.to_owned()));
        };
        let facts = facts(&metadata, now_ns);
        if metadata.is_symlink() {
            let target = fs::read_link(path).unwrap_or_default();
            let target = target.to_string_lossy().into_owned();
            return Self::of(Content::Link(target), None, facts);
        }
        if metadata.is_dir() {
            return Self::of(Content::Folder, None, facts);
        }
        let read = match metadata.is_file() {
            true => files::read(path, MAX_FILE).ok(),
            false => None,
        };
        match read {
            Some(bytes) => {
                let content = Content::file(&bytes, metadata.mode() & 0o7777);
                Self::of(content, Some(bytes), facts)
            }
            None => Self::of(Content::Other, None, facts),
        }
    }

    fn of(content: Content, bytes: Option<Vec<u8>>, facts: Option<String>) -> Self {
        Self {
            content,
            bytes,
            facts,
        }
    }
}

/// Facts of a path without content.
const ABSENT: &str = "absent";

/// Returns the facts of a path, without reading a file.
pub(super) fn facts_at(path: &Path, now_ns: u64) -> Option<String> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => facts(&metadata, now_ns),
        Err(_) => Some(ABSENT.to_owned()),
    }
}

/// Returns device, inode, size, permissions and both times: at least one differs after a change or replacement.
fn facts(metadata: &Metadata, now_ns: u64) -> Option<String> {
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let changed = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
    let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
    let is_settled = i128::from(now_ns) - changed > SETTLED_NS;
    is_settled.then(|| {
        let (device, inode) = (metadata.dev(), metadata.ino());
        let (size, mode) = (metadata.size(), metadata.mode());
        format!("{device}:{inode}:{size}:{mode:o}:{modified}:{changed}")
    })
}
