//! The receipt of a request: one line in the log before its answer ends, and the counters.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::Body;
use base::clock;
use bytes::{Buf as _, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::chat::Used;
use super::proxy::{has_model, header};
use super::usage::Watch;

use crate::up::App;
use web::metrics::{Labels, Spent};

/// The response header with the id of the receipt, on every answer.
pub(crate) const TRACE: &str = "x-roleos-trace-id";

/// Mark of estimated tokens in receipts.
pub(crate) const ESTIMATED: &str = "estimated";

/// Longest text of a client that is logged.
const LONGEST: usize = 256;

/// One line of `.role-os/gateway.jsonl`.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Line {
    pub(crate) ts: String,
    pub(crate) trace: String,
    pub(crate) method: String,
    /// Path without the query, which may contain secrets.
    pub(crate) path: String,
    pub(crate) route: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// The requested model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The model that answered, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) served: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upstream: Option<String>,
    /// The protocols on both sides, if a request had to be translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crossed: Option<String>,
    /// The verifier's verdict on the answer: `pass`, `fail: …` or `unchecked: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verified: Option<String>,
    /// Parts of the request that the adapter did not receive, if an agent is mapped to the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left_out: Option<String>,
    /// Input and output tokens, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens: Option<u64>,
    /// `estimated` if the tokens were not reported but estimated by the length of the texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<&'static str>,
    /// Models that were tried before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tried: Vec<Tried>,
    pub(crate) status: u16,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
    pub(crate) ms: f64,
    pub(crate) overhead_us: u64,
    pub(crate) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_agent: Option<String>,
}

/// A model that did not answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tried {
    pub(crate) model: String,
    pub(crate) why: String,
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Entry {
    app: Arc<App>,
    started: Instant,
    /// Time spent by the client and the upstream.
    waited: Duration,
    pub(crate) line: Line,
    /// The verdict on a stream, which is known at its end.
    pub(crate) verdict: Option<Arc<OnceLock<String>>>,
    /// Reads the tokens of an upstream's answer.
    tokens: Option<Watch>,
    is_written: bool,
}

impl Entry {
    /// Creates the receipt from the head of the request.
    pub(crate) fn new(app: &Arc<App>, parts: &Parts) -> Self {
        let header = |name: &str| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some(shortened(value))
        };
        app.metrics.open.inc();
        Self {
            app: Arc::clone(app),
            started: Instant::now(),
            waited: Duration::ZERO,
            is_written: false,
            verdict: None,
            tokens: None,
            line: Line {
                ts: clock::text(clock::now_ns() / 1000 * 1000),
                trace: base::fresh_task_id().to_string(),
                method: parts.method.to_string(),
                path: shortened(parts.uri.path()),
                route: "passthrough",
                session: header("x-claude-code-session-id"),
                agent: header("x-claude-code-agent-id"),
                parent_agent: header("x-claude-code-parent-agent-id"),
                ..Line::default()
            },
        }
    }

    /// Starts over for another model: notes about the previous one do not count.
    pub(crate) fn anew(&mut self) {
        self.verdict = None;
        self.line = Line {
            route: "passthrough",
            reason: None,
            role: None,
            served: None,
            upstream: None,
            crossed: None,
            verified: None,
            left_out: None,
            ..std::mem::take(&mut self.line)
        };
    }

    /// Records the tokens of a role's answer.
    pub(super) fn used(&mut self, Used { usage, is_told }: Used) {
        self.line.input_tokens = Some(usage.input);
        self.line.output_tokens = Some(usage.output);
        self.line.usage = (!is_told).then_some(ESTIMATED);
    }

    /// Adds time that was spent elsewhere.
    pub(crate) fn waited(&mut self, since: Instant) {
        self.waited += since.elapsed();
    }

    /// Watches the body of the answer to its end, and then writes the line.
    pub(crate) fn watch<B>(mut self, response: Response<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        self.line.status = response.status().as_u16();
        let overhead = self.started.elapsed().saturating_sub(self.waited);
        self.line.overhead_us = u64::try_from(overhead.as_micros()).unwrap_or(u64::MAX);
        let labels = Labels {
            route: self.line.route,
            upstream: self.line.upstream.clone().unwrap_or_default(),
            status: self.line.status,
        };
        self.app.metrics.answered(&labels, overhead);
        let mut response = response;
        if let Some(trace) = header(&self.line.trace) {
            response.headers_mut().insert(TRACE, trace);
        }
        if self.line.input_tokens.is_none() && tells_tokens(&self.line.path, response.headers()) {
            self.tokens = Some(Watch::default());
        }
        response.map(|inner| {
            if inner.is_end_stream() {
                self.finish("complete");
                return Body::new(inner);
            }
            Body::new(Watched { inner, entry: self })
        })
    }

    /// Returns the usage of the answer. A model that only an error names is not counted, because nothing was spent on
    /// it.
    fn spent(&self) -> Spent<'_> {
        let line = &self.line;
        let model = line.served.as_deref().or(line.model.as_deref());
        let model = model.unwrap_or_default();
        let tokens = (line.input_tokens, line.output_tokens);
        let price = match line.route {
            "general" => self.app.config.general_price(),
            _ => self.app.config.model_price([model]),
        };
        let used = tokens.0.is_some() || tokens.1.is_some();
        let cost = price.filter(|_| used).map(|price| {
            let usd = price.usd(tokens.0.unwrap_or_default(), tokens.1.unwrap_or_default());
            microdollars(usd)
        });
        Spent {
            route: line.route,
            role: line.role.as_deref().unwrap_or_default(),
            model,
            tokens,
            microdollars: cost,
        }
    }

    fn finish(&mut self, outcome: &'static str) {
        if self.is_written {
            return;
        }
        self.is_written = true;
        let metrics = &self.app.metrics;
        metrics.open.dec();
        match outcome {
            "client_gone" => metrics.cancelled.inc(),
            "upstream_broke" => metrics.broken.inc(),
            _ => {}
        }
        let elapsed = self.started.elapsed();
        metrics.duration.observe(elapsed);
        self.line.outcome = outcome;
        if let Some(verdict) = self.verdict.as_ref().and_then(|verdict| verdict.get()) {
            self.line.verified = Some(verdict.clone());
        }
        if let Some(tokens) = self.tokens.take() {
            (self.line.input_tokens, self.line.output_tokens) = tokens.found();
        }
        metrics.used(&self.spent());
        self.line.ms = (elapsed.as_secs_f64() * 1e6).round() / 1e3;
        if let Some(spans) = self
            .app
            .spans
            .as_ref()
            .filter(|_| has_model(&self.line.path))
        {
            spans.answered(&self.line, self.spent().microdollars);
        }
        let mut text = serde_json::to_string(&self.line).unwrap_or_default();
        text.push('\n');
        let gateway = &self.app.gateway;
        if gateway.heard(gateway.log.append(&text)).is_err() {
            metrics.receipts_lost.inc();
        }
    }
}

/// Writes the line of a request whose client has gone.
impl Drop for Entry {
    fn drop(&mut self) {
        if self.line.status == 0 {
            self.line.status = StatusCode::from_u16(499).map_or(0, |status| status.as_u16());
        }
        let is_ending = self.app.gateway.ending.load(Ordering::Relaxed);
        self.finish(if is_ending { "cut_off" } else { "client_gone" });
    }
}

/// A body on its way to the client.
#[derive(Debug)]
struct Watched<B> {
    inner: B,
    entry: Entry,
}

impl<B> HttpBody for Watched<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            None => self.entry.finish("complete"),
            Some(Err(_)) => self.entry.finish("upstream_broke"),
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| data.remaining());
                self.entry.line.response_bytes += length as u64;
                if let (Some(tokens), Some(data)) = (&mut self.entry.tokens, frame.data_ref()) {
                    tokens.feed(data);
                }
                // Before the last byte is sent, so that a client with the answer finds its receipt. Nothing follows
                // trailers, and the body is not polled again.
                if self.inner.is_end_stream() || frame.is_trailers() {
                    self.entry.finish("complete");
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is not negative, and one that is too large is shown as the largest"
)]
fn microdollars(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}

/// Returns `true` if an answer can contain its tokens in a readable form.
fn tells_tokens(path: &str, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = text(CONTENT_TYPE).unwrap_or_default();
    let is_read = kind.starts_with("application/json") || kind.starts_with("text/event-stream");
    is_read && text(CONTENT_ENCODING).is_none() && has_model(path)
}

/// Cuts a client's text to its limit.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
