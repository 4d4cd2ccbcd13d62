//! The session journal: the events of the hook and its answers, `.role-os/sessions/<id>.jsonl`, one JSON object per
//! line.
//!
//! Every line carries `seq` (from 0), `prev` (SHA-256 of the line before it, without its line feed, in hexadecimal
//! digits; 64 zeros in front of the first), `time_ns`, `agent`, `calls` (tool calls up to and including this line) and
//! `kind`; the rest depends on the kind, see [`record`]. Lines are only ever added, by [`append`] under a lock on the
//! file itself; [`read`] checks the chain. The chain shows that something changed, not its author: proof is the sealed
//! bundle.
//!
//! The texts were redacted and capped before, see [`capture`]. Nothing here decides.

pub mod record;

pub mod capture;

pub mod append;

pub mod read;

pub mod reached;

use std::path::{Path, PathBuf};

use base::digest;

/// File extension of journals.
const EXTENSION: &str = "jsonl";

/// Longest session id that becomes a file name as it is.
const MAX_PLAIN: usize = 100;

/// Value of `prev` in the first line.
pub const NO_LINE: [u8; 32] = [0; 32];

/// The name of a session on disk: the agent's own id if it is a plain word, else its hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Converts an agent's id into a safe file name.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let plain = !text.is_empty()
            && text.len() <= MAX_PLAIN
            && !text.starts_with(['.', '-'])
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if plain {
            return Self(text.to_owned());
        }
        let mut name = hex::encode(digest(text.as_bytes()));
        name.truncate(32);
        Self(format!("id-{name}"))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of the session's journal in a directory of journals.
    #[must_use]
    pub fn path_in(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.{EXTENSION}", self.0))
    }

    /// Returns the session of a journal file; `None` if the path does not name one.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let is_journal = path
            .extension()
            .is_some_and(|extension| extension == EXTENSION);
        let name = path.file_stem()?.to_str()?;
        is_journal.then(|| Self(name.to_owned()))
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
