//! The general model for a role: with the client's own bytes if it has the client's API, else with a plain question.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use base::config::gateway::Protocol;
use base::config::specialist::Kind;
use hyper::{Response, StatusCode};
use selection::output;
use serde_json::{Value, json};

use super::crossing::{self, Crossing};
use super::{Role, aside, verified};
use crate::gateway::chat::{self, Dialect, Reply};
use crate::gateway::client;
use crate::gateway::proxy::{Whole, forward_edited, receipt_headers};
use crate::gateway::receipt::{ESTIMATED, Entry, shortened};
use crate::gateway::scan::Edits;
use crate::gateway::upstream::Upstream;
use crate::up::App;
use upstream::fallback::{FallbackError, Prompt, Said};
use web::problem::{Problem, json_response};

/// Calls the general model, with the client's own bytes if it has the client's API.
pub(super) async fn answer(
    app: &Arc<App>,
    whole: &Whole,
    dialect: Dialect,
    role: &Role,
    request: &Value,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    match &app.gateway.general {
        Some((upstream, model)) if upstream.kind == dialect.protocol() => {
            entry.line.served = Some(model.clone());
            let answer = same_api(app, whole, role, (upstream, model), request, entry).await?;
            // Many servers of this API support only chat completions.
            let lacks = matches!(answer.status().as_u16(), 404 | 405 | 501);
            if lacks && dialect == Dialect::Responses {
                return crossed(app, dialect, role, request, entry).await;
            }
            let answer = held(app, whole, role, (dialect, request), answer, entry).await;
            Ok(receipt_headers(answer, entry))
        }
        _ => crossed(app, dialect, role, request, entry).await,
    }
}

/// Returns the unchanged answer, with the verdict of the role's verifier. Its time does not count as ours.
pub(super) async fn held(
    app: &App,
    whole: &Whole,
    role: &Role,
    asked: (Dialect, &Value),
    answer: Response<Body>,
    entry: &mut Entry,
) -> Response<Body> {
    let since = Instant::now();
    let behind = client::takes_trailers(&whole.parts.headers);
    let answer = verified::held(app, role, asked, answer, (entry, behind)).await;
    entry.waited(since);
    answer
}

async fn same_api(
    app: &Arc<App>,
    whole: &Whole,
    role: &Role,
    (upstream, model): (&Upstream, &str),
    request: &Value,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let edits = edits(whole, role, (upstream, model));
    let number = |key: &str| request.get(key).and_then(Value::as_u64);
    let most_tokens = number("max_tokens")
        .or_else(|| number("max_completion_tokens"))
        .or_else(|| number("max_output_tokens"));
    let fallback = app.gateway.fallback.as_ref();
    let set_aside = fallback.map(|fallback| fallback.set_aside(whole.body.len(), most_tokens));
    let set_aside = set_aside
        .transpose()
        .map_err(|error| nobody(role, &error))?;
    let answer = forward_edited(app, whole, upstream, edits, entry).await;
    let is_free = answer
        .as_ref()
        .map_or(true, |answer| !answer.status().is_success());
    if let (true, Some(fallback), Some(amount)) = (is_free, fallback, set_aside) {
        fallback.give_back(amount);
    }
    answer
}

/// Returns the edits of the client's bytes: the general model's name and the role's instructions.
fn edits<'a>(whole: &'a Whole, role: &Role, (upstream, model): (&Upstream, &str)) -> Edits<'a> {
    let mut edits = Edits::new(&whole.body, &whole.scanned);
    edits.model(model);
    edits.drop_models();
    if let Some(instructions) = &role.instructions {
        match (upstream.kind, Dialect::of_path(whole.parts.uri.path())) {
            (Protocol::Anthropic, _) => edits.system_block(instructions),
            (_, Some(Dialect::Responses)) => edits.instructions(instructions),
            (Protocol::OpenAi, _) => edits.system_message(instructions),
        }
    }
    edits
}

/// Returns the number of tokens in a request to a role: counted by the general model if possible, else estimated by
/// length.
pub(super) async fn count_tokens(
    app: &Arc<App>,
    whole: &Whole,
    role: &Role,
    request: &Value,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    if let Some((upstream, model)) = &app.gateway.general
        && upstream.kind == Protocol::Anthropic
    {
        let edits = edits(whole, role, (upstream, model));
        let counted = forward_edited(app, whole, upstream, edits, entry).await;
        if let Ok(counted) = counted
            && counted.status().is_success()
        {
            entry.line.served = Some(model.clone());
            return Ok(receipt_headers(counted, entry));
        }
    }
    let said = ["system", "messages", "tools"].map(|key| request.get(key));
    let texts: String = said.into_iter().flatten().map(texts).collect();
    let instructions = role.instructions.as_deref().unwrap_or_default();
    let count = output::tokens(&texts).saturating_add(output::tokens(instructions));
    entry.line.usage = Some(ESTIMATED);
    let body = json!({ "input_tokens": count }).to_string();
    Ok(receipt_headers(json_response(StatusCode::OK, body), entry))
}

/// Returns every string in a value.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(texts).collect(),
        Value::Object(object) => object.values().map(texts).collect(),
        _ => String::new(),
    }
}

/// Calls a general model with another API, which only supports a plain question.
async fn crossed(
    app: &Arc<App>,
    dialect: Dialect,
    role: &Role,
    request: &Value,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    if app.gateway.fallback.is_none() {
        return Err(nobody(role, &FallbackError::NotConfigured));
    }
    let set = &app.config.fallback.claude;
    let Some(crossing) = crossing::cross(dialect, set.kind, request) else {
        let apis = crossing::told(dialect, set.kind, &[]);
        let message = format!(
            "the general model is reached by another API ({apis}), and this request cannot be put into it without loss"
        );
        return Err(
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "other_protocol", message)
                .hint("set `[fallback.claude]` to the API that your client speaks"),
        );
    };
    let Crossing {
        input,
        beside,
        told,
    } = crossing;
    entry.line.crossed = Some(told);
    entry.line.served = Some(name(app));
    let since = Instant::now();
    let asked = (dialect, request);
    let question = input.clone();
    let (role, trace) = (role.clone(), entry.line.trace.clone());
    let playing = role.clone();
    let answer = aside(app, async move |app| {
        let role = playing;
        let prompt = Prompt {
            role: &role.name,
            instructions: role.instructions.as_deref(),
            input: &input,
            trace_id: &trace,
            beside: Some(&beside),
        };
        let Some(fallback) = &app.gateway.fallback else {
            return Err(nobody(&role, &FallbackError::NotConfigured));
        };
        fallback
            .ask(prompt)
            .await
            .map_err(|error| nobody(&role, &error))
    })
    .await;
    if let Ok(said) = &answer {
        entry.line.verified = verified::judged(app, &role, asked, &said.verdict).await;
    }
    entry.waited(since);
    let Said { verdict, usage, .. } = answer?;
    let used = chat::estimated(usage, &question, &verdict);
    entry.used(used);
    let reply = Reply {
        trace: &entry.line.trace,
        model: entry.line.served.as_deref().unwrap_or_default(),
        answer: &verdict,
        usage: used.usage,
    };
    let response = chat::reply(dialect, request, reply);
    Ok(receipt_headers(response, entry))
}

/// Returns the name of the general model in receipts.
pub(in crate::gateway) fn name(app: &App) -> String {
    let set = &app.config.fallback.claude;
    match set.kind {
        Kind::Command => "command".to_owned(),
        _ => set.model.clone(),
    }
}

/// Returns the problem if nothing can answer.
pub(crate) fn nobody(role: &Role, error: &FallbackError) -> Problem {
    let (status, code) = match error {
        FallbackError::Spending(_) => (StatusCode::TOO_MANY_REQUESTS, "spending_cap"),
        FallbackError::Busy { .. } => (StatusCode::TOO_MANY_REQUESTS, "general_model_busy"),
        FallbackError::NoAnswer(_) => (StatusCode::BAD_GATEWAY, "no_answer"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "no_general_model"),
    };
    let message = format!(
        "nobody could answer for the role `{}`: {error}",
        shortened(&role.name)
    );
    let pause = match error {
        FallbackError::Busy { retry_after } => *retry_after,
        _ => None,
    };
    Problem::new(status, code, message)
        .hint(error.hint())
        .retry_after(pause)
}
