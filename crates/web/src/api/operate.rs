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
use super::audit::audited;
use super::errors::{conflict, unfit};
use super::frame::{Answer, Given, LoggedIn, Part, answer};
use super::operator::checked_name;
use crate::login::Person;
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

/// A reason that fits into the log.
pub(super) fn checked_reason(reason: String) -> Result<String, Problem> {
    if reason.chars().count() > MAX_REASON {
        let message = format!("`reason` has more than {MAX_REASON} characters");
        return Err(unfit("bad_reason", message));
    }
    Ok(reason)
}

/// The name and the reason, checked, and the time.
pub(crate) struct Signature {
    person: Person,
    name: String,
    reason: String,
    now: String,
}

impl Signature {
    /// For acts that need no reason.
    fn new(person: Person, named: Option<String>, reason: String) -> Result<Self, Problem> {
        let reason = checked_reason(reason)?;
        let is_other = |name: &String| *name != person.name;
        if person.is_known && named.as_ref().is_some_and(is_other) {
            let message = format!("`operator` must be left out: you are {}", person.name);
            return Err(unfit("bad_operator", message));
        }
        let name = match named.filter(is_other) {
            Some(name) => checked_name(name)?,
            None => person.name.clone(),
        };
        Ok(Self {
            name,
            person,
            reason,
            now: base::clock::text(base::clock::now_ns() / 1_000_000 * 1_000_000),
        })
    }

    /// Creates one for acts with a required reason.
    pub(crate) fn needed(
        person: Person,
        named: Option<String>,
        reason: String,
    ) -> Result<Self, Problem> {
        if reason.trim().is_empty() {
            return Err(unfit("bad_reason", "`reason` must say why"));
        }
        Self::new(person, named, reason)
    }

    /// Does an act on a subject, and notes both in the audit log.
    pub(crate) fn audited<T>(
        &self,
        desk: &Desk,
        (what, subject): (&str, &str),
        work: impl FnOnce(Operator<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let act = (what, subject, self.reason.as_str());
        audited(desk, &self.person, act, || work(self.operator()))
    }

    /// As the log wants it.
    fn operator(&self) -> Operator<'_> {
        Operator {
            name: &self.name,
            reason: &self.reason,
            now: &self.now,
        }
    }
}

/// A version as the audit log names it.
fn subject(role: &str, version: &str) -> String {
    format!("{role} {version}")
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
        signature.audited(desk, ("specialist.register", &role), |operator| {
            let specialists = &desk.specialists;
            let done = specialists.register(&role, body.version, new_role, None, operator)?;
            Ok(shape::registered(&role, &done, None))
        })
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
        let subject = subject(&role, version);
        signature.audited(desk, ("specialist.certify", &subject), |operator| {
            let specialists = &desk.specialists;
            let certified = specialists.certify(&role, &dossier, &evidence, operator)?;
            Ok(shape::certified(&role, &certified, &dossier, &evidence))
        })
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
        let subject = subject(&role, &body.version);
        signature.audited(desk, ("specialist.promote", &subject), |operator| {
            let specialists = &desk.specialists;
            let moved = specialists.promote(&role, &body.version, how, operator)?;
            Ok(shape::moved(&role, &moved))
        })
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
        let subject = subject(&role, &body.version);
        signature.audited(desk, ("specialist.rollback", &subject), |operator| {
            let specialists = &desk.specialists;
            let moved = specialists.rollback(&role, Some(&body.version), operator)?;
            Ok(shape::moved(&role, &moved))
        })
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
    signed("specialist.halt", person, desk, role, body, |desk, role, operator| {
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
    what: &'static str,
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(role): Part,
    Given(body): Given<Who>,
    act: impl FnOnce(&Desk, &str, Operator<'_>) -> Result<Value, Problem> + Send + 'static,
) -> Answer<Value> {
    let signature = Signature::needed(person, body.operator, body.reason)?;
    answer(&desk, move |desk| {
        signature.audited(desk, (what, &role), |operator| act(desk, &role, operator))
    })
    .await
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
    let what = "specialist.clear-halt";
    signed(what, person, desk, role, body, |desk, role, operator| {
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
