//! Learning from traffic: contests in the background, within a budget, outside every quota.

use std::fs;
use std::path::Path;

use base::workspace::Workspace;
use routing::dataset;
use routing::feedback;
use routing::learning;
use routing::runs;
use selection::run_log::{GENERAL, Record};
use serde_json::{Value, json};

use crate::serving::{fallback, general, wait_for};
use crate::stage::{Stage, Stub, write};

/// Writes two versions of a role at one address; each answers with its own name and passes its verifier.
fn registry(root: &Path, url: &str) {
    let version = |id: &str, level: &str| {
        json!({
            "id": id, "adapter_id": id, "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.5, "certified_level": level,
            "exam_hash": "e".repeat(64), "field_audit_window": 200, "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            "verifier": { "type": "json_schema", "config": { "schema": { "type": "object", "required": ["label"] } } },
        })
    };
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "checker", "backend_url": url, "fallback": "claude", "workload_quota": 1,
            "active_version": "v1", "versions": [version("v1", "L1"), version("v2", "L0")],
        }],
    });
    fs::write(root.join(".role-os/specialists.json"), registry.to_string()).unwrap();
}

fn adapters() -> Stub {
    Stub::new(|message, stream| {
        let pin = message.json()["adapter_id"].clone();
        let label = if pin == "v1" { "right" } else { "wrong" };
        let said = json!({ "verdict": { "label": label }, "adapter_id": pin });
        write(
            stream,
            200,
            &[("content-type", "application/json")],
            &said.to_string(),
        );
    })
}

/// Starts a general model that answers in JSON.
fn right_general() -> Stub {
    Stub::json(&json!({
        "choices": [{ "message": { "content": "{\"label\":\"right\"}" } }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 4 },
    }))
}

fn records(stage: &Stage, mode: &str) -> Vec<Record> {
    let workspace = Workspace::at(stage.folder.path()).unwrap();
    let wanted = |record: &Record| record.more.mode.as_deref() == Some(mode);
    runs::last(&runs::path(&workspace), 1000, wanted).unwrap_or_default()
}

fn ask(stage: &Stage, text: &str) -> Value {
    let input = json!({ "embedding": [1.0, 0.0], "text": text });
    let body = json!({ "role": "checker", "input": input }).to_string();
    let answer = stage.post("/v1/dispatch", &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_share_of_the_traffic_is_a_contest_with_the_general_model() {
    let (adapters, general) = (adapters(), right_general());
    let config = format!(
        "[selection]\nlearn_share = 1.0\n[specialist]\nshadow_every = 1000000\n[privacy]\nkeep_inputs = true\n{}usd_per_call = 0.25\n",
        fallback("openai", &general.url)
    );
    let stage = Stage::with(&config, |root| registry(root, &adapters.url));
    assert_eq!(ask(&stage, "one")["receipt"]["source"], "specialist");
    wait_for(|| records(&stage, "learn").len() == 3);
    let mut learned = records(&stage, "learn");
    // A new version is first.
    learned.sort_by_key(|one| (one.is_general(), one.model_id.clone()));
    let names: Vec<_> = learned
        .iter()
        .map(|one| (one.model_id.as_str(), one.more.version.as_deref()))
        .collect();
    assert_eq!(
        names,
        [("v1", Some("v1")), ("v2", Some("v2")), (GENERAL, None)]
    );
    let agreement: Vec<_> = learned.iter().map(|one| one.more.agreement).collect();
    assert_eq!(agreement, [Some(1.0), Some(0.0), None]);
    assert_eq!(learned[2].more.price_usd, Some(0.25));
    assert!(learned.iter().all(Record::passed));
    // One dispatch, one place in the quota.
    let state =
        fs::read_to_string(stage.folder.path().join(".role-os/specialist-state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["roles"]["checker"]["dispatched"], 1);
    let workspace = Workspace::at(stage.folder.path()).unwrap();
    wait_for(|| learning::read(&workspace).contests == 1);
    let metrics = stage.get("/metrics").text();
    for line in [
        "learning_contests_total{outcome=\"held\"} 1",
        "roleos_learning_spent_usd 0.25",
        "roleos_learning_contests 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let (_, bad) = runs::verify(
        &base::seals::Seals::default(),
        &runs::path(&workspace),
        vec![selection::metric::Metric::v1()],
    )
    .unwrap();
    assert_eq!(bad, []);
    // If inputs may be stored, winners can be used for training.
    let mut lines = Vec::new();
    let texts = dataset::path(&workspace);
    let said = feedback::path(&workspace);
    let log = runs::path(&workspace);
    let done = dataset::export(&log, &texts, &said, None, |line| {
        lines.push(line.clone());
    })
    .unwrap();
    // The version that the general model contradicts may win by its speed, and is then not used for training.
    assert_eq!(done.lines + done.left_out, 2, "{lines:?}");
    assert!(done.lines >= 1, "{lines:?}");
    for line in &lines {
        assert_eq!(line["messages"][1]["content"], "{\"label\":\"right\"}");
    }
    let other = dataset::export(&log, &texts, &said, Some("other"), |_| {}).unwrap();
    assert_eq!(other.lines, 0);
    // Neither is one that a user rejects.
    let mut records = Vec::new();
    runs::lines(&log, |line| records.extend(Record::parse(line).ok())).unwrap();
    for record in records.into_iter().filter(Record::won) {
        let words = feedback::Said {
            trace_id: record.more.trace_id.unwrap(),
            score: Some(0.0),
            ..feedback::Said::default()
        };
        let subject = feedback::Subject {
            role: record.more.role,
            version: record.more.version,
            ..feedback::Subject::default()
        };
        let log = (&base::seals::Seals::default(), said.as_path());
        feedback::append(log, record.timestamp, words, subject, "me".to_owned()).unwrap();
    }
    let none = dataset::export(&log, &texts, &said, None, |_| {}).unwrap();
    assert!(none.left_out > done.left_out, "{none:?} {done:?}");
}

#[test]
fn learning_stops_at_the_days_budget_and_nobody_else_notices() {
    let (adapters, general) = (adapters(), right_general());
    let config = format!(
        "[selection]\nlearn_share = 1.0\nlearn_budget_usd = 0.6\n[specialist]\nshadow_every = 1000000\n{}usd_per_call = 0.25\n",
        fallback("openai", &general.url)
    );
    let stage = Stage::with(&config, |root| registry(root, &adapters.url));
    for text in ["one", "two", "three", "four"] {
        assert_eq!(ask(&stage, text)["result"]["label"], "right");
    }
    wait_for(|| {
        stage
            .get("/metrics")
            .text()
            .contains("learning_contests_total{outcome=\"budget\"} 2")
    });
    assert_eq!(records(&stage, "learn").len(), 6);
    assert_eq!(general.seen().len(), 2);
}

#[test]
fn without_the_setting_nothing_is_learned() {
    let (adapters, general) = (adapters(), general());
    let config = format!(
        "[specialist]\nshadow_every = 1000000\n{}",
        fallback("openai", &general.url)
    );
    let stage = Stage::with(&config, |root| registry(root, &adapters.url));
    ask(&stage, "one");
    assert!(records(&stage, "learn").is_empty() && general.seen().is_empty());
    assert!(!stage.get("/metrics").text().contains("roleos_learning"));
    let kept = stage.folder.path().join(".role-os/contest-texts.jsonl");
    assert!(!kept.exists(), "inputs are not kept unasked");
}

#[test]
fn a_probe_is_a_contest_too() {
    let (adapters, general) = (adapters(), right_general());
    let config = format!(
        "[specialist]\nshadow_every = 1\n{}",
        fallback("openai", &general.url)
    );
    let stage = Stage::with(&config, |root| registry(root, &adapters.url));
    let answer = ask(&stage, "one");
    wait_for(|| records(&stage, "probe").len() == 2);
    let probed = records(&stage, "probe");
    let trace = answer["receipt"]["trace_id"].as_str();
    assert!(
        probed
            .iter()
            .all(|one| one.more.trace_id.as_deref() == trace)
    );
    assert_eq!(
        (probed[0].model_id.as_str(), probed[0].more.agreement),
        ("v1", Some(1.0))
    );
    assert!(probed[1].is_general());
}

#[test]
fn enough_new_contests_train_the_selector() {
    let (adapters, general) = (adapters(), right_general());
    let config = format!(
        "[selection]\nlearn_share = 1.0\nlearn_contests = 60\n[specialist]\nshadow_every = 1000000\n{}",
        fallback("openai", &general.url)
    );
    let stage = Stage::with(&config, |root| registry(root, &adapters.url));
    let words = [
        "river", "lake", "delta", "stream", "spring", "brook", "pond", "sea", "tide",
    ];
    for number in 0..60 {
        let word = |step: usize| words[(number * step + step) % words.len()];
        ask(
            &stage,
            &format!("{} {} {} {number}", word(1), word(2), word(5)),
        );
    }
    let workspace = Workspace::at(stage.folder.path()).unwrap();
    wait_for(|| learning::read(&workspace).last.is_some());
    let known = learning::read(&workspace);
    let last = known.last.unwrap();
    assert!(last.taken, "{last:?}");
    assert_eq!((known.contests, known.since_training), (60, 0));
    assert!(stage.folder.path().join(".role-os/selector.json").exists());
}
