//! Runs the tests of a bundle again: base commit in a fresh checkout, diff applied, test command under limits.

use std::io;
use std::path::Path;

use witness::replay;
use witness::test_log::{self, Reading};
use witness::wire::Outcome;

use crate::git::{Checkout, GitError};
use crate::process::{self, Ended, Finished, Limits};

/// What is run again.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Repository that holds the base commit.
    pub repository: &'a Path,
    /// Commit on which the diff applies.
    pub base_commit: &'a str,
    /// The change.
    pub diff: &'a [u8],
    /// Command for the shell.
    pub test_command: &'a str,
}

/// What the new run showed.
#[derive(Debug)]
pub struct Rerun {
    /// The outcome that the new run shows.
    pub outcome: Outcome,
    /// One sentence on why.
    pub because: String,
    /// The new test log; `None` when the tests were not reached.
    pub run: Option<Finished>,
    /// The new test log, understood.
    pub reading: Option<Reading>,
}

/// Why nothing could be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RerunError {
    /// No checkout of the base commit.
    #[error("cannot check out the base commit")]
    Checkout(#[source] GitError),
    /// No shell.
    #[error("cannot start the test command")]
    Start(#[source] io::Error),
}

/// Runs the task. The checkout is removed afterwards, whatever happened.
///
/// # Errors
/// The base commit cannot be checked out, or no command can be started.
pub fn rerun(task: Task<'_>, limits: Limits) -> Result<Rerun, RerunError> {
    let checkout =
        Checkout::new(task.repository, task.base_commit).map_err(RerunError::Checkout)?;
    if let Err(error) = checkout.apply(task.diff) {
        return Ok(Rerun {
            outcome: Outcome::Failed,
            because: format!("the diff does not apply: {error}"),
            run: None,
            reading: None,
        });
    }
    let run =
        process::run(task.test_command, &checkout.path(), limits).map_err(RerunError::Start)?;
    let reading = test_log::read(&run.output);
    let (outcome, because) = match run.ended {
        Ended::Exit(code) => (
            replay::observed(code == 0, reading.as_ref()),
            format!("the test command ended with exit code {code}"),
        ),
        Ended::Signal(signal) => (
            Outcome::Error,
            format!("the test command was ended by signal {signal}"),
        ),
        Ended::Interrupted => (
            Outcome::Error,
            "the test command was interrupted".to_owned(),
        ),
        Ended::TimedOut => (
            Outcome::Error,
            format!(
                "the test command took longer than {} s",
                limits.time.as_secs()
            ),
        ),
    };
    Ok(Rerun {
        outcome,
        because,
        run: Some(run),
        reading,
    })
}
