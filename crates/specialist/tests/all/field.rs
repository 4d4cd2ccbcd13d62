//! Lines of the field log, and the statistics of the last lines.

use serde_json::{Value, json};
use specialist::event::{Event, Log};
use specialist::field::{Audit, Row, canonical};
use specialist::quota::Source;
use specialist::shadow::Pair;

fn row<'a>(role: &'a str, input: &'a Value, source: Source, verdict: Option<&'a Value>) -> Row<'a> {
    Row {
        role,
        ts: "2026-09-03T10:00:00Z",
        trace_id: "t",
        number: Some(3),
        learning: false,
        route: Source::Specialist,
        source,
        version: Some("v1"),
        input,
        verdict,
        score: Some(0.83),
    }
}

fn line(row: &Row<'_>, keep: bool) -> Value {
    let line = row.line(keep);
    assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
    serde_json::from_str(&line).unwrap()
}

#[test]
fn the_input_is_known_by_its_hash_and_kept_only_on_request() {
    let input = json!("secret text");
    let verdict = json!("supported");
    let row = row("A", &input, Source::Specialist, Some(&verdict));
    let private = line(&row, false);
    assert!(!private.to_string().contains("secret"));
    assert_eq!(private["input_len"], 11);
    assert_eq!(private["input_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(
        (&private["verdict"], &private["score"]),
        (&json!("supported"), &json!(0.83))
    );
    assert_eq!(line(&row, true)["input"], "secret text");
    assert!(line(&row, true).get("input_truncated").is_none());
}

#[test]
fn the_order_of_keys_does_not_matter_and_the_content_does() {
    let a = canonical(&json!({ "b": [{ "y": 1, "x": 2 }], "a": 1 }));
    assert_eq!(a, "{\"a\":1,\"b\":[{\"x\":2,\"y\":1}]}");
    assert_eq!(a, canonical(&json!({ "a": 1, "b": [{ "x": 2, "y": 1 }] })));
    assert_ne!(a, canonical(&json!({ "a": 2, "b": [{ "x": 2, "y": 1 }] })));
    assert_eq!(canonical(&json!("as it is")), "as it is");
}

#[test]
fn long_inputs_are_cut_and_long_verdicts_too() {
    let input = json!("я".repeat(4500));
    let verdict = json!({ "why": "x".repeat(200) });
    let long = line(&row("A", &input, Source::Specialist, Some(&verdict)), true);
    assert_eq!(long["input"].as_str().unwrap().chars().count(), 4000);
    assert_eq!(
        (&long["input_truncated"], &long["input_len"]),
        (&json!(true), &json!(4500))
    );
    assert_eq!(long["verdict"].as_str().unwrap().chars().count(), 64);
    for (verdict, expected) in [
        (json!(null), json!(null)),
        (json!(7), json!("7")),
        (json!(false), json!("false")),
    ] {
        assert_eq!(
            line(&row("A", &input, Source::Specialist, Some(&verdict)), false)["verdict"],
            expected
        );
    }
    assert!(
        line(&row("A", &input, Source::Specialist, None), false)
            .get("verdict")
            .is_none()
    );
    assert!(
        line(&row("A", &input, Source::Claude, None), false)
            .get("score")
            .is_none()
    );
}

#[test]
fn the_audit_adds_the_last_rows_of_a_role_up() {
    let (x, y) = (json!("x"), json!("y"));
    let (good, bad) = (json!("good"), json!("bad"));
    let mut log = String::new();
    for (role, input, source, verdict) in [
        ("A", &x, Source::Claude, &bad),
        ("A", &x, Source::Specialist, &good),
        ("B", &x, Source::Specialist, &good),
        ("A", &y, Source::Specialist, &good),
        ("A", &x, Source::Claude, &bad),
    ] {
        log.push_str(&row(role, input, source, Some(verdict)).line(false));
    }
    log.push_str("junk\n7\n");
    let audit = Audit::of(log.as_bytes(), &[], "A", 3);
    assert_eq!(
        (
            audit.samples,
            audit.distinct_inputs,
            audit.specialist_served,
            audit.damaged
        ),
        (3, 2, 2, 2)
    );
    assert_eq!(audit.verdicts, [("good".to_owned(), 2)].into());
    assert_eq!(audit.general_verdicts, [("bad".to_owned(), 1)].into());
    assert_eq!(audit.mean_score, Some(0.83));
    assert_eq!((audit.state(), audit.is_ready()), ("accumulating", false));
    assert_eq!(audit.last_seen.as_deref(), Some("2026-09-03T10:00:00Z"));
    assert_eq!(Audit::of(b"", &[], "A", 3).state(), "unmonitored");
    assert_eq!(Audit::of(log.as_bytes(), &[], "A", 99).samples, 4);
    let many = row("A", &x, Source::Claude, None).line(false).repeat(100);
    assert!(Audit::of(many.as_bytes(), &[], "A", 200).is_ready());
}

/// Returns a hundred answers of the adapter, of which `yes` are `yes`, each with this score.
fn answers(yes: usize, score: f64) -> String {
    let (x, labels) = (json!("x"), [json!("yes"), json!("no")]);
    let line = |number: usize| {
        let verdict = &labels[usize::from(number >= yes)];
        let mut row = row("A", &x, Source::Specialist, Some(verdict));
        row.score = Some(score);
        row.line(false)
    };
    (0..100).map(line).collect()
}

#[test]
fn drift_is_the_change_against_the_rows_before() {
    let drift = |log: &str, window| Audit::of(log.as_bytes(), &[], "A", window).drift;
    let same = drift(&(answers(50, 0.8) + &answers(50, 0.8)), 100).unwrap();
    assert_eq!((same.verdicts, same.is_large()), (0.0, false));
    let moved = drift(&(answers(80, 0.9) + &answers(20, 0.7)), 100).unwrap();
    assert!((moved.verdicts - 0.6).abs() < 1e-9 && moved.is_large());
    assert!((moved.score.unwrap() + 0.2).abs() < 1e-9);
    let slight = drift(&(answers(60, 0.9) + &answers(40, 0.9)), 100).unwrap();
    assert!((slight.verdicts - 0.2).abs() < 1e-9 && !slight.is_large());
    // No rows before, too few rows before, and texts that never repeat give no drift.
    assert_eq!(drift(&answers(50, 0.8), 100), None);
    assert_eq!(drift(&(answers(50, 0.8) + &answers(50, 0.8)), 180), None);
    let texts: String = (0..200)
        .map(|number| {
            let verdict = json!(format!("answer {number}"));
            row("A", &json!("x"), Source::Specialist, Some(&verdict)).line(false)
        })
        .collect();
    assert_eq!(drift(&texts, 100), None);
    // The general model's answers are not the adapter's.
    let general = answers(0, 0.8).replace("\"source\":\"specialist\"", "\"source\":\"claude\"");
    assert_eq!(drift(&(answers(100, 0.8) + &general), 100), None);
}

#[test]
fn agreement_is_that_of_the_rows_in_the_window() {
    let (x, yes) = (json!("x"), json!("yes"));
    let mut log = String::new();
    let mut probes = String::new();
    for number in 0..6 {
        let (ts, trace_id) = (
            format!("2026-09-03T10:00:0{number}Z"),
            format!("t-{number}"),
        );
        let mut row = row("A", &x, Source::Specialist, Some(&yes));
        (row.ts, row.trace_id) = (&ts, &trace_id);
        log.push_str(&row.line(false));
        let pair = Pair {
            specialist: "yes".to_owned(),
            claude: "no".to_owned(),
        };
        for role in ["A", "B"] {
            probes.push_str(
                &Event::probe((role, "v1"), &ts, &trace_id, ("", number % 2 == 0), &pair).line(),
            );
        }
    }
    let probes = Log::parse(probes.as_bytes());
    let audit = |window| {
        let audit = Audit::of(log.as_bytes(), &[&probes, &Log::default()], "A", window);
        (audit.probes, audit.agreed)
    };
    assert_eq!(audit(200), (6, 3));
    assert_eq!(audit(3), (3, 1), "t-3, t-4 and t-5");
    assert_eq!(audit(1), (1, 0));
}

#[test]
fn learning_runs_are_marked_and_do_not_count() {
    let (input, unsure) = (json!("x"), json!({ "status": "UNSURE" }));
    let learning = Row {
        learning: true,
        ..row("A", &input, Source::Claude, Some(&unsure))
    };
    assert_eq!(line(&learning, false)["mode"], "learn");
    let good = json!("good");
    let served = row("A", &input, Source::Specialist, Some(&good)).line(false);
    // More of them than the window is long push no traffic out of it.
    let log = served + &learning.line(false).repeat(5);
    let audit = Audit::of(log.as_bytes(), &[], "A", 3);
    assert_eq!((audit.samples, audit.specialist_served), (1, 1));
    let failed = json!({ "role": "A", "route": "specialist", "source": "claude" });
    let audit = Audit::of(failed.to_string().as_bytes(), &[], "A", 10);
    assert_eq!((audit.specialist_served, audit.not_served), (0, 1));
    assert!(audit.general_verdicts.is_empty(), "{audit:?}");
}
