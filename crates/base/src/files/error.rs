//! A file operation that failed: what was attempted, with which file, and the system's answer.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::is_link;

/// What was attempted with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Look at it; nothing changes.
    Read,
    /// Replace it.
    Write,
    /// Add to its end.
    Append,
    /// Give it its final name.
    Name,
    /// Make a directory.
    MakeDirectory,
    /// Keep others out.
    Lock,
    /// Complete what is recorded already.
    Finish,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Append => "append to",
            Self::Name => "name",
            Self::MakeDirectory => "make the directory",
            Self::Lock => "lock",
            Self::Finish => "finish writing",
        })
    }
}

/// A file operation that failed, with the file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct FileError {
    /// What was attempted.
    pub action: Action,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// Names the operation and the file.
    pub fn new(action: Action, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Marks a failure behind the point from which the operation counts as done.
    #[must_use]
    pub fn unfinished(self) -> Self {
        Self {
            action: Action::Finish,
            ..self
        }
    }

    /// Returns `true` if a symbolic link is in the way.
    #[must_use]
    pub fn is_link(&self) -> bool {
        is_link(&self.source)
    }
}
