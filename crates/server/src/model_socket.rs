//! A model as a local socket, for one trial of `roleos prove`: requests from a box go to the upstreams of the settings
//! with the user's keys, and [`answer`] reads tokens and tool calls from the traffic.
//!
//! Requests of one trial are sent one after the other, so a budget is exceeded by at most one request.

mod answer;

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use base::config::Config;
use base::config::oversight::Price;
use base::prices::Prices;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as HttpBody, Frame, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prove::trial::model::{Meter, Metered, Models};
use serde_json::Value;
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::gateway::client::{Ways, request as upstream_request};
use crate::gateway::upstream::Upstream;
use crate::gateway::{choose, protocol};
use web::problem::{Problem, Shape};

/// Largest body of a request.
const MAX_REQUEST: usize = 64 << 20;
/// Most bytes of an answer that are read for the meter.
const MAX_ANSWER: usize = 32 << 20;
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(20);

/// The upstreams of the settings.
#[derive(Debug)]
pub struct ModelSockets {
    runtime: Runtime,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    upstreams: Vec<Upstream>,
    ways: Ways,
    prices: std::collections::BTreeMap<String, Price>,
}

impl ModelSockets {
    /// Opens the upstreams of `[[gateway.upstream]]`; `None` without one.
    ///
    /// # Errors
    /// An upstream cannot be used, or the machine has no threads left.
    pub fn open(config: &Config) -> Result<Option<Self>, String> {
        let set = &config.gateway;
        if set.upstream.is_empty() {
            return Ok(None);
        }
        let upstreams: Result<Vec<_>, String> = set.upstream.iter().map(Upstream::new).collect();
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_io()
            .enable_time()
            .build();
        Ok(Some(Self {
            runtime: runtime.map_err(|error| error.to_string())?,
            shared: Arc::new(Shared {
                upstreams: upstreams?,
                ways: Ways::new(set.connect_timeout()),
                prices: config.oversight.prices.clone(),
            }),
        }))
    }
}

impl Models for ModelSockets {
    fn listen(&self, socket: &Path, budget: u64) -> io::Result<Box<dyn Meter>> {
        let _entered = self.runtime.enter();
        let listener = UnixListener::bind(socket)?;
        let trial = Arc::new(Trial {
            shared: Arc::clone(&self.shared),
            budget,
            turn: Arc::new(Semaphore::new(1)),
            metered: Mutex::new(Metered {
                cost: Some(0),
                ..Metered::default()
            }),
        });
        let task = self.runtime.spawn(serve(listener, Arc::clone(&trial)));
        Ok(Box::new(Listening { trial, task }))
    }
}

#[derive(Debug)]
struct Listening {
    trial: Arc<Trial>,
    task: JoinHandle<()>,
}

impl Meter for Listening {
    fn metered(&self) -> Metered {
        self.trial.with(|metered| metered.clone())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One trial: its upstreams, its budget, and its traffic so far.
#[derive(Debug)]
struct Trial {
    shared: Arc<Shared>,
    budget: u64,
    turn: Arc<Semaphore>,
    metered: Mutex<Metered>,
}

impl Trial {
    fn with<T>(&self, act: impl FnOnce(&mut Metered) -> T) -> T {
        act(&mut self.metered.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a whole answer.
    fn account(&self, model: &str, status: StatusCode, body: &[u8]) {
        let usage = answer::usage(body);
        let prices = Prices::new(&self.shared.prices);
        let is_provider =
            status.is_server_error() || matches!(status.as_u16(), 401 | 402 | 403 | 429);
        self.with(|metered| {
            metered.requests += 1;
            metered.failed = is_provider.then_some(status.as_u16());
            metered.usage.add(usage);
            if usage.tokens() > 0 {
                let cost = prices.cost(model, usage);
                metered.cost = metered
                    .cost
                    .zip(cost)
                    .map(|(sum, cost)| sum.saturating_add(cost));
            }
            if !model.is_empty() {
                metered.models.insert(model.chars().take(256).collect());
            }
        });
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let shape = Shape::of_path(parts.uri.path());
        let passed = self.pass_on(parts, body).await;
        passed.unwrap_or_else(|problem| problem.response(shape))
    }

    async fn pass_on(
        self: Arc<Self>,
        mut parts: hyper::http::request::Parts,
        body: Incoming,
    ) -> Result<Response<Body>, Problem> {
        let bad = |_| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "bad_body",
                "the body cannot be read",
            )
        };
        let body = Limited::new(body, MAX_REQUEST)
            .collect()
            .await
            .map_err(bad)?;
        let body = body.to_bytes();
        let named: Option<Value> = serde_json::from_slice(&body).ok();
        let model = named
            .as_ref()
            .and_then(|value| value.get("model")?.as_str())
            .unwrap_or_default()
            .to_owned();
        let closed = |_| Problem::new(StatusCode::BAD_GATEWAY, "closed", "the trial has ended");
        let turn = Arc::clone(&self.turn)
            .acquire_owned()
            .await
            .map_err(closed)?;
        let calls = named.as_ref().map(answer::calls).unwrap_or_default();
        let is_over = self.with(|metered| {
            metered.calls.extend(calls);
            metered.is_exhausted |= metered.cost.is_some_and(|cost| cost >= self.budget);
            metered.is_exhausted
        });
        if is_over {
            let message = "the budget of this task is used up; end your work";
            return Err(Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "budget",
                message,
            ));
        }
        let wanted = Some(model.as_str()).filter(|model| !model.is_empty());
        let upstream =
            choose(&self.shared.upstreams, wanted, protocol(&parts)).ok_or_else(|| {
                let message = format!("no `[[gateway.upstream]]` has the model `{model:.100}`");
                Problem::new(StatusCode::NOT_FOUND, "no_upstream", message)
            })?;
        // A compressed answer could not be metered.
        parts.headers.remove(ACCEPT_ENCODING);
        parts.headers.remove(CONTENT_LENGTH);
        let request = upstream_request(&parts, upstream, Body::from(body))?;
        let answered = self.shared.ways.send(upstream, request).await;
        let answered = answered.inspect_err(|problem| {
            self.with(|metered| metered.failed = Some(problem.status.as_u16()));
        })?;
        let status = answered.status();
        let trial = Arc::clone(&self);
        Ok(answered.map(|inner| {
            Body::new(Metering {
                inner,
                copy: Vec::new(),
                done: Some((trial, model, status, turn)),
            })
        }))
    }
}

/// An answer on its way to the agent.
#[derive(Debug)]
struct Metering {
    inner: Incoming,
    copy: Vec<u8>,
    done: Option<(Arc<Trial>, String, StatusCode, OwnedSemaphorePermit)>,
}

impl Metering {
    fn finish(&mut self) {
        if let Some((trial, model, status, _turn)) = self.done.take() {
            trial.account(&model, status, &self.copy);
        }
    }
}

/// Meters an answer that the agent does not read to its end, which is paid nevertheless.
impl Drop for Metering {
    fn drop(&mut self) {
        self.finish();
    }
}

impl HttpBody for Metering {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                let room = MAX_ANSWER.saturating_sub(self.copy.len());
                if let Some(data) = frame.data_ref() {
                    let part = data.get(..room.min(data.len())).unwrap_or_default();
                    self.copy.extend_from_slice(part);
                }
                // Before the last byte is sent, so that the agent's next request sees the new sum.
                if self.inner.is_end_stream() {
                    self.finish();
                }
            }
            _ => self.finish(),
        }
        Poll::Ready(frame)
    }
}

async fn serve(listener: UnixListener, trial: Arc<Trial>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let trial = Arc::clone(&trial);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let trial = Arc::clone(&trial);
                async move { Ok::<_, Infallible>(trial.answer(request).await) }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service);
            // A broken connection only concerns the agent.
            served.await.ok();
        });
    }
}

#[cfg(test)]
mod tests;
