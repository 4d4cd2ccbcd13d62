//! Two runs of the same tasks: what was lost and won, and whether that may be chance.

use std::collections::BTreeMap;

use serde::Serialize;
use statistics::paired_outcomes::{ALARM, Discordant};
use witness::wire::Outcome;

use crate::trial::TrialRecord;

/// How a run compares with an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Tasks that both ran, unchanged, and that broke in neither.
    pub tasks: u64,
    /// Tasks that are in one run only, changed, broke or were skipped.
    pub left_out: u64,
    /// Solved then and not now.
    pub lost: Vec<String>,
    /// Not solved then and now.
    pub won: Vec<String>,
    /// Solved then, and could not be told now.
    pub broke: Vec<String>,
    /// Chance of such a difference if nothing changed.
    pub p_value: f64,
    /// Evidence against no change that may be looked at every night.
    pub e_value: f64,
}

impl Comparison {
    /// Compares by the first attempt at each task.
    #[must_use]
    pub fn of(before: &[TrialRecord], now: &[TrialRecord]) -> Self {
        let first = |records: &'_ [TrialRecord]| -> BTreeMap<(String, String), Outcome> {
            let firsts = records.iter().filter(|record| record.attempt == 1);
            firsts
                .map(|record| {
                    (
                        (record.task.clone(), record.digest.clone()),
                        record.outcome(),
                    )
                })
                .collect()
        };
        let (before, now) = (first(before), first(now));
        let mut found = Self::default();
        for ((task, digest), then) in &before {
            let Some(today) = now.get(&(task.clone(), digest.clone())) else {
                found.left_out += 1;
                continue;
            };
            let is_told = |outcome: &Outcome| matches!(outcome, Outcome::Solved | Outcome::Failed);
            match (then, today) {
                (Outcome::Solved, Outcome::Failed) => found.lost.push(task.clone()),
                (Outcome::Failed, Outcome::Solved) => found.won.push(task.clone()),
                (Outcome::Solved, other) if !is_told(other) => found.broke.push(task.clone()),
                _ => {}
            }
            if is_told(then) && is_told(today) {
                found.tasks += 1;
            } else {
                found.left_out += 1;
            }
        }
        found.left_out += now.keys().filter(|key| !before.contains_key(*key)).count() as u64;
        let discordant = Discordant {
            lost: found.lost.len() as u64,
            won: found.won.len() as u64,
        };
        found.p_value = discordant.p_value();
        found.e_value = discordant.e_value();
        found
    }

    /// Returns `true` if the evidence for a loss is strong enough to act on.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.lost.len() > self.won.len() && self.e_value >= ALARM
    }

    /// The comparison in words; `when` names the earlier run.
    #[must_use]
    pub fn text(&self, when: &str) -> String {
        let (lost, won) = (self.lost.len(), self.won.len());
        let mut lines = vec![format!(
            "against {when}: {lost} lost, {won} won of {} tasks, p = {:.2}, e = {:.1}",
            self.tasks, self.p_value, self.e_value
        )];
        lines.push(match (self.is_regression(), self.p_value <= 0.05) {
            (true, _) => "  the loss is confirmed: such evidence comes by chance in at most 5 % of all series of runs".to_owned(),
            (false, true) if lost > won => "  this may be a loss; a single comparison errs in 5 % of nights, so run it again".to_owned(),
            _ => "  this may be noise: one run of 100 tasks shows only losses of about 15 points reliably".to_owned(),
        });
        let list = |name: &str, tasks: &[String]| format!("  {name}: {}", tasks.join(" "));
        for (name, tasks) in [
            ("regressed", &self.lost),
            ("won", &self.won),
            ("solved then, broke now", &self.broke),
        ] {
            if !tasks.is_empty() {
                lines.push(list(name, tasks));
            }
        }
        if self.left_out > 0 {
            lines.push(format!(
                "  {} tasks are not compared: changed, skipped, broke, or in one run only",
                self.left_out
            ));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::Cause;
    use crate::suite::tests::member;

    fn records(text: &str) -> Vec<TrialRecord> {
        let one = |one: &str| {
            let (task, outcome) = one.split_once('=').unwrap();
            let (task, digest) = task.split_once('@').unwrap_or((task, "d"));
            let mut record =
                TrialRecord::not_run(&member(task, "r", 1), 1, Cause::Tests, String::new());
            record.digest = digest.to_owned();
            record.outcome = match outcome {
                "S" => "solved",
                "E" => "error",
                _ => "failed",
            }
            .to_owned();
            record
        };
        text.split_whitespace().map(one).collect()
    }

    #[test]
    fn only_equal_tasks_are_compared() {
        let found = Comparison::of(
            &records("a=S b=F c=S d@1=S e=S g=S"),
            &records("a=F b=S c=E d@2=F e=S f=S g=F"),
        );
        assert_eq!(found.lost, ["a", "g"]);
        assert_eq!(found.won, ["b"]);
        assert_eq!(found.broke, ["c"]);
        // `d` changed, `c` broke, `f` is new.
        assert_eq!((found.tasks, found.left_out), (4, 4));
        assert!(!found.is_regression());
        let many = |outcome: &str| {
            (0..8)
                .map(|at| format!("t{at}={outcome}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert!(Comparison::of(&records(&many("S")), &records(&many("F"))).is_regression());
    }
}
