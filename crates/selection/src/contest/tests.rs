//! Contests from the measurements to the log and back: a written line must hold when it is recomputed.

use proptest::prelude::*;

use super::*;
use crate::run_log::check::Checker;
use crate::run_log::{FIRST, link};

fn measured(model: &str, passed: bool, q1: Option<f64>, time_ms: u64) -> Measured {
    Measured {
        model_id: model.to_owned(),
        version: format!("{model}-1"),
        stable: false,
        outcome: if passed {
            Outcome::Pass
        } else {
            Outcome::Fail("no".to_owned())
        },
        q1,
        agreement: None,
        unverified: false,
        price_usd: None,
        refusal_penalty: 0.0,
        time_ms,
        input_tokens: 3,
        output_tokens: 5,
        output_hash: None,
        cache_state: None,
        nondeterministic: false,
    }
}

fn common(run_id: &str) -> Common {
    Common {
        timestamp: "2026-03-04T05:06:07Z".to_owned(),
        prompt_hash: "ab".repeat(32),
        run_id: run_id.to_owned(),
        role: "writer".to_owned(),
        mode: "learn".to_owned(),
        ..Common::default()
    }
}

fn other() -> Metric {
    let mut metric = Metric::v1();
    metric.metric_version = "metric_v2".to_owned();
    metric.lambda = 0.9;
    metric.t_ref_ms = 1000.0;
    metric
}

/// Checks the lines of contests and returns the problems.
fn checked(contests: &[Vec<Record>]) -> Vec<String> {
    let mut checker = Checker::new([Metric::v1(), other()]);
    let mut prev = FIRST.to_owned();
    for record in contests.iter().flatten() {
        let mut record = record.clone();
        record.more.prev = Some(prev);
        let line = record.to_line();
        prev = link(line.as_bytes());
        checker.line(line.as_bytes());
    }
    let (_, bad) = checker.finish();
    bad.into_iter().map(|bad| bad.reason).collect()
}

#[test]
fn the_lines_hold_and_name_the_winner() {
    let metric = Metric::v1();
    let scale = Scale {
        metric: &metric,
        mixed: None,
    };
    let held = hold(
        scale,
        vec![
            measured("a", true, Some(0.4), 10),
            measured("b", true, Some(0.9), 900),
            measured("c", false, Some(1.0), 1),
        ],
    );
    assert_eq!(held.winner, Some(1));
    let records = held.records(scale, &common("r1"));
    assert!(
        records
            .iter()
            .all(|record| record.winner_model_id.as_deref() == Some("b"))
    );
    let won: Vec<bool> = records.iter().map(Record::won).collect();
    assert_eq!(won, [false, true, false]);
    assert_eq!(checked(&[records]), [""; 0]);
    // The winner may not be served: the next best is.
    assert_eq!(held.best(scale, |one| one.model_id != "b"), Some(0));
    assert_eq!(held.best(scale, |one| one.model_id == "c"), None);
}

#[test]
fn of_two_versions_of_one_model_only_one_has_won() {
    let metric = Metric::v1();
    let scale = Scale {
        metric: &metric,
        mixed: None,
    };
    let mut old = measured("a", true, Some(0.4), 10);
    old.version = "a-0".to_owned();
    let held = hold(scale, vec![old, measured("a", true, Some(0.9), 10)]);
    let won: Vec<bool> = held
        .records(scale, &common("r1"))
        .iter()
        .map(Record::won)
        .collect();
    assert_eq!(won, [false, true]);
}

#[test]
fn while_two_metrics_are_mixed_both_rewards_are_kept_and_the_mixed_one_decides() {
    let (old, new) = (Metric::v1(), other());
    // The old metric prefers quality, the new one hates time.
    let runs = || {
        vec![
            measured("good", true, Some(0.9), 900),
            measured("fast", true, Some(0.5), 10),
        ]
    };
    let winner = |alpha: f64| {
        let scale = Scale {
            metric: &new,
            mixed: Some((&old, alpha)),
        };
        let held = hold(scale, runs());
        let records = held.records(scale, &common("r1"));
        assert!(records.iter().all(|record| record.more.rewards.is_some()));
        assert_eq!(checked(std::slice::from_ref(&records)), [""; 0]);
        held.winner().unwrap().measured.model_id.clone()
    };
    assert_eq!(winner(1.0), "good");
    assert_eq!(winner(0.0), "fast");
}

proptest! {
    #[test]
    fn whatever_was_measured_the_lines_can_be_computed_again(
        runs in proptest::collection::vec(
            (any::<bool>(), proptest::option::of(0.0..=1.0f64), 0u64..50_000, 0u64..5_000, 0.0..=1.0f64, any::<bool>(), proptest::option::of(0.0..=0.1f64)),
            1..6,
        ),
        alpha in proptest::option::of(0.0..=1.0f64),
    ) {
        let measured: Vec<Measured> = runs
            .into_iter()
            .enumerate()
            .map(|(at, (passed, q1, time, tokens, refusal_penalty, stable, price_usd))| Measured {
                price_usd,
                output_tokens: tokens,
                refusal_penalty,
                stable,
                ..measured(&format!("m{at}"), passed, q1, time)
            })
            .collect();
        let (old, new) = (Metric::v1(), other());
        let scale = Scale { metric: &new, mixed: alpha.map(|alpha| (&old, alpha)) };
        let held = hold(scale, measured);
        if let Some(winner) = held.winner() {
            prop_assert!(winner.measured.outcome.passed());
        }
        let found = checked(&[held.records(scale, &common("r1"))]);
        prop_assert!(found.is_empty(), "{found:?}");
    }
}
