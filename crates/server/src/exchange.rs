//! One JSON body to an address and what came back, under one limit of time and one of bytes.
//!
//! HTTP/1.1, connections are kept and used again, redirects are answers like any other, nothing is retried here, and no
//! proxy of the environment is used.

use std::time::{Duration, Instant, SystemTime};

use host::clock;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url, retry};
use specialist::contract::Wire;

use crate::catalog_remote::error::reason;

/// How we name ourselves.
const USER_AGENT: &str = concat!("roleos/", env!("CARGO_PKG_VERSION"));

/// What is sent where.
#[derive(Debug)]
pub(crate) struct Post<'a> {
    pub(crate) url: &'a str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) time: Duration,
    pub(crate) limit: usize,
}

/// What came back, how long it took, and how long the server asks us to wait.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) wire: Wire,
    pub(crate) elapsed: Duration,
    pub(crate) retry_after: Option<Duration>,
}

/// A client; one for plain http reads no certificate store.
pub(crate) fn client(https: bool) -> Result<Client, String> {
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .referer(false)
        .retry(retry::never())
        .no_proxy()
        .http1_only();
    let builder = if https {
        builder
    } else {
        builder.tls_certs_only([])
    };
    builder.build().map_err(|error| reason(&error))
}

/// An address that may be asked.
pub(crate) fn address(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() => Ok(parsed),
        other => Err(format!("its scheme `{other}` is neither http nor https")),
    }
}

/// `Authorization: Bearer …`, which no log shows.
pub(crate) fn bearer(token: &str) -> Option<(HeaderName, HeaderValue)> {
    secret(AUTHORIZATION, &format!("Bearer {token}"))
}

/// A header that no log shows; `None` when it cannot be one.
pub(crate) fn secret(name: HeaderName, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// Sends and waits to the last byte.
pub(crate) async fn post(client: &Client, post: Post<'_>) -> Received {
    let started = Instant::now();
    let time = post.time;
    let mut retry_after = None;
    let exchange = async {
        let request = client
            .post(post.url)
            .headers(post.headers)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(post.body);
        match request.send().await {
            Err(error) if error.is_timeout() => Wire::Timeout,
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

fn wanted_pause(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(clock::now_ns());
    // One that has passed asks for no pause.
    Some(until.duration_since(now).unwrap_or_default())
}

/// The body, which is never longer than the limit. Once there is a status, trouble is reported with it.
async fn receive(mut response: Response, limit: usize, deadline: tokio::time::Instant) -> Wire {
    let status = response.status().as_u16();
    let broken = |why: String| Wire::Broken { status, why };
    let too_long = || broken(format!("the answer has more than {limit} bytes"));
    if response
        .content_length()
        .is_some_and(|length| length > limit as u64)
    {
        return too_long();
    }
    let mut body = Vec::new();
    loop {
        match tokio::time::timeout_at(deadline, response.chunk()).await {
            Err(_) => return broken("the answer did not end within the time limit".to_owned()),
            Ok(Err(error)) => return broken(reason(&error)),
            Ok(Ok(None)) => return Wire::Answer { status, body },
            Ok(Ok(Some(chunk))) if chunk.len() > limit.saturating_sub(body.len()) => {
                return too_long();
            }
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
        }
    }
}
