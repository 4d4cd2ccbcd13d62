//! Forwards requests: the model is looked up in the body, the body is sent unchanged to its upstream, and the answer is
//! returned.
//!
//! A list of models is tried in order. Requests for a role go to [`super::roles`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::BoxError;
use axum::body::Body;
use base::config::gateway::Protocol;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, LengthLimitError, Limited, StreamBody};
use hyper::body::Body as HttpBody;
use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, TRAILER,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};

use super::client::SlowBody;
use super::held::Held;
use super::packed::unpacked;
use super::receipt::{Entry, Tried, shortened};
use super::scan::{Edits, Scanned, scan};
use super::upstream::Upstream;
use super::{client, models, origin, protocol, roles};
use crate::up::App;
use web::linger::linger;
use web::problem::{Problem, Shape};

/// Paths whose bodies name a model.
const WITH_MODEL: [&str; 6] = [
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/completions",
    "/v1/embeddings",
];

/// Largest body that is forwarded unread, such as a file.
const MAX_UPLOAD: usize = 512 * 1024 * 1024;

/// Verdict of the verifier, as a header of a whole answer or a trailer of a stream.
pub(super) const VERIFIED: &str = "x-roleos-verified";

/// Reason of a request's route.
const REASON: HeaderName = HeaderName::from_static("x-roleos-reason");

/// Prefix of a role as a model name.
const ROLE: &str = "role:";

/// A request with its body.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) parts: Parts,
    /// The readable body.
    pub(super) body: Bytes,
    /// The original body, if it was compressed.
    packed: Option<Bytes>,
    pub(super) scanned: Scanned,
    pub(super) protocol: Option<Protocol>,
}

/// Handles the request.
pub(super) async fn answer(app: Arc<App>, parts: Parts, body: Body) -> Response<Body> {
    let mut entry = Entry::new(&app, &parts);
    let shape = shape(&parts);
    let answered = match origin::check_use(&parts) {
        Err(problem) => Err(problem),
        Ok(()) if names_a_model(&parts) => with_model(&app, parts, body, &mut entry).await,
        Ok(()) => without_model(&app, &parts, body, &mut entry).await,
    };
    let response = answered.unwrap_or_else(|mut problem| {
        // If there is one, the gate's reason for the general model is the cause.
        let cause = entry.line.reason.replace(problem.code.to_owned());
        if entry.line.upstream.is_none() {
            entry.line.route = "refused";
        }
        if let Some(cause) = &cause {
            let said = format!("; no adapter answered: {cause}");
            problem.message.push_str(&said);
        }
        let reason = header(cause.as_deref().unwrap_or(problem.code));
        let mut response = receipt_headers(problem.response(shape), &entry);
        if let Some(reason) = reason {
            response.headers_mut().insert(REASON, reason);
        }
        response
    });
    entry.watch(response)
}

/// Returns the format of errors that the client expects.
fn shape(parts: &Parts) -> Shape {
    match protocol(parts) {
        Some(Protocol::Anthropic) => Shape::Anthropic,
        Some(Protocol::OpenAi) => Shape::OpenAi,
        None => Shape::of_path(parts.uri.path()),
    }
}

fn names_a_model(parts: &Parts) -> bool {
    let is_json = parts.headers.get(CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind.as_bytes();
        kind.get(..16)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"application/json"))
    });
    let is_packed = parts.headers.contains_key(CONTENT_ENCODING);
    parts.method == Method::POST && (has_model(parts.uri.path()) || is_json && !is_packed)
}

/// Returns `true` if the body of this call names a model.
pub(super) fn has_model(path: &str) -> bool {
    WITH_MODEL.contains(&path)
}

async fn without_model(
    app: &Arc<App>,
    parts: &Parts,
    body: Body,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    if length(parts).is_some_and(|length| length > MAX_UPLOAD as u64) {
        linger(&parts.headers, body);
        return Err(too_large(MAX_UPLOAD));
    }
    entry.line.request_bytes = length(parts).unwrap_or(0);
    let named = models::in_path(parts).and_then(|model| {
        let upstream = app.gateway.upstream(Some(&model), protocol(parts))?;
        entry.line.model = Some(shortened(&model));
        Some(upstream)
    });
    let upstream = named.or_else(|| app.gateway.upstream(None, protocol(parts)));
    let upstream = upstream.ok_or_else(|| {
        let message = format!("there is nothing at `{}`", shortened(parts.uri.path()));
        Problem::new(StatusCode::NOT_FOUND, "not_found", message)
            .hint("no `[[gateway.upstream]]` is set that could be asked")
    })?;
    // A long upload may take its time; a stalled one blocks a connection of the upstream.
    let pause = app.config.gateway.body_timeout();
    let body = match body.is_end_stream() {
        true => body,
        false => Body::new(Limited::new(with_pauses(body, pause), MAX_UPLOAD)),
    };
    forward(app, parts, upstream, body, entry).await
}

/// Ends a body with an error after `pause` without data.
fn with_pauses(
    body: Body,
    pause: Duration,
) -> impl HttpBody<Data = Bytes, Error = BoxError> + Send + 'static {
    StreamBody::new(Box::pin(stream::unfold(body, move |mut body| async move {
        let frame = match tokio::time::timeout(pause, body.frame()).await {
            Ok(frame) => frame?.map_err(BoxError::from),
            Err(_) => Err(SlowBody.into()),
        };
        Some((frame, body))
    })))
}

async fn with_model(
    app: &Arc<App>,
    parts: Parts,
    body: Body,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let came = read(app, &parts, body, entry).await?;
    entry.line.request_bytes = came.len() as u64;
    let (body, packed) = match plain(app, &parts, &came).await {
        Some(plain) => (plain, Some(came)),
        None => (came, None),
    };
    let is_sealed = packed.is_none() && parts.headers.contains_key(CONTENT_ENCODING);
    let scanned = match scan(&body) {
        Ok(scanned) => scanned,
        Err(place) if has_model(parts.uri.path()) && !is_sealed => {
            let message = format!(
                "the body is no JSON object: it breaks off at byte {}",
                place.0
            );
            return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_json", message));
        }
        // Any other body is for the upstream to judge.
        Err(_) => Scanned::default(),
    };
    let protocol = protocol(&parts);
    let whole = Whole {
        parts,
        body,
        packed,
        scanned,
        protocol,
    };
    let model = whole.scanned.model(&whole.body);
    entry.line.model = model.as_deref().map(shortened);
    let models = whole.scanned.models(&whole.body);
    // For other calls, a list of this name is for the upstream.
    if let Some(models) = models.filter(|_| has_model(whole.parts.uri.path())) {
        return one_of(app, &whole, model, models, entry).await;
    }
    if let Some(slug) = model.as_deref().and_then(|model| model.strip_prefix(ROLE)) {
        return roles::asked(app, &whole, slug, None, entry).await;
    }
    let mut playing = None;
    if let Some(role) = roles::of_agent(app, &whole) {
        match roles::for_agent(app, &whole, &role, entry).await {
            roles::ForAgent::Answered(answer) => return Ok(answer),
            roles::ForAgent::GoesOn(role) => playing = role,
        }
    }
    let upstream = upstream(app, model.as_deref(), &whole)?;
    let body = whole.packed.as_ref().unwrap_or(&whole.body);
    let body = Body::from(body.clone());
    let answered = forward(app, &whole.parts, upstream, body, entry).await;
    match entry.line.role {
        Some(_) => roles::note_agent(app, &whole, playing, answered?, entry).await,
        None => answered,
    }
}

/// Decompresses a body to read it; `None` if it is not compressed, or in an unknown way.
async fn plain(app: &App, parts: &Parts, body: &Bytes) -> Option<Bytes> {
    let encoding = parts.headers.get(CONTENT_ENCODING)?.to_str().ok()?;
    let encoding = encoding.trim().to_ascii_lowercase();
    let (body, most) = (body.clone(), app.config.gateway.max_body_bytes());
    let plain = tokio::task::spawn_blocking(move || unpacked(Some(&encoding), &body, most));
    plain.await.ok()?.ok().map(Bytes::from)
}

fn upstream<'a>(app: &'a App, model: Option<&str>, whole: &Whole) -> Result<&'a Upstream, Problem> {
    app.gateway.upstream(model, whole.protocol).ok_or_else(|| {
        let message = match model {
            Some(model) => format!("no upstream is set for the model `{}`", shortened(model)),
            None => "the body names no model, and no upstream is set".to_owned(),
        };
        Problem::new(StatusCode::NOT_FOUND, "model_not_found", message)
            .hint("`[[gateway.upstream]]` in `.role-os/config.toml` says where models lie; `GET /v1/models` lists them")
    })
}

/// Tries models in order until one answers. The answers of all are in the receipt.
async fn one_of(
    app: &Arc<App>,
    whole: &Whole,
    model: Option<String>,
    models: Vec<String>,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let mut wanted: Vec<String> = Vec::new();
    for model in model.into_iter().chain(models) {
        if !wanted.contains(&model) {
            wanted.push(model);
        }
    }
    let mut last = Err(Problem::new(
        StatusCode::BAD_REQUEST,
        "no_model",
        "the list `models` is empty",
    ));
    for (place, model) in wanted.iter().enumerate() {
        let is_last = place + 1 == wanted.len();
        // Receipt fields of the previous model do not apply to this one.
        entry.anew();
        last = match model.strip_prefix(ROLE) {
            Some(slug) => roles::asked(app, whole, slug, Some(is_last), entry).await,
            None => listed(app, whole, model, entry).await,
        };
        let why = match &last {
            Ok(response) if !passes(response.status()) => return marked(last, place, model, entry),
            Ok(response) => format!("http_{}", response.status().as_u16()),
            Err(problem) => problem.code.to_owned(),
        };
        if !is_last {
            let model = shortened(model);
            entry.line.tried.push(Tried { model, why });
        }
    }
    let place = wanted.len().saturating_sub(1);
    let model = wanted.last().map_or("", String::as_str);
    marked(last, place, model, entry)
}

/// Returns `true` if another model may succeed.
fn passes(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 404 | 408 | 429)
}

/// Marks an answer from a list of models with its model.
fn marked(
    answer: Result<Response<Body>, Problem>,
    place: usize,
    model: &str,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    if entry.line.role.is_none() {
        entry.line.served = Some(shortened(model));
        if place > 0 {
            entry.line.route = "fallback";
            entry.line.reason = Some("models".to_owned());
        }
    }
    answer.map(|response| receipt_headers(response, entry))
}

async fn listed(
    app: &Arc<App>,
    whole: &Whole,
    model: &str,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let upstream = upstream(app, Some(model), whole)?;
    if whole
        .protocol
        .is_some_and(|protocol| protocol != upstream.kind)
    {
        let message = format!(
            "the model `{}` lies at an upstream that speaks another API; a request is not translated",
            shortened(model)
        );
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "other_protocol",
            message,
        ));
    }
    let mut edits = Edits::new(&whole.body, &whole.scanned);
    edits.model(model);
    edits.drop_models();
    forward_edited(app, whole, upstream, edits, entry).await
}

/// Forwards a changed body.
pub(super) async fn forward_edited(
    app: &Arc<App>,
    whole: &Whole,
    upstream: &Upstream,
    edits: Edits<'_>,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    let mut parts = whole.parts.clone();
    // The client sent the length of another body, and may have compressed it.
    parts.headers.remove(CONTENT_LENGTH);
    if whole.packed.is_some() {
        parts.headers.remove(CONTENT_ENCODING);
    }
    forward(app, &parts, upstream, Body::from(edits.done()), entry).await
}

/// Forwards a request and returns its answer.
pub(super) async fn forward(
    app: &Arc<App>,
    parts: &Parts,
    upstream: &Upstream,
    body: Body,
    entry: &mut Entry,
) -> Result<Response<Body>, Problem> {
    entry.line.upstream = Some(upstream.name.clone());
    let request = client::request(parts, upstream, body)?;
    let since = Instant::now();
    let sent = app.gateway.ways.send(upstream, request).await;
    entry.waited(since);
    let (mut head, body) = sent?.into_parts();
    if head.status.is_informational() {
        let message = format!(
            "the upstream `{}` wants another protocol, which is not passed on",
            upstream.name
        );
        let (status, code) = (StatusCode::BAD_GATEWAY, "upstream_failed");
        return Err(Problem::new(status, code, message));
    }
    client::end_hop(&mut head.headers);
    origin::disarm(&mut head.headers);
    if !client::takes_trailers(&parts.headers) {
        head.headers.remove(TRAILER);
    }
    head.version = Version::HTTP_11;
    Ok(Response::from_parts(head, Body::new(body)))
}

fn length(parts: &Parts) -> Option<u64> {
    parts
        .headers
        .get(CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn too_large(most: usize) -> Problem {
    let message = format!("the body has more than {most} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
        .hint("`max_body_mib` under `[gateway]` sets the limit")
}

fn no_memory() -> Problem {
    let message = "the bodies of other requests take all memory that is set aside for them";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "bodies_full", message)
        .hint("try again; `max_bodies_mib` under `[gateway]` sets the limit")
}

/// Reads the whole body, with limits of size and time.
pub(super) async fn read(
    app: &App,
    parts: &Parts,
    body: Body,
    entry: &mut Entry,
) -> Result<Bytes, Problem> {
    let set = &app.config.gateway;
    let most = set.max_body_bytes();
    let mut body = body;
    if length(parts).is_some_and(|length| length > most as u64) {
        linger(&parts.headers, body);
        return Err(too_large(most));
    }
    let since = Instant::now();
    let Some(mut held) = Held::new(app, length(parts)) else {
        linger(&parts.headers, body);
        return Err(no_memory());
    };
    let mut limited = Limited::new(&mut body, most);
    let whole = held.fill(&mut limited);
    let read = tokio::time::timeout(set.body_timeout(), whole).await;
    entry.waited(since);
    match read {
        Ok(Ok(true)) => Ok(Bytes::from_owner(held)),
        Ok(Ok(false)) => {
            linger(&parts.headers, body);
            Err(no_memory())
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            linger(&parts.headers, body);
            Err(too_large(most))
        }
        Ok(Err(_)) => {
            let message = "the body did not arrive as it was announced";
            Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "broken_body",
                message,
            ))
        }
        Err(_) => {
            let seconds = set.body_timeout().as_secs();
            let message = format!("the body did not arrive within {seconds} seconds");
            Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "slow_body",
                message,
            ))
        }
    }
}

pub(super) fn receipt_headers(mut response: Response<Body>, entry: &Entry) -> Response<Body> {
    let line = &entry.line;
    let mut add = |name: &'static str, value: Option<&str>| {
        if let Some(value) = value.and_then(header) {
            response.headers_mut().insert(name, value);
        }
    };
    add("x-roleos-route", Some(line.route));
    add("x-roleos-reason", line.reason.as_deref());
    add("x-roleos-trace", Some(&line.trace));
    add("x-roleos-model", line.served.as_deref());
    add("x-roleos-crossed", line.crossed.as_deref());
    add("x-roleos-left-out", line.left_out.as_deref());
    add("x-roleos-usage", line.usage);
    // For a stream it is not known yet.
    let verified = line.verified.as_deref().filter(|_| entry.verdict.is_none());
    add(VERIFIED, verified);
    response
}

/// Converts any text to a header value; invalid bytes are percent-encoded.
pub(super) fn header(text: &str) -> Option<HeaderValue> {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => safe.push(char::from(byte)),
            _ => safe.push_str(&format!("%{byte:02X}")),
        }
    }
    HeaderValue::from_str(&safe).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_second_header() {
        let value = header("a\r\nset-cookie: x=é%").unwrap();
        assert_eq!(value.as_bytes(), b"a%0D%0Aset-cookie: x=%C3%A9%25");
    }
}
