//! Oversight: new verdicts, acts that wait for a person, grants, and a box to try a command.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use base::grants::{self, Entry};
use guard::approvals::{self, Id, Refused};
use jiff::Timestamp;
use oversight::Decision as Said;
use oversight::actions::Catalog;
use oversight::grants::Standing;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::chart::{self, Bar};
use super::csv;
use super::frame::{Filled, Frame, Visit, show, tone};
use super::listing::{Asked, Column, Field, Shell};
use super::sessions;
use super::when::When;
use crate::api::{
    Desk, Grant, approve_act, bad_query, decided, deciding_parts, dismiss_act, revoke_grant,
    waiting, write_grant,
};
use crate::login::Person;
use crate::problem::Problem;
use index::list::{Filter, Page as Wanted};
use index::over_time::Refusals;
use index::rows::{Decision, Session};
use present::show::clean;
use present::show::units::{counted, grouped};

const COLUMNS: &[Column] = &[
    ("Time", "time", false),
    ("Verdict", "verdict", false),
    ("Agent", "agent", false),
    ("Tool", "tool", false),
    ("What", "", false),
    ("Why", "", false),
];

/// Longest part of a command in the feed.
const MAX_SHOWN: usize = 400;
/// Most days of the chart.
const MOST_DAYS: u32 = 42;
/// Longest command that the box takes.
const MAX_COMMAND: usize = 100_000;

#[derive(Template)]
#[template(path = "pages/oversight.html")]
struct Page {
    frame: Frame,
    /// The command to try.
    command: String,
    shell: Shell,
    tried: Option<Tried>,
    waiting: Vec<Waiting>,
    given: Vec<Waiting>,
    sealed_key: bool,
    grants: Vec<Granted>,
    actions: Vec<(String, String)>,
    /// Days with calls, newest first, and a picture of them.
    days: Vec<Refusals>,
    chart: String,
    rows: Vec<Row>,
    sessions: Vec<sessions::Row>,
}

/// Verdict of the gate on the command in the box.
struct Tried {
    verdict: &'static str,
    tone: &'static str,
    /// The command in parts; the deciding ones are marked.
    parts: Vec<(bool, String)>,
    actions: Vec<(String, String)>,
    opaque: Vec<String>,
    reasons: Vec<String>,
    notes: Vec<String>,
}

impl Tried {
    fn of(command: &str, said: &Said, catalog: &Catalog) -> Self {
        let undo = |id: &String| {
            let action = catalog.action(id);
            let undo = action.map_or("", |action| &action.compensator);
            untold(undo, &said.reasons).to_owned()
        };
        Self {
            verdict: said.verdict.as_str(),
            tone: tone(said.verdict.as_str()),
            parts: marked(command, &said.spans),
            actions: said
                .actions
                .iter()
                .map(|id| (id.clone(), undo(id)))
                .collect(),
            opaque: said
                .opaque
                .iter()
                .map(|note| format!("{}: {}", note.reason, note.text))
                .collect(),
            reasons: said.reasons.clone(),
            notes: said.notes.clone(),
        }
    }
}

/// Returns the way to undo an act, unless the reasons contain it.
fn untold<'a>(undo: &'a str, reasons: &[String]) -> &'a str {
    let is_told = reasons.iter().any(|reason| reason.contains(undo));
    if is_told { "" } else { undo }
}

/// Splits a command into deciding and other parts.
fn marked(command: &str, spans: &[(usize, usize)]) -> Vec<(bool, String)> {
    let mut parts: Vec<(bool, String)> = Vec::new();
    for (at, letter) in command.char_indices() {
        let is_marked = spans.iter().any(|(from, to)| (*from..*to).contains(&at));
        match parts.last_mut() {
            Some((last, text)) if *last == is_marked => text.push(letter),
            _ => parts.push((is_marked, letter.to_string())),
        }
    }
    for (_, text) in &mut parts {
        *text = clean::text(text.as_bytes()).into_owned();
    }
    parts
}

/// Returns the beginning of a command, split by [`marked`]; the journal has the rest.
fn marked_head(command: &str, spans: &[(usize, usize)]) -> Vec<(bool, String)> {
    let end = command.floor_char_boundary(MAX_SHOWN);
    let mut parts = marked(command.get(..end).unwrap_or(command), spans);
    if end < command.len() {
        parts.push((false, "…".to_owned()));
    }
    parts
}

/// A refused act.
struct Waiting {
    id: String,
    time: When,
    tool: String,
    command: String,
    directory: String,
    effects: Vec<(String, String, String)>,
    reasons: Vec<String>,
    /// Minutes until its approval ends, if it has one.
    left: Option<u64>,
}

impl Waiting {
    fn of(id: &Id, refused: &Refused, left: Option<u64>, catalog: &Catalog) -> Self {
        let act = &refused.act;
        let effects = act.actions.iter().map(|id| {
            let action = catalog.action(id);
            let label = action.map_or("", |action| &action.label);
            let undo = action.map_or("unknown", |action| &action.compensator);
            let undo = untold(undo, &refused.reasons);
            (clean::line(id, 60), label.to_owned(), undo.to_owned())
        });
        Self {
            id: id.to_string(),
            time: When::of_ns(refused.at_ns),
            tool: clean::line(&act.tool, 60),
            command: clean::text(act.command.as_bytes()).into_owned(),
            directory: clean::line(&act.directory, 200),
            effects: effects.collect(),
            reasons: refused
                .reasons
                .iter()
                .map(|reason| clean::line(reason, 400))
                .collect(),
            left,
        }
    }
}

struct Granted {
    action: String,
    holds: bool,
    why_not: String,
    expires: Option<When>,
    uses: String,
    scope: String,
}

impl Granted {
    fn of(entry: &Entry) -> Self {
        let why_not = match &entry.standing {
            Standing::Granted => None,
            Standing::Unconfirmed(why) | Standing::Refused(why) => Some(why.clone()),
        };
        let scope = match (&entry.scope, entry.enforce) {
            (None, _) => "anything".to_owned(),
            (Some(scope), true) => format!("only {}", clean::line(scope, 100)),
            (Some(scope), false) => format!("meant for {} (not enforced)", clean::line(scope, 100)),
        };
        Self {
            action: entry.action.clone(),
            holds: why_not.is_none(),
            why_not: why_not.unwrap_or_default(),
            expires: entry.expires.as_deref().map(When::of),
            uses: entry
                .uses
                .map_or_else(|| "no limit".to_owned(), |uses| format!("{uses} left")),
            scope,
        }
    }
}

struct Row {
    decision: Decision,
    time: When,
    session: String,
    /// The command in parts; the deciding ones are marked.
    parts: Vec<(bool, String)>,
    why: String,
}

impl Row {
    fn of(decision: Decision, spans: &[(usize, usize)]) -> Self {
        // A reason names its actions, and the way to undo them is shown where a person decides.
        let untold = |id: &&String| !decision.reasons.iter().any(|why| why.contains(id.as_str()));
        let reasons = decision.reasons.iter();
        let reasons = reasons.map(|why| why.split("; to undo it:").next().unwrap_or(why));
        let actions = decision.actions.iter().filter(untold).map(String::as_str);
        let words: Vec<String> = actions
            .chain(reasons)
            .map(|word| clean::line(word, 300))
            .collect();
        Self {
            time: When::of(&decision.time),
            session: sessions::address(&decision.session),
            parts: marked_head(&decision.text, spans),
            why: words.join(" · "),
            decision,
        }
    }

    fn tone(&self) -> &'static str {
        tone(&self.decision.verdict)
    }
}

pub(super) async fn page(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    if asked.is_for_file() {
        return csv::file::<Decision>(&desk, &visit, "Oversight", asked, filter).await;
    }
    show(&desk, visit, "Oversight", move |desk, visit| {
        build(desk, visit, &asked)
    })
    .await
}

fn tried(desk: &Desk, command: &str, catalog: &Catalog) -> Result<Option<Tried>, Problem> {
    match command {
        "" => Ok(None),
        long if long.len() > MAX_COMMAND => Err(bad_query("the command is too long")),
        command => {
            let input = json!({ "command": command });
            let said = decided(desk, "Bash", &input, None)?;
            Ok(Some(Tried::of(command, &said, catalog)))
        }
    }
}

fn filter(asked: &Asked) -> Result<Filter, Problem> {
    let filter = Filter::default()
        .any("verdict", &asked.all("verdict"))
        .any("agent", &asked.all("agent"))
        .any("session", &asked.all("session"))
        .found::<Decision>(asked.one("q"));
    asked.within_ns(filter, "time_ns")
}

/// The verdicts that were asked for, with what stands around them.
fn verdicts(desk: &Desk, asked: &Asked) -> Result<(Shell, Vec<Row>), Problem> {
    let listed = desk
        .view
        .list::<Decision>(&filter(asked)?, &asked.page::<Decision>()?)?;
    let field = |name, label| {
        let values = desk.view.values_of::<Decision>(name)?;
        Ok::<_, Problem>(Field::of(asked, name, label, &values))
    };
    let mut fields = vec![field("verdict", "Verdict")?, field("agent", "Agent")?];
    if let Some(session) = asked.all("session").first() {
        fields.push(Field::of_words(asked, "session", "Session", &[session]));
    }
    let shell = Shell::new(
        asked,
        "/oversight",
        COLUMNS,
        fields,
        (listed.total, listed.next),
    );
    let spans = deciding_parts(desk, &listed.items);
    let rows = listed.items.into_iter().zip(&spans);
    Ok((
        shell,
        rows.map(|(one, spans)| Row::of(one, spans)).collect(),
    ))
}

fn by_day(days: &[Refusals]) -> String {
    let bars: Vec<Bar> = days
        .iter()
        .map(|day| Bar {
            name: day.day.chars().skip(5).collect(),
            parts: [day.denied, day.asked],
            words: format!(
                "{}: {} refused, {} asked about, of {}",
                day.day,
                day.denied,
                day.asked,
                counted(day.calls, "call")
            ),
        })
        .collect();
    chart::columns(
        "Calls refused and asked about",
        &bars,
        ["deny", "ask"],
        grouped,
    )
}

fn build(desk: &Desk, visit: &Visit, asked: &Asked) -> Result<Page, Problem> {
    let catalog = desk.config.oversight.policy().catalog;
    let (shell, rows) = verdicts(desk, asked)?;
    let command = asked.one("command").to_owned();
    let now =
        Timestamp::from_nanosecond(i128::from(base::clock::now_ns())).unwrap_or(Timestamp::MAX);
    let recent = Wanted::first(10);
    let sessions = desk
        .view
        .list::<Session>(&Filter::default(), &recent)?
        .items;
    let now_ns = base::clock::now_ns();
    let pending = approvals::pending(&desk.workspace, now_ns)?;
    let days = desk.view.refusals(MOST_DAYS)?;
    let given = approvals::given(&desk.workspace, now_ns)?;
    let place = base::approval_key::Place::of(&desk.workspace);
    Ok(Page {
        frame: visit.frame("Oversight", "Oversight"),
        tried: tried(desk, &command, &catalog)?,
        command,
        shell,
        waiting: pending
            .iter()
            .map(|(id, refused)| Waiting::of(id, refused, None, &catalog))
            .collect(),
        given: given
            .iter()
            .map(|one| {
                let left = Some(one.minutes_left(now_ns));
                Waiting::of(&one.id, &one.refused, left, &catalog)
            })
            .collect(),
        sealed_key: place.is_sealed().unwrap_or(true),
        grants: grants::list(&desk.workspace, now)?
            .iter()
            .map(Granted::of)
            .collect(),
        actions: catalog
            .actions()
            .iter()
            .map(|one| (one.id.to_string(), one.label.to_string()))
            .collect(),
        chart: by_day(&days),
        days: days.into_iter().rev().collect(),
        rows,
        sessions: sessions.into_iter().map(sessions::Row::of).collect(),
    })
}

/// What opens the approval key, and why, as a form sends it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Yes {
    action: String,
    reason: String,
    passphrase: String,
    hours: String,
    uses: String,
    scope: String,
    enforce: String,
}

impl Yes {
    fn secret(&self) -> Option<Zeroizing<String>> {
        Some(self.passphrase.clone())
            .filter(|text| !text.is_empty())
            .map(Zeroizing::new)
    }
}

/// Performs a change that a person must confirm, then shows the page again.
async fn change(
    desk: &Arc<Desk>,
    visit: &Visit,
    back: &str,
    work: impl FnOnce(&Desk, &Person) -> Result<(), Problem> + Send + 'static,
) -> Response {
    let person = match visit.person("/oversight") {
        Ok(person) => person,
        Err(instead) => return *instead,
    };
    let _alone = desk.one_passphrase().await;
    match waiting(desk, move |desk| work(desk, &person)).await {
        Ok(()) => Redirect::to(back).into_response(),
        Err(problem) => visit.wrong("Oversight", &problem),
    }
}

pub(super) async fn approve(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(id): Path<String>,
    Filled(yes): Filled<Yes>,
) -> Response {
    let work = move |desk: &Desk, person: &Person| {
        let by = (person, yes.reason.as_str());
        approve_act(desk, by, &id, yes.secret().as_ref()).map(drop)
    };
    change(&desk, &visit, "/oversight#waiting", work).await
}

pub(super) async fn dismiss(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(id): Path<String>,
) -> Response {
    let work = move |desk: &Desk, person: &Person| dismiss_act(desk, person, &id).map(drop);
    change(&desk, &visit, "/oversight#waiting", work).await
}

pub(super) async fn grant(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Filled(yes): Filled<Yes>,
) -> Response {
    let work = move |desk: &Desk, person: &Person| {
        write_grant(desk, (person, &yes.reason), wished(&yes)?).map(drop)
    };
    change(&desk, &visit, "/oversight#grants", work).await
}

/// Parses the form as a grant; an empty field means no limit.
fn wished(yes: &Yes) -> Result<Grant, Problem> {
    let number = |text: &str, name: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse::<u64>().map(Some).map_err(|_| {
            let message = format!("`{name}` must be a whole number");
            Problem::new(
                axum::http::StatusCode::UNPROCESSABLE_ENTITY,
                "bad_field",
                message,
            )
        }),
    };
    Ok(Grant {
        action: yes.action.clone(),
        scope: Some(yes.scope.clone()).filter(|scope| !scope.trim().is_empty()),
        enforce: yes.enforce == "yes",
        seconds: number(&yes.hours, "hours")?.map(|hours| hours.saturating_mul(3600)),
        until: None,
        uses: number(&yes.uses, "uses")?,
        passphrase: yes.secret().map(|secret| secret.to_string()),
        reason: None,
    })
}

pub(super) async fn revoke(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Filled(yes): Filled<Yes>,
) -> Response {
    let work = move |desk: &Desk, person: &Person| {
        let by = (person, yes.reason.as_str());
        revoke_grant(desk, by, &yes.action, yes.secret().as_ref())
    };
    change(&desk, &visit, "/oversight#grants", work).await
}
