//! The selection crate against its limits: a contest's arithmetic, a schema's verification, a long log's sums.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use selection::metric::Metric;
use selection::run_log::{More, Record};
use selection::verifier::{Outcome, Verifier};
use selection::winner::{Run, decide};
use serde_json::{Value, json};

use crate::measure::{Figure, peak_megabytes, size, turns};
use crate::row::{Goal, Row};

/// Number of lines of the long log, and of the short one for the comparison of memory.
const LINES: usize = 1_000_000;
const FEW: usize = 10_000;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let contest = "selection: reward and winner of 4 candidates";
    if wanted(contest) {
        rows.push(Row::within(contest, contest_us(), 5.0, "µs"));
    }
    let schema = "selection: a 10 KB output against a cached JSON Schema";
    if wanted(schema) {
        rows.push(Row::within(schema, schema_ms(), 1.0, "ms"));
    }
    let (time, memory) = (
        "selection: runs stats over 1,000,000 lines",
        "selection: memory of runs stats, 1,000,000 lines against 10,000",
    );
    if wanted(time) || wanted(memory) {
        rows.extend(stats_rows(time, memory).into_iter().flatten());
    }
    rows
}

fn contest_us() -> Figure {
    let metric = Metric::v1();
    let runs: Vec<Run> = ["a", "b", "c", "d"]
        .into_iter()
        .zip([0.2, 0.9, 0.5, 0.7])
        .map(|(model, q1)| Run {
            model_id: model.to_owned(),
            outcome: Outcome::Pass,
            q1: Some(q1),
            cost: metric.cost(q1 * 1000.0, 200, None),
            refusal_penalty: 0.0,
            stable: false,
        })
        .collect();
    let times = (0..21).map(|_| {
        let started = Instant::now();
        for _ in 0..1000 {
            black_box(decide(black_box(&metric), black_box(runs.clone())));
        }
        started.elapsed().as_secs_f64() * 1e6 / 1000.0
    });
    Figure::of(times.collect())
}

fn schema_ms() -> Figure {
    let schema = json!({
        "type": "object", "required": ["title", "items"],
        "properties": {
            "title": { "type": "string", "minLength": 1 },
            "items": { "type": "array", "items": {
                "type": "object", "required": ["name", "score", "tags"],
                "properties": {
                    "name": { "type": "string", "pattern": "^[a-z ]+$" },
                    "score": { "type": "number", "minimum": 0, "maximum": 1 },
                    "tags": { "type": "array", "items": { "type": "string" }, "uniqueItems": true },
                },
            } },
        },
    });
    let items: Vec<Value> = (0..160)
        .map(|number| {
            json!({ "name": "an item of the list", "score": 0.5, "tags": ["one", "two", format!("tag {number}")] })
        })
        .collect();
    let output = json!({ "title": "ten kilobytes", "items": items }).to_string();
    let Ok(verifier) = Verifier::json_schema(&schema) else {
        return f64::NAN.into();
    };
    if output.len() < 10_000 || !verifier.verify(&output).passed() {
        return f64::NAN.into();
    }
    let times = (0..21).map(|_| {
        let started = Instant::now();
        for _ in 0..20 {
            black_box(verifier.verify(black_box(&output)));
        }
        started.elapsed().as_secs_f64() * 1e3 / 20.0
    });
    Figure::of(times.collect())
}

fn stats_rows(time: &'static str, memory: &'static str) -> Option<[Row; 2]> {
    let folder = tempfile::tempdir().ok()?;
    let (long, short) = (folder.path().join("long"), folder.path().join("short"));
    write_log(&long, size(LINES))?;
    write_log(&short, FEW)?;
    let times = (0..turns(5)).filter_map(|_| {
        let started = Instant::now();
        let stats = routing::runs::stats(&long).ok()?;
        black_box(&stats);
        (stats.models.len() == 12).then(|| started.elapsed().as_secs_f64())
    });
    let seconds = Figure::of(times.collect());
    Some([
        Row::within(time, seconds, 2.0, "s"),
        Row::new(
            memory,
            (in_child(&long)?, in_child(&short)?),
            "10,000 lines",
            "MB",
            Goal::AtMost(1.5),
        ),
    ])
}

/// Sums a log and returns this process's largest resident size, in megabytes.
pub(crate) fn memory_of_stats(log: &Path) -> f64 {
    black_box(routing::runs::stats(log).ok());
    peak_megabytes()
}

fn in_child(log: &Path) -> Option<f64> {
    let output = Command::new(std::env::current_exe().ok()?)
        .arg("--stats-of")
        .arg(log)
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

/// Writes a log in the form of contests, of four models in three roles.
pub(crate) fn write_log(path: &Path, lines: usize) -> Option<()> {
    let mut records = Vec::new();
    for number in 0..lines {
        let timestamp = "2026-03-04T05:06:07.123456789Z".to_owned();
        records.push(record(timestamp, number, (4, 3)));
        if records.len() == 10_000 {
            routing::runs::append(
                &base::seals::Seals::default(),
                path,
                std::mem::take(&mut records),
            )
            .ok()?;
        }
    }
    routing::runs::append(&base::seals::Seals::default(), path, records)
        .ok()
        .map(drop)
}

/// Returns a line in the form of contests of four candidates, with this many models and roles.
pub(crate) fn record(timestamp: String, number: usize, (models, roles): (usize, usize)) -> Record {
    let (contest, model) = (number / 4, number % models);
    Record {
        timestamp,
        prompt_hash: format!("{contest:064x}"),
        model_id: format!("model-{model}"),
        metric_version: "metric_v1".to_owned(),
        verifier_result: "PASS".to_owned(),
        q0: 1,
        q1: Some(0.5),
        cost: 0.1,
        refusal_penalty: 0.0,
        reward: 1.47,
        winner_model_id: Some(format!("model-{}", contest % models)),
        more: More {
            run_id: Some(format!("{contest:032x}")),
            candidate_index: u32::try_from(model).ok(),
            version: Some("1".repeat(64)),
            role: Some(format!("role-{}", contest % roles)),
            time_ms: Some(812),
            input_tokens: Some(100),
            output_tokens: Some(200),
            output_hash: Some("cd".repeat(32)),
            mode: Some("learn".to_owned()),
            metric_hash: Some("ef".repeat(32)),
            ..More::default()
        },
    }
}
