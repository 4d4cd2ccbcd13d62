//! Logging in and out.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use evidence::archive::people::Role;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Desk;
use super::errors::unfit;
use super::frame::{Answer, Given, sender};
use crate::login::waits::Client;
use crate::login::{Denied, MAX_NAME, Person};
use crate::problem::Problem;

/// The code, and whose it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    /// What the terminal of `roleos up` shows, its code file holds, or `roleos login-code` prints.
    code: String,
    /// Who acts, for the logs [default: the user that runs `roleos up`].
    #[schema(min_length = 1, max_length = 100)]
    operator: Option<String>,
}

/// Who is logged in.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Operator {
    /// Who acts.
    operator: String,
    /// `viewer`, `operator` or `admin`; of a token also `agent`.
    role: &'static str,
    /// When it ends; none when nobody asked for a new one.
    expires: Option<String>,
}

/// Exchanges the one-time code for a cookie.
#[utoipa::path(post, path = "/api/login", tag = "operator", request_body = Login,
    responses((status = 200, body = Operator, description = "The cookie is in `Set-Cookie`.")))]
pub(super) async fn log_in(
    State(desk): State<Arc<Desk>>,
    client: Client,
    Given(login): Given<Login>,
) -> Result<Response, Problem> {
    let operator = match login.operator {
        Some(name) => checked_name(name)?,
        None => base::environment::user().unwrap_or_else(|| "(unknown)".to_owned()),
    };
    let granted = desk
        .logins
        .log_in(client, &login.code, &operator, base::clock::now_ns())
        .map_err(denied)?;
    let session = Operator {
        operator,
        role: Role::Admin.name(),
        expires: Some(base::clock::text(granted.expires_ns)),
    };
    let mut response = Json(session).into_response();
    let cookie = desk.logins.set_cookie(&granted.cookie);
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Checks that a name fits on one line of a log, and that it is not in a form that is not typed.
pub(crate) fn checked_name(name: String) -> Result<String, Problem> {
    let fits = !name.trim().is_empty()
        && name.chars().count() <= MAX_NAME
        && !name.chars().any(char::is_control);
    if !fits {
        let message =
            format!("`operator` must be a name of 1 to {MAX_NAME} characters on one line");
        return Err(unfit("bad_operator", message));
    }
    // Names in these forms are given to tokens and to people that a provider vouches for.
    if name.contains('(') || name.split_whitespace().any(|word| word == "token") {
        let message = "`operator` must have no `(` and no word `token`: such names are not typed";
        return Err(unfit("bad_operator", message));
    }
    Ok(name)
}

/// Returns the problem of a refused login.
pub(crate) fn denied(denied: Denied) -> Problem {
    match denied {
        Denied::Wrong { left: None } => wrong(""),
        Denied::Wrong { left: Some(0) } => wrong("; that was the last try for now"),
        Denied::Wrong { left: Some(left) } => wrong(&format!("; {left} more tries")),
        Denied::Paused { seconds } => Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "login_paused",
            format!("there were too many wrong codes from your address; wait {seconds} s"),
        ),
        Denied::Closed => Problem::new(
            StatusCode::FORBIDDEN,
            "login_closed",
            "login is closed: `roleos up` runs below a coding agent",
        )
        .hint("start it in a terminal of your own, or as a service"),
    }
}

fn wrong(left: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "wrong_code", "that is not the code").hint(format!(
        "the newest one is on the terminal of `roleos up`, in its code file, or told by `roleos login-code`{left}"
    ))
}

/// Ends the login.
#[utoipa::path(post, path = "/api/logout", tag = "operator", responses((status = 204, description = "Logged out.")))]
pub(super) async fn log_out(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    logged_in(&desk, &headers)?;
    desk.logins.log_out(&headers);
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(cookie) = HeaderValue::from_str(&desk.logins.clear_cookie()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Who is logged in, also without the right to act.
fn logged_in(desk: &Desk, headers: &HeaderMap) -> Result<Person, Problem> {
    sender(desk, headers).ok_or_else(|| {
        let message = "nobody is logged in";
        Problem::new(StatusCode::UNAUTHORIZED, "login_needed", message)
            .hint("`POST /api/login` with the code of `roleos up`")
    })
}

/// Who is logged in.
#[utoipa::path(get, path = "/api/session", operation_id = "get_login", tag = "operator", responses((status = 200, body = Operator)))]
pub(super) async fn session(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Answer<Operator> {
    let person = logged_in(&desk, &headers)?;
    Ok(Json(Operator {
        operator: person.name,
        role: person.role.name(),
        expires: None,
    }))
}
