//! Stored data of a trial: records as JSON, and the folder with its files.

use std::io;
use std::path::PathBuf;

use base::files::{self, Privacy};
use serde::{Deserialize, Serialize};
use witness::wire::Outcome;

use super::hooks::ToolCall;
use super::model::Metered;
use crate::grade::Cause;
use crate::suite::Member;

/// Largest record that is read back.
pub(super) const MAX_RECORD: u64 = 64 << 20;

/// Record of an agent's work, written at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRecord {
    /// Exit code; `None` if it was stopped.
    pub code: Option<i32>,
    /// Why it was stopped.
    pub stopped: String,
    /// Reason why it is not graded.
    pub cause: Option<Cause>,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// Paths of its change that do not count.
    pub left_out: Vec<String>,
    /// Rules that it broke.
    pub violations: Vec<String>,
    /// Refused acts, described in words.
    pub refused: Vec<String>,
    /// Number of programs that it started, if observed.
    pub programs: u64,
    /// The rollback to the state before it.
    pub rollback: Option<RollbackRecord>,
    /// Cost in millionths of a dollar, if known.
    pub cost: Option<u32>,
    /// Tokens, if known.
    pub tokens: Option<u32>,
    /// Source of the cost: `agent`, `priced` or `unknown`.
    pub cost_source: String,
    /// Cost that the agent states.
    pub cost_agent: Option<u32>,
    /// Bytes of its slot at its end.
    pub disk_bytes: u64,
    /// Metered traffic with the model.
    pub metered: Option<Metered>,
    /// Tool calls, from the journal outside the box.
    pub calls: Vec<ToolCall>,
    /// Earlier attempts that were lost because the run was killed.
    pub lost: u32,
}

impl AgentRecord {
    /// Returns a remark if the agent's own cost differs by more than a tenth from tokens times prices.
    #[must_use]
    pub fn cost_note(&self) -> Option<String> {
        let priced = self.metered.as_ref()?.cost.filter(|cost| *cost > 0)?;
        let stated = u64::from(self.cost_agent?);
        let is_near = stated.abs_diff(priced).saturating_mul(10) <= priced;
        (!is_near).then(|| {
            format!(
                "the agent states {stated} millionths of a dollar, tokens and prices give {priced}"
            )
        })
    }

    /// Returns the refused acts and calls, described in words.
    pub fn all_refused(&self) -> impl Iterator<Item = String> {
        let calls = self.calls.iter().filter(|call| call.recorded == "denied");
        let calls =
            calls.map(|call| format!("{}: {} {}", call.actions.join(", "), call.tool, call.input));
        self.refused.iter().cloned().chain(calls)
    }
}

/// A rollback to the state before the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackRecord {
    /// Set if the tree is as it was.
    pub restored: bool,
    /// Hash of the state before.
    pub wanted: String,
    /// Hash of the state after the rollback.
    pub found: String,
}

/// Result of a trial, written when it is graded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Id of the task.
    pub task: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Digest of the task.
    pub digest: String,
    /// Name of the outcome.
    pub outcome: String,
    /// Why it is not solved.
    pub cause: Option<Cause>,
    /// Tests that had to pass and did not.
    pub failing: Vec<(String, String)>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Number of graded tests that passed.
    pub passed: usize,
    /// Milliseconds of the tests.
    pub test_ms: u64,
    /// Number of test runs.
    pub test_runs: u32,
    /// Milliseconds of everything else.
    pub overhead_ms: u64,
    /// Time of grading, in nanoseconds since 1970.
    pub created_ns: u64,
    /// Record of the agent's work.
    pub agent: AgentRecord,
}

impl TrialRecord {
    /// Creates the record of a trial that never began.
    #[must_use]
    pub fn not_run(member: &Member, attempt: u32, cause: Cause, why: String) -> Self {
        Self {
            task: member.task.id.clone(),
            attempt,
            digest: member.digest.clone(),
            outcome: cause.outcome().name().to_owned(),
            cause: Some(cause),
            failing: Vec::new(),
            notes: vec![why],
            passed: 0,
            test_ms: 0,
            test_runs: 0,
            overhead_ms: 0,
            created_ns: base::clock::now_ns(),
            agent: AgentRecord::default(),
        }
    }

    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let found = Outcome::ALL
            .into_iter()
            .find(|one| one.name() == self.outcome);
        found.unwrap_or(Outcome::Error)
    }

    /// Returns `true` if a resumed run tries it again.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        matches!(self.outcome(), Outcome::Skipped | Outcome::Error)
    }
}

/// Files of one trial.
#[derive(Clone, Debug)]
pub struct TrialFolder(pub PathBuf);

impl TrialFolder {
    /// Writes one of its files.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        files::make_directory(&self.0, Privacy::Secret).map_err(|error| error.source)?;
        files::write_quickly(&self.0.join(name), bytes).map_err(|error| error.source)
    }

    /// Reads one of its files; `None` if it is missing.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        files::read(&self.0.join(name), MAX_RECORD).ok()
    }

    pub(super) fn record<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&self.read(name)?).ok()
    }

    pub(super) fn keep<T: Serialize>(&self, name: &str, record: &T) -> io::Result<()> {
        self.write(name, &serde_json::to_vec_pretty(record)?)
    }

    /// Returns the record of the graded trial.
    #[must_use]
    pub fn result(&self) -> Option<TrialRecord> {
        self.record("result.json")
    }

    /// Writes the record of the graded trial.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_result(&self, record: &TrialRecord) -> io::Result<()> {
        self.keep("result.json", record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_differ_are_remarked() {
        let record = |stated: Option<u32>, priced: Option<u64>| AgentRecord {
            cost_agent: stated,
            metered: Some(Metered {
                cost: priced,
                ..Metered::default()
            }),
            ..AgentRecord::default()
        };
        for (stated, priced, is_noted) in [
            (Some(100), Some(109), false),
            (Some(100), Some(300), true),
            (Some(300), Some(100), true),
            (None, Some(100), false),
            (Some(100), None, false),
        ] {
            let note = record(stated, priced).cost_note();
            assert_eq!(note.is_some(), is_noted, "{stated:?} {priced:?}");
        }
        assert_eq!(AgentRecord::default().cost_note(), None);
    }
}
