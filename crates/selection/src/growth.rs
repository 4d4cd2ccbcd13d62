//! Proposals to spawn and to prune specialists, and a check for a model that dominates all contests.

use statistics::rate::{Rate, rate, spread};
use statistics::{ERROR, sequence};
use std::collections::BTreeMap;

use crate::promotion::Key;
use crate::run_log::Record;

/// Reward beyond the pass below which the winner of a contest is weak.
pub const WEAK_BELOW: f64 = 0.15;
/// Share of weak contests above which a new specialist is wanted.
pub const WEAK_SHARE: f64 = 0.08;
/// Least number of contests for a verdict on weakness.
pub const LEAST_CONTESTS: u64 = 50;
/// Trials per candidate and generation.
pub const LEAST_TRIALS: u64 = 50;
/// Share of wins from which one model dominates.
pub const DOMINANT: f64 = 0.6;
/// Share of wins above which there is no contest any more.
pub const TOO_DOMINANT: f64 = 0.9;
/// Pass rate below which a version is useless.
const USELESS_PASS_RATE: f64 = 0.5;

/// Statistics of all contests of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Rate of weak contests.
    pub weak: Rate,
    /// Number of wins by model.
    pub wins: BTreeMap<String, u64>,
    /// Entropy of the winners, in bits.
    pub entropy: f64,
    /// The largest share of wins.
    pub largest_share: f64,
}

/// Verdict on dominance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dominance {
    /// No model dominates.
    Spread,
    /// One model wins from [`DOMINANT`] on.
    Warned,
    /// One model wins more than [`TOO_DOMINANT`].
    Blocked,
}

impl Field {
    /// Returns `true` if a new specialist should be requested.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.weak.n >= LEAST_CONTESTS && self.weak.value > WEAK_SHARE
    }

    /// Returns the verdict on dominance.
    #[must_use]
    pub fn dominance(&self) -> Dominance {
        if self.largest_share > TOO_DOMINANT {
            Dominance::Blocked
        } else if self.largest_share >= DOMINANT {
            Dominance::Warned
        } else {
            Dominance::Spread
        }
    }
}

/// Running sums over the contests of a log, line by line. Lines of one contest follow each other.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    wins: BTreeMap<String, u64>,
    contests: u64,
    weak: u64,
    open: Option<Open>,
}

/// The contest that the last line belongs to.
#[derive(Clone, Debug)]
struct Open {
    run_id: Option<String>,
    winner: Option<String>,
    best: f64,
    passed: bool,
    scored: bool,
}

impl Counter {
    /// Adds the next line. Exams are not contests.
    pub fn add(&mut self, record: &Record) {
        if record.more.mode.as_deref() == Some("audit") {
            return;
        }
        let same = |open: &Open| open.run_id.is_some() && open.run_id == record.more.run_id;
        if !self.open.as_ref().is_some_and(same) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| Open {
            run_id: record.more.run_id.clone(),
            winner: None,
            best: f64::NEG_INFINITY,
            passed: false,
            scored: false,
        });
        if open.winner.is_none() {
            open.winner.clone_from(&record.winner_model_id);
        }
        if record.passed() {
            open.passed = true;
            open.scored |= record.q1.is_some();
            open.best = open.best.max(record.reward - 1.0);
        }
    }

    /// Closes the open contest. It is weak if no candidate passed, or if the best reward is small beyond the pass;
    /// without scores, a passed contest is not weak.
    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        self.contests += 1;
        self.weak += u64::from(!open.passed || (open.scored && open.best < WEAK_BELOW));
        if let Some(winner) = open.winner {
            *self.wins.entry(winner).or_insert(0) += 1;
        }
    }

    /// Returns the statistics.
    #[must_use]
    pub fn finish(mut self) -> Field {
        self.close();
        let counts: Vec<u64> = self.wins.values().copied().collect();
        let (entropy, largest_share) = spread(&counts);
        Field {
            weak: rate(self.weak, self.contests),
            wins: self.wins,
            entropy,
            largest_share,
        }
    }
}

/// Returns the statistics of the contests of a log.
#[must_use]
pub fn field<'a>(records: impl IntoIterator<Item = &'a Record>) -> Field {
    let mut counter = Counter::default();
    records.into_iter().for_each(|record| counter.add(record));
    counter.finish()
}

/// Reason to prune a version.
#[derive(Clone, Debug, PartialEq)]
pub enum Prune {
    /// The pass rate is too low; the rate with its bounds.
    Fails(Rate),
    /// The version had enough trials and never won.
    NeverWins(u64),
}

/// Learning runs of one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trials {
    /// Number of runs.
    pub runs: u64,
    /// Number of passed runs.
    pub passes: u64,
    /// Number of won runs.
    pub wins: u64,
}

impl Trials {
    /// Adds a run. Only learning runs count, in which every version gets its turn.
    pub fn add(&mut self, record: &Record) {
        if record.more.mode.as_deref() == Some("learn") {
            self.runs += 1;
            self.passes += u64::from(record.passed());
            self.wins += u64::from(record.won() && record.is_acceptable());
        }
    }

    /// Returns the reason to prune the version, if there is one.
    #[must_use]
    pub fn verdict(&self) -> Option<Prune> {
        let is_useless = sequence::is_below(self.passes, self.runs, USELESS_PASS_RATE, ERROR);
        if self.runs >= LEAST_TRIALS && is_useless {
            return Some(Prune::Fails(rate(self.passes, self.runs)));
        }
        (self.runs >= 20 * LEAST_TRIALS && self.wins == 0).then_some(Prune::NeverWins(self.runs))
    }
}

/// Returns the versions to prune, each with the reason.
#[must_use]
pub fn prune<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<(Key, Prune)> {
    let mut seen: BTreeMap<Key, Trials> = BTreeMap::new();
    for record in records {
        seen.entry(Key::of(record)).or_default().add(record);
    }
    let judged = seen
        .into_iter()
        .filter_map(|(key, trials)| Some((key, trials.verdict()?)));
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::More;

    fn line(run: usize, model: &str, passed: bool, reward: f64, winner: Option<&str>) -> Record {
        Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "ab".repeat(32),
            model_id: model.to_owned(),
            metric_version: "metric_v1".to_owned(),
            verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
            q0: u8::from(passed),
            q1: Some(reward - 1.0),
            cost: 0.0,
            refusal_penalty: 0.0,
            reward,
            winner_model_id: winner.map(str::to_owned),
            more: More {
                run_id: Some(format!("r{run}")),
                mode: Some("learn".to_owned()),
                ..More::default()
            },
        }
    }

    #[test]
    fn weak_contests_ask_for_somebody_new() {
        let log = |weak: usize| -> Vec<Record> {
            (0..100)
                .map(|run| {
                    if run < weak {
                        line(run, "a", true, 1.1, Some("a"))
                    } else {
                        line(run, "a", true, 1.8, Some("a"))
                    }
                })
                .collect()
        };
        assert!(!field(&log(8)).wants_more());
        assert!(field(&log(9)).wants_more());
        let failed: Vec<Record> = (0..100)
            .map(|run| line(run, "a", false, 0.2, None))
            .collect();
        assert!(field(&failed).wants_more());
        let mut unscored = log(100);
        unscored.iter_mut().for_each(|record| record.q1 = None);
        assert!(
            !field(&unscored).wants_more(),
            "nobody knows what they were worth"
        );
        assert!(
            !field(&failed[..40]).wants_more(),
            "forty contests say little"
        );
    }

    #[test]
    fn dominance_has_three_levels() {
        let log = |share: usize| -> Vec<Record> {
            (0..100)
                .map(|run| {
                    line(
                        run,
                        "a",
                        true,
                        1.5,
                        Some(if run < share { "a" } else { "b" }),
                    )
                })
                .collect()
        };
        assert_eq!(field(&log(59)).dominance(), Dominance::Spread);
        assert_eq!(field(&log(60)).dominance(), Dominance::Warned);
        assert_eq!(field(&log(90)).dominance(), Dominance::Warned);
        assert_eq!(field(&log(91)).dominance(), Dominance::Blocked);
        assert_eq!(field(&[]).dominance(), Dominance::Spread);
    }

    #[test]
    fn candidates_of_one_contest_count_once() {
        let log = [
            line(1, "a", true, 1.5, Some("a")),
            line(1, "b", false, 0.0, Some("a")),
            line(2, "a", true, 1.5, Some("a")),
        ];
        let field = field(&log);
        assert_eq!((field.weak.n, field.wins.get("a")), (2, Some(&2)));
    }

    #[test]
    fn what_hardly_passes_goes() {
        let poisoned: Vec<Record> = (0..60)
            .map(|run| line(run, "bad", run % 5 == 0, 1.0, None))
            .collect();
        assert!(matches!(
            prune(&poisoned).as_slice(),
            [(_, Prune::Fails(_))]
        ));
        assert!(
            prune(&poisoned[..40]).is_empty(),
            "it has not had its trials"
        );
        let idle: Vec<Record> = (0..1000)
            .map(|run| line(run, "idle", true, 1.0, Some("other")))
            .collect();
        assert!(matches!(
            prune(&idle).as_slice(),
            [(_, Prune::NeverWins(1000))]
        ));
    }
}
