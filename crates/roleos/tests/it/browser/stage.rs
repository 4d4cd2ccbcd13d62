//! A workspace in which everything has happened once, by the product's own commands, with `roleos up` on a terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evidence::store::Store;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use witness::builder::Builder;
use witness::extension::field;
use witness::policy::{Check, Policy};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

use crate::adapter::{Adapter, json as reply};
use crate::hook::{hook, tell};
use crate::terminal::Terminal;
use crate::workspace::{Ran, Workspace};

const CONFIG: &str = r#"
[oversight]
capability_gate = true

[specialist]
shadow_every = 1

[fallback.claude]
kind = "command"
command = ["sh", "-c", "case \"$(cat)\" in *nine*) echo '{\"label\":\"long\"}';; *) echo '{\"label\":\"short\"}';; esac"]
"#;

const SCHEMA: &str =
    r#"{"type":"object","required":["label"],"properties":{"label":{"type":"string"}}}"#;

const AUDIT: &str = r#"{"audit_id":"labels","version":"v1","test_cases":[
  {"input":"one","expected_format":"json_schema","verifier_config":{"schema":{"type":"object","required":["label"]}},"expected_output":"{\"label\":\"short\"}"},
  {"input":"two","expected_format":"json_schema","verifier_config":{"schema":{"type":"object","required":["label"]}},"expected_output":"{\"label\":\"short\"}"},
  {"input":"three","expected_format":"json_schema","verifier_config":{"schema":{"type":"object","required":["label"]}},"expected_output":"{\"label\":\"short\"}"}
]}"#;

const FAILS: &str = "running 2 tests\ntest adds ... FAILED\ntest reads ... ok\n\nfailures:\n\n---- adds stdout ----\nassertion `left == right` failed\n  left: 0\n right: 2\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
const PASSES: &str = "running 2 tests\ntest adds ... ok\ntest reads ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
const DIFF: &str = "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: u32, b: u32) -> u32 {\n-    a - b\n+    a + b\n }\n";

/// The workspace, its adapter, and the process that serves it.
pub(super) struct Stage {
    pub(super) workspace: Workspace,
    _adapter: Adapter,
    terminal: Terminal,
    pub(super) origin: String,
    pid: Pid,
}

impl Drop for Stage {
    fn drop(&mut self) {
        kill_process(self.pid, Signal::TERM).ok();
        let told = self.workspace.path(".role-os/up.json");
        let begun = Instant::now();
        // The folder is removed next, so the process must have ended.
        while told.exists() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with_config(CONFIG)
    }

    /// Does the same, with an upstream of the gateway.
    pub(super) fn with_upstream(url: &str) -> Self {
        let upstream = "[[gateway.upstream]]\nname = \"u\"\nkind = \"openai\"\nbase_url = \"";
        Self::with_config(&format!("{CONFIG}\n{upstream}{url}\"\n"))
    }

    fn with_config(config: &str) -> Self {
        let workspace = Workspace::with_config(config);
        let adapter = Adapter::new(|request| {
            let pin = request.body["adapter_id"].as_str().unwrap_or_default();
            reply(
                &json!({ "verdict": { "label": "short" }, "adapter_id": pin, "score": 0.93, "duration_ms": 4 }),
            )
        });
        repository(&workspace);
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog"),
            &workspace.path("catalog"),
        );
        specialists(&workspace, &adapter.url);
        weeks(&workspace);
        session(&workspace);
        let mut terminal = Terminal::roleos(&workspace, &["up", "--listen", "127.0.0.1:0"]);
        terminal.expects("login code: ");
        terminal.expects("(works once)");
        let told = up(&workspace);
        has_read_all(told["address"].as_str().unwrap());
        ask_role(told["address"].as_str().unwrap());
        Self {
            origin: format!("http://{}", told["address"].as_str().unwrap()),
            pid: Pid::from_raw(i32::try_from(told["pid"].as_u64().unwrap()).unwrap()).unwrap(),
            workspace,
            _adapter: adapter,
            terminal,
        }
    }

    /// Returns the code on the terminal.
    pub(super) fn code(&self) -> String {
        let code = self.terminal.seen().rsplit("login code: ").next().unwrap();
        code.split(' ').next().unwrap().to_owned()
    }

    /// Sends a call of an agent to the hook, before it runs.
    pub(super) fn agent_wants(&self, command: &str) -> Ran {
        wants(&self.workspace, "live", command)
    }
}

fn up(workspace: &Workspace) -> Value {
    let told = workspace.path(".role-os/up.json");
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(&told).unwrap_or_default();
        if let Ok(told) = serde_json::from_str(&text) {
            return told;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not start"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the lists show everything.
fn has_read_all(address: &str) {
    let begun = Instant::now();
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!(
            "GET /api/witness?limit=1 HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        if answer.contains("\"total\":25") && answer.contains("\"complete\":true") {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a client's request to the role, which leaves a receipt.
fn ask_role(address: &str) {
    let body = json!({
        "model": "role:labeller", "messages": [{ "role": "user", "content": "one" }],
    });
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn git(folder: &Path, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(folder)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{words:?}");
}

fn repository(workspace: &Workspace) {
    let root = workspace.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(
        root,
        &["remote", "add", "origin", "https://example.org/a.git"],
    );
    workspace.write(
        "src/lib.rs",
        "pub fn add(a: u32, b: u32) -> u32 {\n    a - b\n}\n",
    );
    workspace.write(".gitignore", ".role-os/\ncatalog/\nt.jsonl\n");
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "one"]);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Creates one role with two versions that passed their exam, the first one active, probed eleven times; and two
/// learning runs.
fn specialists(workspace: &Workspace, url: &str) {
    workspace.write("package/out.json", SCHEMA);
    // The same three questions ten times, in different words: enough for a certificate.
    let mut audit: Value = serde_json::from_str(AUDIT).unwrap();
    let cases = audit["test_cases"].as_array().unwrap().clone();
    let cases = cases.iter().cycle().take(30).cloned().enumerate();
    let differing = cases.map(|(index, mut case)| {
        let input = case["input"].as_str().unwrap().to_owned();
        case["input"] = json!(format!("{input} s{}", "o".repeat(index + 1)));
        case
    });
    audit["test_cases"] = differing.collect();
    workspace.write("audit.json", audit.to_string());
    for id in ["v1", "v2"] {
        let version = json!({
            "id": id, "adapter_id": format!("labeller-{id}"), "base_model": "Qwen/Qwen3-8B",
            "gate_threshold": 0.75, "exam_centroid": [1.0, 0.0],
            "verifier": { "type": "json_schema", "pass_condition": "schema_valid", "config": { "schema_path": "out.json" } },
        });
        workspace.write("package/version.json", version.to_string());
        let words = ["specialist", "register", "labeller", "package/version.json"];
        let more = ["--backend-url", url, "--workload-quota", "1"];
        workspace.roleos(&[&words[..], &more].concat()).exits(0);
        let subject = format!("labeller/{id}");
        workspace
            .roleos(&["audit", "run", &subject, "--set", "audit.json"])
            .exits(0);
        workspace
            .roleos(&["specialist", "certify", "labeller", id])
            .exits(0);
    }
    workspace
        .roleos(&[
            "specialist",
            "promote",
            "labeller",
            "v1",
            "--reason",
            "passed its exam",
        ])
        .exits(0);
    for number in [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    ] {
        let input = json!({ "embedding": [1, 0], "text": number });
        workspace.write("in.json", input.to_string());
        workspace
            .roleos(&["dispatch", "labeller", "--input", "in.json"])
            .exits(0);
    }
    for _ in 0..2 {
        workspace
            .roleos(&[
                "dispatch", "labeller", "--input", "in.json", "--learn", "--k", "2",
            ])
            .exits(0);
    }
}

/// Creates four tasks per week for six weeks, each week tried by one of two models; a task solved by one model may be
/// unsolved by the other.
fn weeks(workspace: &Workspace) {
    let store = Store::of(
        &base::workspace::Workspace::at(workspace.root()).unwrap(),
        1 << 20,
    );
    let (keys, _) = store.keys_for_writing().unwrap();
    let week = 7 * 86_400_000_000_000_u64;
    let now = base::clock::now_ns();
    for number in 0..24_u8 {
        let (age, task) = (u64::from(5 - number / 4), number % 4);
        let solved = (number * 5) % 7 != 0;
        let created = now - age * week - u64::from(3 - task) * 3_600_000_000_000;
        let policy = Policy::of_mode(Mode::Autonomous);
        let mut builder = Builder::new(TaskId([number + 1; 16]), policy, created);
        builder.spec(format!(
            "# Task {task}\n\nMake `add` add, and keep the tests green.\n"
        ));
        builder.plan("1. read the test\n2. turn the sign\n");
        builder.diff(DIFF);
        builder.test_log(if solved { PASSES } else { FAILS });
        builder.outcome(if solved {
            Outcome::Solved
        } else {
            Outcome::Failed
        });
        builder.provenance(field::ROLE, ["editor", "researcher"][usize::from(task % 2)]);
        builder.provenance(
            field::MODEL,
            ["small", "large"][usize::from(number / 4 % 2)],
        );
        for (place, action) in ["Read", "Edit", "Bash"].iter().enumerate() {
            let long = 400 + 350 * u32::from(number % 5) * u32::try_from(place).unwrap();
            builder
                .record(&Call {
                    action: action.as_bytes(),
                    check: Check::Allowed,
                    args_hash: [number; 8],
                    result_hash: [task; 8],
                    latency_ms: long,
                    cost_microdollars: 9_000 - 250 * u32::from(number),
                    tokens: 900,
                })
                .unwrap();
        }
        store.seal(builder, &keys).unwrap();
    }
}

fn say(workspace: &Workspace, session: &str, name: &str, more: &Value) -> Ran {
    let mut event = json!({
        "session_id": session, "transcript_path": workspace.path("t.jsonl"), "cwd": workspace.root(),
        "hook_event_name": name,
    });
    let fields = event.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    let mut command = hook(workspace, "claude", &[]);
    command.env("HOME", workspace.home());
    tell(command, &event.to_string())
}

fn wants(workspace: &Workspace, session: &str, command: &str) -> Ran {
    let input = json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": command });
    say(workspace, session, "PreToolUse", &input)
}

/// Plays an agent's session through the hook: a fix, its tests, a refused push; and its bundle.
fn session(workspace: &Workspace) {
    let name = "story";
    say(
        workspace,
        name,
        "SessionStart",
        &json!({ "source": "startup", "model": "claude-sonnet-4-5" }),
    )
    .exits(0);
    say(
        workspace,
        name,
        "UserPromptSubmit",
        &json!({ "prompt": "The sum is wrong. Find out why." }),
    )
    .exits(0);
    workspace.write(
        "src/lib.rs",
        "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n",
    );
    wants(workspace, name, "cargo test").exits(0);
    let done = json!({
        "tool_name": "Bash", "tool_input": { "command": "cargo test" }, "tool_use_id": "cargo test",
        "tool_response": { "stdout": PASSES, "stderr": "" },
    });
    say(workspace, name, "PostToolUse", &done).exits(0);
    wants(workspace, name, "git push origin main").exits(2);
    say(
        workspace,
        name,
        "Stop",
        &json!({ "last_assistant_message": "The sign was wrong." }),
    )
    .exits(0);
    workspace.roleos(&["sessions", "seal", name]).exits(0);
}
