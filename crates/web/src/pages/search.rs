//! One search over tasks, sessions, calls, runs and requests. A complete digest, task id or session leads to its page.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};

use super::frame::{Frame, Visit, encoded, html, tone};
use super::listing::Asked;
use super::when::When;
use super::{sessions, tasks};
use crate::api::{Desk, waiting};
use crate::problem::Problem;
use index::list::{Filter, Listable, Listed, Page as Wanted};
use index::rows::{Decision, Request, Run, Session, Task};
use present::show::clean;
use present::show::units::grouped;

/// Rows per kind; the list of the kind has the rest.
const ROWS: u32 = 8;
/// Most columns of a command.
const MAX_COMMAND: usize = 200;

#[derive(Template)]
#[template(path = "pages/search.html")]
struct Page {
    frame: Frame,
    query: String,
    /// Number of rows of all kinds.
    total: u64,
    kinds: Vec<Kind>,
}

/// Search results of one kind.
struct Kind {
    name: &'static str,
    total: String,
    /// Link to the list with this search.
    href: String,
    rows: Vec<Row>,
}

struct Row {
    href: String,
    title: String,
    /// A label with its tone.
    tag: Option<(&'static str, String)>,
    time: When,
    more: String,
}

pub(super) async fn page(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    let query = asked.one("q").trim().to_owned();
    let shown = visit.clone();
    let found = waiting(&desk, move |desk| match exact(desk, &query)? {
        Some(address) => Ok(Err(address)),
        None => Ok(Ok(build(desk, &shown, &query)?)),
    });
    match found.await {
        Ok(Ok(page)) => html(&page),
        Ok(Err(address)) => Redirect::to(&address).into_response(),
        Err(problem) => visit.wrong("", &problem),
    }
}

/// Returns the address of the single entry that a query names completely.
fn exact(desk: &Desk, query: &str) -> Result<Option<String>, Problem> {
    let digest = query
        .strip_prefix("sha256:")
        .unwrap_or(query)
        .to_lowercase();
    let only = |filter: Filter| -> Result<Option<String>, Problem> {
        let found = desk.view.list::<Task>(&filter, &Wanted::first(1))?;
        let first = found.items.into_iter().next();
        Ok(first.map(|task| format!("/tasks/{}", task.task_id)))
    };
    let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    match digest.len() {
        64 if is_hex => only(Filter::default().equal("digest", Some(&digest))),
        32 if is_hex => only(Filter::default().equal("task_id", Some(&digest))),
        0 => Ok(None),
        _ => {
            let filter = Filter::default().equal("session.id", Some(query));
            let found = desk.view.list::<Session>(&filter, &Wanted::first(1))?;
            Ok((found.total == 1).then(|| sessions::address(query)))
        }
    }
}

fn build(desk: &Desk, visit: &Visit, query: &str) -> Result<Page, Problem> {
    let mut page = Page {
        frame: visit.frame("", "Search"),
        query: clean::line(query, 200),
        total: 0,
        kinds: Vec::new(),
    };
    if query.is_empty() {
        return Ok(page);
    }
    let search = encoded(query).to_string();
    page.add(
        "Tasks",
        format!("/tasks?q={search}"),
        &found(desk, query)?,
        of_task,
    );
    page.add(
        "Sessions",
        format!("/sessions?q={search}"),
        &found(desk, query)?,
        of_session,
    );
    page.add(
        "Calls",
        format!("/oversight?q={search}#verdicts"),
        &found(desk, query)?,
        of_call,
    );
    page.add(
        "Runs",
        format!("/runs?q={search}"),
        &found(desk, query)?,
        of_run,
    );
    page.add(
        "Requests",
        format!("/traffic?q={search}"),
        &found(desk, query)?,
        of_request,
    );
    Ok(page)
}

fn found<T: Listable>(desk: &Desk, query: &str) -> Result<Listed<T>, Problem> {
    let filter = Filter::default().found::<T>(query);
    Ok(desk.view.list(&filter, &Wanted::first(ROWS))?)
}

impl Page {
    fn add<T>(&mut self, name: &'static str, href: String, found: &Listed<T>, row: fn(&T) -> Row) {
        self.total += found.total;
        if found.total > 0 {
            self.kinds.push(Kind {
                name,
                total: grouped(found.total),
                href,
                rows: found.items.iter().map(row).collect(),
            });
        }
    }
}

fn of_task(task: &Task) -> Row {
    let row = tasks::Row::of(task.clone());
    Row {
        href: format!("/tasks/{}", row.task.task_id),
        tag: Some((row.tone(), row.task.outcome.clone())),
        more: format!("{} {} sha256 {}", row.role, row.model, row.task.sha256),
        title: row.title,
        time: row.created,
    }
}

fn of_session(session: &Session) -> Row {
    let row = sessions::Row::of(session.clone());
    Row {
        href: row.href,
        title: row.title,
        tag: None,
        time: row.last,
        more: format!("{} {} {}", row.agent, row.model, row.id),
    }
}

fn of_call(decision: &Decision) -> Row {
    Row {
        href: sessions::address(&decision.session),
        title: clean::line(&decision.text, MAX_COMMAND),
        tag: Some((tone(&decision.verdict), decision.verdict.clone())),
        time: When::of(&decision.time),
        more: clean::line(
            &format!("{} in session {}", decision.tool, decision.session),
            120,
        ),
    }
}

fn of_run(run: &Run) -> Row {
    let text = |name: &str| {
        let text = run.record.get(name).and_then(serde_json::Value::as_str);
        clean::line(text.unwrap_or_default(), 60)
    };
    Row {
        href: format!("/runs/{}", encoded(&run.run_id)),
        title: format!("{} {}", text("role"), text("model_id")),
        tag: Some(if run.passed {
            ("good", "pass".to_owned())
        } else {
            ("bad", "fail".to_owned())
        }),
        time: When::of(&text("timestamp")),
        more: clean::line(&run.run_id, 60),
    }
}

fn of_request(request: &Request) -> Row {
    Row {
        href: format!("/traffic?q={}", encoded(&request.trace)),
        title: clean::line(&format!("{} {}", request.path, request.model), MAX_COMMAND),
        tag: Some((
            if request.status < 400 { "good" } else { "bad" },
            request.status.to_string(),
        )),
        time: When::of(&request.ts),
        more: clean::line(&request.trace, 60),
    }
}
