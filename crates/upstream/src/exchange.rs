//! Sends one JSON body to an address and receives the answer, with limits of time and bytes.
//!
//! HTTP/1.1, connections are kept and reused, redirects are ordinary answers, nothing is retried here, and no proxy of
//! the environment is used.

use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime};

use base::clock;
use bytes::Bytes;
use flate2::write::GzDecoder;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, Request, Response};
use specialist::contract::Wire;

use crate::catalog_remote::error::reason;
use crate::connections::Connections;
use crate::web_address::WebAddress;

/// Our `User-Agent`.
const OUR_NAME: &str = concat!("roleos/", env!("CARGO_PKG_VERSION"));

/// Client for requests with complete bodies.
pub type Client = Connections<Full<Bytes>>;

/// A request.
#[derive(Debug)]
pub struct Post<'a> {
    pub address: &'a WebAddress,
    pub headers: HeaderMap,
    pub body: String,
    pub time: Duration,
    pub limit: usize,
}

/// The result, its duration, and the server's requested pause.
#[derive(Debug)]
pub struct Received {
    pub wire: Wire,
    pub elapsed: Duration,
    pub retry_after: Option<Duration>,
}

/// Creates a client; one for plain http reads no certificate store.
pub fn client(https: bool) -> Result<Client, String> {
    if https {
        Client::secure(None)
    } else {
        Ok(Client::plain(None))
    }
}

/// Creates a request with the common headers.
pub fn request(
    method: Method,
    address: &WebAddress,
    headers: HeaderMap,
    body: String,
) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::new(Full::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = address.uri().ok_or("its address is not valid")?;
    let own = request.headers_mut();
    *own = headers;
    own.insert(USER_AGENT, HeaderValue::from_static(OUR_NAME));
    own.insert(ACCEPT, HeaderValue::from_static("*/*"));
    own.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(value) = address.authorization() {
        own.entry(AUTHORIZATION).or_insert(value);
    }
    Ok(request)
}

/// Returns `Authorization: Bearer …`, hidden from logs.
pub fn bearer(token: &str) -> Option<(HeaderName, HeaderValue)> {
    secret(AUTHORIZATION, &format!("Bearer {token}"))
}

/// Returns a header that is hidden from logs; `None` if the value is invalid.
pub fn secret(name: HeaderName, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// Sends a request and waits for the last byte of the answer.
pub async fn post(client: &Client, post: Post<'_>) -> Received {
    let started = Instant::now();
    let time = post.time;
    let mut retry_after = None;
    let exchange = async {
        let mut headers = post.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = match request(Method::POST, post.address, headers, post.body) {
            Ok(request) => request,
            Err(why) => return Wire::Failed(why),
        };
        match client.send(request).await {
            Err(error) => Wire::Failed(reason(&error)),
            Ok(response) => {
                retry_after = wanted_pause(&response);
                receive(response, post.limit, deadline(started, time)).await
            }
        }
    };
    let wire = tokio::time::timeout(time, exchange).await;
    Received {
        wire: wire.unwrap_or(Wire::Timeout),
        elapsed: started.elapsed(),
        retry_after,
    }
}

fn deadline(started: Instant, time: Duration) -> tokio::time::Instant {
    tokio::time::Instant::from_std(started) + time
}

fn wanted_pause(response: &Response<Incoming>) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(clock::now_ns());
    // A time in the past requests no pause.
    Some(until.duration_since(now).unwrap_or_default())
}

/// Reads the body, which never exceeds the limit. Errors after the head include the status.
async fn receive(
    response: Response<Incoming>,
    limit: usize,
    deadline: tokio::time::Instant,
) -> Wire {
    let status = response.status().as_u16();
    let broken = |why: String| Wire::Broken { status, why };
    match tokio::time::timeout_at(deadline, body(response, limit)).await {
        Err(_) => broken("the answer did not end within the time limit".to_owned()),
        Ok(Ok(body)) => Wire::Answer { status, body },
        Ok(Err(BodyError::TooLong)) => broken(format!("the answer has more than {limit} bytes")),
        Ok(Err(BodyError::Encoding(why) | BodyError::Interrupted(why))) => broken(why),
    }
}

/// Error of reading a body.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It exceeds the limit.
    TooLong,
    /// Its encoding is invalid, or was not requested.
    Encoding(String),
    /// The connection broke.
    Interrupted(String),
}

/// Reads a body to its end and decodes it while it arrives. The limit counts decoded bytes; a declared length of a
/// plain body is used if it is too large.
pub async fn body(response: Response<Incoming>, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut decoder = Decoder::of(response.headers(), limit)?;
    let mut body = response.into_body();
    let declared = body.size_hint().exact();
    if matches!(decoder, Decoder::Plain(_)) && declared.is_some_and(|long| long > limit as u64) {
        return Err(BodyError::TooLong);
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BodyError::Interrupted(reason(&error)))?;
        if let Ok(chunk) = frame.into_data() {
            decoder.write(&chunk)?;
        }
    }
    decoder.finish()
}

/// Decoded bytes, up to a limit.
struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Decoder {
    Plain(Limited),
    Gzip(GzDecoder<Limited>),
}

impl Decoder {
    fn of(headers: &HeaderMap, limit: usize) -> Result<Self, BodyError> {
        let out = Limited {
            bytes: Vec::new(),
            limit,
        };
        let mut named = headers.get_all(CONTENT_ENCODING).into_iter();
        let is = |value: &HeaderValue, name: &str| {
            value.as_bytes().eq_ignore_ascii_case(name.as_bytes())
        };
        match (named.next(), named.next()) {
            (None, None) => Ok(Self::Plain(out)),
            (Some(one), None) if is(one, "identity") => Ok(Self::Plain(out)),
            (Some(one), None) if is(one, "gzip") || is(one, "x-gzip") => {
                Ok(Self::Gzip(GzDecoder::new(out)))
            }
            _ => Err(BodyError::Encoding(
                "it has an encoding that was not asked for".to_owned(),
            )),
        }
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        let written = match self {
            Self::Plain(out) => out.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk),
        };
        written.map_err(|error| broken(&error))
    }

    fn finish(self) -> Result<Vec<u8>, BodyError> {
        let out = match self {
            Self::Plain(out) => out,
            Self::Gzip(decoder) => decoder.finish().map_err(|error| broken(&error))?,
        };
        Ok(out.bytes)
    }
}

fn broken(error: &io::Error) -> BodyError {
    if error.kind() == io::ErrorKind::FileTooLarge {
        BodyError::TooLong
    } else {
        BodyError::Encoding(reason(error))
    }
}
