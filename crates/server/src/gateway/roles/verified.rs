//! Verifies the general model's answers for a role with the verifier of the role's active version.
//!
//! The client receives the answer unchanged, with any verdict: a whole answer waits for the verdict, which is in its
//! headers; a stream is forwarded as it arrives, and only its end waits. The receipt has the verdict of both.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, TRAILER};
use routing::verifiers::{Subject, Verifiers};
use selection::verifier::{Declared, Outcome};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::Role;
use crate::gateway::chat::{self, Dialect};
use crate::gateway::packed::unpacked;
use crate::gateway::proxy::{VERIFIED, header};
use crate::gateway::receipt::{Entry, shortened};
use crate::up::App;

/// Longest answer that is verified, compressed or not.
const LONGEST: usize = 16 * 1024 * 1024;

/// Verdict on an answer that passed.
pub(in crate::gateway) const PASS: &str = "pass";

/// Input of a verification, beside the answer.
struct Check {
    verifiers: Arc<Verifiers>,
    declared: Declared,
    input: Value,
    dialect: Dialect,
    encoding: Option<String>,
    is_stream: bool,
}

/// Returns the verifier of the role's active version, if the registry may be used and has one.
fn declared(app: &App, role: &Role) -> Option<Declared> {
    let seen = app.specialists.see().ok().filter(|seen| seen.is_trusted)?;
    let active = seen.registry.entry(&role.name)?.active_version.as_deref()?;
    let written = seen.registry.written(&role.name, active)?;
    Declared::of_version(written).ok().flatten()
}

/// Returns the verdict on a complete answer.
pub(super) async fn judged(
    app: &App,
    role: &Role,
    (dialect, request): (Dialect, &Value),
    answer: &Value,
) -> Option<String> {
    let mut check = Check::of(app, role, (dialect, request), &HeaderMap::new())?;
    check.is_stream = false;
    let answer = answer.clone();
    let verified = tokio::task::spawn_blocking(move || check.verdict(&answer));
    verified.await.ok()
}

/// Verifies the general model's answer, if the role has a verifier. With `behind`, the client reads the verdict on a
/// stream as a trailer.
pub(super) async fn held(
    app: &App,
    role: &Role,
    asked: (Dialect, &Value),
    mut response: Response<Body>,
    (entry, behind): (&mut Entry, bool),
) -> Response<Body> {
    if !response.status().is_success() {
        return response;
    }
    let Some(check) = Check::of(app, role, asked, response.headers()) else {
        return response;
    };
    entry.line.verified = Some("unchecked: it did not come to its end".to_owned());
    if check.is_stream {
        let verdict = Arc::new(OnceLock::new());
        entry.verdict = Some(Arc::clone(&verdict));
        if behind {
            let headers = response.headers_mut();
            headers.append(TRAILER, HeaderValue::from_static(VERIFIED));
        }
        return response.map(|inner| {
            Body::new(Checked {
                inner,
                kept: Vec::new(),
                state: State::Reading(Box::new(check)),
                verdict,
                trailers: behind.then(HeaderMap::new),
            })
        });
    }
    let (head, body) = response.into_parts();
    let (body, whole) = collected(body).await;
    entry.line.verified = Some(match whole {
        Some(bytes) => {
            let verified = tokio::task::spawn_blocking(move || check.run(&bytes));
            verified.await.unwrap_or_else(|_| broke())
        }
        None => "unchecked: it is too long or broke off".to_owned(),
    });
    Response::from_parts(head, body)
}

fn broke() -> String {
    "unchecked: the verifier broke off".to_owned()
}

/// Returns the body, and its bytes if it ended within the limit.
async fn collected(mut body: Body) -> (Body, Option<Bytes>) {
    let (mut frames, mut length, mut has_trailers) = (Vec::new(), 0_usize, false);
    while length <= LONGEST {
        match body.frame().await {
            Some(Ok(frame)) => {
                length += frame.data_ref().map_or(0, Bytes::len);
                has_trailers |= frame.is_trailers();
                frames.push(Ok(frame));
            }
            Some(Err(error)) => {
                frames.push(Err(error));
                return (Body::new(StreamBody::new(stream::iter(frames))), None);
            }
            None => {
                let data = frames.iter().flatten().filter_map(Frame::data_ref);
                let whole = Bytes::from(data.fold(Vec::with_capacity(length), |mut all, part| {
                    all.extend_from_slice(part);
                    all
                }));
                if has_trailers {
                    let body = Body::new(StreamBody::new(stream::iter(frames)));
                    return (body, Some(whole));
                }
                return (Body::from(whole.clone()), Some(whole));
            }
        }
    }
    let rest = stream::iter(frames).chain(BodyStream::new(body));
    (Body::new(StreamBody::new(rest)), None)
}

impl Check {
    fn of(
        app: &App,
        role: &Role,
        (dialect, request): (Dialect, &Value),
        headers: &HeaderMap,
    ) -> Option<Self> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default();
        Some(Self {
            declared: declared(app, role)?,
            verifiers: Arc::clone(&app.gateway.verifiers),
            input: chat::input(dialect, request).unwrap_or_default(),
            dialect,
            encoding: text(CONTENT_ENCODING).map(str::to_ascii_lowercase),
            is_stream: kind.to_ascii_lowercase().starts_with("text/event-stream"),
        })
    }

    /// Verifies a whole answer as received. Verifiers may run a command and take time.
    fn run(&self, bytes: &[u8]) -> String {
        match self.said(bytes) {
            Ok(said) => self.verdict(&Value::String(said)),
            Err(why) => format!("unchecked: {why}"),
        }
    }

    fn verdict(&self, output: &Value) -> String {
        let subject = Subject {
            output,
            input: &self.input,
        };
        let outcome = match self.verifiers.ready(&self.declared) {
            Ok(ready) => self.verifiers.verify_ready(&ready, subject),
            Err(why) => Outcome::Fail(format!("the verifier cannot run: {why}")),
        };
        match outcome {
            Outcome::Pass => PASS.to_owned(),
            Outcome::Fail(why) => format!("fail: {}", shortened(&why)),
        }
    }

    /// Returns the text of the answer.
    fn said(&self, bytes: &[u8]) -> Result<String, String> {
        let bytes = unpacked(self.encoding.as_deref(), bytes, LONGEST)?;
        let told = if self.is_stream {
            chat::streamed_text(self.dialect, &bytes)
        } else {
            chat::answer_text(self.dialect, &bytes)
        };
        told.map_err(str::to_owned)
    }
}

/// A stream on its way to the client, which is copied.
struct Checked {
    inner: Body,
    kept: Vec<u8>,
    state: State,
    verdict: Arc<OnceLock<String>>,
    /// Trailers of the stream, if the client reads them: the upstream's own and the verdict.
    trailers: Option<HeaderMap>,
}

enum State {
    Reading(Box<Check>),
    Verifying(JoinHandle<String>),
    Done,
}

impl Checked {
    /// Handles the end of the stream; the verdict is next.
    fn ended(&mut self) {
        let State::Reading(check) = std::mem::replace(&mut self.state, State::Done) else {
            return;
        };
        let kept = std::mem::take(&mut self.kept);
        if kept.len() > LONGEST {
            self.verdict
                .set("unchecked: it is too long".to_owned())
                .ok();
            return;
        }
        self.state = State::Verifying(tokio::task::spawn_blocking(move || check.run(&kept)));
    }
}

impl HttpBody for Checked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if matches!(self.state, State::Reading(_)) {
            let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
            let frame = match frame.map(|frame| frame.map(Frame::into_trailers)) {
                // The trailers wait for the verdict, because nothing may follow them.
                Some(Ok(Ok(trailers))) => {
                    if let Some(kept) = &mut self.trailers {
                        kept.extend(trailers);
                    }
                    None
                }
                Some(Ok(Err(frame))) => Some(Ok(frame)),
                Some(Err(error)) => Some(Err(error)),
                None => None,
            };
            if let Some(frame) = frame {
                if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
                    let room = (LONGEST + 1).saturating_sub(self.kept.len());
                    let part = data.get(..room.min(data.len())).unwrap_or_default();
                    self.kept.extend_from_slice(part);
                }
                return Poll::Ready(Some(frame));
            }
            self.ended();
        }
        if let State::Verifying(verifying) = &mut self.state {
            let said = ready!(Pin::new(verifying).poll(context)).unwrap_or_else(|_| broke());
            self.verdict.set(said).ok();
            self.state = State::Done;
        }
        let Some(mut trailers) = self.trailers.take() else {
            return Poll::Ready(None);
        };
        if let Some(said) = self.verdict.get().and_then(|said| header(said)) {
            trailers.insert(VERIFIED, said);
        }
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Done) && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
