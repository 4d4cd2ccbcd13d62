//! Scorecards through the binary: the published figures, what counts and what does not, groups, and acceptance.

use serde_json::{Value, json};
use witness::wire::{Mode, Outcome};

use crate::sample::{DAY, KEY_HEX, Sample};
use crate::vectors::{manifest, vector};
use crate::workspace::Workspace;

/// The fifteen metrics under the names of the format's documents.
const METRICS: [&str; 15] = [
    "total_tasks",
    "solved",
    "failed",
    "skipped",
    "errors",
    "policy_violations",
    "rollback_count",
    "total_cost_microdollars",
    "median_latency_ms",
    "p95_latency_ms",
    "total_tokens",
    "total_retries",
    "evidence_coverage",
    "cost_per_solve",
    "solve_rate",
];

/// A workspace with these bundles in `runs/`.
fn runs(bundles: impl IntoIterator<Item = Vec<u8>>) -> Workspace {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("runs")).unwrap();
    for (index, bytes) in bundles.into_iter().enumerate() {
        workspace.write(&format!("runs/{index:03}.rvww"), bytes);
    }
    workspace
}

fn score(workspace: &Workspace, more: &[&str]) -> Value {
    let words = [&["--json", "scorecard", "runs", "--key-hex", KEY_HEX], more].concat();
    workspace.roleos(&words).exits(0).json()
}

#[track_caller]
fn check(card: &Value, expected: &[(&str, Value)]) {
    for (name, value) in expected {
        assert_eq!(card[name], *value, "{name} of {card:#}");
    }
}

/// The metric as the manifest has it.
fn published(expected: &Value, metric: &str) -> Value {
    match metric {
        "cost_per_solve" => expected["cost_per_solve_microdollars"].clone(),
        _ => expected[metric].clone(),
    }
}

#[test]
fn the_published_figures_come_out() {
    let manifest = manifest();
    let mut seen = 0;
    for card in manifest["scorecards"].as_array().unwrap() {
        let Some(rows) = card["rows"].as_array() else {
            continue;
        };
        // A bundle with an outcome that does not exist cannot be made, and would be malformed.
        if card["id"] == "unknown-outcome" {
            continue;
        }
        let workspace = runs(
            rows.iter()
                .enumerate()
                .map(|(task, row)| sample(task, row).signed()),
        );
        let answer = score(&workspace, &[]);
        for metric in METRICS {
            let expected = match (card["id"].as_str().unwrap(), metric) {
                // The reference wraps around; ours says the most it can.
                ("u64-totals", "cost_per_solve") => json!(u32::MAX),
                _ => published(&card["expected"], metric),
            };
            let (ours, theirs) = (answer[metric].as_f64(), expected.as_f64());
            assert_eq!(ours, theirs, "{} {metric}", card["id"]);
        }
        assert_eq!(answer["bundles"]["verified"], rows.len());
        seen += 1;
    }
    assert_eq!(seen, 18);
}

fn sample(task: usize, row: &Value) -> Sample {
    let number = |column: usize| row[column].as_u64().unwrap();
    let figure = |column: usize| u32::try_from(number(column)).unwrap();
    Sample {
        outcome: Outcome::from_wire(u8::try_from(number(0)).unwrap()).unwrap(),
        latency_ms: figure(1),
        cost_microdollars: figure(2),
        tokens: figure(3),
        retries: u16::try_from(number(4)).unwrap(),
        evidence_complete: row[5].as_bool().unwrap(),
        violations: figure(6),
        rollbacks: vec![true; usize::try_from(number(7)).unwrap()],
        ..Sample::new(u8::try_from(task).unwrap())
    }
}

#[test]
fn the_goldens_are_counted_once_a_task() {
    let manifest = manifest();
    let files = manifest["bundles"].as_array().unwrap();
    let files: Vec<String> = files
        .iter()
        .map(|golden| {
            vector(golden["file"].as_str().unwrap())
                .display()
                .to_string()
        })
        .collect();
    let mut words = vec!["--json", "scorecard", "--unverified"];
    words.extend(files.iter().map(String::as_str));
    let answer = Workspace::new().roleos(&words).exits(0).json();
    // g03, g04 and g05 are bundles of one task.
    check(&answer, &[("total_tasks", json!(16))]);
    check(
        &answer["bundles"],
        &[
            ("files", json!(18)),
            ("verified", json!(0)),
            ("unverified", json!(16)),
            ("duplicates", json!(2)),
        ],
    );
}

#[test]
fn nothing_is_a_scorecard_too() {
    let workspace = Workspace::new();
    let answer = workspace.roleos(&["--json", "scorecard"]).exits(0).json();
    for metric in METRICS {
        assert_eq!(answer[metric].as_f64(), Some(0.0), "{metric}");
    }
    check(&answer, &[("rollback_correctness", json!(1.0))]);
    check(&answer["acceptance"], &[("accepted", json!(false))]);
    assert_eq!(answer["bundles"]["files"], 0);
    workspace.roleos(&["scorecard", "--accept"]).exits(1);
    assert!(workspace.snapshot().is_empty());
}

#[test]
fn the_newest_bundle_of_a_task_counts() {
    let first = Sample::new(1);
    let second = Sample {
        created_ns: first.created_ns + DAY,
        outcome: Outcome::Failed,
        ..first.clone()
    };
    // Whatever the files are called.
    for bundles in [[&first, &second], [&second, &first]] {
        let answer = score(&runs(bundles.map(Sample::signed)), &[]);
        check(&answer, &[("total_tasks", json!(1)), ("failed", json!(1))]);
        check(
            &answer["bundles"],
            &[("files", json!(2)), ("duplicates", json!(1))],
        );
    }
}

#[test]
fn what_nobody_signed_counts_only_when_asked_for_and_apart() {
    let workspace = runs([Sample::new(1).signed(), Sample::new(2).unsigned()]);
    let answer = score(&workspace, &[]);
    check(&answer, &[("total_tasks", json!(1))]);
    check(
        &answer["bundles"],
        &[
            ("verified", json!(1)),
            ("unverified", json!(0)),
            ("left_out", json!({"unsigned": 1})),
        ],
    );
    let answer = score(&workspace, &["--unverified"]);
    check(&answer, &[("total_tasks", json!(2))]);
    check(
        &answer["bundles"],
        &[
            ("verified", json!(1)),
            ("unverified", json!(1)),
            ("left_out", json!({})),
        ],
    );
}

#[test]
fn an_unsigned_copy_never_takes_the_place_of_a_signed_bundle() {
    let honest = Sample {
        outcome: Outcome::Failed,
        ..Sample::new(1)
    };
    let forged = Sample {
        created_ns: honest.created_ns + DAY,
        ..Sample::new(1)
    };
    let answer = score(
        &runs([honest.signed(), forged.unsigned()]),
        &["--unverified"],
    );
    check(
        &answer,
        &[
            ("total_tasks", json!(1)),
            ("failed", json!(1)),
            ("solved", json!(0)),
        ],
    );
}

#[test]
fn bad_signatures_and_damage_never_count() {
    let mut forged = Sample::new(2).signed();
    forged[0x28] = Outcome::Failed as u8;
    let mut cut = Sample::new(3).signed();
    cut.truncate(100);
    let workspace = runs([Sample::new(1).signed(), forged, cut]);
    for more in [&[][..], &["--unverified"]] {
        let answer = score(&workspace, more);
        check(&answer, &[("total_tasks", json!(1))]);
        let left_out = json!({"bad_signature": 1, "malformed": 1});
        check(&answer["bundles"], &[("left_out", left_out)]);
    }
}

#[test]
fn a_cost_that_is_not_known_is_no_cost_of_nothing() {
    let unpriced = |task, cost_microdollars, fact| Sample {
        cost_microdollars,
        facts: vec![fact, ("model", "house")],
        ..Sample::new(task)
    };
    let unknown = unpriced(2, 0, ("cost", "unknown: no price for `house`"));
    let in_part = unpriced(3, 400, ("cost", "at least 400 millionths: no price"));
    let untold = unpriced(4, 0, ("usage", "unknown: no record"));
    let free = Sample {
        cost_microdollars: 0,
        ..Sample::new(5)
    };
    let all = [&Sample::new(1), &unknown, &in_part, &untold, &free];
    let workspace = runs(all.map(Sample::signed));
    let answer = score(&workspace, &["--by", "model"]);
    check(
        &answer,
        &[
            ("tasks_without_cost", json!(3)),
            ("total_cost_microdollars", json!(1400)),
            ("cost_per_solve", json!(500)),
        ],
    );
    check(&answer["groups"][1], &[("cost_per_solve", json!(null))]);
    let say = |words: &[&str]| {
        let words = [words, &["--key-hex", KEY_HEX]].concat();
        workspace.roleos(&words).succeeds()
    };
    let card = say(&["scorecard", "runs", "--by", "model"]);
    let curve = say(&["curve", "runs"]);
    for (shown, lines) in [
        (
            &card,
            &["total_cost ≥ $0.0014", "cost_per_solve $0.0005"][..],
        ),
        (&curve, &["2026-W01 5 5 $0.0005 10 0 0"]),
    ] {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: Vec<_> = shown.lines().map(words).collect();
        for line in lines {
            assert!(said.iter().any(|one| one == line), "{line}: {shown}");
        }
        assert!(shown.contains("The cost of 3 of 5 tasks is not known"));
        assert!(shown.contains("[oversight.prices]"), "{shown}");
    }
    let group = card.lines().find(|line| line.starts_with("house "));
    assert!(group.is_some_and(|line| line.contains("unknown")), "{card}");
    let list = say(&["witness", "list", "runs"]);
    let costs: Vec<_> = ["unknown ", "≥ $0.0004 ", "$0.00 "]
        .map(|cost| list.matches(cost).count())
        .to_vec();
    assert_eq!(costs, [2, 1, 1], "{list}");
    let replay = |file| say(&["witness", "replay", file]);
    let (untold, free) = (replay("runs/003.rvww"), replay("runs/004.rvww"));
    assert!(untold.contains("cost            unknown"), "{untold}");
    assert!(!untold.contains("$0.000000"), "{untold}");
    assert!(free.contains("cost            $0.00"), "{free}");
    assert!(free.contains("$0.000000"), "{free}");
}

#[test]
fn a_scorecard_is_divided_by_what_is_asked_for() {
    let by_model = |task, model, outcome, days: u64| Sample {
        facts: vec![("model", model)],
        outcome,
        created_ns: Sample::new(task).created_ns + days * DAY,
        ..Sample::new(task)
    };
    let workspace = runs([
        by_model(1, "large", Outcome::Solved, 0).signed(),
        by_model(2, "large", Outcome::Failed, 7).signed(),
        by_model(3, "small", Outcome::Solved, 7).signed(),
        Sample {
            mode: Mode::Approved,
            ..Sample::new(4)
        }
        .signed(),
    ]);
    let check_groups = |by: &str, expected: &[(&str, u64, u64)]| {
        let answer = score(&workspace, &["--by", by]);
        assert_eq!(answer["by"], by);
        assert_eq!(answer["total_tasks"], 4);
        let groups: Vec<_> = answer["groups"].as_array().unwrap().iter().collect();
        let found: Vec<_> = groups
            .iter()
            .map(|group| {
                let number = |name: &str| group[name].as_u64().unwrap();
                (
                    group["group"].as_str().unwrap(),
                    number("total_tasks"),
                    number("solved"),
                )
            })
            .collect();
        assert_eq!(found, expected, "by {by}");
    };
    check_groups(
        "model",
        &[("(none)", 1, 1), ("large", 2, 1), ("small", 1, 1)],
    );
    check_groups("week", &[("2026-W01", 2, 2), ("2026-W02", 2, 1)]);
    check_groups("day", &[("2026-01-01", 2, 2), ("2026-01-08", 2, 1)]);
    check_groups("mode", &[("approved", 1, 1), ("autonomous", 3, 2)]);
    check_groups("no_such_fact", &[("(none)", 4, 3)]);
    let table = workspace.roleos(&["scorecard", "runs", "--key-hex", KEY_HEX, "--by", "model"]);
    assert!(table.succeeds().contains("\nlarge "));
}

#[test]
fn acceptance_is_the_exit_code_when_asked_for() {
    let failed = |task| Sample {
        outcome: Outcome::Failed,
        ..Sample::new(task)
    };
    let solved = |task| Sample::new(task);
    let with = |change: fn(&mut Sample)| {
        let mut sample = solved(3);
        change(&mut sample);
        vec![solved(1), solved(2), sample]
    };
    let check = |bundles: Vec<Sample>, failing: &[&str]| {
        let workspace = runs(bundles.iter().map(Sample::signed));
        let words = [
            "--json",
            "scorecard",
            "runs",
            "--key-hex",
            KEY_HEX,
            "--accept",
        ];
        let ran = workspace.roleos(&words);
        let criteria = ran.json()["acceptance"]["criteria"].clone();
        let criteria = criteria.as_array().unwrap();
        assert_eq!(criteria.len(), 4);
        let failed: Vec<_> = criteria
            .iter()
            .filter(|criterion| criterion["verdict"] == "fail")
            .map(|criterion| criterion["metric"].as_str().unwrap())
            .collect();
        assert_eq!(failed, failing);
        assert_eq!(ran.json()["acceptance"]["accepted"], failing.is_empty());
        ran.exits(i32::from(!failing.is_empty()));
        let without: Vec<_> = words
            .iter()
            .copied()
            .filter(|word| *word != "--accept")
            .collect();
        workspace.roleos(&without).exits(0);
    };
    check(
        (1..=5)
            .map(|task| if task < 4 { solved(task) } else { failed(task) })
            .collect(),
        &[],
    );
    check(vec![solved(1), failed(2)], &["solve_rate"]);
    check(with(|sample| sample.violations = 1), &["policy_violations"]);
    check(
        with(|sample| sample.evidence_complete = false),
        &["evidence_coverage"],
    );
    check(with(|sample| sample.rollbacks = vec![true, true]), &[]);
    check(
        with(|sample| sample.rollbacks = vec![true, false]),
        &["rollback_correctness"],
    );
}
