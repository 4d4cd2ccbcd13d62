//! Our documents: the examples match the committed schemas and the commands, and invalid ones are refused for the right
//! reason.

use std::path::{Path, PathBuf};

use selection::verifier::{Outcome, Verifier};
use serde_json::{Value, json};

use crate::workspace::Workspace;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> String {
    std::fs::read_to_string(root().join("examples/selection").join(name)).unwrap()
}

/// Returns the error of a committed schema about a document; empty if it matches.
fn complaint(schema: &str, value: &Value) -> String {
    let path = root().join("schemas").join(format!("{schema}.schema.json"));
    let text = std::fs::read_to_string(path).unwrap();
    let schema = serde_json::from_str(&text).unwrap();
    match Verifier::json_schema(&schema).unwrap().verify_value(value) {
        Outcome::Pass => String::new(),
        Outcome::Fail(why) => why,
    }
}

fn manifest() -> Value {
    routing::manifests::parse(example("model.yaml").into_bytes()).unwrap()
}

fn log() -> Vec<Value> {
    example("run_log.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_example_of_a_manifest_holds() {
    assert_eq!(complaint("model-manifest", &manifest()), "");
    let workspace = Workspace::new();
    let folder = root().join("examples/selection");
    let (file, folder) = (
        folder.join("model.yaml").display().to_string(),
        folder.display().to_string(),
    );
    let checked = workspace
        .roleos(&["manifest", "check", &file, "--artifacts", &folder, "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&checked["ok"], &checked["problems"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn the_example_of_an_audit_set_holds() {
    let value: Value = serde_json::from_str(&example("audit.json")).unwrap();
    assert_eq!(complaint("audit-set", &value), "");
    let set = routing::audits::read_set(&root().join("examples/selection/audit.json")).unwrap();
    assert_eq!((set.cases.len(), set.exam_hash.len()), (3, 64));
}

#[test]
fn the_example_of_a_run_log_holds_in_both_shapes() {
    for line in log() {
        assert_eq!(complaint("run-log", &line), "");
    }
    let workspace = Workspace::new();
    workspace.write("log.jsonl", example("run_log.jsonl"));
    let verified = workspace
        .roleos(&["runs", "verify", "log.jsonl", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&verified["lines"], &verified["ok"]),
        (&json!(6), &json!(true))
    );
    let exported = workspace
        .roleos(&["runs", "export", "log.jsonl", "--shape", "schema"])
        .exits(0);
    workspace.write("exported.jsonl", &exported.stdout);
    let shape = &exported.json_lines()[0];
    assert_eq!(
        (&shape["metric_version"], &shape["proxy_values"]["quality"]),
        (&json!("v1"), &json!(0.85))
    );
    workspace
        .roleos(&["runs", "verify", "exported.jsonl", "--json"])
        .exits(0);
}

/// Foreign variants: a dotted id, invalid hashes, the older names of the same fields.
#[test]
fn documents_of_other_dialects_are_refused_for_what_is_wrong_with_them() {
    let workspace = Workspace::new();
    let problems = |document: &Value, more: &[&str]| -> Vec<String> {
        workspace.write("model.yaml", document.to_string());
        let mut words = vec!["manifest", "check", "model.yaml", "--json"];
        words.extend(more);
        let answer = workspace.roleos(&words).json();
        let listed = answer["problems"].as_array().unwrap().clone();
        listed
            .iter()
            .map(|one| one["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut dotted = manifest();
    dotted["model_id"] = json!("lab.note-summary");
    assert_eq!(problems(&dotted, &[]), ["model_id"]);
    assert!(complaint("model-manifest", &dotted).contains("model_id"));
    assert_eq!(problems(&dotted, &["--lenient"]), Vec::<String>::new());
    let older = json!({
        "model_id": "lab.team.note.summary", "version": "0.1.0",
        "base": { "model_id": "base", "base_version": "1", "base_hash": "x" },
        "delta": { "type": "lora", "artifact": "a.bin", "delta_hash": "x" },
        "license": "MIT", "scope": ["summarise"], "non_scope": [],
        "io_contract": { "max_input_tokens": 10, "max_output_tokens": 10, "output_schema": "o.json" },
        "verifier": { "type": "jsonschema", "schema": "o.json" },
        "routing": { "tags": ["t"], "min_confidence": 0.35, "fallback": ["base"], "recommended_k_infer": 2 },
    });
    assert_eq!(
        problems(&older, &[]),
        [
            "model_id",
            "base_model",
            "artifacts",
            "scope",
            "io_contract.input",
            "io_contract.output",
            "verifier.type",
            "verifier.pass_condition",
            "routing.recommended_min_confidence",
            "routing.fallback",
        ]
    );
    // A log with invalid prompt hashes: one reason per line, regardless of its other numbers.
    let line = json!({
        "timestamp": "2026-01-01T00:00:00Z", "prompt_hash": "abc123", "model_id": "lab.note", "metric_version": "v1",
        "verifier_result": "PASS", "reward": 0.75,
        "proxy_values": { "quality": 0.9, "cost": 0.2, "refusal_penalty": 0.0 }, "winner_model_id": "lab.note",
    });
    workspace.write("log.jsonl", format!("{line}\n{line}\n"));
    let verified = workspace
        .roleos(&["runs", "verify", "log.jsonl", "--json"])
        .exits(1)
        .json();
    let bad = verified["bad"].as_array().unwrap();
    let reasons: Vec<(&Value, bool)> = bad
        .iter()
        .map(|one| {
            (
                &one["line"],
                one["reason"].as_str().unwrap().contains("prompt_hash"),
            )
        })
        .collect();
    assert_eq!(reasons, [(&json!(1), true), (&json!(2), true)]);
    // The protocol's summary writes `metric_v1` and no `proxy_values`; that is our own format.
    assert_eq!(complaint("run-log", &log()[0]), "");
}
