//! Exams, levels, reviews, metrics and the selector through the binary: decided by the evidence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use routing::feedback;
use routing::runs;
use selection::metric::{Metric, Parts};
use selection::run_log::{More, Record};
use selection::selector::Features;
use selection::selector::features::Line;
use serde_json::{Value, json};

use crate::adapter::{Adapter, json as reply};
use crate::workspace::Workspace;

const REGISTRY: &str = ".role-os/specialists.json";
const AUDIT: &str = r#"{"audit_id":"capitals","version":"v1","test_cases":[
  {"input":"France","expected_format":"rule_check","verifier_config":{"rule":"exact","expected":"Paris"},"expected_output":"Paris"},
  {"input":"Spain","expected_format":"rule_check","verifier_config":{"rule":"exact","expected":"Madrid"},"expected_output":"Madrid"},
  {"input":"Italy","expected_format":"json_schema","verifier_config":{"schema":{"type":"object","required":["city"]}},"expected_output":"{\"city\":\"Rome\"}"}
]}"#;

pub(super) fn version(id: &str, level: &str) -> Value {
    json!({
        "id": id, "adapter_id": format!("{id}-adapter"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
        "certified_level": level, "exam_hash": "0".repeat(64), "field_audit_window": 200,
        "created_at": "2026-09-02T09:00:00Z",
    })
}

pub(super) fn registered(url: &str, active: Option<&str>, versions: &[Value]) -> Workspace {
    let workspace = Workspace::new();
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Atlas", "backend_url": url, "fallback": "claude", "workload_quota": 0.6,
            "active_version": active, "versions": versions,
        }],
    });
    workspace.write(REGISTRY, registry.to_string());
    workspace.write("audit.json", AUDIT);
    // The same three questions ten times, in different words: enough for a certificate.
    workspace.write("long.json", long(other_words).to_string());
    workspace
}

/// Returns words that no other round has.
pub(super) fn other_words(round: usize) -> String {
    format!(" s{}", "o".repeat(round + 1))
}

/// Returns thirty cases of three questions; `ending` makes the inputs of a round differ from those of another.
pub(super) fn long(ending: impl Fn(usize) -> String) -> Value {
    let mut long: Value = serde_json::from_str(AUDIT).unwrap();
    let cases = long["test_cases"].as_array().unwrap().clone();
    let cases = cases.iter().cycle().take(30).cloned().enumerate();
    let differing = cases.map(|(index, mut case)| {
        let input = case["input"].as_str().unwrap().to_owned();
        case["input"] = json!(format!("{input}{}", ending(index / 3)));
        case
    });
    long["test_cases"] = differing.collect();
    long
}

/// Starts an adapter that knows all capitals, but the one of Spain only as `good`.
pub(super) fn atlas() -> Adapter {
    Adapter::new(|request| {
        let adapter = request.body["adapter_id"].as_str().unwrap_or_default();
        let input = request.body["input"].as_str();
        let verdict = match input.and_then(|input| input.split(' ').next()) {
            Some("France") => json!("Paris"),
            Some("Spain") if adapter == "good-adapter" => json!("Madrid"),
            Some("Spain") => json!("Barcelona"),
            _ => json!({ "city": "Rome" }),
        };
        reply(&json!({ "verdict": verdict, "adapter_id": adapter, "duration_ms": 0 }))
    })
}

pub(super) fn level(workspace: &Workspace, id: &str) -> (Value, Value) {
    let registry: Value = serde_json::from_str(&workspace.read(REGISTRY)).unwrap();
    let versions = registry["specialists"][0]["versions"]
        .as_array()
        .unwrap()
        .clone();
    let found = versions.into_iter().find(|one| one["id"] == id).unwrap();
    (found["certified_level"].clone(), found["exam_hash"].clone())
}

fn lines(workspace: &Workspace, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(workspace.path(name)).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_exam_earns_the_first_level() {
    let adapter = atlas();
    let workspace = registered(
        &adapter.url,
        None,
        &[version("good", "L0"), version("bad", "L0")],
    );
    let certify = |id: &str| workspace.roleos(&["specialist", "certify", "Atlas", id, "--json"]);
    let nothing = certify("good").exits(1).json();
    assert_eq!(
        (&nothing["level"], &nothing["earned"]),
        (&json!("L0"), &json!("L0"))
    );
    let audit = |id: &str, more: &[&str]| {
        let subject = format!("Atlas/{id}");
        let mut words = vec![
            "audit",
            "run",
            subject.as_str(),
            "--set",
            "long.json",
            "--json",
        ];
        words.extend(more);
        workspace.roleos(&words)
    };
    let good = audit("good", &[]).exits(0).json();
    assert_eq!(
        (&good["passed"], &good["cases"], &good["ok"]),
        (&json!(30), &json!(30), &json!(true))
    );
    assert!(
        good["pass_low"].as_f64().unwrap() < 0.9 && good["mean_reward"].as_f64().unwrap() > 1.5
    );
    let bad = audit("bad", &["--baseline", "good"]).exits(1).json();
    let spain: Vec<usize> = (0..10).map(|round| 3 * round + 1).collect();
    assert_eq!(bad["baseline"]["regressions"], json!(spain));
    assert_eq!(bad["failed"][0]["reason"], "is not `Madrid`");
    let raised = certify("good").exits(0).json();
    assert_eq!(
        (&raised["level_before"], &raised["level"], &raised["raised"]),
        (&json!("L0"), &json!("L1"), &json!(true))
    );
    assert_eq!(
        level(&workspace, "good"),
        (json!("L1"), good["exam_hash"].clone())
    );
    certify("bad").exits(1);
    assert_eq!(level(&workspace, "bad").0, "L0");
    let events = lines(&workspace, ".role-os/specialist-events.jsonl");
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "certification-attempt",
            "certification-attempt",
            "certify",
            "certification-attempt"
        ]
    );
    let evidence = &events[2]["data"]["evidence"];
    assert_eq!(evidence["exam_hash"], good["exam_hash"]);
    assert_eq!(evidence["metric_hash"], Metric::v1().hash());
    assert_eq!(evidence["checks"][0]["rate"]["hits"], 30);
    workspace
        .roleos(&["specialist", "promote", "Atlas", "good"])
        .exits(0);
    let refused = workspace
        .roleos(&["specialist", "certify", "Atlas", "good", "--level", "L2"])
        .exits(1);
    assert!(
        refused.stdout.contains("✗ L2 supply chain"),
        "{}",
        refused.stdout
    );
    let diff = workspace
        .roleos(&["audit", "diff", "Atlas/good", "Atlas/bad", "--json"])
        .exits(1)
        .json();
    assert_eq!(
        (&diff["regressions"], &diff["gained"]),
        (&json!(spain), &json!([]))
    );
    let told = lines(&workspace, ".role-os/events.jsonl");
    assert_eq!(
        told.iter()
            .filter(|event| event["event"] == "INFER_RESULT")
            .count(),
        60
    );
}

/// Starts an adapter that answers every question alike: well-formed, and wrong.
fn sloppy() -> Adapter {
    Adapter::new(|request| {
        let adapter = request.body["adapter_id"].clone();
        reply(&json!({ "verdict": { "city": "Oslo" }, "adapter_id": adapter }))
    })
}

#[test]
fn a_wrong_adapter_that_is_well_formed_is_not_certified() {
    let adapter = sloppy();
    let workspace = registered(&adapter.url, None, &[version("good", "L0")]);
    let case = |number: usize| {
        json!({ "input": format!("country {number}"), "expected_format": "json_schema",
            "verifier_config": { "schema": { "type": "object", "required": ["city"] } },
            "expected_output": format!("{{\"city\":\"{}\"}}", if number < 3 { "Oslo" } else { "Rome" }) })
    };
    let cases: Vec<Value> = (0..30).map(case).collect();
    workspace.write(
        "exam.json",
        json!({ "audit_id": "cities", "version": "v1", "test_cases": cases }).to_string(),
    );
    let words = ["audit", "run", "Atlas/good", "--set", "exam.json"];
    let said = workspace.roleos(&words).exits(1).stdout;
    assert!(
        said.contains("27 of 30 answers differ from the expected output\n"),
        "{said}"
    );
    let found = workspace
        .roleos(&[&words[..], &["--fresh", "--json"]].concat())
        .exits(1)
        .json();
    assert_eq!(
        (
            &found["passed"],
            &found["wrong_answers"],
            &found["verifier_failures"]
        ),
        (&json!(3), &json!(27), &json!(0))
    );
    let certify = ["specialist", "certify", "Atlas", "good", "--json"];
    assert_eq!(workspace.roleos(&certify).exits(1).json()["earned"], "L0");
    workspace
        .roleos(&["specialist", "promote", "Atlas", "good"])
        .exits(2);
}

#[test]
fn a_set_is_begun_drafted_and_accepted() {
    let general = Adapter::new(|_| reply(&json!({})));
    let workspace = registered(&general.url, None, &[version("good", "L0")]);
    workspace.write(
        ".role-os/config.toml",
        "[fallback.claude]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"cat >/dev/null; echo '{\\\"city\\\":\\\"Rome\\\"}'\"]\n",
    );
    let run = |words: &[&str]| workspace.roleos(&[&["--json", "audit"], words].concat());
    let made = run(&["new", "Atlas", "--out", "exam.json"]).exits(0).json();
    assert_eq!((&made["cases"], &made["inputs"]), (&json!(30), &json!(0)));
    run(&["new", "Atlas", "--out", "exam.json"]).exits(1);
    run(&["new", "Nobody"]).exits(1);
    let mut set: Value = serde_json::from_str(&workspace.read("exam.json")).unwrap();
    set["test_cases"][0]["input"] = json!("Italy");
    set["test_cases"][1]["input"] = json!("Italia");
    workspace.write("exam.json", set.to_string());
    let drafted = run(&["draft", "Atlas", "--set", "exam.json"])
        .exits(0)
        .json();
    assert_eq!(drafted["asked"], 2);
    assert_eq!(drafted["drafts"][1]["draft_output"], "{\"city\":\"Rome\"}");
    let accepted = run(&[
        "draft",
        "Atlas",
        "--set",
        "exam.json",
        "--accept",
        "--case",
        "1",
    ]);
    assert_eq!(accepted.exits(0).json()["accepted"], 1);
    let set: Value = serde_json::from_str(&workspace.read("exam.json")).unwrap();
    assert_eq!(
        set["test_cases"][1]["expected_output"],
        "{\"city\":\"Rome\"}"
    );
    assert!(set["test_cases"][0]["expected_output"].is_null());
    let again = run(&["draft", "Atlas", "--set", "exam.json"])
        .exits(0)
        .json();
    assert_eq!(again["asked"], 0, "what was answered is not asked again");
}

#[test]
fn an_exam_that_was_broken_off_goes_on() {
    let open = Arc::new(AtomicBool::new(false));
    let door = Arc::clone(&open);
    let adapter = Adapter::new(move |request| {
        let adapter = request.body["adapter_id"].clone();
        let input = request.body["input"].as_str();
        // Until the door opens, another adapter answers the second question.
        let echo = if input == Some("Spain") && !door.load(Ordering::SeqCst) {
            json!("other")
        } else {
            adapter
        };
        let verdict = match input {
            Some("France") => json!("Paris"),
            Some("Spain") => json!("Madrid"),
            _ => json!({ "city": "Rome" }),
        };
        reply(&json!({ "verdict": verdict, "adapter_id": echo }))
    });
    let workspace = registered(&adapter.url, Some("good"), &[version("good", "L1")]);
    let audit = || {
        workspace.roleos(&[
            "audit",
            "run",
            "Atlas",
            "--set",
            "audit.json",
            "--jobs",
            "1",
            "--json",
        ])
    };
    let broken = audit().exits(2).json_error();
    assert_eq!(
        (&broken["code"], &broken["retryable"]),
        (&json!("audit_incomplete"), &json!(true))
    );
    assert!(
        broken["message"].as_str().unwrap().contains("after 1 of 3"),
        "{broken}"
    );
    open.store(true, Ordering::SeqCst);
    let before = adapter.seen().len();
    let whole = audit().exits(0).json();
    assert_eq!(
        (&whole["resumed"], &whole["passed"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(
        adapter.seen().len(),
        before + 2,
        "what was answered is not asked again"
    );
    let again = audit().exits(0).json();
    assert_eq!(again["resumed"], 0);
}

#[test]
fn a_bad_set_or_subject_is_said() {
    let workspace = registered("http://127.0.0.1:1", None, &[version("good", "L0")]);
    let audit = |subject: &str, set: &str| {
        workspace.roleos(&["audit", "run", subject, "--set", set, "--json"])
    };
    assert_eq!(
        audit("Nobody/v1", "audit.json").exits(1).json_error()["code"],
        "unknown_role"
    );
    assert_eq!(
        audit("Atlas/v9", "audit.json").exits(1).json_error()["code"],
        "unknown_version"
    );
    assert_eq!(
        audit("Atlas", "audit.json").exits(1).json_error()["code"],
        "no_active_version"
    );
    assert_eq!(
        audit("Atlas/good", "missing.json").exits(1).json_error()["code"],
        "file_not_found"
    );
    workspace.write(
        "bad.json",
        r#"{"audit_id":"x","version":"audit_v1","test_cases":[]}"#,
    );
    let bad = audit("Atlas/good", "bad.json").exits(1).json_error();
    let message = bad["message"].as_str().unwrap();
    assert!(
        message.contains("version:") && message.contains("test_cases:"),
        "{message}"
    );
    assert_eq!(
        audit("Atlas/good", "audit.json").exits(2).json_error()["code"],
        "audit_incomplete"
    );
}

/// Returns a line of a learning contest.
fn line(
    number: usize,
    index: usize,
    id: &str,
    passed: bool,
    q1: f64,
    winner: Option<&str>,
) -> Record {
    let metric = Metric::v1();
    let parts = Parts {
        passed,
        q1: Some(q1),
        cost: 0.1,
        refusal_penalty: 0.0,
    };
    Record {
        timestamp: "2026-03-04T05:06:07Z".to_owned(),
        prompt_hash: format!("{number:064x}"),
        model_id: format!("{id}-adapter"),
        metric_version: metric.metric_version.clone(),
        verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
        q0: u8::from(passed),
        q1: Some(q1),
        cost: 0.1,
        refusal_penalty: 0.0,
        reward: metric.reward(parts).unwrap(),
        winner_model_id: winner.map(|id| format!("{id}-adapter")),
        more: More {
            run_id: Some(format!("run-{number}")),
            candidate_index: u32::try_from(index).ok(),
            version: Some(id.to_owned()),
            role: Some("Atlas".to_owned()),
            mode: Some("learn".to_owned()),
            ..More::default()
        },
    }
}

fn log(
    workspace: &Workspace,
    contests: std::ops::Range<usize>,
    contest: impl Fn(usize) -> Vec<Record>,
) {
    let records = contests.flat_map(contest).collect();
    runs::append(
        &base::seals::Seals::default(),
        &workspace.path(".role-os/run_log.jsonl"),
        records,
    )
    .unwrap();
}

const MANIFEST: &str = "\
model_id: good-adapter
version: 1.2.0
base_model: { model_id: base-7b, version: '3', base_hash: 'sha256:HASH' }
artifacts:
  weights: { filename: adapter.bin, sha256: 'sha256:WEIGHTS' }
license: MIT
scope: { tasks: [capitals], non_scope: [] }
io_contract:
  input: { max_tokens: 4096, required_format: prompt }
  output: { format: text }
verifier: { type: rule_check, pass_condition: rules_match == true, config: { rule: regex, pattern: '.' } }
routing: { tags: ['task:capitals'], recommended_min_confidence: 0.65, fallback: base-7b }
";

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn the_log_and_the_supply_chain_earn_the_second_level() {
    let adapter = atlas();
    let workspace = registered(&adapter.url, None, &[]);
    workspace.write("package/adapter.bin", "weights");
    let weights = routing::manifests::hash_file(&workspace.path("package/adapter.bin")).unwrap();
    let manifest = MANIFEST
        .replace("HASH", &"ab".repeat(32))
        .replace("WEIGHTS", &weights);
    workspace.write("package/model.yaml", manifest);
    let url = adapter.url.as_str();
    let registered = workspace
        .roleos(&[
            "specialist",
            "register",
            "Atlas",
            "package/model.yaml",
            "--backend-url",
            url,
            "--audit",
            "long.json",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(registered["audit"]["passed"], 30);
    let id = registered["version"].as_str().unwrap().to_owned();
    workspace.write("other.json", version("other", "L0").to_string());
    workspace
        .roleos(&["specialist", "register", "Atlas", "other.json"])
        .exits(0);
    let certify = || {
        workspace
            .roleos(&["specialist", "certify", "Atlas", &id, "--json"])
            .exits(0)
            .json()
    };
    let contest = |number: usize| {
        let winner = if number.is_multiple_of(4) {
            id.as_str()
        } else {
            "other"
        };
        let mut records = vec![
            line(
                number,
                0,
                &id,
                true,
                if winner == "other" { 0.5 } else { 0.9 },
                None,
            ),
            line(number, 1, "other", true, 0.7, None),
        ];
        let name = if winner == "other" {
            "other-adapter"
        } else {
            "good-adapter"
        };
        for record in &mut records {
            record.winner_model_id = Some(name.to_owned());
        }
        records[0].model_id = "good-adapter".to_owned();
        records
    };
    log(&workspace, 0..999, contest);
    let first = certify();
    assert_eq!(
        first["level"], "L1",
        "the window of contests is not full: {first}"
    );
    log(&workspace, 999..1000, contest);
    let second = certify();
    assert_eq!(
        (&second["level"], &second["raised"]),
        (&json!("L2"), &json!(true)),
        "{second}"
    );
    assert_eq!(second["digests"]["manifest_hash"], json!(id));
    let wins = second["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "win rate in learning runs");
    assert_eq!(wins.unwrap()["rate"]["hits"], 250);
    std::fs::remove_file(workspace.path("package/adapter.bin")).unwrap();
    let gone = workspace.roleos(&["specialist", "certify", "Atlas", &id, "--level", "L2"]);
    let said = gone.exits(1).stdout;
    assert!(said.contains("✗ L2 supply chain: its weights"), "{said}");
    workspace.write("package/adapter.bin", "other weights");
    let changed = workspace
        .roleos(&["specialist", "certify", "Atlas", &id, "--level", "L2"])
        .exits(1);
    assert!(
        changed.stdout.contains("hashes to sha256:"),
        "{}",
        changed.stdout
    );
    assert_eq!(level(&workspace, &id).0, "L2", "certify takes nothing away");
    workspace.write("package/adapter.bin", "weights");
    let path = workspace.path(".role-os/run_log.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let copy = text.lines().last().unwrap().to_owned();
    std::fs::write(&path, format!("{text}{copy}\n{copy}\n")).unwrap();
    let pasted = workspace.roleos(&["specialist", "certify", "Atlas", &id, "--level", "L2"]);
    let said = pasted.exits(1).stdout;
    assert!(
        said.contains("✗ L2 run log: line 2001: `prev` is not the hash"),
        "{said}"
    );
    let review = workspace
        .roleos(&["specialist", "review", "--json"])
        .exits(2);
    assert_eq!(review.json_error()["code"], "run_log_broken");
}

#[test]
fn a_review_proposes_and_does_what_the_log_asks_for() {
    let verified = |id: &str, level: &str| {
        let mut version = version(id, level);
        version["verifier"] =
            json!({ "type": "rule_check", "config": { "rule": "regex", "pattern": "." } });
        version
    };
    let workspace = registered(
        "http://127.0.0.1:1",
        Some("stable"),
        &[
            verified("stable", "L2"),
            verified("poisoned", "L0"),
            verified("fine", "L1"),
            version("unverified", "L1"),
        ],
    );
    log(&workspace, 0..120, |number| {
        let winner = Some("fine");
        vec![
            line(number, 0, "stable", number % 10 != 0, 0.0, winner),
            line(number, 1, "poisoned", number % 9 == 0, 0.0, winner),
            line(number, 2, "fine", true, 0.1, winner),
            line(number, 3, "unverified", false, 0.0, winner),
        ]
    });
    let review = |more: &[&str]| {
        let mut words = vec!["specialist", "review", "--json"];
        words.extend(more);
        workspace.roleos(&words).exits(0).json()["proposals"]
            .as_array()
            .unwrap()
            .clone()
    };
    let proposed = review(&[]);
    let names: Vec<(&str, &Value)> = proposed
        .iter()
        .map(|one| (one["proposal"].as_str().unwrap(), &one["version"]))
        .collect();
    assert_eq!(
        names,
        [
            ("demote", &json!("stable")),
            ("prune", &json!("poisoned")),
            ("spawn", &Value::Null),
            ("dominance", &Value::Null)
        ]
    );
    assert_eq!(
        level(&workspace, "stable").0,
        "L2",
        "a proposal changes nothing"
    );
    review(&["--apply", "--operator", "me"]);
    assert_eq!(level(&workspace, "stable").0, "L1");
    let registry: Value = serde_json::from_str(&workspace.read(REGISTRY)).unwrap();
    assert_eq!(
        registry["specialists"][0]["versions"][1]["status"],
        "deprecated"
    );
    let events = lines(&workspace, ".role-os/specialist-events.jsonl");
    let kinds: Vec<&Value> = events.iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["certify", "withdraw"]);
    let asked = lines(&workspace, ".role-os/events.jsonl");
    assert_eq!(asked[0]["event"], "MODEL_ADD_REQUEST");
    assert_eq!(
        asked[0]["payload"]["stats_snapshot"]["field"]["weak"]["n"],
        120
    );
    let again: Vec<Value> = review(&[]);
    assert!(
        again
            .iter()
            .all(|one| one["proposal"] != "prune" && one["proposal"] != "demote"),
        "{again:?}"
    );
    let promote = workspace
        .roleos(&["specialist", "promote", "Atlas", "poisoned", "--json"])
        .exits(2)
        .json_error();
    assert_eq!(promote["code"], "withdrawn");
}

#[test]
fn the_metric_changes_by_mixing_and_exams_are_scored_again() {
    let adapter = atlas();
    let workspace = registered(
        &adapter.url,
        None,
        &[version("good", "L0"), version("bad", "L0")],
    );
    for id in ["good", "bad"] {
        workspace.roleos(&[
            "audit",
            "run",
            &format!("Atlas/{id}"),
            "--set",
            "audit.json",
        ]);
    }
    let mut next = Metric::v1();
    next.metric_version = "metric_v2".to_owned();
    next.beta = 0.5;
    workspace.write("v2.json", next.to_value().to_string());
    let changed = workspace
        .roleos(&["metric", "change", "v2.json", "--window", "20", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&changed["epoch"], &changed["migration"]["alpha"]),
        (&json!(1), &json!(1.0))
    );
    let audits = changed["audits"].as_array().unwrap();
    assert_eq!(audits.len(), 2);
    assert!(
        audits
            .iter()
            .all(|one| one["after"].as_f64() < one["before"].as_f64()),
        "{audits:?}"
    );
    let shown = workspace
        .roleos(&["metric", "show", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["metric"]["metric_version"], "metric_v2");
    assert_eq!(shown["migration"]["window"], 20);
    assert!(
        workspace
            .roleos(&["metric", "show"])
            .succeeds()
            .contains("share is 1.00 after 0 of 20")
    );
    let told = lines(&workspace, ".role-os/events.jsonl");
    let change = told
        .iter()
        .find(|event| event["event"] == "EVAL_METRIC_CHANGE")
        .unwrap();
    assert_eq!(
        (
            &change["payload"]["old_metric"],
            &change["payload"]["new_metric"],
            &change["payload"]["epoch"]
        ),
        (&json!("metric_v1"), &json!("metric_v2"), &json!(1))
    );
    let refused = workspace
        .roleos(&["metric", "change", "v2.json", "--json"])
        .exits(2)
        .json_error();
    assert_eq!(refused["code"], "change_under_way");
    let aborted = workspace
        .roleos(&["metric", "abort", "--json"])
        .exits(0)
        .json();
    assert_eq!(aborted["metric"]["metric_version"], "metric_v1");
    let nothing = workspace
        .roleos(&["metric", "abort", "--json"])
        .exits(1)
        .json_error();
    assert_eq!(nothing["code"], "no_change");
    let mut vast = next;
    vast.beta = 1e308;
    workspace.write("vast.json", vast.to_value().to_string());
    let refused = workspace
        .roleos(&["metric", "change", "vast.json", "--json"])
        .exits(1)
        .json_error();
    assert_eq!(refused["code"], "bad_metric");
    workspace.write("bad.json", r#"{"metric_version":"metric_v3"}"#);
    let bad = workspace
        .roleos(&["metric", "change", "bad.json", "--json"])
        .exits(1)
        .json_error();
    assert_eq!(bad["code"], "bad_metric");
}

const TOPICS: [&str; 2] = [
    "river bank flood water stream bridge",
    "chord tempo melody drum scale rhythm",
];

/// Writes a hundred contests: `good` wins on the first topic, `bad` on the second.
fn two_topics(workspace: &Workspace) {
    let winner = |number: usize| ["good", "bad"][number % 2];
    let hash = |number: usize| format!("{:02x}{number:062x}", number % 256);
    log(workspace, 0..100, |number| {
        let mut records = vec![
            line(
                number,
                0,
                "good",
                true,
                if number % 2 == 0 { 0.9 } else { 0.1 },
                Some(winner(number)),
            ),
            line(
                number,
                1,
                "bad",
                true,
                if number % 2 == 0 { 0.1 } else { 0.9 },
                Some(winner(number)),
            ),
        ];
        for record in &mut records {
            record.prompt_hash = hash(number);
        }
        records
    });
    for number in 0..100 {
        let features = Line {
            run_id: format!("run-{number}"),
            role: "Atlas".to_owned(),
            prompt_hash: hash(number),
            features: Features::of(TOPICS[number % 2], &[]),
        };
        routing::selector::append_features(&workspace.path(".role-os/features.jsonl"), &features)
            .unwrap();
    }
}

/// Checks a calibration: half of the inputs suit the active version; the general model's cost is unknown.
fn calibrated(workspace: &Workspace) {
    let calibrate = |more: &[&str]| {
        let mut words = vec!["selector", "calibrate", "Atlas", "--json"];
        words.extend(more);
        workspace.roleos(&words)
    };
    let found = calibrate(&[]).exits(0).json();
    assert_eq!(
        (&found["share"], &found["quality"]),
        (&json!(0.5), &json!(1.0))
    );
    assert_eq!(
        found["threshold"], 0.75,
        "a lower one would bring the same: {found}"
    );
    assert_eq!(found["cost"], Value::Null);
    assert_eq!(found["curve"].as_array().unwrap().len(), 21);
    let all = calibrate(&["--min-quality", "0.5"]).exits(0).json();
    assert_eq!(
        (&all["threshold"], &all["share"]),
        (&json!(0.0), &json!(1.0))
    );
    let written = calibrate(&["--min-quality", "0.5", "--write"]);
    assert_eq!(written.exits(0).json()["written"], true);
    let registry: Value =
        serde_json::from_str(&workspace.read(".role-os/specialists.json")).unwrap();
    let versions = &registry["specialists"][0]["versions"];
    assert_eq!(versions[0]["gate_threshold"], 0.0, "the active one");
    assert_eq!(versions[1]["gate_threshold"], 0.75);
    let refused = calibrate(&["--max-cost", "0.5"]).exits(1).json_error();
    assert_eq!(refused["code"], "out_of_reach");
    assert_eq!(
        workspace
            .roleos(&["selector", "calibrate", "Nobody", "--json"])
            .exits(1)
            .json_error()["code"],
        "unknown_role"
    );
}

/// Writes served answers that only users rate: good on the first topic, bad on the second.
fn told(workspace: &Workspace, traces: std::ops::Range<usize>, score: impl Fn(usize) -> f64) {
    for number in traces {
        let said = feedback::Said {
            trace_id: format!("trace-{number}"),
            score: Some(score(number)),
            ..feedback::Said::default()
        };
        let subject = feedback::Subject {
            role: Some("Atlas".to_owned()),
            version: Some("good".to_owned()),
            ..feedback::Subject::default()
        };
        let path = workspace.path(".role-os/feedback.jsonl");
        let when = "2026-03-04T05:06:07Z".to_owned();
        let log = (&base::seals::Seals::default(), path.as_path());
        feedback::append(log, when, said, subject, "client".to_owned()).unwrap();
    }
}

#[test]
fn what_users_say_labels_answers_and_raises_no_level() {
    let workspace = registered(
        "http://127.0.0.1:1",
        Some("good"),
        &[version("good", "L1"), version("bad", "L0")],
    );
    let hash = |number: usize| hex::encode(base::digest(format!("{number}").as_bytes()));
    log(&workspace, 0..60, |number| {
        let mut record = line(number, 0, "good", true, 0.0, Some("good"));
        record.prompt_hash = hash(number);
        record.more.mode = Some("serve".to_owned());
        record.more.trace_id = Some(format!("trace-{number}"));
        record.q1 = None;
        let parts = Parts {
            passed: true,
            q1: None,
            cost: record.cost,
            refusal_penalty: 0.0,
        };
        record.reward = Metric::v1().reward(parts).unwrap();
        vec![record]
    });
    for number in 0..60 {
        let features = Line {
            run_id: format!("run-{number}"),
            role: "Atlas".to_owned(),
            prompt_hash: hash(number),
            features: Features::of(TOPICS[number % 2], &[]),
        };
        routing::selector::append_features(&workspace.path(".role-os/features.jsonl"), &features)
            .unwrap();
    }
    let train =
        |more: &[&str]| workspace.roleos(&[&["selector", "train", "--json"], more].concat());
    assert_eq!(train(&[]).exits(1).json_error()["code"], "nothing_to_learn");
    // The last feedback on an answer counts, once.
    told(&workspace, 0..60, |_| 1.0);
    told(&workspace, 0..60, |number| {
        f64::from(u8::from(number % 2 == 0))
    });
    let trained = train(&[]).exits(0).json();
    assert_eq!(
        (&trained["feedback"], &trained["contests"]),
        (&json!(48), &json!(48)),
        "what users say of held-out inputs does not count"
    );
    for (text, reason) in [(TOPICS[0], "ok"), (TOPICS[1], "score_below_threshold")] {
        workspace.write("in.txt", text);
        let words = ["explain-route", "Atlas", "--input", "in.txt", "--json"];
        let found = workspace.roleos(&words).exits(0).json();
        assert_eq!(found["decision"]["reason"], reason);
    }
    let words = ["specialist", "certify", "Atlas", "good", "--json"];
    assert_eq!(workspace.roleos(&words).exits(1).json()["earned"], "L0");
    let log = workspace.read(".role-os/feedback.jsonl");
    let edited = log.replacen("\"score\":0.0", "\"score\":1.0", 1);
    workspace.write(".role-os/feedback.jsonl", edited);
    let refused = train(&["--force"]).exits(1).json_error();
    assert_eq!(refused["code"], "nothing_to_learn", "a changed log");
}

#[test]
fn a_run_log_that_was_changed_teaches_nothing() {
    let workspace = registered("http://127.0.0.1:1", Some("good"), &[version("good", "L1")]);
    two_topics(&workspace);
    workspace.roleos(&["selector", "train"]).exits(0);
    let before = workspace.read(".role-os/selector.json");
    let log = workspace.read(".role-os/run_log.jsonl");
    let last = log.lines().last().unwrap();
    workspace.write(".role-os/run_log.jsonl", format!("{log}{last}\n"));
    for words in [
        &["selector", "train"][..],
        &["selector", "calibrate", "Atlas"],
    ] {
        let refused = workspace.roleos(&[&["--json"], words].concat()).exits(2);
        assert_eq!(refused.json_error()["code"], "run_log_broken");
    }
    assert_eq!(workspace.read(".role-os/selector.json"), before);
    let said = workspace.roleos(&["runs", "verify"]).exits(1);
    assert!(
        said.stderr.contains("the next contest begins a new one"),
        "{said:?}"
    );
    std::fs::rename(
        workspace.path(".role-os/run_log.jsonl"),
        workspace.path("old.jsonl"),
    )
    .unwrap();
    two_topics(&workspace);
    workspace.roleos(&["runs", "verify"]).exits(0);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn a_selector_is_trained_shown_and_asked() {
    let workspace = registered(
        "http://127.0.0.1:1",
        Some("good"),
        &[version("good", "L1"), version("bad", "L1")],
    );
    let train = |more: &[&str]| {
        let mut words = vec!["selector", "train", "--json"];
        words.extend(more);
        workspace.roleos(&words)
    };
    assert_eq!(train(&[]).exits(1).json_error()["code"], "nothing_to_learn");
    assert_eq!(
        workspace
            .roleos(&["selector", "show", "--json"])
            .exits(1)
            .json_error()["code"],
        "no_selector"
    );
    workspace.write("in.txt", TOPICS[0]);
    let words = ["explain-route", "Atlas", "--input", "in.txt", "--json"];
    let decision = workspace.roleos(&words).exits(0).json()["decision"].clone();
    assert_eq!(decision["reason"], "not_trained");
    assert!(
        decision["detail"]
            .as_str()
            .unwrap()
            .contains("roleos selector train")
    );
    let next = "`good` has no training data: run `roleos dispatch \"Atlas\" --learn --cases SET`";
    let status = || workspace.roleos(&["specialist", "status"]).succeeds();
    assert!(status().contains(next), "{}", status());
    let promote = ["specialist", "promote", "Atlas", "bad", "--share", "1%"];
    let forced = workspace.roleos(&[&promote[..], &["--force", "--reason", "x"]].concat());
    let said = forced.succeeds();
    assert!(said.contains("next: `bad` has no training data"), "{said}");
    // The first ends the canary, and then there is no version before the active one.
    for code in [0, 2] {
        workspace
            .roleos(&["specialist", "rollback", "Atlas"])
            .exits(code);
    }
    two_topics(&workspace);
    let trained = train(&[]).exits(0).json();
    let role = &trained["roles"][0];
    assert_eq!(
        (&trained["lines"], &trained["contests"]),
        (&json!(200), &json!(100))
    );
    assert_eq!(
        (&role["share"], &role["quality"]),
        (&json!(1.0), &json!(1.0))
    );
    assert_eq!(role["versions"][1]["version"], "good");
    assert_eq!(
        role["trained_on"].as_u64().unwrap() + role["held_out"].as_u64().unwrap(),
        100
    );
    let first = workspace.read(".role-os/selector.json");
    train(&[]).exits(0);
    assert_eq!(
        workspace.read(".role-os/selector.json"),
        first,
        "the same log, the same file"
    );
    let shown = workspace
        .roleos(&["selector", "show", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["size_bytes"].as_u64().unwrap(), first.len() as u64);
    assert_eq!(&shown["roles"], &trained["roles"]);
    assert!(
        workspace
            .roleos(&["selector", "show"])
            .succeeds()
            .contains("acceptably in 100.0 %")
    );
    let ask = |text: &str| {
        workspace.write("in.txt", text);
        let said = workspace.roleos(&[
            "dispatch",
            "Atlas",
            "--input",
            "in.txt",
            "--dry-run",
            "--json",
        ]);
        said.exits(0).json()["decision"].clone()
    };
    for (text, reason) in [
        (TOPICS[0], "ok"),
        (TOPICS[1], "score_below_threshold"),
        ("quantum chromodynamics lattice gauge", "ood"),
    ] {
        let dry = ask(text);
        assert_eq!(dry["reason"], reason);
        let words = ["explain-route", "Atlas", "--input", "in.txt", "--json"];
        let explained = workspace.roleos(&words).exits(0).json();
        assert_eq!(explained["decision"], dry, "one function decides");
        let [good, bad] = [0, 1].map(|at| explained["versions"][at].clone());
        assert_eq!(
            (&good["serves"], &good["reason"]),
            (&json!(true), &json!(reason))
        );
        assert_eq!(good["would_answer"], reason == "ok");
        assert_eq!(
            (&bad["serves"], &bad["would_answer"]),
            (&json!(false), &json!(false))
        );
        assert!(good["familiarity"].is_number() && good["threshold"].is_number());
    }
    let next = status().matches("next:").count();
    assert!(
        next == 1 && status().contains("no general model is set"),
        "{}",
        status()
    );
    calibrated(&workspace);
    workspace.write(".role-os/selector.json", "{");
    assert_eq!(
        ask(TOPICS[0])["reason"],
        "selector_damaged",
        "a damaged selector fails open"
    );
    assert_eq!(train(&[]).exits(1).json_error()["code"], "bad_selector");
    train(&["--force"]).exits(0);
}
