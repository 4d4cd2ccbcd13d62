//! Our whole hook process against those of other guards, on the same events of Claude Code, in turns.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::hook_rows::{Desk, HARMLESS, timed};
use crate::measure::{Figure, tools, turns};
use crate::row::{Goal, Row};

/// Number of turns of each side.
const TURNS: usize = 25;

/// Command that every guard must stop or ask about.
const GATED: &str = "git push --force origin main";

/// A guard: its row, its name with its version, its program below the directory of tools, and the arguments of its
/// hook.
struct Guard {
    row: &'static str,
    name: &'static str,
    program: &'static str,
    words: &'static [&'static str],
}

const GUARDS: [Guard; 3] = [
    Guard {
        row: "hook call against cc-safety-net",
        name: "cc-safety-net 2.4.5",
        program: "guards/node_modules/.bin/cc-safety-net",
        words: &["hook", "--claude-code"],
    },
    Guard {
        row: "hook call against nah",
        name: "nah 0.11.0",
        program: "nah/bin/nah",
        words: &["_claude-hook"],
    },
    Guard {
        row: "hook call against dcg",
        name: "destructive_command_guard 0.16.0",
        program: "dcg/bin/dcg",
        words: &[],
    },
];

/// Returns the rows with wanted names. A guard that could not be installed has none, and is named.
#[expect(clippy::print_stderr, reason = "a peer that is missing must be seen")]
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut desk = None;
    for guard in GUARDS.iter().filter(|guard| wanted(guard.row)) {
        let program = tools().join(guard.program);
        if !program.exists() {
            eprintln!(
                "`{}` is not measured: `{}` is not installed",
                guard.row,
                program.display()
            );
            continue;
        }
        rows.push(guard.row(desk.get_or_insert_with(Desk::new), &program));
    }
    rows
}

impl Guard {
    fn row(&self, desk: &Desk, program: &PathBuf) -> Row {
        let peer = || {
            let mut command = Command::new(program);
            command.args(self.words).env("HOME", desk.root());
            command
        };
        let harmless = desk.event("short", HARMLESS);
        // A guard that stops nothing does not do the same work.
        let gated = desk.event("short", GATED);
        assert!(stops(desk.ours(), &gated), "ours lets `{GATED}` run");
        assert!(stops(peer(), &gated), "{} lets `{GATED}` run", self.name);
        assert!(
            !stops(peer(), &harmless),
            "{} stops `{HARMLESS}`",
            self.name
        );
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..turns(TURNS) {
            ours.push(desk.hook("short"));
            theirs.push(timed(peer(), &harmless));
        }
        Row::new(
            self.row,
            (Figure::of_rates(1, &ours), Figure::of_rates(1, &theirs)),
            self.name,
            "calls/s",
            Goal::AtLeast(1.0),
        )
    }
}

/// Returns `true` if the guard refuses the call or asks a person.
#[expect(
    clippy::expect_used,
    reason = "a bench that cannot run has nothing to say"
)]
fn stops(mut command: Command, event: &str) -> bool {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .current_dir("/")
        .spawn()
        .expect("a process");
    if let Some(mut input) = child.stdin.take() {
        input.write_all(event.as_bytes()).ok();
    }
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stdout).replace(": ", ":");
    let decided = |word: &str| said.contains(&format!("\"permissionDecision\":\"{word}\""));
    output.status.code() == Some(2) || decided("deny") || decided("ask")
}
