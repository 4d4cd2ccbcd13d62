//! `POST /v1/feedback`: feedback of a user on an answer, identified by its trace.
//!
//! The last answers of adapters are kept with their inputs, in memory only, so that feedback can label the selector's
//! training data; older ones are searched in the logs.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use routing::feedback::{self, Said, Subject};
use routing::specialists::Asked;
use selection::selector::Features;
use serde_json::{Value, json};

use super::receipt::{Entry, shortened};
use super::{proxy, roles};
use crate::up::App;
use upstream::contest;
use upstream::dispatch::Answer;
use web::login::waits::Client;
use web::problem::{Problem, Shape, json_response};

/// Most bytes of inputs and answers that are kept.
const MOST: usize = 32 * 1024 * 1024;

/// Largest input and answer that are kept.
const LARGEST: usize = 256 * 1024;

/// The last answers of adapters, by trace.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    order: VecDeque<(String, usize)>,
    all: HashMap<String, Remembered>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Remembered {
    role: String,
    version: String,
    input: Value,
    answer: Value,
}

impl Recent {
    /// Stores an adapter's answer.
    pub(super) fn note(&self, asked: Asked<'_>, answer: &Answer) {
        let (Some(version), Ok(said)) = (&answer.version, &answer.result) else {
            return;
        };
        let size = asked.input.to_string().len() + said.to_string().len();
        if size > LARGEST {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = Remembered {
            role: asked.role.to_owned(),
            version: version.clone(),
            input: asked.input.clone(),
            answer: said.clone(),
        };
        let trace = asked.trace_id.to_owned();
        // A repeated trace of a client means its newest answer; the size of the older one is released.
        kept.all.insert(trace.clone(), remembered);
        kept.order.push_back((trace, size));
        kept.bytes += size;
        while kept.bytes > MOST {
            let Some((trace, size)) = kept.order.pop_front() else {
                break;
            };
            kept.bytes = kept.bytes.saturating_sub(size);
            let is_newest = !kept.order.iter().any(|(later, _)| *later == trace);
            if is_newest {
                kept.all.remove(&trace);
            }
        }
    }

    fn get(&self, trace: &str) -> Option<Remembered> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.all.get(trace).cloned()
    }
}

/// Returns the known facts about an answer; reads files.
fn subject(app: &App, trace: &str) -> Option<Subject> {
    let Some(known) = app.gateway.recent.get(trace) else {
        return feedback::find(&app.workspace, &app.specialists, trace);
    };
    let registry = app.specialists.registry().ok();
    let entry = registry
        .as_ref()
        .and_then(|registry| registry.entry(&known.role));
    let version = entry.and_then(|entry| entry.version(&known.version));
    let bytes = known.input.to_string();
    let hash = contest::prompt_hash(&app.config.privacy, bytes.as_bytes());
    Some(Subject {
        model_id: version.map(|version| version.model_id.clone()),
        role: Some(known.role),
        version: Some(known.version),
        prompt_hash: hash.ok().map(|(hash, _)| hash),
        features: Some(Features::of_input(&known.input)),
        answer: Some(known.answer),
    })
}

/// Handles the request.
pub(super) async fn answer(
    app: Arc<App>,
    parts: Parts,
    body: Body,
    client: Client,
) -> Response<Body> {
    let mut entry = Entry::new(&app, &parts);
    entry.line.route = "refused";
    if parts.method != Method::POST {
        let message = "feedback is a `POST`";
        let (status, code) = (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed");
        let mut response = Problem::new(status, code, message).response(Shape::Own);
        let allow = HeaderValue::from_static("POST");
        response.headers_mut().insert(ALLOW, allow);
        return entry.watch(response);
    }
    let taken = take(&app, &parts, body, client, &mut entry).await;
    let response = taken.unwrap_or_else(|problem| {
        entry.line.reason = Some(problem.code.to_owned());
        problem.response(Shape::Own)
    });
    entry.watch(response)
}

async fn take(
    app: &Arc<App>,
    parts: &Parts,
    body: Body,
    client: Client,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let body = proxy::read(app, parts, body, entry).await?;
    entry.line.request_bytes = body.len() as u64;
    let bad = |why: String| {
        let message = format!("the body is no feedback: {why}");
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", message)
            .hint("send `{\"trace_id\": …, \"score\": 0 to 1}`, or `target` or `comment`")
    };
    let said: Said = serde_json::from_slice(&body).map_err(|error| bad(error.to_string()))?;
    said.check().map_err(bad)?;
    let sender = sender(app, &parts.headers, client);
    let trace = said.trace_id.clone();
    let stored = roles::aside(app, async move |app| {
        let subject = subject(&app, &said.trace_id).ok_or_else(|| {
            let message = format!("there is no answer `{}`", shortened(&said.trace_id));
            Problem::new(StatusCode::NOT_FOUND, "unknown_trace", message).hint(
                "`x-roleos-trace-id` of an answer names it; answers that the logs have set aside cannot be named any more",
            )
        })?;
        let path = feedback::path(&app.workspace);
        let log = (app.specialists.seals(), path.as_path());
        feedback::append(log, roles::now(), said, subject, sender).map_err(|error| {
            let message = format!("{error}: {}", error.source);
            let (status, code) = match error.source.kind() {
                io::ErrorKind::InvalidData => (StatusCode::CONFLICT, "feedback_broken"),
                _ => (StatusCode::INTERNAL_SERVER_ERROR, "not_stored"),
            };
            Problem::new(status, code, message)
        })
    });
    let acceptable = stored.await?;
    app.metrics.feedback.inc();
    entry.line.route = "feedback";
    let answer = json!({ "stored": true, "trace_id": trace, "acceptable": acceptable });
    Ok(json_response(StatusCode::CREATED, answer.to_string()))
}

/// Returns the logged-in operator, else the origin of the request.
fn sender(app: &App, headers: &HeaderMap, client: Client) -> String {
    let now = base::clock::now_ns();
    let desk = app.desk.as_ref();
    let operator = desk.and_then(|desk| desk.logins.operator(headers, now));
    operator.unwrap_or_else(|| format!("client at {}", client.0))
}
