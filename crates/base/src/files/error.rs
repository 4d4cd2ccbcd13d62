//! A failed file operation: the action, the file, and the system's error.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::is_link;

/// Attempted action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read it, without changes.
    Read,
    /// Replace it.
    Write,
    /// Append to it.
    Append,
    /// Rename it to its final name.
    Name,
    /// Create a directory.
    MakeDirectory,
    Lock,
    /// Complete a recorded operation.
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

/// A failed file operation, with the file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct FileError {
    /// The attempted action.
    pub action: Action,
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl FileError {
    /// Creates the error of an action on a file.
    pub fn new(action: Action, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Marks a failure after the point at which the operation counts as done.
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
