//! The in-toto export, verified by a foreign implementation: Python's securesystemslib.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::workspace::Workspace;

/// Runs the script beside this file, with the interpreter of `cargo xtask test`.
fn verify(envelope: &Path, public_key: &str) -> Output {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/verify_dsse.py");
    Command::new(python)
        .arg(script)
        .arg(envelope)
        .arg(public_key)
        .output()
        .expect("the interpreter can be started")
}

/// Returns base64 of other bytes: one letter in the middle is changed.
fn other_base64(text: &str) -> String {
    let (mut letters, middle): (Vec<char>, _) = (text.chars().collect(), text.len() / 2);
    letters[middle] = if letters[middle] == 'A' { 'B' } else { 'A' };
    letters.into_iter().collect()
}

fn refused(output: &Output) -> bool {
    output.status.code() == Some(1) && output.stderr.starts_with(b"refused: ")
}

/// Returns a workspace with an exported bundle, and the public key of its signer.
fn exported() -> (Workspace, Value, String) {
    let workspace = Workspace::new();
    workspace.write("issue.md", "Grüße, \"quoted\" and \\ back\n");
    workspace.seal(&[
        "--outcome",
        "solved",
        "--spec",
        "issue.md",
        "--fact",
        "model=größer",
    ]);
    let words = [
        "witness",
        "export",
        "latest",
        "--format",
        "in-toto",
        "--out",
        "envelope.json",
    ];
    workspace.roleos(&words).exits(0);
    let envelope = serde_json::from_str(&workspace.read("envelope.json")).unwrap();
    let keys = workspace.roleos(&["--json", "key", "list"]).exits(0).json();
    let public = keys
        .as_array()
        .unwrap()
        .iter()
        .find_map(|key| key["public_key"].as_str());
    (workspace, envelope, public.unwrap().to_owned())
}

#[test]
fn an_envelope_has_the_shape_that_others_expect() {
    let (_, envelope, _) = exported();
    assert_eq!(
        crate::workspace::keys(&envelope),
        ["payloadType", "payload", "signatures"]
    );
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
    assert_eq!(
        crate::workspace::keys(&envelope["signatures"][0]),
        ["keyid", "sig"]
    );
}

#[test]
fn no_statement_is_signed_about_what_is_not_believed() {
    let workspace = Workspace::new();
    workspace.seal(&["--outcome", "solved"]);
    let golden = crate::vectors::vector("g03-full-signed-solved.rvww");
    let golden = golden.to_str().unwrap();
    let words = [
        "--json", "witness", "export", golden, "--format", "in-toto", "--out", "out.json",
    ];
    let error = workspace.roleos(&words).exits(2).json_error();
    assert_eq!(error["code"], "not_believed");
    assert!(!workspace.path("out.json").exists());
}

#[test]
#[ignore = "needs securesystemslib; `cargo xtask test` installs and runs it"]
fn an_envelope_verifies_with_securesystemslib() {
    let (workspace, envelope, public) = exported();
    let output = verify(&workspace.path("envelope.json"), &public);
    assert!(output.status.success(), "{output:?}");
    let statement: Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = workspace
        .roleos(&["--json", "witness", "show", "latest"])
        .exits(0)
        .json();
    assert_eq!(statement["subject"][0]["digest"]["sha256"], shown["sha256"]);
    assert_eq!(statement["predicate"]["provenance"]["model"], "größer");

    // Another payload, another type, another signature, another key.
    let changed = |pointer: &str, value: String| {
        let mut changed = envelope.clone();
        *changed.pointer_mut(pointer).unwrap() = value.into();
        assert_ne!(changed, envelope);
        changed
    };
    let text = |pointer: &str| envelope.pointer(pointer).unwrap().as_str().unwrap();
    let (payload, signature) = (text("/payload"), text("/signatures/0/sig"));
    let changes = [
        ("payload", changed("/payload", other_base64(payload))),
        (
            "type",
            changed("/payloadType", "application/json".to_owned()),
        ),
        (
            "signature",
            changed("/signatures/0/sig", other_base64(signature)),
        ),
    ];
    for (what, changed) in changes {
        let path = workspace.write("changed.json", changed.to_string());
        let output = verify(&path, &public);
        assert!(refused(&output), "{what}: {output:?}");
    }
    let (_, _, stranger) = exported();
    let output = verify(&workspace.path("envelope.json"), &stranger);
    assert!(refused(&output), "another key: {output:?}");
}
