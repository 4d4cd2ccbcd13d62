//! Bundles: the list from the view, and single bundles, read from their files and checked again on every call.

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use base::files;
use evidence::judged::Judged;
use present::view::bundle::{self as shape, VerifyLine};
use present::view::in_toto;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use witness::bundle::Strictness;
use witness::ledger::Leaf;
use witness::replay::OutcomeCheck;

use super::Desk;
use super::errors::conflict;
use super::frame::{Answer, Asked, List, Part, answer, list as listed, missing, waiting};
use crate::problem::Problem;
use index::list::Filter;
use index::rows::Task;
use present::show::replay_html;
use present::show::replay_view::{ReplayView, commands};

/// Shortest prefix of a task id.
const MIN_ID: usize = 4;

/// Which bundles.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Tasks {
    /// `solved`, `failed`, `skipped` or `error`.
    outcome: Option<String>,
    /// The role that was played.
    role: Option<String>,
    /// The model that answered.
    model: Option<String>,
    /// Governance mode: `restricted`, `approved` or `autonomous`.
    mode: Option<String>,
    /// Calendar week, such as `2026-W07`.
    week: Option<String>,
    /// What the check said: `valid`, `unsigned`, `unchecked`, `bad_signature` or `malformed`.
    verdict: Option<String>,
    /// The program that executed the task.
    agent: Option<String>,
    /// The agent's session.
    session: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    #[param(pattern = "^[^~]*~[0-9]{1,18}$")]
    after: Option<String>,
}

/// Bundles, newest first.
#[utoipa::path(get, path = "/api/witness", operation_id = "list_tasks", tag = "witness", params(Tasks),
    responses((status = 200, body = List<Task>)))]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Tasks>,
) -> Answer<List<Task>> {
    let filter = Filter::default()
        .equal("outcome", asked.outcome.as_deref())
        .equal("role", asked.role.as_deref())
        .equal("model", asked.model.as_deref())
        .equal("mode", asked.mode.as_deref())
        .equal("week", asked.week.as_deref())
        .equal("verdict", asked.verdict.as_deref())
        .equal("agent", asked.agent.as_deref())
        .equal("session", asked.session.as_deref());
    listed(&desk, (asked.limit, asked.after), filter).await
}

/// One bundle's file.
struct Loaded {
    /// Path from the folder of the bundles.
    file: String,
    bytes: Vec<u8>,
}

impl Desk {
    /// Finds the bundle of a task, by its id or a prefix of it.
    fn bundle(&self, task: &str) -> Result<Loaded, Problem> {
        let wanted = task.replace('-', "").to_lowercase();
        let is_id = wanted.len() >= MIN_ID && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found = if is_id {
            self.view.files_of(&wanted)?
        } else {
            Vec::new()
        };
        let unknown = || {
            missing("bundle_not_found", format!("there is no bundle `{task}`"))
                .hint("`GET /api/witness` lists the task ids")
        };
        let file = match found.as_slice() {
            [] => return Err(unknown()),
            [(one, _), (other, _)] if one != other => {
                let message = format!("`{task}` is the beginning of several task ids");
                return Err(conflict("bundle_ambiguous", message).hint("give more of the id"));
            }
            [(_, file), ..] => file.clone(),
        };
        let path: PathBuf = self.store.witness_dir().join(&file);
        let limit = self.config.witness.max_bundle_bytes();
        match files::read(&path, limit) {
            Ok(bytes) => Ok(Loaded { file, bytes }),
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Err(unknown()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Passes the judged bundle to `work`.
fn judged<T>(
    desk: &Desk,
    task: &str,
    work: impl FnOnce(&Loaded, &Judged<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let loaded = desk.bundle(task)?;
    let keyring = desk.store.keys()?.keyring();
    let judged = Judged::of(&loaded.bytes, Strictness::Strict, &keyring);
    work(&loaded, &judged)
}

fn malformed(judged: &Judged<'_>) -> Problem {
    let why = judged.verdict().explain();
    conflict(
        "bundle_malformed",
        format!("the bundle cannot be read: {why}"),
    )
    .hint("the file was changed since it was sealed; restore it from a backup")
}

/// Everything about one bundle but its texts.
#[utoipa::path(get, path = "/api/witness/{task}", operation_id = "get_task", tag = "witness", params(("task" = String, Path)),
    responses((status = 200, body = Value, description = "As `roleos witness show --json`.")))]
pub(super) async fn one(State(desk): State<Arc<Desk>>, Part(task): Part) -> Answer<Value> {
    answer(&desk, move |desk| {
        judged(desk, &task, |loaded, judged| {
            let contents = judged.contents().ok_or_else(|| malformed(judged))?;
            Ok(shape::show(&loaded.file, judged, contents))
        })
    })
    .await
}

/// Checks one bundle now: its bytes, its signatures, its place in the ledger.
#[utoipa::path(get, path = "/api/witness/{task}/verify", operation_id = "verify_task", tag = "witness", params(("task" = String, Path)),
    responses((status = 200, body = Value, description = "As a line of `roleos witness verify --json`, with `ledger`.")))]
pub(super) async fn verify(State(desk): State<Arc<Desk>>, Part(task): Part) -> Answer<Value> {
    answer(&desk, move |desk| {
        judged(desk, &task, |loaded, judged| {
            let line = VerifyLine::of(&loaded.file, judged);
            let mut value = serde_json::to_value(line).unwrap_or_default();
            if let Value::Object(fields) = &mut value {
                let ledger = match place(desk, judged)? {
                    None => json!({ "logged": false }),
                    Some((index, size)) => json!({ "logged": true, "index": index, "size": size }),
                };
                fields.insert("ledger".to_owned(), ledger);
            }
            Ok(value)
        })
    })
    .await
}

/// Returns the place of this bundle in the ledger, and the ledger's size.
fn place(desk: &Desk, judged: &Judged<'_>) -> Result<Option<(u64, u64)>, Problem> {
    let Some(contents) = judged.contents() else {
        return Ok(None);
    };
    let header = contents.header();
    let leaf = Leaf {
        task_id: header.task_id,
        created_ns: header.created_ns,
        bundle_sha256: base::digest(judged.bytes()),
    };
    // The view may be slightly behind the file.
    match desk.view.place_of(&leaf)? {
        Some(place) => Ok(Some(place)),
        None => Ok(desk.store.place_of(&leaf)?),
    }
}

/// Everything for a replay: spec, plan, calls, diff, test log, and whether the outcome agrees with it.
#[utoipa::path(get, path = "/api/witness/{task}/replay", operation_id = "get_replay", tag = "witness", params(("task" = String, Path)),
    responses((status = 200, body = Value, description = "As `roleos witness replay --json`.")))]
pub(super) async fn replay_data(State(desk): State<Arc<Desk>>, Part(task): Part) -> Answer<Value> {
    answer(&desk, move |desk| {
        judged(desk, &task, |loaded, judged| {
            let contents = judged.contents().ok_or_else(|| malformed(judged))?;
            Ok(shape::export(&loaded.file, judged, contents))
        })
    })
    .await
}

/// In which form.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Download {
    /// The form of the file.
    #[serde(default)]
    format: Format,
}

/// The form of a download.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    /// The bundle itself.
    #[default]
    Bundle,
    /// Everything in it as JSON.
    Json,
    /// A signed in-toto statement in a DSSE envelope.
    InToto,
    /// The replay as one page that needs nothing else.
    Html,
}

/// One bundle as a file.
#[utoipa::path(get, path = "/api/witness/{task}/download", operation_id = "download_bundle", tag = "witness", params(("task" = String, Path), Download),
    responses((status = 200, description = "The file.", content((Vec<u8> = "application/octet-stream"), (Value = "application/json"), (String = "text/html")))))]
pub(super) async fn download(
    State(desk): State<Arc<Desk>>,
    Part(task): Part,
    Asked(asked): Asked<Download>,
) -> Result<Response<Body>, Problem> {
    waiting(&desk, move |desk| {
        judged(desk, &task, |loaded, judged| {
            let contents = judged.contents().ok_or_else(|| malformed(judged))?;
            // The name contains only hexadecimal digits of the bundle itself, regardless of the path.
            let name = contents.header().task_id.to_string();
            let (bytes, kind, ending) = match asked.format {
                Format::Bundle => (
                    loaded.bytes.clone(),
                    "application/octet-stream",
                    evidence::scan::EXTENSION,
                ),
                Format::Json => {
                    let value = shape::export(&loaded.file, judged, contents);
                    (value.to_string().into_bytes(), "application/json", "json")
                }
                Format::InToto => {
                    let value = statement(desk, &loaded.file, judged)?;
                    (
                        value.to_string().into_bytes(),
                        "application/json",
                        "intoto.json",
                    )
                }
                Format::Html => {
                    let page = replay(desk, &loaded.file, judged, replay_html::page)?;
                    (page.into_bytes(), "text/html; charset=utf-8", "html")
                }
            };
            Ok(as_file(bytes, kind, &format!("{name}.{ending}")))
        })
    })
    .await
}

/// Renders a replay, as a whole or as a part of another page.
pub(crate) fn replay(
    desk: &Desk,
    file: &str,
    judged: &Judged<'_>,
    render: fn(&ReplayView<'_>) -> Result<String, askama::Error>,
) -> Result<String, Problem> {
    let contents = judged.contents().ok_or_else(|| malformed(judged))?;
    let check = OutcomeCheck::of(contents);
    let view = ReplayView {
        file,
        verdict: judged.verdict(),
        signers: judged.signers(),
        warnings: judged.warnings(),
        sha256: base::digest(judged.bytes()),
        contents,
        check: &check,
        commands: &commands(&desk.workspace.sessions_dir(), contents),
    };
    render(&view).map_err(|error| {
        let message = format!("the page cannot be made: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "page", message)
    })
}

/// Judges one bundle, with its place in the ledger and the ledger's size.
pub(crate) fn judged_bundle<T>(
    desk: &Desk,
    task: &str,
    work: impl FnOnce(&str, &Judged<'_>, Option<(u64, u64)>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    judged(desk, task, |loaded, judged| {
        let place = place(desk, judged)?;
        work(&loaded.file, judged, place)
    })
}

/// Returns a response that a browser saves under a name.
fn as_file(bytes: Vec<u8>, kind: &'static str, name: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

/// Returns a signed statement. We sign only statements about verified bundles.
fn statement(desk: &Desk, file: &str, judged: &Judged<'_>) -> Result<Value, Problem> {
    let Judged::Evidence(evidence) = judged else {
        let why = judged.verdict().explain();
        let message = format!("no statement is signed about this bundle: {why}");
        return Err(conflict("not_believed", message));
    };
    let keys = desk.store.keys()?;
    let key = keys.signing().ok_or_else(|| {
        conflict(
            "no_key",
            "there is no Ed25519 key to sign the statement with",
        )
        .hint("make one with `roleos key new`")
    })?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Ok(in_toto::envelope(name, evidence, key))
}
