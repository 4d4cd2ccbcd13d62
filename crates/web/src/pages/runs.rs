//! Runs: winners by role, and single contests with all their candidates.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::csv;
use super::frame::{Frame, Rate, Visit, encoded, show};
use super::listing::{Asked, Column, Field, Shell};
use super::when::When;
use crate::api::Desk;
use crate::problem::Problem;
use index::list::{Filter, MAX_PAGE, Page};
use index::rows::Run;
use present::show::clean;
use routing::dataset;

const COLUMNS: &[Column] = &[
    ("Run", "", false),
    ("Time", "time", false),
    ("Role", "role", false),
    ("Model", "model", false),
    ("Mode", "mode", false),
    ("Verifier", "passed", false),
    ("Won", "won", false),
    ("Reward", "reward", true),
    ("Cost", "cost", true),
];

#[derive(Template)]
#[template(path = "pages/runs.html")]
struct List {
    frame: Frame,
    shell: Shell,
    standings: Vec<Standing>,
    /// Evenness of the wins.
    winners: String,
    unreadable: u64,
    rows: Vec<Row>,
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
    time: When,
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
            time: When::of(&text("timestamp")),
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

/// Converts the values of a filter to the flags of the column.
fn flags<'a>(asked: &'a Asked, name: &str, yes: &str) -> Vec<&'a str> {
    let words = asked.all(name).into_iter();
    words
        .map(|word| if word == yes { "1" } else { "0" })
        .collect()
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    if asked.is_for_file() {
        return csv::file::<Run>(&desk, &visit, "Runs", asked, filter).await;
    }
    show(&desk, visit, "Runs", move |desk, visit| {
        build(desk, visit, &asked)
    })
    .await
}

fn filter(asked: &Asked) -> Result<Filter, Problem> {
    let filter = Filter::default()
        .any("role", &asked.all("role"))
        .any("model", &asked.all("model"))
        .any("mode", &asked.all("mode"))
        .any("passed", &flags(asked, "verifier", "pass"))
        .any("won", &flags(asked, "won", "yes"))
        .found::<Run>(asked.one("q"));
    asked.within_text(filter, "ts")
}

fn build(desk: &Desk, visit: &Visit, asked: &Asked) -> Result<List, Problem> {
    let stats = desk.view.run_stats()?;
    let listed = desk
        .view
        .list::<Run>(&filter(asked)?, &asked.page::<Run>()?)?;
    let field = |name, label| {
        let values = desk.view.values_of::<Run>(name)?;
        Ok::<_, Problem>(Field::of(asked, name, label, &values))
    };
    let fields = vec![
        field("role", "Role")?,
        field("model", "Model")?,
        field("mode", "Mode")?,
        Field::of_words(asked, "verifier", "Verifier", &["pass", "fail"]),
        Field::of_words(asked, "won", "Won", &["yes", "no"]),
    ];
    let standings = stats.models.iter().map(|tally| Standing {
        href: format!(
            "/runs?role={}&model={}",
            encoded(&tally.role),
            encoded(&tally.model)
        ),
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
        winners: format!(
            "The model that wins most often has won {:.0} % of the contests; the wins are spread as over {:.1} equal models.",
            stats.largest * 100.0,
            stats.entropy.exp2()
        ),
        unreadable: stats.unreadable,
        rows: listed.items.iter().map(Row::of).collect(),
        shell: Shell::new(asked, "/runs", COLUMNS, fields, (listed.total, listed.next)),
    })
}

#[derive(Template)]
#[template(path = "pages/run.html")]
struct One {
    frame: Frame,
    run_id: String,
    role: String,
    role_href: String,
    mode: String,
    time: When,
    rows: Vec<Row>,
    why: String,
    formula: String,
    /// The input, and what the winner answered, where they are kept.
    texts: Option<(String, String)>,
}

pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(run_id): Path<String>,
) -> Response {
    show(&desk, visit, "Runs", move |desk, visit| {
        let filter = Filter::default().equal("run_id", Some(&run_id));
        let mut found = desk.view.list::<Run>(&filter, &Page::first(MAX_PAGE))?.items;
        found.reverse();
        if found.is_empty() {
            let message = format!("there is no run `{run_id}`");
            return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_run", message));
        }
        let shown = clean::line(&run_id, 60);
        let text = |name: &str| {
            let record = found.first().map(|run| &run.record);
            let text = record.and_then(|record| record.get(name)?.as_str());
            clean::line(text.unwrap_or_default(), 60)
        };
        let role = text("role");
        let texts = dataset::find(&dataset::path(&desk.workspace), &run_id)?;
        Ok(One {
            texts: texts.map(|texts| (shown_text(&texts.input), shown_text(&texts.output))),
            frame: visit.frame("Runs", format!("Run {shown}")),
            run_id: shown,
            why: why(&found),
            role_href: format!("/specialists/{}", encoded(&role)),
            role,
            mode: text("mode"),
            time: When::of(&text("timestamp")),
            formula: format!(
                "Reward by {}: quality counts, then cost (time, tokens and price) and a penalty for refusals are taken off; `roleos metric show` prints the weights.",
                text("metric_version")
            ),
            rows: found.iter().map(Row::of).collect(),
        })
    })
    .await
}

fn shown_text(value: &Value) -> String {
    let text = selection::output::text(value);
    clean::text(text.as_bytes()).into_owned()
}

/// Why the winner won, in a sentence.
fn why(found: &[Run]) -> String {
    let passed = found.iter().filter(|run| run.passed).count();
    let winner = found.iter().find(|run| run.won);
    match winner {
        None if passed == 0 => format!(
            "No candidate won: none of {} passed its verifier, so the general model served.",
            found.len()
        ),
        None => "The log names no winner.".to_owned(),
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
