//! Concurrent hooks, killed hooks, and full disks: no line is lost, and nothing runs unrecorded.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hook::{call, hook, only_journal, tell};
use crate::workspace::{ROLEOS, Workspace};

const GATE: &str = "[oversight]\ncapability_gate = true\n";

fn event(workspace: &Workspace, id: usize) -> String {
    let root = workspace.root().to_str().unwrap();
    let mut event = call("claude", root, &json!({ "command": format!("echo {id}") }));
    event["tool_use_id"] = format!("call-{id}").into();
    event.to_string()
}

fn start(workspace: &Workspace, event: &str) -> Child {
    let mut child = hook(workspace, "claude", &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(event.as_bytes()).ok();
    child
}

/// Returns the session from `sessions show`; the exit code shows if it is whole.
fn shown(workspace: &Workspace, code: i32) -> Value {
    let ran = workspace.roleos(&["--json", "sessions", "show"]);
    ran.exits(code).json()
}

fn call_ids(session: &Value) -> Vec<String> {
    let lines = session["lines"].as_array().unwrap();
    let calls = lines.iter().filter(|line| line["kind"] == "call");
    calls
        .map(|line| line["call_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn sixty_four_at_once_lose_no_line_and_keep_the_chain() {
    let workspace = Workspace::with_config(GATE);
    let children: Vec<Child> = (0..64)
        .map(|id| start(&workspace, &event(&workspace, id)))
        .collect();
    let allowed = children
        .into_iter()
        .map(|mut child| child.wait().unwrap())
        .filter(std::process::ExitStatus::success)
        .count();
    let session = shown(&workspace, 0);
    let mut ids = call_ids(&session);
    ids.sort();
    ids.dedup();
    // On a very busy machine a hook may give up; then it blocks, and writes nothing.
    assert_eq!(ids.len(), allowed);
    assert!(allowed > 32, "{allowed}");
    let kinds: Vec<&Value> = session["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["kind"])
        .collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "start").count(), 1);
    assert_eq!(session["problems"], json!([]));
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_acknowledged() {
    let workspace = Workspace::with_config(GATE);
    let started = Instant::now();
    assert!(
        start(&workspace, &event(&workspace, 0))
            .wait()
            .unwrap()
            .success()
    );
    let mut longest = started.elapsed();
    let mut acknowledged = vec!["call-0".to_owned()];
    let mut kills = 0;
    for id in 1_u32.. {
        // The golden section spreads the moments evenly over the time, for any number of them.
        let moment = f64::from(id) * 0.618_034 % 1.0;
        let number = usize::try_from(id).unwrap();
        let mut child = start(&workspace, &event(&workspace, number));
        thread::sleep(longest.mul_f64(moment));
        child.kill().unwrap();
        // The time follows that of a hook, so that the kills cover all of it and some come too late.
        if child.wait().unwrap().success() {
            acknowledged.push(format!("call-{id}"));
            longest = longest.mul_f64(0.97).max(Duration::from_micros(500));
            continue;
        }
        longest = longest.mul_f64(1.02);
        kills += 1;
        if kills == 200 {
            break;
        }
    }
    assert!(
        start(&workspace, &event(&workspace, 0))
            .wait()
            .unwrap()
            .success()
    );
    let session = shown(&workspace, 0);
    assert_eq!(session["problems"], json!([]));
    let ids = call_ids(&session);
    for id in &acknowledged {
        assert!(ids.contains(id), "{id} is lost");
    }
}

#[test]
fn a_line_that_a_crash_cut_off_is_taken_out_and_told() {
    let workspace = Workspace::with_config(GATE);
    tell(hook(&workspace, "claude", &[]), &event(&workspace, 0)).exits(0);
    let name = workspace.path(&only_journal(&workspace));
    let mut journal = fs::File::options().append(true).open(name).unwrap();
    journal.write_all(b"{\"seq\":2,\"prev\":\"ab").unwrap();
    assert_eq!(
        shown(&workspace, 1)["problems"].as_array().unwrap().len(),
        1
    );
    let stop =
        json!({ "hook_event_name": "Stop", "session_id": "0199c0de-0000-7000-8000-000000000001" });
    let ran = tell(hook(&workspace, "claude", &[]), &stop.to_string()).exits(0);
    assert!(
        ran.stdout
            .contains("a line of 19 bytes that a crash had cut off"),
        "{ran:#?}"
    );
    let text = workspace.roleos(&["sessions", "show"]).succeeds();
    assert!(text.contains("repaired"), "{text}");
}

/// Returns a hook whose process may not write a file beyond so many blocks of 512 bytes, like on a full disk.
fn with_room_for(workspace: &Workspace, blocks: usize) -> Command {
    let inner = hook(workspace, "claude", &[]);
    let mut command = Command::new("sh");
    command
        .arg("-c")
        // If ignored, the signal becomes the error of a full disk.
        .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""))
        .args(["sh", ROLEOS])
        .args(inner.get_args())
        .current_dir(workspace.root())
        .env("HOME", workspace.path("home"))
        .env("XDG_STATE_HOME", workspace.home().join(".local/state"))
        .env_remove("ROLEOS_CAPABILITY_GATE");
    command
}

#[test]
fn a_full_disk_blocks_while_the_gate_is_on_and_says_so() {
    for (config, code) in [(GATE, 2), ("", 0)] {
        let workspace = Workspace::with_config(config);
        tell(hook(&workspace, "claude", &[]), &event(&workspace, 0)).exits(0);
        let before = shown(&workspace, 0);
        let ran = tell(with_room_for(&workspace, 1), &event(&workspace, 1)).exits(code);
        let told = ran.stderr.contains("cannot append to") && ran.stderr.contains("sessions");
        assert_eq!(told, code == 2, "{ran:#?}");
        assert_eq!(shown(&workspace, 0), before, "nothing half-written stays");
    }
}

#[test]
fn a_place_that_cannot_be_written_blocks_while_the_gate_is_on_and_says_so() {
    for (config, code) in [(GATE, 2), ("", 0)] {
        let workspace = Workspace::with_config(config);
        // Root may write everywhere, but not into a file as if it were a directory.
        workspace.write(".role-os/sessions", "in the way");
        let ran = tell(hook(&workspace, "claude", &[]), &event(&workspace, 0)).exits(code);
        let told = ran.stderr.contains(".role-os/sessions");
        assert_eq!(told, code == 2, "{ran:#?}");
    }
}

#[test]
fn a_read_only_directory_blocks_while_the_gate_is_on_and_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    for (config, code) in [(GATE, 2), ("", 0)] {
        let workspace = Workspace::with_config(config);
        let sessions = workspace.path(".role-os/sessions");
        fs::create_dir(&sessions).unwrap();
        fs::set_permissions(&sessions, fs::Permissions::from_mode(0o555)).unwrap();
        let command = workspace.unprivileged(hook(&workspace, "claude", &[]));
        let ran = tell(command, &event(&workspace, 0)).exits(code);
        assert_eq!(
            ran.stderr.contains("ermission denied"),
            code == 2,
            "{ran:#?}"
        );
        fs::set_permissions(&sessions, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
