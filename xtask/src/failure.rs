//! Reason that a chore or a run of the agents failed: one text for the user. Used by both programs.

use std::fmt;

/// Text of a failure.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// Result type of both programs.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Creates a failure from the attempt and its cause.
    pub(crate) fn of(attempt: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self(format!("{attempt}: {cause}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
