//! The oversight crate against the shell parser alone, for a typical command and a script of 100 KB, and against a
//! limit for a corpus.

use std::hint::black_box;
use std::time::{Duration, Instant};

use lookup::Disk;
use oversight::grants::Grants;
use oversight::lookup::{Lookup, Nothing};
use oversight::verdict::{Place, Policy, decide_tool};
use serde_json::Value;

use crate::measure::{Figure, times, turns};
use crate::row::{Goal, Row};

/// Commands that agents run frequently, gated and not.
const TYPICAL: [&str; 6] = [
    "git status --short && git diff --stat",
    "cd crates/host && cargo test --locked 2>&1 | tail -20",
    "grep -rn \"TODO\" src/ | head -50",
    "git commit -q -m \"$(cat <<'E'\nfix: keep the order of rows\nE\n)\"",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "bash -lc 'npm run build && git push origin HEAD'",
];

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    // `explain --batch` and a hook read their settings once.
    let policy = Policy::default();
    let line = "v=$(git rev-parse HEAD); if [ \"$v\" = a ]; then echo \"build $v\"; fi\n";
    let script = line.repeat(100 * 1024 / line.len());
    for (name, texts, turns) in [
        ("shell analysis of a typical command", &TYPICAL[..], 401),
        ("shell analysis of a 100 KB script", &[script.as_str()], 51),
    ] {
        if wanted(name) {
            rows.push(against_parser(name, &policy, texts, turns));
        }
    }
    let batch = "shell commands decided per second";
    if wanted(batch) {
        let commands = commands_of(include_str!(
            "../../crates/oversight/tests/corpus/benign.jsonl"
        ));
        let took = times(turns(51), || {
            let each = |command: &Value| decide(&policy, command, &Disk);
            commands.iter().for_each(each);
        });
        let rate = Figure::of_rates(commands.len(), &took);
        let goal = Goal::AtLeast(1.0);
        rows.push(Row::new(
            batch,
            (rate, 10_000.0),
            "the limit",
            "a second",
            goal,
        ));
    }
    rows
}

/// Compares the whole analysis of texts with the parser alone, in turns; microseconds per text. Neither reads files
/// of the machine: that is in the row of the corpus.
#[expect(clippy::cast_precision_loss, reason = "a handful of texts")]
fn against_parser(name: &'static str, policy: &Policy, texts: &[&str], turns: usize) -> Row {
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    let inputs: Vec<Value> = texts.iter().map(|text| input_of(text)).collect();
    for _ in 0..=crate::measure::turns(turns) {
        ours.push(time(|| {
            inputs.iter().for_each(|one| decide(policy, one, &Nothing));
        }));
        peer.push(time(|| texts.iter().for_each(|text| parse(text))));
    }
    let each = |times: &[Duration]| Figure::of_times(times, 1e6 / texts.len() as f64);
    Row::new(
        name,
        (each(&ours), each(&peer)),
        "brush-parser alone",
        "µs",
        Goal::AtMost(3.0),
    )
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Parses a text and nothing more.
fn parse(text: &str) {
    let options = brush_parser::ParserOptions::default();
    let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options());
    let tree = tokens.map(|tokens| brush_parser::parse_tokens(&tokens, &options));
    drop(black_box(tree));
}

/// Returns a command in the hook's input.
fn input_of(command: &str) -> Value {
    serde_json::json!({ "command": command })
}

/// Returns the commands of a corpus.
fn commands_of(text: &str) -> Vec<Value> {
    let cases = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    cases
        .filter_map(|case| case.get("command")?.as_str().map(input_of))
        .collect()
}

fn decide(policy: &Policy, input: &Value, lookup: &dyn Lookup) {
    let place = Place {
        directory: "/nowhere",
        home: "/nowhere",
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    black_box(decide_tool(
        policy,
        "Bash",
        black_box(input),
        place,
        lookup,
        &Grants::none(),
        now,
    ));
}
