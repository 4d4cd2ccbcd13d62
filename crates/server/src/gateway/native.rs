//! `POST /v1/dispatch`: `{"role","input","trace_id"}` dispatched by the gate; returns the answer with its receipt.

use std::sync::Arc;

use axum::body::Body;
use hyper::header::{ALLOW, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use routing::specialists::Asked;
use serde::Deserialize;
use serde_json::{Value, json};

use super::receipt::{Entry, shortened};
use super::roles::{
    self, Game, NOT_VERIFIED, PASS, UNSURE, general::nobody, play::Stage, play::play,
};
use super::{chat, proxy};
use crate::up::App;
use web::problem::{Problem, Shape, json_response};

/// Body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    role: String,
    input: Value,
    #[serde(default)]
    trace_id: Option<String>,
}

/// Handles the request.
pub(super) async fn answer(app: Arc<App>, parts: Parts, body: Body) -> Response<Body> {
    let mut entry = Entry::new(&app, &parts);
    entry.line.route = "refused";
    if parts.method != Method::POST {
        let problem = Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "a dispatch is a `POST`",
        );
        let mut response = problem.response(Shape::Own);
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("POST"));
        return entry.watch(response);
    }
    let response = dispatched(&app, &parts, body, &mut entry).await;
    let response = response.unwrap_or_else(|problem| {
        entry.line.reason = Some(problem.code.to_owned());
        problem.response(Shape::Own)
    });
    entry.watch(response)
}

async fn dispatched(
    app: &Arc<App>,
    parts: &Parts,
    body: Body,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let body = proxy::read(app, parts, body, entry).await?;
    entry.line.request_bytes = body.len() as u64;
    let no_dispatch = |why: &str| {
        let message = format!("the body is no dispatch: {why}");
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", message)
            .hint("send `{\"role\": …, \"input\": …}`")
    };
    // A list with the fields in order would be accepted as well.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(no_dispatch("it is a list"));
    }
    let question: Question =
        serde_json::from_slice(&body).map_err(|error| no_dispatch(&error.to_string()))?;
    if selection::output::text(&question.input).trim().is_empty() {
        let message = "give an input: it is empty or only blanks";
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "empty_input",
            message,
        ));
    }
    entry.line.role = Some(shortened(&question.role));
    let trace = question.trace_id.filter(|trace| !trace.is_empty());
    let trace = trace.map_or_else(|| entry.line.trace.clone(), |trace| shortened(&trace));
    entry.line.trace.clone_from(&trace);
    let (role, input) = (question.role, question.input);
    let since = std::time::Instant::now();
    let done = roles::aside(app, async move |app| {
        let role = roles::find(&app, &role)?;
        let now = roles::now();
        let asked = Asked {
            role: &role.name,
            input: &input,
            trace_id: &trace,
            now: &now,
        };
        let stage = Stage {
            instructions: role.instructions.as_deref(),
            beside: None,
            elsewhere: false,
        };
        let game = play(&app, asked, stage).await;
        Ok((role, game, input))
    })
    .await;
    entry.waited(since);
    let (role, Game { answer, verified }, input) = done?;
    entry.line.verified = verified.then(|| PASS.to_owned());
    let receipt = answer.receipt.to_json();
    entry.line.route = answer.receipt.source.name();
    let adapter = match &answer.receipt.call {
        Some(Ok(answered)) if entry.line.route == "specialist" => Some(&answered.adapter_id),
        _ => None,
    };
    let is_unsure = answer.receipt.is_unsure;
    entry.line.served = match (adapter, &answer.result) {
        _ if is_unsure => Some(UNSURE.to_owned()),
        (Some(adapter), _) => Some(adapter.clone()),
        (None, Ok(_)) => Some(roles::general::name(app)),
        (None, Err(_)) => None,
    };
    if entry.line.route != "specialist" {
        entry.line.route = if is_unsure { "refused" } else { "general" };
    }
    let reason = answer.receipt.decision.reason.name();
    entry.line.reason = Some(if is_unsure { NOT_VERIFIED } else { reason }.to_owned());
    let told = match (&answer.receipt.call, &answer.general) {
        (_, Some(said)) => said.usage,
        (Some(Ok(answered)), None) => answered.usage,
        _ => None,
    };
    match answer.result {
        Ok(result) => {
            entry.used(chat::estimated(told, &input, &result));
            let body = json!({ "result": result, "receipt": receipt });
            let response = json_response(StatusCode::OK, body.to_string());
            Ok(proxy::receipt_headers(response, entry))
        }
        Err(error) => {
            let response = refused(&nobody(&role, &error), &receipt);
            Ok(proxy::receipt_headers(response, entry))
        }
    }
}

/// Returns a refusal with its receipt.
fn refused(problem: &Problem, receipt: &Value) -> Response<Body> {
    let mut body: Value = serde_json::from_str(&problem.body(Shape::Own)).unwrap_or_default();
    if let Some(body) = body.as_object_mut() {
        body.insert("receipt".to_owned(), receipt.clone());
    }
    let mut response = problem.response(Shape::Own);
    *response.body_mut() = Body::from(body.to_string());
    response
}
