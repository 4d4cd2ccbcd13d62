//! Runs the tests of a bundle again: base commit in a fresh checkout, diff applied, test command under limits.

use std::io;
use std::path::Path;

use crate::sealing::test_commands::project::Behind;
use crate::sealing::test_commands::{TestCommand, scripts_behind};
use testlog::Reading;
use witness::outcome::{Credit, Judged, Run, RunEnd};
use witness::wire::Outcome;

use crate::sealing::credit;
use base::git::{Checkout, GitError};
use base::process::{self, Ended, Finished, Limits};

/// The task to run again.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Repository that holds the base commit.
    pub repository: &'a Path,
    /// Commit to which the diff applies.
    pub base_commit: &'a str,
    /// The change.
    pub diff: &'a [u8],
    /// Command for the shell.
    pub test_command: &'a str,
    /// Test commands of the user, by their first words.
    pub own_tests: &'a [String],
}

/// Message for runs without a credible test log.
const NO_PROOF: &str = "no test log that can be read and believed shows how the tests ended";

/// Result of the new run.
#[derive(Debug)]
pub struct Rerun {
    /// Outcome of the new run; `None` if it is undecided.
    pub outcome: Option<Outcome>,
    /// Reason of the outcome, as a sentence.
    pub because: String,
    /// The new test log; `None` if the tests were not reached.
    pub run: Option<Finished>,
    /// The parsed new test log.
    pub reading: Option<Reading>,
}

/// Reason why nothing could be executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RerunError {
    /// The base commit could not be checked out.
    #[error("cannot check out the base commit")]
    Checkout(#[source] GitError),
    /// No shell could be started.
    #[error("cannot start the test command")]
    Start(#[source] io::Error),
}

/// Runs the task. The checkout is always removed afterwards.
///
/// # Errors
/// The base commit cannot be checked out, or no command can be started.
pub fn rerun(task: Task<'_>, limits: Limits) -> Result<Rerun, RerunError> {
    let checkout =
        Checkout::new(task.repository, task.base_commit).map_err(RerunError::Checkout)?;
    if let Err(error) = checkout.apply(task.diff) {
        return Ok(Rerun {
            outcome: Some(Outcome::Failed),
            because: format!("the diff does not apply: {error}"),
            run: None,
            reading: None,
        });
    }
    // The project's scripts are read before they can change themselves.
    let test = TestCommand::of(task.test_command, task.own_tests);
    let behind = test
        .as_ref()
        .map(|test| scripts_behind(test, &checkout.path(), task.own_tests))
        .unwrap_or_default();
    let finished =
        process::run(task.test_command, &checkout.path(), limits).map_err(RerunError::Start)?;
    let most = test.map(|test| match finished.ended {
        Ended::Exit(0) => most(&test, &behind),
        // The command failed, so scripts that may fake a success do not matter.
        _ => credit(test.credit),
    });
    let judged = judge(&task, &finished, most);
    let (outcome, because) = match finished.ended {
        Ended::Exit(code) => {
            let exit = format!("the test command ended with exit code {code}");
            match judged.end {
                RunEnd::Passed => (Some(Outcome::Solved), exit),
                RunEnd::Failed => (Some(Outcome::Failed), exit),
                RunEnd::NotStarted => (Some(Outcome::Error), exit),
                RunEnd::CannotTell => {
                    let why = behind.doubt.as_deref().unwrap_or(NO_PROOF);
                    (None, format!("{exit}, and {why}"))
                }
            }
        }
        Ended::Signal(signal) => (
            Some(Outcome::Error),
            format!("the test command was ended by signal {signal}"),
        ),
        Ended::Interrupted => (
            Some(Outcome::Error),
            "the test command was interrupted".to_owned(),
        ),
        Ended::TimedOut => (
            Some(Outcome::Error),
            format!(
                "the test command took longer than {} s",
                limits.time.as_secs()
            ),
        ),
    };
    Ok(Rerun {
        outcome,
        because,
        run: Some(finished),
        reading: judged.reading,
    })
}

/// Returns the highest credit of a test command, given the scripts of the project behind it.
fn most(test: &TestCommand, behind: &Behind) -> Credit {
    let inner = behind.commands.iter();
    let all = inner.map(|(inner, _)| inner.credit).chain([test.credit]);
    let least = all.map(credit).min().unwrap_or_default();
    match behind.doubt {
        Some(_) => least.min(Credit::Nothing),
        None => least,
    }
}

/// Reads the new log by the rules of a session: an exit code without a readable log proves nothing, and a command that
/// hides its exit code or runs on another tree proves no success.
fn judge(task: &Task<'_>, finished: &Finished, most: Option<Credit>) -> Judged {
    let exit = match finished.ended {
        Ended::Exit(code) => Some(i64::from(code)),
        _ => None,
    };
    let run = Run {
        command: task.test_command.to_owned(),
        output: finished.output.clone(),
        failed: exit != Some(0),
        exit,
        credit: match most {
            Some(most) => most,
            None if exit == Some(0) => Credit::Nothing,
            None => Credit::All,
        },
        ..Run::default()
    };
    run.judge()
}
