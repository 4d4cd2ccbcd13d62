//! The pages: what the API says, for people. Rendered here, readable without a script, on a phone and on a wide screen.
//!
//! Reading order: [`router`], `frame` (what every page shares), then one file a room. A page reads what the API reads and
//! changes what the API changes, by the same calls; only a logged-in person sees forms that change something.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::Response;
use axum::routing::{get, post};

use crate::api::Desk;
use crate::problem::Problem;

mod assets;
mod attention;
mod catalog;
mod frame;
mod login;
mod outcomes;
mod oversight;
mod overview;
mod runs;
mod specialists;
mod tasks;

/// Every page.
pub fn router(desk: Arc<Desk>) -> Router {
    Router::new()
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
        .route("/runs", get(runs::list))
        .route("/runs/{run_id}", get(runs::one))
        .route("/oversight", get(oversight::page))
        .route("/oversight/approve/{id}", post(oversight::approve))
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
        .route("/assets/live.js", get(assets::live))
        .with_state(desk)
}

/// Returns `true` if the client asks for a page, as browsers do.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|kind| kind.trim_start().starts_with("text/html"))
}

/// The page for an address that has none.
pub(crate) async fn missing(desk: &Arc<Desk>, request: Request, problem: &Problem) -> Response {
    let (mut parts, _) = request.into_parts();
    let Ok(visit) = frame::Visit::from_request_parts(&mut parts, desk).await;
    visit.wrong("", problem)
}
