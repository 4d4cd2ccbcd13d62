//! Next steps for an operator: each sentence names an obstacle and the command that removes it.

use serde_json::{Value, json};

use crate::specialist::{version, workspace};
use crate::workspace::Workspace;

const NOWHERE: &str = "http://127.0.0.1:1";

fn run(place: &Workspace, words: &[&str]) -> String {
    place
        .roleos(&[&["specialist"], words].concat())
        .exits(0)
        .stdout
}

/// Returns the steps of `status`, and asserts that those of `promote` are the same.
fn steps(place: &Workspace) -> Vec<String> {
    let status = place.roleos(&["--json", "specialist", "status"]).json();
    let named = status["roles"][0]["next"].as_array().unwrap().clone();
    named
        .iter()
        .map(|step| step.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn status_and_promote_name_what_keeps_a_version_from_answering() {
    let place = workspace(NOWHERE);
    let general = "no probes are bought without one";
    assert!(matches!(steps(&place).as_slice(), [only] if only.contains(general)));
    place.write(
        ".role-os/config.toml",
        "[fallback.claude]\nkind = \"command\"\ncommand = [\"echo\"]\n",
    );
    assert_eq!(steps(&place), Vec::<String>::new());
    // A version that the selector scores needs one.
    let mut registry: Value =
        serde_json::from_str(&place.read(".role-os/specialists.json")).unwrap();
    for version in registry["specialists"][0]["versions"]
        .as_array_mut()
        .unwrap()
    {
        version.as_object_mut().unwrap().remove("exam_centroid");
    }
    place.write(".role-os/specialists.json", registry.to_string());
    let only = |expected: &[&str]| {
        let found = steps(&place);
        let [step] = found.as_slice() else {
            panic!("{found:?}")
        };
        for part in expected {
            assert!(step.contains(part), "{part}: {step}");
        }
        let text = run(&place, &["status"]);
        assert!(text.contains(&format!("next:    {step}")), "{text}");
        let reason = ["--force", "--reason", "x"];
        let promoted = run(
            &place,
            &[&["promote", "Checker", "v1-l1"], &reason[..]].concat(),
        );
        assert!(promoted.contains(&format!("next: {step}")), "{promoted}");
    };
    only(&["`v1-l1` has no training data", "--learn --cases SET"]);
    place.write(".role-os/selector.json", "{");
    only(&["selector.json", "`roleos selector train --force`"]);
    std::fs::remove_file(place.path(".role-os/selector.json")).unwrap();
    let first = |expected: &str| {
        let found = steps(&place);
        assert!(found[0].contains(expected), "{found:?}");
    };
    run(&place, &["halt", "Checker", "--reason", "x"]);
    first("the role is halted: `roleos specialist clear-halt \"Checker\"` lifts it");
    run(&place, &["clear-halt", "Checker"]);
    // By its probes.
    let state = json!({
        "schema": "roleos-specialist-state/v3", "dispatched": 0, "dispatches": "", "reservations": [],
        "roles": { "Checker": {
            "dispatched": 0, "dispatches": "", "probe_counter": 0, "probes_by_version": {}, "halt": null,
            "halts_by_version": { "v1-l1": { "reason": "r", "since": "2026-09-03T10:00:00Z" } },
        } },
    });
    place.write(".role-os/specialist-state.json", state.to_string());
    first("`roleos specialist clear-halt \"Checker\" v1-l1` lifts it");
    assert!(
        !steps(&place)[0].contains("rollback"),
        "there is nothing to go back to"
    );
    let unknown = place.roleos(&["--json", "specialist", "clear-halt", "nope"]);
    assert_eq!(unknown.exits(1).json_error()["code"], "unknown_role");
    let cleared = run(&place, &["clear-halt", "Checker", "v2-l2"]);
    assert_eq!(
        cleared.lines().collect::<Vec<_>>(),
        [
            "version \"Checker/v2-l2\" has no halt of its own; no action taken.",
            "\"Checker/v1-l1\" stays halted: r"
        ]
    );
}

#[test]
fn a_second_canary_says_that_it_ends_the_first() {
    let place = workspace(NOWHERE);
    place.write("v3.json", version("v3-l2", "L2").to_string());
    let words = ["register", "Checker", "v3.json", "--certified-by", "ana"];
    run(&place, &words);
    let canary = |version: &str| {
        let words = ["promote", "Checker", version, "--share", "10%"];
        run(
            &place,
            &[&words[..], &["--force", "--reason", "x"]].concat(),
        )
    };
    assert!(!canary("v2-l2").contains("ends with it"));
    let second = canary("v3-l2");
    assert!(
        second.contains("the canary v2-l2 ends with it, undecided"),
        "{second}"
    );
    let probe = |agreed: bool, input: &str| {
        let data =
            json!({ "trace_id": "t", "version": "v3-l2", "input_form": input, "agreed": agreed });
        json!({ "kind": "shadow-probe", "role": "Checker", "ts": "2026-09-03T10:00:00Z", "data": data })
    };
    let lines = [
        probe(true, "0001"),
        probe(true, "0001"),
        probe(false, "0002"),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    place.write(".role-os/specialist-shadow-probes.jsonl", lines);
    let shown = run(&place, &["status"]);
    let figures = "v3-l2 on 10.0% of the inputs; 2 of 3 probes agreed, 1 of 2 on different inputs";
    assert!(shown.contains(figures), "{shown}");
    let ended = run(&place, &["rollback", "Checker"]);
    let expected = "rollback Checker: the canary v3-l2 ends, undecided; v1-l1";
    assert!(ended.contains(expected), "{ended}");
}

#[test]
fn what_nobody_can_answer_is_said_and_not_explained() {
    let place = workspace(NOWHERE);
    place.write("blank.txt", " \n");
    place.write("in.txt", "a question");
    for (role, input, code) in [
        ("Checker", "blank.txt", "empty_input"),
        ("Chekcer", "in.txt", "unknown_role"),
    ] {
        for command in ["explain-route", "dispatch"] {
            let words = ["--json", command, role, "--input", input];
            assert_eq!(place.roleos(&words).exits(1).json_error()["code"], code);
        }
    }
    let case = json!({ "input": "a", "expected_format": "rule_check", "verifier_config": { "rule": "contains", "text": "x" }, "expected_output": "x" });
    let set = json!({ "audit_id": "s", "version": "v1", "test_cases": [case] });
    place.write("set.json", set.to_string());
    let learn = ["dispatch", "Checker", "--learn", "--cases", "set.json"];
    for is_halted in [false, true] {
        if is_halted {
            run(&place, &["halt", "Checker", "--reason", "x"]);
        }
        let said = place.roleos(&learn).exits(1).stderr;
        assert!(said.contains("no adapter answered in 1 of 1"), "{said}");
        assert!(!said.contains("selector train"), "{said}");
    }
}

#[test]
fn a_retired_version_is_not_registered_again_and_a_broken_log_is_kept() {
    let place = workspace(NOWHERE);
    run(&place, &["retire", "Checker", "v2-l2"]);
    place.write("v9.json", version("v9", "L9").to_string());
    let words = ["--json", "specialist", "register", "Checker", "v9.json"];
    let words = [&words[..], &["--certified-by", "ana"]].concat();
    let refused = place.roleos(&words).exits(1).json_error();
    assert_eq!(refused["code"], "bad_level");
    place.write("v2.json", version("v2-l2", "L0").to_string());
    let words = ["--json", "specialist", "register", "Checker", "v2.json"];
    let refused = place.roleos(&words).exits(1).json_error();
    assert_eq!(
        refused["message"],
        "R3: role `Checker` has a version `v2-l2` already, which is deprecated"
    );
    assert!(refused["hint"].as_str().unwrap().contains("it stays out"));
    place.write(".role-os/run_log.jsonl", "{}\n");
    let verified = place.roleos(&["runs", "verify"]).exits(1);
    let advice = verified.stderr;
    assert!(
        advice.contains("put back, counts again") && advice.contains("rename it"),
        "{advice}"
    );
}
