//! Winner of a contest: the best reward among the outputs that passed, and a rule for ties.
//!
//! Ties: the higher score, then the lower cost, then stable before experimental, then the order in which the
//! candidates were given, then the bytes of the id.

use std::cmp::Ordering;

use crate::metric::{Metric, Parts};
use crate::verifier::Outcome;

/// Measured run of one candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Model of the output.
    pub model_id: String,
    /// Result of the verifier.
    pub outcome: Outcome,
    /// Score of the task, if a right output is known.
    pub q1: Option<f64>,
    pub cost: f64,
    /// Penalty for a refusal.
    pub refusal_penalty: f64,
    /// Set if the version is stable.
    pub stable: bool,
}

/// A run with its reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The run; an output with a number that is not finite counts as failed.
    pub run: Run,
    /// Reward of the run; 0 if a part is not finite.
    pub reward: f64,
}

impl Scored {
    /// Returns `true` if the run can win.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.run.outcome.passed()
    }
}

/// All runs with their rewards, in the order given, and the winner.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest {
    pub scored: Vec<Scored>,
    /// Index of the winner; `None` if nothing passed.
    pub winner: Option<usize>,
}

impl Contest {
    /// Returns the winner's run.
    #[must_use]
    pub fn winner(&self) -> Option<&Scored> {
        self.scored.get(self.winner?)
    }
}

/// Scores all runs and finds the winner.
#[must_use]
pub fn decide(metric: &Metric, runs: Vec<Run>) -> Contest {
    let scored: Vec<Scored> = runs.into_iter().map(|run| score(metric, run)).collect();
    let winner = scored
        .iter()
        .enumerate()
        .filter(|(_, scored)| scored.passed())
        .max_by(|(at, one), (other_at, other)| better(one, other).then_with(|| other_at.cmp(at)))
        .map(|(at, _)| at);
    Contest { scored, winner }
}

fn score(metric: &Metric, mut run: Run) -> Scored {
    let parts = Parts {
        passed: run.outcome.passed(),
        q1: run.q1,
        cost: run.cost,
        refusal_penalty: run.refusal_penalty,
    };
    let reward = metric.reward(parts).unwrap_or_else(|| {
        run.outcome = Outcome::Fail("a score, cost or penalty is no number".to_owned());
        0.0
    });
    Scored { run, reward }
}

/// Compares two runs; greater is better. The order of the candidates is left to the caller.
fn better(one: &Scored, other: &Scored) -> Ordering {
    let q1 = |scored: &Scored| scored.run.q1.unwrap_or(0.0);
    one.reward
        .total_cmp(&other.reward)
        .then_with(|| q1(one).total_cmp(&q1(other)))
        .then_with(|| other.run.cost.total_cmp(&one.run.cost))
        .then_with(|| one.run.stable.cmp(&other.run.stable))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(model_id: &str, passed: bool, q1: f64, cost: f64, refusal_penalty: f64) -> Run {
        let outcome = if passed {
            Outcome::Pass
        } else {
            Outcome::Fail("no".to_owned())
        };
        Run {
            model_id: model_id.to_owned(),
            outcome,
            q1: Some(q1),
            cost,
            refusal_penalty,
            stable: false,
        }
    }

    #[track_caller]
    fn check(runs: Vec<Run>, expected: Option<&str>) {
        let contest = decide(&Metric::v1(), runs);
        let winner = contest.winner().map(|scored| scored.run.model_id.as_str());
        assert_eq!(winner, expected);
    }

    #[test]
    fn only_what_passed_can_win() {
        check(vec![], None);
        check(vec![run("a", false, 1.0, 0.0, 0.0)], None);
        check(
            vec![
                run("a", false, 1.0, 0.0, 0.0),
                run("b", true, 0.0, 1.2, 1.0),
            ],
            Some("b"),
        );
    }

    #[test]
    fn a_fast_refuser_loses_against_a_slow_answer() {
        check(
            vec![
                run("fast", true, 0.0, 0.0, 1.0),
                run("slow", true, 0.6, 1.0, 0.0),
            ],
            Some("slow"),
        );
    }

    #[test]
    fn what_is_no_number_cannot_win() {
        check(
            vec![
                run("a", true, f64::NAN, 0.0, 0.0),
                run("b", true, 0.1, 0.5, 0.0),
            ],
            Some("b"),
        );
        check(vec![run("a", true, 0.5, f64::INFINITY, 0.0)], None);
    }

    #[test]
    fn ties_go_by_the_rule() {
        let (one, other) = (run("a", true, 0.5, 0.0, 0.0), run("b", true, 0.5, 0.0, 0.0));
        check(vec![one.clone(), other.clone()], Some("a"));
        check(vec![other.clone(), one.clone()], Some("b"));
        let mut stable = other;
        stable.stable = true;
        check(vec![one, stable], Some("b"));
        let mut metric = Metric::v1();
        metric.lambda = 0.0;
        let contest = decide(
            &metric,
            vec![
                run("dear", true, 0.5, 0.9, 0.0),
                run("cheap", true, 0.5, 0.1, 0.0),
            ],
        );
        assert_eq!(contest.winner, Some(1));
    }

    fn runs() -> impl Strategy<Value = Vec<Run>> {
        let one = (
            any::<bool>(),
            0.0..=1.0,
            0.0..=1.2,
            0.0..=1.0,
            any::<bool>(),
        );
        proptest::collection::vec(one, 0..6).prop_map(|all| {
            all.into_iter()
                .enumerate()
                .map(|(at, (passed, q1, cost, penalty, stable))| Run {
                    stable,
                    ..run(&format!("m{at}"), passed, q1, cost, penalty)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn the_winner_never_failed_and_nobody_who_passed_is_better(runs in runs()) {
            let contest = decide(&Metric::v1(), runs);
            match contest.winner() {
                None => prop_assert!(contest.scored.iter().all(|scored| !scored.passed())),
                Some(winner) => {
                    prop_assert!(winner.passed());
                    let best = contest.scored.iter().filter(|scored| scored.passed()).map(|scored| scored.reward);
                    prop_assert!(best.fold(f64::NEG_INFINITY, f64::max) <= winner.reward);
                }
            }
        }

        #[test]
        fn a_failing_candidate_changes_nothing(runs in runs(), at in 0usize..6, q1 in 0.0..=1.0) {
            let before = decide(&Metric::v1(), runs.clone()).winner().map(|scored| scored.run.model_id.clone());
            let mut more = runs;
            more.insert(at.min(more.len()), run("failed", false, q1, 0.0, 0.0));
            let after = decide(&Metric::v1(), more).winner().map(|scored| scored.run.model_id.clone());
            prop_assert_eq!(before, after);
        }

        #[test]
        fn scaling_all_costs_keeps_the_winner_among_equals(costs in proptest::collection::vec(0.01..0.5f64, 1..6), scale in 0.1..2.0) {
            let contest = |scale: f64| {
                let runs = costs.iter().enumerate().map(|(at, cost)| run(&format!("m{at}"), true, 0.5, cost * scale, 0.0));
                decide(&Metric::v1(), runs.collect()).winner
            };
            prop_assert_eq!(contest(1.0), contest(scale));
        }

        #[test]
        fn the_order_matters_only_among_full_ties(runs in runs()) {
            let forward = decide(&Metric::v1(), runs.clone());
            let backward = decide(&Metric::v1(), runs.into_iter().rev().collect());
            if let (Some(one), Some(other)) = (forward.winner(), backward.winner()) {
                prop_assert_eq!(better(one, other), Ordering::Equal);
            }
        }
    }
}
