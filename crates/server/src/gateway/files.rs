//! `/catalog/…`: the unchanged files of the workspace's catalog, for other installations of Role OS.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use catalog::contents;
use catalog::source::{INDEX, NOTE};
use catalog::strict::is_safe;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::{Response, StatusCode};
use roles::catalog::Directory;

use crate::up::App;
use web::problem::{Problem, Shape};

/// Serves `/catalog/index.yaml`.
pub(crate) async fn index(State(app): State<Arc<App>>, headers: HeaderMap) -> Response<Body> {
    file(app, INDEX.to_owned(), &headers).await
}

/// Serves `/catalog/index.yaml.note`.
pub(crate) async fn note(State(app): State<Arc<App>>, headers: HeaderMap) -> Response<Body> {
    file(app, NOTE.to_owned(), &headers).await
}

/// Serves `/catalog/bundles/<id>/<lang>.yaml`.
pub(crate) async fn bundle(
    State(app): State<Arc<App>>,
    Path((id, file_name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response<Body> {
    let language = file_name.strip_suffix(".yaml").unwrap_or_default();
    // The path is checked before it is built.
    if !is_safe(&id) || !is_safe(language) {
        return missing();
    }
    file(app, contents::path(&id, language), &headers).await
}

fn missing() -> Response<Body> {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "there is no such file in the catalog",
    )
    .hint("the catalog is the folder `catalog/` of the workspace")
    .response(Shape::Own)
}

async fn file(app: Arc<App>, path: String, headers: &HeaderMap) -> Response<Body> {
    let root = app.workspace.root().join("catalog");
    let read = tokio::task::spawn_blocking(move || {
        let Ok(directory) = Directory::open(&root) else {
            return Ok(None);
        };
        directory.raw(&path)
    });
    let bytes = match read.await {
        Ok(Ok(Some(bytes))) => bytes,
        Ok(Err(why)) => {
            let message = format!("this file is not handed out: {why}");
            return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable", message)
                .response(Shape::Own);
        }
        _ => return missing(),
    };
    let tag = format!("\"{}\"", hex::encode(base::digest(&bytes)));
    let known = headers.get_all(IF_NONE_MATCH).iter().any(|known| {
        let known = known.to_str().unwrap_or_default();
        known
            .split(',')
            .any(|one| one.trim().trim_start_matches("W/") == tag)
    });
    let mut response = Response::new(if known {
        Body::empty()
    } else {
        Body::from(bytes)
    });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}
