//! Access to this process: the right `Host`, no cross-origin page, and a token if other machines can reach us.
//!
//! A browser on this machine reaches a loopback address for every page that it shows. A page whose name was made to
//! point here (DNS rebinding) sends its own name as `Host`; a page of another origin sends `Origin` or
//! `Sec-Fetch-Site`. Programs send none of these, so they are not affected.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, StatusCode};
use subtle::ConstantTimeEq as _;

pub use upstream::shipper::TOKEN;

use web::problem::Problem;

/// Error code for a request without a valid token.
pub(crate) const BAD_TOKEN: &str = "bad_token";

const SEC_FETCH_SITE: &str = "sec-fetch-site";
const SEC_FETCH_MODE: &str = "sec-fetch-mode";

/// Returns `true` if a request is logged in, which counts as the token.
type LoggedIn = Box<dyn Fn(&HeaderMap) -> bool + Send + Sync>;

/// Returns `true` if an API token permits a request; `None` if the request has no valid token.
type LetsThrough = Box<dyn Fn(&Parts) -> Option<bool> + Send + Sync>;

/// Checks before any other processing of a request.
pub struct Guard {
    /// Set if only this machine can reach us.
    loopback: bool,
    hosts: Vec<String>,
    token: Option<Vec<u8>>,
    logged_in: OnceLock<LoggedIn>,
    lets_through: OnceLock<LetsThrough>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("loopback", &self.loopback)
            .field("hosts", &self.hosts)
            .field("token", &self.token.as_ref().map(|_| "***"))
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// Creates the guard of a process that listens at `listen`. If other machines can reach it, a token is required.
    #[must_use]
    pub fn new(listen: SocketAddr, hosts: &[String], token: Option<Vec<u8>>) -> Self {
        Self {
            loopback: listen.ip().is_loopback(),
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            token: token.filter(|token| !token.is_empty()),
            logged_in: OnceLock::new(),
            lets_through: OnceLock::new(),
        }
    }

    /// Accepts a login in place of the token. The first caller decides.
    pub fn accept_login(&self, logged_in: impl Fn(&HeaderMap) -> bool + Send + Sync + 'static) {
        self.logged_in.set(Box::new(logged_in)).ok();
    }

    /// Accepts API tokens according to their role. The first caller decides.
    pub fn accept_tokens(&self, lets: impl Fn(&Parts) -> Option<bool> + Send + Sync + 'static) {
        self.lets_through.set(Box::new(lets)).ok();
    }

    /// Accepts a request, or returns the problem.
    pub fn check(&self, request: &Parts) -> Result<(), Problem> {
        let host = self.host(request)?;
        same_origin(request, host)?;
        if needs_no_token(request) {
            return Ok(());
        }
        // Checked first, so that a token of a lower role has no more rights on this machine than elsewhere.
        match self.lets_through.get().and_then(|lets| lets(request)) {
            Some(true) => Ok(()),
            Some(false) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "role_too_low",
                "your role does not allow this request",
            )),
            None => self.token(&request.headers),
        }
    }

    fn host<'a>(&self, request: &'a Parts) -> Result<&'a str, Problem> {
        let bad = |message: &str| {
            Problem::new(StatusCode::BAD_REQUEST, "bad_host", message)
                .hint("send the request to the address that `roleos up` printed")
        };
        let mut hosts = request.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(bad("a request needs exactly one `Host` header"));
        };
        let host = host
            .to_str()
            .map_err(|_| bad("the `Host` header is no text"))?;
        let authority: Authority = host
            .parse()
            .map_err(|_| bad("the `Host` header is no address"))?;
        let other_target = request
            .uri
            .authority()
            .is_some_and(|target| !target.as_str().eq_ignore_ascii_case(host));
        if other_target || host.contains('@') || request.method == Method::CONNECT {
            return Err(bad("this is no forward proxy"));
        }
        if self.is_own(authority.host()) {
            return Ok(host);
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            format!("this process is not called `{}`", authority.host()),
        )
        .hint("a name of your own is allowed by `hosts` under `[gateway]`"))
    }

    fn is_own(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return address.is_loopback() || !self.loopback;
        }
        let plain = host.trim_end_matches('.');
        plain == "localhost" || self.hosts.iter().any(|own| own == plain)
    }

    fn token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(wanted) = &self.token else {
            if self.loopback {
                return Ok(());
            }
            // `roleos up` does not reach this without a token; if it ever does, all requests are refused.
            return Err(refused("no token is set, so nobody may ask"));
        };
        if self
            .logged_in
            .get()
            .is_some_and(|logged_in| logged_in(headers))
        {
            return Ok(());
        }
        let given = headers.get(TOKEN).map(HeaderValue::as_bytes);
        match given {
            Some(given) if given.ct_eq(wanted).into() => Ok(()),
            Some(_) => Err(refused("the token in `x-roleos-token` is wrong")),
            None => Err(refused("the header `x-roleos-token` is missing")),
        }
    }
}

/// A probe must not need a secret, and learns nothing. A browser cannot send the token before it has logged in, and
/// the login asks for a secret of its own: the code, with few guesses, or what a provider says of the person.
fn needs_no_token(request: &Parts) -> bool {
    let path = request.uri.path();
    match request.method {
        Method::GET | Method::HEAD => {
            let is_open = matches!(path, "/healthz" | "/readyz" | "/login");
            let is_sign_in = matches!(path, "/login/oidc" | "/login/callback");
            is_open || is_sign_in || path.starts_with("/assets/")
        }
        Method::POST => path == "/login",
        _ => false,
    }
}

fn refused(message: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, BAD_TOKEN, message)
        .hint("the token's place is printed when `roleos up` starts; a person logs in at `/login`")
}

/// Checks the origin: a page of another origin may link to ours, and nothing else.
fn same_origin(request: &Parts, host: &str) -> Result<(), Problem> {
    let foreign = |what: &str| {
        Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            format!("a page of another origin may not ask here ({what})"),
        )
    };
    for origin in request.headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let same = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .is_some_and(|origin| origin.eq_ignore_ascii_case(host));
        if !same {
            return Err(foreign("`Origin`"));
        }
    }
    let value = |name: &str| request.headers.get(name).map(HeaderValue::as_bytes);
    let own = matches!(value(SEC_FETCH_SITE), None | Some(b"same-origin" | b"none"));
    let is_link = request.method == Method::GET
        && value(SEC_FETCH_MODE) == Some(b"navigate")
        && !request.uri.path().starts_with("/v1");
    if own || is_link {
        Ok(())
    } else {
        Err(foreign("`Sec-Fetch-Site`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    const LOCAL: &str = "127.0.0.1:7420";

    fn code(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> &'static str {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        guard
            .check(&parts)
            .map_or_else(|problem| problem.code, |()| "ok")
    }

    fn local(headers: &[(&str, &str)]) -> &'static str {
        let guard = Guard::new(
            LOCAL.parse().unwrap(),
            &["gateway.example".to_owned()],
            None,
        );
        code(&guard, "POST", "/v1/messages", headers)
    }

    #[test]
    fn only_our_own_names_are_answered() {
        for host in [
            LOCAL,
            "localhost:7420",
            "LOCALHOST",
            "[::1]:7420",
            "127.8.8.8",
            "gateway.example",
            "localhost.",
        ] {
            assert_eq!(local(&[("host", host)]), "ok", "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:7420",
            "10.0.0.1",
        ] {
            assert_eq!(local(&[("host", host)]), "foreign_host", "{host}");
        }
        for host in ["", "a b", "u@localhost"] {
            assert_eq!(local(&[("host", host)]), "bad_host", "{host}");
        }
        assert_eq!(local(&[]), "bad_host");
        assert_eq!(local(&[("host", LOCAL), ("host", LOCAL)]), "bad_host");
    }

    #[test]
    fn another_page_may_only_link_here() {
        let with = |name, value| local(&[("host", LOCAL), (name, value)]);
        assert_eq!(with("origin", "http://127.0.0.1:7420"), "ok");
        for origin in [
            "http://evil.example",
            "http://127.0.0.1:7421",
            "null",
            "http://127.0.0.1:7420.evil.example",
            "",
        ] {
            assert_eq!(with("origin", origin), "foreign_origin", "{origin}");
        }
        assert_eq!(with("sec-fetch-site", "same-origin"), "ok");
        assert_eq!(with("sec-fetch-site", "cross-site"), "foreign_origin");
        assert_eq!(with("sec-fetch-site", "same-site"), "foreign_origin");
        let guard = Guard::new(LOCAL.parse().unwrap(), &[], None);
        let link = [
            ("host", LOCAL),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ];
        assert_eq!(code(&guard, "GET", "/runs", &link), "ok");
        assert_eq!(code(&guard, "GET", "/v1/models", &link), "foreign_origin");
        assert_eq!(code(&guard, "POST", "/runs", &link), "foreign_origin");
    }

    #[test]
    fn others_need_the_token() {
        let listen = "0.0.0.0:7420".parse().unwrap();
        let guard = Guard::new(listen, &[], Some(b"secret".to_vec()));
        let host = ("host", "10.0.0.1:7420");
        assert_eq!(code(&guard, "GET", "/v1/models", &[host]), "bad_token");
        for (method, path) in [
            ("GET", "/healthz"),
            ("GET", "/login"),
            ("GET", "/login/oidc"),
            ("GET", "/login/callback"),
            ("POST", "/login"),
            ("GET", "/assets/page.css"),
        ] {
            assert_eq!(code(&guard, method, path, &[host]), "ok", "{path}");
        }
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/tasks"),
            ("POST", "/logout"),
            ("POST", "/api/login"),
            ("DELETE", "/login"),
            ("GET", "/login/x"),
            ("POST", "/login/callback"),
            ("GET", "/assets"),
            ("POST", "/assets/page.css"),
            ("GET", "//login"),
            ("POST", "/oversight/grant"),
        ] {
            assert_eq!(code(&guard, method, path, &[host]), "bad_token", "{path}");
        }
        let foreign = [host, ("origin", "http://evil.example")];
        assert_eq!(code(&guard, "POST", "/login", &foreign), "foreign_origin");
        let with = |token| {
            code(
                &guard,
                "GET",
                "/v1/models",
                &[host, ("x-roleos-token", token)],
            )
        };
        assert_eq!(with("secret"), "ok");
        for wrong in ["", "secre", "secrets", "Secret"] {
            assert_eq!(with(wrong), "bad_token", "{wrong}");
        }
        guard.accept_login(|headers| headers.contains_key("cookie"));
        assert_eq!(
            code(&guard, "GET", "/api/x", &[host, ("cookie", "a")]),
            "ok"
        );
        for none in [None, Some(Vec::new())] {
            let guard = Guard::new(listen, &[], none);
            assert_eq!(
                code(&guard, "GET", "/v1/models", &[host, ("x-roleos-token", "")]),
                "bad_token"
            );
        }
        assert!(!format!("{guard:?}").contains("secret"));
    }
}
