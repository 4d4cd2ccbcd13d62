//! Two runs of the same tasks: lost and won tasks, and the probability of chance.

use std::collections::BTreeMap;

use serde::Serialize;
use statistics::paired_outcomes::{ALARM, Discordant};
use witness::wire::Outcome;

use crate::trial::TrialRecord;

/// Consecutive runs that solve a solid task.
const SOLID: usize = 3;

/// Comparison of a run with an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Tasks in both runs, unchanged, without an error in either.
    pub tasks: u64,
    /// Tasks in only one run, changed, with errors or skipped.
    pub left_out: u64,
    /// Solved before and not now.
    pub lost: Vec<String>,
    /// Not solved before and solved now.
    pub won: Vec<String>,
    /// Solved before, with an error now.
    pub broke: Vec<String>,
    /// Lost tasks that each of the last three comparable runs had solved.
    pub solid: Vec<String>,
    /// Solid ones that failed again in every fresh attempt.
    pub confirmed: Vec<String>,
    /// Probability of such a difference without a change.
    pub p_value: f64,
    /// Evidence of a change that may be checked every night.
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

    /// Adds the history: the last three comparable runs determine the solid ones among lost tasks. With fewer runs
    /// there are none.
    pub fn add_history(&mut self, history: &[Vec<TrialRecord>], now: &[TrialRecord]) {
        let solved = |records: &Vec<TrialRecord>, task: &String| {
            let digest = now
                .iter()
                .find(|record| record.task == *task)
                .map(|record| &record.digest);
            let mut same = records.iter().filter(|record| {
                record.task == *task && record.attempt == 1 && Some(&record.digest) == digest
            });
            same.any(|record| record.outcome() == Outcome::Solved)
        };
        let is_solid = |task: &&String| {
            history.len() >= SOLID && history.iter().all(|records| solved(records, task))
        };
        self.solid = self.lost.iter().filter(is_solid).cloned().collect();
    }

    /// Adds fresh attempts: a solid task that none of them solved is confirmed as a regression.
    pub fn add_rechecks(&mut self, rechecks: &BTreeMap<String, Vec<bool>>) {
        let failed_again = |task: &&String| {
            let solved = rechecks.get(*task);
            solved.is_some_and(|solved| !solved.contains(&true))
        };
        self.confirmed = self.solid.iter().filter(failed_again).cloned().collect();
    }

    /// Returns `true` if the evidence for a loss is strong enough to act on.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        !self.confirmed.is_empty() || self.is_alarm()
    }

    fn is_alarm(&self) -> bool {
        self.lost.len() > self.won.len() && self.e_value >= ALARM
    }

    /// Returns the comparison as text; `when` names the earlier run.
    #[must_use]
    pub fn text(&self, when: &str) -> String {
        let (lost, won) = (self.lost.len(), self.won.len());
        let mut lines = vec![format!(
            "against {when}: {lost} lost, {won} won of {} tasks, p = {:.2}, e = {:.1}",
            self.tasks, self.p_value, self.e_value
        )];
        lines.push(match (self.is_alarm(), self.p_value <= 0.05) {
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
        lines.push(match (&*self.confirmed, &*self.solid) {
            ([], []) => "  confirmed regressions: none".to_owned(),
            ([], solid) => format!(
                "  confirmed regressions: none; solved in the last three runs and not now: {}",
                solid.join(" ")
            ),
            (confirmed, _) => format!(
                "  confirmed regressions: {} (solved in the last three runs, failed in every fresh attempt now)",
                confirmed.join(" ")
            ),
        });
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
    fn a_regression_is_confirmed_by_three_runs_and_fresh_attempts() {
        let now = records("a=F b=F c=F d=S");
        let night = |text: &str| records(text);
        let solved = night("a=S b=S c=S d=S");
        let mut found = Comparison::of(&solved, &now);
        found.add_history(
            &[solved.clone(), night("a=S b=F c=S"), solved.clone()],
            &now,
        );
        assert_eq!(found.solid, ["a", "c"]);
        let rechecks = BTreeMap::from([
            ("a".to_owned(), vec![false, false]),
            ("b".to_owned(), vec![false, false]),
            ("c".to_owned(), vec![false, true]),
        ]);
        found.add_rechecks(&rechecks);
        assert_eq!(found.confirmed, ["a"]);
        assert!(found.is_regression() && found.text("x").contains("confirmed regressions: a ("));
        // Two runs are not enough, and a task that changed was not solved before.
        found.add_history(&[solved.clone(), solved], &now);
        assert!(found.solid.is_empty());
        let other = night("a@2=S c=S");
        found.add_history(&[other.clone(), other.clone(), other], &now);
        assert_eq!(found.solid, ["c"]);
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
        // `d` changed, `c` had an error, `f` is new.
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
