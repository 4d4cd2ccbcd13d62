//! Declarations of models, and the log of their runs, through the binary.

use routing::runs;
use selection::metric::{Metric, Parts};
use selection::run_log::{More, Record};
use serde_json::json;

use crate::workspace::Workspace;

const MANIFEST: &str = "\
model_id: json-summary
version: 1.2.0
base_model: { model_id: base-7b, version: '3', base_hash: 'sha256:HASH' }
artifacts:
  weights: { filename: adapter.bin, sha256: 'sha256:WEIGHTS' }
license: MIT
scope: { tasks: [summarise], non_scope: [] }
io_contract:
  input: { max_tokens: 4096, required_format: prompt }
  output: { format: json, schema_ref: output.schema.json }
verifier: { type: json_schema, pass_condition: schema_valid == true }
routing: { tags: ['format:json'], recommended_min_confidence: 0.65, fallback: base-7b }
";

fn manifest(workspace: &Workspace) -> String {
    workspace.write("adapter.bin", "weights");
    let found = routing::manifests::hash_file(&workspace.path("adapter.bin")).unwrap();
    MANIFEST
        .replace("HASH", &"ab".repeat(32))
        .replace("WEIGHTS", &found)
}

#[test]
fn a_manifest_is_checked_with_its_weights() {
    let workspace = Workspace::new();
    workspace.write("model.yaml", manifest(&workspace));
    let check = |more: &[&str]| {
        let mut words = vec!["manifest", "check", "model.yaml", "--json"];
        words.extend(more);
        workspace.roleos(&words)
    };
    let bad = check(&["--artifacts", "."]).exits(1).json();
    assert_eq!(
        bad["problems"][0]["path"], "io_contract.output.schema_ref",
        "the schema is not there"
    );
    workspace.write("output.schema.json", "{}");
    let good = check(&["--artifacts", "."]).exits(0).json();
    assert_eq!(good["ok"], true);
    assert_eq!(good["manifest_hash"].as_str().unwrap().len(), 64);
    workspace.write("adapter.bin", "other weights");
    let bad = check(&["--artifacts", "."]).exits(1).json();
    assert_eq!(bad["problems"][0]["path"], "artifacts.weights.sha256");
    assert_eq!(
        check(&[]).exits(0).json()["ok"],
        true,
        "nobody asked for the weights"
    );
}

#[test]
fn every_problem_of_a_manifest_has_its_path() {
    let workspace = Workspace::new();
    let text = manifest(&workspace)
        .replace("json-summary", "json.summary")
        .replace("license: MIT", "license: GPL-3.0")
        .replace("schema_valid == true", "os.system('x')");
    workspace.write("model.yaml", &text);
    let answer = workspace
        .roleos(&["manifest", "check", "model.yaml", "--json"])
        .exits(1)
        .json();
    let paths: Vec<&str> = answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["model_id", "license", "verifier.pass_condition"]);
    workspace.write("model.yaml", "a: [");
    let broken = workspace
        .roleos(&["manifest", "check", "model.yaml"])
        .exits(1);
    assert!(
        broken.stdout.contains("line 1, column"),
        "{}",
        broken.stdout
    );
}

fn record(run: &str, model: &str, passed: bool, q1: f64, winner: Option<&str>) -> Record {
    let metric = Metric::v1();
    let parts = Parts {
        passed,
        q1: Some(q1),
        cost: metric.cost(200.0, 50, None),
        refusal_penalty: 0.0,
    };
    Record {
        timestamp: "2026-03-04T05:06:07Z".to_owned(),
        prompt_hash: "ab".repeat(32),
        model_id: model.to_owned(),
        metric_version: metric.metric_version.clone(),
        verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
        q0: u8::from(passed),
        q1: Some(q1),
        cost: parts.cost,
        refusal_penalty: 0.0,
        reward: metric.reward(parts).unwrap(),
        winner_model_id: winner.map(str::to_owned),
        more: More {
            run_id: Some(run.to_owned()),
            role: Some("editor".to_owned()),
            time_ms: Some(200),
            output_tokens: Some(50),
            metric_hash: Some(metric.hash()),
            ..More::default()
        },
    }
}

fn logged(workspace: &Workspace) {
    let path = workspace.path(".role-os/run_log.jsonl");
    std::fs::create_dir_all(workspace.path(".role-os")).unwrap();
    for run in ["r1", "r2", "r3"] {
        let contest = vec![
            record(run, "a", true, 0.9, Some("a")),
            record(run, "b", true, 0.4, Some("a")),
            record(run, "c", false, 0.0, Some("a")),
        ];
        runs::append(&base::seals::Seals::default(), &path, contest).unwrap();
    }
}

#[test]
fn a_log_is_computed_again() {
    let workspace = Workspace::new();
    logged(&workspace);
    let answer = workspace
        .roleos(&["runs", "verify", "--json"])
        .exits(0)
        .json();
    assert_eq!(answer, json!({ "lines": 9, "ok": true, "bad": [] }));
    let path = workspace.path(".role-os/run_log.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lied = text.replacen("\"reward\":1.", "\"reward\":2.", 1);
    assert_ne!(text, lied);
    std::fs::write(&path, lied).unwrap();
    let answer = workspace
        .roleos(&["runs", "verify", "--json"])
        .exits(1)
        .json();
    let lines: Vec<u64> = answer["bad"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bad| bad["line"].as_u64().unwrap())
        .collect();
    assert_eq!(
        lines,
        [1, 2],
        "the reward, and the link of the line behind it"
    );
}

#[test]
fn a_log_is_added_up_and_exported() {
    let workspace = Workspace::new();
    logged(&workspace);
    let stats = workspace
        .roleos(&["runs", "stats", "--json"])
        .exits(0)
        .json();
    assert_eq!(stats["models"][0]["model_id"], "a");
    assert_eq!(stats["models"][0]["win_rate"], 1.0);
    assert_eq!(stats["models"][2]["pass_rate"], 0.0);
    assert_eq!(stats["winners"]["largest_share"], 1.0);
    let text = workspace.roleos(&["runs", "stats"]).succeeds();
    assert!(text.contains("one model wins nearly all"), "{text}");
    let lines = workspace.roleos(&["runs", "export"]).exits(0).json_lines();
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[0]["metric_version"], "v1");
    assert!(lines[0]["proxy_values"]["quality"].is_number());
    let none = Workspace::new();
    let missing = none.roleos(&["runs", "verify"]).exits(1);
    assert!(
        missing.error().contains("no run was logged here yet"),
        "{}",
        missing.error()
    );
}

#[test]
fn the_metric_is_shown_with_its_hash() {
    let workspace = Workspace::new();
    let shown = workspace
        .roleos(&["metric", "show", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["hash"], Metric::v1().hash());
    assert_eq!(shown["metric"]["metric_version"], "metric_v1");
    assert!(shown["migration"].is_null());
    assert!(
        workspace
            .roleos(&["metric", "show"])
            .succeeds()
            .contains("0.3·cost")
    );
}
