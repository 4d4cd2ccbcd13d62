//! JSON Schemas of our documents, built from the lists that the parsers use. `schemas/` holds their text.
//!
//! A schema describes the form of a document; derived values (hashes, rewards, winners) are recomputed elsewhere.

use serde_json::{Value, json};

use crate::event::NAMES;
use crate::manifest::LICENSES;
use crate::verifier::Kind;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";
const HEX: &str = "^[0-9a-f]{64}$";

/// Returns a schema as the text of its file.
fn text(schema: &Value) -> String {
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}

fn kinds() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.as_str()).collect()
}

fn texts(least: usize) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "minItems": least })
}

/// Returns the pattern of conditions for each kind of verifier; any run of blanks matches.
fn conditions() -> Vec<Value> {
    let of = |kind: &Kind| {
        let words = kind.conditions().iter().map(|condition| {
            let words: Vec<&str> = condition.split_whitespace().collect();
            words.join("\\s+")
        });
        let pattern = format!("^\\s*({})\\s*$", words.collect::<Vec<_>>().join("|"));
        json!({
            "if": { "properties": { "type": { "const": kind.as_str() } }, "required": ["type"] },
            "then": { "properties": { "pass_condition": { "pattern": pattern } } },
        })
    };
    Kind::ALL.iter().map(of).collect()
}

/// Returns the schema of `model.yaml`, as `roleos manifest check` reads it.
#[must_use]
pub fn manifest() -> String {
    let object = |required: &[&str], properties: Value| json!({ "type": "object", "required": required, "properties": properties });
    let verifier = json!({
        "type": "object", "required": ["type", "pass_condition"],
        "properties": {
            "type": { "enum": kinds() }, "pass_condition": { "type": "string" }, "config": { "type": "object" },
        },
        "allOf": conditions(),
    });
    let properties = json!({
        "model_id": { "type": "string", "pattern": "^[a-z0-9][a-z0-9-]*[a-z0-9]$" },
        "version": { "type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+" },
        "base_model": object(&["model_id", "version", "base_hash"], json!({
            "model_id": { "type": "string" }, "version": { "type": "string" },
            "base_hash": { "type": "string", "pattern": DIGEST },
        })),
        "artifacts": object(&["weights"], json!({
            "weights": object(&["filename", "sha256"], json!({
                "filename": { "type": "string", "pattern": "^[^/\\\\]+$", "not": { "enum": [".", ".."] } },
                "sha256": { "type": "string", "pattern": DIGEST },
            })),
        })),
        "license": { "enum": LICENSES },
        "scope": object(&["tasks", "non_scope"], json!({ "tasks": texts(1), "non_scope": texts(0) })),
        "io_contract": object(&["input", "output"], json!({
            "input": object(&["max_tokens", "required_format"], json!({
                "max_tokens": { "type": "integer", "minimum": 1 }, "required_format": { "type": "string" },
            })),
            "output": object(&["format"], json!({
                "format": { "type": "string" }, "schema_ref": { "type": "string" },
            })),
        })),
        "verifier": verifier,
        "routing": object(&["tags", "recommended_min_confidence", "fallback"], json!({
            "tags": texts(1), "recommended_min_confidence": { "type": "number", "minimum": 0, "maximum": 1 },
            "fallback": { "type": "string" },
        })),
        "metadata": { "type": "object" },
    });
    let required = [
        "model_id",
        "version",
        "base_model",
        "artifacts",
        "license",
        "scope",
        "io_contract",
        "verifier",
        "routing",
    ];
    text(&json!({
        "$schema": DRAFT, "title": "A model's manifest, model.yaml", "type": "object",
        "required": required, "properties": properties,
    }))
}

/// Returns the schema of a line of `.role-os/run_log.jsonl`.
#[must_use]
pub fn run_log() -> String {
    let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let count = json!({ "type": "integer", "minimum": 0 });
    let words = json!({ "type": "string" });
    let hash = json!({ "type": "string", "pattern": HEX });
    let required = [
        "timestamp",
        "prompt_hash",
        "model_id",
        "metric_version",
        "verifier_result",
        "q0",
        "cost",
        "refusal_penalty",
        "reward",
        "winner_model_id",
    ];
    text(&json!({
        "$schema": DRAFT, "title": "One line of the run log: one candidate execution", "type": "object",
        "required": required,
        "properties": {
            "timestamp": { "type": "string", "format": "date-time" },
            "prompt_hash": hash, "model_id": words,
            "metric_version": { "type": "string", "pattern": "^(metric_)?v[0-9]+$" },
            "verifier_result": { "enum": ["PASS", "FAIL"] }, "q0": { "enum": [0, 1] }, "q1": share,
            "cost": { "type": "number", "minimum": 0 }, "refusal_penalty": share, "reward": { "type": "number" },
            "winner_model_id": { "type": ["string", "null"] },
            "run_id": words, "candidate_index": count, "version": words, "winner_version": words, "role": words,
            "time_ms": count, "input_tokens": count, "output_tokens": count, "output_hash": hash,
            "cache_state": { "enum": ["warm", "cold"] }, "mode": { "enum": ["serve", "learn", "audit"] },
            "nondeterministic": { "type": "boolean" }, "fallback": words, "stable": { "type": "boolean" }, "metric_hash": hash,
            "rewards": { "type": "object", "additionalProperties": { "type": "number" } }, "mix_alpha": share,
            "price_usd": { "type": "number", "minimum": 0 }, "agreement": share, "unverified": { "type": "boolean" },
            "trace_id": words, "input_form": hash, "prev": hash,
        },
        "allOf": [
            { "if": { "properties": { "verifier_result": { "const": "PASS" } } }, "then": { "properties": { "q0": { "const": 1 } } },
              "else": { "properties": { "q0": { "const": 0 } } } },
        ],
    }))
}

/// Returns the schema of an audit set.
#[must_use]
pub fn audit_set() -> String {
    let rule = json!({ "enum": ["quality", "exact", "verifier"] });
    let floor = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    text(&json!({
        "$schema": DRAFT, "title": "An audit set: a fixed exam", "type": "object",
        "required": ["audit_id", "version", "test_cases"],
        "properties": {
            "audit_id": { "type": "string" }, "version": { "type": "string", "pattern": "^v[0-9]+$" },
            "match": rule, "floor": floor,
            "test_cases": {
                "type": "array", "minItems": 1,
                "items": {
                    "type": "object", "required": ["input", "expected_format", "verifier_config"],
                    "properties": {
                        "input": { "type": "string" }, "expected_format": { "enum": kinds() },
                        "verifier_config": { "type": "object" }, "expected_output": { "type": "string" },
                        "match": rule, "floor": floor,
                    },
                },
            },
            "metadata": { "type": "object" },
        },
    }))
}

/// Returns the schema of a line of `.role-os/events.jsonl`. Unknown events are kept, so their payload is free.
#[must_use]
pub fn event() -> String {
    let count = json!({ "type": "integer", "minimum": 0 });
    let words = json!({ "type": "string" });
    let payload = |name: &str| match name {
        "INFER_REQUEST" => json!({ "role": words, "prompt_hash": words }),
        "INFER_RESULT" => json!({
            "model_id": words, "time_ms": count, "tokens": count, "output_hash": words,
            "verifier_score": { "enum": [0, 1] },
        }),
        "SELECT_TRAIN_EXAMPLE" => json!({ "prompt_hash": words, "winner_model_id": words }),
        "MODEL_ADD_REQUEST" => json!({ "reason": words, "stats_snapshot": {} }),
        _ => {
            json!({ "old_metric": words, "new_metric": words, "epoch": { "type": "integer", "minimum": 1 } })
        }
    };
    let of = |name: &&str| {
        let properties = payload(name);
        let keys: Vec<String> = properties
            .as_object()
            .map(|map| map.keys().cloned().collect())
            .unwrap_or_default();
        json!({
            "if": { "properties": { "event": { "const": name } }, "required": ["event"] },
            "then": { "properties": { "payload": { "required": keys, "properties": properties } } },
        })
    };
    text(&json!({
        "$schema": DRAFT, "title": "One of the protocol's events in its envelope", "type": "object",
        "required": ["event", "event_id", "ts", "source", "payload"],
        "properties": {
            "event": { "type": "string" }, "event_id": { "type": "string" },
            "ts": { "type": "string", "format": "date-time" }, "source": { "type": "string" },
            "payload": { "type": "object" },
        },
        "allOf": NAMES.iter().map(of).collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditSet;
    use crate::event::Event;
    use crate::manifest::{Manifest, Mode};
    use crate::run_log::Record;
    use crate::verifier::Verifier;

    fn fits(schema: &str, value: &Value) -> bool {
        let schema = serde_json::from_str(schema).unwrap();
        Verifier::json_schema(&schema)
            .unwrap()
            .verify_value(value)
            .passed()
    }

    fn sound_manifest() -> Value {
        let digest = format!("sha256:{}", "ab".repeat(32));
        json!({
            "model_id": "json-fixer", "version": "1.0.0",
            "base_model": { "model_id": "base", "version": "1", "base_hash": digest },
            "artifacts": { "weights": { "filename": "a.bin", "sha256": digest } },
            "license": "MIT", "scope": { "tasks": ["fix"], "non_scope": [] },
            "io_contract": { "input": { "max_tokens": 10, "required_format": "prompt" }, "output": { "format": "json", "schema_ref": "o.json" } },
            "verifier": { "type": "json_schema", "pass_condition": "schema_valid  == true" },
            "routing": { "tags": ["t"], "recommended_min_confidence": 0.5, "fallback": "base" },
        })
    }

    /// Expects schema and parser to agree about a document.
    #[track_caller]
    fn agree(pointer: &str, value: Value, expected: bool) {
        let mut document = sound_manifest();
        match (document.pointer_mut(pointer), value) {
            (Some(place), value) => *place = value,
            (None, _) => panic!("{pointer}"),
        }
        let read = Manifest::parse(&document, Mode::Strict, &[]).is_ok();
        assert_eq!(
            (read, fits(&manifest(), &document)),
            (expected, expected),
            "{pointer}"
        );
    }

    #[test]
    fn the_manifests_schema_and_its_reader_agree() {
        agree("/model_id", json!("json-fixer"), true);
        agree("/model_id", json!("json.fixer"), false);
        agree("/model_id", json!("J"), false);
        agree("/version", json!("1.0.0-rc.1"), true);
        agree("/version", json!("v1.0.0"), false);
        agree("/base_model/base_hash", json!("ab"), false);
        agree("/artifacts/weights/filename", json!("../a.bin"), false);
        agree("/artifacts/weights/filename", json!(".."), false);
        agree("/license", json!("GPL-3.0"), false);
        agree("/scope/tasks", json!([]), false);
        agree("/io_contract/input/max_tokens", json!(0), false);
        agree("/io_contract/input/max_tokens", json!("many"), false);
        agree("/verifier/type", json!("jsonschema"), false);
        agree(
            "/verifier/pass_condition",
            json!("schema_valid == false"),
            false,
        );
        agree("/routing/recommended_min_confidence", json!(1.1), false);
        agree("/routing/fallback", json!(["base"]), false);
    }

    #[test]
    fn the_audit_sets_schema_and_its_reader_agree() {
        let sound = json!({ "audit_id": "a", "version": "v1", "test_cases": [
            { "input": "", "expected_format": "rule_check", "verifier_config": {}, "expected_output": "x" } ] });
        let check = |pointer: &str, value: Value, expected: bool| {
            let mut document = sound.clone();
            *document.pointer_mut(pointer).unwrap() = value;
            let read = AuditSet::parse(&document).is_ok();
            assert_eq!(
                (read, fits(&audit_set(), &document)),
                (expected, expected),
                "{pointer}"
            );
        };
        check("/audit_id", json!("b"), true);
        check("/version", json!("audit_v1"), false);
        check("/test_cases", json!([]), false);
        check("/test_cases/0/expected_format", json!("eyes"), false);
        check("/test_cases/0/verifier_config", json!([]), false);
        check("/test_cases/0/expected_output", json!({}), false);
    }

    #[test]
    fn a_line_that_we_write_fits_and_a_wrong_one_does_not() {
        let line = format!(
            r#"{{"timestamp":"2026-03-04T05:06:07Z","prompt_hash":"{}","model_id":"a","metric_version":"metric_v1","verifier_result":"PASS","q0":1,"cost":0.1,"refusal_penalty":0.0,"reward":0.97,"winner_model_id":null,"mode":"learn"}}"#,
            "ab".repeat(32)
        );
        let record = Record::parse(line.as_bytes()).unwrap();
        let value: Value = serde_json::from_str(&record.to_line()).unwrap();
        assert!(fits(&run_log(), &value));
        for (key, bad) in [
            ("prompt_hash", json!("abc123")),
            ("metric_version", json!("latest")),
            ("q0", json!(0)),
            ("cost", json!(-1)),
            ("mode", json!("guess")),
            ("reward", json!("much")),
        ] {
            let mut wrong = value.clone();
            wrong[key] = bad;
            assert!(!fits(&run_log(), &wrong), "{key}");
        }
    }

    #[test]
    fn our_events_fit_and_unknown_ones_are_free() {
        let told = Event::InferResult {
            model_id: "a".to_owned(),
            time_ms: 1,
            tokens: 2,
            output_hash: "h".to_owned(),
            verifier_score: 1,
        };
        let envelope = told.envelope("1".to_owned(), "2026-03-04T05:06:07Z".to_owned(), "roleos");
        let mut value = serde_json::to_value(&envelope).unwrap();
        assert!(fits(&event(), &value));
        value["payload"]["verifier_score"] = json!(0.5);
        assert!(!fits(&event(), &value));
        value["event"] = json!("SOMETHING_ELSE");
        assert!(fits(&event(), &value));
        value["event_id"] = json!(3);
        assert!(!fits(&event(), &value));
    }
}
