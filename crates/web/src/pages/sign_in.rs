//! The way to an OpenID Connect provider and back.
//!
//! The session's cookie is `SameSite=Strict`, so that a browser would not send it with a redirect that begins at the
//! provider: the answer is a page of ours that goes on by itself.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::{HOST, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use base::clock;
use evidence::archive::people::Act;
use serde::Deserialize;

use super::frame::{Frame, Visit, html};
use super::login::{Asked, local};
use crate::api::{Desk, not_found, waiting};
use crate::login::sign_in::{Answer, CALLBACK, Found, PATIENCE_SECONDS, SignIn};
use crate::login::{LoggedIn, Person, cookies};
use crate::problem::Problem;
use crate::workspaces::Workspaces;

/// The cookie that binds a login to the browser that began it. It comes along when the provider leads back.
const NAME: &str = "roleos_login";

#[derive(Template)]
#[template(path = "pages/welcome.html")]
struct Welcome {
    frame: Frame,
    name: String,
    role: &'static str,
    next: String,
}

/// Sends the browser to the provider.
pub(super) async fn begin(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Response {
    let base = desk.workspaces.get().map_or("", Workspaces::base);
    let next = format!("{base}{}", local(&asked.next));
    let begun = match provider(&desk) {
        Ok(sign_in) => sign_in.begin(&own_address(&desk, &headers), next).await,
        Err(problem) => Err(problem),
    };
    match begun {
        Ok((to, state)) => {
            let mut response = Redirect::to(&to).into_response();
            keep(&desk, &mut response, &state, PATIENCE_SECONDS);
            response
        }
        Err(problem) => visit.into_stranger().wrong("", &problem),
    }
}

/// What the provider says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    state: String,
    code: String,
    iss: Option<String>,
    error: Option<String>,
    error_description: String,
}

/// Takes the provider's answer.
pub(super) async fn callback(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    headers: HeaderMap,
    Query(said): Query<Said>,
) -> Response {
    let visit = visit.into_stranger();
    let mut response = match finish(&desk, &headers, said).await {
        Ok((granted, person, next)) => {
            let mut response = html(&Welcome {
                frame: visit.frame("", "Logged in"),
                role: person.role.name(),
                name: person.name,
                next,
            });
            append(&mut response, &desk.logins.set_cookie(&granted.cookie));
            response
        }
        Err(problem) => visit.wrong("", &problem),
    };
    keep(&desk, &mut response, "", 0);
    response
}

async fn finish(
    desk: &Arc<Desk>,
    headers: &HeaderMap,
    said: Said,
) -> Result<(LoggedIn, Person, String), Problem> {
    let sign_in = provider(desk)?;
    let error = said.error;
    let answer = Answer {
        state: said.state,
        code: said.code,
        issuer: said.iss,
        error: error.map(|error| format!("{error} {}", said.error_description)),
    };
    let found = sign_in.finish(answer, cookies(headers, NAME)).await?;
    let Found { name, subject, .. } = &found;
    let (what, role, why) = match &found.person {
        Some(person) => ("login", person.role.name(), "a role of the provider"),
        None => ("login.refuse", "no role", "no role of the provider"),
    };
    let subject = format!("{role}, sub {subject} of {}", sign_in.issuer());
    let act = Act::now(name, what, &subject, why);
    waiting(desk, move |desk| Ok(desk.gate.archive().note(&act)?)).await?;
    let no_role = || sign_in.no_role(&found);
    let person = found.person.clone().ok_or_else(no_role)?;
    let granted = desk.logins.admit(person.clone(), clock::now_ns());
    let granted = granted.ok_or_else(|| {
        let message = "this machine has no random numbers";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", message)
    })?;
    Ok((granted, person, found.next))
}

fn provider(desk: &Desk) -> Result<&SignIn, Problem> {
    desk.logins.sign_in().ok_or_else(|| {
        not_found("no_provider", "no provider is set")
            .hint("`[oidc]` names one; `/login` takes the code of `roleos up`")
    })
}

/// The address that the browser asked, whose name was checked before.
fn own_address(desk: &Desk, headers: &HeaderMap) -> String {
    let scheme = if desk.logins.is_over_tls() {
        "https"
    } else {
        "http"
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    format!("{scheme}://{}", host.unwrap_or_default())
}

/// Lets the browser keep a state, or forget it.
fn keep(desk: &Desk, response: &mut Response, state: &str, seconds: u64) {
    let secure = if desk.logins.is_over_tls() {
        "; Secure"
    } else {
        ""
    };
    append(
        response,
        &format!(
            "{NAME}={state}; Path={CALLBACK}; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}"
        ),
    );
}

fn append(response: &mut Response, cookie: &str) {
    if let Ok(mut cookie) = HeaderValue::from_str(cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}
