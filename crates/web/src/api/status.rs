//! Identity and progress of this process.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use base::approval_key::Place;
use serde::Serialize;
use utoipa::ToSchema;

use super::Desk;
use super::frame::{Answer, answer};

/// What this process is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Status {
    /// Version of the program.
    version: &'static str,
    /// Folder of the workspace.
    root: String,
    /// How far the view is.
    view: ViewStatus,
    /// Who is logged in by this request's cookie.
    operator: Option<String>,
    /// What an approval needs: `same user`, `passphrase` or `system`; none when the key cannot be read.
    approval_level: Option<&'static str>,
}

/// How far the view is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ViewStatus {
    /// The logs were read to their end.
    complete: bool,
    /// Bundles that were read in this round.
    done: u64,
    /// Bundles that are to be read in this round.
    total: u64,
}

/// What this process is, how far its view is, and who is asking.
#[utoipa::path(get, path = "/api/status", operation_id = "get_status", tag = "process", responses((status = 200, body = Status)))]
pub(super) async fn status(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Answer<Status> {
    answer(&desk, move |desk| {
        let (complete, progress) = desk.progress();
        let level = Place::of(&desk.workspace).level().ok();
        Ok(Status {
            version: env!("CARGO_PKG_VERSION"),
            root: desk.workspace.root().display().to_string(),
            view: ViewStatus {
                complete,
                done: progress.done,
                total: progress.total,
            },
            operator: desk.logins.operator(&headers, base::clock::now_ns()),
            approval_level: level.map(base::approval_key::Level::as_str),
        })
    })
    .await
}
