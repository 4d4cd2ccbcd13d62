//! Every exit code, in one place.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the user's input is wrong, or a check failed |
//! | 2 | refused, or could not run |
//! | 3 | done, but not finished: do not repeat it, the next command finishes it |
//! | 125 | `roleos run`: the command cannot be supervised, and was not started |
//!
//! `roleos hook` has a table of its own, that of the agent which calls it: 0 proceed, 2 block.

use std::process::ExitCode;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, and what was checked holds.
    Done = 0,
    /// The input is wrong, or a check failed.
    Failed = 1,
    /// Refused, or could not run.
    Refused = 2,
    /// Done and recorded, but a later step failed. Repeating it would do it twice.
    Unfinished = 3,
    /// A command was not started, because it cannot be supervised. Its own codes are all others.
    Unsupervised = 125,
}

impl Exit {
    /// Done when the check holds.
    #[must_use]
    pub fn of_check(holds: bool) -> Self {
        if holds { Self::Done } else { Self::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
