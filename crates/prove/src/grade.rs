//! Decides if a task is solved, from the results of its tests. Executes nothing.

use std::collections::BTreeSet;

use witness::wire::Outcome;

use crate::canary;
use crate::cases::{Cases, Status};
use crate::task::Tests;

/// Reason why a task is not solved.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A test has a wrong result.
    Tests,
    /// The agent made no change that counts.
    EmptyPatch,
    /// The change does not apply.
    NoApply,
    /// The change exceeds the limit.
    DiffTooLarge,
    /// The agent used up its time, calls, cost or output.
    AgentExhaustedBudget,
    /// The agent broke a rule, and its work was rolled back.
    Violation,
    /// The canary's results in the report are wrong.
    Forged,
    /// The task cannot run here.
    NeedsCommit,
    /// The task requires a container.
    NeedsContainer,
    /// The environment cannot be created.
    NeedsEnvironment,
    /// There is no box, or it failed.
    SandboxFailed,
    /// The model did not answer.
    ModelProviderFailed,
    /// The tests could not be run or took too long.
    VerifierFailed,
    /// A fault of the harness.
    Harness,
}

impl Cause {
    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::EmptyPatch => "empty_patch",
            Self::NoApply => "no_apply",
            Self::DiffTooLarge => "diff_too_large",
            Self::AgentExhaustedBudget => "agent_exhausted_budget",
            Self::Violation => "violation",
            Self::Forged => "forged",
            Self::NeedsCommit => "needs_commit",
            Self::NeedsContainer => "needs_container",
            Self::NeedsEnvironment => "needs_environment",
            Self::SandboxFailed => "sandbox_failed",
            Self::ModelProviderFailed => "model_provider_failed",
            Self::VerifierFailed => "verifier_failed",
            Self::Harness => "harness",
        }
    }

    /// Returns the outcome of a task with this cause.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::NeedsCommit | Self::NeedsContainer | Self::NeedsEnvironment => Outcome::Skipped,
            Self::SandboxFailed
            | Self::ModelProviderFailed
            | Self::VerifierFailed
            | Self::Harness => Outcome::Error,
            _ => Outcome::Failed,
        }
    }
}

/// Observations of a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The report; `None` if it is not readable.
    pub cases: Option<Cases>,
    /// The exit code; `None` if the run was stopped.
    pub code: Option<i32>,
    /// The suffix of the canary, if there is one.
    pub canary: Option<String>,
}

/// The verdict on a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// `None` if the task is solved.
    pub cause: Option<Cause>,
    /// Tests that had to pass and did not, with their status.
    pub failing: Vec<(String, &'static str)>,
    /// Tests that passed as they had to.
    pub passing: BTreeSet<String>,
    /// Remarks for people.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Creates a verdict without a test run.
    #[must_use]
    pub fn of(cause: Cause, note: impl Into<String>) -> Self {
        Self {
            cause: Some(cause),
            notes: vec![note.into()],
            ..Self::default()
        }
    }

    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.cause.map_or(Outcome::Solved, Cause::outcome)
    }
}

/// Decides by the tests: every one that must change passes, and every one that must stay passes or is skipped.
#[must_use]
pub fn decide(tests: &Tests, observed: &Observed) -> Verdict {
    let mut verdict = Verdict::default();
    if observed.code.is_none() {
        return Verdict::of(
            Cause::VerifierFailed,
            "the tests were stopped before they ended",
        );
    }
    let mut cases = observed.cases.clone().unwrap_or_default();
    if observed.cases.is_none() {
        verdict
            .notes
            .push("the tests left no report that can be read".to_owned());
    }
    let is_forged = match &observed.canary {
        None => {
            verdict.notes.push("no canary".to_owned());
            false
        }
        Some(suffix) => !canary::take(&mut cases, suffix) && observed.cases.is_some(),
    };
    for (names, may_skip) in [(&tests.fail_to_pass, false), (&tests.pass_to_pass, true)] {
        for name in names {
            match find(&cases, name) {
                Some(Status::Passed) => {
                    verdict.passing.insert(name.clone());
                }
                Some(Status::Skipped) if may_skip => {
                    verdict.passing.insert(name.clone());
                }
                other => verdict
                    .failing
                    .push((name.clone(), other.map_or("MISSING", Status::name))),
            }
        }
    }
    if is_forged {
        verdict
            .notes
            .push("the report does not show the canary as it must be".to_owned());
        verdict.cause = Some(Cause::Forged);
    } else if !verdict.failing.is_empty() {
        verdict.cause = Some(Cause::Tests);
    } else if observed.canary.is_none()
        && observed.code != Some(0)
        && tests.known_failing.is_empty()
    {
        let failed = cases.values().any(|status| *status >= Status::Failed);
        if !failed {
            verdict
                .notes
                .push("the run failed although no test did".to_owned());
            verdict.cause = Some(Cause::VerifierFailed);
        }
    }
    verdict
}

/// Finds a test by name. A name with unclosed brackets was cut off by its source, and stands for all tests with this
/// prefix and equal results.
fn find(cases: &Cases, name: &str) -> Option<Status> {
    if let Some(status) = cases.get(name) {
        return Some(*status);
    }
    if name.matches('[').count() <= name.matches(']').count() {
        return None;
    }
    let mut found = cases
        .range(name.to_owned()..)
        .take_while(|(other, _)| other.starts_with(name));
    let first = *found.next()?.1;
    found.all(|(_, status)| *status == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &str) -> BTreeSet<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_a_whole_and_honest_report_solves() {
        let tests = Tests {
            fail_to_pass: set("a b[1"),
            pass_to_pass: set("c"),
            ..Tests::default()
        };
        let canary = "roleos_must_fail_x=F roleos_must_pass_x=P";
        for (report, code, planted, expected) in [
            (format!("a=P b[1-2]=P c=P {canary}"), Some(1), true, None),
            (
                format!("a=P b[1-2]=P b[1-3]=P c=S {canary}"),
                Some(1),
                true,
                None,
            ),
            (
                format!("a=P b[1-2]=P b[1-3]=F c=P {canary}"),
                Some(1),
                true,
                Some(Cause::Tests),
            ),
            (
                format!("a=S b[1]=P c=P {canary}"),
                Some(1),
                true,
                Some(Cause::Tests),
            ),
            (
                format!("a=P b[1]=P {canary}"),
                Some(1),
                true,
                Some(Cause::Tests),
            ),
            // The runner was changed: the canary passes, or is missing.
            (
                "a=P b[1]=P c=P roleos_must_fail_x=P roleos_must_pass_x=P".to_owned(),
                Some(0),
                true,
                Some(Cause::Forged),
            ),
            (
                "a=P b[1]=P c=P".to_owned(),
                Some(0),
                true,
                Some(Cause::Forged),
            ),
            (
                format!("a=P b[1]=P c=P {canary}"),
                None,
                true,
                Some(Cause::VerifierFailed),
            ),
            ("a=P b[1]=P c=P".to_owned(), Some(0), false, None),
            (
                "a=P b[1]=P c=P".to_owned(),
                Some(3),
                false,
                Some(Cause::VerifierFailed),
            ),
            ("a=P b[1]=P c=P d=F".to_owned(), Some(1), false, None),
        ] {
            let case = |one: &str| {
                let (name, status) = one.split_once('=').unwrap();
                let status = match status {
                    "P" => Status::Passed,
                    "S" => Status::Skipped,
                    _ => Status::Failed,
                };
                (name.to_owned(), status)
            };
            let observed = Observed {
                cases: Some(report.split_whitespace().map(case).collect()),
                code,
                canary: planted.then(|| "x".to_owned()),
            };
            assert_eq!(decide(&tests, &observed).cause, expected, "{report}");
        }
        let nothing = Observed {
            code: Some(0),
            canary: Some("x".to_owned()),
            ..Observed::default()
        };
        assert_eq!(decide(&tests, &nothing).cause, Some(Cause::Tests));
    }
}
