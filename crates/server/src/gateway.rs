//! Everything under `/v1`: models pass through untouched, roles are dispatched.
//!
//! [`upstream`] has the addresses of models, `client` the connections, `scan` finds the model in a body, `receipt` logs
//! requests, `packed` decompresses bodies, `proxy` forwards requests, `roles` dispatches, `chat` implements the
//! clients' formats, `models` lists, `background` does the work after a response, `usage` finds tokens, `native` and
//! `feedback` are our own endpoints, `origin` keeps upstreams out of the pages' origin, and `files` serves the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use axum::body::Body;
use base::chance::Chance;
use base::config::Config;
use base::config::gateway::{Protocol, Receipts, Upstream as SetUpstream};
use base::config::specialist::Kind;
use base::files::FileError;
use base::workspace::Workspace;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use routing::requests::RequestLog;
use routing::selector::Judge;
use routing::verifiers::Verifiers;
use tokio::sync::Semaphore;

use crate::up::{App, UpError};
use ::upstream::backend::{Backends, Limits};
use ::upstream::fallback::Fallback;
use web::login::waits::Client;
use web::problem::{Problem, Shape};

use self::client::Ways;
use self::upstream::Upstream;

mod background;
mod chat;
pub(crate) mod client;
mod feedback;
pub(crate) mod files;
mod held;
mod learn;
mod models;
mod native;
pub(crate) mod origin;
mod packed;
mod proxy;
pub(crate) mod receipt;
mod ring;
mod roles;
mod scan;
pub mod upstream;
mod usage;

/// State shared by requests.
#[derive(Debug)]
pub struct Gateway {
    upstreams: Vec<Upstream>,
    /// The general model as an upstream, if it is one.
    general: Option<(Upstream, String)>,
    agents: BTreeMap<String, String>,
    ways: Ways,
    backends: Backends,
    fallback: Option<Fallback>,
    judge: Judge,
    verifiers: Arc<Verifiers>,
    log: RequestLog,
    /// Unused memory for bodies, in KiB.
    bodies: Arc<Semaphore>,
    /// Called once when receipts can no longer be written, and once when they can again.
    trouble: OnceLock<Tell>,
    is_in_trouble: AtomicBool,
    /// Set when the process ends and aborts running answers.
    ending: AtomicBool,
    /// Running dispatches.
    running: roles::Running,
    /// Work after responses.
    background: background::Background,
    /// Roles in the registry while this process ran.
    seen: Mutex<BTreeSet<String>>,
    /// The last answers of adapters, for feedback.
    recent: feedback::Recent,
    /// Source of draws for learning.
    chance: Chance,
    /// Set while the selector is trained.
    trains: AtomicBool,
}

/// Callback with messages for a person.
struct Tell(Box<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}

impl Gateway {
    /// Opens the gateway with its settings.
    pub fn open(workspace: &Workspace, config: &Config) -> Result<Self, UpError> {
        let set = &config.gateway;
        let upstreams: Result<Vec<_>, _> = set.upstream.iter().map(Upstream::new).collect();
        let log = RequestLog::open(
            &workspace.role_os_dir().join("gateway.jsonl"),
            set.log_mib.get().saturating_mul(1024 * 1024),
            set.log_keep.get(),
        )?;
        Ok(Self {
            upstreams: upstreams.map_err(UpError::Setting)?,
            general: general(config).map_err(UpError::Setting)?,
            agents: set.agents.clone(),
            ways: Ways::new(set.connect_timeout()),
            backends: Backends::new(Limits::from(&config.specialist)),
            fallback: Fallback::new(&config.fallback.claude, &workspace.role_os_dir()),
            judge: Judge::of(workspace),
            verifiers: Arc::new(Verifiers::new(&config.selection)),
            log,
            bodies: Arc::new(Semaphore::new(
                set.max_bodies_kib().min(Semaphore::MAX_PERMITS),
            )),
            trouble: OnceLock::new(),
            is_in_trouble: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            running: roles::Running::default(),
            background: background::Background::default(),
            seen: Mutex::default(),
            recent: feedback::Recent::default(),
            chance: Chance::default(),
            trains: AtomicBool::new(false),
        })
    }

    /// Sets the callback for trouble with the log of requests.
    pub fn tell_trouble(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        self.trouble.set(Tell(Box::new(tell))).ok();
    }

    /// Writes waiting receipts; returns the error if they cannot be written.
    pub fn catch_up(&self) -> Result<(), String> {
        self.heard(self.log.flush())
    }

    /// Reports when receipts begin to fail, and when they work again.
    fn heard(&self, written: Result<(), FileError>) -> Result<(), String> {
        let written = written.map_err(|error| base::said(&error));
        let was = self.is_in_trouble.swap(written.is_err(), Ordering::Relaxed);
        if let (true, Some(tell)) = (was != written.is_err(), self.trouble.get()) {
            match &written {
                Err(why) => (tell.0)(&format!("receipts cannot be written, make room: {why}")),
                Ok(()) => (tell.0)("receipts are written again"),
            }
        }
        written
    }

    /// Returns warnings before the first request.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.upstreams.iter().filter_map(|upstream| {
            let name = upstream.missing_key()?;
            Some(format!(
                "the variable `{name}` holds no key, so that the upstream `{}` cannot be asked",
                upstream.name
            ))
        })
    }

    fn upstream(&self, model: Option<&str>, protocol: Option<Protocol>) -> Option<&Upstream> {
        choose(&self.upstreams, model, protocol)
    }

    /// Records that the process aborts answers from now on.
    pub(crate) fn ends(&self) {
        self.ending.store(true, Ordering::Relaxed);
        self.background.cut();
    }

    /// Drops waiting background work.
    pub(crate) fn closes(&self) {
        self.background.close();
    }

    /// Waits until no dispatch runs, and no background work.
    pub(crate) async fn quiet(&self) {
        self.running.over().await;
        self.background.over().await;
    }
}

/// Returns the first upstream that has a model; one that speaks the client's protocol comes before others.
pub(crate) fn choose<'a>(
    upstreams: &'a [Upstream],
    model: Option<&str>,
    protocol: Option<Protocol>,
) -> Option<&'a Upstream> {
    let has = |upstream: &&Upstream| model.is_none_or(|model| upstream.has(model));
    let speaks = |upstream: &&Upstream| protocol.is_none_or(|protocol| upstream.kind == protocol);
    let mut all = upstreams.iter();
    let fitting = all.find(|upstream| has(upstream) && speaks(upstream));
    fitting.or_else(|| upstreams.iter().find(has))
}

/// Returns `[fallback.claude]` as an upstream, if it is an API.
fn general(config: &Config) -> Result<Option<(Upstream, String)>, String> {
    let claude = &config.fallback.claude;
    let (kind, own) = match claude.kind {
        Kind::Anthropic => (Protocol::Anthropic, ::upstream::fallback::ANTHROPIC),
        Kind::OpenAi => (Protocol::OpenAi, ::upstream::fallback::OPENAI),
        Kind::None | Kind::Command => return Ok(None),
    };
    if claude.model.is_empty() {
        return Ok(None);
    }
    let set = SetUpstream {
        name: "fallback.claude".to_owned(),
        kind,
        base_url: match claude.base_url.as_str() {
            "" => own.to_owned(),
            base => base.to_owned(),
        },
        models: Vec::new(),
        api_key_env: claude.api_key_env.clone(),
    };
    Ok(Some((Upstream::new(&set)?, claude.model.clone())))
}

/// Returns the API of a path, if it is unambiguous.
pub(crate) fn protocol(parts: &Parts) -> Option<Protocol> {
    let path = parts.uri.path();
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if below("/v1/messages") || parts.headers.contains_key("anthropic-version") {
        return Some(Protocol::Anthropic);
    }
    // Anthropic refuses requests without a version of its API; the rest of `/v1` counts as OpenAI's.
    below("/v1").then_some(Protocol::OpenAi)
}

/// Answers a request that the guard has accepted.
pub(crate) async fn answer(
    app: Arc<App>,
    request: Request<Body>,
    client: Client,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if app.config.gateway.receipts == Receipts::Required
        && let Err(why) = app.gateway.catch_up()
    {
        let message = format!("the receipt of this request could not be written: {why}");
        let code = StatusCode::SERVICE_UNAVAILABLE;
        let problem = Problem::new(code, "receipts_unwritable", message)
            .hint("make room on the disk, or set `receipts` under `[gateway]`");
        app.metrics.refused(code.as_u16());
        return problem.response(Shape::of_path(parts.uri.path()));
    }
    if let Some(slug) = models::role_in(&parts) {
        return models::role(app, parts, slug).await;
    }
    match (&parts.method, parts.uri.path()) {
        (_, "/v1/feedback") => feedback::answer(app, parts, body, client).await,
        (_, "/v1/dispatch") => native::answer(app, parts, body).await,
        (&Method::GET, "/v1/models") => models::answer(app, parts).await,
        _ => proxy::answer(app, parts, body).await,
    }
}
