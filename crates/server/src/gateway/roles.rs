//! Roles: asked for by name or played for an agent, by an adapter where the gate says so, else by the general model.
//!
//! Failing open never changes a request: the general model gets the client's own bytes with another model's name and the
//! role's instructions beside what the client says; an agent's request goes on exactly as it came. Where the general
//! model speaks another API, the answer and the receipt say so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use catalog::browse::{self, Wanted};
use host::catalog::Directory;
use host::clock;
use host::config::gateway::Protocol;
use host::roles::Roles;
use host::specialists::Asked;
use hyper::{Response, StatusCode};
use serde_json::Value;
use specialist::quota::Source;
use tokio::runtime::Handle;

use super::chat::{self, Reply};
use super::proxy::{Whole, receipt_headers};
use super::receipt::{Entry, shortened};
use crate::problem::Problem;
use crate::up::App;

use self::play::play;

mod crossing;
pub(super) mod general;
pub(super) mod play;
mod verified;

pub(super) use self::play::Game;
pub(super) use self::verified::PASS;

/// The endpoints on which a role can be asked.
const ENDPOINTS: [&str; 2] = ["/v1/chat/completions", "/v1/messages"];

/// The reason when adapters answered and no answer passed its verifier.
const NOT_VERIFIED: &str = "not_verified";

/// How often an ending process looks whether dispatches are over.
const LOOK: Duration = Duration::from_millis(10);

/// Dispatches that are not over, whether or not somebody waits for them.
#[derive(Debug, Default)]
pub(super) struct Running(Arc<AtomicUsize>);

struct One(Arc<AtomicUsize>);

impl Running {
    fn begin(&self) -> One {
        self.0.fetch_add(1, Ordering::Relaxed);
        One(Arc::clone(&self.0))
    }

    /// Waits until there is none.
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

/// A role that somebody knows.
#[derive(Clone, Debug)]
pub(super) struct Role {
    /// As the registry calls it.
    pub(super) name: String,
    /// Its own instructions, when it is installed or in the catalog.
    pub(super) instructions: Option<String>,
}

/// What the gate and the adapter came to.
#[derive(Debug)]
enum Played {
    /// The adapter answered.
    Answered {
        answer: Value,
        model: String,
        reason: String,
        verified: bool,
    },
    /// The general model is to answer, for this reason.
    General(String),
}

/// Finds a role; reads files.
pub(super) fn find(app: &App, slug: &str) -> Result<Role, Problem> {
    let installed = Roles::new(app.workspace.roles_dir()).find(slug);
    if installed.as_ref().is_some_and(|role| !role.enabled) {
        let message = format!("the role `{}` is switched off", shortened(slug));
        return Err(
            Problem::new(StatusCode::FORBIDDEN, "role_disabled", message)
                .hint("set `enabled: true` in its file under `.role-os/roles/`"),
        );
    }
    let registry = app.specialists.registry().ok();
    let registered = |name: &str| {
        registry
            .as_ref()
            .is_some_and(|registry| registry.entry(name).is_some())
    };
    let by_name = installed.as_ref().map(|role| role.content.name.clone());
    let name = match by_name {
        Some(name) if !registered(slug) && registered(&name) => name,
        _ => slug.to_owned(),
    };
    let instructions = installed.map(|role| role.content.instructions);
    let instructions = instructions.or_else(|| in_catalog(app, slug));
    if instructions.is_none() && !registered(&name) {
        let message = format!("there is no role `{}`", shortened(slug));
        return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_role", message)
            .hint("`GET /v1/models` lists the roles; `roleos catalog import` installs more"));
    }
    Ok(Role { name, instructions })
}

/// The instructions of a role that lies in the workspace's own catalog and was not installed.
fn in_catalog(app: &App, slug: &str) -> Option<String> {
    let directory = Directory::open(&app.workspace.root().join("catalog")).ok()?;
    let draft = directory.draft();
    let card = browse::card(draft.claims(), slug, Wanted::Rather(None)).ok()?;
    Some(card.fields.instructions)
}

/// Slugs and names of all roles in the workspace's own catalog.
pub(super) fn all_in_catalog(app: &App) -> Vec<(String, String)> {
    let Ok(directory) = Directory::open(&app.workspace.root().join("catalog")) else {
        return Vec::new();
    };
    let draft = directory.draft();
    let contents = draft.claims();
    let entries = contents.bundles().flat_map(|bundle| &bundle.entries);
    let slugs = entries.filter_map(|entry| entry.slug.as_deref());
    let cards = slugs.filter_map(|slug| browse::card(contents, slug, Wanted::Rather(None)).ok());
    cards.map(|card| (card.slug, card.fields.name)).collect()
}

/// Now, to the millisecond, as logs write it.
pub(super) fn now() -> String {
    clock::text(clock::now_ns() / 1_000_000 * 1_000_000)
}

/// Runs something that waits for files and locks on a thread of its own, to its end even when nobody waits any more.
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

/// Asks gate and adapter.
async fn ask(
    app: &Arc<App>,
    slug: String,
    protocol: Protocol,
    body: Bytes,
    trace: String,
) -> Result<(Role, Value, Played), Problem> {
    aside(app, async move |app| {
        let role = find(&app, &slug)?;
        let request: Value = serde_json::from_slice(&body).map_err(|error| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "bad_json",
                format!("the body is no JSON: {error}"),
            )
        })?;
        let input = match chat::input(protocol, &request) {
            Ok(input) => input,
            Err(why) => return Ok((role, request, Played::General(why.to_owned()))),
        };
        let now = now();
        let asked = Asked {
            role: &role.name,
            input: &input,
            trace_id: &trace,
            now: &now,
        };
        let Game { answer, verified } =
            play(&app, asked, role.instructions.as_deref(), true).await?;
        let reason = answer.receipt.decision.reason.name().to_owned();
        let is_adapters = answer.receipt.source == Source::Specialist;
        let played = match (answer.result, &answer.receipt.call) {
            (Ok(answer), Some(Ok(answered))) if is_adapters => Played::Answered {
                answer,
                model: answered.adapter_id.clone(),
                reason,
                verified,
            },
            // A version may ask for this instead of the general model.
            (Ok(answer), _) => Played::Answered {
                answer,
                model: "unsure".to_owned(),
                reason: NOT_VERIFIED.to_owned(),
                verified: false,
            },
            (_, Some(Err(error))) => Played::General(error.error.clone()),
            (_, Some(Ok(_))) => Played::General(NOT_VERIFIED.to_owned()),
            _ => Played::General(reason),
        };
        Ok((role, request, played))
    })
    .await
}

/// Answers a request for a role. In a list of models only the last one falls back to the general model.
pub(super) async fn asked(
    app: &Arc<App>,
    whole: &Whole,
    slug: &str,
    is_last: Option<bool>,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let Some(protocol) = whole
        .protocol
        .filter(|_| ENDPOINTS.contains(&whole.parts.uri.path()))
    else {
        let message = "a role is asked through `/v1/chat/completions` or `/v1/messages`";
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "no_role_here",
            message,
        ));
    };
    entry.line.role = Some(shortened(slug));
    let since = Instant::now();
    let trace = entry.line.trace.clone();
    let played = ask(app, slug.to_owned(), protocol, whole.body.clone(), trace).await;
    entry.waited(since);
    let (role, request, played) = played?;
    match played {
        Played::Answered {
            answer,
            model,
            reason,
            verified,
        } => {
            entry.line.verified = verified.then(|| PASS.to_owned());
            Ok(answered(
                protocol,
                &request,
                &answer,
                (model, reason),
                entry,
            ))
        }
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
            general::answer(app, whole, protocol, &role, &request, entry).await
        }
    }
}

fn answered(
    protocol: Protocol,
    request: &Value,
    answer: &Value,
    (model, reason): (String, String),
    entry: &mut Entry,
) -> Response<Body> {
    entry.line.route = "specialist";
    entry.line.reason = Some(reason);
    let reply = Reply {
        trace: &entry.line.trace,
        model: &model,
        answer,
    };
    let response = chat::reply(protocol, request, reply);
    entry.line.served = Some(model);
    receipt_headers(response, entry)
}

/// The role that an agent's requests are mapped to.
pub(super) fn of_agent(app: &App, whole: &Whole) -> Option<String> {
    if !ENDPOINTS.contains(&whole.parts.uri.path()) {
        return None;
    }
    let agent = whole
        .parts
        .headers
        .get("x-claude-code-agent-id")?
        .to_str()
        .ok()?;
    app.gateway.agents.get(agent).cloned()
}

/// What becomes of an agent's request.
pub(super) enum ForAgent {
    /// An adapter has answered.
    Answered(Response<Body>),
    /// It goes on exactly as it came; the role and the request, where the answer can be held against a verifier.
    GoesOn(Option<(Role, Value)>),
}

/// Answers for an agent where an adapter may; else the request goes on exactly as it came.
pub(super) async fn for_agent(
    app: &Arc<App>,
    whole: &Whole,
    slug: &str,
    entry: &mut Entry,
) -> ForAgent {
    let Some(protocol) = whole.protocol else {
        return ForAgent::GoesOn(None);
    };
    entry.line.role = Some(shortened(slug));
    let since = Instant::now();
    let trace = entry.line.trace.clone();
    let played = ask(app, slug.to_owned(), protocol, whole.body.clone(), trace).await;
    entry.waited(since);
    match played {
        Ok((
            _,
            request,
            Played::Answered {
                answer,
                model,
                reason,
                verified,
            },
        )) => {
            entry.line.verified = verified.then(|| PASS.to_owned());
            let model = (model, reason);
            ForAgent::Answered(answered(protocol, &request, &answer, model, entry))
        }
        Ok((role, request, Played::General(reason))) => {
            entry.line.reason = Some(reason);
            entry.line.route = "general";
            ForAgent::GoesOn(Some((role, request)))
        }
        // What is wrong with the mapping is no reason to keep the agent from its work.
        Err(problem) => {
            entry.line.reason = Some(problem.code.to_owned());
            entry.line.route = "general";
            ForAgent::GoesOn(None)
        }
    }
}

/// The answer to an agent's request that went on: held against the role's verifier, and with the reason in its headers.
pub(super) async fn note_agent(
    app: &App,
    whole: &Whole,
    playing: Option<(Role, Value)>,
    mut answer: Response<Body>,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    entry.line.served = entry.line.model.clone();
    if let (Some((role, request)), Some(protocol)) = (playing, whole.protocol) {
        answer = general::held(app, whole, &role, (protocol, &request), answer, entry).await;
    }
    Ok(receipt_headers(answer, entry))
}
