//! Connections to upstreams: kept open, with unchanged headers except hop-by-hop ones.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use axum::body::Body;
use http_body_util::LengthLimitError;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    CONNECTION, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Version};

use super::upstream::Upstream;
use crate::guard::TOKEN;
use upstream::connections::Connections;
use web::login;
use web::problem::Problem;

/// Hop-by-hop headers. `Trailer` is not one: it names the trailers after the body.
const HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Value by which a client announces that it reads trailers.
const TRAILERS: &str = "trailers";

/// Connections to all upstreams.
#[derive(Debug)]
pub(crate) struct Ways {
    connect: Duration,
    plain: Connections<Body>,
    secure: OnceLock<Result<Connections<Body>, String>>,
}

impl Ways {
    pub(crate) fn new(connect: Duration) -> Self {
        Self {
            connect,
            plain: Connections::plain(Some(connect)),
            secure: OnceLock::new(),
        }
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        upstream: &Upstream,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, Problem> {
        let client = if upstream.is_secure() {
            let secure = || Connections::secure(Some(self.connect));
            let client = self.secure.get_or_init(secure);
            client.as_ref().map_err(|why| {
                Problem::new(StatusCode::BAD_GATEWAY, "tls_unavailable", why.clone())
            })?
        } else {
            &self.plain
        };
        client.send(request).await.map_err(|error| {
            // An error in the client's body is not the upstream's fault.
            if let Some(problem) = body_problem(&error) {
                return problem;
            }
            let what = if error.is_connect() {
                "cannot be reached"
            } else {
                "broke off before it answered"
            };
            Problem::new(
                StatusCode::BAD_GATEWAY,
                "upstream_failed",
                format!("the upstream `{}` {what}: {}", upstream.name, root(&error)),
            )
        })
    }
}

/// Returns the innermost cause, which is the clearest for people.
fn root(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Error of a body without data for too long.
#[derive(Debug, thiserror::Error)]
#[error("the body stopped arriving")]
pub(super) struct SlowBody;

/// Returns the problem if a request could not be sent because its body is too long or stopped arriving.
fn body_problem(error: &(dyn Error + 'static)) -> Option<Problem> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            let message = "the body is larger than any that is passed on";
            let (status, code) = (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large");
            return Some(Problem::new(status, code, message));
        }
        if error.is::<SlowBody>() {
            let message = "the body stopped arriving";
            let (status, code) = (StatusCode::REQUEST_TIMEOUT, "slow_body");
            return Some(
                Problem::new(status, code, message)
                    .hint("`body_timeout_seconds` under `[gateway]` says how long a pause may be"),
            );
        }
        cause = error.source();
    }
    None
}

/// Creates the request for an upstream: unchanged except for the host, hop-by-hop headers, and our own headers.
pub(crate) fn request(
    parts: &Parts,
    upstream: &Upstream,
    body: Body,
) -> Result<Request<Body>, Problem> {
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let bad = || {
        let message = "the path cannot be passed on";
        Problem::new(StatusCode::BAD_REQUEST, "bad_path", message)
    };
    // `OPTIONS *` is for this server, not for an upstream.
    let target = Some(target).filter(|target| target.starts_with('/'));
    let uri = upstream.uri(target.ok_or_else(bad)?).map_err(|_| bad())?;
    let mut headers = parts.headers.clone();
    end_hop(&mut headers);
    for name in [HOST, EXPECT, TOKEN] {
        headers.remove(name);
    }
    drop_own_cookie(&mut headers);
    if takes_trailers(&parts.headers) {
        headers.insert(TE, HeaderValue::from_static(TRAILERS));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    // A body that was read as a whole has lost its trailers.
    if body.size_hint().exact().is_some() {
        headers.remove(TRAILER);
    }
    upstream.sign(&mut headers).map_err(|variable| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "missing_key",
            format!(
                "the variable `{variable}` holds no key for the upstream `{}`",
                upstream.name
            ),
        )
        .hint("set it where `roleos up` is started")
    })?;
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = headers;
    // The extensions contain the original spelling of header names.
    *request.extensions_mut() = parts.extensions.clone();
    Ok(request)
}

/// Removes the cookie of a page that is logged in here.
fn drop_own_cookie(headers: &mut HeaderMap) {
    let is_ours = |crumb: &&[u8]| {
        let value = crumb.trim_ascii().strip_prefix(login::NAME.as_bytes());
        value.is_some_and(|value| value.trim_ascii_start().first() == Some(&b'='))
    };
    let crumbs = |value: &HeaderValue| -> Vec<Vec<u8>> {
        let all = value.as_bytes().split(|byte| *byte == b';');
        all.map(<[u8]>::to_vec).collect()
    };
    let values: Vec<_> = headers.get_all(COOKIE).iter().map(crumbs).collect();
    if !values.iter().flatten().any(|crumb| is_ours(&&**crumb)) {
        return;
    }
    headers.remove(COOKIE);
    for mut crumbs in values {
        crumbs.retain(|crumb| !is_ours(&&**crumb));
        let kept = crumbs.join(&b';');
        if let Some(kept) = HeaderValue::from_bytes(kept.trim_ascii())
            .ok()
            .filter(|it| !it.is_empty())
        {
            headers.append(COOKIE, kept);
        }
    }
}

/// Returns `true` if the client reads trailers.
pub(crate) fn takes_trailers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(TE).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case(TRAILERS))
}

/// Removes hop-by-hop headers, and those that `Connection` names.
pub(crate) fn end_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &HOP {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_at_a_hop_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("te", "deflate, Trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("keep-alive", "timeout=5"),
            ("anthropic-beta", "a,b"),
            ("anthropic-beta", "c"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        assert!(takes_trailers(&headers));
        end_hop(&mut headers);
        assert!(!takes_trailers(&headers));
        let left: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        assert_eq!(
            left,
            [
                ("anthropic-beta", b"a,b".as_slice()),
                ("anthropic-beta", b"c")
            ]
        );
    }

    #[test]
    fn our_own_cookie_stays_here() {
        for (cookie, stays) in [
            ("a=b", Some("a=b")),
            ("a=b ;c", Some("a=b ;c")),
            ("a=b; roleos_session=x; c=\"d\"", Some("a=b; c=\"d\"")),
            ("roleos_session=x; a=b", Some("a=b")),
            ("roleos_session = x", None),
            ("roleos_session=x", None),
            (
                "roleos_sessions=x; roleos=y",
                Some("roleos_sessions=x; roleos=y"),
            ),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, HeaderValue::from_static(cookie));
            headers.append(COOKIE, HeaderValue::from_static("z=1"));
            drop_own_cookie(&mut headers);
            let left: Vec<_> = headers.get_all(COOKIE).iter().collect();
            let expected: Vec<_> = stays.into_iter().chain(["z=1"]).collect();
            assert_eq!(left, expected, "{cookie}");
        }
    }
}
