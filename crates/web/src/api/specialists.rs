//! Specialists: serving versions by role, and the evidence.

use std::sync::Arc;

use axum::extract::State;
use present::view::specialists as shape;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::Desk;
use super::errors::{unreadable, valid};
use super::frame::{Answer, Asked, List, Part, answer, list as listed, missing};
use crate::problem::Problem;
use index::list::Filter;
use index::rows::{Dispatch, Event};
use upstream::backend;

/// Every role with its versions.
#[utoipa::path(get, path = "/api/specialists", operation_id = "list_specialists", tag = "specialists",
    responses((status = 200, body = Value, description = "As `roleos specialist list --json`.")))]
pub(super) async fn list(State(desk): State<Arc<Desk>>) -> Answer<Value> {
    answer(&desk, |desk| {
        let seen = desk.specialists.see()?;
        let registry = &seen.registry;
        valid(registry)?;
        let roles: Vec<Value> = registry.entries().iter().map(shape::entry).collect();
        let path = desk.specialists.paths().registry.display().to_string();
        Ok(json!({ "registry": path, "trusted": seen.is_trusted, "roles": roles }))
    })
    .await
}

/// One role: quota, halt, probes, field audit, versions.
#[utoipa::path(get, path = "/api/specialists/{role}", operation_id = "get_specialist", tag = "specialists", params(("role" = String, Path)),
    responses((status = 200, body = Value, description = "As a role of `roleos specialist status --json`, with `versions`.")))]
pub(super) async fn one(State(desk): State<Arc<Desk>>, Part(role): Part) -> Answer<Value> {
    answer(&desk, move |desk| status(desk, &role)).await
}

fn status(desk: &Desk, role: &str) -> Result<Value, Problem> {
    let registry = desk.specialists.registry()?;
    valid(&registry)?;
    let entry = registry.entry(role).ok_or_else(|| unknown(role))?;
    let state = desk
        .specialists
        .state()
        .map_err(|error| unreadable(&error))?;
    let settings = desk.specialists.settings();
    let (log, probes) = (desk.specialists.field_log()?, desk.specialists.probes()?);
    let status = shape::Status::of(entry, &state, settings, None, (&log, &probes));
    let mut answer = status.json(settings, backend::warning(&entry.backend_url).as_deref());
    if let (Value::Object(answer), Value::Object(entry)) = (&mut answer, shape::entry(entry)) {
        answer.extend(entry);
    }
    Ok(answer)
}

fn unknown(role: &str) -> Problem {
    missing(
        "unknown_role",
        format!("there is no role `{role}` in the registry"),
    )
    .hint("`GET /api/specialists` lists the roles")
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Events {
    /// `promote`, `halt`, `shadow-probe`, ….
    kind: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    #[param(pattern = "^[^~]*~[0-9]{1,18}$")]
    after: Option<String>,
}

/// What happened to a role: registrations, promotions, halts, probes.
#[utoipa::path(get, path = "/api/specialists/{role}/events", operation_id = "list_specialist_events", tag = "specialists",
    params(("role" = String, Path), Events), responses((status = 200, body = List<Event>)))]
pub(super) async fn events(
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Asked(asked): Asked<Events>,
) -> Answer<List<Event>> {
    let filter = Filter::default()
        .equal("role", Some(&role))
        .equal("kind", asked.kind.as_deref());
    listed(&desk, (asked.limit, asked.after), filter).await
}

/// Which dispatches.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Dispatches {
    /// Who answered: `specialist` or `claude`.
    served_by: Option<String>,
    /// The version that answered or was asked.
    version: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    #[param(pattern = "^[^~]*~[0-9]{1,18}$")]
    after: Option<String>,
}

/// What was asked of a role, and who answered.
#[utoipa::path(get, path = "/api/specialists/{role}/dispatches", operation_id = "list_dispatches", tag = "specialists",
    params(("role" = String, Path), Dispatches), responses((status = 200, body = List<Dispatch>)))]
pub(super) async fn dispatches(
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Asked(asked): Asked<Dispatches>,
) -> Answer<List<Dispatch>> {
    let filter = Filter::default()
        .equal("role", Some(&role))
        .equal("served_by", asked.served_by.as_deref())
        .equal("version", asked.version.as_deref());
    listed(&desk, (asked.limit, asked.after), filter).await
}
