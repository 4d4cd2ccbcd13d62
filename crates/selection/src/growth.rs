//! Who is missing and who is one too many: proposals to spawn and to prune, and whether one model wins everything.

use std::collections::{BTreeMap, BTreeSet};

use crate::promotion::Key;
use crate::run_log::Record;
use crate::statistics::{Rate, rate, spread};

/// A contest whose winner is worth less than this beyond its pass is weak.
pub const WEAK_BELOW: f64 = 0.15;
/// More weak contests than this share ask for a new specialist.
pub const WEAK_SHARE: f64 = 0.08;
/// Fewer contests say nothing about weakness.
pub const LEAST_CONTESTS: u64 = 50;
/// Trials that every candidate gets in a generation.
pub const LEAST_TRIALS: u64 = 50;
/// From this share of wins on, one model dominates.
pub const DOMINANT: f64 = 0.6;
/// Above this share of wins nobody is promoted any more.
pub const TOO_DOMINANT: f64 = 0.9;
/// A pass rate whose upper bound is under this is no use.
const USELESS_PASS_RATE: f64 = 0.5;

/// What the log says of the whole field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Weak contests of all.
    pub weak: Rate,
    /// Wins by model.
    pub wins: BTreeMap<String, u64>,
    /// Entropy of the winners, in bits.
    pub entropy: f64,
    /// The largest share of wins.
    pub largest_share: f64,
}

/// Whether one model wins everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dominance {
    /// No.
    Spread,
    /// A warning.
    Warned,
    /// Promotions stop.
    Blocked,
}

impl Field {
    /// Whether a new specialist should be asked for.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.weak.n >= LEAST_CONTESTS && self.weak.value > WEAK_SHARE
    }

    /// The verdict on dominance.
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

/// Looks at the contests of a log. Lines of one contest follow each other.
#[must_use]
pub fn field<'a>(records: impl IntoIterator<Item = &'a Record>) -> Field {
    let mut wins: BTreeMap<String, u64> = BTreeMap::new();
    let (mut contests, mut weak) = (0, 0);
    let mut contest: Vec<&Record> = Vec::new();
    let mut end = |contest: &mut Vec<&Record>| {
        if contest.is_empty() {
            return;
        }
        contests += 1;
        weak += u64::from(is_weak(contest));
        if let Some(winner) = contest
            .iter()
            .find_map(|record| record.winner_model_id.clone())
        {
            *wins.entry(winner).or_insert(0) += 1;
        }
        contest.clear();
    };
    for record in records {
        if contest
            .last()
            .is_some_and(|last| last.more.run_id != record.more.run_id)
        {
            end(&mut contest);
        }
        contest.push(record);
    }
    end(&mut contest);
    let counts: Vec<u64> = wins.values().copied().collect();
    let (entropy, largest_share) = spread(&counts);
    Field {
        weak: rate(weak, contests),
        wins,
        entropy,
        largest_share,
    }
}

/// Nobody passed, or the best is worth little beyond having passed.
fn is_weak(contest: &[&Record]) -> bool {
    let best = contest
        .iter()
        .filter(|record| record.passed())
        .map(|record| record.reward - 1.0);
    best.fold(f64::NEG_INFINITY, f64::max) < WEAK_BELOW
}

/// Why a version should go.
#[derive(Clone, Debug, PartialEq)]
pub enum Prune {
    /// It hardly ever passes; the rate with its bounds.
    Fails(Rate),
    /// It was tried often enough and never won.
    NeverWins(u64),
}

/// Versions that the log speaks against, with the reason.
#[must_use]
pub fn prune<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<(Key, Prune)> {
    let mut seen: BTreeMap<Key, (u64, u64, u64)> = BTreeMap::new();
    for record in records {
        if record.more.mode.as_deref() != Some("learn") {
            continue;
        }
        let (runs, passes, wins) = seen.entry(Key::of(record)).or_default();
        *runs += 1;
        *passes += u64::from(record.passed());
        *wins += u64::from(record.won());
    }
    let judged = seen.into_iter().filter_map(|(key, (runs, passes, wins))| {
        let passed = rate(passes, runs);
        if runs >= LEAST_TRIALS && passed.high < USELESS_PASS_RATE {
            return Some((key, Prune::Fails(passed)));
        }
        (runs >= 20 * LEAST_TRIALS && wins == 0).then_some((key, Prune::NeverWins(runs)))
    });
    judged.collect()
}

/// The candidate that the exploration quota gives a place to: the least tried one while it has too few trials.
#[must_use]
pub fn reserved<'a>(
    candidates: &'a [String],
    trials: &BTreeMap<String, u64>,
    taken: &BTreeSet<&str>,
) -> Option<&'a String> {
    let open = candidates
        .iter()
        .filter(|candidate| !taken.contains(candidate.as_str()));
    let tried = |candidate: &str| trials.get(candidate).copied().unwrap_or(0);
    open.min_by_key(|candidate| tried(candidate))
        .filter(|candidate| tried(candidate) < LEAST_TRIALS)
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
            q1: None,
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

    #[test]
    fn a_newcomer_gets_its_trials() {
        let candidates = ["a".to_owned(), "b".to_owned()];
        let trials = BTreeMap::from([("a".to_owned(), 80), ("b".to_owned(), 49)]);
        assert_eq!(
            reserved(&candidates, &trials, &BTreeSet::new()),
            candidates.get(1)
        );
        let trials = BTreeMap::from([("a".to_owned(), 80), ("b".to_owned(), 50)]);
        assert_eq!(reserved(&candidates, &trials, &BTreeSet::new()), None);
        assert_eq!(
            reserved(&candidates, &BTreeMap::new(), &BTreeSet::from(["a"])),
            candidates.get(1)
        );
    }
}
