//! `roleos specialist` and `roleos dispatch` as operators, scripts and crashes meet them.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::adapter::{Adapter, json as reply};
use crate::workspace::Workspace;

const REGISTRY: &str = ".role-os/specialists.json";
const STATE: &str = ".role-os/specialist-state.json";
const EVENTS: &str = ".role-os/specialist-events.jsonl";

fn version(id: &str, level: &str) -> Value {
    json!({
        "id": id, "adapter_id": format!("{id}-adapter"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
        "certified_level": level, "exam_hash": "a11ce0de".repeat(8), "field_audit_window": 200,
        "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
    })
}

/// A workspace with one role, `v1-l1` (active) and `v2-l2` certified, `v0` not.
fn workspace(url: &str) -> Workspace {
    let workspace = Workspace::new();
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Checker", "backend_url": url, "fallback": "claude", "workload_quota": 0.6,
            "active_version": "v1-l1", "mine": "kept",
            "versions": [version("v0", "L0"), version("v1-l1", "L1"), version("v2-l2", "L2")],
        }],
    });
    workspace.write(REGISTRY, serde_json::to_string_pretty(&registry).unwrap());
    workspace
}

fn events(workspace: &Workspace) -> Vec<Value> {
    let text = std::fs::read_to_string(workspace.path(EVENTS)).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn active(workspace: &Workspace) -> Value {
    let listed = workspace
        .roleos(&["--json", "specialist", "list"])
        .exits(0)
        .json();
    listed["roles"][0]["active_version"].clone()
}

#[test]
fn an_empty_registry_and_one_with_versions_are_listed() {
    let empty = Workspace::new();
    let path = empty
        .path(REGISTRY)
        .canonicalize()
        .unwrap_or_else(|_| empty.root().canonicalize().unwrap().join(REGISTRY));
    let listed = empty.roleos(&["specialist", "list"]).succeeds();
    assert_eq!(
        listed,
        format!("(no specialists registered at {})\n", path.display())
    );
    let listed = workspace("http://127.0.0.1:1")
        .roleos(&["specialist", "list"])
        .succeeds();
    let rest = listed.split_once("\n\n").unwrap().1;
    assert_eq!(
        rest,
        "  Checker  —  active=v1-l1 (L1), quota=0.6, versions=3\n      v0  L0  base=Qwen/Qwen3-8B  adapter=v0-adapter\n    * v1-l1  L1  base=Qwen/Qwen3-8B  adapter=v1-l1-adapter\n      v2-l2  L2  base=Qwen/Qwen3-8B  adapter=v2-l2-adapter\n"
    );
}

#[test]
fn status_shows_quota_halt_both_rules_and_the_field() {
    let workspace = workspace("http://127.0.0.1:1");
    let text = workspace.roleos(&["specialist", "status"]).succeeds();
    for part in [
        "quota:   0/200  (share=0.0%, cap=60%)",
        "halt: ok",
        "window rule:",
        "early stop:",
        "field audit: unmonitored",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let role = workspace
        .roleos(&[
            "--json",
            "specialist",
            "status",
            "--role=Checker",
            "--window",
            "50",
        ])
        .exits(0)
        .json()["roles"][0]
        .clone();
    assert_eq!(
        role["quota"],
        json!({ "used": 0, "window": 50, "share": 0.0, "cap": 0.6 })
    );
    assert_eq!(
        (&role["halt"], &role["certified_level"]),
        (&json!({ "halted": false }), &json!("L1"))
    );
    let unknown = workspace
        .roleos(&["specialist", "status", "--role", "Nobody"])
        .succeeds();
    assert_eq!(unknown, "  Nobody: ERROR no_registry_entry\n");
    let unknown = workspace
        .roleos(&["--json", "specialist", "status", "--role", "Nobody"])
        .exits(0)
        .json();
    assert_eq!(
        unknown["roles"],
        json!([{ "role": "Nobody", "error": "no_registry_entry" }])
    );
}

#[test]
fn promote_and_rollback_as_written() {
    let workspace = workspace("http://127.0.0.1:1");
    let promoted = workspace
        .roleos(&[
            "specialist",
            "promote",
            "Checker",
            "v2-l2",
            "--operator=ana",
        ])
        .succeeds();
    assert_eq!(
        promoted,
        "promote Checker: v1-l1 → v2-l2 (L2)\n\n  ◆  Checker — L2 certified · v2-l2 · exam a11ce0dea11c\n"
    );
    let back = workspace
        .roleos(&[
            "specialist",
            "rollback",
            "Checker",
            "v1-l1",
            "--operator",
            "ana",
            "--reason",
            "drift",
        ])
        .succeeds();
    assert_eq!(back, "rollback Checker: v2-l2 ← v1-l1 (L1)\n");
    let log = events(&workspace);
    assert_eq!(
        log[0]["data"],
        json!({ "from_version": "v1-l1", "to_version": "v2-l2", "certified_level": "L2", "operator": "ana", "reason": "" })
    );
    assert_eq!(
        (&log[1]["kind"], &log[1]["data"]["reason"]),
        (&json!("rollback"), &json!("drift"))
    );
    let registry: Value = serde_json::from_str(&workspace.read(REGISTRY)).unwrap();
    let entry = &registry["specialists"][0];
    assert_eq!(entry["mine"], "kept");
    assert_eq!(
        entry["versions"].as_array().unwrap().len(),
        3,
        "no version is ever removed"
    );
    let by_default = workspace
        .command(&["specialist", "promote", "Checker", "v2-l2"])
        .env("USER", "somebody")
        .env("HOME", workspace.root())
        .output()
        .unwrap();
    assert!(by_default.status.success());
    assert!(
        !events(&workspace)[2]["data"]["operator"]
            .as_str()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_may_not_become_active_changes_nothing() {
    let workspace = workspace("http://127.0.0.1:1");
    let before = workspace.read(REGISTRY);
    for (words, code, name) in [
        (["promote", "Checker", "v0"], 2, "uncertified"),
        (["rollback", "Checker", "v0"], 2, "uncertified"),
        (["promote", "Checker", "ghost"], 1, "unknown_version"),
        (["promote", "Nobody", "v1-l1"], 1, "unknown_role"),
    ] {
        let [verb, role, version] = words;
        let ran = workspace
            .roleos(&["--json", "specialist", verb, role, version])
            .exits(code);
        let error = ran.json_error();
        assert_eq!(error["code"], name);
        assert!(error["hint"].is_string());
    }
    let text = workspace
        .roleos(&["specialist", "promote", "Checker", "v0"])
        .exits(2);
    assert!(
        text.error().starts_with(
            "error: refusing to promote an L0 (uncertified) version: Checker/v0\nhint: "
        ),
        "{}",
        text.error()
    );
    assert_eq!(
        (workspace.read(REGISTRY), events(&workspace)),
        (before, Vec::new())
    );
}

#[test]
fn versions_with_other_exams_are_compared_only_after_one_audit_of_both() {
    let workspace = workspace("http://127.0.0.1:1");
    let mut other = version("v3", "L3");
    other["exam_hash"] = json!("b".repeat(64));
    let mut registry: Value = serde_json::from_str(&workspace.read(REGISTRY)).unwrap();
    registry["specialists"][0]["versions"]
        .as_array_mut()
        .unwrap()
        .push(other);
    workspace.write(REGISTRY, registry.to_string());
    let refused = workspace
        .roleos(&["--json", "specialist", "promote", "Checker", "v3"])
        .exits(2);
    assert_eq!(refused.json_error()["code"], "exam_differs");
    for id in ["v1-l1", "v3"] {
        let record = json!({ "role": "Checker", "version": id, "exam_hash": "one" });
        workspace.write(&format!(".role-os/audits/{id}.json"), record.to_string());
    }
    workspace
        .roleos(&["specialist", "promote", "Checker", "v3"])
        .exits(0);
}

#[test]
fn register_enters_a_version_or_refuses_it_whole() {
    let workspace = workspace("http://127.0.0.1:1");
    workspace.write(
        "new.json",
        json!({ "id": "n1", "adapter_id": "n", "base_model": "google/gemma-3-9b" }).to_string(),
    );
    workspace.write(
        "claude.json",
        json!({ "id": "n2", "adapter_id": "n", "base_model": "claude-3" }).to_string(),
    );
    workspace.write(
        "card.json",
        json!({ "id": "recipe-1", "seed": 7 }).to_string(),
    );
    let register =
        |words: &[&str]| workspace.roleos(&[&["specialist", "register"], words].concat());
    let said = register(&["Checker", "new.json", "--recipe", "card.json"]).succeeds();
    assert!(said.starts_with("registered Checker/n1 (L0) — active_version unchanged (v1-l1).\nrecipe: recipe-1 (sha256 "), "{said}");
    assert!(said.contains("recipe gap: dataset\n"), "{said}");
    assert_eq!(events(&workspace)[0]["data"]["recipe_card"], "recipe-1");
    let before = workspace.read(REGISTRY);
    for (words, code, name) in [
        (&["Checker", "new.json"][..], 1, "duplicate_version"),
        (&["Other", "new.json"], 1, "no_backend"),
        (&["Checker", "missing.json"], 1, "file_not_found"),
        (&["Checker", "claude.json"], 2, "registry_invalid"),
        (
            &["Checker", "claude.json", "--recipe", "claude.json"],
            2,
            "registry_invalid",
        ),
        (
            &["Checker", "new.json", "--recipe", "missing.json"],
            1,
            "file_not_found",
        ),
        (
            &[
                "Other",
                "new.json",
                "--backend-url",
                "http://h",
                "--workload-quota",
                "7",
            ],
            2,
            "registry_invalid",
        ),
    ] {
        let ran = workspace
            .roleos(&[&["--json", "specialist", "register"], words].concat())
            .exits(code);
        assert_eq!(ran.json_error()["code"], name, "{words:?}");
    }
    assert_eq!(workspace.read(REGISTRY), before);
    let other = register(&[
        "Other",
        "new.json",
        "--backend-url=http://h",
        "--workload-quota=0.5",
    ])
    .succeeds();
    assert!(
        other.contains("active_version unchanged (null)."),
        "{other}"
    );
    let status = workspace
        .roleos(&["--json", "specialist", "status", "--role", "Other"])
        .exits(0)
        .json();
    assert_eq!(status["roles"][0]["quota"]["cap"], 0.5);
    assert!(
        status["roles"][0]["warning"]
            .as_str()
            .unwrap()
            .contains("in the open")
    );
}

#[test]
fn an_invalid_registry_names_every_problem() {
    let workspace = workspace("http://127.0.0.1:1");
    let text = workspace
        .read(REGISTRY)
        .replace("Qwen/Qwen3-8B", "claude-3")
        .replace("0.6", "6");
    workspace.write(REGISTRY, &text);
    for words in [
        &["list"][..],
        &["status"],
        &["promote", "Checker", "v2-l2"],
        &["rollback", "Checker", "v2-l2"],
    ] {
        let ran = workspace
            .roleos(&[&["specialist"], words].concat())
            .exits(2);
        assert_eq!(
            ran.stderr
                .lines()
                .filter(|line| line.starts_with(" - specialists[0] (role=\"Checker\")"))
                .count(),
            4,
            "{ran:?}"
        );
        let ran = workspace
            .roleos(&[&["--json", "specialist"], words].concat())
            .exits(2);
        assert!(ran.json_error()["message"].as_str().unwrap().contains("R6"));
    }
    assert_eq!(workspace.read(REGISTRY), text);
}

#[test]
fn a_halt_by_hand_holds_until_it_is_cleared() {
    let workspace = workspace("http://127.0.0.1:1");
    workspace.write("in.json", "{\"embedding\":[1,0]}");
    let decide = || {
        workspace
            .roleos(&[
                "--json",
                "dispatch",
                "Checker",
                "--input",
                "in.json",
                "--dry-run",
            ])
            .exits(0)
            .json()["decision"]["reason"]
            .clone()
    };
    assert_eq!(decide(), "ok");
    workspace
        .roleos(&["specialist", "halt", "Checker"])
        .exits(1);
    workspace
        .roleos(&["--json", "specialist", "halt", "Nobody", "--reason", "x"])
        .exits(1);
    let halted = workspace
        .roleos(&[
            "specialist",
            "halt",
            "Checker",
            "--reason",
            "wrong labels",
            "--operator",
            "ana",
        ])
        .succeeds();
    assert!(
        halted.contains("roleos specialist clear-halt \"Checker\""),
        "{halted}"
    );
    assert_eq!(decide(), "shadow_probe_halt");
    let status = workspace.roleos(&["specialist", "status"]).succeeds();
    assert!(
        status.contains("HALTED — halted by ana: wrong labels"),
        "{status}"
    );
    workspace
        .roleos(&["specialist", "promote", "Checker", "v2-l2"])
        .exits(0);
    assert_eq!(decide(), "shadow_probe_halt", "a promotion lifts no halt");
    std::fs::remove_file(workspace.path(STATE)).unwrap();
    assert_eq!(
        decide(),
        "shadow_probe_halt",
        "deleting the state lifts no halt"
    );
    let cleared = workspace
        .roleos(&[
            "specialist",
            "clear-halt",
            "Checker",
            "--operator",
            "ana",
            "--reason",
            "fixed",
        ])
        .succeeds();
    assert!(
        cleared.starts_with(
            "cleared halt for \"Checker\". previous reason: halted by ana: wrong labels"
        ),
        "{cleared}"
    );
    assert_eq!(decide(), "ok");
    let again = workspace
        .roleos(&["specialist", "clear-halt", "Checker"])
        .succeeds();
    assert_eq!(again, "role \"Checker\" was not halted; no action taken.\n");
    assert_eq!(
        events(&workspace).last().unwrap()["data"],
        json!({ "operator": "ana", "reason": "fixed" })
    );
}

#[test]
fn a_state_of_the_published_tool_is_cleared_and_a_damaged_one_is_not() {
    let workspace = workspace("http://127.0.0.1:1");
    let old = json!({ "schema": "roleos-specialist-state/v1", "roles": { "Checker": { "dispatch_timestamps": [1], "probe_counter": 1, "halt": { "reason": "old", "since": "t" } } } });
    workspace.write(STATE, old.to_string());
    let cleared = workspace
        .roleos(&["specialist", "clear-halt", "Checker"])
        .succeeds();
    assert_eq!(
        cleared,
        "cleared halt for \"Checker\". previous reason: old\n"
    );
    assert_eq!(events(&workspace)[0]["kind"], "clear-halt");
    workspace.write(STATE, "{damaged");
    assert_eq!(
        workspace
            .roleos(&["--json", "specialist", "clear-halt", "Checker"])
            .exits(1)
            .json_error()["code"],
        "state_unreadable"
    );
    let status = workspace
        .roleos(&["--json", "specialist", "status"])
        .exits(2);
    assert_eq!(status.json_error()["code"], "state_unreadable");
    assert_eq!(workspace.read(STATE), "{damaged");
    let repaired = workspace.roleos(&["specialist", "repair"]).succeeds();
    assert!(
        repaired.starts_with("state: was damaged and is kept as "),
        "{repaired}"
    );
    workspace.roleos(&["specialist", "status"]).exits(0);
    assert_eq!(
        workspace.roleos(&["specialist", "repair"]).succeeds(),
        "state: readable, left as it is\n"
    );
}

#[test]
fn a_bad_variable_and_unknown_words_are_errors() {
    let workspace = workspace("http://127.0.0.1:1");
    let mut command = workspace.command(&["specialist", "status"]);
    command.env("ROLEOS_SHADOW_TAU", "2");
    let ran = crate::workspace::ran(command).exits(1);
    assert!(ran.error().contains("`ROLEOS_SHADOW_TAU=2`"), "{ran:?}");
    workspace.roleos(&["specialist", "polish"]).exits(1);
    let help = workspace.roleos(&["specialist", "--help"]).succeeds();
    for verb in [
        "list",
        "status",
        "register",
        "promote",
        "rollback",
        "halt",
        "clear-halt",
        "repair",
    ] {
        assert!(help.contains(verb), "{help}");
    }
    assert!(help.contains("Undone by `rollback`"), "{help}");
    let mut elsewhere = workspace.command(&["specialist", "list", "--registry", "other.json"]);
    elsewhere.env("ROLEOS_SPECIALISTS_PATH", "third.json");
    assert!(
        crate::workspace::ran(elsewhere)
            .succeeds()
            .contains("registered at other.json")
    );
}

const FALLBACK: &str = "[fallback.claude]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"echo '{\\\"label\\\":\\\"general\\\"}'\"]\n";

#[test]
fn dispatch_answers_with_its_receipt() {
    let adapter = Adapter::new(|request| {
        reply(
            &json!({ "verdict": { "label": "special" }, "score": 0.9, "adapter_id": request.body["adapter_id"] }),
        )
    });
    let workspace = workspace(&adapter.url);
    workspace.write(".role-os/config.toml", FALLBACK);
    workspace.write("in.json", "{\"embedding\":[1,0],\"claim\":\"secret\"}");
    let answer = workspace
        .roleos(&[
            "--json",
            "dispatch",
            "Checker",
            "--input",
            "in.json",
            "--trace-id",
            "run-1",
        ])
        .exits(0)
        .json();
    assert_eq!(answer["result"], json!({ "label": "special" }));
    let receipt = &answer["receipt"];
    let keys: Vec<&String> = receipt.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "schema",
            "role",
            "ts",
            "trace_id",
            "route",
            "source",
            "decision",
            "specialist_call",
            "shadow"
        ]
    );
    assert_eq!(
        (
            &receipt["trace_id"],
            &receipt["source"],
            &receipt["decision"]["score"]
        ),
        (&json!("run-1"), &json!("specialist"), &json!(1.0))
    );
    assert_eq!(receipt["shadow"], json!({ "fired": false, "counter": 1 }));
    workspace.write("text.txt", "no embedding");
    let open = workspace
        .roleos(&["--json", "dispatch", "Checker", "--input=text.txt"])
        .exits(0)
        .json();
    assert_eq!(
        (&open["result"], &open["receipt"]["decision"]["reason"]),
        (&json!({ "label": "general" }), &json!("ood"))
    );
    let unknown = workspace
        .roleos(&["--json", "dispatch", "Nobody", "--input", "text.txt"])
        .exits(0)
        .json();
    assert_eq!(
        unknown["receipt"]["decision"]["reason"],
        "no_registry_entry"
    );
    assert_eq!(adapter.seen().len(), 1);
    let log = workspace.read(".role-os/specialist-field-log.jsonl");
    assert_eq!(log.lines().count(), 3);
    assert!(!log.contains("secret"));
    let status = workspace
        .roleos(&["--json", "specialist", "status"])
        .exits(0)
        .json()["roles"][0]
        .clone();
    assert_eq!(
        (&status["quota"]["used"], &status["field_audit"]["samples"]),
        (&json!(1), &json!(2))
    );
    let text = workspace
        .roleos(&["dispatch", "Checker", "--input", "in.json", "--quiet"])
        .succeeds();
    assert_eq!(text, "{\n  \"label\": \"special\"\n}\n");
}

#[test]
fn dispatch_says_when_nobody_could_answer() {
    let workspace = workspace("http://127.0.0.1:1");
    workspace.write("in.json", "{\"embedding\":[1,0]}");
    let ran = workspace
        .roleos(&["--json", "dispatch", "Checker", "--input", "in.json"])
        .exits(2);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&answer["result"], &answer["receipt"]["source"]),
        (&Value::Null, &json!("claude"))
    );
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["code"], "no_answer");
    let text = workspace
        .roleos(&["dispatch", "Nobody", "--input", "in.json"])
        .exits(2);
    assert!(
        text.error().contains("no_registry_entry")
            && text.error().contains("no general model is configured"),
        "{}",
        text.error()
    );
    workspace
        .roleos(&["dispatch", "Checker", "--input", "missing.json"])
        .exits(1);
    workspace.write("binary", b"\xff\xfe");
    assert_eq!(
        workspace
            .roleos(&["--json", "dispatch", "Checker", "--input", "binary"])
            .exits(1)
            .json_error()["code"],
        "bad_input"
    );
}

#[test]
fn a_disagreeing_adapter_stays_halted_across_processes_until_it_is_cleared() {
    let adapter = Adapter::new(|request| {
        reply(&json!({ "verdict": "wrong", "adapter_id": request.body["adapter_id"] }))
    });
    let workspace = workspace(&adapter.url);
    workspace.write(
        ".role-os/config.toml",
        format!("[specialist]\nshadow_every = 1\n{FALLBACK}"),
    );
    workspace.write("in.json", "{\"embedding\":[1,0]}");
    let dispatch = || {
        workspace
            .roleos(&["--json", "dispatch", "Checker", "--input", "in.json"])
            .exits(0)
            .json()["receipt"]
            .clone()
    };
    for _ in 0..3 {
        assert_eq!(dispatch()["shadow"]["halt_triggered"], false);
    }
    assert_eq!(dispatch()["shadow"]["halt_triggered"], true);
    let halted = dispatch();
    assert_eq!(
        (&halted["source"], &halted["decision"]["reason"]),
        (&json!("claude"), &json!("shadow_probe_halt"))
    );
    assert_eq!(adapter.seen().len(), 4, "a halted adapter is not asked");
    assert!(
        halted["decision"]["detail"]
            .as_str()
            .unwrap()
            .contains("the specialist said wrong, Claude said {\"label\":\"general\"}")
    );
    workspace
        .roleos(&["specialist", "clear-halt", "Checker"])
        .exits(0);
    let fresh = dispatch();
    assert_eq!(
        (&fresh["source"], &fresh["shadow"]["probes"]),
        (&json!("specialist"), &json!(1))
    );
}

/// Kills promotions and rollbacks at all moments of their run. Afterwards the registry is valid and the log agrees with it.
#[test]
fn a_kill_at_any_time_leaves_the_old_pointer_or_the_new_one_and_a_log_that_agrees() {
    let workspace = workspace("http://127.0.0.1:1");
    let start = |words: &[&str]| {
        let mut command = workspace.command(&[&["specialist"], words].concat());
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let moves: [&[&str]; 2] = [
        &["promote", "Checker", "v2-l2", "--operator", "ana"],
        &["rollback", "Checker", "v1-l1", "--operator", "ana"],
    ];
    let begun = Instant::now();
    start(moves[0]).wait().unwrap();
    let mut longest = begun.elapsed();
    let (mut hits, mut seen) = (0, [0, 0]);
    for attempt in 0_u32.. {
        let moment = f64::from(attempt) * 0.618_034 % 1.0;
        let direction = usize::try_from(attempt % 2).unwrap() ^ 1;
        let mut child = start(moves[direction]);
        thread::sleep(longest.mul_f64(moment));
        child.kill().unwrap();
        let came_too_late = child.wait().unwrap().success();
        longest = longest.mul_f64(if came_too_late { 0.96 } else { 1.02 });
        hits += u32::from(!came_too_late);
        let now = active(&workspace);
        seen[usize::from(now == "v2-l2")] += 1;
        assert!(now == "v1-l1" || now == "v2-l2", "{now}");
        assert_eq!(
            events(&workspace).last().unwrap()["data"]["to_version"],
            now,
            "after {hits} kills"
        );
        if hits == 100 {
            break;
        }
    }
    assert!(seen[0] > 5 && seen[1] > 5, "{seen:?}");
}

/// The program is ended with `kill -9` after the receipt is in the log and before the pointer moves.
#[test]
fn a_kill_between_receipt_and_pointer_is_finished_by_whoever_looks_next() {
    let workspace = workspace("http://127.0.0.1:1");
    let pointer = || {
        let registry: Value = serde_json::from_str(&workspace.read(REGISTRY)).unwrap();
        registry["specialists"][0]["active_version"].clone()
    };
    let pending = workspace.path(".role-os/specialists.json.pending");
    for round in 0..100 {
        let (verb, from, to) = if round % 2 == 0 {
            ("promote", "v1-l1", "v2-l2")
        } else {
            ("rollback", "v2-l2", "v1-l1")
        };
        let words = [
            "specialist",
            verb,
            "Checker",
            to,
            "--operator",
            "roleos-test-kill",
        ];
        let killed = workspace.command(&words).output().unwrap();
        assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
        assert!(pending.exists() && pointer() == from, "round {round}");
        let last = events(&workspace).pop().unwrap();
        assert_eq!(
            (&last["kind"], &last["data"]["to_version"]),
            (&json!(verb), &json!(to))
        );
        assert_eq!(active(&workspace), to);
        assert_eq!(pointer(), to);
        assert!(!pending.exists());
        assert_eq!(events(&workspace).len(), round + 1, "one receipt a move");
    }
}

#[test]
fn files_lie_where_the_variables_say() {
    let workspace = workspace("http://127.0.0.1:1");
    workspace.write(".role-os/config.toml", FALLBACK);
    workspace.write("in.json", "{}");
    let dispatch = |variables: &[(&str, &str)]| {
        let mut command = workspace.command(&["dispatch", "Checker", "--input", "in.json"]);
        command.envs(variables.iter().copied());
        crate::workspace::ran(command).exits(0);
    };
    let (state, events) = (
        "ROLEOS_SPECIALIST_STATE_PATH",
        "ROLEOS_SPECIALIST_EVENTS_PATH",
    );
    dispatch(&[
        (state, "far/away/state.json"),
        (events, "far/log/events.jsonl"),
    ]);
    assert!(workspace.read("far/away/state.json").contains("\"C\""));
    let beside = workspace.read("far/log/specialist-field-log.jsonl");
    assert_eq!(beside.lines().count(), 1);
    dispatch(&[("ROLEOS_SPECIALIST_FIELD_LOG_PATH", "new/deep/field.jsonl")]);
    assert_eq!(workspace.read("new/deep/field.jsonl").lines().count(), 1);
    assert!(
        !workspace
            .path(".role-os/specialist-field-log.jsonl")
            .exists()
    );
    let unknown = [("ROLEOS_SPECIALISTS_PATH", "none.json")];
    let mut command = workspace.command(&["--json", "dispatch", "Checker", "--input", "in.json"]);
    command.envs(unknown);
    let answer = crate::workspace::ran(command).exits(0).json();
    assert_eq!(answer["receipt"]["decision"]["reason"], "no_registry_entry");
}
