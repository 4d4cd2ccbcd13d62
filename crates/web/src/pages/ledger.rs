//! The ledger: its audit, its checkpoint, its newest leaves; and a check of a digest, an id or a whole bundle.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evidence::judged::Judged;
use serde::Deserialize;
use witness::bundle::Strictness;
use witness::ledger::Leaf as LedgerLeaf;

use super::frame::{Filled, Frame, Visit, show};
use super::listing::Asked;
use super::when::When;
use crate::api::Desk;
use crate::problem::Problem;
use index::list::{Filter, Page as Wanted};
use index::rows::{Leaf, Task};
use present::show::clean;
use present::show::units::{counted, grouped};

/// Most leaves that are shown.
const ROWS: u32 = 25;

#[derive(Template)]
#[template(path = "pages/ledger.html")]
struct Page {
    frame: Frame,
    /// Tone and headline.
    state: (&'static str, &'static str),
    problems: Vec<(String, String)>,
    origin: String,
    size: String,
    root: String,
    is_recorded: bool,
    checkpoint: Option<String>,
    leaves: Vec<Row>,
    asked: String,
    checked: Option<Checked>,
}

struct Row {
    place: String,
    task: String,
    short: String,
    created: When,
    sha256: String,
}

/// Result of checking a pasted digest or bundle.
#[derive(Debug, PartialEq)]
struct Checked {
    tone: &'static str,
    headline: &'static str,
    lines: Vec<String>,
    task: Option<String>,
}

impl Checked {
    fn new(tone: &'static str, headline: &'static str, lines: Vec<String>) -> Self {
        Self {
            tone,
            headline,
            lines,
            task: None,
        }
    }
}

/// Pasted text in a form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pasted {
    check: String,
}

pub(super) async fn page(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    let pasted = asked.one("check").to_owned();
    respond(desk, visit, pasted).await
}

pub(super) async fn check(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Filled(pasted): Filled<Pasted>,
) -> Response {
    respond(desk, visit, pasted.check).await
}

async fn respond(desk: Arc<Desk>, visit: Visit, pasted: String) -> Response {
    show(&desk, visit, "Ledger", move |desk, visit| {
        build(desk, visit, &pasted)
    })
    .await
}

fn build(desk: &Desk, visit: &Visit, pasted: &str) -> Result<Page, Problem> {
    let audit = desk.view.audit()?;
    let file = desk.store.ledger()?;
    let checkpoint = match &file {
        Some(file) => file.checkpoint()?.map(|signed| signed.to_text()),
        None => None,
    };
    let leaves = desk
        .view
        .list::<Leaf>(&Filter::default(), &Wanted::first(ROWS))?;
    let state = match (&audit.origin, audit.problems.is_empty()) {
        (None, true) => ("warn", "There is no ledger yet"),
        (_, true) => ("good", "The ledger holds: every bundle is in place"),
        (_, false) => ("bad", "The ledger does not hold"),
    };
    Ok(Page {
        frame: visit.frame("Ledger", "Ledger"),
        state,
        problems: audit
            .problems
            .iter()
            .map(|one| (one.kind.replace('_', " "), clean::line(&one.detail, 300)))
            .collect(),
        origin: clean::line(audit.origin.as_deref().unwrap_or("none"), 100),
        size: grouped(audit.size),
        root: hex::encode(audit.root),
        is_recorded: audit.is_recorded,
        checkpoint,
        leaves: leaves.items.into_iter().map(row).collect(),
        checked: match pasted.trim() {
            "" => None,
            text => Some(checked(desk, text)?),
        },
        asked: clean::line(pasted.trim(), 100),
    })
}

fn row(leaf: Leaf) -> Row {
    Row {
        place: grouped(leaf.line.saturating_sub(1).unsigned_abs()),
        short: leaf.task_id.chars().take(12).collect(),
        task: leaf.task_id,
        created: When::of(&leaf.created),
        sha256: leaf.sha256,
    }
}

/// Describes a digest, a task id, or a bundle as base64 or hexadecimal text.
fn checked(desk: &Desk, text: &str) -> Result<Checked, Problem> {
    let plain: String = text.split_whitespace().collect();
    let digits = plain
        .strip_prefix("sha256:")
        .unwrap_or(&plain)
        .to_lowercase();
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && digits.len() == 64 {
        return digest(desk, &digits);
    }
    let id = digits.replace('-', "");
    if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let filter = Filter::default().equal("task_id", Some(&id));
        let found = desk.view.list::<Task>(&filter, &Wanted::first(1))?;
        return match found.items.first() {
            Some(task) => digest(desk, &task.sha256),
            None => Ok(Checked::new("warn", "No task here has this id", Vec::new())),
        };
    }
    let bytes = if is_hex {
        hex::decode(&digits).ok()
    } else {
        STANDARD.decode(&plain).ok()
    };
    match bytes {
        Some(bytes) => bundle(desk, &bytes),
        None => Ok(Checked::new(
            "warn",
            "This is neither a digest nor a bundle",
            vec![
                "Paste 64 hexadecimal digits, a task id, or a bundle as base64: `base64 -w0 FILE`."
                    .to_owned(),
            ],
        )),
    }
}

fn digest(desk: &Desk, digest: &str) -> Result<Checked, Problem> {
    let file = Filter::default().equal("digest", Some(digest));
    let task = desk
        .view
        .list::<Task>(&file, &Wanted::first(1))?
        .items
        .into_iter()
        .next();
    let logged = desk.view.leaf_of(digest)?;
    let place = logged.as_ref().map(|(_, index, size)| {
        format!(
            "In the ledger at place {} of {}.",
            grouped(*index),
            grouped(*size)
        )
    });
    let mut checked = match (&task, &logged) {
        (Some(task), Some(_)) if task.verdict == "valid" => Checked::new(
            "good",
            "A valid bundle of this workspace, and in its ledger",
            Vec::new(),
        ),
        (Some(_), Some(_)) => Checked::new(
            "bad",
            "In the ledger, but its signature does not count here",
            Vec::new(),
        ),
        (Some(_), None) => Checked::new(
            "bad",
            "The file is here, but the ledger does not have it",
            Vec::new(),
        ),
        (None, Some(_)) => Checked::new(
            "bad",
            "The ledger has this bundle, but its file is gone",
            Vec::new(),
        ),
        (None, None) => Checked::new(
            "warn",
            "No bundle here has this digest",
            vec!["Paste the bundle itself to see who signed it.".to_owned()],
        ),
    };
    checked.lines.extend(place);
    if let Some(task) = &task {
        checked
            .lines
            .push(format!("Task {}, check: {}.", task.task_id, task.verdict));
    }
    checked.task = task
        .map(|task| task.task_id)
        .or_else(|| logged.map(|(task, ..)| task));
    Ok(checked)
}

fn bundle(desk: &Desk, bytes: &[u8]) -> Result<Checked, Problem> {
    let keyring = desk.store.keys()?.keyring();
    let judged = Judged::of(bytes, Strictness::Strict, &keyring);
    let sha256 = base::digest(bytes);
    let verdict = judged.verdict();
    let mut lines = vec![
        format!(
            "sha256 {}, {}",
            hex::encode(sha256),
            counted(bytes.len() as u64, "byte")
        ),
        clean::line(&verdict.explain(), 300),
    ];
    let mut is_logged = false;
    if let Some(contents) = judged.contents() {
        let header = contents.header();
        lines.push(format!(
            "Task {}, outcome {}.",
            header.task_id,
            contents.outcome().name()
        ));
        let leaf = LedgerLeaf {
            task_id: header.task_id,
            created_ns: header.created_ns,
            bundle_sha256: sha256,
        };
        let place = desk.view.place_of(&leaf)?;
        is_logged = place.is_some();
        lines.push(match place {
            Some((index, size)) => format!(
                "In the ledger at place {} of {}.",
                grouped(index),
                grouped(size)
            ),
            None => "Not in the ledger of this workspace.".to_owned(),
        });
    }
    Ok(match (verdict.name(), is_logged) {
        ("valid", true) => Checked::new("good", "Valid, and in the ledger", lines),
        ("valid", false) => Checked::new("warn", "Valid, but not in the ledger", lines),
        ("unsigned" | "unchecked", _) => Checked::new(
            "warn",
            "Well-formed, but not checked with a key that is known here",
            lines,
        ),
        _ => Checked::new("bad", "Not valid", lines),
    })
}
