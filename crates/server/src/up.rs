//! The process of `roleos up`: shared state, its own responses, and the routing to the other parts.
//!
//! [`serve`] listens and stops; [`crate::guard`] accepts or refuses requests; [`crate::gateway`] has everything under
//! `/v1`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Request, Response, StatusCode};
use axum::routing::get;
use base::config::Config;
use base::environment::{self, Environment};
use base::files::FileError;
use base::running::RunningError;
use base::workspace::Workspace;
use evidence::store::Store;
use routing::learning::Shown;
use routing::specialists::{Named, Paths, Settings, Specialists};

use crate::gateway::{self, Gateway};
use crate::guard::Guard;
use crate::notify::Webhooks;
use crate::telemetry::{self, Spans};
use web::api::{self, Desk};
use web::gate_tokens::lets_through;
use web::login::SignIn;
use web::login::local::LocalDoor;
use web::metrics::Metrics;
use web::metrics::standing::Workspace as Standing;
use web::pages;
use web::problem::{Problem, Shape};
use web::workspaces;

use self::tls::Tls;

mod idle;
pub mod serve;
pub mod tls;
mod token;

/// State shared by every part of the process.
#[derive(Debug)]
pub struct App {
    pub workspace: Workspace,
    /// Settings at the start of the process.
    pub config: Config,
    /// The environment variables.
    pub environment: Environment,
    /// Bundles, keys and ledger.
    pub store: Store,
    /// Registry, state and logs of adapters, read again after changes.
    pub specialists: Specialists,
    /// Access rules.
    pub guard: Guard,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Models and roles.
    pub gateway: Gateway,
    /// The API and its view, if the process has them.
    pub desk: Option<Arc<Desk>>,
    /// TLS for clients, if a certificate was named.
    tls: Option<Tls>,
    /// The socket for `roleos login-code`, until it is served.
    door: Mutex<Option<LocalDoor>>,
    /// The webhooks, until they are served.
    webhooks: Mutex<Option<Webhooks>>,
    /// Exporter of spans, if a collector was named.
    pub(crate) spans: Option<Spans>,
    /// State of further workspaces; the gateway is that of the first.
    pub others: Vec<Arc<Desk>>,
}

/// Reason why the process does not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpError {
    /// Another process is running, or the lock cannot be taken.
    #[error(transparent)]
    Running(#[from] RunningError),
    #[error(transparent)]
    File(#[from] FileError),
    /// Listening at the address failed.
    #[error("cannot listen at `{address}`")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(String),
    /// A certificate or its key cannot be used.
    #[error("{0}")]
    Tls(String),
    #[error("cannot start")]
    Machine(#[source] io::Error),
}

impl UpError {
    /// Returns the remedy for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Running(RunningError::Already(_)) => {
                "use the one that runs, or stop it; `--root` names another workspace"
            }
            Self::Listen { .. } => "`--listen 127.0.0.1:0` takes any free port",
            Self::Setting(_) => "`roleos config list` shows every setting",
            Self::Tls(_) => "give a PEM certificate with its chain, and its unencrypted PEM key",
            _ => "the folder `.role-os/` must be writable",
        }
    }
}

impl App {
    /// Opens everything for a process that will listen at `listen`.
    pub fn open(
        workspace: Workspace,
        config: Config,
        environment: Environment,
        listen: SocketAddr,
    ) -> Result<Self, UpError> {
        let settings = Settings::load(&config, &environment)
            .map_err(|error| UpError::Setting(error.to_string()))?;
        let paths = Paths::find(&workspace, &environment, &Named::default());
        let token = token::find(&workspace, &config.gateway, listen)?;
        let metrics = Arc::default();
        Ok(Self {
            store: Store::of(&workspace, config.witness.max_bundle_bytes()),
            specialists: team::attach(Specialists::new(paths, settings), &workspace, &config.store)
                .map_err(|error| UpError::Setting(error.to_string()))?,
            guard: Guard::new(listen, &config.gateway.hosts, token),
            gateway: Gateway::open(&workspace, &config)?,
            desk: None,
            tls: None,
            door: Mutex::new(None),
            webhooks: Mutex::new(Some(Webhooks::open(&config.notify)?)),
            spans: telemetry::open(&config.telemetry, &metrics)?,
            metrics,
            others: Vec::new(),
            workspace,
            config,
            environment,
        })
    }

    /// Serves `/api/` as well; a login then counts as the token.
    #[must_use]
    pub fn with_desk(mut self, mut desk: Desk) -> Self {
        let webhooks = self.webhooks.get_mut();
        if let Some(webhooks) = webhooks.unwrap_or_else(PoisonError::into_inner) {
            let metrics = Arc::clone(&self.metrics);
            let root = self.workspace.root().display().to_string();
            let listener = webhooks.listener(root, move || metrics.notified("dropped"));
            desk.listeners.add(listener);
        }
        if let Some(spans) = &self.spans {
            desk.listeners.add(spans.listener());
        }
        let desk = Arc::new(desk);
        let logins = Arc::clone(&desk);
        self.guard.accept_login(move |headers| {
            let now = base::clock::now_ns();
            logins.logins.operator(headers, now).is_some()
        });
        let senders = Arc::clone(&desk);
        self.guard.accept_tokens(move |request| {
            let headers = &request.headers;
            let bearer = senders.gate.bearer(headers).map(|bearer| bearer.role);
            // Who may do everything is let through as a login is; who may only read gets no further on this machine.
            let reader = || {
                let person = senders.logins.person(headers, base::clock::now_ns())?;
                (!person.role.may_operate()).then_some(person.role)
            };
            let role = bearer.or_else(reader)?;
            let path = request.uri.path();
            Some(lets_through(role, &request.method, path))
        });
        self.desk = Some(desk);
        self
    }

    /// Uses only TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: Option<Tls>) -> Self {
        self.tls = tls;
        self
    }

    /// Serves the login code for `roleos login-code`.
    #[must_use]
    pub fn with_door(self, door: Option<LocalDoor>) -> Self {
        Self {
            door: Mutex::new(door),
            ..self
        }
    }

    /// Serves further workspaces below `/w/NAME`. Their desks share the logins of the first.
    #[must_use]
    pub fn with_others(mut self, others: Vec<Desk>) -> Self {
        self.others = others.into_iter().map(Arc::new).collect();
        let desks: Vec<&Arc<Desk>> = self.desks().collect();
        if desks.len() > 1 {
            workspaces::introduce(&desks);
        }
        self
    }

    /// Returns all desks, the first one first.
    pub(crate) fn desks(&self) -> impl Iterator<Item = &Arc<Desk>> {
        self.desk.iter().chain(&self.others)
    }

    /// Returns the path of the token for other machines, if no variable contains it.
    #[must_use]
    pub fn token_path(workspace: &Workspace) -> std::path::PathBuf {
        token::path(workspace)
    }
}

/// Returns the router of the process's own responses.
pub fn router(app: Arc<App>) -> Router {
    let ours = match app.desk.as_ref().map(Arc::clone) {
        Some(desk) => api::router(Arc::clone(&desk)).merge(pages::router(desk)),
        None => Router::new()
            .route("/", get(status))
            .with_state(Arc::clone(&app)),
    };
    let others = app.others.clone();
    let router = Router::new()
        .route("/healthz", get(async || plain("ok\n".to_owned())))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/catalog/index.yaml", get(gateway::files::index))
        .route("/catalog/index.yaml.note", get(gateway::files::note))
        .route("/catalog/bundles/{id}/{file}", get(gateway::files::bundle))
        .fallback(elsewhere)
        .with_state(app)
        .merge(ours);
    others.iter().fold(router, workspaces::mount)
}

/// Reports readiness: receipts can be written.
async fn ready(State(app): State<Arc<App>>) -> Response<Body> {
    match app.gateway.catch_up() {
        Ok(()) => plain("ready\n".to_owned()),
        Err(why) => {
            let mut response = plain(format!("receipts cannot be written: {why}\n"));
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response
        }
    }
}

/// Answers a request without a route; the gateway is entered separately.
async fn elsewhere(State(app): State<Arc<App>>, request: Request<Body>) -> Response<Body> {
    let message = "there is nothing at this path";
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", message)
        .hint("models are asked below `/v1`, the API is below `/api`, the pages begin at `/`");
    match &app.desk {
        Some(desk) if pages::is_wanted(request.headers()) => {
            pages::missing(desk, request, &problem).await
        }
        _ => problem.response(Shape::Own),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> Response<Body> {
    let audit = app.desk.as_ref().and_then(|desk| desk.view.known_audit());
    let files = Arc::clone(&app);
    let look = move || {
        let shown = Shown::if_used(&files.workspace, &files.config);
        (shown, files.desk.as_deref().map(Standing::of))
    };
    let (shown, standing) = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    let counted = app.desk.as_ref().map(|desk| &desk.counted);
    let workspace = standing.as_ref().zip(counted);
    let text = app
        .metrics
        .text(audit.as_deref(), shown.as_ref(), workspace);
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8"),
    );
    response
}

/// Shows the addresses to a browser.
async fn status(State(app): State<Arc<App>>) -> Response<Body> {
    let upstreams = app.config.gateway.upstream.len();
    plain(format!(
        "Role OS {} is running.\n\n\
         /v1/chat/completions   OpenAI's API\n\
         /v1/messages           Anthropic's API\n\
         /v1/models             models and roles\n\
         /v1/responses          OpenAI's API of responses\n\
         /v1/dispatch           one dispatch of a role\n\
         /v1/feedback           what a user says of an answer\n\
         /catalog/index.yaml    the catalog of this workspace\n\
         /metrics               for Prometheus\n\
         /healthz /readyz       for whoever watches over it\n\n\
         upstreams: {upstreams}\n",
        env!("CARGO_PKG_VERSION"),
    ))
}

fn plain(text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// Returns the operator's token, if the settings name the variable that holds one.
pub fn operator_token(config: &Config) -> Result<Option<Vec<u8>>, UpError> {
    let (key, name) = (
        "gateway.operator_token_env",
        &config.gateway.operator_token_env,
    );
    if name.is_empty() {
        return Ok(None);
    }
    let token = named_secret(key, name)?;
    if token.len() < MIN_TOKEN {
        let message = format!(
            "the token in the variable `{name}`, which `{key}` names, has fewer than {MIN_TOKEN} characters"
        );
        return Err(UpError::Setting(message));
    }
    Ok(Some(token))
}

/// Returns the provider with which people log in, if the settings name one.
pub fn sign_in(config: &Config) -> Result<Option<SignIn>, UpError> {
    let set = &config.oidc;
    if set.issuer.is_empty() {
        return Ok(None);
    }
    let name = &set.client_secret_env;
    let secret = (!name.is_empty()).then(|| named_secret("oidc.client_secret_env", name));
    let secret = secret.transpose()?.map(String::from_utf8).transpose();
    let secret = secret.map_err(|_| {
        UpError::Setting(format!(
            "the variable `{name}` holds a secret that is not text"
        ))
    })?;
    SignIn::open(set, secret)
        .map(Some)
        .map_err(UpError::Setting)
}

/// Shortest token.
const MIN_TOKEN: usize = 16;

/// Returns the value of the variable that a setting names, which must be set.
pub(crate) fn named_secret(key: &str, name: &str) -> Result<Vec<u8>, UpError> {
    let secret = environment::secret(name);
    let secret = secret.map(|secret| secret.reveal().as_encoded_bytes().to_vec());
    secret.ok_or_else(|| {
        UpError::Setting(format!(
            "the variable `{name}`, which `{key}` names, is not set"
        ))
    })
}
