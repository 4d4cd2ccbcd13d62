//! What is learned from: the contests of the run log, joined with the features of their inputs.
//!
//! One contest in five is held out, by the hash of its input: the same input is always on the same side, so that what was
//! held out from an older selector is held out from a newer one, and the two can be compared.

use std::collections::{BTreeMap, HashMap};

use super::Example;
use super::features::Line;
use crate::run_log::Record;

/// More contests of one role than this are not learned from; the newest are.
pub const MAX_CONTESTS: usize = 50_000;

/// One in so many is held out.
const HELD_OUT: u8 = 5;

/// The contests of one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// To learn from.
    pub training: Vec<Example>,
    /// To be tried on.
    pub held_out: Vec<Example>,
}

#[derive(Debug)]
struct Contest {
    role: String,
    prompt_hash: String,
    learning: bool,
    rewards: BTreeMap<String, Option<f64>>,
}

/// Collects contests, the log first, then the features.
#[derive(Debug, Default)]
pub struct Examples {
    contests: HashMap<String, Contest>,
    roles: BTreeMap<String, Split>,
    /// Lines of the log that belong to a contest.
    pub lines: u64,
    /// Contests that were found with their features.
    pub joined: u64,
}

impl Examples {
    /// Takes a line of the run log. Audits teach nothing about inputs in the field.
    pub fn record(&mut self, record: &Record) {
        let mode = record.more.mode.as_deref();
        let (Some(run_id), Some(role)) = (&record.more.run_id, &record.more.role) else {
            return;
        };
        if mode == Some("audit") {
            return;
        }
        self.lines += 1;
        let contest = self
            .contests
            .entry(run_id.clone())
            .or_insert_with(|| Contest {
                role: role.clone(),
                prompt_hash: record.prompt_hash.clone(),
                learning: mode == Some("learn"),
                rewards: BTreeMap::new(),
            });
        let reward = (record.passed() && record.reward.is_finite()).then_some(record.reward);
        let known = contest
            .rewards
            .entry(record.model_id.clone())
            .or_insert(reward);
        // Two versions of one model in one contest: the better one speaks for the model.
        if reward > *known {
            *known = reward;
        }
    }

    /// Takes a line of features. A line whose contest is not in the log is passed over.
    pub fn features(&mut self, line: Line) {
        let Some(contest) = self.contests.get(&line.run_id) else {
            return;
        };
        // One candidate that was served alone says nothing about others, but for learning it was asked on purpose.
        let teaches = contest.learning || contest.rewards.len() > 1;
        if contest.role != line.role || contest.prompt_hash != line.prompt_hash || !teaches {
            return;
        }
        let Some(contest) = self.contests.remove(&line.run_id) else {
            return;
        };
        self.joined += 1;
        let split = self.roles.entry(contest.role).or_default();
        let side = if is_held_out(&contest.prompt_hash) {
            &mut split.held_out
        } else {
            &mut split.training
        };
        side.push(Example {
            features: line.features,
            rewards: contest.rewards,
        });
        if side.len() >= 2 * MAX_CONTESTS {
            side.drain(..MAX_CONTESTS);
        }
    }

    /// The contests by role.
    #[must_use]
    pub fn finish(mut self) -> BTreeMap<String, Split> {
        for split in self.roles.values_mut() {
            for side in [&mut split.training, &mut split.held_out] {
                let old = side.len().saturating_sub(MAX_CONTESTS);
                side.drain(..old);
            }
        }
        self.roles
    }
}

fn is_held_out(prompt_hash: &str) -> bool {
    let digits = prompt_hash.get(..2);
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    byte.is_some_and(|byte| byte % HELD_OUT == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::More;
    use crate::selector::Features;

    fn record(run: &str, model: &str, mode: &str, passed: bool, reward: f64) -> Record {
        Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "01".repeat(32),
            model_id: model.to_owned(),
            metric_version: "metric_v1".to_owned(),
            verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
            q0: u8::from(passed),
            q1: None,
            cost: 0.0,
            refusal_penalty: 0.0,
            reward,
            winner_model_id: None,
            more: More {
                run_id: Some(run.to_owned()),
                role: Some("editor".to_owned()),
                mode: Some(mode.to_owned()),
                ..More::default()
            },
        }
    }

    fn line(run: &str) -> Line {
        Line {
            run_id: run.to_owned(),
            role: "editor".to_owned(),
            prompt_hash: "01".repeat(32),
            features: Features::of("a text", &[]),
        }
    }

    #[test]
    fn contests_are_joined_with_their_features() {
        let mut examples = Examples::default();
        for record in [
            record("r1", "a", "learn", true, 1.5),
            record("r1", "b", "learn", false, 0.2),
            record("r1", "a", "learn", true, 1.7),
            record("r2", "a", "serve", true, 1.0),
            record("r3", "a", "audit", true, 1.0),
            record("r4", "a", "serve", true, 1.0),
            record("r4", "b", "serve", true, 1.1),
        ] {
            examples.record(&record);
        }
        for run in ["r1", "r1", "r2", "r3", "r4", "r9"] {
            examples.features(line(run));
        }
        assert_eq!((examples.lines, examples.joined), (6, 2));
        let roles = examples.finish();
        let split = &roles["editor"];
        assert!(split.held_out.is_empty(), "01 is no multiple of five");
        let rewards: Vec<_> = split
            .training
            .iter()
            .map(|one| one.rewards.clone())
            .collect();
        assert_eq!(rewards[0]["a"], Some(1.7));
        assert_eq!(rewards[0]["b"], None);
        assert_eq!(rewards[1]["b"], Some(1.1));
    }

    #[test]
    fn one_in_five_is_held_out_by_its_hash() {
        let held = (0..=255_u8).filter(|byte| is_held_out(&format!("{byte:02x}ff")));
        assert_eq!(held.count(), 52);
        assert!(!is_held_out("") && !is_held_out("é"));
    }
}
