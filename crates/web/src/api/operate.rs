//! Actions of an operator on specialists: register, promote, roll back, halt, clear. Each needs a login and a reason,
//! and leaves a line in the events log.

use std::sync::Arc;

use axum::extract::State;
use present::view::specialists as shape;
use routing::manifests::supply;
use routing::specialists::certify::Sources;
use routing::specialists::{OperateError, Operator, Promotion};
use serde::Deserialize;
use serde_json::{Value, json};
use specialist::registry::DEFAULT_QUOTA;
use utoipa::ToSchema;

use super::Desk;
use super::errors::{conflict, unfit};
use super::frame::{Answer, Given, LoggedIn, Part, answer};
use super::operator::checked_name;
use crate::problem::Problem;

/// Longest reason.
const MAX_REASON: usize = 2000;

/// Who acts and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Who {
    /// Who acts [default: whoever is logged in].
    #[schema(min_length = 1, max_length = 100)]
    operator: Option<String>,
    /// Why; it stays in the log.
    #[schema(min_length = 1, max_length = 2000)]
    reason: String,
}

/// Which version, who acts and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Point {
    /// Id of the version.
    version: String,
    /// Who acts [default: whoever is logged in].
    #[schema(min_length = 1, max_length = 100)]
    operator: Option<String>,
    /// Why; it stays in the log.
    #[schema(min_length = 1, max_length = 2000)]
    reason: String,
}

/// Which version, how, who acts and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Promote {
    /// Id of the version, a beginning of it, or its model's id.
    version: String,
    /// Promote it although the exams do not speak for it.
    force: Option<bool>,
    /// Try it on this share of the inputs first.
    #[schema(minimum = 0.0, maximum = 1.0)]
    share: Option<f64>,
    /// Who acts [default: whoever is logged in].
    #[schema(min_length = 1, max_length = 100)]
    operator: Option<String>,
    /// Why; it stays in the log.
    #[schema(min_length = 1, max_length = 2000)]
    reason: String,
}

/// A version to enter.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Register {
    /// The version, as in its file.
    #[schema(value_type = Object)]
    version: Value,
    /// Where the adapter is served; needed for a new role.
    backend_url: Option<String>,
    /// Largest share of dispatches, for a new role.
    #[schema(minimum = 0.0, maximum = 1.0)]
    workload_quota: Option<f64>,
    /// Who acts [default: whoever is logged in].
    #[schema(min_length = 1, max_length = 100)]
    operator: Option<String>,
    /// Why; it stays in the log.
    #[schema(max_length = 2000)]
    reason: Option<String>,
}

/// Checked name and reason, with the time.
pub(crate) struct Signature {
    name: String,
    reason: String,
    now: String,
}

impl Signature {
    /// Creates one for acts without a required reason.
    fn new(logged_in: String, named: Option<String>, reason: String) -> Result<Self, Problem> {
        if reason.chars().count() > MAX_REASON {
            let message = format!("`reason` has more than {MAX_REASON} characters");
            return Err(unfit("bad_reason", message));
        }
        Ok(Self {
            name: named.map_or(Ok(logged_in), checked_name)?,
            reason,
            now: base::clock::text(base::clock::now_ns() / 1_000_000 * 1_000_000),
        })
    }

    /// Creates one for acts with a required reason.
    pub(crate) fn needed(
        logged_in: String,
        named: Option<String>,
        reason: String,
    ) -> Result<Self, Problem> {
        if reason.trim().is_empty() {
            return Err(unfit("bad_reason", "`reason` must say why"));
        }
        Self::new(logged_in, named, reason)
    }

    /// Converts it for the log.
    pub(crate) fn operator(&self) -> Operator<'_> {
        Operator {
            name: &self.name,
            reason: &self.reason,
            now: &self.now,
        }
    }
}

/// Enters a version; what is active stays.
#[utoipa::path(post, path = "/api/specialists/{role}/register", operation_id = "register_version", tag = "specialists", params(("role" = String, Path)),
    request_body = Register, responses((status = 200, body = Value)))]
pub(super) async fn register(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Given(body): Given<Register>,
) -> Answer<Value> {
    let signature = Signature::new(person, body.operator, body.reason.unwrap_or_default())?;
    answer(&desk, move |desk| {
        let quota = body.workload_quota.unwrap_or(DEFAULT_QUOTA);
        let new_role = body.backend_url.as_deref().map(|url| (url, quota));
        let registered =
            desk.specialists
                .register(&role, body.version, new_role, None, signature.operator())?;
        Ok(shape::registered(&role, &registered, None))
    })
    .await
}

/// Raises the level of a version to what the evidence earns. What it does not earn is in the answer.
#[utoipa::path(post, path = "/api/specialists/{role}/certify", operation_id = "certify_version", tag = "specialists", params(("role" = String, Path)),
    request_body = Point, responses((status = 200, body = Value, description = "As `roleos specialist certify --json`.")))]
pub(super) async fn certify(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Given(body): Given<Point>,
) -> Answer<Value> {
    let signature = Signature::needed(person, body.operator, body.reason)?;
    answer(&desk, move |desk| {
        let metric = routing::metrics::current(&desk.workspace)
            .map_err(|error| conflict("bad_metric", base::said(&error)))?
            .metric;
        let log = routing::runs::path(&desk.workspace);
        let known = routing::runs::metrics(&desk.workspace)?;
        let sources = Sources {
            log: &log,
            metric: &metric,
            known: &known,
            seals: desk.specialists.seals(),
        };
        let (set, version) = (&desk.config.selection, &body.version);
        let check = |written: &Value| supply::check(written, set);
        let dossier = desk.specialists.dossier(&role, version, sources, check)?;
        let evidence = shape::evidence(&dossier, &metric);
        let operator = signature.operator();
        let certified = desk
            .specialists
            .certify(&role, &dossier, &evidence, operator)?;
        Ok(shape::certified(&role, &certified, &dossier, &evidence))
    })
    .await
}

/// Makes a version active.
#[utoipa::path(post, path = "/api/specialists/{role}/promote", operation_id = "promote_version", tag = "specialists", params(("role" = String, Path)),
    request_body = Promote, responses((status = 200, body = Value)))]
pub(super) async fn promote(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Given(body): Given<Promote>,
) -> Answer<Value> {
    let signature = Signature::needed(person, body.operator, body.reason)?;
    answer(&desk, move |desk| {
        let how = Promotion {
            force: body.force.unwrap_or(false),
            share: body.share,
        };
        let operator = signature.operator();
        let moved = desk
            .specialists
            .promote(&role, &body.version, how, operator)?;
        Ok(shape::moved(&role, &moved))
    })
    .await
}

/// Makes an earlier version active again.
#[utoipa::path(post, path = "/api/specialists/{role}/rollback", operation_id = "roll_back_version", tag = "specialists", params(("role" = String, Path)),
    request_body = Point, responses((status = 200, body = Value)))]
pub(super) async fn rollback(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Given(body): Given<Point>,
) -> Answer<Value> {
    let signature = Signature::needed(person, body.operator, body.reason)?;
    answer(&desk, move |desk| {
        let operator = signature.operator();
        let moved = desk
            .specialists
            .rollback(&role, Some(&body.version), operator)?;
        Ok(shape::moved(&role, &moved))
    })
    .await
}

/// Stops routing to a role's specialist.
#[utoipa::path(post, path = "/api/specialists/{role}/halt", operation_id = "halt_role", tag = "specialists", params(("role" = String, Path)),
    request_body = Who, responses((status = 200, body = Value)))]
pub(super) async fn halt(
    person: LoggedIn,
    desk: State<Arc<Desk>>,
    role: Part,
    body: Given<Who>,
) -> Answer<Value> {
    signed(person, desk, role, body, |desk, role, operator| {
        let before = desk.specialists.halt(role, operator)?;
        let reason = before.as_ref().map(|halt| &halt.reason);
        Ok(json!({
            "role": role, "halted": true, "was_halted": before.is_some(), "previous_reason": reason,
        }))
    })
    .await
}

/// Performs an act on a role that needs a reason.
async fn signed(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Given(body): Given<Who>,
    act: impl FnOnce(&Desk, &str, Operator<'_>) -> Result<Value, Problem> + Send + 'static,
) -> Answer<Value> {
    let signature = Signature::needed(person, body.operator, body.reason)?;
    answer(&desk, move |desk| act(desk, &role, signature.operator())).await
}

/// Lifts a halt; the guard begins anew.
#[utoipa::path(post, path = "/api/specialists/{role}/clear-halt", tag = "specialists", params(("role" = String, Path)),
    request_body = Who, responses((status = 200, body = Value)))]
pub(super) async fn clear_halt(
    person: LoggedIn,
    desk: State<Arc<Desk>>,
    role: Part,
    body: Given<Who>,
) -> Answer<Value> {
    signed(person, desk, role, body, |desk, role, operator| {
        let registry = desk.specialists.registry()?;
        let cleared = desk.specialists.clear_halt(role, None, operator)?;
        if cleared.lifted.is_empty() && registry.entry(role).is_none() {
            return Err(OperateError::UnknownRole(role.to_owned()).into());
        }
        let is_cleared = !cleared.lifted.is_empty();
        Ok(json!({ "role": role, "cleared": is_cleared, "previous_reason": cleared.reason() }))
    })
    .await
}
