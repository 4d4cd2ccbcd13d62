//! `roleos contracts check`: for programs and for people, with good files, bad ones and none.

use serde_json::{Value, json};

use crate::workspace::Workspace;

/// A catalogue with one valid tool and one with several mistakes.
const WRONG: &str = r#"{
  "Bash": {
    "params": [{ "name": "timeout", "type": "number", "max": 600000 }, null],
    "constraints": [
      { "kind": "cmp", "op": "lte", "left": "timeout", "right": 0 },
      { "kind": "within", "field": "timeout" },
      { "kind": "cmp", "op": "ge", "left": "timeout", "right": 0 }
    ]
  },
  "mcp__x__y z": { "params": [{ "name": "a", "pattern": "(", "maximum": 5 }], "schema": { "$ref": "file:///etc/passwd" } }
}"#;

const CALLS: &str = r#"{"tool":"Bash","input":{"command":"ls","timeout":5}}

{"tool":"Bash","input":{"command":"ls","timeout":-5}}
{"tool_name":"Bash","tool_input":{"timeout":600001}}
{"tool":"Other","input":{}}
"#;

#[test]
fn the_shipped_contracts_are_fine() {
    let workspace = Workspace::new();
    assert_eq!(workspace.roleos(&["contracts", "check"]).succeeds(), "OK\n");
    let answer = workspace
        .roleos(&["contracts", "check", "--json"])
        .exits(0)
        .json();
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["file"], Value::Null);
    assert_eq!(answer["problems"], json!([]));
    assert_eq!(answer["corpus"], Value::Null);
    assert!(answer["tools"].as_u64().unwrap() > 40, "{answer}");
}

#[test]
fn the_workspace_s_own_file_comes_first() {
    let workspace = Workspace::new();
    workspace.write(".claude/role-os/tool-contracts.json", WRONG);
    let answer = workspace
        .roleos(&["contracts", "check", "--json"])
        .exits(1)
        .json();
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["tools"], 2);
    let faults = answer["problems"].as_array().unwrap();
    let seen: Vec<_> = faults
        .iter()
        .map(|fault| {
            (
                fault["path"].as_str().unwrap(),
                fault["weight"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("Bash.params[1]", "error"),
            ("Bash.constraints[0].op", "error"),
            ("Bash.constraints[1].kind", "error"),
            ("$[\"mcp__x__y z\"].params[0].maximum", "warning"),
            ("$[\"mcp__x__y z\"].params[0].pattern", "error"),
            ("$[\"mcp__x__y z\"].schema", "error"),
        ]
    );
}

#[test]
fn a_corpus_shows_which_good_calls_would_be_flagged() {
    let workspace = Workspace::new();
    workspace.write("contracts.json", WRONG);
    workspace.write("calls.jsonl", CALLS);
    let words = [
        "contracts",
        "check",
        "contracts.json",
        "--corpus",
        "calls.jsonl",
    ];
    let answer = workspace
        .roleos(&[&words[..], &["--json"]].concat())
        .exits(1)
        .json();
    assert_eq!(
        answer["corpus"],
        json!({
            "calls": 4,
            "unchecked": 1,
            "flagged": [
                { "line": 3, "tool": "Bash", "notes": [{ "level": "L4", "text": "timeout(-5) not ge 0(0)" }] },
                { "line": 4, "tool": "Bash", "notes": [{ "level": "L3", "text": "'timeout' exceeds max 600000" }] },
            ],
        })
    );
    let ran = workspace.roleos(&words).exits(1);
    insta::assert_snapshot!("contracts_check", ran.stdout);
    insta::assert_snapshot!("contracts_check_summary", ran.stderr);
}

#[test]
fn warnings_alone_fail_nothing() {
    let workspace = Workspace::new();
    workspace.write("c.json", r#"{"t":{"params":[{"name":"a","maximum":5}]}}"#);
    let text = workspace
        .roleos(&["contracts", "check", "c.json"])
        .succeeds();
    assert!(text.starts_with("warning: t.params[0].maximum: "), "{text}");
    assert!(text.ends_with("OK\n"), "{text}");
}

#[test]
fn flagged_good_calls_fail_even_a_sound_file() {
    let workspace = Workspace::new();
    workspace.write(
        "calls.jsonl",
        r#"{"tool":"Read","input":{"file_path":"a.rs"},"cwd":"/srv"}"#,
    );
    let ran = workspace
        .roleos(&["contracts", "check", "--corpus", "calls.jsonl"])
        .exits(1);
    assert_eq!(
        ran.stdout,
        "flagged: calls.jsonl:1: Read: 'file_path' should be an absolute path such as /srv/a.rs\n"
    );
}

#[test]
fn a_hostile_file_moves_no_cursor() {
    let workspace = Workspace::new();
    workspace.write("c.json", "{\"a\\u001b[2Jb\": 5}");
    let ran = workspace.roleos(&["contracts", "check", "c.json"]).exits(1);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

#[test]
fn explain_tells_what_the_contract_says_and_blocks_nothing() {
    let workspace = Workspace::new();
    let ask = |tool: &str, input: &str| {
        workspace
            .roleos(&["explain", "--json", "--tool", tool, "--input", input])
            .exits(0)
            .json()
    };
    let answer = ask("Bash", r#"{"command":"ls","timeout":600001}"#);
    assert_eq!(answer["verdict"], "advise");
    assert_eq!(
        answer["notes"],
        json!([
            "Tool-Call Conformance (advisory): \"Bash\" appears NONCONFORMANT — 'timeout' exceeds max 600000."
        ])
    );
    assert_eq!(ask("Bash", r#"{"command":"ls"}"#)["verdict"], "allow");
    workspace.write(".claude/role-os/tool-contracts.json", WRONG);
    assert_eq!(
        ask("Bash", r#"{"command":"ls","timeout":-1}"#)["verdict"],
        "advise"
    );
    assert_eq!(
        ask("Bash", r#"{"command":"ls","timeout":1}"#)["verdict"],
        "allow"
    );
}
