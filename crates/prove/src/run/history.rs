//! The runs of a workspace, and the comparable ones.

use std::fs;
use std::path::Path;

use witness::wire::Outcome;

use super::{RunFacts, RunFolder};
use crate::trial::TrialRecord;

/// Lists the names of all runs below a folder, oldest first.
#[must_use]
pub fn list(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("run.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns the last three earlier runs of the same suite, agent, model and policy, oldest first.
#[must_use]
pub fn comparable(runs: &Path, facts: &RunFacts) -> Vec<RunFolder> {
    let is_comparable = |name: &String| {
        let known = RunFolder::of(runs, name).facts();
        known.is_ok_and(|known| {
            let key = |facts: &RunFacts| {
                [&facts.suite_name, &facts.agent, &facts.model, &facts.policy].map(Clone::clone)
            };
            known.run != facts.run && known.created < facts.created && key(&known) == key(facts)
        })
    };
    let mut found: Vec<String> = list(runs).into_iter().filter(is_comparable).collect();
    let found = found.split_off(found.len().saturating_sub(3));
    found.iter().map(|name| RunFolder::of(runs, name)).collect()
}

/// Reads all runs below a folder with their trials, oldest first.
#[must_use]
pub fn load(runs: &Path) -> Vec<(RunFacts, Vec<TrialRecord>)> {
    let folders = list(runs)
        .into_iter()
        .map(|name| RunFolder::of(runs, &name));
    let mut found: Vec<(RunFacts, Vec<TrialRecord>)> = folders
        .filter_map(|folder| {
            let facts = folder.facts().ok()?;
            let records = folder.records(&facts);
            Some((facts, records))
        })
        .collect();
    found.sort_by(|(one, _), (other, _)| one.created.cmp(&other.created));
    found
}

/// Counts solved, failed, skipped and erroneous records.
#[must_use]
pub fn counts(records: &[TrialRecord]) -> [usize; 4] {
    Outcome::ALL.map(|outcome| {
        records
            .iter()
            .filter(|record| record.outcome() == outcome)
            .count()
    })
}
