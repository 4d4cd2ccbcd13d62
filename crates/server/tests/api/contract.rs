//! The committed OpenAPI document is the one that is served, and the server conforms to it under load.

use std::path::Path;
use std::process::{Command, Output};

use reqwest::Method;
use serde_json::json;
use witness::wire::Outcome;

use crate::changes::{catalog, refused, registry, write};
use crate::lists::{add, call};
use crate::place::{Place, seal};

fn committed() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn the_committed_document_is_served() {
    let place = Place::new().await;
    let response = place
        .request(Method::GET, "/openapi.json")
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    // The whole document would fill the screen.
    let same = response.text().await.unwrap() == committed();
    assert!(same, "run `cargo xtask codegen`");
}

/// Prepares a workspace in which most calls find something; returns the id of an act that waits for approval.
fn furnish(root: &Path) -> String {
    registry(root);
    catalog(root);
    seal(root, 1, Outcome::Solved);
    seal(root, 2, Outcome::Failed);
    let journal = root.join(".role-os/sessions/s1.jsonl");
    add(&journal, &(call(0, "allow") + &call(1, "deny")));
    let run = json!({
        "timestamp": "2026-01-01T00:00:00Z", "prompt_hash": "0".repeat(64), "model_id": "a", "metric_version": "metric_v1",
        "verifier_result": "PASS", "q0": 1, "cost": 0.1, "refusal_penalty": 0.0, "reward": 0.9, "winner_model_id": "a",
        "run_id": "r1", "role": "checker",
    });
    add(&root.join(".role-os/run_log.jsonl"), &format!("{run}\n"));
    refused(root)
}

/// Returns existing names, so that requests pass the check of existence.
fn known_names(act: &str) -> String {
    let task = "01".repeat(16);
    format!(
        "[parameters]\n\
         \"path.role\" = \"Note Checker\"\n\
         \"path.task\" = \"{task}\"\n\
         \"path.slug\" = \"proofreader\"\n\
         \"path.run_id\" = \"r1\"\n\
         \"path.action\" = \"git:push\"\n\
         \"path.id\" = \"{act}\"\n\n\
         [[operations]]\n\
         include-path = \"/api/sessions/{{id}}\"\n\
         parameters = {{ \"path.id\" = \"s1\" }}\n"
    )
}

/// Schemathesis generates thousands of requests from the document, with a login: no answer may be a server error or
/// undocumented. Once with any names, once with existing names.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs schemathesis; `cargo xtask test` installs and runs it"]
async fn schemathesis_finds_no_server_error_and_nothing_undocumented() {
    let mut act = String::new();
    let place = Place::with(|root| act = furnish(root)).await;
    place.settled().await;
    let cookie = place.log_in().await;
    write(&place.root(), "none.toml", "");
    write(&place.root(), "known.toml", &known_names(&act));
    for names in ["none.toml", "known.toml"] {
        let output = schemathesis(&place, &cookie, names).await;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{names}: {text}\n{errors}");
    }
}

async fn schemathesis(place: &Place, cookie: &str, names: &str) -> Output {
    let python = std::env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    let mut command = Command::new(python);
    command
        .args(["-m", "schemathesis.cli", "--config-file", names, "run"])
        .arg(format!("http://{}/openapi.json", place.address))
        .args(["--header", &format!("Cookie: {cookie}")])
        .args(["--checks", checks])
        // A stream never ends; a logout would end the login that the other calls need.
        .args(["--exclude-path", "/api/events/stream"])
        .args(["--exclude-path", "/api/logout"])
        .args(["--max-examples", "25", "--seed", "7", "--no-color"])
        .args(["--generation-database", "none"])
        .current_dir(place.root());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}
