//! Style and script, compiled in.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::IntoResponse;
use present::show::replay_html::{PALETTE, STYLE};

const PAGE: &str = include_str!("../../templates/pages/page.css");
const SCRIPT: &str = include_str!("../../templates/pages/page.js");

fn asset(kind: &'static str, text: String) -> impl IntoResponse {
    (
        [
            (CONTENT_TYPE, kind),
            (CACHE_CONTROL, "no-cache"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        text,
    )
}

pub(super) async fn page() -> impl IntoResponse {
    asset("text/css; charset=utf-8", format!("{PALETTE}{PAGE}"))
}

/// Serves the style of a standalone replay, limited to the part of a page that shows one.
pub(super) async fn replay() -> impl IntoResponse {
    let style = STYLE.replace("main >", "&.replay >");
    asset(
        "text/css; charset=utf-8",
        format!(".replay {{\n{style}\n}}\n"),
    )
}

pub(super) async fn script() -> impl IntoResponse {
    asset("text/javascript; charset=utf-8", SCRIPT.to_owned())
}
