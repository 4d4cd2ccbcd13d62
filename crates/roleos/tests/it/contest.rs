//! From a manifest to a contest, through the binary: register, dispatch with candidates, the log, the events, the picture.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::adapter::{Adapter, json as reply};
use crate::workspace::Workspace;

const SCHEMA: &str = r#"{"type":"object","required":["title","summary"],
    "properties":{"title":{"type":"string"},"summary":{"type":"string"},"entities":{"type":"array"}}}"#;

const TARGET: &str = r#"{"title":"A b","summary":"c d","entities":["x","y"]}"#;

fn manifest(model: &str, version: &str) -> String {
    let hash = "ab".repeat(32);
    format!(
        "model_id: {model}\nversion: {version}\n\
         base_model: {{ model_id: Qwen/Qwen3-8B, version: '3', base_hash: 'sha256:{hash}' }}\n\
         artifacts: {{ weights: {{ filename: adapter.bin, sha256: 'sha256:WEIGHTS' }} }}\n\
         license: MIT\nscope: {{ tasks: [summarise], non_scope: [poems] }}\n\
         io_contract:\n  input: {{ max_tokens: 4096, required_format: prompt }}\n  \
         output: {{ format: json, schema_ref: schemas/out.json }}\n\
         verifier: {{ type: json_schema, pass_condition: schema_valid == true }}\n\
         routing: {{ tags: ['format:json'], recommended_min_confidence: 0.65, fallback: base }}\n"
    )
}

/// A workspace with a schema and weights; manifests are written with the weights' hash.
struct Place {
    workspace: Workspace,
    adapter: Adapter,
}

impl Place {
    fn new() -> Self {
        let answers: BTreeMap<&str, Value> = BTreeMap::from([
            (
                "good",
                json!({ "title": "A b", "summary": "c", "entities": ["x"] }),
            ),
            // Text that is JSON counts as JSON.
            ("wrapped", json!(TARGET)),
            ("template", json!({ "title": "N/A", "summary": "N/A" })),
            ("broken", json!({ "title": "A b" })),
        ]);
        let adapter = Adapter::new(move |request| {
            let pin = request.body["adapter_id"].as_str().unwrap();
            reply(&json!({ "verdict": answers[pin], "adapter_id": pin }))
        });
        let workspace = Workspace::new();
        workspace.write("package/schemas/out.json", SCHEMA);
        workspace.write("package/adapter.bin", "weights");
        workspace.write("in.txt", "the text\n");
        workspace.write("target.json", TARGET);
        Self { workspace, adapter }
    }

    fn write(&self, model: &str, version: &str) -> String {
        let weights = self.workspace.path("package/adapter.bin");
        let hash = routing::manifests::hash_file(&weights).unwrap();
        let name = format!("package/{model}-{version}.yaml");
        let text = manifest(model, version).replace("WEIGHTS", &hash);
        self.workspace.write(&name, text);
        name
    }

    fn register(&self, model: &str) -> Value {
        let file = self.write(model, "1.0.0");
        let words = ["--json", "specialist", "register", "summariser", &file];
        let more = ["--backend-url", &self.adapter.url, "--workload-quota", "1"];
        self.workspace
            .roleos(&[&words[..], &more].concat())
            .exits(0)
            .json()
    }

    fn version(&self, index: usize) -> Value {
        let text = self.workspace.read(".role-os/specialists.json");
        let registry: Value = serde_json::from_str(&text).unwrap();
        registry["specialists"][0]["versions"][index].clone()
    }

    fn learn(&self, more: &[&str]) -> Value {
        let words = [
            "dispatch",
            "summariser",
            "--input",
            "in.txt",
            "--learn",
            "--json",
        ];
        self.workspace
            .roleos(&[&words[..], more].concat())
            .exits(0)
            .json()
    }
}

#[test]
fn a_manifest_becomes_an_uncertified_version_under_its_hash() {
    let place = Place::new();
    let registered = place.register("good");
    let checked = place
        .workspace
        .roleos(&["--json", "manifest", "check", "package/good-1.0.0.yaml"])
        .exits(0)
        .json();
    assert_eq!(registered["version"], checked["manifest_hash"]);
    assert_eq!(registered["certified_level"], "L0");
    assert_eq!(registered["active_version"], Value::Null);
    let version = place.version(0);
    assert_eq!(version["adapter_id"], "good");
    assert_eq!(version["base_model"], "Qwen/Qwen3-8B");
    assert_eq!(version["weights_checked"], true);
    assert_eq!(version["verifier"]["config"]["schema"]["type"], "object");
    let path = version["verifier"]["config"]["schema_path"]
        .as_str()
        .unwrap();
    assert!(path.ends_with("/package/schemas/out.json") && path.starts_with('/'));
    assert_eq!(version["io_contract"]["output"]["format"], "json");
    let events = place
        .workspace
        .roleos(&["--json", "events"])
        .exits(0)
        .json();
    assert_eq!(events["events"][0]["event"], "MODEL_ADD_REQUEST");
}

#[test]
fn a_version_number_means_one_manifest_and_weights_are_what_they_say() {
    let place = Place::new();
    place.register("good");
    let file = place.write("good", "1.0.0");
    let text = place.workspace.read(&file).replace("poems", "verse");
    place.workspace.write(&file, text);
    let words = ["--json", "specialist", "register", "summariser", &file];
    let refused = place.workspace.roleos(&words).exits(2).json_error();
    assert_eq!(refused["code"], "other_manifest");
    // In another role as well.
    let other = [
        "--json",
        "specialist",
        "register",
        "other",
        &file,
        "--backend-url",
        "http://127.0.0.1:9",
    ];
    let refused = place.workspace.roleos(&other).exits(2).json_error();
    assert_eq!(refused["code"], "other_manifest");
    let next = place.write("good", "1.1.0");
    place
        .workspace
        .write("package/adapter.bin", "other weights");
    let words = ["--json", "specialist", "register", "summariser", &next];
    let refused = place.workspace.roleos(&words).exits(1).json_error();
    assert_eq!(refused["code"], "bad_manifest");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("artifacts.weights.sha256")
    );
    assert_eq!(place.version(1), Value::Null);
}

#[test]
fn an_exam_that_cannot_be_read_leaves_the_version_out() {
    let place = Place::new();
    let file = place.write("good", "1.0.0");
    let register = |more: &[&str]| {
        let words = ["--json", "specialist", "register", "summariser", &file];
        let url = ["--backend-url", &place.adapter.url];
        place.workspace.roleos(&[&words[..], &url, more].concat())
    };
    let missing = register(&["--audit", "missing.json"]).exits(1).json_error();
    assert_eq!(missing["code"], "file_not_found");
    register(&[]).exits(0);
}

#[test]
fn weights_are_a_file_of_their_own() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let file = place.write("good", "1.0.0");
    let weights = place.workspace.path("package/adapter.bin");
    let check = || {
        let words = [
            "--json",
            "manifest",
            "check",
            &file,
            "--artifacts",
            "package",
        ];
        place.workspace.roleos(&words).exits(1).stdout
    };
    std::fs::remove_file(&weights).unwrap();
    place.workspace.write("secret", "weights");
    symlink("../secret", &weights).unwrap();
    let said = check();
    assert!(
        said.contains("symbolic link") && !said.contains("hashes to"),
        "{said}"
    );
    std::fs::remove_file(&weights).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&weights).status();
    assert!(made.unwrap().success());
    let said = check();
    assert!(said.contains("not a regular file"), "{said}");
}

#[test]
fn a_registry_that_is_a_link_and_private_stays_both() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new();
    let real = place.workspace.write("elsewhere/registry.json", "");
    std::fs::remove_file(&real).unwrap();
    let file = place.write("good", "1.0.0");
    let register = |file: &str| {
        let words = ["--json", "specialist", "register", "summariser", file];
        let url = ["--backend-url", &place.adapter.url];
        let mut command = place.workspace.command(&[&words[..], &url].concat());
        command.env("ROLEOS_SPECIALISTS_PATH", place.workspace.path("link.json"));
        crate::workspace::ran(command).exits(0);
    };
    symlink(&real, place.workspace.path("link.json")).unwrap();
    std::fs::write(
        &real,
        r#"{"schema":"roleos-specialist-registry/v1","specialists":[]}"#,
    )
    .unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    register(&file);
    let link = place
        .workspace
        .path("link.json")
        .symlink_metadata()
        .unwrap();
    assert!(link.is_symlink());
    assert!(
        std::fs::read_to_string(&real)
            .unwrap()
            .contains("summariser")
    );
    let mode = std::fs::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_empty_input_and_a_large_manifest_are_refused_in_their_own_words() {
    let place = Place::new();
    place.workspace.write("in.txt", " \n");
    let words = ["--json", "dispatch", "summariser", "--input", "in.txt"];
    let refused = place.workspace.roleos(&words).exits(1).json_error();
    assert_eq!(refused["code"], "empty_input");
    place.workspace.write("large.yaml", "#".repeat(2 << 20));
    let words = ["--json", "manifest", "check", "large.yaml"];
    let refused = place.workspace.roleos(&words).exits(1).json_error();
    assert_eq!(refused["code"], "file_too_large");
    assert!(
        !refused["hint"].as_str().unwrap().contains("bundle"),
        "{refused}"
    );
}

#[test]
fn a_signature_is_checked_when_it_is_there_and_wanted_when_the_settings_say_so() {
    let place = Place::new();
    let workspace = &place.workspace;
    let register = |file: &str| {
        let words = ["--json", "specialist", "register", "summariser", file];
        workspace.roleos(&[&words[..], &["--backend-url", &place.adapter.url]].concat())
    };
    workspace.write(
        ".role-os/config.toml",
        "[selection]\nrequire_signature = true\n",
    );
    let file = place.write("good", "1.0.0");
    assert_eq!(
        register(&file).exits(2).json_error()["code"],
        "bad_signature"
    );
    workspace
        .roleos(&["key", "new", "--algorithm", "ed25519"])
        .exits(0);
    let signed = workspace
        .roleos(&["--json", "manifest", "sign", &file])
        .exits(0)
        .json();
    register(&file).exits(0);
    assert_eq!(place.version(0)["signed_by"], signed["key_id"]);
    // A signature over other content is worse than none, regardless of the settings.
    workspace.write(".role-os/config.toml", "");
    let other = place.write("good", "1.1.0");
    let signature = workspace.read(&format!("{file}.sig"));
    workspace.write(&format!("{other}.sig"), signature);
    assert_eq!(
        register(&other).exits(2).json_error()["code"],
        "bad_signature"
    );
    workspace.write(&format!("{other}.sig"), "no signature");
    assert_eq!(
        register(&other).exits(2).json_error()["code"],
        "bad_signature"
    );
}

#[test]
fn the_adapter_id_can_be_another_and_a_plain_version_may_declare_a_verifier() {
    let place = Place::new();
    let file = place.write("good", "1.0.0");
    let words = [
        "specialist",
        "register",
        "summariser",
        &file,
        "--adapter-id",
        "pin",
    ];
    let url = ["--backend-url", &place.adapter.url];
    place
        .workspace
        .roleos(&[&words[..], &url].concat())
        .exits(0);
    let version = place.version(0);
    assert_eq!(
        (&version["adapter_id"], &version["model_id"]),
        (&json!("pin"), &json!("good"))
    );
    let plain = json!({
        "id": "v1", "adapter_id": "good", "base_model": "Qwen/Qwen3-8B",
        "verifier": { "type": "json_schema", "pass_condition": "schema_valid", "config": { "schema_path": "schemas/out.json" } },
    });
    place
        .workspace
        .write("package/version.json", plain.to_string());
    let words = [
        "specialist",
        "register",
        "summariser",
        "package/version.json",
    ];
    place.workspace.roleos(&words).exits(0);
    assert_eq!(
        place.version(1)["verifier"]["config"]["schema"]["type"],
        "object"
    );
    let mut evil = plain;
    evil["id"] = json!("v2");
    evil["verifier"]["pass_condition"] = json!("__import__('os').system('x')");
    place
        .workspace
        .write("package/version.json", evil.to_string());
    let refused = place.workspace.roleos(&[&["--json"], &words[..]].concat());
    assert_eq!(refused.exits(1).json_error()["code"], "bad_verifier");
}

#[test]
fn a_learning_run_names_every_candidate_and_the_winner() {
    let place = Place::new();
    for model in ["good", "template", "broken"] {
        place.register(model);
    }
    let answer = place.learn(&["--k", "4", "--target", "target.json"]);
    assert_eq!(answer["winner_model_id"], "good");
    assert_eq!(answer["result"]["status"], "UNSURE", "L0 is never served");
    assert_eq!(answer["receipt"]["schema"], "roleos-specialist-receipt/v1");
    let candidates = answer["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 3);
    let of = |model: &str| {
        candidates
            .iter()
            .find(|one| one["model_id"] == model)
            .unwrap()
    };
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() < 1e-9, "{value}");
    };
    for one in candidates {
        for key in [
            "model_id",
            "version",
            "verifier_result",
            "q0",
            "q1",
            "cost",
            "refusal_penalty",
            "reward",
            "time_ms",
        ] {
            assert!(one.get(key).is_some(), "{key} in {one}");
        }
        let number = |key: &str| one[key].as_f64().unwrap();
        let reward = number("q0") + number("q1") - 0.3 * number("cost") - number("refusal_penalty");
        near(&one["reward"], reward);
    }
    near(&of("good")["q1"], 0.85);
    assert_eq!(of("good")["verifier_result"], "PASS");
    assert_eq!(of("broken")["verifier_result"], "FAIL");
    near(&of("template")["refusal_penalty"], 1.0);
    assert_eq!(place.adapter.seen().len(), 9, "three measurements each");
    let verified = place
        .workspace
        .roleos(&["--json", "runs", "verify"])
        .exits(0)
        .json();
    assert_eq!(verified, json!({ "lines": 3, "ok": true, "bad": [] }));
    let listed = place
        .workspace
        .roleos(&["--json", "runs", "list"])
        .exits(0)
        .json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 3);
    let hash = base::digest(b"the text\n");
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        listed["runs"][0]["prompt_hash"], hex,
        "the bytes as they were given"
    );
    place
        .workspace
        .roleos(&["runs", "stats", "--svg", "runs.svg"])
        .exits(0);
    let picture = place.workspace.read("runs.svg");
    assert!(picture.starts_with("<svg ") && picture.contains("good"));
}

#[test]
fn nobody_wins_when_all_fail() {
    let place = Place::new();
    place.register("broken");
    let answer = place.learn(&["--k", "2"]);
    assert_eq!(answer["winner_model_id"], Value::Null);
    assert_eq!(answer["candidates"][0]["q1"], Value::Null);
    assert_eq!(answer["result"]["status"], "UNSURE");
    let mut command = place.workspace.command(&[
        "dispatch",
        "summariser",
        "--input",
        "in.txt",
        "--learn",
        "--json",
    ]);
    command.env("PROMPT_KEY", "s3cret");
    place.workspace.write(
        ".role-os/config.toml",
        "[privacy]\nprompt_key_env = \"PROMPT_KEY\"\n",
    );
    assert_eq!(command.status().unwrap().code(), Some(0));
    let listed = place
        .workspace
        .roleos(&["--json", "runs", "list"])
        .exits(0)
        .json();
    let [plain, keyed] = [0, 1].map(|at| listed["runs"][at].clone());
    assert_ne!(plain["prompt_hash"], keyed["prompt_hash"]);
    assert!(keyed["prompt_key"].is_string() && plain.get("prompt_key").is_none());
    let refused = place
        .workspace
        .roleos(&[
            "--json",
            "dispatch",
            "summariser",
            "--input",
            "in.txt",
            "--learn",
        ])
        .exits(2)
        .json_error();
    assert_eq!(refused["code"], "no_prompt_key");
}

#[test]
fn json_in_a_text_is_scored_as_json() {
    let place = Place::new();
    place.register("wrapped");
    let answer = place.learn(&["--target", "target.json"]);
    assert_eq!(answer["candidates"][0]["verifier_result"], "PASS");
    assert_eq!(answer["candidates"][0]["q1"], 1.0);
    assert_eq!(answer["winner_model_id"], "wrapped");
}
