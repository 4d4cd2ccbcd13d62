//! Sealing of files, and imports in other workspaces; a failed seal changes nothing.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sample::{KEY_HEX, Sample};
use crate::workspace::{Workspace, keys};

const TASK: &str = "0123456789abcdef0123456789abcdef";

/// Returns a workspace with files to seal, and the arguments that seal them all.
fn prepared() -> (Workspace, Vec<&'static str>) {
    let workspace = Workspace::new();
    workspace.write("issue.md", "Make `add` add.\n");
    workspace.write("plan.md", "1. read\n2. fix\n");
    workspace.write(
        "change.patch",
        "--- a/add\n+++ b/add\n@@ -1 +1 @@\n-1-1\n+1+1\n",
    );
    workspace.write(
        "test.txt",
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
    );
    workspace.write("why.md", "It was the sign.\n");
    workspace.write(
        "calls.jsonl",
        concat!(
            r#"{"action":"Read","args":{"file":"add"},"result":"1-1","latency_ms":12,"tokens":40}"#,
            "\n\n",
            r#"{"tool":"Bash","args_hash":"00112233445566ff","latency_ms":900,"cost_microdollars":350,"retry":true}"#,
            "\n",
        ),
    );
    let words = "--spec issue.md --plan plan.md --diff change.patch --test-log test.txt --postmortem why.md \
                 --trace calls.jsonl --outcome solved --mode autonomous --fact model=large --fact role=editor \
                 --base-commit abc --rollback t1:t1 --task-id 01234567-89ab-cdef-0123-456789abcdef";
    (workspace, words.split_whitespace().collect())
}

#[test]
fn a_bundle_goes_round() {
    let (workspace, words) = prepared();
    let sealed = workspace.seal(&words);
    assert_eq!(
        keys(&sealed),
        ["task_id", "file", "sha256", "index", "repaired"]
    );
    assert_eq!(
        (&sealed["task_id"], &sealed["index"]),
        (&json!(TASK), &json!(0))
    );
    let file = sealed["file"].as_str().unwrap();
    assert!(file.ends_with(&format!("/{TASK}.rvww")));
    assert_eq!(
        sealed["sha256"],
        hex::encode(base::digest(&fs::read(file).unwrap()))
    );

    let listed = workspace
        .roleos(&["--json", "witness", "list"])
        .exits(0)
        .json();
    let row = &listed.as_array().unwrap()[0];
    assert_eq!(
        (&row["task_id"], &row["verdict"]),
        (&json!(TASK), &json!("valid"))
    );
    assert_eq!(
        (&row["model"], &row["role"]),
        (&json!("large"), &json!("editor"))
    );

    for name in [
        file,
        "0123",
        TASK,
        "01234567-89AB-cdef-0123-456789abcdef",
        "latest",
    ] {
        let shown = workspace
            .roleos(&["--json", "witness", "show", name])
            .exits(0)
            .json();
        check_contents(&shown);
    }
    let verified = workspace
        .roleos(&["--json", "witness", "verify", file])
        .exits(0)
        .json();
    assert_eq!(
        (&verified["verdict"], &verified["warnings"]),
        (&json!("valid"), &json!([]))
    );
    workspace.roleos(&["witness", "replay", TASK]).exits(0);

    let exported = workspace
        .roleos(&["witness", "export", TASK])
        .exits(0)
        .json();
    assert_eq!(exported["contents"]["spec"], "Make `add` add.\n");
    workspace
        .roleos(&["witness", "export", TASK, "--out", "task.json"])
        .exits(0);
    assert_eq!(workspace.read("task.json").trim_end(), exported.to_string());

    check_import(&workspace, file);
}

fn check_contents(shown: &Value) {
    assert_eq!(shown["verdict"], "valid");
    assert_eq!(shown["evidence_complete"], true);
    assert_eq!(shown["outcome_check"]["agreement"], "agrees");
    let header = &shown["header"];
    assert_eq!(
        (&header["total_latency_ms"], &header["total_tokens"]),
        (&json!(912), &json!(40))
    );
    assert_eq!(
        (&header["total_cost_microdollars"], &header["retry_count"]),
        (&json!(350), &json!(1))
    );
    assert_eq!(shown["trace"][1]["action"], "Bash");
    assert_eq!(shown["trace"][1]["args_hash"], "00112233445566ff");
    let ours = &shown["extensions"];
    assert_eq!(
        ours["provenance"],
        json!({"base_commit": "abc", "model": "large", "role": "editor"})
    );
    assert_eq!(ours["rollbacks"][0]["restored"], true);
    assert_eq!(ours["chain"]["sequence"], 0);
}

/// Checks that another workspace imports it only with a key, and only once.
fn check_import(sealer: &Workspace, file: &str) {
    let public = public_key(sealer);
    let other = Workspace::new();
    let ran = other.roleos(&["witness", "import", file]).exits(1);
    assert!(ran.stdout.contains("no key for it is at hand"), "{ran:#?}");
    assert!(
        other.snapshot().is_empty(),
        "what is refused leaves nothing behind"
    );

    let import = ["--json", "witness", "import", file, "--key-file", &public];
    let count = |answer: &Value| (answer["stored"].clone(), answer["known"].clone());
    assert_eq!(
        count(&other.roleos(&import).exits(0).json()),
        (json!(1), json!(0))
    );
    assert_eq!(
        count(&other.roleos(&import).exits(0).json()),
        (json!(0), json!(1))
    );
    assert_eq!(other.audit(&[]).1, [""; 0]);
    let shown = other
        .roleos(&["--json", "witness", "show", TASK])
        .exits(0)
        .json();
    assert_eq!(
        shown["verdict"], "unchecked",
        "the key was for the import only"
    );
}

fn public_key(workspace: &Workspace) -> String {
    let mut files = fs::read_dir(workspace.path(".role-os/keys")).unwrap();
    let public = files.find_map(|entry| {
        let path = entry.unwrap().path();
        path.extension()
            .is_some_and(|end| end == "pub")
            .then_some(path)
    });
    public.unwrap().display().to_string()
}

#[test]
fn a_folder_is_imported_and_what_is_bad_in_it_is_named() {
    let workspace = Workspace::new();
    workspace.write("in/deep/1.rvww", Sample::new(1).signed());
    workspace.write("in/2.rvww", Sample::new(2).unsigned());
    workspace.write("in/0.rvww", b"no bundle");
    workspace.write("in/ignored.txt", b"no bundle either");
    let words = ["--json", "witness", "import", "in", "--key-hex", KEY_HEX];
    let answer = workspace.roleos(&words).exits(1).json();
    assert_eq!(answer["stored"], 1);
    let refused: Vec<_> = answer["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap())
        .collect();
    assert_eq!(refused, ["in/0.rvww", "in/2.rvww"]);
    assert_eq!(workspace.audit(&[]).0["size"], 1);
    // Of the same task, with other contents.
    let mut second = Sample::new(1);
    second.cost_microdollars += 1;
    workspace.write("second.rvww", second.signed());
    let words = [
        "--json",
        "witness",
        "import",
        "second.rvww",
        "--key-hex",
        KEY_HEX,
    ];
    assert_eq!(workspace.roleos(&words).exits(0).json()["stored"], 1);
    assert_eq!(workspace.audit(&[]).0["size"], 2);
    let task = "01".repeat(16);
    let error = workspace
        .roleos(&["--json", "witness", "show", &task])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "bundle_ambiguous");
}

/// Runs a seal that must fail, and asserts that the workspace is unchanged.
#[track_caller]
fn check_refused(workspace: &Workspace, words: &[&str], message: &str) {
    let before = workspace.snapshot();
    let ran = workspace
        .roleos(&[&["witness", "seal"], words].concat())
        .exits(1);
    assert!(ran.error().contains(message), "{ran:#?}");
    assert!(workspace.snapshot() == before, "something was written");
}

#[test]
fn a_task_is_sealed_once() {
    let (workspace, words) = prepared();
    workspace.seal(&words);
    check_refused(
        &workspace,
        &words,
        &format!("task `{TASK}` is already sealed"),
    );
}

#[test]
fn a_task_is_sealed_once_also_in_another_month() {
    let workspace = Workspace::new();
    workspace.write("old.rvww", Sample::new(1).signed());
    workspace
        .roleos(&["witness", "import", "old.rvww", "--key-hex", KEY_HEX])
        .exits(0);
    let task = "01".repeat(16);
    check_refused(
        &workspace,
        &["--outcome", "solved", "--task-id", &task],
        "already sealed",
    );
}

#[test]
fn a_bad_line_of_the_trace_is_named() {
    let good = r#"{"action":"Read"}"#;
    let cases = [
        ("nonsense", "line 2: expected ident (column 2)"),
        ("{", "line 2: EOF while parsing an object (column 1)"),
        ("[]", "line 2: invalid length 0"),
        (r#"{"latency_ms":1}"#, "line 2: missing field `action`"),
        (
            r#"{"action":5}"#,
            "line 2: invalid type: integer `5`, expected a string",
        ),
        (r#"{"action":"A","cost":1}"#, "line 2: unknown field `cost`"),
        (
            r#"{"action":"A","tokens":-1}"#,
            "expected a whole number from 0 to 4294967295",
        ),
        (
            r#"{"action":"A","tokens":4294967296}"#,
            "expected a whole number from 0 to 4294967295",
        ),
        (
            r#"{"action":"A","args_hash":"12"}"#,
            "line 2: `12` is not a hash of 16 hexadecimal digits",
        ),
        (
            r#"{"action":"A","args":1,"args_hash":"0000000000000000"}"#,
            "line 2: give the value or its hash, not both",
        ),
    ];
    for (bad, message) in cases {
        let workspace = Workspace::new();
        workspace.write("calls.jsonl", format!("{good}\n{bad}\n{good}\n"));
        let words = ["--outcome", "solved", "--trace", "calls.jsonl"];
        check_refused(&workspace, &words, message);
        check_refused(&workspace, &words, "cannot use trace `calls.jsonl` line 2");
    }
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let workspace = Workspace::new();
    let name = "x".repeat(65_536);
    workspace.write("calls.jsonl", format!(r#"{{"action":"{name}"}}"#));
    check_refused(
        &workspace,
        &["--outcome", "solved", "--trace", "calls.jsonl"],
        "line 1",
    );
    workspace.write("calls.jsonl", "{\"action\":\"A\"}\n".repeat(65_536));
    check_refused(
        &workspace,
        &["--outcome", "solved", "--trace", "calls.jsonl"],
        "line 65536: a bundle holds at most 65535 tool calls",
    );
}

#[test]
fn a_bundle_that_could_not_be_read_again_is_refused() {
    let workspace = Workspace::with_config("[witness]\nmax_bundle_mib = 1\n");
    workspace.write("half", vec![b'x'; 700_000]);
    let ran = workspace.roleos(&[
        "witness",
        "seal",
        "--outcome",
        "solved",
        "--spec",
        "half",
        "--diff",
        "half",
    ]);
    assert!(ran.exits(1).stderr.contains("the limit is 1048576"));
    assert!(!workspace.path(".role-os/witness").exists());
    workspace.seal(&["--outcome", "solved", "--spec", "half"]);
}

#[test]
fn bundles_are_chained() {
    let workspace = Workspace::new();
    let mut previous = "0".repeat(64);
    for sequence in 0..3 {
        let sealed = workspace.seal(&["--outcome", "solved"]);
        let shown = workspace
            .roleos(&["--json", "witness", "show", "latest"])
            .exits(0)
            .json();
        assert_eq!(
            shown["extensions"]["chain"],
            json!({"sequence": sequence, "previous": previous})
        );
        previous = sealed["sha256"].as_str().unwrap().to_owned();
    }
}

#[test]
fn pipes_are_read_as_files_are() {
    let workspace = Workspace::new();
    let mut command = workspace.command(&[
        "--json",
        "witness",
        "seal",
        "--outcome",
        "solved",
        "--spec",
        "/dev/stdin",
    ]);
    let output =
        assert_cmd::Command::from_std(std::mem::replace(&mut command, workspace.command(&[])))
            .write_stdin("from a pipe")
            .output()
            .unwrap();
    assert!(output.status.success());
    let exported = workspace
        .roleos(&["witness", "export", "latest"])
        .exits(0)
        .json();
    assert_eq!(exported["contents"]["spec"], "from a pipe");
    // A bundle on standard input is verified like one in a file.
    let sealed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bundle = fs::read(Path::new(sealed["file"].as_str().unwrap())).unwrap();
    let output =
        assert_cmd::Command::from_std(workspace.command(&["witness", "verify", "/dev/stdin"]))
            .write_stdin(bundle)
            .output()
            .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn breaches_of_the_policy_are_said() {
    let workspace = Workspace::new();
    workspace.write(
        "calls.jsonl",
        "{\"action\":\"Bash\"}\n{\"action\":\"Edit\",\"refused\":true}\n",
    );
    let words = [
        "witness",
        "seal",
        "--outcome",
        "failed",
        "--mode",
        "restricted",
        "--trace",
        "calls.jsonl",
    ];
    let ran = workspace.roleos(&words).exits(0);
    assert!(
        ran.stderr
            .contains("the calls breach the restricted policy"),
        "{ran:#?}"
    );
    let shown = workspace
        .roleos(&["--json", "witness", "show", "latest"])
        .exits(0)
        .json();
    assert_eq!(
        shown["extensions"]["violations"]["count"], 1,
        "a call that a guard stopped is none"
    );
}

#[test]
fn a_replay_fails_when_the_outcome_contradicts_the_log_or_nobody_signed() {
    let workspace = Workspace::new();
    let log = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    workspace.write("test.txt", log);
    workspace.write("unsigned.rvww", Sample::new(1).unsigned());
    let replay = |bundle: &str, code: i32| {
        for page in [&[][..], &["--html", "page.html"], &["--json"]] {
            let words = [&["witness", "replay", bundle], page].concat();
            workspace.roleos(&words).exits(code);
        }
        assert!(workspace.read("page.html").contains("</html>"));
    };
    workspace.seal(&["--outcome", "failed", "--test-log", "test.txt"]);
    replay("latest", 0);
    workspace.seal(&["--outcome", "skipped", "--test-log", "test.txt"]);
    replay("latest", 1);
    replay("unsigned.rvww", 1);
}
