//! The folder of a run: its identity, its journal, and the data read from both.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use serde::{Deserialize, Serialize};
use witness::wire::Outcome;

use super::{MAX_JOURNAL, RunError, RunFacts};
use crate::trial::{TrialFolder, TrialRecord};

#[derive(Clone, Debug)]
pub struct RunFolder(pub PathBuf);

/// A line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) at: String,
    pub(super) trial: String,
    pub(super) state: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) task_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) sha256: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) file: String,
}

impl RunFolder {
    /// Returns the folder of a run, below the folder of all runs.
    #[must_use]
    pub fn of(runs: &Path, run: &str) -> Self {
        Self(runs.join(run))
    }

    /// Reads the identity of the run.
    ///
    /// # Errors
    /// There is no such run.
    pub fn facts(&self) -> Result<RunFacts, RunError> {
        let missing = || {
            RunError::Missing(
                self.0
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            )
        };
        let bytes = files::read(&self.0.join("run.toml"), MAX_JOURNAL).map_err(|_| missing())?;
        toml::from_str(&String::from_utf8_lossy(&bytes)).map_err(|_| missing())
    }

    /// Writes the identity of a new run, or checks that of a resumed one.
    pub(super) fn begin(&self, facts: &RunFacts) -> Result<(), RunError> {
        if let Ok(known) = self.facts() {
            let same = RunFacts {
                created: facts.created.clone(),
                ..known
            } == *facts;
            return same
                .then_some(())
                .ok_or_else(|| RunError::Other(facts.run.clone()));
        }
        files::make_directory(&self.0, Privacy::Secret)?;
        let text = toml::to_string(facts).map_err(io::Error::other)?;
        files::write(&self.0.join("run.toml"), text.as_bytes(), Privacy::Secret)?;
        Ok(())
    }

    /// Returns the files of a trial.
    #[must_use]
    pub fn trial(&self, task: &str, attempt: u32) -> TrialFolder {
        TrialFolder(self.0.join("trials").join(name(task, attempt)))
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.0.join("journal.jsonl")
    }

    /// Returns the sealed bundles by trial; the last of each counts.
    #[must_use]
    pub fn sealed(&self) -> BTreeMap<String, PathBuf> {
        let lines = self.sealed_lines().into_iter();
        lines
            .map(|line| (line.trial, PathBuf::from(line.file)))
            .collect()
    }

    /// Returns the id of a trial's bundle; the last one if there are several.
    #[must_use]
    pub fn bundle_id(&self, task: &str, attempt: u32) -> Option<String> {
        let trial = name(task, attempt);
        let mut lines = self.sealed_lines().into_iter().rev();
        lines
            .find(|line| line.trial == trial)
            .map(|line| line.task_id)
    }

    fn sealed_lines(&self) -> Vec<Line> {
        let bytes = files::read(&self.journal(), MAX_JOURNAL).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok());
        lines.filter(|line| line.state == "sealed").collect()
    }

    /// Returns the bundles of the planned attempts, without rechecks.
    #[must_use]
    pub fn planned_bundles(&self, facts: &RunFacts) -> Vec<PathBuf> {
        let mut sealed = self.sealed();
        let trials = facts
            .tasks
            .iter()
            .flat_map(|task| (1..=facts.attempts).map(move |attempt| name(task, attempt)));
        trials.filter_map(|trial| sealed.remove(&trial)).collect()
    }

    /// Returns the results of fresh attempts at each task, beyond the planned ones; `true` if solved.
    #[must_use]
    pub fn rechecks(&self, facts: &RunFacts) -> BTreeMap<String, Vec<bool>> {
        let again = |task: &String| {
            let attempts = facts.attempts + 1..;
            let records = attempts.map_while(|attempt| self.trial(task, attempt).result());
            let solved: Vec<bool> = records
                .map(|record| record.outcome() == Outcome::Solved)
                .collect();
            (!solved.is_empty()).then(|| (task.clone(), solved))
        };
        facts.tasks.iter().filter_map(again).collect()
    }

    /// Returns the records of all graded trials, in the order of the tasks.
    #[must_use]
    pub fn records(&self, facts: &RunFacts) -> Vec<TrialRecord> {
        let trials = facts
            .tasks
            .iter()
            .flat_map(|task| (1..=facts.attempts).map(move |attempt| (task, attempt)));
        trials
            .filter_map(|(task, attempt)| self.trial(task, attempt).result())
            .collect()
    }
}

pub(super) fn name(task: &str, attempt: u32) -> String {
    if attempt == 1 {
        task.to_owned()
    } else {
        format!("{task}.{attempt}")
    }
}
