//! Runs: who wins in which role, and one contest with all its candidates.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::frame::{Frame, Rate, Visit, encoded, page_after, short_time, show};
use crate::api::Desk;
use crate::problem::Problem;
use crate::show::clean;
use crate::view::list::{Filter, MAX_PAGE, Page};
use crate::view::rows::Run;

/// Rows of a page.
const ROWS: u32 = 50;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    role: String,
    model: String,
    after: String,
}

#[derive(Template)]
#[template(path = "pages/runs.html")]
struct List {
    frame: Frame,
    asked: Asked,
    standings: Vec<Standing>,
    entropy: String,
    largest: String,
    unreadable: u64,
    rows: Vec<Row>,
    total: u64,
    next: Option<String>,
}

struct Standing {
    role: String,
    model: String,
    href: String,
    runs: u64,
    pass: Rate,
    win: Rate,
    reward: String,
    cost: String,
    refused: u64,
}

struct Row {
    run_id: String,
    href: String,
    time: String,
    role: String,
    model: String,
    version: String,
    mode: String,
    passed: bool,
    won: bool,
    reward: String,
    cost: String,
    quality: String,
    milliseconds: String,
    output: String,
    record: String,
}

impl Row {
    fn of(run: &Run) -> Self {
        let text = |key: &str| {
            let text = run
                .record
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default();
            clean::line(text, 60)
        };
        let number = |key: &str| {
            let number = run.record.get(key).and_then(Value::as_f64);
            number.map_or_else(|| "–".to_owned(), |number| format!("{number:.3}"))
        };
        let time = run.record.get("time_ms").and_then(Value::as_u64);
        Self {
            run_id: clean::line(&run.run_id, 40),
            href: format!("/runs/{}", encoded(&run.run_id)),
            time: short_time(&text("timestamp")),
            role: text("role"),
            model: text("model_id"),
            version: text("version"),
            mode: text("mode"),
            passed: run.passed,
            won: run.won,
            reward: number("reward"),
            cost: number("cost"),
            quality: number("q1"),
            milliseconds: time.map_or_else(|| "–".to_owned(), |time| format!("{time} ms")),
            output: text("output_hash").chars().take(12).collect(),
            record: serde_json::to_string_pretty(&run.record).unwrap_or_default(),
        }
    }
}

pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Response {
    show(&desk, visit, "Runs", move |desk, visit| {
        let stats = desk.view.run_stats()?;
        let filter = Filter::default()
            .chosen("role", &asked.role)
            .chosen("model", &asked.model);
        let listed = desk.view.list(&filter, &page_after(ROWS, &asked.after)?)?;
        let address = |role: &str, model: &str| {
            format!("/runs?role={}&model={}", encoded(role), encoded(model))
        };
        let standings = stats.models.iter().map(|tally| Standing {
            href: address(&tally.role, &tally.model),
            role: clean::line(&tally.role, 60),
            model: clean::line(&tally.model, 60),
            runs: tally.runs,
            pass: tally.pass.into(),
            win: tally.win.into(),
            reward: format!("{:.3}", tally.reward),
            cost: format!("{:.3}", tally.cost),
            refused: tally.refused,
        });
        Ok(List {
            frame: visit.frame("Runs", "Runs"),
            standings: standings.collect(),
            entropy: format!("{:.2}", stats.entropy),
            largest: format!("{:.0} %", stats.largest * 100.0),
            unreadable: stats.unreadable,
            next: listed.next.map(|key| {
                let (address, key) = (address(&asked.role, &asked.model), key.text());
                format!("{address}&after={}", encoded(&key))
            }),
            rows: listed.items.iter().map(Row::of).collect(),
            total: listed.total,
            asked,
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/run.html")]
struct One {
    frame: Frame,
    run_id: String,
    rows: Vec<Row>,
    why: String,
}

pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(run_id): Path<String>,
) -> Response {
    show(&desk, visit, "Runs", move |desk, visit| {
        let filter = Filter::default().equal("run_id", Some(&run_id));
        let mut found = desk.view.list(&filter, &Page::first(MAX_PAGE))?.items;
        found.reverse();
        if found.is_empty() {
            let message = format!("there is no run `{run_id}`");
            return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_run", message));
        }
        let shown = clean::line(&run_id, 60);
        Ok(One {
            frame: visit.frame("Runs", format!("Run {shown}")),
            run_id: shown,
            why: why(&found),
            rows: found.iter().map(Row::of).collect(),
        })
    })
    .await
}

/// Why the winner won, in a sentence.
fn why(found: &[Run]) -> String {
    let passed = found.iter().filter(|run| run.passed).count();
    let winner = found.iter().find(|run| run.won);
    match winner {
        None if passed == 0 => format!(
            "Nobody won: none of {} candidates passed its verifier, so the fallback served.",
            found.len()
        ),
        None => "Nobody is named as the winner.".to_owned(),
        Some(winner) => {
            let model = winner.record.get("model_id").and_then(Value::as_str);
            let reward = winner.record.get("reward").and_then(Value::as_f64);
            format!(
                "{} won with the largest reward ({:.3}) of the {passed} of {} candidates that passed.",
                clean::line(model.unwrap_or_default(), 60),
                reward.unwrap_or_default(),
                found.len()
            )
        }
    }
}
