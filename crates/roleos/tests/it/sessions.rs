//! Actions of agents, shown to people and programs, and verdicts of another policy.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::hook::{call, hook, tell};
use crate::workspace::Workspace;

const GATE: &str = "[oversight]\ncapability_gate = true\n";
const SESSION: &str = "0199c0de-0000-7000-8000-000000000001";

/// Returns a session with many kinds of events.
fn worked() -> Workspace {
    let workspace = Workspace::with_config(GATE);
    let root = workspace.root().to_str().unwrap().to_owned();
    let say = |event: serde_json::Value| tell(hook(&workspace, "claude", &[]), &event.to_string());
    let other = |name: &str, more: serde_json::Value| {
        let mut event = json!({ "hook_event_name": name, "session_id": SESSION, "cwd": root });
        let fields = more.as_object().unwrap().clone();
        event.as_object_mut().unwrap().extend(fields);
        event
    };
    say(other(
        "SessionStart",
        json!({ "source": "startup", "model": "scripted" }),
    ))
    .exits(0);
    say(other(
        "UserPromptSubmit",
        json!({ "prompt": "Mend it,\nthen push." }),
    ))
    .exits(0);
    say(call("claude", &root, &json!({ "command": "cargo test" }))).exits(0);
    let output = "running 1 test\ntest result: FAILED. 0 passed; 1 failed\n";
    say(other(
        "PostToolUseFailure",
        json!({ "tool_name": "Bash", "tool_use_id": "toolu_01", "tool_input": { "command": "cargo test" }, "error": format!("Exit code 101\n{output}") }),
    ))
    .exits(0);
    say(call("claude", &root, &json!({ "command": "git push" }))).exits(2);
    say(other(
        "Stop",
        json!({ "last_assistant_message": "It is done." }),
    ))
    .exits(0);
    say(other("SessionEnd", json!({ "reason": "other" }))).exits(0);
    workspace
}

#[test]
fn a_session_is_listed_and_shown() {
    let workspace = worked();
    let list = workspace
        .roleos(&["--json", "sessions", "list"])
        .exits(0)
        .json();
    let row = &list[0];
    assert_eq!(row["session"], SESSION);
    assert_eq!((&row["calls"], &row["refused"]), (&json!(2), &json!(1)));
    assert_eq!(row["prompt"], "Mend it,\nthen push.");
    let text = workspace.roleos(&["sessions", "list"]).succeeds();
    assert!(
        text.contains(SESSION) && text.contains("Mend it,"),
        "{text}"
    );
    for name in ["latest", SESSION, "0199c0de"] {
        let text = workspace.roleos(&["sessions", "show", name]).succeeds();
        for part in [
            "gate on",
            "Mend it,",
            "cargo test",
            "exit 101",
            "git:push",
            "roleos approve",
            "It is done.",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    }
    let whole = workspace
        .roleos(&["--json", "sessions", "show"])
        .exits(0)
        .json();
    let lines = whole["lines"].as_array().unwrap();
    let failure = lines.iter().find(|line| line["kind"] == "failure").unwrap();
    assert_eq!(
        (&failure["exit"], &failure["test"]),
        (&json!(101), &json!(true))
    );
    assert!(
        failure["output"]["text"]
            .as_str()
            .unwrap()
            .contains("1 failed")
    );
    let error = workspace.roleos(&["sessions", "show", "nobody"]).exits(1);
    assert!(error.error().contains("`nobody`"));
    Workspace::new().roleos(&["sessions", "list"]).exits(0);
}

#[test]
fn a_session_can_be_followed_while_it_goes_on() {
    let workspace = Workspace::with_config(GATE);
    let root = workspace.root().to_str().unwrap().to_owned();
    let event = |command: &str| call("claude", &root, &json!({ "command": command })).to_string();
    tell(hook(&workspace, "claude", &[]), &event("echo first")).exits(0);
    let mut follower = workspace
        .command(&["sessions", "show", "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut wait_for = |part: &str| lines.by_ref().any(|line| line.unwrap().contains(part));
    assert!(wait_for("echo first"));
    tell(hook(&workspace, "claude", &[]), &event("echo second")).exits(0);
    assert!(wait_for("echo second"));
    let end = json!({ "hook_event_name": "SessionEnd", "session_id": SESSION, "reason": "other" });
    tell(hook(&workspace, "claude", &[]), &end.to_string()).exits(0);
    assert!(
        follower.wait().unwrap().success(),
        "it ends with the session"
    );
}

#[test]
fn a_rehearsal_shows_what_another_policy_changes() {
    let workspace = worked();
    let same = workspace.roleos(&["--json", "rehearse"]).exits(0).json();
    assert_eq!((&same["calls"], &same["changed"]), (&json!(2), &json!([])));
    workspace.write("open.toml", "");
    workspace.write("closed.toml", format!("{GATE}mode = \"restricted\"\n"));
    let open = workspace
        .roleos(&["--json", "rehearse", "--policy", "open.toml"])
        .exits(0)
        .json();
    let changed = &open["changed"][0];
    assert_eq!(
        (&changed["before"], &changed["after"]),
        (&json!("deny"), &json!("allow"))
    );
    assert_eq!(changed["text"], "git push");
    let text = workspace
        .roleos(&["rehearse", "--policy", "closed.toml"])
        .succeeds();
    assert!(
        text.contains("allow → deny") && text.contains("cargo test"),
        "{text}"
    );
    assert!(
        text.contains("1 of 2 calls would be answered differently"),
        "{text}"
    );
    let later = workspace
        .roleos(&["--json", "rehearse", "--since", "2099-01-01"])
        .exits(0)
        .json();
    assert_eq!(later["calls"], 0);
    let recent = workspace
        .roleos(&["--json", "rehearse", "--since", "2h"])
        .exits(0)
        .json();
    assert_eq!(recent["calls"], 2);
    workspace
        .roleos(&["rehearse", "--since", "whenever"])
        .exits(1);
    workspace
        .roleos(&["rehearse", "--policy", "missing.toml"])
        .exits(1);
}
