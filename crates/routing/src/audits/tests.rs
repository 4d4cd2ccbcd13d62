//! Exams are scored, resumed after an interruption, and scored again.

use selection::audit::record::Whose;
use serde_json::json;

use super::*;
use base::config::selection::Selection;

fn set() -> AuditSet {
    let case = |input: &str, config: Value| json!({ "input": input, "expected_format": "rule_check", "verifier_config": config, "expected_output": "yes" });
    let value = json!({ "audit_id": "s", "version": "v1", "test_cases": [
        case("a", json!({ "rule": "exact", "expected": "yes" })),
        case("b", json!({ "rule": "no such rule" })),
        case("c", json!({ "rule": "exact", "expected": "yes" })),
    ] });
    AuditSet::parse(&value).unwrap()
}

fn judged(set: &AuditSet) -> Vec<Given> {
    let (verifiers, metric) = (Verifiers::new(&Selection::default()), Metric::v1());
    let examiner = Examiner {
        verifiers: &verifiers,
        metric: &metric,
        package: Path::new("."),
        cases: &set.cases,
    };
    let answers = [
        Ok(json!("yes")),
        Ok(json!("yes")),
        Err("http_500".to_owned()),
    ];
    let cases = set.cases.iter().zip(answers).enumerate();
    cases
        .map(|(index, (case, answer))| examiner.judge(index, case, answer, 20))
        .collect()
}

fn record(set: &AuditSet, version: &str) -> AuditRecord {
    let whose = Whose {
        role: "editor/of things",
        version,
        model_id: "m",
        subject: "s",
        identity: "s",
        finished_at: "2026-03-04T05:06:07Z",
    };
    AuditRecord::of(whose, set, &Metric::v1(), judged(set), None)
}

#[test]
fn what_cannot_be_verified_or_was_not_answered_has_failed() {
    let given = judged(&set());
    let passed: Vec<bool> = given.iter().map(Given::passed).collect();
    assert_eq!(passed, [true, false, false]);
    assert!(
        given[1].reason.as_ref().unwrap().contains("cannot run"),
        "{given:?}"
    );
    assert_eq!(given[2].reason.as_deref(), Some("http_500"));
    assert!(
        (given[2].refusal_penalty - 1.0).abs() < 1e-12,
        "no answer is a refusal"
    );
}

#[test]
fn a_broken_off_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let set = set();
    let path = record_path(folder.path(), "editor", "v1", &set.exam_hash);
    let given = judged(&set);
    let (unfinished, done) =
        Unfinished::open(&Seals::default(), &path, &set, &Metric::v1(), false).unwrap();
    assert!(done.is_empty());
    unfinished.add(&given[2]).unwrap();
    unfinished.add(&given[0]).unwrap();
    unfinished.add(&given[0]).unwrap();
    let (_, done) = Unfinished::open(&Seals::default(), &path, &set, &Metric::v1(), false).unwrap();
    assert_eq!(done, [given[0].clone(), given[2].clone()]);
    let mut other = Metric::v1();
    other.lambda = 0.4;
    let (again, done) = Unfinished::open(&Seals::default(), &path, &set, &other, false).unwrap();
    assert!(done.is_empty(), "another metric begins anew");
    again.finish();
    assert!(!path.with_extension("partial.jsonl").exists());
}

#[test]
fn records_are_found_again_and_rescored() {
    let folder = tempfile::tempdir().unwrap();
    let set = set();
    for version in ["v1", "v2"] {
        let path = record_path(folder.path(), "editor/of things", version, &set.exam_hash);
        save(&Seals::default(), &path, &record(&set, version)).unwrap();
    }
    files::write(&folder.path().join("junk.json"), b"{}", Privacy::Shared).unwrap();
    let found = all(folder.path());
    assert_eq!(found.len(), 2);
    let mut next = Metric::v1();
    next.metric_version = "metric_v2".to_owned();
    next.beta = 0.0;
    let rescored = rescore(&Seals::default(), folder.path(), &next).unwrap();
    assert!(
        rescored.iter().all(|one| one.after < one.before),
        "{rescored:?}"
    );
    assert!(turned(&rescored).is_empty());
    assert_eq!(all(folder.path())[0].1.scores.len(), 2);
    let times = ["07.123Z", "07.12Z", "07Z"].map(|end| format!("2026-03-04T05:06:{end}"));
    for (version, time) in ["v1", "v2", "v3"].iter().zip(&times) {
        let mut record = record(&set, version);
        record.finished_at.clone_from(time);
        let path = record_path(folder.path(), "editor/of things", version, &set.exam_hash);
        save(&Seals::default(), &path, &record).unwrap();
    }
    let found = all(folder.path());
    let order: Vec<&String> = found.iter().map(|(_, one)| &one.finished_at).collect();
    assert_eq!(order, [&times[2], &times[1], &times[0]]);
}

#[test]
fn an_order_that_turns_around_is_named() {
    let one = |version: &str, before: f64, after: f64| Rescored {
        role: "r".to_owned(),
        version: version.to_owned(),
        exam_hash: "e".to_owned(),
        before,
        after,
    };
    let all = [one("a", 1.0, 1.0), one("b", 0.9, 1.1), one("c", 0.5, 0.4)];
    let pairs: Vec<(&str, &str)> = turned(&all)
        .iter()
        .map(|(a, b)| (a.version.as_str(), b.version.as_str()))
        .collect();
    assert_eq!(pairs, [("a", "b")]);
}

/// A verifier that passes anything does not check the answer.
#[test]
fn a_check_that_passes_wrong_answers_grades_nothing() {
    let (verifiers, metric) = (Verifiers::new(&Selection::default()), Metric::v1());
    let rule = |pattern: &str| json!({ "rule": "regex", "pattern": pattern });
    for (name, mut case, is_graded) in [
        (
            "anything",
            json!({ "verifier_config": rule("[a-z{]") }),
            false,
        ),
        (
            "the answer",
            json!({ "verifier_config": rule("^yes$") }),
            true,
        ),
        (
            "anything, beside a known answer that decides",
            json!({ "verifier_config": rule("[a-z{]"), "match": "quality", "expected_output": "yes" }),
            true,
        ),
        (
            "a floor that everything reaches",
            json!({ "verifier_config": rule("^yes$"), "match": "quality", "floor": 0.1, "expected_output": "yes" }),
            false,
        ),
    ] {
        case["input"] = json!("a");
        case["expected_format"] = json!("rule_check");
        let other =
            json!({ "input": "b", "expected_format": "rule_check", "verifier_config": rule("z") });
        let set = json!({ "audit_id": "s", "version": "v1", "match": "verifier", "test_cases": [case, other] });
        let set = AuditSet::parse(&set).unwrap();
        let examiner = Examiner {
            verifiers: &verifiers,
            metric: &metric,
            package: Path::new("."),
            cases: &set.cases,
        };
        let given = examiner.judge(0, &set.cases[0], Ok(json!("yes")), 20);
        assert!(given.passed(), "{name}");
        assert_eq!(
            !given.ungraded && given.right.is_some(),
            is_graded,
            "{name}"
        );
    }
}

#[test]
fn beside_an_expected_output_a_check_of_the_form_passes_no_wrong_answer() {
    let (verifiers, metric) = (Verifiers::new(&Selection::default()), Metric::v1());
    let test = |script: &str| json!({ "command": script });
    let schema = json!({ "schema": { "type": "object", "required": ["course"] } });
    let loose = test("grep -q course $ROLEOS_OUTPUT");
    let course = |pattern: &str| json!({ "rule": "regex", "pattern": pattern });
    for (kind, config, by_verifier, right, is_passed, is_graded) in [
        ("unit_test", loose.clone(), false, false, false, true),
        ("unit_test", loose.clone(), false, true, true, true),
        ("static_analysis", loose.clone(), false, false, false, true),
        ("unit_test", loose.clone(), true, true, true, false),
        ("static_analysis", loose, true, true, true, false),
        (
            "unit_test",
            test("grep -q rivers $ROLEOS_OUTPUT"),
            true,
            true,
            true,
            true,
        ),
        ("json_schema", schema, true, true, true, false),
        ("rule_check", course("course"), true, true, true, false),
        ("rule_check", course("rivers"), true, true, true, true),
    ] {
        let case = |input: &str, config: &Value, expected: &str| {
            let mut case = json!({ "input": input, "expected_format": kind, "verifier_config": config, "expected_output": expected });
            if by_verifier {
                case["match"] = json!("verifier");
            }
            case
        };
        let set = json!({ "audit_id": "s", "version": "v1", "test_cases": [
            case("Which is about water?", &config, r#"{"course":"rivers"}"#),
            case("Which has sounds in it?", &json!({ "x": 1 }), r#"{"course":"music"}"#),
        ] });
        let set = AuditSet::parse(&set).unwrap();
        let examiner = Examiner {
            verifiers: &verifiers,
            metric: &metric,
            package: Path::new("."),
            cases: &set.cases,
        };
        let answer = json!({ "course": if right { "rivers" } else { "music" } });
        let given = examiner.judge(0, &set.cases[0], Ok(answer), 20);
        let found = (given.passed(), given.is_proof());
        assert_eq!(found, (is_passed, is_graded), "{kind} {config} {given:?}");
    }
}
