//! `GET /v1/models`: the available roles, and the models that upstreams list, in both clients' format.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::roles::installed_roles::Roles;
use axum::body::Body;
use futures_util::future::join_all;
use http_body_util::{BodyExt as _, Limited};
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::receipt::{Entry, shortened};
use super::upstream::Upstream;
use super::{client, roles};
use crate::up::App;
use web::problem::{Shape, json_response};

/// Longest time for an upstream's list of models.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest list that is read.
const LONGEST: usize = 4 * 1024 * 1024;

/// Creation time of a model without one.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";

/// Lists roles and models. An upstream that does not answer is left out.
pub(super) async fn answer(app: Arc<App>, parts: Parts) -> Response<Body> {
    let mut entry = Entry::new(&app, &parts);
    let since = Instant::now();
    let asked = app
        .gateway
        .upstreams
        .iter()
        .map(|upstream| list(&app, upstream, &parts));
    let lists = join_all(asked).await;
    let own = roles::aside(&app, async |app| Ok(known_roles(&app))).await;
    entry.waited(since);
    let mut seen = BTreeSet::new();
    let mut data = Vec::new();
    let named = own.unwrap_or_default().into_iter().map(|(slug, name)| {
        let id = format!("role:{slug}");
        model(&id, Some(&name), "roleos", &Value::Null)
    });
    for model in named.chain(lists.into_iter().flatten()) {
        let id = model.get("id").and_then(Value::as_str).unwrap_or_default();
        if seen.insert(id.to_owned()) {
            data.push(model);
        }
    }
    let id = |model: Option<&Value>| model.and_then(|model| model.get("id")).cloned();
    let list = json!({
        "object": "list",
        "has_more": false,
        "first_id": id(data.first()),
        "last_id": id(data.last()),
        "data": data,
    });
    entry.watch(json_response(StatusCode::OK, list.to_string()))
}

/// Returns the role in `GET /v1/models/role:<slug>`.
pub(super) fn role_in(parts: &Parts) -> Option<String> {
    let model = in_path(parts).filter(|_| parts.method == Method::GET)?;
    model.strip_prefix("role:").map(str::to_owned)
}

/// Returns the model in a path: `/v1/models/<id>`.
pub(super) fn in_path(parts: &Parts) -> Option<String> {
    let name = parts.uri.path().strip_prefix("/v1/models/")?;
    (!name.is_empty()).then(|| decoded(name))
}

/// Decodes a part of a path; invalid text stays unchanged.
fn decoded(part: &str) -> String {
    let decoded = percent_decode_str(part).decode_utf8();
    decoded.map_or_else(|_| part.to_owned(), Cow::into_owned)
}

pub(super) async fn role(app: Arc<App>, parts: Parts, slug: String) -> Response<Body> {
    let mut entry = Entry::new(&app, &parts);
    let wanted = slug.clone();
    let found = roles::aside(&app, async move |app| roles::find(&app, &wanted)).await;
    entry.line.role = Some(shortened(&slug));
    let response = match found {
        Ok(role) => {
            let one = model(
                &format!("role:{slug}"),
                Some(&role.name),
                "roleos",
                &Value::Null,
            );
            json_response(StatusCode::OK, one.to_string())
        }
        Err(problem) => {
            entry.line.route = "refused";
            entry.line.reason = Some(problem.code.to_owned());
            problem.response(Shape::of_path(parts.uri.path()))
        }
    };
    entry.watch(response)
}

/// Returns roles by slug, with their names.
fn known_roles(app: &App) -> Vec<(String, String)> {
    let stored = Roles::new(app.workspace.roles_dir())
        .list()
        .unwrap_or_default();
    let installed: Vec<_> = stored
        .into_iter()
        .filter_map(|stored| stored.role.ok())
        .filter_map(|role| Some((role.source?.slug, role.content.name, role.enabled)))
        .collect();
    // An installed role that is switched off is unavailable, even if the catalog has it.
    let others = roles::all_in_catalog(app);
    let others = others.into_iter().filter(|(slug, _)| {
        let mut installed = installed.iter();
        !installed.any(|(installed, _, _)| installed == slug)
    });
    let mut known: Vec<(String, String)> = others.collect();
    let enabled = installed.into_iter().filter(|(_, _, enabled)| *enabled);
    known.extend(enabled.map(|(slug, name, _)| (slug, name)));
    let registry = app.specialists.registry().ok();
    let entries = registry.iter().flat_map(|registry| registry.entries());
    for entry in entries.filter(|entry| !entry.is_retired()) {
        let is_known = known
            .iter()
            .any(|(slug, name)| *slug == entry.role || *name == entry.role);
        if !is_known {
            known.push((entry.role.clone(), entry.role.clone()));
        }
    }
    known.sort();
    known.dedup_by(|one, other| one.0 == other.0);
    known
}

/// Returns a model that both OpenAI's and Anthropic's clients can read.
fn model(id: &str, name: Option<&str>, owner: &str, told: &Value) -> Value {
    let told = |key: &str| told.get(key).filter(|value| !value.is_null()).cloned();
    json!({
        "id": id,
        "object": "model",
        "type": "model",
        "created": told("created").unwrap_or(json!(0)),
        "created_at": told("created_at").unwrap_or(json!(LONG_AGO)),
        "owned_by": told("owned_by").unwrap_or(json!(owner)),
        "display_name": told("display_name").unwrap_or(json!(name.unwrap_or(id))),
    })
}

async fn list(app: &App, upstream: &Upstream, parts: &Parts) -> Vec<Value> {
    let mut models: Vec<Value> = upstream
        .named_models()
        .map(|name| model(name, None, &upstream.name, &Value::Null))
        .collect();
    let told = tokio::time::timeout(PATIENCE, told(app, upstream, parts)).await;
    let told = told.ok().flatten().unwrap_or_default();
    for one in told
        .get("data")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let id = one.get("id").and_then(Value::as_str);
        if let Some(id) = id.filter(|id| upstream.has(id)) {
            models.push(model(id, None, &upstream.name, one));
        }
    }
    models
}

/// Returns the upstream's answer; `None` without one.
async fn told(app: &App, upstream: &Upstream, parts: &Parts) -> Option<Value> {
    let mut request = client::request(parts, upstream, Body::empty()).ok()?;
    request.headers_mut().remove(ACCEPT_ENCODING);
    request.headers_mut().remove(CONTENT_LENGTH);
    let response = app.gateway.ways.send(upstream, request).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = Limited::new(response.into_body(), LONGEST)
        .collect()
        .await
        .ok()?;
    serde_json::from_slice(&body.to_bytes()).ok()
}
