//! The pages: what the API says, for people. Rendered here, readable without a script, on a phone and on a wide screen.
//!
//! Reading order: [`router`], `frame` (what every page shares), then one file a room. A page reads what the API reads and
//! changes what the API changes, by the same calls; only a logged-in person sees forms that change something.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::api::Desk;

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
        .route("/assets/live.js", get(assets::live))
        .with_state(desk)
}
