//! The published vectors through the binary: verdicts, reasons, warnings, exit codes and every field of the answers.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::workspace::{Ran, Workspace, keys};

const VERIFY_KEYS: [&str; 12] = [
    "file",
    "verdict",
    "reason",
    "warnings",
    "task_id",
    "outcome",
    "mode",
    "policy_hash",
    "sections",
    "trace_entries",
    "evidence_complete",
    "signed",
];

pub(crate) fn vector(file: &str) -> PathBuf {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.join("../witness/tests/vectors").join(file)
}

pub(crate) fn manifest() -> Value {
    serde_json::from_slice(&fs::read(vector("manifest.json")).unwrap()).unwrap()
}

fn list(manifest: &Value, name: &str, count: usize) -> Vec<Value> {
    let list = manifest[name].as_array().unwrap().clone();
    assert_eq!(list.len(), count);
    list
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Runs a command on a vector with its key, if it has one.
fn run(words: &[&str], vector_entry: &Value) -> (Ran, String) {
    let file = vector(text(&vector_entry["file"])).display().to_string();
    let mut words = words.to_vec();
    words.extend(["--json", &file]);
    if let Some(key) = vector_entry["key_hex"].as_str() {
        words.extend(["--key-hex", key]);
    }
    (Workspace::new().roleos(&words), file)
}

/// Returns the name of an outcome that the manifest has as a number.
fn outcome(number: &Value) -> &'static str {
    ["solved", "failed", "skipped", "error"][usize::try_from(number.as_u64().unwrap()).unwrap()]
}

fn mode(number: &Value) -> &'static str {
    ["restricted", "approved", "autonomous"][usize::try_from(number.as_u64().unwrap()).unwrap()]
}

fn section_name(section: &Value) -> String {
    match text(&section["name"]) {
        "UNKNOWN" => format!("0x{:04X}", section["tag"].as_u64().unwrap()),
        name => name.to_owned(),
    }
}

#[test]
fn goldens_get_their_verdicts() {
    for golden in list(&manifest(), "bundles", 18) {
        let (ran, file) = run(&["witness", "verify"], &golden);
        let header = &golden["header"];
        let sections = golden["sections"].as_array().unwrap();
        let expected = json!({
            "file": file,
            "verdict": golden["verify"],
            "reason": null,
            "warnings": [],
            "task_id": header["task_id"],
            "outcome": outcome(&header["outcome"]),
            "mode": mode(&header["governance_mode"]),
            "policy_hash": header["policy_hash"],
            "sections": sections.iter().map(section_name).collect::<Vec<_>>(),
            "trace_entries": golden["trace"]["entries"],
            "evidence_complete": golden["evidence_complete"],
            "signed": !golden["signature_hex"].is_null(),
        });
        assert_eq!(keys(&ran.json()), VERIFY_KEYS);
        assert_eq!(ran.json(), expected);
        ran.exits(i32::from(golden["verify"] != "valid"));
    }
}

#[test]
fn damaged_bundles_get_their_hardened_verdicts() {
    for damaged in list(&manifest(), "corrupted", 31) {
        let (ran, _) = run(&["witness", "verify"], &damaged);
        let answer = ran.json();
        assert_eq!(keys(&answer), VERIFY_KEYS);
        let hardened = &damaged["hardened"];
        let reason = text(&hardened["reason"]);
        let (verdict, reasons, warnings, code) = match (text(&hardened["verdict"]), reason) {
            ("warn", reason) => ("valid", json!(null), json!([reason]), 0),
            (_, "bad_signature") => ("bad_signature", json!(reason), json!([]), 1),
            (_, "signature_required") => ("unsigned", json!(reason), json!([]), 1),
            _ => ("malformed", json!(reason), json!([]), 1),
        };
        let id = &damaged["id"];
        assert_eq!(answer["verdict"], verdict, "{id}");
        assert_eq!(answer["reason"], reasons, "{id}");
        assert_eq!(answer["warnings"], warnings, "{id}");
        if verdict == "malformed" {
            for key in ["task_id", "outcome", "mode", "policy_hash"] {
                assert_eq!(answer[key], json!(null), "{id} {key}");
            }
        }
        ran.exits(code);
    }
}

#[test]
fn lenient_reads_what_the_reference_reads() {
    for damaged in list(&manifest(), "corrupted", 31) {
        let (ran, _) = run(&["witness", "verify", "--lenient"], &damaged);
        let answer = ran.json();
        let (id, oracle) = (&damaged["id"], &damaged["oracle"]);
        let verdict = match text(&damaged["verify"]) {
            "parse_error" | "panic" => "malformed",
            other => other,
        };
        assert_eq!(answer["verdict"], verdict, "{id}");
        if verdict != "malformed" {
            assert_eq!(answer["trace_entries"], oracle["trace_entries"], "{id}");
            assert_eq!(
                answer["evidence_complete"], oracle["evidence_complete"],
                "{id}"
            );
            assert_eq!(answer["signed"], oracle["signed"], "{id}");
        }
        // A strict reader refuses it, a lenient one reports it.
        let reason = &damaged["hardened"]["reason"];
        if damaged["class"] == "lenient" {
            let warnings = answer["warnings"].as_array().unwrap();
            assert!(warnings.contains(reason), "{id}: {answer}");
        }
        ran.exits(i32::from(verdict != "valid"));
    }
}

#[test]
fn show_tells_every_field() {
    for golden in list(&manifest(), "bundles", 18) {
        let (ran, _) = run(&["witness", "show"], &golden);
        let shown = ran.exits(0).json();
        let id = &golden["id"];
        assert_eq!(shown["verdict"], golden["verify"], "{id}");
        assert_eq!(shown["sha256"], golden["sha256"], "{id}");
        for (name, value) in golden["header"].as_object().unwrap() {
            let expected = match name.as_str() {
                "magic_hex_le" => continue,
                "outcome_name" => json!(outcome(&golden["header"]["outcome"])),
                "governance_mode_name" => json!(mode(&golden["header"]["governance_mode"])),
                _ => value.clone(),
            };
            assert_eq!(shown["header"][name], expected, "{id} {name}");
        }
        let sections = golden["sections"].as_array().unwrap();
        assert_eq!(
            shown["sections"].as_array().unwrap().len(),
            sections.len(),
            "{id}"
        );
        for (section, expected) in shown["sections"].as_array().unwrap().iter().zip(sections) {
            assert_eq!(section["tag"], expected["tag"], "{id}");
            assert_eq!(section["name"], section_name(expected), "{id}");
            assert_eq!(section["offset"], expected["value_offset"], "{id}");
            assert_eq!(section["length"], expected["len"], "{id}");
            assert_eq!(section["sha256"], expected["sha256"], "{id}");
        }
        check_trace(&golden, &shown["trace"]);
    }
}

fn check_trace(golden: &Value, shown: &Value) {
    let (id, trace) = (&golden["id"], &golden["trace"]);
    let calls = shown.as_array().unwrap();
    assert_eq!(json!(calls.len()), trace["entries"], "{id}");
    let items = ["items", "items_head", "items_tail"].map(|name| trace[name].as_array());
    for item in items.into_iter().flatten().flatten() {
        let call = &calls[usize::try_from(item["index"].as_u64().unwrap()).unwrap()];
        for (name, value) in item.as_object().unwrap() {
            let shown = match name.as_str() {
                "action_len" => json!(text(&call["action_hex"]).len() / 2),
                "action_sha256" => {
                    let action = hex::decode(text(&call["action_hex"])).unwrap();
                    json!(hex::encode(base::digest(&action)))
                }
                "policy_check_name" => {
                    assert_eq!(text(&call[name]), text(value).to_lowercase(), "{id}");
                    continue;
                }
                _ => call[name].clone(),
            };
            assert_eq!(shown, *value, "{id} {name}");
        }
    }
}

#[test]
fn show_of_a_damaged_bundle_is_an_error_unless_it_is_well_formed() {
    for damaged in list(&manifest(), "corrupted", 31) {
        let (ran, _) = run(&["witness", "show"], &damaged);
        let malformed = !matches!(
            text(&damaged["hardened"]["reason"]),
            "bad_signature"
                | "signature_required"
                | "trailing_bytes"
                | "totals_mismatch"
                | "pad_nonzero"
        );
        if malformed {
            let error = ran.exits(1).json_error();
            assert_eq!(error["code"], "malformed", "{}", damaged["id"]);
        } else {
            let shown = ran.exits(0).json();
            assert_ne!(shown["verdict"], "malformed", "{}", damaged["id"]);
        }
    }
}

#[test]
fn every_vector_replays_and_exports_without_harm() {
    let all = manifest();
    for entry in [list(&all, "bundles", 18), list(&all, "corrupted", 31)].concat() {
        for command in ["replay", "export"] {
            let (ran, _) = run(&["witness", command], &entry);
            assert!(matches!(ran.code, 0 | 1), "{ran:#?}");
            assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        }
    }
}

#[test]
fn a_key_file_may_have_any_of_its_forms() {
    let workspace = Workspace::new();
    let golden = vector("g03-full-signed-solved.rvww");
    let golden = golden.to_str().unwrap();
    let key_hex = "766563746f722d73756974652d6b65792d6e756d6265722d6f6e652d33326221";
    let forms: [(&str, Vec<u8>); 4] = [
        ("hex", key_hex.into()),
        ("hex-with-newline", format!("{key_hex}\n").into()),
        ("upper-case", key_hex.to_uppercase().into()),
        ("raw", hex::decode(key_hex).unwrap()),
    ];
    for (name, bytes) in forms {
        let file = workspace.write(name, bytes);
        let file = file.to_str().unwrap();
        let ran = workspace.roleos(&["witness", "verify", golden, "--key-file", file]);
        assert!(ran.exits(0).stdout.starts_with("valid"), "{name}");
    }
    let wrong = workspace.write("wrong", [1; 32]);
    let wrong = wrong.to_str().unwrap();
    let ran = workspace.roleos(&["witness", "verify", golden, "--key-file", wrong]);
    assert!(ran.exits(1).stdout.starts_with("bad_signature"));
}

#[test]
fn our_own_key_files_are_forms_as_well() {
    let sealer = Workspace::new();
    let sealed = sealer.seal(&["--outcome", "solved"]);
    let bundle = text(&sealed["file"]);
    let elsewhere = Workspace::new();
    let keys: Vec<_> = fs::read_dir(sealer.path(".role-os/keys"))
        .unwrap()
        .collect();
    let mut tried = 0;
    for entry in keys {
        let path = entry.unwrap().path();
        if path.extension().is_none() {
            continue;
        }
        let ran = elsewhere.roleos(&[
            "witness",
            "verify",
            bundle,
            "--key-file",
            path.to_str().unwrap(),
        ]);
        assert!(ran.succeeds().starts_with("valid"));
        tried += 1;
    }
    assert_eq!(tried, 3, "an HMAC key, an Ed25519 key and its public half");
}

#[test]
fn the_empty_key_is_a_key_only_when_it_is_typed() {
    let workspace = Workspace::new();
    let golden = vector("g09-unicode-empty-key.rvww");
    let golden = golden.to_str().unwrap();
    workspace
        .roleos(&["witness", "verify", golden, "--key-hex", ""])
        .exits(0);
    workspace
        .roleos(&["witness", "verify", golden, "--key-hex", "00"])
        .exits(0); // HMAC pads short keys with zeros, so this is the same key.
    workspace
        .roleos(&["witness", "verify", golden, "--key-hex", "01"])
        .exits(1);
    let empty = workspace.write("empty", "");
    let ran = workspace.roleos(&[
        "witness",
        "verify",
        golden,
        "--key-file",
        empty.to_str().unwrap(),
    ]);
    assert!(ran.exits(1).error().contains("it is empty"));
}
