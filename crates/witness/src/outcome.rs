//! How a task ended, from what is known of it: its test runs, its diff, and whether the agent broke.
//!
//! The rules, first match: the tests ran and pass and the diff applies: Solved. Tests fail, or the diff does not apply:
//! Failed. The tests could not be run, or the agent broke without having run any: Error. No test ran: Skipped.

use crate::replay;
use crate::test_log::{self, Reading, Runner};
use crate::wire::Outcome;

/// Exit codes of a shell that could not start a program.
const NOT_STARTED: [i64; 2] = [126, 127];

/// One run of tests.
#[derive(Clone, Debug)]
pub struct Run {
    /// The command, as it was given.
    pub command: String,
    /// What it printed.
    pub output: Vec<u8>,
    /// The command failed, as far as its caller could tell.
    pub failed: bool,
    /// Its exit code, where it is known.
    pub exit: Option<i64>,
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
    /// All is well.
    Passed,
    /// Something failed, or it cannot be told that nothing did.
    Failed,
    /// It never started.
    NotStarted,
}

impl RunEnd {
    /// For people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotStarted => "could not be started",
        }
    }
}

impl Run {
    /// Reads the output. A runner that is not known here is believed by its exit code.
    #[must_use]
    pub fn judge(&self) -> Judged {
        let reading = test_log::read(&self.output);
        let not_started = self.exit.is_some_and(|exit| NOT_STARTED.contains(&exit));
        let end = if reading.is_none() && not_started {
            RunEnd::NotStarted
        } else if replay::observed(!self.failed, reading.as_ref()) == Outcome::Solved {
            RunEnd::Passed
        } else {
            RunEnd::Failed
        };
        Judged { reading, end }
    }
}

/// Which runs count: of each runner the last one. Gives their places, in order.
#[must_use]
pub fn deciding(runs: &[(Run, Judged)]) -> Vec<usize> {
    let mut last: Vec<(Key<'_>, usize)> = Vec::new();
    for (place, (run, judged)) in runs.iter().enumerate() {
        let key = match &judged.reading {
            Some(reading) => Key::Runner(reading.runner),
            None => Key::Command(run.command.trim()),
        };
        last.retain(|(known, _)| *known != key);
        last.push((key, place));
    }
    let mut places: Vec<usize> = last.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    places
}

#[derive(PartialEq, Eq)]
enum Key<'a> {
    Runner(Runner),
    Command(&'a str),
}

/// What is known of a task that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// How the deciding runs ended together; none when no test ran.
    pub tests: Option<RunEnd>,
    /// The diff is known not to apply to the commit that it starts from.
    pub diff_fails: bool,
    /// The agent broke.
    pub broke: bool,
}

/// The worst of several ends; none when there are none.
#[must_use]
pub fn together(ends: impl IntoIterator<Item = RunEnd>) -> Option<RunEnd> {
    let worse = |one: RunEnd, other: RunEnd| match (one, other) {
        (RunEnd::Failed, _) | (_, RunEnd::Failed) => RunEnd::Failed,
        (RunEnd::NotStarted, _) | (_, RunEnd::NotStarted) => RunEnd::NotStarted,
        (RunEnd::Passed, RunEnd::Passed) => RunEnd::Passed,
    };
    ends.into_iter().reduce(worse)
}

/// How the task ended.
#[must_use]
pub fn decide(known: Known) -> Outcome {
    match known.tests {
        Some(RunEnd::Passed) if known.diff_fails => Outcome::Failed,
        Some(RunEnd::Passed) => Outcome::Solved,
        Some(RunEnd::Failed) => Outcome::Failed,
        Some(RunEnd::NotStarted) => Outcome::Error,
        None if known.broke => Outcome::Error,
        None => Outcome::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: &str = "============================= test session starts ==============================\ncollected 2 items\n\n============================== 2 passed in 0.01s ===============================\n";
    const FAILS: &str = "============================= test session starts ==============================\ncollected 2 items\n\n=========================== short test summary info ============================\nFAILED t.py::test_a - x\n========================= 1 failed, 1 passed in 0.01s ==========================\n";

    fn run(command: &str, output: &str, exit: Option<i64>) -> Run {
        Run {
            command: command.to_owned(),
            output: output.as_bytes().to_vec(),
            failed: exit.is_some_and(|exit| exit != 0),
            exit,
        }
    }

    #[test]
    fn a_known_runner_is_read_and_another_believed() {
        let end = |output, exit| run("x", output, exit).judge().end;
        assert_eq!(end(PASSES, Some(0)), RunEnd::Passed);
        assert_eq!(end(PASSES, None), RunEnd::Passed);
        assert_eq!(end(PASSES, Some(1)), RunEnd::Failed);
        assert_eq!(end(FAILS, Some(1)), RunEnd::Failed);
        assert_eq!(end(FAILS, Some(0)), RunEnd::Failed, "as behind a pipe");
        assert_eq!(end("all good", Some(0)), RunEnd::Passed);
        assert_eq!(end("bad", Some(2)), RunEnd::Failed);
        assert_eq!(end("pytest: not found", Some(127)), RunEnd::NotStarted);
    }

    #[test]
    fn the_last_run_of_each_runner_counts() {
        let judged = |run: Run| {
            let judged = run.judge();
            (run, judged)
        };
        let runs = [
            judged(run("pytest", FAILS, Some(1))),
            judged(run("make test", "ok", Some(0))),
            judged(run("make test", "no", Some(2))),
            judged(run("pytest t.py", PASSES, Some(0))),
            judged(run("./test.sh", "ok", Some(0))),
        ];
        assert_eq!(deciding(&runs), [2, 3, 4]);
    }

    #[test]
    fn the_rules() {
        let check = |tests, diff_fails, broke, expected| {
            let known = Known {
                tests,
                diff_fails,
                broke,
            };
            assert_eq!(decide(known), expected, "{known:?}");
        };
        check(Some(RunEnd::Passed), false, false, Outcome::Solved);
        check(Some(RunEnd::Passed), false, true, Outcome::Solved);
        check(Some(RunEnd::Passed), true, false, Outcome::Failed);
        check(Some(RunEnd::Failed), false, true, Outcome::Failed);
        check(Some(RunEnd::NotStarted), false, false, Outcome::Error);
        check(None, false, true, Outcome::Error);
        check(None, true, false, Outcome::Skipped);
        assert_eq!(together([]), None);
        assert_eq!(
            together([RunEnd::Passed, RunEnd::NotStarted, RunEnd::Failed]),
            Some(RunEnd::Failed)
        );
    }
}
