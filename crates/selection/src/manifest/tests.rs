//! A valid manifest, and the problems of each invalid change to it.

use serde_json::json;

use super::*;

fn sound() -> Value {
    let hash = format!("sha256:{}", "ab".repeat(32));
    json!({
        "model_id": "json-summary", "version": "1.2.0",
        "base_model": { "model_id": "base-7b", "version": "3", "base_hash": hash },
        "artifacts": { "weights": { "filename": "adapter.safetensors", "sha256": hash } },
        "license": "MIT",
        "scope": { "tasks": ["summarise"], "non_scope": [] },
        "io_contract": {
            "input": { "max_tokens": 4096, "required_format": "prompt" },
            "output": { "format": "json", "schema_ref": "output.schema.json" }
        },
        "verifier": { "type": "json_schema", "pass_condition": "schema_valid == true" },
        "routing": { "tags": ["format:json"], "recommended_min_confidence": 0.65, "fallback": "base-7b" }
    })
}

fn problems(value: &Value, mode: Mode) -> Vec<String> {
    let found = Manifest::parse(value, mode, &[]).err().unwrap_or_default();
    found.into_iter().map(|problem| problem.path).collect()
}

/// Expects problems at exactly these paths after the value at `pointer` was replaced or removed.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "reads better in the table")]
fn check(pointer: &str, with: Option<Value>, expected: &[&str]) {
    let mut value = sound();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match with.clone() {
        Some(with) => parent.insert(key.to_owned(), with),
        None => parent.shift_remove(key),
    };
    assert_eq!(
        problems(&value, Mode::Strict),
        expected,
        "{pointer} {with:?}"
    );
}

#[test]
fn a_sound_manifest_is_read_whole() {
    let manifest = Manifest::parse(&sound(), Mode::Strict, &[]).unwrap();
    assert_eq!(manifest.model_id, "json-summary");
    assert_eq!(manifest.fallback, Fallback::Model("base-7b".to_owned()));
    assert_eq!(manifest.hash, canonical::hash(&sound()));
}

#[test]
fn every_required_group_is_missed_by_its_path() {
    check("/model_id", None, &["model_id"]);
    check("/version", None, &["version"]);
    check("/base_model", None, &["base_model"]);
    check("/base_model", Some(json!("base")), &["base_model"]);
    check("/artifacts", None, &["artifacts"]);
    check("/io_contract/output", None, &["io_contract.output"]);
    check(
        "/artifacts/weights/sha256",
        None,
        &["artifacts.weights.sha256"],
    );
    check("/license", None, &["license"]);
    check("/scope/non_scope", None, &["scope.non_scope"]);
    check(
        "/io_contract/input/max_tokens",
        None,
        &["io_contract.input.max_tokens"],
    );
    check(
        "/verifier/pass_condition",
        None,
        &["verifier.pass_condition"],
    );
    check("/routing/fallback", None, &["routing.fallback"]);
}

#[test]
fn every_value_has_its_range() {
    check("/model_id", Some(json!("Json")), &["model_id"]);
    check("/model_id", Some(json!("a")), &["model_id"]);
    check("/model_id", Some(json!("")), &["model_id"]);
    check("/model_id", Some(json!("-ab")), &["model_id"]);
    check("/model_id", Some(json!(3)), &["model_id"]);
    check("/version", Some(json!("1.0")), &["version"]);
    check("/version", Some(json!("v1.0.0")), &["version"]);
    check("/version", Some(json!("1.0.0-rc.1")), &[]);
    check(
        "/base_model/base_hash",
        Some(json!("sha256:AB")),
        &["base_model.base_hash"],
    );
    check(
        "/artifacts/weights/filename",
        Some(json!("../x")),
        &["artifacts.weights.filename"],
    );
    check(
        "/artifacts/weights/filename",
        Some(json!("..")),
        &["artifacts.weights.filename"],
    );
    check(
        "/artifacts/weights/filename",
        Some(json!("")),
        &["artifacts.weights.filename"],
    );
    check("/license", Some(json!("GPL-3.0")), &["license"]);
    check("/scope/tasks", Some(json!([])), &["scope.tasks"]);
    check("/scope/tasks", Some(json!([1])), &["scope.tasks[0]"]);
    check(
        "/io_contract/input/max_tokens",
        Some(json!(0)),
        &["io_contract.input.max_tokens"],
    );
    check(
        "/io_contract/output/schema_ref",
        None,
        &["io_contract.output.schema_ref"],
    );
    check(
        "/verifier/type",
        Some(json!("jsonschema")),
        &["verifier.type"],
    );
    check(
        "/verifier/pass_condition",
        Some(json!("os.system('x')")),
        &["verifier.pass_condition"],
    );
    check("/verifier/config", Some(json!({ "schema": {} })), &[]);
    check(
        "/routing/recommended_min_confidence",
        Some(json!(1.01)),
        &["routing.recommended_min_confidence"],
    );
    check("/routing/tags", Some(json!("x")), &["routing.tags"]);
    check(
        "/metadata",
        Some(json!({ "author": 1, "known_limitations": [2] })),
        &["metadata.author", "metadata.known_limitations[0]"],
    );
}

#[test]
fn dots_are_for_the_lenient() {
    let mut value = sound();
    value["model_id"] = json!("json.summary.v1");
    assert_eq!(problems(&value, Mode::Strict), ["model_id"]);
    assert!(problems(&value, Mode::Lenient).is_empty());
    value["model_id"] = json!("json..summary");
    assert_eq!(problems(&value, Mode::Lenient), ["model_id"]);
}

#[test]
fn the_list_of_licences_can_be_changed() {
    let mut value = sound();
    value["license"] = json!("CC0-1.0");
    assert!(Manifest::parse(&value, Mode::Strict, &["CC0-1.0".to_owned()]).is_ok());
    assert!(Manifest::parse(&sound(), Mode::Strict, &["CC0-1.0".to_owned()]).is_err());
}

#[test]
fn what_is_no_mapping_has_one_problem() {
    for value in [json!(null), json!([]), json!("text")] {
        assert_eq!(problems(&value, Mode::Strict), [""]);
    }
}
