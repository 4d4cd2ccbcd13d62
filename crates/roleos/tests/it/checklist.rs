//! The protocol's own checklist for implementers, one test per item, through the binary.

use selection::metric::Metric;
use selection::quality;
use serde_json::{Value, json};

use crate::adapter::{Adapter, json as reply};
use crate::workspace::Workspace;

fn manifest() -> Value {
    let digest = format!("sha256:{}", "ab".repeat(32));
    json!({
        "model_id": "note-summary", "version": "0.1.0",
        "base_model": { "model_id": "base", "version": "1.0.0", "base_hash": digest },
        "artifacts": { "weights": { "filename": "a.bin", "sha256": digest } },
        "license": "Apache-2.0", "scope": { "tasks": ["summarise"], "non_scope": ["advice"] },
        "io_contract": {
            "input": { "max_tokens": 2048, "required_format": "prompt+schema" },
            "output": { "format": "json", "schema_ref": "output.schema.json" },
        },
        "verifier": { "type": "json_schema", "pass_condition": "schema_valid == true" },
        "routing": { "tags": ["format:json"], "recommended_min_confidence": 0.65, "fallback": "base" },
    })
}

/// Removes a value from a document.
fn without(mut document: Value, path: &str) -> Value {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let pointer = parent
        .split('.')
        .filter(|part| !part.is_empty())
        .map(|part| format!("/{part}"));
    let place = document.pointer_mut(&pointer.collect::<String>()).unwrap();
    place.as_object_mut().unwrap().remove(key).unwrap();
    document
}

#[test]
fn model_manifest_schema_compliance() {
    let workspace = Workspace::new();
    let check = |document: &Value| {
        workspace.write("model.yaml", document.to_string());
        workspace.roleos(&["manifest", "check", "model.yaml", "--json"])
    };
    check(&manifest()).exits(0);
    for path in [
        "model_id",
        "version",
        "base_model",
        "base_model.model_id",
        "base_model.version",
        "base_model.base_hash",
        "artifacts",
        "artifacts.weights",
        "artifacts.weights.filename",
        "artifacts.weights.sha256",
        "license",
        "scope",
        "scope.tasks",
        "scope.non_scope",
        "io_contract",
        "io_contract.input",
        "io_contract.input.max_tokens",
        "io_contract.input.required_format",
        "io_contract.output",
        "io_contract.output.format",
        "io_contract.output.schema_ref",
        "verifier",
        "verifier.type",
        "verifier.pass_condition",
        "routing",
        "routing.tags",
        "routing.recommended_min_confidence",
        "routing.fallback",
    ] {
        let answer = check(&without(manifest(), path)).exits(1).json();
        let named = answer["problems"]
            .as_array()
            .unwrap()
            .iter()
            .any(|problem| problem["path"].as_str().unwrap().starts_with(path));
        assert!(named, "{path}: {answer}");
    }
}

/// Returns a line with exactly the protocol's fields.
fn line(
    model: &str,
    passed: bool,
    q1: f64,
    cost: f64,
    penalty: f64,
    winner: Option<&str>,
) -> Value {
    let reward = f64::from(u8::from(passed)) + q1 - 0.3 * cost - penalty;
    json!({
        "timestamp": "2026-01-01T00:00:00Z", "prompt_hash": "ab".repeat(32), "model_id": model,
        "metric_version": "metric_v1", "verifier_result": if passed { "PASS" } else { "FAIL" },
        "q0": u8::from(passed), "q1": q1, "cost": cost, "refusal_penalty": penalty, "reward": reward,
        "winner_model_id": winner,
    })
}

fn verify(lines: &[Value]) -> Value {
    let workspace = Workspace::new();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    workspace.write("log.jsonl", text);
    workspace
        .roleos(&["runs", "verify", "log.jsonl", "--json"])
        .json()
}

#[test]
fn run_log_format_compliance() {
    let sound = line("a", true, 0.9, 0.2, 0.0, Some("a"));
    assert_eq!(verify(std::slice::from_ref(&sound))["ok"], true);
    for field in [
        "timestamp",
        "prompt_hash",
        "model_id",
        "metric_version",
        "verifier_result",
        "q0",
        "cost",
        "refusal_penalty",
        "reward",
    ] {
        let answer = verify(&[without(sound.clone(), field)]);
        assert_eq!(answer["bad"][0]["line"], 1, "{field}");
    }
    let outside = without(sound, "winner_model_id");
    assert_eq!(
        verify(&[outside])["ok"],
        true,
        "only learning runs have a winner"
    );
    let mut unscored = line("a", true, 0.0, 0.2, 0.0, Some("a"));
    unscored.as_object_mut().unwrap().remove("q1");
    assert_eq!(verify(&[unscored])["ok"], true, "q1 is optional");
}

#[test]
fn metric_v1_compliance() {
    for (passed, q1, cost, penalty, expected) in [
        (true, 0.71, 0.33, 0.0, 1.611),
        (true, 0.9, 0.2, 0.0, 1.84),
        (true, 0.0, 0.0, 1.0, 0.0),
        (false, 0.3, 0.1, 0.0, 0.27),
        (true, 0.85, 1.2, 0.5, 0.99),
    ] {
        let mut worked = line("a", passed, q1, cost, penalty, passed.then_some("a"));
        worked["reward"] = json!(expected);
        assert_eq!(
            verify(std::slice::from_ref(&worked))["ok"],
            true,
            "{worked}"
        );
        worked["reward"] = json!(expected + 0.001);
        assert_eq!(verify(&[worked])["ok"], false);
    }
    let target = json!({ "title": "A b", "summary": "c d", "entities": ["x", "y"] });
    let output = json!({ "title": "A b", "summary": "c", "entities": ["x"] });
    assert!((quality::json_score(Metric::v1().alpha_q1, &output, &target) - 0.85).abs() < 1e-12);
    let shown = Workspace::new()
        .roleos(&["metric", "show", "--json"])
        .exits(0)
        .json();
    let weights = ["beta", "lambda", "pi", "alpha_q1", "w_t", "w_o"]
        .map(|name| shown["metric"][name].as_f64().unwrap());
    assert_eq!(weights, [1.0, 0.3, 1.0, 0.4, 1.0, 0.2]);
}

/// Returns a role whose one version answers what the input prescribes.
fn parrot() -> (Adapter, Workspace) {
    let adapter = Adapter::new(|request| {
        let said = request.body["input"].clone();
        reply(&json!({ "verdict": said, "adapter_id": request.body["adapter_id"] }))
    });
    let workspace = Workspace::new();
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Parrot", "backend_url": adapter.url, "fallback": "claude", "workload_quota": 0.6,
            "active_version": null, "versions": [{
                "id": "v1", "adapter_id": "parrot", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L0", "exam_hash": "0".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z",
                "verifier": { "type": "rule_check", "pass_condition": "rules_match", "config": { "rule": "regex", "pattern": "." } },
            }],
        }],
    });
    workspace.write(".role-os/specialists.json", registry.to_string());
    (adapter, workspace)
}

fn audit(workspace: &Workspace, inputs: &[&str]) -> Value {
    let cases = inputs.iter().map(|input| {
        json!({ "input": input, "expected_format": "json_schema", "verifier_config": {
            "schema": { "type": "object", "required": ["title"], "properties": { "title": { "type": "string", "minLength": 1 } } } } })
    });
    let set =
        json!({ "audit_id": "parrot", "version": "v1", "test_cases": cases.collect::<Vec<_>>() });
    workspace.write("audit.json", set.to_string());
    workspace
        .roleos(&["audit", "run", "Parrot/v1", "--set", "audit.json", "--json"])
        .json()
}

#[test]
fn verifier_implementation() {
    let (_adapter, workspace) = parrot();
    let inputs = [
        r#"{"title":"A"}"#,
        r#"{"title":""}"#,
        r#"{"title":3}"#,
        "{}",
        "no JSON",
        "",
    ];
    let found = audit(&workspace, &inputs);
    let failed: Vec<&Value> = found["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["case"])
        .collect();
    assert_eq!(failed, [1, 2, 3, 4, 5]);
    assert_eq!((&found["passed"], &found["ok"]), (&json!(1), &json!(false)));
}

#[test]
fn winner_selection_logic() {
    let contest = |winner: Option<&str>| {
        let mut lines = vec![
            line("fast-refuser", true, 0.0, 0.0, 1.0, winner),
            line("failing", false, 1.0, 0.0, 0.0, winner),
            line("slow", true, 0.8, 1.0, 0.0, winner),
            line("cheap", true, 0.6, 0.1, 0.0, winner),
        ];
        for (index, line) in lines.iter_mut().enumerate() {
            line["run_id"] = json!("r1");
            line["candidate_index"] = json!(index);
        }
        verify(&lines)
    };
    assert_eq!(
        contest(Some("cheap"))["ok"],
        true,
        "0.8 − 0.3 is less than 0.6 − 0.03"
    );
    for wrong in [Some("slow"), Some("failing"), Some("fast-refuser"), None] {
        assert_eq!(
            contest(wrong)["bad"].as_array().unwrap().len(),
            4,
            "{wrong:?}"
        );
    }
    let all_failed: Vec<Value> = ["a", "b"]
        .iter()
        .map(|model| {
            let mut line = line(model, false, 0.9, 0.0, 0.0, None);
            line["run_id"] = json!("r1");
            line
        })
        .collect();
    assert_eq!(verify(&all_failed)["ok"], true, "nobody wins when all fail");
}

#[test]
fn metric_version_is_recorded_in_logs() {
    let (_adapter, workspace) = parrot();
    let found = audit(&workspace, &[r#"{"title":"A"}"#]);
    assert_eq!(
        (&found["metric_version"], &found["metric_hash"]),
        (&json!("metric_v1"), &json!(Metric::v1().hash()))
    );
    workspace.write("in.txt", "say this");
    workspace.write("target.txt", "say this");
    let ran = workspace
        .roleos(&[
            "dispatch",
            "Parrot",
            "--learn",
            "--k",
            "1",
            "--input",
            "in.txt",
            "--target",
            "target.txt",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        ran["winner_model_id"], "parrot",
        "it won, and its answer is not served, because it is not certified: {ran}"
    );
    let log = workspace.read(".role-os/run_log.jsonl");
    let logged: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&logged["metric_version"], &logged["metric_hash"]),
        (&json!("metric_v1"), &json!(Metric::v1().hash()))
    );
    assert_eq!(
        workspace
            .roleos(&["runs", "verify", "--json"])
            .exits(0)
            .json()["lines"],
        1
    );
    let sound = line("a", true, 0.9, 0.2, 0.0, Some("a"));
    for (name, ok) in [
        ("metric_v1", true),
        ("v1", true),
        ("metric_v9", false),
        ("latest", false),
    ] {
        let mut named = sound.clone();
        named["metric_version"] = json!(name);
        assert_eq!(verify(&[named])["ok"], ok, "{name}");
    }
    workspace.write("log.jsonl", format!("{sound}\n"));
    let exported = workspace
        .roleos(&["runs", "export", "log.jsonl", "--shape", "schema"])
        .exits(0)
        .json();
    assert_eq!(exported["metric_version"], "v1");
}
