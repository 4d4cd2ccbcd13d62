//! The queue of spans and its export to the collector: OTLP over HTTP with protobuf, by our own HTTP client.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::config::notify::Telemetry;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use super::span;
use crate::gateway::receipt::Line;
use crate::up::UpError;
use upstream::connections::Connections;
use upstream::exchange;
use upstream::web_address::WebAddress;
use web::metrics::Metrics;
use web::news::News;

/// Most spans that wait.
const MAX_WAITING: usize = 4096;
/// Spans that are sent at once.
const MAX_BATCH: usize = 512;
/// Time that the first span of a batch waits for others.
const GATHER: Duration = Duration::from_millis(500);
/// Longest time of one attempt to send.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time that the end of the process waits for the remaining spans.
const LAST: Duration = Duration::from_secs(1);
/// Longest answer of a collector that is read.
const MAX_ANSWER: usize = 1024 * 1024;
const PATH: &str = "/v1/traces";

enum Item {
    Span(Box<SpanData>),
    /// Marks that everything before it was sent, or failed.
    Flush(oneshot::Sender<()>),
}

/// Sender of the queue.
#[derive(Clone)]
struct Queue {
    items: Sender<Item>,
    metrics: Arc<Metrics>,
}

impl Queue {
    fn put(&self, span: SpanData) {
        if self.items.try_send(Item::Span(Box::new(span))).is_err() {
            self.metrics.exported("dropped", 1);
        }
    }
}

/// Exporter of spans.
pub(crate) struct Spans {
    queue: Queue,
    /// Present until the process serves.
    waiting: Mutex<Option<(SpanExporter, Receiver<Item>)>>,
    content: bool,
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").finish_non_exhaustive()
    }
}

impl Spans {
    pub(crate) fn open(set: &Telemetry, metrics: &Arc<Metrics>) -> Result<Self, UpError> {
        let bad = |why: String| UpError::Setting(format!("`telemetry.otlp` cannot be used: {why}"));
        let address = WebAddress::parse(&set.otlp).map_err(bad)?;
        let base = set.otlp.trim_end_matches('/').trim_end_matches(PATH);
        let client = Collector(exchange::client(address.is_https()).map_err(bad)?);
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{base}{PATH}"))
            .with_timeout(PATIENCE)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        let own = [
            KeyValue::new("service.name", "roleos"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        ];
        let resource = Resource::builder_empty().with_attributes(own);
        exporter.set_resource(&resource.with_schema_url([], span::SCHEMA).build());
        let (items, waiting) = channel(MAX_WAITING);
        let metrics = Arc::clone(metrics);
        Ok(Self {
            queue: Queue { items, metrics },
            waiting: Mutex::new(Some((exporter, waiting))),
            content: set.content,
        })
    }

    /// Starts sending, on the caller's runtime.
    pub(crate) fn start(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((exporter, waiting)) = waiting.take() {
            tokio::spawn(send(exporter, waiting, Arc::clone(&self.queue.metrics)));
        }
    }

    /// Waits briefly until the remaining spans are sent.
    pub(crate) async fn flush(&self) {
        let (told, done) = oneshot::channel();
        let flushed = async {
            if self.queue.items.send(Item::Flush(told)).await.is_ok() {
                done.await.ok();
            }
        };
        tokio::time::timeout(LAST, flushed).await.ok();
    }

    /// Returns a receiver of news that creates spans.
    pub(crate) fn listener(&self) -> impl Fn(&News) + Send + Sync + 'static {
        let (queue, content) = (self.queue.clone(), self.content);
        move |news| {
            let decisions = news.decisions.iter();
            let decisions = decisions.map(|one| span::decision(one, content));
            let sessions = news.ended.iter().map(span::session);
            for span in decisions.chain(sessions) {
                queue.put(span);
            }
        }
    }

    /// Creates a span of an answer of the gateway.
    pub(crate) fn answered(&self, line: &Line, microdollars: Option<u64>) {
        self.queue.put(span::answer(line, microdollars));
    }
}

async fn send(exporter: SpanExporter, mut waiting: Receiver<Item>, metrics: Arc<Metrics>) {
    let mut items = Vec::new();
    while waiting.recv_many(&mut items, MAX_BATCH).await > 0 {
        let ends = |items: &[Item]| items.iter().any(|item| matches!(item, Item::Flush(_)));
        if !ends(&items) && items.len() < MAX_BATCH {
            let more = waiting.recv_many(&mut items, MAX_BATCH);
            tokio::time::timeout(GATHER, more).await.ok();
        }
        let mut batch = Vec::new();
        let mut flushed = Vec::new();
        for item in items.drain(..) {
            match item {
                Item::Span(span) => batch.push(*span),
                Item::Flush(told) => flushed.push(told),
            }
        }
        if !batch.is_empty() {
            let count = batch.len() as u64;
            let sent = exporter.export(batch).await.is_ok();
            metrics.exported(if sent { "sent" } else { "failed" }, count);
        }
        flushed.into_iter().for_each(|told| {
            told.send(()).ok();
        });
    }
}

/// Our own HTTP client with the exporter's interface.
#[derive(Debug)]
struct Collector(Connections<Full<Bytes>>);

impl HttpClient for Collector {
    fn send_bytes<'a, 's>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 's>>
    where
        'a: 's,
        Self: 's,
    {
        Box::pin(async move {
            let exchange = async {
                let response = self.0.send(request.map(Full::new)).await?;
                let (parts, body) = response.into_parts();
                let body = Limited::new(body, MAX_ANSWER).collect().await?;
                Ok(Response::from_parts(parts, body.to_bytes()))
            };
            tokio::time::timeout(PATIENCE, exchange).await?
        })
    }
}
