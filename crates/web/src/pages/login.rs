//! The login's page.

use std::net::IpAddr;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::{HOST, SET_COOKIE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::frame::{Filled, Frame, Visit, html};
use crate::api::{Desk, checked_name, denied};
use crate::login::waits::Client;
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "pages/login.html")]
struct Page {
    frame: Frame,
    next: String,
    name: String,
    problem: Option<String>,
    /// The provider that people can log in with.
    provider: Option<String>,
}

/// Returns the name of the provider that people can log in with.
fn provider(desk: &Desk) -> Option<String> {
    let sign_in = desk.logins.sign_in()?;
    Some(sign_in.host().to_owned())
}

/// Target after the login.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    pub(super) next: String,
}

/// Longest address to which a login leads back.
const MAX_NEXT: usize = 2048;

/// A place of ours; anything else leads to the overview.
pub(super) fn local(next: &str) -> String {
    let is_ours = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains(['\\', '\r', '\n'])
        && next.len() <= MAX_NEXT
        && next.is_ascii();
    if is_ours { next } else { "/" }.to_owned()
}

pub(super) async fn form(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    client: Client,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Response {
    // The user's name is only shown on this machine. A proxy on this machine serves other clients, by another host
    // name.
    let name = if client.is_here() && names_this_machine(&headers) {
        base::environment::user()
    } else {
        None
    };
    html(&Page {
        frame: visit.into_stranger().frame("", "Log in"),
        next: local(&asked.next),
        name: name.unwrap_or_default(),
        problem: None,
        provider: provider(&desk),
    })
}

fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(authority) = host.and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let bare = authority.host().trim_matches(['[', ']']);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

#[derive(Deserialize)]
pub(super) struct Typed {
    code: String,
    #[serde(default)]
    operator: String,
    #[serde(default)]
    next: String,
}

pub(super) async fn log_in(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    client: Client,
    Filled(typed): Filled<Typed>,
) -> Response {
    let next = local(&typed.next);
    let granted = operator(typed.operator.clone()).and_then(|operator| {
        let now = base::clock::now_ns();
        let granted = desk.logins.log_in(client, &typed.code, &operator, now);
        granted.map_err(denied)
    });
    match granted {
        Ok(granted) => {
            let mut response = Redirect::to(&next).into_response();
            if let Ok(mut cookie) = HeaderValue::from_str(&desk.logins.set_cookie(&granted.cookie))
            {
                cookie.set_sensitive(true);
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        Err(problem) => {
            let words = match &problem.hint {
                Some(hint) => format!("{}: {hint}", problem.message),
                None => problem.message.clone(),
            };
            let mut response = html(&Page {
                frame: visit.into_stranger().frame("", "Log in"),
                next,
                name: typed.operator,
                problem: Some(words),
                provider: provider(&desk),
            });
            *response.status_mut() = problem.status;
            response
        }
    }
}

fn operator(name: String) -> Result<String, Problem> {
    if name.is_empty() {
        return Ok(base::environment::user().unwrap_or_else(|| "(unknown)".to_owned()));
    }
    checked_name(name)
}

pub(super) async fn log_out(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Response {
    // A user whose login has ended meanwhile wants the same.
    desk.logins.log_out(&headers);
    let mut response = Redirect::to("/").into_response();
    if let Ok(cookie) = HeaderValue::from_str(&desk.logins.clear_cookie()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_places_come_after_a_login() {
        for (next, place) in [
            ("/tasks?outcome=failed", "/tasks?outcome=failed"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/a\r\nset-cookie: b", "/"),
            ("", "/"),
        ] {
            assert_eq!(local(next), place, "{next:?}");
        }
    }
}
