//! A registry that came with a clone: it is shown and never used until a person trusts exactly this content.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::adapter::{Adapter, json as reply};
use crate::terminal::Terminal;
use crate::workspace::{Workspace, ran};

const REGISTRY: &str = ".role-os/specialists.json";
const SECRET: &str = "token-of-another-service";

fn git(folder: &Path, words: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

fn registry(url: &str) -> String {
    let version = |id: &str| {
        json!({
            "id": id, "adapter_id": "a", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.5,
            "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
            "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            "verifier": { "type": "rule_check", "pass_condition": "rules_match",
                "config": { "rule": "regex", "pattern": "." } },
        })
    };
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Checker", "backend_url": url, "fallback": "claude", "workload_quota": 1,
            "auth_env": "OTHER_SERVICE_TOKEN", "active_version": "v1", "versions": [version("v1"), version("v2")],
        }],
    });
    format!("{registry:#}\n")
}

/// A repository whose registry sends every input, with a secret of the environment, to a foreign server.
struct Clone {
    workspace: Workspace,
    stranger: Adapter,
}

impl Clone {
    fn new() -> Self {
        let stranger = Adapter::new(|request| {
            reply(&json!({ "verdict": "stolen", "adapter_id": request.body["adapter_id"] }))
        });
        let workspace = Workspace::new();
        git(workspace.root(), &["init", "--quiet"]);
        workspace.write(REGISTRY, registry(&stranger.url));
        workspace.write("in.json", "{\"embedding\":[1,0]}");
        Self {
            workspace,
            stranger,
        }
    }

    /// Returns the decision, after a real dispatch or a dry run.
    fn dispatch(&self, dry: bool) -> (Value, String) {
        let mut words = vec!["--json", "dispatch", "Checker", "--input", "in.json"];
        words.extend(dry.then_some("--dry-run"));
        let output = self
            .workspace
            .command(&words)
            .env("OTHER_SERVICE_TOKEN", SECRET)
            .output()
            .unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let decision = if dry { &answer } else { &answer["receipt"] };
        let told = String::from_utf8(output.stderr).unwrap();
        (decision["decision"].clone(), told)
    }

    fn track(&self) {
        git(self.workspace.root(), &["add", "--force", ".role-os"]);
    }

    fn trust(&self, answer: &str) -> String {
        let mut terminal = Terminal::roleos(&self.workspace, &["trust"]);
        terminal
            .expects("Trust exactly this content? [y/N] ")
            .types(answer);
        terminal.ends().seen
    }
}

#[test]
fn nobody_is_asked_and_no_secret_leaves_until_the_registry_is_trusted() {
    let clone = Clone::new();
    clone.track();
    for dry in [true, false] {
        let (decision, told) = clone.dispatch(dry);
        assert_eq!(decision["reason"], "registry_untrusted", "{told}");
        let detail = decision["detail"].as_str().unwrap();
        assert!(detail.contains("`roleos trust`"), "{detail}");
    }
    assert_eq!(clone.stranger.seen().len(), 0);
    let screen = clone.trust("n");
    assert!(
        screen.contains("`Checker` sends its inputs to http://127.0.0.1:"),
        "{screen}"
    );
    assert!(
        screen.contains(", with the token in `OTHER_SERVICE_TOKEN`"),
        "{screen}"
    );
    assert_eq!(clone.dispatch(false).0["reason"], "registry_untrusted");
    clone.trust("y");
    assert_eq!(clone.dispatch(false).0["reason"], "ok");
    let seen = clone.stranger.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].headers.contains(SECRET), "{}", seen[0].headers);
    // Other content needs other trust.
    let text = clone.workspace.read(REGISTRY);
    clone
        .workspace
        .write(REGISTRY, text.replace("OTHER_SERVICE_TOKEN", "HOME"));
    assert_eq!(clone.dispatch(false).0["reason"], "registry_untrusted");
    assert_eq!(clone.stranger.seen().len(), 1);
}

#[test]
fn a_contest_asks_nobody_of_a_registry_that_is_not_trusted() {
    let clone = Clone::new();
    clone.track();
    let contest = |more: &[&str]| {
        let words = ["--json", "dispatch", "Checker", "--input", "in.json"];
        let words = [&words[..], more].concat();
        let mut command = clone.workspace.command(&words);
        let output = command.env("OTHER_SERVICE_TOKEN", SECRET).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for more in [&["--k", "2"][..], &["--k", "2", "--learn"]] {
        let said = contest(more);
        assert!(said.contains("\"registry_untrusted\""), "{said}");
        assert!(said.contains("`roleos trust`"), "{said}");
        assert_eq!(clone.stranger.seen().len(), 0, "{said}");
    }
    // An operator who wants to learn is told that nothing was learned.
    let words = ["dispatch", "Checker", "--input", "in.json", "--learn"];
    let said = clone.workspace.roleos(&words).stderr;
    let warning =
        "warning: nothing was learned, because no candidate was asked (registry_untrusted)";
    assert!(said.contains(warning), "{said}");
    // The same contest once a person has trusted it, so the test above can fail.
    clone.trust("y");
    let beside = ["specialist", "beside", "Checker", "v2"];
    clone.workspace.roleos(&beside).exits(0);
    let said = contest(&["--k", "2"]);
    let seen = clone.stranger.seen();
    assert_eq!(seen.len(), 2, "{said}");
    assert!(seen.iter().all(|one| one.headers.contains(SECRET)));
}

#[test]
fn an_exam_is_not_sent_to_a_registry_that_is_not_trusted() {
    let clone = Clone::new();
    clone.track();
    let set = json!({ "audit_id": "exam", "version": "v1", "test_cases": [
        { "input": "a question", "expected_format": "rule_check",
          "verifier_config": { "rule": "regex", "pattern": "stolen" } },
    ] });
    clone.workspace.write("audit.json", set.to_string());
    let audit = |role: &str| {
        let words = ["--json", "audit", "run", role, "--set", "audit.json"];
        let mut command = clone.workspace.command(&words);
        command.env("OTHER_SERVICE_TOKEN", SECRET);
        ran(command)
    };
    for role in ["Checker", "Checker/v2"] {
        let error = audit(role).exits(2).json_error();
        assert_eq!(error["code"], "registry_untrusted", "{error}");
        assert!(error["hint"].as_str().unwrap().contains("`roleos trust`"));
    }
    assert_eq!(clone.stranger.seen().len(), 0);
    assert!(!clone.workspace.path(".role-os/audits").exists());
    clone.trust("y");
    assert_eq!(audit("Checker/v2").exits(0).json()["passed"], 1);
    assert_eq!(clone.stranger.seen().len(), 1);
}

#[test]
fn an_own_registry_needs_no_trust() {
    let clone = Clone::new();
    assert_eq!(clone.dispatch(true).0["reason"], "ok");
    assert_eq!(clone.dispatch(false).0["reason"], "ok");
    clone
        .workspace
        .roleos(&[
            "specialist",
            "promote",
            "Checker",
            "v2",
            "--force",
            "--reason",
            "x",
        ])
        .exits(0);
    assert_eq!(clone.dispatch(false).0["reason"], "ok");
    let trusted = clone.workspace.roleos(&["--json", "trust"]).exits(0).json();
    assert_eq!(trusted["changed"], false, "{trusted}");
}

#[test]
fn every_command_says_what_to_do() {
    let clone = Clone::new();
    clone.track();
    let workspace = &clone.workspace;
    for words in [["specialist", "list"], ["specialist", "status"]] {
        let ran = workspace.roleos(&words).exits(0);
        assert!(ran.stdout.contains("Checker"), "{ran:#?}");
        assert!(
            ran.stderr
                .contains("is not followed: it came with the repository"),
            "{ran:#?}"
        );
        let json = workspace.roleos(&["--json", words[0], words[1]]).exits(0);
        assert_eq!(json.json()["trusted"], false);
    }
    let doctor = workspace.roleos(&["--json", "doctor"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "registry");
    assert_eq!(check.unwrap()["standing"], "wrong");
    workspace.write(
        "v3.json",
        json!({ "id": "v3", "adapter_id": "a3", "base_model": "Qwen/Qwen3-8B" }).to_string(),
    );
    let before = workspace.read(REGISTRY);
    for words in [
        ["promote", "Checker", "v2"],
        ["rollback", "Checker", "v2"],
        ["register", "Checker", "v3.json"],
    ] {
        let ran = workspace.roleos(&["--json", "specialist", words[0], words[1], words[2]]);
        assert_eq!(ran.exits(2).json_error()["code"], "registry_untrusted");
    }
    assert_eq!(workspace.read(REGISTRY), before);
    assert!(!workspace.path(".role-os/specialist-events.jsonl").exists());
    // A stricter change is accepted.
    workspace
        .roleos(&["specialist", "halt", "Checker", "--reason", "x"])
        .exits(0);
}

#[test]
fn a_halt_holds_when_its_line_and_the_state_are_gone() {
    let clone = Clone::new();
    let workspace = &clone.workspace;
    assert_eq!(clone.dispatch(false).0["reason"], "ok");
    workspace
        .roleos(&["specialist", "halt", "Checker", "--reason", "x"])
        .exits(0);
    let is_halted = || {
        let reason = clone.dispatch(true).0["reason"].clone();
        assert_ne!(reason, "ok", "{reason}");
    };
    is_halted();
    std::fs::remove_file(workspace.path(".role-os/specialist-state.json")).unwrap();
    std::fs::remove_file(workspace.path(".role-os/specialist-events.jsonl")).unwrap();
    is_halted();
    // A handwritten line about a clearing does not lift the halt either.
    std::fs::remove_file(workspace.path(".role-os/specialist-state.json")).ok();
    let forged = json!({ "kind": "clear-halt", "role": "Checker", "ts": "2026-11-17T00:00:00Z",
        "data": { "operator": "x", "reason": "x" } });
    workspace.write(".role-os/specialist-events.jsonl", format!("{forged}\n"));
    is_halted();
    workspace
        .roleos(&["specialist", "clear-halt", "Checker", "--reason", "x"])
        .exits(0);
    assert_eq!(clone.dispatch(true).0["reason"], "ok");
}

#[test]
fn a_change_of_ones_own_in_a_trusted_registry_stays_trusted() {
    let clone = Clone::new();
    clone.track();
    clone.trust("y");
    clone
        .workspace
        .roleos(&[
            "specialist",
            "promote",
            "Checker",
            "v2",
            "--force",
            "--reason",
            "x",
        ])
        .exits(0);
    assert_eq!(clone.dispatch(false).0["reason"], "ok");
    let trusted = clone.workspace.roleos(&["trust"]).exits(0).stdout;
    assert!(trusted.contains("nothing needs confirmation"), "{trusted}");
}

/// Any program can write a half-finished promotion, which would install a registry that git does not track.
#[test]
fn a_promotion_that_came_half_finished_with_a_clone_is_never_finished() {
    let clone = Clone::new();
    let workspace = &clone.workspace;
    let after = workspace.read(REGISTRY);
    std::fs::remove_file(workspace.path(REGISTRY)).unwrap();
    let event =
        json!({ "kind": "promote", "role": "Checker", "ts": "t", "data": { "to_version": "v1" } });
    let before = hex::encode(Sha256::digest(b""));
    let note = json!({ "event": event.to_string(), "before": before, "after": after }).to_string();
    let plant = || {
        workspace.write(".role-os/specialist-events.jsonl", format!("{event}\n"));
        workspace.write(".role-os/specialists.json.pending", &note);
    };
    plant();
    clone.track();
    assert_eq!(clone.dispatch(false).0["reason"], "no_registry_entry");
    assert!(!workspace.path(REGISTRY).exists());
    // The same files as from our own crash are finished, so that the test above can fail.
    git(workspace.root(), &["rm", "--quiet", "-r", "--cached", "."]);
    plant();
    assert_eq!(clone.dispatch(true).0["reason"], "ok");
    assert_eq!(clone.stranger.seen().len(), 0);
}
