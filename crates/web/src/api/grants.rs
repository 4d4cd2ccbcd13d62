//! Grants: actions that agents may perform here without a question, with time and use limits.

use std::sync::Arc;

use axum::extract::State;
use base::clock;
use base::grants::{self, NewGrant};
use base::ownership;
use jiff::{SignedDuration, Timestamp};
use present::view::oversight as shape;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::Desk;
use super::approvals::{Passphrase, signing_key};
use super::audit::audited;
use super::errors::unfit;
use super::frame::{Answer, Given, LoggedIn, Part, answer, missing};
use super::operate::checked_reason;
use crate::login::Person;
use crate::problem::Problem;

/// Longest duration in seconds: ten years.
const MAX_SECONDS: u64 = 10 * 366 * 86_400;
/// Most uses.
const MAX_USES: u64 = 1_000_000;
/// Longest scope.
const MAX_SCOPE: usize = 1000;

fn now() -> Timestamp {
    Timestamp::from_nanosecond(i128::from(clock::now_ns())).unwrap_or(Timestamp::MAX)
}

/// Everything that is granted, and whether it holds.
#[utoipa::path(get, path = "/api/grants", operation_id = "list_grants", tag = "oversight",
    responses((status = 200, body = Vec<Value>, description = "As `roleos grants --json`.")))]
pub(super) async fn list(State(desk): State<Arc<Desk>>) -> Answer<Vec<Value>> {
    answer(&desk, |desk| {
        let entries = grants::list(&desk.workspace, now())?;
        Ok(entries.iter().map(shape::grant).collect())
    })
    .await
}

/// What is granted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grant {
    /// Id of the action, such as `git:push`.
    pub(crate) action: String,
    /// What it is meant for: a package, a remote and branch, a repository.
    #[schema(max_length = 1000)]
    pub(crate) scope: Option<String>,
    /// Refuse outside of the scope; without this the scope is a note.
    #[serde(default)]
    pub(crate) enforce: bool,
    /// How long it holds, in seconds; not together with `until`.
    #[schema(minimum = 1, maximum = 316224000)]
    pub(crate) seconds: Option<u64>,
    /// Until when it holds, such as `2026-12-01T00:00:00Z`.
    pub(crate) until: Option<String>,
    /// How often it may be used.
    #[schema(minimum = 1, maximum = 1000000)]
    pub(crate) uses: Option<u64>,
    /// Needed when a passphrase protects the approval key.
    pub(crate) passphrase: Option<String>,
    /// Why; it stays in the audit log.
    #[schema(max_length = 2000)]
    pub(crate) reason: Option<String>,
}

/// A grant that was written.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Granted {
    action: String,
    granted: bool,
    expires: Option<String>,
    uses: Option<u64>,
    scope: Option<String>,
    enforce: bool,
    /// There was one for this action before.
    replaced: bool,
}

/// Lets agents do a gated action.
#[utoipa::path(post, path = "/api/grants", operation_id = "grant_action", tag = "oversight", request_body = Grant,
    responses((status = 200, body = Granted)))]
pub(super) async fn grant(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Given(mut body): Given<Grant>,
) -> Answer<Granted> {
    let reason = checked_reason(body.reason.take().unwrap_or_default())?;
    let _alone = desk.one_passphrase().await;
    answer(&desk, move |desk| {
        write_grant(desk, (&person, &reason), body)
    })
    .await
}

/// Writes a grant. Hold [`Desk::one_passphrase`] around it.
pub(crate) fn write_grant(
    desk: &Desk,
    (person, why): (&Person, &str),
    body: Grant,
) -> Result<Granted, Problem> {
    let catalog = desk.config.oversight.policy().catalog;
    if catalog.action(&body.action).is_none() {
        let message = format!("there is no gated action `{}`", body.action);
        let known = catalog.actions().iter().map(|action| &*action.id);
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(unfit("unknown_action", message).hint(format!("known are {known}")));
    }
    let new = checked(&body)?;
    let passphrase = body.passphrase.map(Zeroizing::new);
    let key = signing_key(desk, passphrase.as_ref())?;
    let replaced = audited(desk, person, ("grant", &new.action, why), || {
        let replaced = grants::grant(&desk.workspace, &new, &key);
        ownership::hand_over(&desk.workspace);
        Ok(replaced?)
    })?;
    Ok(Granted {
        replaced,
        action: new.action,
        granted: true,
        expires: new.expires.map(|end| end.to_string()),
        uses: new.uses,
        scope: new.scope,
        enforce: new.enforce,
    })
}

fn checked(body: &Grant) -> Result<NewGrant, Problem> {
    if body
        .uses
        .is_some_and(|uses| !(1..=MAX_USES).contains(&uses))
    {
        let message = format!("`uses` must be from 1 to {MAX_USES}");
        return Err(unfit("bad_uses", message));
    }
    if body
        .scope
        .as_ref()
        .is_some_and(|scope| scope.chars().count() > MAX_SCOPE)
    {
        let message = format!("`scope` has more than {MAX_SCOPE} characters");
        return Err(unfit("bad_scope", message));
    }
    if body.enforce && body.scope.is_none() {
        return Err(unfit("bad_scope", "`enforce` needs a `scope`"));
    }
    Ok(NewGrant {
        action: body.action.clone(),
        expires: expiry(body)?,
        uses: body.uses,
        scope: body.scope.clone(),
        enforce: body.enforce,
    })
}

fn expiry(body: &Grant) -> Result<Option<Timestamp>, Problem> {
    let bad = |message: String| unfit("bad_time", message);
    match (body.seconds, &body.until) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(bad("give `seconds` or `until`, not both".to_owned())),
        (Some(seconds), None) => {
            let seconds = Some(seconds).filter(|seconds| (1..=MAX_SECONDS).contains(seconds));
            let span = seconds.and_then(|seconds| i64::try_from(seconds).ok());
            let end = span.and_then(|span| now().checked_add(SignedDuration::from_secs(span)).ok());
            end.map(Some)
                .ok_or_else(|| bad(format!("`seconds` must be from 1 to {MAX_SECONDS}")))
        }
        (None, Some(until)) => {
            let end: Option<Timestamp> = until.parse().ok();
            let end = end.ok_or_else(|| bad(format!("`until` is no moment: `{until}`")))?;
            if end <= now() {
                return Err(bad(format!("`{end}` is past")));
            }
            Ok(Some(end))
        }
    }
}

/// Takes a grant back.
#[utoipa::path(post, path = "/api/grants/{action}/revoke", operation_id = "revoke_grant", tag = "oversight", params(("action" = String, Path)),
    request_body = Passphrase, responses((status = 204, description = "Revoked.")))]
pub(super) async fn revoke(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(action): Part,
    Given(body): Given<Passphrase>,
) -> Result<axum::http::StatusCode, Problem> {
    let _alone = desk.one_passphrase().await;
    super::frame::waiting(&desk, move |desk| {
        let (passphrase, reason) = body.taken()?;
        revoke_grant(desk, (&person, &reason), &action, passphrase.as_ref())
            .map(|()| axum::http::StatusCode::NO_CONTENT)
    })
    .await
}

/// Revokes a grant. The caller holds [`Desk::one_passphrase`].
pub(crate) fn revoke_grant(
    desk: &Desk,
    (person, why): (&Person, &str),
    action: &str,
    passphrase: Option<&Zeroizing<String>>,
) -> Result<(), Problem> {
    let entries = grants::list(&desk.workspace, now())?;
    if !entries.iter().any(|entry| entry.action == action) {
        return Err(missing("not_granted", format!("`{action}` is not granted"))
            .hint("`GET /api/grants` shows what is granted"));
    }
    let key = signing_key(desk, passphrase)?;
    audited(desk, person, ("revoke", action, why), || {
        let done = grants::revoke(&desk.workspace, action, &key);
        ownership::hand_over(&desk.workspace);
        Ok(done?)
    })
}
