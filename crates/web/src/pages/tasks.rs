//! Tasks: the list with its filters, single replays, and a comparison of tasks with a baseline.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use evidence::journal::SessionId;
use serde::Deserialize;
use witness::extension::field;
use witness::wire::Tag;

use super::csv;
use super::frame::{Choice, Frame, Visit, choices, show, tone};
use super::listing::{Asked, Column, Field, Shell};
use super::sessions;
use super::when::When;
use crate::api::{Desk, judged_bundle};
use crate::problem::Problem;
use index::compare::{Compared, Side};
use index::list::{Filter, TaskColumn};
use index::rows::Task;
use index::title_of;
use present::show::units::{cost, duration};
use present::show::{clean, replay_html};

const COLUMNS: &[Column] = &[
    ("Task", "title", false),
    ("Sealed", "created", false),
    ("Outcome", "outcome", false),
    ("Role", "role", false),
    ("Model", "model", false),
    ("Agent", "agent", false),
    ("Calls", "calls", true),
    ("Latency", "latency", true),
    ("Cost", "cost", true),
];

/// Columns of the filters, with their labels.
const FIELDS: [(TaskColumn, &str, &str); 7] = [
    (TaskColumn::Outcome, "outcome", "Outcome"),
    (TaskColumn::Role, "role", "Role"),
    (TaskColumn::Model, "model", "Model"),
    (TaskColumn::Agent, "agent", "Agent"),
    (TaskColumn::Mode, "mode", "Mode"),
    (TaskColumn::Week, "week", "Week"),
    (TaskColumn::Verdict, "verdict", "Check"),
];

#[derive(Template)]
#[template(path = "pages/tasks.html")]
struct List {
    frame: Frame,
    shell: Shell,
    rows: Vec<Row>,
}

/// A task in a list.
pub(super) struct Row {
    pub(super) task: Task,
    pub(super) title: String,
    pub(super) short: String,
    pub(super) created: When,
    cost: String,
    latency: String,
    pub(super) role: String,
    pub(super) model: String,
}

impl Row {
    pub(super) fn of(task: Task) -> Self {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Self {
            short: task.task_id.chars().take(12).collect(),
            title: match task.title.as_str() {
                "" => "No spec".to_owned(),
                title => clean::line(title, 100),
            },
            created: When::of(task.created.as_deref().unwrap_or_default()),
            cost: cost(count(task.cost_microdollars), task.cost_known),
            latency: duration(count(task.latency_ms)),
            role: clean::line(&task.role, 40),
            model: clean::line(&task.model, 40),
            task,
        }
    }

    pub(super) fn tone(&self) -> &'static str {
        tone(&self.task.outcome)
    }

    fn verdict_tone(&self) -> &'static str {
        tone(&self.task.verdict)
    }
}

fn filter(asked: &Asked) -> Result<Filter, Problem> {
    let filter = FIELDS
        .iter()
        .fold(Filter::default(), |filter, (_, name, _)| {
            filter.any(name, &asked.all(name))
        });
    let filter = filter.any("session", &asked.all("session"));
    asked.within_ns(filter.found::<Task>(asked.one("q")), "created_ns")
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    if asked.is_for_file() {
        return csv::file::<Task>(&desk, &visit, "Tasks", asked, filter).await;
    }
    show(&desk, visit, "Tasks", move |desk, visit| {
        let listed = desk
            .view
            .list::<Task>(&filter(&asked)?, &asked.page::<Task>()?)?;
        let mut fields = Vec::new();
        for (column, name, label) in FIELDS {
            let mut values = desk.view.task_values(column)?.to_vec();
            if column == TaskColumn::Week {
                values.reverse();
            }
            fields.push(Field::of(&asked, name, label, &values));
        }
        let count = (listed.total, listed.next);
        Ok(List {
            frame: visit.frame("Tasks", "Tasks"),
            shell: Shell::new(&asked, "/tasks", COLUMNS, fields, count),
            rows: listed.items.into_iter().map(Row::of).collect(),
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/task.html")]
struct Replay {
    frame: Frame,
    task_id: String,
    title: String,
    sha256: String,
    /// Address and name of its session.
    session: Option<(String, String)>,
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
            let body = crate::api::replay(desk, file, judged, replay_html::article)?;
            let contents = judged.contents();
            let outcome = contents.map_or("", |contents| contents.outcome().name());
            let task_id = contents.map_or_else(
                || task.clone(),
                |contents| contents.header().task_id.to_string(),
            );
            let spec = contents.and_then(|contents| contents.section(Tag::Spec));
            let title = title_of(spec.unwrap_or_default());
            let session = contents
                .and_then(|contents| contents.extensions().provenance.get(field::SESSION))
                .filter(|id| has_journal(desk, id));
            Ok(Replay {
                frame: visit.frame(
                    "Tasks",
                    match title.as_str() {
                        "" => format!("Task {}", task_id.chars().take(12).collect::<String>()),
                        title => title.to_owned(),
                    },
                ),
                sha256: hex::encode(base::digest(judged.bytes())),
                session: session.map(|id| (sessions::address(id), clean::line(id, 40))),
                tone: tone(outcome),
                outcome,
                logged: place,
                task_id,
                title,
                body,
            })
        })
    })
    .await
}

fn has_journal(desk: &Desk, session: &str) -> bool {
    let folder = desk.workspace.sessions_dir();
    SessionId::new(session).path_in(&folder).exists()
}

/// A comparison: a column and two of its values.
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
            frame: visit.frame("Tasks", "Compare"),
            weeks: choices(&desk.view.task_values(TaskColumn::Week)?),
            models: choices(&desk.view.task_values(TaskColumn::Model)?),
            compared,
            asked,
        })
    })
    .await
}

fn change_tone(change: &str) -> &'static str {
    match change {
        "regression" => "bad",
        "fixed" => "good",
        "changed" => "warn",
        _ => "plain",
    }
}

fn short(task_id: &str) -> String {
    task_id.chars().take(12).collect()
}

fn side_cost(side: &Side) -> String {
    cost(u64::try_from(side.cost).unwrap_or(0), side.cost_known)
}
