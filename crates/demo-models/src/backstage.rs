//! The server of the scripted models, and its two routes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::repairs;
use crate::tasks::{self, ADAPTERS, DATES, REPAIRER, ROUTER};

/// Name of the general model.
pub const MODEL: &str = "demo-general";

/// Response time of the general model.
const THINKS: Duration = Duration::from_millis(5);

/// State that changes while it runs.
#[derive(Debug, Default)]
struct Mood {
    drifted: AtomicBool,
    interrupted: AtomicBool,
}

/// Running server of the adapters and the general model, which stops when dropped.
#[derive(Debug)]
pub struct Backstage {
    address: SocketAddr,
    mood: Arc<Mood>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backstage {
    /// Starts the server at an address of this machine.
    pub fn start(listen: SocketAddr) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let mood = Arc::new(Mood::default());
        let listener = runtime.block_on(TcpListener::bind(listen))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .route("/{role}/verify", post(verify))
            .route("/v1/messages", post(messages))
            .with_state(Arc::clone(&mood));
        let watched = Arc::clone(&mood);
        let work = move || {
            runtime.block_on(async {
                tokio::spawn(watch(watched));
                let serving = axum::serve(listener, router).into_future();
                tokio::select! {
                    _ = serving => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new()
            .name("demo-backstage".to_owned())
            .spawn(work)?;
        Ok(Self {
            address,
            mood,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes the drifting adapter drift.
    pub fn drift(&self) {
        self.mood.drifted.store(true, Ordering::SeqCst);
    }

    /// Returns `true` if the process was asked to end.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.mood.interrupted.load(Ordering::SeqCst)
    }
}

impl Drop for Backstage {
    fn drop(&mut self) {
        // A thread that has already ended ignores it.
        self.stop.take().map(|stop| stop.send(()).ok());
        self.thread.take().map(|thread| thread.join().ok());
    }
}

/// Records that the process was asked to end, so that the loop can stop between two steps.
async fn watch(mood: Arc<Mood>) {
    let signals = signal(SignalKind::interrupt()).and_then(|interrupt| {
        let terminate = signal(SignalKind::terminate())?;
        Ok((interrupt, terminate))
    });
    let Ok((mut interrupt, mut terminate)) = signals else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    mood.interrupted.store(true, Ordering::SeqCst);
}

fn reply(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

async fn verify(
    State(mood): State<Arc<Mood>>,
    Path(role): Path<String>,
    body: Bytes,
) -> Response<Body> {
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |key: &str| asked.get(key).and_then(Value::as_str);
    let pinned = |id: &str| {
        let mut adapters = ADAPTERS.iter();
        adapters.find(|adapter| adapter.id == id && adapter.role == role)
    };
    let Some(adapter) = text("adapter_id").and_then(pinned) else {
        let error = json!({ "error": "there is no such adapter here" });
        return reply(StatusCode::NOT_FOUND, &error);
    };
    let input = text("input").unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(adapter.thinks_ms)).await;
    let drifted = mood.drifted.load(Ordering::SeqCst);
    let verdict = tasks::answer(adapter, input, drifted);
    reply(
        StatusCode::OK,
        &json!({ "verdict": verdict, "adapter_id": adapter.id }),
    )
}

async fn messages(body: Bytes) -> Response<Body> {
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let system = asked.get("system").and_then(Value::as_str).unwrap_or("");
    let question = asked.pointer("/messages/0/content").and_then(Value::as_str);
    let Some(question) = question else {
        let error = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "the first message has no text" } });
        return reply(StatusCode::BAD_REQUEST, &error);
    };
    tokio::time::sleep(THINKS).await;
    let said = general(system, question);
    let answer = json!({
        "id": "msg_demo", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{ "type": "text", "text": said }],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": { "input_tokens": tokens(question), "output_tokens": tokens(&said) },
    });
    reply(StatusCode::OK, &answer)
}

/// Returns the answer of the general model: the right one if it knows the role.
fn general(system: &str, question: &str) -> String {
    let named = [ROUTER, DATES]
        .into_iter()
        .find(|role| system.contains(role));
    if let Some(role) = named.or_else(|| tasks::recognised(question)) {
        return tasks::right(role, question).to_string();
    }
    let asked: Value = serde_json::from_str(question).unwrap_or_default();
    let number = |key: &str| {
        let number = asked.get(key).and_then(Value::as_u64);
        number.and_then(|number| usize::try_from(number).ok())
    };
    match (number("repair"), number("attempt")) {
        (Some(repair), Some(attempt)) if system.contains(REPAIRER) => {
            repairs::proposal(repair, attempt).to_owned()
        }
        _ => format!("I am the demo's scripted model. I know the roles {ROUTER} and {DATES}."),
    }
}

/// Returns the number of tokens by the scripted model: one per four bytes.
#[must_use]
pub fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}
