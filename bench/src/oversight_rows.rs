//! The oversight room against its own limits: a typical command, a corpus, and a script of 100 KB.

use std::hint::black_box;

use host::command_lookup::Disk;
use oversight::grants::Grants;
use oversight::verdict::{Place, Policy, decide_command};

use crate::measure::median_time;
use crate::row::{Goal, Row};

/// What agents run all day, gated and not.
const TYPICAL: [&str; 6] = [
    "git status --short && git diff --stat",
    "cd crates/host && cargo test --locked 2>&1 | tail -20",
    "grep -rn \"TODO\" src/ | head -50",
    "git commit -q -m \"$(cat <<'E'\nfix: keep the order of rows\nE\n)\"",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "bash -lc 'npm run build && git push origin HEAD'",
];

/// Rows whose names are wanted.
#[expect(clippy::cast_precision_loss, reason = "a corpus is small")]
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    // A run of `explain --batch` and a hook read their settings once.
    let policy = Policy::default();
    let typical = "shell analysis of a typical command";
    if wanted(typical) {
        let took = median_time(51, || {
            TYPICAL.iter().for_each(|command| decide(&policy, command));
        });
        rows.push(Row::within(
            typical,
            took.as_secs_f64() * 1e6 / 6.0,
            50.0,
            "µs",
        ));
    }
    let script = "shell analysis of a 100 KB script";
    if wanted(script) {
        let line = "v=$(git rev-parse HEAD); if [ \"$v\" = a ]; then echo \"build $v\"; fi\n";
        let text = line.repeat(100 * 1024 / line.len());
        let took = median_time(51, || decide(&policy, &text));
        rows.push(Row::within(script, took.as_secs_f64() * 1e3, 50.0, "ms"));
    }
    let batch = "shell commands decided per second";
    if wanted(batch) {
        let commands = commands_of(include_str!(
            "../../crates/oversight/tests/corpus/benign.jsonl"
        ));
        let took = median_time(51, || {
            commands.iter().for_each(|command| decide(&policy, command));
        });
        rows.push(Row {
            name: batch,
            ours: commands.len() as f64 / took.as_secs_f64(),
            peer: 10_000.0,
            peer_name: "the limit",
            unit: "a second",
            goal: Goal::AtLeast(1.0),
        });
    }
    rows
}

/// The commands of a corpus.
fn commands_of(text: &str) -> Vec<String> {
    let cases = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    cases
        .filter_map(|case| case.get("command")?.as_str().map(str::to_owned))
        .collect()
}

fn decide(policy: &Policy, command: &str) {
    let place = Place {
        directory: "/nowhere",
        home: "/nowhere",
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    black_box(decide_command(
        policy,
        black_box(command),
        place,
        &Disk,
        &Grants::none(),
        now,
    ));
}
