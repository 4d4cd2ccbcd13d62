//! A whole hook process, gate and journal on, against an empty Rust program that reads its input and against Node on
//! an empty script. The binary is the one beside this program.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evidence::journal::SessionId;
use evidence::journal::append::Journal;
use evidence::journal::record::{Call, Record, Start};
use serde_json::json;
use tempfile::TempDir;

use crate::measure::{Figure, turns};
use crate::row::{Goal, Row};

/// Number of turns of each side; every side once in each.
const TURNS: usize = 400;

/// Number of turns of Node, which takes a hundred times longer.
const NODE_TURNS: usize = 30;

/// Number of calls in the long journal.
const MANY: usize = 10_000;

/// The smallest Rust program with the minimum of every hook: it reads its input to the end.
const EMPTY: &str = "use std::io::Read as _;\nfn main() {\n    let mut event = Vec::new();\n    std::io::stdin().read_to_end(&mut event).ok();\n}\n";

/// Command that is judged.
pub(crate) const HARMLESS: &str = "git status --short && git diff --stat";

const P50: &str = "hook call, p50";
const P99: &str = "hook call, p99";
const NODE: &str = "hook call against Node";
const LONG: &str = "hook call, journal of 10,000 calls";

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    if ![P50, P99, NODE, LONG].into_iter().any(wanted) {
        return Vec::new();
    }
    let desk = Desk::new();
    let mut rows = Vec::new();
    if wanted(P50) || wanted(P99) || wanted(LONG) {
        rows.extend(
            desk.against_rust()
                .into_iter()
                .filter(|row| wanted(row.name)),
        );
    }
    if wanted(NODE) {
        rows.push(desk.against_node());
    }
    rows
}

/// Workspace with the gate on, two sessions, and the peers.
pub(crate) struct Desk {
    folder: TempDir,
    program: PathBuf,
    empty: PathBuf,
}

#[expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a bench that cannot be set up has nothing to say; its files are thrown away"
)]
impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let beside = std::env::current_exe()
            .expect("a program")
            .with_file_name("roleos-hook");
        assert!(
            beside.exists(),
            "build it first: cargo build --release -p roleos"
        );
        let program = copied(&beside, folder.path());
        let source = folder.path().join("empty.rs");
        let built = folder.path().join("built/empty");
        fs::create_dir(folder.path().join("built")).expect("room");
        fs::write(&source, EMPTY).expect("room");
        let done = Command::new("rustc")
            .args(["-C", "opt-level=3", "-o"])
            .args([&built, &source])
            .status();
        assert!(done.expect("rustc").success());
        let empty = copied(&built, folder.path());
        let role_os = folder.path().join(".role-os");
        fs::create_dir(&role_os).expect("room");
        fs::write(
            role_os.join("config.toml"),
            "[oversight]\ncapability_gate = true\n",
        )
        .expect("room");
        fs::write(folder.path().join("empty.mjs"), "").expect("room");
        let desk = Self {
            folder,
            program,
            empty,
        };
        desk.fill("long", MANY);
        desk.fill("short", 1);
        desk
    }

    /// Writes a journal with this many calls.
    fn fill(&self, session: &str, calls: usize) {
        let sessions = self.folder.path().join(".role-os/sessions");
        let mut journal = Journal::open(&sessions, &SessionId::new(session)).expect("a journal");
        let start = Start {
            session: session.to_owned(),
            ..Start::default()
        };
        journal.push("claude", 1, Record::Start(Box::new(start)));
        for number in 0..calls {
            let call = Call {
                call_id: format!("call-{number}"),
                tool: "Bash".to_owned(),
                input: json!({ "command": "cargo test --locked 2>&1 | tail -20" }),
                verdict: "allow".to_owned(),
                ..Call::default()
            };
            journal.push("claude", 1, Record::Call(Box::new(call)));
        }
        journal.commit(false).expect("room");
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn hook(&self, session: &str) -> Duration {
        timed(self.ours(), &self.event(session, HARMLESS))
    }

    /// Returns the command of our program, as an agent starts it.
    pub(crate) fn ours(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["hook", "claude", "--root"]).arg(self.root());
        command
    }

    /// Returns the event of a shell call in the form of Claude Code.
    pub(crate) fn event(&self, session: &str, command: &str) -> String {
        let event = json!({
            "session_id": session,
            "transcript_path": "/nowhere/t.jsonl",
            "cwd": self.root(),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": command, "description": "Look" },
            "tool_use_id": "toolu_01",
        });
        event.to_string()
    }

    fn peer(&self) -> Duration {
        timed(Command::new(&self.empty), "{}")
    }

    fn against_rust(&self) -> Vec<Row> {
        let (mut short, mut long, mut peer) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..turns(TURNS) {
            peer.push(self.peer());
            short.push(self.hook("short"));
            long.push(self.hook("long"));
        }
        let slow = part(&mut short, 99).as_secs_f64() * 1e6;
        let us = |times: &[Duration]| Figure::of_times(times, 1e6);
        let (short, long, peer) = (us(&short), us(&long), us(&peer));
        vec![
            row(
                P50,
                short,
                peer,
                "an empty Rust program that reads stdin",
                Goal::AtMost(1.5),
            ),
            Row::within(P99, slow, 10_000.0, "µs"),
            row(LONG, long, short, "an empty journal", Goal::AtMost(1.1)),
        ]
    }

    /// Compares with Node as rates, so that more is better.
    fn against_node(&self) -> Row {
        let (mut ours, mut node) = (Vec::new(), Vec::new());
        for _ in 0..turns(NODE_TURNS) {
            ours.push(self.hook("short"));
            let mut command = Command::new("node");
            command.arg(self.folder.path().join("empty.mjs"));
            node.push(timed(command, "{}"));
        }
        Row::new(
            NODE,
            (Figure::of_rates(1, &ours), Figure::of_rates(1, &node)),
            "node on an empty script",
            "calls/s",
            Goal::AtLeast(15.0),
        )
    }
}

fn row(name: &'static str, ours: Figure, peer: Figure, peer_name: &'static str, goal: Goal) -> Row {
    Row::new(name, (ours, peer), peer_name, "µs", goal)
}

/// Copies a program as an installation does. What a linker has written lies in many small pieces in the page cache, which
/// take longer to map; so neither side is measured as it was linked.
#[expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to say"
)]
pub(crate) fn copied(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(program.file_name().expect("a name"));
    fs::copy(program, &copy).expect("room");
    copy
}

/// From the start of a process to its end. A call that is not let through is no call to measure.
#[expect(
    clippy::expect_used,
    reason = "a bench that cannot run has nothing to say"
)]
pub(crate) fn timed(mut command: Command, event: &str) -> Duration {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir(Path::new("/"));
    let start = Instant::now();
    let mut child = command.spawn().expect("a process");
    if let Some(mut input) = child.stdin.take() {
        input.write_all(event.as_bytes()).ok();
    }
    let ended = child.wait().expect("an end");
    let took = start.elapsed();
    assert!(ended.success(), "{command:?}");
    took
}

/// Returns the time below which this percentage lies.
fn part(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(index).copied().unwrap_or_default()
}
