//! Roles: requested by name or mapped to an agent, answered by an adapter if the gate decides so, else by the general
//! model.
//!
//! Failing open never changes a request: the general model gets the client's own bytes with another model's name and
//! the role's instructions beside the client's; an agent's request is forwarded unchanged. If the general model uses
//! another API, the answer and the receipt state that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use base::clock;
use bytes::Bytes;
use hyper::{Response, StatusCode};
use routing::specialists::Asked;
use serde_json::Value;
use specialist::contract::Usage;
use specialist::quota::Source;
use specialist::registry::Contract;
use tokio::runtime::Handle;

use super::chat::{self, Dialect, Reply};
use super::proxy::{Whole, receipt_headers};
use super::receipt::{Entry, shortened};
use crate::up::App;
use web::problem::Problem;

use self::play::play;

mod crossing;
mod find;
pub(super) mod general;
pub(super) mod play;
mod verified;

pub(super) use self::find::{Role, all_in_catalog, find};
pub(super) use self::play::Game;
pub(super) use self::verified::PASS;

/// Path that only counts tokens.
const COUNT: &str = "/v1/messages/count_tokens";

/// Reason if adapters answered and no answer passed its verifier.
pub(super) const NOT_VERIFIED: &str = "not_verified";

/// Model name in receipts of an answer without a model.
pub(super) const UNSURE: &str = "unsure";

/// Interval at which an ending process checks for running dispatches.
const LOOK: Duration = Duration::from_millis(10);

/// Running dispatches, with or without a waiting client.
#[derive(Debug, Default)]
pub(super) struct Running(Arc<AtomicUsize>);

#[derive(Debug)]
pub(super) struct One(Arc<AtomicUsize>);

impl Running {
    pub(super) fn begin(&self) -> One {
        self.0.fetch_add(1, Ordering::Relaxed);
        One(Arc::clone(&self.0))
    }

    /// Waits until none is running.
    pub(super) async fn over(&self) {
        while self.0.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Result of gate and adapter.
#[derive(Debug)]
enum Played {
    /// The adapter answered.
    Answered(Box<Adapters>),
    /// The general model must answer, for this reason.
    General(String),
}

/// The answer of an adapter.
#[derive(Debug)]
struct Adapters {
    route: &'static str,
    answer: Value,
    model: String,
    reason: String,
    verified: bool,
    input: Value,
    usage: Option<Usage>,
    left_out: Vec<&'static str>,
}

/// Returns the current time in the format of logs, to the millisecond.
pub(super) fn now() -> String {
    clock::text(clock::now_ns() / 1_000_000 * 1_000_000)
}

/// Runs work that waits for files and locks on a separate thread, to its end even if the client has gone.
pub(super) async fn aside<T: Send + 'static>(
    app: &Arc<App>,
    work: impl AsyncFnOnce(Arc<App>) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let running = app.gateway.running.begin();
    let app = Arc::clone(app);
    let runtime = Handle::current();
    let done = tokio::task::spawn_blocking(move || {
        let _running = running;
        runtime.block_on(work(app))
    });
    done.await.unwrap_or_else(|_| {
        let message = "the dispatch broke off";
        Err(Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "broke_off",
            message,
        ))
    })
}

/// A request for a role.
struct Request {
    slug: String,
    dialect: Dialect,
    body: Bytes,
    trace: String,
    /// Set if an operator mapped an agent to the role: its tools and system text are left out, and the receipt states
    /// that.
    is_agents: bool,
}

/// Queries the gate and calls the adapter.
async fn ask(app: &Arc<App>, asked: Request) -> Result<(Role, Value, Played), Problem> {
    aside(app, async move |app| {
        let role = find(&app, &asked.slug)?;
        let request: Value = serde_json::from_slice(&asked.body).map_err(|error| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "bad_json",
                format!("the body is no JSON: {error}"),
            )
        })?;
        let played = played(&app, &role, &request, &asked).await;
        Ok((role, request, played))
    })
    .await
}

/// Returns the contract of the role's adapters; `None` without adapters.
fn contract(app: &App, role: &Role) -> Option<Contract> {
    let registry = app.specialists.registry().ok();
    let entry = registry
        .as_ref()
        .and_then(|registry| registry.entry(&role.name));
    entry.map(|entry| entry.contract)
}

async fn played(app: &Arc<App>, role: &Role, request: &Value, asked: &Request) -> Played {
    let general = |reason: &str| Played::General(reason.to_owned());
    let dialect = asked.dialect;
    let input = match chat::input(dialect, request) {
        Ok(input) => input,
        Err(why) => return general(why),
    };
    let contract = contract(app, role);
    let is_chat = contract == Some(Contract::OpenAi);
    let left_out = match chat::left_out(dialect, request, is_chat) {
        Ok(left_out) => left_out,
        Err(why) => return general(why),
    };
    // Parts that the adapter cannot receive are for the general model, unless an operator mapped the agent to the role.
    let is_kept = !asked.is_agents && contract.is_some();
    if let Some(first) = left_out.first().filter(|_| is_kept) {
        return general(first);
    }
    let beside = is_chat.then(|| chat::beside(dialect, request));
    let now = now();
    let question = Asked {
        role: &role.name,
        input: &input,
        trace_id: &asked.trace,
        now: &now,
    };
    let stage = play::Stage {
        instructions: role.instructions.as_deref(),
        beside: beside.as_ref(),
        elsewhere: true,
    };
    let Game { answer, verified } = play(app, question, stage).await;
    let reason = answer.receipt.decision.reason.name().to_owned();
    let is_adapters = answer.receipt.source == Source::Specialist;
    match (answer.result, &answer.receipt.call) {
        (Ok(answer), Some(Ok(answered))) if is_adapters => Played::Answered(Box::new(Adapters {
            route: "specialist",
            answer,
            model: answered.adapter_id.clone(),
            reason,
            verified,
            usage: answered.usage,
            input,
            left_out,
        })),
        // A version may request this instead of the general model.
        (Ok(answer), _) => Played::Answered(Box::new(Adapters {
            route: "refused",
            answer,
            model: UNSURE.to_owned(),
            reason: NOT_VERIFIED.to_owned(),
            verified: false,
            usage: None,
            input,
            left_out,
        })),
        (_, Some(Err(error))) => Played::General(error.error.clone()),
        (_, Some(Ok(_))) => general(NOT_VERIFIED),
        _ => Played::General(reason),
    }
}

/// Answers a request for a role. In a list of models, only the last one falls back to the general model.
pub(super) async fn asked(
    app: &Arc<App>,
    whole: &Whole,
    slug: &str,
    is_last: Option<bool>,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let path = whole.parts.uri.path();
    let Some(dialect) = Dialect::of_path(path) else {
        let message =
            "a role is asked through `/v1/chat/completions`, `/v1/responses` or `/v1/messages`";
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "no_role_here",
            message,
        ));
    };
    entry.line.role = Some(shortened(slug));
    if path == COUNT {
        return count(app, whole, slug, entry).await;
    }
    let since = Instant::now();
    let asked = Request {
        slug: slug.to_owned(),
        dialect,
        body: whole.body.clone(),
        trace: entry.line.trace.clone(),
        is_agents: false,
    };
    let played = ask(app, asked).await;
    entry.waited(since);
    let (role, request, played) = played?;
    match played {
        Played::General(reason) if is_last == Some(false) => {
            entry.line.role = None;
            let message = format!(
                "no adapter may play the role `{}`: {reason}",
                shortened(slug)
            );
            Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "no_adapter",
                message,
            ))
        }
        Played::General(reason) => {
            entry.line.route = "general";
            entry.line.reason = Some(reason);
            general::answer(app, whole, dialect, &role, &request, entry).await
        }
        Played::Answered(adapters) => Ok(answered(dialect, &request, *adapters, entry)),
    }
}

/// Counts the tokens of a request to a role.
async fn count(
    app: &Arc<App>,
    whole: &Whole,
    slug: &str,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let (slug, body) = (slug.to_owned(), whole.body.clone());
    let found = aside(app, async move |app| {
        let request = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        Ok((find(&app, &slug)?, request))
    });
    let (role, request) = found.await?;
    entry.line.route = "general";
    general::count_tokens(app, whole, &role, &request, entry).await
}

/// Formats the adapter's answer for the client.
fn answered(
    dialect: Dialect,
    request: &Value,
    adapters: Adapters,
    entry: &mut Entry,
) -> Response<Body> {
    let Adapters {
        route,
        answer,
        model,
        reason,
        verified,
        input,
        usage,
        left_out,
    } = adapters;
    entry.line.verified = verified.then(|| PASS.to_owned());
    entry.line.route = route;
    entry.line.reason = Some(reason);
    entry.line.left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
    let used = chat::estimated(usage, &input, &answer);
    entry.used(used);
    let reply = Reply {
        trace: &entry.line.trace,
        model: &model,
        answer: &answer,
        usage: used.usage,
    };
    let response = chat::reply(dialect, request, reply);
    entry.line.served = Some(model);
    receipt_headers(response, entry)
}

/// Returns the role to which an agent's requests are mapped.
pub(super) fn of_agent(app: &App, whole: &Whole) -> Option<String> {
    let path = whole.parts.uri.path();
    Dialect::of_path(path).filter(|_| path != COUNT)?;
    let agent = whole
        .parts
        .headers
        .get("x-claude-code-agent-id")?
        .to_str()
        .ok()?;
    app.gateway.agents.get(agent).cloned()
}

/// Result for an agent's request.
pub(super) enum ForAgent {
    /// An adapter has answered.
    Answered(Response<Body>),
    /// It is forwarded unchanged; with the role and the request if the answer can be verified.
    GoesOn(Option<(Role, Value)>),
}

/// Answers for an agent if an adapter may; otherwise the request is forwarded unchanged.
pub(super) async fn for_agent(
    app: &Arc<App>,
    whole: &Whole,
    slug: &str,
    entry: &mut Entry,
) -> ForAgent {
    let Some(dialect) = Dialect::of_path(whole.parts.uri.path()) else {
        return ForAgent::GoesOn(None);
    };
    entry.line.role = Some(shortened(slug));
    let since = Instant::now();
    let asked = Request {
        slug: slug.to_owned(),
        dialect,
        body: whole.body.clone(),
        trace: entry.line.trace.clone(),
        is_agents: true,
    };
    let played = ask(app, asked).await;
    entry.waited(since);
    match played {
        Ok((_, request, Played::Answered(adapters))) => {
            ForAgent::Answered(answered(dialect, &request, *adapters, entry))
        }
        Ok((role, request, Played::General(reason))) => {
            entry.line.reason = Some(reason);
            entry.line.route = "general";
            ForAgent::GoesOn(Some((role, request)))
        }
        // An error in the mapping does not block the agent.
        Err(problem) => {
            entry.line.reason = Some(problem.code.to_owned());
            entry.line.route = "general";
            ForAgent::GoesOn(None)
        }
    }
}

/// Verifies the answer to a forwarded request of an agent, and adds the reason to its headers.
pub(super) async fn note_agent(
    app: &App,
    whole: &Whole,
    playing: Option<(Role, Value)>,
    mut answer: Response<Body>,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    entry.line.served = entry.line.model.clone();
    let dialect = Dialect::of_path(whole.parts.uri.path());
    if let (Some((role, request)), Some(dialect)) = (playing, dialect) {
        answer = general::held(app, whole, &role, (dialect, &request), answer, entry).await;
    }
    Ok(receipt_headers(answer, entry))
}
