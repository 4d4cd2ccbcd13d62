//! Tasks: the list with its filters, the replay of one, and what became of tasks against a baseline.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use evidence::judged::Judged;
use serde::Deserialize;

use super::frame::{Choice, Frame, Visit, choices, encoded, page_after, short_time, show, tone};
use crate::api::{Desk, judged_bundle};
use crate::problem::Problem;
use crate::show::units::{cost, duration, grouped};
use crate::show::{clean, replay_html};
use crate::view::compare::{Compared, Pair, Side};
use crate::view::list::{Filter, TaskColumn};
use crate::view::rows::Task;

/// Rows of a page.
const ROWS: u32 = 50;

/// Which tasks. An empty value is no filter, as forms send it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    outcome: String,
    role: String,
    model: String,
    mode: String,
    week: String,
    verdict: String,
    after: String,
}

impl Asked {
    fn filter(&self) -> Filter {
        let columns = self.columns().into_iter();
        columns.fold(Filter::default(), |filter, (column, value)| {
            filter.chosen(column, value)
        })
    }

    fn columns(&self) -> [(&'static str, &str); 6] {
        [
            ("outcome", &self.outcome),
            ("role", &self.role),
            ("model", &self.model),
            ("mode", &self.mode),
            ("week", &self.week),
            ("verdict", &self.verdict),
        ]
    }

    /// The address of the page that begins behind `after`.
    fn address(&self, after: &str) -> String {
        let chosen = self
            .columns()
            .into_iter()
            .filter(|(_, value)| !value.is_empty());
        let chosen: String = chosen
            .map(|(column, value)| format!("{column}={}&", encoded(value)))
            .collect();
        format!("/tasks?{chosen}after={}", encoded(after))
    }
}

#[derive(Template)]
#[template(path = "pages/tasks.html")]
struct List {
    frame: Frame,
    asked: Asked,
    outcomes: Vec<Choice>,
    roles: Vec<Choice>,
    models: Vec<Choice>,
    modes: Vec<Choice>,
    weeks: Vec<Choice>,
    verdicts: Vec<Choice>,
    rows: Vec<Row>,
    total: String,
    next: Option<String>,
}

struct Row {
    task: Task,
    short: String,
    created: String,
    cost: String,
    latency: String,
    role: String,
    model: String,
}

impl Row {
    fn of(task: Task) -> Self {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Self {
            short: task.task_id.chars().take(12).collect(),
            created: task.created.as_deref().map(short_time).unwrap_or_default(),
            cost: cost(count(task.cost_microdollars), task.cost_known),
            latency: duration(count(task.latency_ms)),
            role: clean::line(&task.role, 40),
            model: clean::line(&task.model, 40),
            task,
        }
    }

    fn tone(&self) -> &'static str {
        tone(&self.task.outcome)
    }

    fn verdict_tone(&self) -> &'static str {
        tone(&self.task.verdict)
    }
}

pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Response {
    show(&desk, visit, "Tasks", move |desk, visit| {
        let page = page_after(ROWS, &asked.after)?;
        let listed = desk.view.list(&asked.filter(), &page)?;
        let values = |column| Ok::<_, Problem>(choices(&desk.view.task_values(column)?));
        Ok(List {
            frame: visit.frame("Tasks", "Tasks"),
            outcomes: values(TaskColumn::Outcome)?,
            roles: values(TaskColumn::Role)?,
            models: values(TaskColumn::Model)?,
            modes: values(TaskColumn::Mode)?,
            weeks: values(TaskColumn::Week)?.into_iter().rev().collect(),
            verdicts: values(TaskColumn::Verdict)?,
            next: listed.next.map(|key| asked.address(&key.text())),
            rows: listed.items.into_iter().map(Row::of).collect(),
            total: grouped(listed.total),
            asked,
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/task.html")]
struct Replay {
    frame: Frame,
    task_id: String,
    outcome: &'static str,
    tone: &'static str,
    logged: Option<(u64, u64)>,
    body: String,
}

pub(super) async fn replay(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(task): Path<String>,
) -> Response {
    show(&desk, visit, "Tasks", move |desk, visit| {
        judged_bundle(desk, &task, |file, judged, place| {
            let body = body(file, judged)?;
            let contents = judged.contents();
            let outcome = contents.map_or("", |contents| contents.outcome().name());
            let task_id = contents.map_or_else(
                || task.clone(),
                |contents| contents.header().task_id.to_string(),
            );
            Ok(Replay {
                frame: visit.frame(
                    "Tasks",
                    format!("Task {}", task_id.chars().take(12).collect::<String>()),
                ),
                tone: tone(outcome),
                outcome,
                logged: place,
                task_id,
                body,
            })
        })
    })
    .await
}

/// The replay as a part of a page. The template of the replay escapes every value.
fn body(file: &str, judged: &Judged<'_>) -> Result<String, Problem> {
    crate::api::replay(file, judged, replay_html::article)
}

/// What is compared with what: a column and two of its values.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Comparison {
    by: String,
    baseline: String,
    with: String,
}

#[derive(Template)]
#[template(path = "pages/compare.html")]
struct Compare {
    frame: Frame,
    asked: Comparison,
    weeks: Vec<Choice>,
    models: Vec<Choice>,
    compared: Option<Compared>,
}

pub(super) async fn compare(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Query(asked): Query<Comparison>,
) -> Response {
    show(&desk, visit, "Tasks", move |desk, visit| {
        let by = if asked.by == "model" {
            TaskColumn::Model
        } else {
            TaskColumn::Week
        };
        let compared = if asked.baseline.is_empty() || asked.with.is_empty() {
            None
        } else {
            Some(desk.view.compared(by, &asked.baseline, &asked.with)?)
        };
        Ok(Compare {
            frame: visit.frame("Tasks", "Against a baseline"),
            weeks: choices(&desk.view.task_values(TaskColumn::Week)?),
            models: choices(&desk.view.task_values(TaskColumn::Model)?),
            compared,
            asked,
        })
    })
    .await
}

impl Pair {
    fn tone(&self) -> &'static str {
        match self.change {
            "regression" => "bad",
            "fixed" => "good",
            "changed" => "warn",
            _ => "plain",
        }
    }
}

impl Side {
    fn tone(&self) -> &'static str {
        tone(&self.outcome)
    }

    fn short(&self) -> String {
        self.task_id.chars().take(12).collect()
    }

    fn cost_text(&self) -> String {
        cost(u64::try_from(self.cost).unwrap_or(0), self.cost_known)
    }
}
