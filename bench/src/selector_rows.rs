//! The selector against its limits: scoring a text for many models, and learning from a long log.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use selection::metric::{Metric, Parts};
use selection::run_log::{More, Record};
use selection::selector::features::Line;
use selection::selector::{Book, Example, Features, Selector};

use crate::measure::median;
use crate::row::Row;

/// Specialists that a text is scored against.
const SPECIALISTS: usize = 50;
/// Lines of the log that is learned from, four a contest.
const LINES: usize = 100_000;
const CANDIDATES: usize = 4;

/// Rows whose names are wanted.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let scoring = "selector: a 2 KB text against 50 specialists";
    if wanted(scoring) {
        rows.push(Row::within(scoring, scoring_us(), 50.0, "µs"));
    }
    let training = "selector: training on 100,000 log lines";
    if wanted(training) {
        rows.push(Row::within(training, training_s(), 10.0, "s"));
    }
    rows
}

/// Words of a small language; the same number gives the same text.
fn text(seed: usize, bytes: usize) -> String {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut text = String::with_capacity(bytes + 12);
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let word = (state >> 33) % 3000;
        text.push_str("word");
        text.push_str(&word.to_string());
        text.push(' ');
    }
    text
}

fn example(number: usize) -> Example {
    let rewards = (0..SPECIALISTS).map(|model| {
        let near = model == number % SPECIALISTS;
        (
            format!("model-{model:02}"),
            Some(if near { 1.8 } else { 1.0 }),
        )
    });
    Example {
        features: Features::of(&text(number, 2048), &[]),
        rewards: rewards.collect(),
    }
}

fn scoring_us() -> f64 {
    let examples: Vec<Example> = (0..200).map(example).collect();
    let selector = Selector::train(&examples);
    let texts: Vec<String> = (0..50).map(|number| text(1000 + number, 2048)).collect();
    let times = (0..21).map(|_| {
        let started = Instant::now();
        for text in &texts {
            let features = Features::of(black_box(text), &[]);
            black_box(selector.familiar(&features));
            black_box(selector.scores(&features));
        }
        started.elapsed().as_secs_f64() * 1e6 / 50.0
    });
    median(times.collect())
}

/// From the two files on disk to the trained selector.
fn training_s() -> f64 {
    let Ok(folder) = tempfile::tempdir() else {
        return f64::NAN;
    };
    let (log, features) = (
        folder.path().join("run_log.jsonl"),
        folder.path().join("features.jsonl"),
    );
    if write_log(&log, &features).is_none() {
        return f64::NAN;
    }
    let started = Instant::now();
    let Ok(lessons) = host::selector::lessons(&log, &features) else {
        return f64::NAN;
    };
    black_box(Book::train(&lessons.roles));
    started.elapsed().as_secs_f64()
}

fn write_log(log: &Path, features: &Path) -> Option<()> {
    let metric = Metric::v1();
    let mut records = Vec::new();
    let mut lines = String::new();
    for number in 0..LINES / CANDIDATES {
        let hash = format!("{:02x}{number:062x}", number % 256);
        let run_id = format!("run-{number}");
        for model in 0..CANDIDATES {
            let q1 = if model == number % CANDIDATES {
                0.9
            } else {
                0.3
            };
            let parts = Parts {
                passed: true,
                q1: Some(q1),
                cost: 0.1,
                refusal_penalty: 0.0,
            };
            records.push(Record {
                timestamp: "2026-03-04T05:06:07Z".to_owned(),
                prompt_hash: hash.clone(),
                model_id: format!("model-{model}"),
                metric_version: metric.metric_version.clone(),
                verifier_result: "PASS".to_owned(),
                q0: 1,
                q1: Some(q1),
                cost: 0.1,
                refusal_penalty: 0.0,
                reward: metric.reward(parts)?,
                winner_model_id: Some(format!("model-{}", number % CANDIDATES)),
                more: More {
                    run_id: Some(run_id.clone()),
                    role: Some("writer".to_owned()),
                    mode: Some("learn".to_owned()),
                    ..More::default()
                },
            });
        }
        let line = Line {
            run_id,
            role: "writer".to_owned(),
            prompt_hash: hash,
            features: Features::of(&text(number, 2048), &[]),
        };
        lines.push_str(&line.to_line());
        lines.push('\n');
    }
    host::runs::append(log, records).ok()?;
    host::files::append_line(features, &lines, false).ok()?;
    Some(())
}
