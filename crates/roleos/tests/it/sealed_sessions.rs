//! A session from the events of the agent's hooks to its bundle, through the real binary.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hook::{hook, tell};
use crate::workspace::{Ran, Workspace};

const PASSES: &str = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

/// A scripted agent.
struct Agent<'a> {
    workspace: &'a Workspace,
    session: &'a str,
}

impl Agent<'_> {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal reads better without a reference"
    )]
    fn say(&self, name: &str, more: Value) -> Ran {
        let mut event = json!({
            "session_id": self.session,
            "transcript_path": self.workspace.path("t.jsonl"),
            "cwd": self.workspace.root(),
            "hook_event_name": name,
        });
        let fields = event.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        tell(hook(self.workspace, "claude", &[]), &event.to_string())
    }

    fn run(&self, id: &str, command: &str, output: &str) -> Ran {
        let input =
            json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id });
        let ran = self.say("PreToolUse", input.clone());
        if ran.code == 0 {
            let mut done = input;
            done["tool_response"] = json!({ "stdout": output, "stderr": "" });
            self.say("PostToolUse", done).exits(0);
        }
        ran
    }
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

pub(crate) fn repository(config: &str) -> Workspace {
    let workspace = Workspace::with_config(config);
    git(workspace.root(), &["init", "-q"]);
    workspace.write("src.rs", "fn a() {}\n");
    workspace.write(".gitignore", ".role-os/\nhome/\nt.jsonl\n");
    git(workspace.root(), &["add", "-A"]);
    git(workspace.root(), &["commit", "-q", "-m", "x"]);
    workspace
}

/// Waits until the background process of a hook has created this many bundles.
#[track_caller]
fn wait_for(workspace: &Workspace, bundles: usize) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let ran = workspace.roleos(&["--json", "witness", "list"]);
        let listed = if ran.code == 0 {
            ran.json().as_array().unwrap().clone()
        } else {
            Vec::new()
        };
        if listed.len() >= bundles || begun.elapsed() > Duration::from_secs(40) {
            assert_eq!(listed.len(), bundles, "{ran:#?}");
            return listed;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_session_becomes_a_bundle_that_tells_its_story() {
    let secret = format!("sk-ant-api03-{}", "x7Qb".repeat(12));
    let workspace = repository(
        "[oversight]\ncapability_gate = true\n[oversight.prices.claude-sonnet]\ninput = 3\noutput = 15\n",
    );
    let agent = Agent {
        workspace: &workspace,
        session: "story",
    };
    agent
        .say(
            "SessionStart",
            json!({ "source": "startup", "model": "claude-sonnet-4-5" }),
        )
        .exits(0);
    agent
        .say(
            "UserPromptSubmit",
            json!({ "prompt": format!("Call b from a. The key is {secret}") }),
        )
        .exits(0);
    workspace.write("src.rs", "fn a() { b() }\n");
    workspace.write("new.rs", "fn b() {}\n");
    agent.run("toolu_1", "cargo test", PASSES).exits(0);
    agent.run("toolu_2", "git push origin main", "").exits(2);
    agent
        .say("Stop", json!({ "last_assistant_message": "Done." }))
        .exits(0);
    let time = "2999-01-01T00:00:00Z";
    workspace.write("t.jsonl", format!(
        r#"{{"type":"assistant","timestamp":"{time}","message":{{"id":"m","model":"claude-sonnet-4-5","content":[{{"type":"tool_use","id":"toolu_1"}}],"usage":{{"input_tokens":1000,"output_tokens":100}}}}}}"#
    ));
    agent
        .say("SessionEnd", json!({ "reason": "exit" }))
        .exits(0);
    let listed = wait_for(&workspace, 1);
    assert_eq!(listed[0]["outcome"], "solved", "{listed:#?}");
    let story = workspace
        .roleos(&["witness", "replay", "latest"])
        .succeeds();
    for part in [
        "Call b from a.",
        "cargo test",
        "+fn a() { b() }",
        "+fn b() {}",
        "1 passed",
        "denied",
        "git push origin main",
        "claude-sonnet-4-5",
        "1 secrets masked",
    ] {
        assert!(story.contains(part), "`{part}` is not in: {story}");
    }
    assert!(!story.contains(&secret), "{story}");
    let shown = workspace
        .roleos(&["--json", "witness", "show", "latest"])
        .exits(0)
        .json();
    assert_eq!(
        shown["header"]["total_cost_microdollars"], 4500,
        "{shown:#}"
    );
    workspace.roleos(&["ledger", "verify"]).exits(0);
    let again = workspace.roleos(&["--json", "sessions", "seal"]).exits(0);
    assert_eq!(again.json(), json!([]));
    let named = workspace.roleos(&["sessions", "seal", "story"]).succeeds();
    assert_eq!(named, "sealed before  story\n");
}

#[test]
fn what_was_not_sealed_is_sealed_when_the_next_session_begins() {
    let workspace = repository("");
    let first = Agent {
        workspace: &workspace,
        session: "first",
    };
    first
        .say("UserPromptSubmit", json!({ "prompt": "one" }))
        .exits(0);
    // The test process is the agent, and it is running: nothing is sealed, no matter how many sessions begin.
    let second = Agent {
        workspace: &workspace,
        session: "second",
    };
    second
        .say("SessionStart", json!({ "source": "startup" }))
        .exits(0);
    second
        .say("UserPromptSubmit", json!({ "prompt": "two" }))
        .exits(0);
    second
        .say("SessionEnd", json!({ "reason": "exit" }))
        .exits(0);
    wait_for(&workspace, 1);
    let goes_on = workspace
        .roleos(&["--json", "sessions", "seal"])
        .exits(0)
        .json();
    assert_eq!(goes_on, json!([{ "session": "first", "state": "goes_on" }]));
    let sealed = workspace
        .roleos(&["--json", "sessions", "seal", "first"])
        .exits(0)
        .json();
    assert_eq!(sealed[0]["state"], "sealed");
    assert_eq!(sealed[0]["outcome"], "error", "its turn has no end");
    let missing = workspace.roleos(&["sessions", "seal", "third"]).exits(1);
    assert!(missing.error().contains("there is no session `third`"));
}

#[test]
fn a_violation_in_autonomous_mode_returns_to_the_start() {
    let workspace = repository("[oversight]\nmode = \"autonomous\"\nmax_tool_calls = 1\n");
    let agent = Agent {
        workspace: &workspace,
        session: "free",
    };
    agent
        .say("SessionStart", json!({ "source": "startup" }))
        .exits(0);
    agent
        .say("UserPromptSubmit", json!({ "prompt": "x" }))
        .exits(0);
    agent.run("1", "sed -i s/a/b/ src.rs", "").exits(0);
    workspace.write("src.rs", "fn b() {}\n");
    workspace.write("left behind", "new");
    let refused = agent.run("2", "ls", "").exits(2);
    assert!(
        refused.stderr.contains("kept as refs/roleos/undone/free/1"),
        "{refused:#?}"
    );
    assert_eq!(workspace.read("src.rs"), "fn a() {}\n");
    assert!(!workspace.path("left behind").exists());
    agent
        .say("SessionEnd", json!({ "reason": "exit" }))
        .exits(0);
    wait_for(&workspace, 1);
    let score = workspace.roleos(&["--json", "scorecard"]).exits(0).json();
    assert_eq!(score["rollback_correctness"], 1.0, "{score:#}");
    assert_eq!(score["policy_violations"], 1, "{score:#}");
}

#[test]
fn a_kill_at_any_time_seals_once() {
    let workspace = repository("");
    let agent = Agent {
        workspace: &workspace,
        session: "killed",
    };
    agent
        .say("UserPromptSubmit", json!({ "prompt": "x" }))
        .exits(0);
    agent.run("1", "cargo test", PASSES).exits(0);
    let seal = || {
        workspace
            .command(&["sessions", "seal", "killed"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let begun = Instant::now();
    // One complete round shows its duration.
    let other = repository("");
    let twin = Agent {
        workspace: &other,
        session: "killed",
    };
    twin.say("UserPromptSubmit", json!({ "prompt": "x" }))
        .exits(0);
    other.roleos(&["sessions", "seal", "killed"]).exits(0);
    let long = begun.elapsed();
    let mut kills = 0;
    for attempt in 0..60_u32 {
        let mut child = seal();
        thread::sleep(long.mul_f64(f64::from(attempt) * 0.618_034 % 1.0));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
    }
    assert!(kills > 0);
    workspace.roleos(&["sessions", "seal", "killed"]).exits(0);
    wait_for(&workspace, 1);
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
    let journal = fs::read_to_string(workspace.path(".role-os/sessions/killed.jsonl")).unwrap();
    assert_eq!(
        journal.matches("\"kind\":\"sealing\"").count(),
        1,
        "{journal}"
    );
    assert_eq!(
        journal.matches("\"kind\":\"sealed\"").count(),
        1,
        "{journal}"
    );
}
