//! Outcome of a task, from its test runs, its edits, its diff, and failures of the agent.
//!
//! The rules, first match: a part of the record is missing: Failed. A test that failed and that no later run of it
//! passed: Failed. Tests pass, ran after the last edit and as widely as before, and there is a diff that applies:
//! Solved. Tests pass and one of these is missing: Skipped, with the [`Doubt`] that names it (a diff that does not
//! apply: Failed). The tests could not be started, or the agent broke without having run any: Error. Otherwise
//! Skipped.
//!
//! [`scope`] determines the tests that a run counts for, [`deleted`] the tests that a diff removes.

pub mod deleted;
pub mod scope;

use crate::wire::Outcome;
use testlog::Reading;

use scope::{Scope, Setup};

/// Exit codes of a shell that could not start a program.
const NOT_STARTED: [i64; 2] = [126, 127];

/// Credit that output and exit code of a command have for its test runner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credit {
    /// The tests ran on another tree: in a container, on another machine, in a directory outside of the repository.
    Elsewhere,
    /// Another program may have written the output or decided the exit code. Only a failure is accepted.
    #[default]
    Nothing,
    /// The output is a selection of the runner's lines.
    SomeLines,
    /// The output is the runner's; the exit code is unknown.
    Output,
    /// Output and exit code are the runner's.
    All,
}

/// One run of tests.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Command line of the run.
    pub command: String,
    /// Output of the command.
    pub output: Vec<u8>,
    /// Set if the command failed, as reported by its caller.
    pub failed: bool,
    /// Exit code, if it is known.
    pub exit: Option<i64>,
    /// Credit of output and exit code.
    pub credit: Credit,
    /// Reason that a program of the command may not be the real one.
    pub doubt: Option<String>,
    /// Tests that the run counts for.
    pub scope: Scope,
    /// Set if files may have changed after the run.
    pub is_stale: bool,
    /// Hash of the runner's settings in the working tree, which select tests beside the command.
    pub setup: Option<String>,
}

/// Interpretation of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Parsed output, if its runner is known.
    pub reading: Option<Reading>,
    /// End of the run.
    pub end: RunEnd,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The runner's own summary reports success.
    Passed,
    /// Something failed.
    Failed,
    /// The tests never started.
    NotStarted,
    /// No credible output tells the end.
    CannotTell,
}

impl RunEnd {
    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotStarted => "could not be started",
            Self::CannotTell => "cannot be told",
        }
    }
}

impl Run {
    /// Parses the output and decides the end of the run.
    #[must_use]
    pub fn judge(&self) -> Judged {
        let reading = testlog::read(&self.output);
        let end = match &reading {
            _ if self.credit == Credit::Elsewhere => RunEnd::CannotTell,
            Some(reading) => self.read_end(reading),
            None => self.unread_end(),
        };
        Judged { reading, end }
    }

    /// Returns the end by the log. A failure counts wherever it is seen; a success only from the runner, and not
    /// against its exit code.
    fn read_end(&self, reading: &Reading) -> RunEnd {
        if reading.shows_failure() || reading.earlier_failed {
            return RunEnd::Failed;
        }
        let exit_is_bad = self.failed && self.credit == Credit::All;
        if !reading.passes() {
            let is_cut = exit_is_bad && !reading.complete;
            return if is_cut {
                RunEnd::Failed
            } else {
                RunEnd::CannotTell
            };
        }
        match self.credit {
            Credit::All if self.failed => RunEnd::Failed,
            Credit::All => RunEnd::Passed,
            Credit::Output if !self.failed => RunEnd::Passed,
            Credit::SomeLines if !self.failed && reading.has_one_summary => RunEnd::Passed,
            _ => RunEnd::CannotTell,
        }
    }

    /// Returns the end without a readable log. Then only a failure is certain: a program may succeed without having
    /// run a test.
    fn unread_end(&self) -> RunEnd {
        if self.exit.is_some_and(|exit| NOT_STARTED.contains(&exit)) {
            RunEnd::NotStarted
        } else if self.failed && self.credit == Credit::All {
            RunEnd::Failed
        } else {
            RunEnd::CannotTell
        }
    }
}

/// Combined result of all runs of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighed {
    /// Indices of the deciding runs.
    pub deciding: Vec<usize>,
    /// Result of those runs; `None` if no test ran.
    pub tests: Option<Tests>,
}

/// Result of the tests of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// They pass, and ran after the last edit.
    Passed,
    /// They passed before the last edit.
    PassedBefore,
    /// They pass, but not by their names, and the settings that select them changed after some had failed.
    PassedOtherwise,
    /// They pass, but after the last edit only a part of the tests of an earlier run ran.
    PassedNarrower,
    /// Some fail.
    Failed,
    /// They could not be started.
    NotStarted,
    /// No credible output tells the result.
    CannotTell,
}

/// Combines the runs of a task in order. A test that failed stays failed until a run that includes it passes.
/// `deleted` are the failed tests that the diff removes.
#[must_use]
pub fn weigh(runs: &[(Run, Judged)], deleted: &[String]) -> Weighed {
    let failing = scope::failing(runs, deleted, Setup::Any);
    if !failing.is_empty() {
        return Weighed {
            deciding: failing,
            tests: Some(Tests::Failed),
        };
    }
    let by_end = [
        (RunEnd::Passed, false, Tests::Passed),
        (RunEnd::Passed, true, Tests::PassedBefore),
        (RunEnd::CannotTell, true, Tests::CannotTell),
        (RunEnd::NotStarted, true, Tests::NotStarted),
    ];
    for (wanted, may_be_stale, tests) in by_end {
        let all = runs.iter().enumerate();
        let found = all
            .filter(|(_, (run, judged))| judged.end == wanted && (may_be_stale || !run.is_stale));
        let mut deciding: Vec<usize> = found.map(|(place, _)| place).collect();
        if may_be_stale {
            // None of the runs proves anything; the last one shows the state of the task.
            deciding = deciding.split_off(deciding.len().saturating_sub(1));
        }
        if !deciding.is_empty() {
            let is_same = scope::failing(runs, deleted, Setup::Same).is_empty();
            let tests = match tests {
                Tests::Passed if !is_same => Tests::PassedOtherwise,
                Tests::Passed if scope::are_narrower(runs, &deciding) => Tests::PassedNarrower,
                tests => tests,
            };
            return Weighed {
                deciding,
                tests: Some(tests),
            };
        }
    }
    Weighed::default()
}

/// State of the diff of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// There is no diff: no repository, or it could not be made.
    #[default]
    Unknown,
    /// Nothing was changed.
    Nothing,
    /// The diff does not apply to its base commit.
    DoesNotApply,
    /// The diff applies.
    Applies,
}

/// Facts about a finished task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Result of its tests; `None` if no test ran.
    pub tests: Option<Tests>,
    /// State of the diff.
    pub change: Change,
    /// Set if the agent broke.
    pub broke: bool,
    /// Set if a part of the record of the task is missing.
    pub is_cut: bool,
}

/// Reason that passing tests do not make a task solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Files changed after the last test run.
    EditedAfterwards,
    /// The settings that select the tests changed after some had failed.
    OtherSetup,
    /// After the last edit only a part of the tests of an earlier run ran.
    Narrower,
    /// There is no change that could have solved the task.
    NothingChanged,
    /// There is no diff.
    NoDiff,
    /// The diff does not apply.
    DiffFails,
    /// No log is readable and credible.
    CannotTell,
    /// The log shows no failure, but the command failed or an earlier run in it did.
    NotByTheLog,
    /// A part of the record is missing.
    RecordCut,
}

impl Doubt {
    /// Returns the text for people, and for the fact in the bundle.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::EditedAfterwards => "no test ran after the last edit",
            Self::OtherSetup => {
                "the settings that choose the tests changed after some had failed, and no later log names these as passed"
            }
            Self::Narrower => {
                "after the last edit only a part of the tests ran that an earlier run had"
            }
            Self::NothingChanged => "nothing was changed",
            Self::NoDiff => "there is no diff",
            Self::DiffFails => "the diff does not apply to the commit that it starts from",
            Self::CannotTell => {
                "no test log that can be read and believed shows how the tests ended"
            }
            Self::RecordCut => "a part of the session's journal was removed or exchanged",
            Self::NotByTheLog => "the command failed, though the end of its log shows no failure",
        }
    }
}

/// Outcome of a task, with the doubt about its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Decided outcome.
    pub outcome: Outcome,
    /// Reason that the task is not solved although its tests may pass.
    pub doubt: Option<Doubt>,
}

/// Decides the outcome of the task.
#[must_use]
pub fn decide(known: Known) -> Decision {
    let (outcome, doubt) = match (known.tests, known.change) {
        // The missing part may have been a failure.
        _ if known.is_cut => (Outcome::Failed, Some(Doubt::RecordCut)),
        (Some(Tests::Failed), _) => (Outcome::Failed, None),
        (Some(Tests::NotStarted), _) => (Outcome::Error, None),
        (Some(Tests::CannotTell), _) => (Outcome::Skipped, Some(Doubt::CannotTell)),
        (Some(Tests::PassedOtherwise), _) => (Outcome::Skipped, Some(Doubt::OtherSetup)),
        (Some(Tests::PassedNarrower), _) => (Outcome::Skipped, Some(Doubt::Narrower)),
        (Some(Tests::PassedBefore), _) => (Outcome::Skipped, Some(Doubt::EditedAfterwards)),
        (Some(Tests::Passed), Change::Unknown) => (Outcome::Skipped, Some(Doubt::NoDiff)),
        (Some(Tests::Passed), Change::Nothing) => (Outcome::Skipped, Some(Doubt::NothingChanged)),
        (Some(Tests::Passed), Change::DoesNotApply) => (Outcome::Failed, Some(Doubt::DiffFails)),
        (Some(Tests::Passed), Change::Applies) => (Outcome::Solved, None),
        (None, _) if known.broke => (Outcome::Error, None),
        (None, _) => (Outcome::Skipped, None),
    };
    Decision { outcome, doubt }
}

#[cfg(test)]
mod tests;
