//! Exams: every record of an audit, and single records case by case.

use std::path::Path as File;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use selection::audit::{AuditRecord, Given};
use statistics::rate::rate;

use super::frame::{Frame, Rate, Visit, encoded, show};
use super::when::When;
use crate::api::{Desk, not_found};
use present::show::clean;

/// Most columns of an answer.
const MAX_ANSWER: usize = 2000;

#[derive(Template)]
#[template(path = "pages/exams.html")]
struct List {
    frame: Frame,
    rows: Vec<Row>,
}

struct Row {
    href: String,
    role: String,
    role_href: String,
    version: String,
    exam: String,
    finished: When,
    passed: Rate,
    wrong: u64,
    failures: u64,
    ok: bool,
}

impl Row {
    fn of(folder: &File, path: &File, record: &AuditRecord) -> Self {
        let text = |text: &str| clean::line(text, 60);
        Self {
            href: format!(
                "/exams/{}",
                name(folder, path)
                    .split('/')
                    .map(|part| encoded(part).to_string())
                    .collect::<Vec<_>>()
                    .join("/")
            ),
            role: text(&record.role),
            role_href: format!("/specialists/{}", encoded(&record.role)),
            version: text(&record.version),
            exam: format!("{} {}", text(&record.audit_id), text(&record.audit_version)),
            finished: When::of(&record.finished_at),
            passed: rate(record.passed, record.cases).into(),
            wrong: record.wrong_answers,
            failures: record.verifier_failures,
            ok: record.ok,
        }
    }
}

/// Returns the name of a record: its path below the folder.
fn name(folder: &File, path: &File) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.to_string_lossy().into_owned()
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, visit: Visit) -> Response {
    show(&desk, visit, "Exams", |desk, visit| {
        let folder = &desk.specialists.paths().audits;
        let records = routing::audits::all(folder);
        Ok(List {
            frame: visit.frame("Exams", "Exams"),
            rows: records
                .iter()
                .rev()
                .map(|(path, record)| Row::of(folder, path, record))
                .collect(),
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/exam.html")]
struct One {
    frame: Frame,
    row: Row,
    metric: String,
    hash: String,
    attempts: usize,
    cases: Vec<Case>,
}

struct Case {
    number: usize,
    /// Tone and text.
    result: (&'static str, &'static str),
    why: String,
    answer: String,
    expected: Option<String>,
    quality: String,
    reward: String,
    time: u64,
    tokens: u64,
    notes: Vec<&'static str>,
}

impl Case {
    fn of(given: &Given) -> Self {
        let result = match (given.is_verified(), given.is_right()) {
            (false, _) => ("bad", "verifier failed"),
            (true, false) => ("bad", "wrong answer"),
            (true, true) if given.ungraded => ("warn", "not graded"),
            (true, true) => ("good", "passed"),
        };
        let answer = match &given.output {
            serde_json::Value::Null => "no answer".to_owned(),
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let notes = [
            (given.copy_of.is_some(), "the same input as an earlier case"),
            (given.refusal_penalty > 0.0, "counted as a refusal"),
        ];
        Self {
            number: given.index + 1,
            result,
            why: clean::line(given.reason.as_deref().unwrap_or_default(), 400),
            answer: clean::line(&answer, MAX_ANSWER),
            expected: given
                .expected_output
                .as_ref()
                .map(|text| clean::line(text, MAX_ANSWER)),
            quality: given
                .q1
                .map_or_else(|| "–".to_owned(), |q1| format!("{q1:.3}")),
            reward: format!("{:.3}", given.reward),
            time: given.time_ms,
            tokens: given.output_tokens,
            notes: notes
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, note)| *note)
                .collect(),
        }
    }
}

pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(id): Path<String>,
) -> Response {
    show(&desk, visit, "Exams", move |desk, visit| {
        let folder = &desk.specialists.paths().audits;
        let records = routing::audits::all(folder);
        let found = records.iter().find(|(path, _)| name(folder, path) == id);
        let (path, record) = found.ok_or_else(|| {
            not_found(
                "unknown_exam",
                format!("there is no record `{}`", clean::line(&id, 100)),
            )
            .hint("the list of exams is at `/exams`")
        })?;
        let row = Row::of(folder, path, record);
        Ok(One {
            frame: visit.frame("Exams", format!("Exam of {} {}", row.role, row.version)),
            metric: clean::line(&record.metric_version, 40),
            hash: record.exam_hash.clone(),
            attempts: record.attempts.len().max(1),
            cases: record.answers.iter().map(Case::of).collect(),
            row,
        })
    })
    .await
}
