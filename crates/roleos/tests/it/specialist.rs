//! `roleos specialist` and `roleos dispatch` for operators, scripts and after crashes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use selection::audit::record::{Measured, Whose};
use selection::audit::{AuditRecord, AuditSet, Given};
use selection::metric::Metric;
use selection::verifier::Outcome;
use serde_json::{Value, json};

use crate::adapter::{Adapter, json as reply};
use crate::workspace::Workspace;

const REGISTRY: &str = ".role-os/specialists.json";
const STATE: &str = ".role-os/specialist-state.json";
const EVENTS: &str = ".role-os/specialist-events.jsonl";

pub(super) fn version(id: &str, level: &str) -> Value {
    json!({
        "id": id, "adapter_id": format!("{id}-adapter"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
        "certified_level": level, "exam_hash": "a11ce0de".repeat(8), "field_audit_window": 200,
        "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
    })
}

/// Returns a workspace with one role: `v1-l1` (active) and `v2-l2` certified, `v0` not.
pub(super) fn workspace(url: &str) -> Workspace {
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
        "  Checker  —  active=v1-l1 (L1 claimed), quota=0.6, versions=3\n      v0  L0  base=Qwen/Qwen3-8B  adapter=v0-adapter\n    * v1-l1  L1 claimed  base=Qwen/Qwen3-8B  adapter=v1-l1-adapter\n      v2-l2  L2 claimed  base=Qwen/Qwen3-8B  adapter=v2-l2-adapter\n"
    );
}

#[test]
fn status_shows_quota_halt_probes_and_the_field() {
    let workspace = workspace("http://127.0.0.1:1");
    let text = workspace.roleos(&["specialist", "status"]).succeeds();
    for part in [
        "quota:   0/200  (share=0.0%, cap=60%)",
        "halt: ok",
        "probes:  0 of 0 agreed, 85.0% required",
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
    workspace.write(
        ".role-os/config.toml",
        "[fallback.claude]\nkind = \"command\"\ncommand = [\"echo\"]\n",
    );
    let promoted = workspace
        .roleos(&[
            "specialist",
            "promote",
            "Checker",
            "v2-l2",
            "--operator=ana",
            "--force",
            "--reason=known",
        ])
        .succeeds();
    assert_eq!(
        promoted,
        "promote Checker: v1-l1 → v2-l2 (L2)\n\n  ◆  Checker — L2 claimed · v2-l2 · exam a11ce0dea11c\n"
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
        json!({ "from_version": "v1-l1", "to_version": "v2-l2", "certified_level": "L2", "forced": true, "operator": "ana", "reason": "known" })
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
        .command(&[
            "specialist",
            "promote",
            "Checker",
            "v2-l2",
            "--force",
            "--reason",
            "x",
        ])
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
        (["rollback", "Checker", "v2-l2"], 2, "never_active"),
        (["promote", "Checker", "v2-l2"], 2, "not_compared"),
        (["promote", "Checker", "v"], 1, "ambiguous_version"),
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

/// Writes the record of an exam of sixty cases with this number of right answers.
fn examined(workspace: &Workspace, id: &str, exam: &str, right: usize) {
    let case = |number: usize| {
        json!({ "input": format!("{exam} s{}", "o".repeat(number + 1)), "expected_format": "rule_check",
            "verifier_config": { "rule": "contains", "text": "x" }, "expected_output": "x" })
    };
    let set = json!({ "audit_id": exam, "version": "v1", "test_cases": (0..60).map(case).collect::<Vec<_>>() });
    let set = AuditSet::parse(&set).unwrap();
    let metric = Metric::v1();
    let answers = set.cases.iter().enumerate().map(|(index, case)| {
        let measured = Measured {
            output: json!(if index < right { "x" } else { "wrong" }),
            outcome: Outcome::Pass,
            refusal_penalty: 0.0,
            time_ms: 10,
            output_tokens: 1,
        };
        Given::of(index, case, measured, &metric)
    });
    let whose = Whose {
        role: "Checker",
        version: id,
        model_id: id,
        subject: "",
        identity: "",
        finished_at: if exam == "one" {
            "2026-09-03T10:00:01Z"
        } else {
            "2026-09-03T10:00:00Z"
        },
    };
    let mut record = AuditRecord::of(whose, &set, &metric, answers.collect(), None);
    // Like an older record, which does not name its backend.
    record.subject = None;
    let text = serde_json::to_string(&record).unwrap();
    workspace.write(&format!(".role-os/audits/Checker/{id}-{exam}.json"), text);
}

#[test]
fn a_promotion_compares_both_versions_on_one_exam() {
    let place = workspace("http://127.0.0.1:1");
    let promote = |more: &[&str]| {
        let words = ["--json", "specialist", "promote", "Checker", "v2"];
        place.roleos(&[&words[..], more].concat())
    };
    let code = || promote(&[]).exits(2).json_error()["code"].clone();
    examined(&place, "v1-l1", "one", 60);
    examined(&place, "v2-l2", "two", 60);
    assert_eq!(code(), "not_compared");
    examined(&place, "v2-l2", "one", 36);
    assert_eq!(code(), "exam_failed");
    examined(&place, "v2-l2", "one", 58);
    let worse = promote(&[]).exits(2).json_error();
    assert_eq!(worse["code"], "worse");
    let said = worse["message"].as_str().unwrap();
    assert!(said.contains("quality -0.033 against `v1-l1`"), "{said}");
    assert_eq!(events(&place), Vec::<Value>::new());
    promote(&["--force"]).exits(1);
    examined(&place, "v2-l2", "one", 59);
    let moved = promote(&[]).exits(0).json();
    assert_eq!(moved["to_version"], "v2-l2");
    assert!(moved["comparison"].as_str().unwrap().contains("measured"));
    assert!(events(&place)[0]["data"]["comparison"].is_string());
    let again = promote(&[]).exits(0).json();
    assert_eq!(again["from_version"], "v2-l2", "and no second event");
    assert_eq!(events(&place).len(), 1);
}

#[test]
fn a_failed_exam_is_shown_and_blocks_a_first_promotion() {
    let place = workspace("http://127.0.0.1:1");
    let run = |words: &[&str]| place.roleos(&[&["--json", "specialist"], words].concat());
    run(&["deactivate", "Checker", "--reason", "x"]).exits(0);
    assert_eq!(active(&place), Value::Null);
    examined(&place, "v1-l1", "one", 36);
    let refused = run(&["promote", "Checker", "v1-l1"]).exits(2).json_error();
    assert_eq!(refused["code"], "exam_failed");
    run(&[
        "promote", "Checker", "v1-l1", "--force", "--reason", "known",
    ])
    .exits(0);
    let status = place.roleos(&["specialist", "status"]).succeeds();
    assert!(
        status.contains(
            "exam:    NOT PASSED: 36 of 60 cases passed, 0 verifier failures, 24 wrong answers"
        ),
        "{status}"
    );
}

#[test]
fn who_serves_is_set_beside_retired_and_rolled_back() {
    let place = workspace("http://127.0.0.1:1");
    let run = |words: &[&str]| place.roleos(&[&["--json", "specialist"], words].concat());
    let entry = || {
        let registry: Value = serde_json::from_str(&place.read(REGISTRY)).unwrap();
        registry["specialists"][0].clone()
    };
    let code = |words: &[&str], exit| run(words).exits(exit).json_error()["code"].clone();
    assert_eq!(code(&["beside", "Checker", "v0"], 2), "uncertified");
    let beside = run(&["beside", "Checker", "v2"]).exits(0).json();
    assert_eq!(beside["beside"], json!(["v2-l2"]));
    let listed = place.roleos(&["specialist", "list"]).succeeds();
    assert!(listed.contains("v2-l2  L2 claimed  beside"), "{listed}");
    examined(&place, "v1-l1", "one", 60);
    examined(&place, "v2-l2", "one", 60);
    let canary = run(&["promote", "Checker", "v2", "--share", "10%"])
        .exits(0)
        .json();
    assert_eq!(canary["share"], 0.1);
    assert_eq!(
        entry()["canary"],
        json!({ "version": "v2-l2", "share": 0.1 })
    );
    assert_eq!(active(&place), "v1-l1");
    assert_eq!(canary["ended_canary"], Value::Null);
    run(&["promote", "Checker", "v2-l2"]).exits(0);
    assert_eq!(
        (&entry()["canary"], &entry()["beside"]),
        (&Value::Null, &json!([]))
    );
    run(&["beside", "Checker", "v1-l1"]).exits(0);
    run(&["beside", "Checker", "v1-l1", "--remove"]).exits(0);
    run(&["rollback", "Checker"]).exits(0);
    assert_eq!(active(&place), "v1-l1", "the one before");
    run(&[
        "set",
        "Checker",
        "--threshold",
        "0.4",
        "--quota",
        "0.9",
        "--timeout",
        "2000",
        "--contract",
        "openai",
        "--auth-env",
        "T",
    ])
    .exits(0);
    let now = entry();
    assert_eq!(
        (
            &now["workload_quota"],
            &now["timeout_ms"],
            &now["contract"],
            &now["auth_env"]
        ),
        (&json!(0.9), &json!(2000), &json!("openai"), &json!("T"))
    );
    assert_eq!(now["versions"][1]["gate_threshold"], 0.4);
    for beyond in [["--threshold", "4"], ["--quota", "0"]] {
        run(&[&["set", "Checker"][..], &beyond].concat()).exits(1);
    }
    assert_eq!(code(&["set", "Checker"], 1), "nothing_to_set");
    run(&["retire", "Checker", "v1"]).exits(0);
    assert_eq!(active(&place), Value::Null);
    assert_eq!(code(&["promote", "Checker", "v1-l1"], 2), "withdrawn");
    assert_eq!(code(&["rollback", "Checker"], 2), "nothing_active");
    run(&["retire", "Checker"]).exits(0);
    let kinds: Vec<Value> = events(&place)
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            "beside", "canary", "promote", "beside", "beside", "rollback", "set", "withdraw",
            "withdraw"
        ]
    );
}

#[test]
fn without_an_active_version_only_the_general_model_answers_and_who_was_left_serves_nowhere() {
    let adapter = Adapter::new(|request| {
        let echo = request.body["adapter_id"].clone();
        reply(&json!({ "verdict": "adapter", "adapter_id": echo }))
    });
    let place = workspace(&adapter.url);
    place.write("in.json", "{\"embedding\":[1,0]}");
    place.write(
        ".role-os/config.toml",
        "[specialist]\nshadow_every = 1000000\n[fallback.claude]\nkind = \"command\"\n\
         command = [\"sh\", \"-c\", \"cat >/dev/null; echo '\\\"general\\\"'\"]\n",
    );
    let run = |words: &[&str]| place.roleos(&[&["specialist"], words].concat());
    let dispatch = |more: &[&str]| {
        let words = ["--json", "dispatch", "Checker", "--input", "in.json"];
        let answer = place.roleos(&[&words[..], more].concat()).exits(0).json();
        answer["result"].clone()
    };
    let said = run(&["rollback", "Checker"]).exits(2);
    assert!(said.stderr.contains("nothing to roll back to"), "{said:?}");
    run(&["deactivate", "Checker"]).exits(0);
    for more in [&[][..], &["--k", "1"], &["--k", "2"]] {
        assert_eq!(dispatch(more), "general", "{more:?}");
    }
    place.write(
        ".role-os/config.toml",
        format!(
            "{}[selection]\nk_infer = 2\n",
            place.read(".role-os/config.toml")
        ),
    );
    assert_eq!(dispatch(&[]), "general", "k_infer");
    assert_eq!(adapter.seen().len(), 0);
    for version in ["v1-l1", "v2-l2"] {
        run(&["promote", "Checker", version, "--force", "--reason", "x"]).exits(0);
    }
    run(&["rollback", "Checker"]).exits(0);
    for more in [&[][..], &["--k", "1"], &["--k", "2"]] {
        assert_eq!(dispatch(more), "adapter", "{more:?}");
    }
    for request in adapter.seen() {
        assert_eq!(request.body["adapter_id"], "v1-l1-adapter");
    }
}

#[test]
fn a_level_is_taken_from_a_file_only_with_a_name() {
    let place = workspace("http://127.0.0.1:1");
    let register = |id: &str, more: &[&str]| {
        let version = json!({ "id": id, "adapter_id": "n", "base_model": "google/gemma-3-9b", "certified_level": "L5",
            "evidence_level": "L5", "certified_by": "me" });
        place.write("v.json", version.to_string());
        let words = ["--json", "specialist", "register", "Checker", "v.json"];
        place.roleos(&[&words[..], more].concat()).exits(0)
    };
    let plain = register("n1", &[]);
    let plain = plain.json();
    assert_eq!(
        (&plain["certified_level"], &plain["refused_level"]),
        (&json!("L0"), &json!("L5"))
    );
    let named = register("n2", &["--certified-by", "harness"]).json();
    assert_eq!(named["certified_level"], "L5");
    assert_eq!(events(&place)[1]["data"]["certified_by"], "harness");
    let listed = place.roleos(&["specialist", "list"]).succeeds();
    assert!(
        listed.contains("n1  L0  ") && listed.contains("n2  L5 claimed  "),
        "{listed}"
    );
    place.write("in.json", "{\"embedding\":[1,0]}");
    let reason = || {
        let words = [
            "--json",
            "dispatch",
            "Checker",
            "--input",
            "in.json",
            "--dry-run",
        ];
        place.roleos(&words).exits(0).json()["decision"]["reason"].clone()
    };
    assert_eq!(reason(), "ok");
    place.write(
        ".role-os/config.toml",
        "[specialist]\nclaimed_levels = \"refuse\"\n",
    );
    assert_eq!(reason(), "uncertified_active_version");
    // Evidence in a registry may have come with it.
    let mut registry: Value = serde_json::from_str(&place.read(REGISTRY)).unwrap();
    for version in registry["specialists"][0]["versions"]
        .as_array_mut()
        .unwrap()
    {
        version["evidence_level"] = version["certified_level"].clone();
    }
    place.write(REGISTRY, registry.to_string());
    assert_eq!(reason(), "uncertified_active_version");
    let listed = place.roleos(&["specialist", "list"]).succeeds();
    assert!(listed.contains(" claimed  "), "{listed}");
}

#[test]
fn the_block_of_a_role_file_stays_in_step() {
    let place = workspace("http://127.0.0.1:1");
    let role = "# mine\nname: Checker\ninstructions: Check it.\n";
    place.write(".role-os/roles/checker.yaml", role);
    place.write("in.json", "{\"embedding\":[1,0]}");
    let reason = || {
        let words = [
            "--json",
            "dispatch",
            "Checker",
            "--input",
            "in.json",
            "--dry-run",
        ];
        place.roleos(&words).exits(0).json()["decision"]["reason"].clone()
    };
    let run = |words: &[&str]| place.roleos(&[&["specialist"], words].concat()).succeeds();
    let file = || place.read(".role-os/roles/checker.yaml");
    assert_eq!(reason(), "role_block_off", "a file without a block");
    let status = run(&["status"]);
    assert!(
        status.contains("roleos specialist set \"Checker\" --block"),
        "{status}"
    );
    run(&["set", "Checker", "--block"]);
    assert!(
        file().starts_with(role) && file().contains("  adapter_id: \"v1-l1-adapter\"\n"),
        "{}",
        file()
    );
    assert_eq!(reason(), "ok");
    run(&["set", "Checker", "--threshold", "0.5"]);
    assert!(file().contains("gate_threshold: 0.5\n"), "{}", file());
    run(&["promote", "Checker", "v2", "--force", "--reason", "x"]);
    assert_eq!(reason(), "ok");
    assert!(file().contains("certified_level: \"L2\"\n"), "{}", file());
    run(&["deactivate", "Checker"]);
    assert_eq!(file(), role, "as it was");
    let blocks = events(&place)
        .iter()
        .filter(|event| event["kind"] == "role-block")
        .count();
    assert_eq!(blocks, 4);
    run(&["promote", "Checker", "v2", "--reason", "x"]);
    for broken in [
        "name: Checker\nname: Checker\ninstructions: y\nspecialist: {}\n",
        "name: Checker\n\tbroken\n",
        "slug: Checker\n- x\n",
    ] {
        place.write(".role-os/roles/checker.yaml", broken);
        assert_eq!(reason(), "role_block_off", "{broken}");
        let status = run(&["status"]);
        assert!(
            status.contains("checker.yaml says `specialist: null`, or cannot"),
            "{status}"
        );
    }
    std::fs::remove_file(place.path(".role-os/roles/checker.yaml")).unwrap();
    assert_eq!(reason(), "ok", "without a file the registry decides");
    place.write(
        ".role-os/roles/other.yml",
        "name: Checker\ninstructions: y\nspecialist: null\n",
    );
    assert_eq!(reason(), "role_block_off");
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
        .roleos(&[
            "specialist",
            "promote",
            "Checker",
            "v2-l2",
            "--force",
            "--reason",
            "x",
        ])
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
    let unprobed = format!("[specialist]\nshadow_every = 1000000\n{FALLBACK}");
    workspace.write(".role-os/config.toml", &unprobed);
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
    // Feedback identifies an answer by its trace.
    let feedback = |words: &[&str]| workspace.roleos(&[&["--json", "feedback"], words].concat());
    let said = feedback(&["run-1", "--score", "0", "--operator", "ana"]);
    let said = said.exits(0).json();
    assert_eq!(
        (&said["version"], &said["acceptable"]),
        (&json!("v1-l1"), &json!(false))
    );
    assert_eq!(feedback(&["--verify"]).exits(0).json()["lines"], 1);
    feedback(&["never", "--score", "1"]).exits(1);
    feedback(&["run-1", "--score", "7"]).exits(1);
    feedback(&["run-1"]).exits(1);
    workspace.roleos(&["runs", "export", "--dataset"]).exits(2);
    workspace.write("text.txt", "no embedding");
    let open = workspace
        .roleos(&["--json", "dispatch", "Checker", "--input=text.txt"])
        .exits(0)
        .json();
    assert_eq!(
        (&open["result"], &open["receipt"]["decision"]["reason"]),
        (&json!({ "label": "general" }), &json!("not_trained"))
    );
    let unknown = workspace
        .roleos(&["--json", "dispatch", "Nobody", "--input", "text.txt"])
        .exits(1)
        .json_error();
    assert_eq!(unknown["code"], "unknown_role", "nobody ever named it");
    assert_eq!(adapter.seen().len(), 1);
    let log = workspace.read(".role-os/specialist-field-log.jsonl");
    assert_eq!(log.lines().count(), 2);
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
        .roleos(&["dispatch", "Checker", "--input", "in.json"])
        .exits(2);
    assert!(
        text.error().contains("the specialist failed")
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
            .contains("the specialist said wrong, the general model said {\"label\":\"general\"}")
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

/// Kills promotions and rollbacks at all moments. Afterwards the registry is valid and the log agrees with it.
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
    for id in ["v1-l1", "v2-l2"] {
        examined(&workspace, id, "one", 60);
    }
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

/// The program is ended by `kill -9` after the receipt is in the log and before the pointer moves.
#[test]
fn a_kill_between_receipt_and_pointer_is_finished_by_whoever_looks_next() {
    let workspace = workspace("http://127.0.0.1:1");
    let pointer = || {
        let registry: Value = serde_json::from_str(&workspace.read(REGISTRY)).unwrap();
        registry["specialists"][0]["active_version"].clone()
    };
    for id in ["v1-l1", "v2-l2"] {
        examined(&workspace, id, "one", 60);
    }
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
