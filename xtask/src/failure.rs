//! Why a chore or a run of the agents failed: one text for the person who started it. Read by both programs.

use std::fmt;

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// The result of everything here.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// What was attempted, and the cause.
    pub(crate) fn of(attempt: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self(format!("{attempt}: {cause}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
