//! The selector against its limits: scoring a request for one and for many versions, and learning from a long log.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use selection::metric::{Metric, Parts};
use selection::run_log::{More, Record};
use selection::selector::features::Line;
use selection::selector::{Book, Example, Features, Outcome, Selector};
use serde_json::{Value, json};

use crate::measure::{Figure, in_turns, size, turns};
use crate::row::Row;

/// Number of versions that a request is scored for.
const SPECIALISTS: usize = 50;
/// Number of lines of the training log, four per contest.
const LINES: usize = 100_000;
const CANDIDATES: usize = 4;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, versions, most) in [
        (
            "selector: a 2 KB request, 1 version, against parsing it",
            1,
            3.0,
        ),
        (
            "selector: a 2 KB request, 50 versions, against parsing it",
            SPECIALISTS,
            12.0,
        ),
    ] {
        if wanted(name) {
            rows.push(Row::within(name, against_parsing(versions), most, "×"));
        }
    }
    let training = "selector: training on 100,000 log lines";
    if wanted(training) {
        let times = (0..turns(5)).map(|_| training_s(size(LINES)));
        let took = Figure::of(times.collect());
        rows.push(Row::within(training, took, 10.0, "s"));
    }
    rows
}

/// Returns words of a small language; the same number gives the same text.
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

fn example(number: usize, versions: usize) -> Example {
    let outcomes = (0..versions).map(|version| {
        let outcome = Outcome {
            acceptable: Some(version == number % versions || number.is_multiple_of(3)),
            reward: 1.0,
            cost: 0.1,
            price_usd: None,
        };
        (format!("version-{version:02}"), outcome)
    });
    Example {
        features: Features::of(&text(number, 2048), &[]),
        outcomes: outcomes.collect(),
        general: None,
    }
}

/// Returns a request in a client's form, 2 KB of text in a conversation.
fn request(number: usize) -> String {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        json!({ "role": role, "content": format!("{}\n", text(number * 8 + at, 256)) })
    };
    let messages: Vec<Value> = (0..8).map(turn).collect();
    json!({ "model": "role:support", "messages": messages, "temperature": 0, "stream": false })
        .to_string()
}

/// Returns the time to read a request and score it for every version, over the time to parse it.
fn against_parsing(versions: usize) -> Figure {
    let examples: Vec<Example> = (0..400).map(|number| example(number, versions)).collect();
    let selector = Selector::train(&examples);
    let names: Vec<String> = examples
        .first()
        .into_iter()
        .flat_map(|example| example.outcomes.keys().cloned())
        .collect();
    let requests: Vec<String> = (0..50).map(|number| request(1000 + number)).collect();
    let parsed: Vec<Value> = requests
        .iter()
        .filter_map(|request| serde_json::from_str(request).ok())
        .collect();
    let parsing = || {
        for request in &requests {
            black_box(serde_json::from_str::<Value>(black_box(request)).ok());
        }
    };
    let deciding = || {
        for request in &parsed {
            let messages = request.get("messages").unwrap_or(request);
            let features = Features::of_input(black_box(messages));
            let judged = selector.judge(&features);
            black_box(judged.is_familiar());
            for name in &names {
                black_box(judged.score(name));
            }
        }
    };
    let (deciding, parsing) = in_turns(turns(51), deciding, parsing);
    let ratios = deciding.iter().zip(&parsing);
    let ratio = |(ours, parser): (&Duration, &Duration)| ours.as_secs_f64() / parser.as_secs_f64();
    Figure::of(ratios.map(ratio).collect())
}

/// Returns the time from the two files on disk to the trained selector.
pub(crate) fn training_s(lines: usize) -> f64 {
    let Ok(folder) = tempfile::tempdir() else {
        return f64::NAN;
    };
    let (log, features) = (
        folder.path().join("run_log.jsonl"),
        folder.path().join("features.jsonl"),
    );
    if write_log(&log, &features, lines).is_none() {
        return f64::NAN;
    }
    let started = Instant::now();
    let Ok(lessons) = routing::selector::lessons(&log, &features) else {
        return f64::NAN;
    };
    black_box(Book::train(&lessons.roles));
    started.elapsed().as_secs_f64()
}

fn write_log(log: &Path, features: &Path, lines: usize) -> Option<()> {
    let metric = Metric::v1();
    let mut records = Vec::new();
    let mut noted = String::new();
    for number in 0..lines / CANDIDATES {
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
                    version: Some(format!("model-{model}")),
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
        noted.push_str(&line.to_line());
        noted.push('\n');
    }
    routing::runs::append(&base::seals::Seals::default(), log, records).ok()?;
    base::files::append_line(features, &noted, false).ok()?;
    Some(())
}
