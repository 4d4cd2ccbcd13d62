//! The JSON API under `/api/`: the functions of the command line, for programs and pages.
//!
//! Reading order: [`Desk`] (what handlers share), `frame` (bodies, queries, operators and errors, the same everywhere),
//! then one file per subject; `document` is the OpenAPI document, generated from the handlers.
//!
//! Reading needs no login here, changing anything does. This module makes no decisions: other crates read and change
//! files, lists come from the view. Access to files or the database runs on a separate thread.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use ::witness::scorecard::Standing;
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::map_response;
use axum::response::Response;
use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use evidence::scan;
use evidence::store::Store;
use routing::specialists::{Named, Paths, Settings, Specialists};
use specialist::shadow::BadSetting;
use tokio::sync::{broadcast, watch};

use crate::gate_tokens::Gate;
use crate::login::Logins;
use crate::metrics::standing::Counted;
use crate::news::Listeners;
use crate::workspaces::Workspaces;
use index::rows::Decision;
use index::{Sources, View, ViewError};
use present::show::clean;

mod approvals;
mod audit;
mod catalog;
mod document;
mod errors;
mod follow;
mod frame;
mod grants;
mod ledger;
mod operate;
mod operator;
mod oversight;
mod runs;
mod score;
mod ship;
mod specialists;
mod status;
mod stream;
mod team;
mod witness;

pub use document::{document, document_text};

pub(crate) use approvals::{approve_act, dismiss_act};
pub(crate) use catalog::{
    How, Import, Update, catalog_directory, has_catalog, import_roles, no_card, readable_catalog,
    update_roles,
};
pub(crate) use errors::unreadable;
pub(crate) use frame::{bad_query, body, missing as not_found, waiting};
pub(crate) use grants::{Grant, revoke_grant, write_grant};
pub(crate) use operate::Signature;
pub(crate) use operator::{checked_name, denied};
pub(crate) use oversight::{decided, deciding_parts};
pub(crate) use score::acceptance;
pub(crate) use witness::{judged_bundle, replay};

/// Decisions by which a slow reader of the stream may be late.
const MAX_BEHIND: usize = 256;

/// State shared by the handlers.
#[derive(Debug)]
pub struct Desk {
    pub workspace: Workspace,
    /// The environment variables.
    pub environment: Environment,
    /// The settings at the start of the process.
    pub config: Config,
    /// Bundles, keys and ledger.
    pub store: Store,
    /// Registry, state and logs of adapters.
    pub specialists: Specialists,
    /// Logs and bundles as tables.
    pub view: View,
    /// The evidence of other machines, with the access rules.
    pub gate: Arc<Gate>,
    /// Codes and cookies.
    pub logins: Arc<Logins>,
    /// All workspaces of the process, if it has several.
    pub workspaces: OnceLock<Workspaces>,
    /// Messages to the person at the terminal.
    notice: Notice,
    /// Set once the view is up to date with the files.
    current: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    pub news: broadcast::Sender<Arc<Decision>>,
    /// Counters of new entries.
    pub counted: Counted,
    /// Listeners for new entries.
    pub listeners: Listeners,
    /// Result of comparing the workspace with its thresholds at the last check.
    pub standing: Mutex<Option<Standing>>,
    /// Time of the last line of the newest session that was checked.
    pub ended_ns: Mutex<i64>,
    /// Waiting and given approvals at the last check.
    open_approvals: AtomicU64,
    /// Counter of changes to anything on the pages.
    changed: watch::Sender<u64>,
    closing: watch::Sender<bool>,
    /// Lock for passphrases, which are tried one at a time: each try takes memory and time, on purpose.
    passphrase: tokio::sync::Mutex<()>,
}

impl Desk {
    /// Prints a message for the person at the terminal; names in it are cleaned.
    pub fn tell(&self, line: &str) {
        self.notice.tell(&clean::name(line.as_bytes()));
    }

    /// Waits until no other passphrase is tried.
    pub async fn one_passphrase(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.passphrase.lock().await
    }
}

/// Output for the person at the terminal.
pub struct Notice(Box<dyn Fn(&str) + Send + Sync>);

impl Notice {
    /// Creates the output; `tell` gets one line at a time.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Box::new(tell))
    }

    fn tell(&self, line: &str) {
        (self.0)(line);
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notice")
    }
}

/// Error of creating the state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    #[error(transparent)]
    View(#[from] ViewError),
    /// A variable has an invalid value.
    #[error("{0}")]
    Setting(#[from] BadSetting),
    /// The store of the team cannot be used.
    #[error("{0}")]
    Store(#[from] routing::shared::SharedError),
}

impl Desk {
    /// Opens the view of a workspace, without reading the files yet.
    pub fn open(
        workspace: Workspace,
        config: Config,
        environment: Environment,
        logins: impl Into<Arc<Logins>>,
        notice: Notice,
    ) -> Result<Self, DeskError> {
        let settings = Settings::load(&config, &environment)?;
        let paths = Paths::find(&workspace, &environment, &Named::default());
        let store = Store::of(&workspace, config.witness.max_bundle_bytes());
        let view = open_view(&workspace, &config, &store, &paths)?;
        let (news, _) = broadcast::channel(MAX_BEHIND);
        let max_bytes = config.witness.max_bundle_bytes();
        let archive = ::team::serving_archive(&workspace, &config.store, max_bytes)?;
        Ok(Self {
            specialists: ::team::attach(
                Specialists::new(paths, settings),
                &workspace,
                &config.store,
            )?,
            workspace,
            environment,
            config,
            store,
            view,
            gate: Arc::new(Gate::of(archive)),
            logins: logins.into(),
            workspaces: OnceLock::new(),
            notice,
            current: AtomicBool::new(false),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            news,
            counted: Counted::default(),
            listeners: Listeners::default(),
            standing: Mutex::default(),
            ended_ns: Mutex::default(),
            open_approvals: AtomicU64::new(0),
            changed: watch::Sender::new(0),
            closing: watch::Sender::new(false),
            passphrase: tokio::sync::Mutex::default(),
        })
    }
}

/// Opens the view of a workspace.
pub fn open_view(
    workspace: &Workspace,
    config: &Config,
    store: &Store,
    paths: &Paths,
) -> Result<View, ViewError> {
    let sources = Sources {
        store: store.clone(),
        keys: workspace.keys_dir(),
        sessions: workspace.sessions_dir(),
        runs: routing::runs::path(workspace),
        events: paths.events.clone(),
        probes: paths.probes.clone(),
        field_log: paths.field_log.clone(),
        requests: workspace.role_os_dir().join("gateway.jsonl"),
        options: scan::Options {
            threads: config.witness.thread_count(),
            max_bytes: config.witness.max_bundle_bytes(),
        },
    };
    View::open(&view_path(workspace), sources)
}

fn view_path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("view.db")
}

/// Returns the router of `/api/`, and of the document at `/openapi.json`.
pub fn router(desk: Arc<Desk>) -> Router {
    let (router, _) = document::routes().split_for_parts();
    router
        .route("/openapi.json", axum::routing::get(document::serve))
        .route("/api/{*path}", axum::routing::any(frame::unknown_path))
        .method_not_allowed_fallback(frame::wrong_method)
        .layer(map_response(plain_headers))
        .with_state(desk)
}

/// Adds headers against caching and content sniffing.
async fn plain_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
