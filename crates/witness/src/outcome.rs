//! How a task ended, from what is known of it: its test runs, its edits, its diff, and whether the agent broke.
//!
//! The rules, first match: a part of the record is gone: Failed. A test that failed and that no later run of it passed: Failed. Tests pass, ran after the last
//! edit and as widely as before, and there is a diff that applies: Solved. Tests pass and one of these is missing: Skipped, with the
//! [`Doubt`] that says which (a diff that does not apply: Failed). The tests could not be started, or the agent broke
//! without having run any: Error. Otherwise Skipped.
//!
//! [`scope`] says which tests a run counts for, [`deleted`] which tests a diff removes.

pub mod deleted;
pub mod scope;

use crate::wire::Outcome;
use testlog::Reading;

use scope::{Scope, Setup};

/// Exit codes of a shell that could not start a program.
const NOT_STARTED: [i64; 2] = [126, 127];

/// How far output and exit code of a command speak for its test runner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credit {
    /// The tests ran on another tree: in a container, on another machine, in a directory outside of the repository.
    Elsewhere,
    /// Something else may have written the output or decided the exit code. Only a failure is believed.
    #[default]
    Nothing,
    /// The output is a choice of the runner's lines.
    SomeLines,
    /// The output is the runner's; the exit code is not known.
    Output,
    /// Output and exit code are the runner's.
    All,
}

/// One run of tests.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The command, as it was given.
    pub command: String,
    /// What it printed.
    pub output: Vec<u8>,
    /// The command failed, as far as its caller could tell.
    pub failed: bool,
    /// Its exit code, where it is known.
    pub exit: Option<i64>,
    /// How far it can be believed.
    pub credit: Credit,
    /// Why a program of the command may not be the real one.
    pub doubt: Option<String>,
    /// Which tests it counts for.
    pub scope: Scope,
    /// Files may have changed after it.
    pub is_stale: bool,
    /// What chose the tests beside the command: a hash of the runner's settings in the working tree.
    pub setup: Option<String>,
}

/// What a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The output understood, when its runner is known.
    pub reading: Option<Reading>,
    /// How it ended.
    pub end: RunEnd,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The runner's own words say that all is well.
    Passed,
    /// Something failed.
    Failed,
    /// It never started.
    NotStarted,
    /// Nothing that can be believed says how it ended.
    CannotTell,
}

impl RunEnd {
    /// For people.
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
    /// Reads the output and weighs it.
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

    /// A failure is believed wherever it is seen; a success only from the runner, and not against its exit code.
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

    /// Without a log that can be read, only a failure is sure: a program may exit well without having run a test.
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

/// What all runs of a task say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighed {
    /// Which runs decide, by their places in order.
    pub deciding: Vec<usize>,
    /// What they say; none when no test ran.
    pub tests: Option<Tests>,
}

/// How the tests of a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// They pass, after the last edit.
    Passed,
    /// They passed before the last edit.
    PassedBefore,
    /// They pass, but not by their names, and the settings that choose them changed after some had failed.
    PassedOtherwise,
    /// They pass, but only a part of those that an earlier run had ran after the last edit.
    PassedNarrower,
    /// Some fail.
    Failed,
    /// They could not be started.
    NotStarted,
    /// Nothing that can be believed says how they ended.
    CannotTell,
}

/// Weighs the runs of a task in order. A test that failed stays failed until a run that includes it passes. `deleted` are
/// the failed tests that the diff removes.
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
            // None of them proves anything; the last one shows where the task stands.
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

/// What is known of the diff of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// There is none: no repository, or it could not be taken.
    #[default]
    Unknown,
    /// Nothing was changed.
    Nothing,
    /// It does not apply to the commit that it starts from.
    DoesNotApply,
    /// It applies.
    Applies,
}

/// What is known of a task that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// How its tests ended; none when no test ran.
    pub tests: Option<Tests>,
    /// The change.
    pub change: Change,
    /// The agent broke.
    pub broke: bool,
    /// A part of the record of the task is gone.
    pub is_cut: bool,
}

/// Why tests that pass do not make a task solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Files changed after the last test run.
    EditedAfterwards,
    /// The settings that choose the tests changed after some had failed.
    OtherSetup,
    /// Only a part of the tests that an earlier run had ran after the last edit.
    Narrower,
    /// There is no change that could have solved anything.
    NothingChanged,
    /// There is no diff.
    NoDiff,
    /// The diff does not apply.
    DiffFails,
    /// No log that can be read and believed.
    CannotTell,
    /// The log shows no failure, but the command failed or an earlier run in it did.
    NotByTheLog,
    /// A part of the record is gone.
    RecordCut,
}

impl Doubt {
    /// For people, and for the fact in the bundle.
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

/// How a task ended, and why its tests do not settle that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it is not solved although its tests may pass.
    pub doubt: Option<Doubt>,
}

/// Decides how the task ended.
#[must_use]
pub fn decide(known: Known) -> Decision {
    let (outcome, doubt) = match (known.tests, known.change) {
        // What is gone may have been a failure.
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
