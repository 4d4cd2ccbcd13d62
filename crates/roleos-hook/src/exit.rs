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
//! `roleos hook` uses the codes of the agent that calls it: 0 proceed, 2 block.

use std::process::ExitCode;

/// Exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, and the check passed.
    Done = 0,
    /// The input is wrong, or a check failed.
    Failed = 1,
    /// Refused, or could not run.
    Refused = 2,
    /// Done and recorded, but a later step failed. Repeating it would do it twice.
    Unfinished = 3,
    /// A command was not started, because it cannot be supervised. All other codes may be its own.
    Unsupervised = 125,
}

impl Exit {
    /// Returns `Done` if the check passed, else `Failed`.
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
