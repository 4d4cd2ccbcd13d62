//! History: decisions of people, acts of operators and events of specialists, in one list.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use base::receipts;
use jiff::Timestamp;

use super::frame::{Frame, Visit, show};
use super::specialists::Told;
use super::when::When;
use crate::api::Desk;
use crate::problem::Problem;
use index::list::{Filter, MAX_PAGE, Page};
use index::rows::Event;
use present::show::clean;
use specialist::event::Kind;

/// Rows of the list.
const MOST: usize = 200;

/// Kinds of events that are listed: all but probes, of which there are many.
const KINDS: [Kind; 13] = [
    Kind::Register,
    Kind::Certify,
    Kind::CertificationAttempt,
    Kind::Promote,
    Kind::Rollback,
    Kind::Halt,
    Kind::ClearHalt,
    Kind::Withdraw,
    Kind::Canary,
    Kind::Beside,
    Kind::Deactivate,
    Kind::Set,
    Kind::RoleBlock,
];

#[derive(Template)]
#[template(path = "pages/history.html")]
struct List {
    frame: Frame,
    rows: Vec<Row>,
}

struct Row {
    time: When,
    of: &'static str,
    what: String,
    by: String,
}

pub(super) async fn page(State(desk): State<Arc<Desk>>, visit: Visit) -> Response {
    show(&desk, visit, "Oversight", |desk, visit| {
        Ok(List {
            frame: visit.frame("Oversight", "History"),
            rows: rows(desk)?,
        })
    })
    .await
}

fn rows(desk: &Desk) -> Result<Vec<Row>, Problem> {
    let mut rows: Vec<(Option<Timestamp>, Row)> = Vec::new();
    let mut add = |time: &str, of, what: &str, by: &str| {
        let row = Row {
            time: When::of(time),
            of,
            what: clean::line(what, 300),
            by: clean::line(by, 60),
        };
        rows.push((time.parse().ok(), row));
    };
    for (at, what) in receipts::history(&desk.workspace)? {
        add(&at, "gate", &what, "");
    }
    for act in desk.gate.archive().acts(MOST)? {
        let what = [act.what.as_str(), &act.subject, &act.why].join(" ");
        add(&base::clock::text(act.at_ns), "operator", &what, &act.who);
    }
    let events = Filter::default().any("kind", &KINDS.map(Kind::name));
    let events = desk.view.list::<Event>(&events, &Page::first(MAX_PAGE))?;
    for event in events.items {
        let told = Told::of(&event);
        let what = format!("{} {} {}", told.kind, event.role, told.what);
        add(&event.ts, "specialist", &what, &told.operator);
    }
    rows.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    rows.truncate(MOST);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
