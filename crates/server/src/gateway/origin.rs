//! Keeps an upstream out of the operator's origin: its answers are data for programs, never a document of this address.
//!
//! The pages and the operator's cookie live at the same address as the gateway. An answer that a browser treats as a
//! page, a script or a cookie of this address could act as the operator.

use hyper::header::{
    ALT_SVC, CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY_REPORT_ONLY, HeaderMap, HeaderName,
    HeaderValue, LINK, REFRESH, SET_COOKIE, STRICT_TRANSPORT_SECURITY, TRAILER,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use percent_encoding::percent_decode_str;

use web::problem::Problem;

/// Prefix of the paths that are forwarded.
const PASSED: &str = "/v1";

/// Policy for an answer that is not a page: a browser that shows it runs and loads nothing, and gives it a separate
/// origin.
const INERT: &str = "sandbox; default-src 'none'; frame-ancestors 'none'";

/// Headers that change a browser's treatment of the whole origin.
const ON_ORIGIN: [HeaderName; 19] = [
    SET_COOKIE,
    LINK,
    STRICT_TRANSPORT_SECURITY,
    REFRESH,
    ALT_SVC,
    CONTENT_SECURITY_POLICY,
    CONTENT_SECURITY_POLICY_REPORT_ONLY,
    HeaderName::from_static("set-cookie2"),
    HeaderName::from_static("clear-site-data"),
    HeaderName::from_static("service-worker-allowed"),
    HeaderName::from_static("report-to"),
    HeaderName::from_static("reporting-endpoints"),
    HeaderName::from_static("nel"),
    HeaderName::from_static("accept-ch"),
    HeaderName::from_static("critical-ch"),
    HeaderName::from_static("origin-agent-cluster"),
    HeaderName::from_static("permissions-policy"),
    HeaderName::from_static("sourcemap"),
    HeaderName::from_static("speculation-rules"),
];

/// Prefixes of such headers; only this process sends `x-roleos-`.
const ON_ORIGIN_FROM: [&str; 4] = ["access-control-", "cross-origin-", "sec-", "x-roleos-"];

/// Returns `true` if requests for `path` may be forwarded to an upstream.
///
/// A path with `.` or `..` means another path for a server that resolves them, and is not forwarded.
pub(crate) fn is_passed(path: &str) -> bool {
    let is_below = path
        .strip_prefix(PASSED)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_below && !has_dots(path)
}

/// Returns `true` if a path contains dot segments. Upstreams may decode more than once, and accept a backslash as a
/// slash.
fn has_dots(path: &str) -> bool {
    if !path.contains(['.', '%']) {
        return false;
    }
    let mut path = path.to_owned();
    for _ in 0..3 {
        if path
            .split(['/', '\\'])
            .any(|part| matches!(part, "." | ".."))
        {
            return true;
        }
        path = percent_decode_str(&path).decode_utf8_lossy().into_owned();
    }
    false
}

/// Accepts only requests for data.
pub(super) fn check_use(parts: &Parts) -> Result<(), Problem> {
    let value = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
    let is_data = matches!(value("sec-fetch-dest"), None | Some(b"empty"));
    if is_data && value("sec-fetch-mode") != Some(b"navigate") {
        return Ok(());
    }
    let message = "an upstream's answer is not shown as a page or loaded as a script";
    Err(Problem::new(StatusCode::FORBIDDEN, "not_a_page", message)
        .hint("paths below `/v1` are for programs; send the request with an API client or `curl`"))
}

/// Removes the headers of an upstream's answer that would affect this origin or imitate ours.
pub(super) fn disarm(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| acts(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    disarm_trailers(headers);
}

/// Removes such trailers: a trailer is sent only if the header `Trailer` names it.
fn disarm_trailers(headers: &mut HeaderMap) {
    let listed: Vec<_> = headers.get_all(TRAILER).iter().cloned().collect();
    headers.remove(TRAILER);
    for value in listed {
        let names = value.to_str().unwrap_or_default().split(',');
        let kept: Vec<&str> = names
            .filter(|name| matches!(name.trim().parse(), Ok(name) if !acts(&name)))
            .collect();
        if let Ok(value) = HeaderValue::from_str(kept.join(",").trim())
            && !value.is_empty()
        {
            headers.append(TRAILER, value);
        }
    }
}

fn acts(name: &HeaderName) -> bool {
    let from = |start: &&str| name.as_str().starts_with(start);
    ON_ORIGIN.contains(name) || ON_ORIGIN_FROM.iter().any(from)
}

/// Makes an answer inert for a browser, unless it is a page with its own policy.
pub(crate) fn inert<T>(mut response: Response<T>) -> Response<T> {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(INERT));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    #[test]
    fn only_plain_paths_below_v1_are_passed_on() {
        for path in ["/v1", "/v1/", "/v1/x", "/v1//x", "/v1/a.b/..c", "/v1/%41"] {
            assert!(is_passed(path), "{path}");
        }
        for path in [
            "",
            "/",
            "/docs",
            "/V1/x",
            "/v1x",
            "/v1beta/models",
            "//v1/x",
            "/%76%31/x",
            "/v1/../docs",
            "/v1/..",
            "/v1/./x",
            "/v1/%2e%2e/docs",
            "/v1/%2E./docs",
            "/v1/..%2fdocs",
            "/v1/%252e%252e/docs",
            "/v1/..\\docs",
            "/v1/x%5c..%5cdocs",
        ] {
            assert!(!is_passed(path), "{path}");
        }
    }

    #[test]
    fn a_browser_may_only_fetch_data() {
        let code = |headers: &[(&str, &str)]| {
            let mut request = Request::builder().uri("/v1/x");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            check_use(&parts).map_or_else(|problem| problem.code, |()| "ok")
        };
        assert_eq!(code(&[]), "ok");
        assert_eq!(code(&[("sec-fetch-mode", "cors")]), "ok");
        let fetch = [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
        assert_eq!(code(&fetch), "ok");
        assert_eq!(code(&[("sec-fetch-mode", "navigate")]), "not_a_page");
        for dest in [
            "document",
            "iframe",
            "frame",
            "embed",
            "object",
            "fencedframe",
            "script",
            "serviceworker",
            "sharedworker",
            "worker",
            "style",
            "image",
            "manifest",
            "xslt",
            "",
        ] {
            assert_eq!(code(&[("sec-fetch-dest", dest)]), "not_a_page", "{dest}");
        }
    }

    #[test]
    fn trailers_in_our_name_are_not_announced() {
        let mut headers = HeaderMap::new();
        for value in ["x-sum, X-RoleOS-Verified,set-cookie", "x-roleos-route"] {
            headers.append(TRAILER, HeaderValue::from_static(value));
        }
        disarm(&mut headers);
        let left: Vec<_> = headers.get_all(TRAILER).iter().collect();
        assert_eq!(left, ["x-sum"]);
    }
}
