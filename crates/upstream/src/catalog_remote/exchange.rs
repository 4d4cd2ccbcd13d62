//! One request and its answer over HTTP, with all limits.
//!
//! Does not access files. Status, length and encoding determine a valid answer, never its content.
//!
//! - HTTP/1.1 over TCP or TLS. Trust comes from the system's certificate store.
//! - Redirects are an error, cookies are not kept, nothing is retried.
//! - Proxies of the environment are not used: the user names one address, and Role OS reads no other variables.
//! - gzip is requested and decoded while it arrives. The limit counts decoded bytes; a declared length of a plain body
//!   is used if it is too large, never if it is small.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LAST_MODIFIED,
};
use hyper::{Method, Request, Response, StatusCode};

use super::cache::Validators;
use super::error::{Situation, reason};
use super::source::{Address, Source};
use crate::exchange::{self, BodyError, Client};

/// Longest validator that is stored and sent back; real ones have some dozen bytes.
const MAX_VALIDATOR: usize = 1024;

/// A valid answer.
#[derive(Debug)]
pub(super) enum Answer {
    File {
        bytes: Vec<u8>,
        validators: Validators,
        /// Set if the whole file arrived and the server permits storing it.
        may_keep: bool,
    },
    /// The copy is still current.
    NotModified,
}

/// Creates a client for this source only.
pub(super) fn client(source: &Source) -> Result<Client, Situation> {
    exchange::client(source.is_https()).map_err(|reason| Situation::NoTls { reason })
}

/// Requests a file, conditionally if `known` is given. The time limit covers the last byte of the body.
pub(super) async fn ask(
    client: &Client,
    address: &Address,
    known: Option<&Validators>,
    time: Duration,
    limit: usize,
) -> Result<Answer, Situation> {
    let exchange = async {
        let request = request(address, known)?;
        let response = client
            .send(request)
            .await
            .map_err(|error| Situation::Unreachable {
                host: address.host.clone(),
                reason: reason(&error),
            })?;
        receive(response, address, known, limit).await
    };
    tokio::time::timeout(time, exchange)
        .await
        .unwrap_or_else(|_| {
            Err(Situation::Timeout {
                host: address.host.clone(),
                limit: time,
            })
        })
}

fn request(
    address: &Address,
    known: Option<&Validators>,
) -> Result<Request<Full<Bytes>>, Situation> {
    let mut headers = HeaderMap::new();
    let known = known.into_iter().flat_map(|known| {
        [
            (IF_NONE_MATCH, &known.etag),
            (IF_MODIFIED_SINCE, &known.last_modified),
        ]
    });
    for (name, value) in known {
        // A received header value can be sent as one.
        if let Some(value) = value.as_ref().and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.insert(name, value);
        }
    }
    exchange::request(Method::GET, &address.url, headers, String::new()).map_err(|reason| {
        Situation::Unreachable {
            host: address.host.clone(),
            reason,
        }
    })
}

async fn receive(
    response: Response<Incoming>,
    address: &Address,
    known: Option<&Validators>,
    limit: usize,
) -> Result<Answer, Situation> {
    let status = response.status();
    let validators = validators(response.headers());
    if status == StatusCode::NOT_MODIFIED && known.is_some_and(|known| confirms(&validators, known))
    {
        return Ok(Answer::NotModified);
    }
    check_status(status, address)?;
    let may_keep = status == StatusCode::OK && !forbids_keeping(response.headers());
    let bytes = exchange::body(response, limit)
        .await
        .map_err(|error| broken_body(error, address, limit))?;
    Ok(Answer::File {
        bytes,
        validators,
        may_keep,
    })
}

/// Returns `true` if a 304 confirms our version; one with another version confirms nothing.
fn confirms(answered: &Validators, known: &Validators) -> bool {
    match (&answered.etag, &known.etag) {
        (Some(answered), Some(known)) => opaque(answered) == opaque(known),
        _ => known.etag.is_some() || known.last_modified.is_some(),
    }
}

/// Returns the tag without its weakness mark, which is irrelevant for this comparison (RFC 9110, 8.8.3.2).
fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}

fn check_status(status: StatusCode, address: &Address) -> Result<(), Situation> {
    let host = address.host.clone();
    if status.is_success() {
        Ok(())
    } else if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
        Err(Situation::Redirect { host })
    } else {
        Err(Situation::Status {
            host,
            status: status.as_u16(),
        })
    }
}

fn forbids_keeping(headers: &HeaderMap) -> bool {
    headers.get_all(CACHE_CONTROL).into_iter().any(|value| {
        let value = value.to_str().unwrap_or_default();
        value
            .split(',')
            .any(|directive| directive.trim().eq_ignore_ascii_case("no-store"))
    })
}

/// Returns the validators that can be sent back unchanged.
fn validators(headers: &HeaderMap) -> Validators {
    let short = |name: HeaderName| {
        let value = headers.get(name)?.to_str().ok()?;
        (!value.is_empty() && value.len() <= MAX_VALIDATOR).then(|| value.to_owned())
    };
    Validators {
        etag: short(ETAG),
        last_modified: short(LAST_MODIFIED),
    }
}

fn broken_body(error: BodyError, address: &Address, limit: usize) -> Situation {
    let host = address.host.clone();
    match error {
        BodyError::TooLong => Situation::TooLarge { host, limit },
        BodyError::Encoding(reason) => Situation::BadEncoding { host, reason },
        BodyError::Interrupted(reason) => Situation::Interrupted { host, reason },
    }
}
