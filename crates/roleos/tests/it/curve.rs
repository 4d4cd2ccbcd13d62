//! The cost-to-outcome curve through the binary: periods, cost per solve, and regressions.

use serde_json::{Value, json};
use witness::wire::Outcome;

use crate::sample::{DAY, KEY_HEX, NEW_YEAR, Sample};
use crate::workspace::Workspace;

/// Returns an attempt `days` after new year.
fn attempt(task: u8, days: u64, outcome: Outcome, suite_task: Option<&'static str>) -> Sample {
    Sample {
        created_ns: NEW_YEAR + days * DAY + u64::from(task),
        outcome,
        facts: suite_task
            .map(|id| ("suite_task", id))
            .into_iter()
            .collect(),
        ..Sample::new(task)
    }
}

fn curve(bundles: &[Vec<u8>], more: &[&str]) -> Value {
    let workspace = Workspace::new();
    for (index, bytes) in bundles.iter().enumerate() {
        workspace.write(&format!("runs/{index}.rvww"), bytes);
    }
    let words = [&["--json", "curve", "runs", "--key-hex", KEY_HEX], more].concat();
    workspace.roleos(&words).exits(0).json()
}

/// Asserts, for each period, the tasks, the solved ones, and the regressions.
#[track_caller]
fn check(attempts: &[Sample], more: &[&str], expected: &[(&str, u64, u64, u64)]) {
    let bundles: Vec<_> = attempts.iter().map(Sample::signed).collect();
    let answer = curve(&bundles, more);
    let points = answer["points"].as_array().unwrap();
    let number = |point: &Value, name: &str| point[name].as_u64().unwrap();
    let found: Vec<_> = points
        .iter()
        .map(|point| {
            (
                point["period"].as_str().unwrap(),
                number(point, "tasks"),
                number(point, "solved"),
                number(point, "regressions"),
            )
        })
        .collect();
    assert_eq!(found, expected, "{answer:#}");
}

#[test]
fn a_week_is_the_step_and_a_day_when_asked_for() {
    let attempts = [
        attempt(1, 0, Outcome::Solved, None),
        attempt(2, 3, Outcome::Failed, None),
        attempt(3, 4, Outcome::Solved, None),
    ];
    // 2026-01-01 is a Thursday, so that Sunday the 4th belongs to its week and Monday the 5th does not.
    check(
        &attempts,
        &[],
        &[("2026-W01", 2, 1, 0), ("2026-W02", 1, 1, 0)],
    );
    let days = [
        ("2026-01-01", 1, 1, 0),
        ("2026-01-04", 1, 0, 0),
        ("2026-01-05", 1, 1, 0),
    ];
    check(&attempts, &["--by", "day"], &days);
}

#[test]
fn failed_tasks_cost_too_and_nothing_solved_has_no_price() {
    let bundles = [
        attempt(1, 0, Outcome::Solved, None),
        attempt(2, 0, Outcome::Failed, None),
        attempt(3, 7, Outcome::Failed, None),
    ];
    let answer = curve(&bundles.map(|sample| sample.signed()), &[]);
    assert_eq!(answer["by"], "week");
    let [first, second] = answer["points"].as_array().unwrap().as_slice() else {
        panic!("{answer:#}")
    };
    let expected = json!({
        "period": "2026-W01", "tasks": 2, "solved": 1, "cost_microdollars": 2000, "cost_per_solve": 2000,
        "tokens": 20, "tokens_per_solve": 20, "retries": 0, "regressions": 0,
        "tasks_without_cost": 0,
    });
    assert_eq!(*first, expected);
    assert_eq!(
        (&second["cost_per_solve"], &second["tokens_per_solve"]),
        (&json!(null), &json!(null))
    );
}

#[test]
fn a_task_of_a_suite_that_was_solved_and_fails_is_a_regression() {
    let attempts = [
        attempt(1, 0, Outcome::Solved, Some("issue-7")),
        attempt(2, 7, Outcome::Failed, Some("issue-7")),
        attempt(3, 7, Outcome::Failed, Some("issue-8")),
    ];
    check(
        &attempts,
        &[],
        &[("2026-W01", 1, 1, 0), ("2026-W02", 2, 0, 1)],
    );
}

#[test]
fn failing_before_it_was_solved_is_none() {
    let attempts = [
        attempt(1, 0, Outcome::Failed, Some("issue-7")),
        attempt(2, 7, Outcome::Solved, Some("issue-7")),
    ];
    check(
        &attempts,
        &[],
        &[("2026-W01", 1, 0, 0), ("2026-W02", 1, 1, 0)],
    );
}

#[test]
fn what_is_mended_within_the_week_is_none() {
    let attempts = [
        attempt(1, 0, Outcome::Solved, Some("issue-7")),
        attempt(2, 7, Outcome::Failed, Some("issue-7")),
        attempt(3, 8, Outcome::Solved, Some("issue-7")),
    ];
    check(
        &attempts,
        &[],
        &[("2026-W01", 1, 1, 0), ("2026-W02", 2, 1, 0)],
    );
    let days = [
        ("2026-01-01", 1, 1, 0),
        ("2026-01-08", 1, 0, 1),
        ("2026-01-09", 1, 1, 0),
    ];
    check(&attempts, &["--by", "day"], &days);
}

#[test]
fn without_a_suite_the_same_spec_is_the_same_task() {
    let spec = |task, days, outcome, spec| Sample {
        spec: Some(spec),
        ..attempt(task, days, outcome, None)
    };
    let attempts = [
        spec(1, 0, Outcome::Solved, "fix the login"),
        spec(2, 7, Outcome::Failed, "fix the login"),
        spec(3, 7, Outcome::Failed, "fix the logout"),
    ];
    check(
        &attempts,
        &[],
        &[("2026-W01", 1, 1, 0), ("2026-W02", 2, 0, 1)],
    );
}

#[test]
fn skipped_and_broken_attempts_say_nothing() {
    let attempts = [
        attempt(1, 0, Outcome::Solved, Some("issue-7")),
        attempt(2, 7, Outcome::Error, Some("issue-7")),
        attempt(3, 14, Outcome::Skipped, Some("issue-7")),
    ];
    let weeks = [
        ("2026-W01", 1, 1, 0),
        ("2026-W02", 1, 0, 0),
        ("2026-W03", 1, 0, 0),
    ];
    check(&attempts, &[], &weeks);
}

#[test]
fn what_is_not_believed_is_left_out() {
    let bundles = [Sample::new(1).signed(), Sample::new(2).unsigned()];
    let answer = curve(&bundles, &[]);
    assert_eq!(answer["points"][0]["tasks"], 1);
    assert_eq!(answer["bundles"]["left_out"], json!({"unsigned": 1}));
    let answer = curve(&bundles, &["--unverified"]);
    assert_eq!(answer["points"][0]["tasks"], 2);
}

#[test]
fn a_picture_is_written_instead_of_a_table() {
    let workspace = Workspace::new();
    workspace.write("runs/1.rvww", Sample::new(1).signed());
    let words = ["curve", "runs", "--key-hex", KEY_HEX, "--svg", "curve.svg"];
    assert_eq!(workspace.roleos(&words).succeeds(), "");
    assert!(workspace.read("curve.svg").contains("<svg"));
}

#[test]
fn nothing_is_a_curve_too() {
    let workspace = Workspace::new();
    let answer = workspace.roleos(&["--json", "curve"]).exits(0).json();
    assert_eq!(answer["points"], json!([]));
    workspace.roleos(&["curve"]).exits(0);
    workspace.roleos(&["curve", "--svg", "empty.svg"]).exits(0);
}
