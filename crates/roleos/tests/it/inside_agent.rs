//! Commands that give authority are for persons: below an agent they are refused, although they need no terminal
//! otherwise.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use crate::workspace::{ROLEOS, Workspace, ran};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let version = |id: &str, level: &str| {
        json!({
            "id": id, "adapter_id": id, "base_model": "b", "gate_threshold": 0.75, "certified_level": level,
            "exam_hash": "a11ce0de".repeat(8), "field_audit_window": 200, "created_at": "2026-09-02T09:00:00Z",
            "exam_centroid": [1.0, 0.0],
        })
    };
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Checker", "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": 0.6,
            "active_version": "v1", "versions": [version("v0", "L1"), version("v1", "L1"), version("v2", "L2")],
        }],
    });
    workspace.write(".role-os/specialists.json", registry.to_string());
    workspace.write("version.json", version("v3", "L0").to_string());
    workspace.write("metric.json", "{}");
    workspace
        .roleos(&["specialist", "halt", "Checker", "--reason", "r"])
        .exits(0);
    workspace
}

const OF_A_PERSON: &[&[&str]] = &[
    &["specialist", "promote", "Checker", "v2"],
    &["specialist", "rollback", "Checker", "v0"],
    &["specialist", "clear-halt", "Checker"],
    &["specialist", "register", "Checker", "version.json"],
    &["specialist", "certify", "Checker", "v2"],
    &["specialist", "repair"],
    &["metric", "change", "metric.json"],
    &["metric", "abort"],
    &["key", "new"],
    &["key", "rotate"],
    &["key", "rotate", "--algorithm", "hmac"],
    &["witness", "seal", "--outcome", "solved"],
];

#[test]
fn authority_is_not_given_below_an_agent() {
    let workspace = workspace();
    let before = workspace.snapshot();
    let marks = [
        ("CLAUDECODE", "1"),
        ("AI_AGENT", "codex"),
        ("GEMINI_CLI", "1"),
        ("CODEX_SANDBOX", "seatbelt"),
    ];
    for (index, words) in OF_A_PERSON.iter().enumerate() {
        let (name, value) = marks[index % marks.len()];
        let mut command = workspace.command(&[&["--json"], *words].concat());
        command.env(name, value);
        let error = ran(command).exits(2).json_error();
        assert_eq!(error["code"], "inside_agent", "{words:?}");
        assert!(workspace.snapshot() == before, "{words:?}");
    }
}

#[test]
fn an_agent_that_hides_its_variables_is_seen_by_its_process() {
    let workspace = workspace();
    let before = workspace.snapshot();
    fs::create_dir(workspace.home().join("bin")).unwrap();
    let agent = workspace.home().join("bin/claude");
    symlink("/bin/sh", &agent).unwrap();
    for words in OF_A_PERSON {
        // The shell stays above the command, because it has more to do afterwards.
        let script = format!("{ROLEOS} {}; code=$?; exit $code", words.join(" "));
        let inside = workspace.command(&[]);
        let mut command = Command::new(&agent);
        command.arg("-c").arg(&script).current_dir(workspace.root());
        for (name, value) in inside.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ran = ran(command).exits(2);
        assert!(
            ran.stderr.contains("above this one is Claude Code"),
            "{ran:#?}"
        );
        assert!(workspace.snapshot() == before, "{words:?}");
    }
}

#[test]
fn without_an_agent_they_need_no_terminal_and_a_halt_is_always_allowed() {
    let workspace = workspace();
    let mut command = workspace.command(&["specialist", "halt", "Checker", "--reason", "again"]);
    command.env("CLAUDECODE", "1");
    ran(command).exits(0);
    for words in [
        &["specialist", "clear-halt", "Checker"][..],
        &[
            "specialist",
            "promote",
            "Checker",
            "v2",
            "--force",
            "--reason",
            "x",
        ],
        &["key", "new"],
        &["key", "rotate"],
        &["witness", "seal", "--outcome", "failed"],
    ] {
        workspace.roleos(words).exits(0);
    }
    let mut listed = workspace.command(&["key", "list"]);
    listed.env("CLAUDECODE", "1");
    ran(listed).exits(0);
}

#[test]
fn a_bundle_that_an_agent_sealed_says_so() {
    let workspace = Workspace::new();
    let seal = |more: &[&str]| {
        let words = [&["--json", "witness", "seal", "--outcome", "failed"], more].concat();
        let mut command = workspace.command(&words);
        command.env("CLAUDECODE", "1");
        ran(command)
    };
    let sealed = seal(&["--by-agent", "--fact", "role=x"]).exits(0).json();
    let fact = |file: &str| {
        let read = workspace
            .roleos(&["--json", "witness", "replay", file])
            .exits(0);
        read.json()["extensions"]["provenance"]["sealed_below_agent"].clone()
    };
    assert_eq!(fact(sealed["file"].as_str().unwrap()), "Claude Code");
    // Naming the mark does not remove it.
    let forged = seal(&["--by-agent", "--fact", "sealed_below_agent="]);
    assert_ne!(forged.code, 0, "{forged:#?}");
    // A person who uses the option gets no mark.
    let own = workspace.seal(&["--outcome", "failed", "--by-agent"]);
    assert!(fact(own["file"].as_str().unwrap()).is_null());
}
