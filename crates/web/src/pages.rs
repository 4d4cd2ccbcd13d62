//! The pages: the content of the API for people. Rendered on the server, readable without a script, on a phone and on a
//! wide screen.
//!
//! Reading order: [`router`], `frame` (common parts of every page), then one file per section. Pages read and change
//! data through the same calls as the API; only a logged-in person sees forms that make changes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::api::Desk;
use crate::problem::Problem;

mod assets;
mod attention;
mod calls;
mod catalog;
mod chart;
mod csv;
mod docs;
mod exams;
mod frame;
mod glossary;
mod history;
mod ledger;
mod listing;
mod login;
mod outcomes;
mod oversight;
mod overview;
mod proofs;
mod runs;
mod search;
mod sessions;
mod settings;
#[cfg(feature = "oidc")]
mod sign_in;
mod specialists;
mod tasks;
mod traffic;
mod when;

/// Returns the router of all pages.
pub fn router(desk: Arc<Desk>) -> Router {
    let pages = Router::new();
    #[cfg(feature = "oidc")]
    let pages = pages
        .route("/login/oidc", get(sign_in::begin))
        .route("/login/callback", get(sign_in::callback));
    pages
        .route("/", get(overview::page))
        .route("/curve.svg", get(overview::curve))
        .route("/tasks", get(tasks::list))
        .route("/tasks/compare", get(tasks::compare))
        .route("/tasks/{task}", get(tasks::replay))
        .route("/specialists", get(specialists::list))
        .route(
            "/specialists/{role}",
            get(specialists::one).post(specialists::act),
        )
        .route("/search", get(search::page))
        .route("/sessions", get(sessions::list))
        .route("/sessions/{id}", get(sessions::one))
        .route("/exams", get(exams::list))
        .route("/exams/{*id}", get(exams::one))
        .route("/traffic", get(traffic::page))
        .route("/ledger", get(ledger::page).post(ledger::check))
        .route("/settings", get(settings::page))
        .route("/keys", get(settings::keys))
        .route("/help", get(glossary::page))
        .route("/help/{topic}", get(docs::page))
        .route("/history", get(history::page))
        .route("/runs", get(runs::list))
        .route("/runs/{run_id}", get(runs::one))
        .route("/prove", get(proofs::list))
        .route("/prove/{run}", get(proofs::one))
        .route("/oversight", get(oversight::page))
        .route("/oversight/approve/{id}", post(oversight::approve))
        .route("/oversight/dismiss/{id}", post(oversight::dismiss))
        .route("/oversight/grant", post(oversight::grant))
        .route("/oversight/revoke", post(oversight::revoke))
        .route("/catalog", get(catalog::list))
        .route("/catalog/roles/{slug}", get(catalog::role))
        .route("/catalog/import", post(catalog::import))
        .route("/catalog/update", post(catalog::update))
        .route("/login", get(login::form).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/assets/page.css", get(assets::page))
        .route("/assets/replay.css", get(assets::replay))
        .route("/assets/page.js", get(assets::script))
        .with_state(desk)
}

/// Returns `true` if the client accepts a page, as browsers do.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|kind| kind.trim_start().starts_with("text/html"))
}

/// Redirects a browser without a token to the login, and from there back; `None` for other clients.
pub fn to_login(request: &Parts) -> Option<Response> {
    let reads = matches!(request.method, Method::GET | Method::HEAD);
    if !reads || !is_wanted(&request.headers) {
        return None;
    }
    let next = request
        .uri
        .path_and_query()
        .map_or("/", PathAndQuery::as_str);
    let next = utf8_percent_encode(next, NON_ALPHANUMERIC);
    Some(Redirect::to(&format!("/login?next={next}")).into_response())
}

/// Returns the page for an unknown address.
pub async fn missing(desk: &Arc<Desk>, request: Request, problem: &Problem) -> Response {
    let (mut parts, _) = request.into_parts();
    let Ok(visit) = frame::Visit::from_request_parts(&mut parts, desk).await;
    visit.wrong("", problem)
}
