//! Runs of agents over suites of tasks: the verdicts, the cost-to-outcome curves, and one run with its trials.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use prove::curve;
use prove::grade::Cause;
use prove::run::{self, RunFacts, RunFolder};
use prove::trial::TrialRecord;
use serde_json::Value;

use super::frame::{Frame, Visit, encoded, show, tone};
use super::when::When;
use crate::api::Desk;
use crate::problem::Problem;
use present::show::clean;

/// Largest report that is read.
const MAX_REPORT: u64 = 64 << 20;
/// Most runs and trials that are listed.
const MOST: usize = 2000;

#[derive(Template)]
#[template(path = "pages/proofs.html")]
struct List {
    frame: Frame,
    rows: Vec<Row>,
    curves: Vec<Curve>,
}

struct Row {
    name: String,
    href: String,
    time: When,
    suite: String,
    agent: String,
    mode: String,
    verdict: String,
    tone: &'static str,
    counts: String,
    cost: String,
}

struct Curve {
    name: String,
    svg: String,
    text: String,
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, visit: Visit) -> Response {
    show(&desk, visit, "Prove", |desk, visit| {
        let folder = desk.workspace.role_os_dir().join("prove");
        let runs = run::load(&folder);
        let curves = curve::curves(&runs).into_iter().map(|curve| Curve {
            name: clean::line(&format!("{} on {}", curve.agent, curve.suite), 120),
            svg: curve::svg(&curve),
            text: clean::text(curve.text().as_bytes()).into_owned(),
        });
        let rows = runs.iter().rev().take(MOST);
        Ok(List {
            frame: visit.frame("Prove", "Prove"),
            rows: rows
                .map(|(facts, records)| row(&folder, facts, records))
                .collect(),
            curves: curves.collect(),
        })
    })
    .await
}

fn row(folder: &std::path::Path, facts: &RunFacts, records: &[TrialRecord]) -> Row {
    let report = report(&RunFolder::of(folder, &facts.run));
    let (verdict, tone) = verdict(facts, report.as_ref());
    let [solved, failed, skipped, errors] = run::counts(records);
    let planned = facts.tasks.len() as u64 * u64::from(facts.attempts);
    let cost = report
        .as_ref()
        .and_then(|report| report.get("cost_per_solve")?.as_f64());
    Row {
        href: format!("/prove/{}", encoded(&facts.run)),
        name: clean::line(&facts.run, 60),
        time: When::of(&facts.created),
        suite: clean::line(&facts.suite_name, 60),
        agent: clean::line(&facts.agent_name, 60),
        mode: facts.mode.clone(),
        verdict,
        tone,
        counts: format!(
            "{solved} of {planned} solved; {failed} failed, {skipped} skipped, {errors} errors"
        ),
        cost: cost.map_or_else(|| "–".to_owned(), |cost| format!("${cost:.2}")),
    }
}

/// Returns the text of a verdict. One on a built-in agent shows nothing about capability, and there is none during a
/// run.
fn verdict(facts: &RunFacts, report: Option<&Value>) -> (String, &'static str) {
    let verdict = report.and_then(|report| report.get("verdict")?.as_str());
    match verdict {
        None => ("not finished".to_owned(), "warn"),
        Some(verdict) if facts.harness_check => (format!("{verdict} (harness check)"), "plain"),
        Some("ACCEPTED") => ("ACCEPTED".to_owned(), "good"),
        Some(verdict) => (clean::line(verdict, 40), "warn"),
    }
}

fn report(folder: &RunFolder) -> Option<Value> {
    let bytes = base::files::read(&folder.0.join("report.json"), MAX_REPORT).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[derive(Template)]
#[template(path = "pages/proof.html")]
struct One {
    frame: Frame,
    name: String,
    time: When,
    verdict: String,
    tone: &'static str,
    text: String,
    trials: Vec<Trial>,
}

struct Trial {
    task: String,
    href: Option<String>,
    attempt: u32,
    outcome: String,
    tone: &'static str,
    cause: &'static str,
    why: String,
    refused: usize,
    seconds: String,
}

pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(name): Path<String>,
) -> Response {
    show(&desk, visit, "Prove", move |desk, visit| {
        let runs = desk.workspace.role_os_dir().join("prove");
        // Only a listed name is looked up, so that no path leads out of the folder.
        let folder = run::list(&runs)
            .contains(&name)
            .then(|| RunFolder::of(&runs, &name))
            .and_then(|folder| Some((folder.facts().ok()?, folder)));
        let Some((facts, folder)) = folder else {
            let message = format!("there is no run `{}`", clean::line(&name, 60));
            return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_run", message));
        };
        let report = report(&folder);
        let (verdict, tone) = verdict(&facts, report.as_ref());
        let text = report
            .as_ref()
            .and_then(|report| report.get("text")?.as_str());
        let records = folder.records(&facts);
        Ok(One {
            frame: visit.frame("Prove", format!("Run {}", clean::line(&facts.run, 60))),
            name: clean::line(&facts.run, 60),
            time: When::of(&facts.created),
            verdict,
            tone,
            text: clean::text(text.unwrap_or("The run is not finished.").as_bytes()).into_owned(),
            trials: records
                .iter()
                .take(MOST)
                .map(|record| trial(&folder, record))
                .collect(),
        })
    })
    .await
}

fn trial(folder: &RunFolder, record: &TrialRecord) -> Trial {
    let failing = record
        .failing
        .first()
        .map(|(name, status)| format!("{status} {name}"));
    let why = record.agent.violations.first().cloned().or(failing);
    let why = why
        .or_else(|| record.notes.first().cloned())
        .unwrap_or_default();
    let spent = record.agent.took_ms.saturating_add(record.test_ms);
    Trial {
        task: clean::line(&record.task, 120),
        href: folder
            .bundle_id(&record.task, record.attempt)
            .map(|id| format!("/tasks/{}", encoded(&id))),
        attempt: record.attempt,
        tone: tone(&record.outcome),
        outcome: clean::line(&record.outcome, 20),
        cause: record.cause.map_or("", Cause::name),
        why: clean::line(&why, 160),
        refused: record.agent.all_refused().count(),
        seconds: format!(
            "{:.1} s",
            std::time::Duration::from_millis(spent).as_secs_f64()
        ),
    }
}
