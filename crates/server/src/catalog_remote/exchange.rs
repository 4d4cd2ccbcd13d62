//! One question and its answer over HTTP, under all limits.
//!
//! Knows nothing of files on disk. Decides by status, length and encoding whether there is an answer, never by content.
//!
//! - HTTP/1.1 over TCP or TLS. Trust comes from the system's certificate store.
//! - Redirects are an error, cookies are not kept, nothing is retried.
//! - Proxies of the environment are not used: the person names one address, and Role OS reads no variables beyond its own.
//! - gzip, br and deflate are asked for and decoded while they arrive. The limit counts decoded bytes; a length that the
//!   server declares for a plain body is believed when it is too large, never when it is small.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use reqwest::header::{
    CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LAST_MODIFIED,
};
use reqwest::{Client, Request, Response, StatusCode};

use super::cache::Validators;
use super::error::{Situation, reason};
use super::source::{Address, Source};

/// Longest validator that is kept and sent back; real ones have some dozen bytes.
const MAX_VALIDATOR: usize = 1024;

/// What came back.
#[derive(Debug)]
pub(super) enum Answer {
    /// The file.
    File {
        bytes: Vec<u8>,
        validators: Validators,
        /// Whether the whole file came and the server lets us keep it.
        may_keep: bool,
    },
    /// The copy that we asked about is still right.
    NotModified,
}

/// A client for this source and no other.
pub(super) fn client(source: &Source) -> Result<Client, Situation> {
    crate::exchange::client(source.is_https()).map_err(|reason| Situation::NoTls { reason })
}

/// Asks for a file, with `known` to be spared what has not changed. The time counts to the last byte of the body.
pub(super) async fn ask(
    client: &Client,
    address: &Address,
    known: Option<&Validators>,
    time: Duration,
    limit: usize,
) -> Result<Answer, Situation> {
    let exchange = async {
        let request = request(client, address, known)?;
        let response = client
            .execute(request)
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
    client: &Client,
    address: &Address,
    known: Option<&Validators>,
) -> Result<Request, Situation> {
    let mut request = client.get(address.url.clone());
    if let Some(etag) = known.and_then(|known| known.etag.as_ref()) {
        request = request.header(IF_NONE_MATCH, etag);
    }
    if let Some(time) = known.and_then(|known| known.last_modified.as_ref()) {
        request = request.header(IF_MODIFIED_SINCE, time);
    }
    request.build().map_err(|error| Situation::Unreachable {
        host: address.host.clone(),
        reason: reason(&error),
    })
}

async fn receive(
    response: Response,
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
    check_encoding(response.headers(), address)?;
    let may_keep = status == StatusCode::OK && !forbids_keeping(response.headers());
    let bytes = body(response, address, limit).await?;
    Ok(Answer::File {
        bytes,
        validators,
        may_keep,
    })
}

/// A 304 that names another version than the one we asked about confirms nothing.
fn confirms(answered: &Validators, known: &Validators) -> bool {
    match (&answered.etag, &known.etag) {
        (Some(answered), Some(known)) => opaque(answered) == opaque(known),
        _ => known.etag.is_some() || known.last_modified.is_some(),
    }
}

/// The tag without its mark of weakness, which does not count for this question (RFC 9110, 8.8.3.2).
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

/// The client takes the header away with the encoding; what is left is an encoding that it does not know.
fn check_encoding(headers: &HeaderMap, address: &Address) -> Result<(), Situation> {
    let mut left = headers.get_all(CONTENT_ENCODING).into_iter();
    if left.all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    Err(Situation::BadEncoding {
        host: address.host.clone(),
        reason: "it has an encoding that was not asked for".to_owned(),
    })
}

fn forbids_keeping(headers: &HeaderMap) -> bool {
    headers.get_all(CACHE_CONTROL).into_iter().any(|value| {
        let value = value.to_str().unwrap_or_default();
        value
            .split(',')
            .any(|directive| directive.trim().eq_ignore_ascii_case("no-store"))
    })
}

/// The validators that can be sent back as they came.
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

async fn body(
    mut response: Response,
    address: &Address,
    limit: usize,
) -> Result<Vec<u8>, Situation> {
    let too_large = || Situation::TooLarge {
        host: address.host.clone(),
        limit,
    };
    if response
        .content_length()
        .is_some_and(|length| length > limit as u64)
    {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| broken_body(&error, address))?
    {
        if chunk.len() > limit.saturating_sub(bytes.len()) {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// A decoder's complaint comes as a bare I/O error, one about the connection inside an error of the HTTP library.
fn broken_body(error: &reqwest::Error, address: &Address) -> Situation {
    let host = address.host.clone();
    let reason = reason(error);
    if error
        .source()
        .is_some_and(|source| source.is::<io::Error>())
    {
        Situation::BadEncoding { host, reason }
    } else {
        Situation::Interrupted { host, reason }
    }
}
