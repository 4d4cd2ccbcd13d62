//! Refused acts, and a person's approval of one. The levels of `roleos approve` apply as well: a key with a passphrase
//! signs nothing without it.

use std::sync::Arc;

use axum::extract::State;
use base::approval_key;
use base::clock;
use base::ownership;
use guard::approvals::{self, Id};
use present::view::oversight as shape;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use witness::key::SigningKey;
use zeroize::Zeroizing;

use super::Desk;
use super::audit::audited;
use super::frame::{Answer, Asked, Given, LoggedIn, Part, answer, missing};
use super::operate::checked_reason;
use crate::login::Person;
use crate::problem::Problem;

/// Which list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Those that were approved and not used yet, with the time that is left, instead of those that wait.
    given: Option<bool>,
}

/// Refused acts that a person can approve now, newest first.
#[utoipa::path(get, path = "/api/approvals", operation_id = "list_approvals", tag = "oversight", params(Which),
    responses((status = 200, body = Vec<Value>, description = "As `roleos approve --json` without an id.")))]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Asked(which): Asked<Which>,
) -> Answer<Vec<Value>> {
    answer(&desk, move |desk| {
        if which.given == Some(true) {
            let now = clock::now_ns();
            let given = approvals::given(&desk.workspace, now)?;
            return Ok(given.iter().map(|one| shape::given(one, now)).collect());
        }
        let pending = approvals::pending(&desk.workspace, clock::now_ns())?;
        let list = pending
            .iter()
            .map(|(id, refused)| shape::refused(id, refused));
        Ok(list.collect())
    })
    .await
}

/// One refused act with everything that an approval binds.
#[utoipa::path(get, path = "/api/approvals/{id}", operation_id = "get_approval", tag = "oversight", params(("id" = String, Path)),
    responses((status = 200, body = Value)))]
pub(super) async fn one(State(desk): State<Arc<Desk>>, Part(id): Part) -> Answer<Value> {
    answer(&desk, move |desk| {
        let id = parse(&id)?;
        let refused = approvals::find(&desk.workspace, &id)?;
        let mut value = shape::refused(&id, &refused);
        if let Value::Object(fields) = &mut value {
            fields.insert("facts".to_owned(), json!(refused.act.facts));
            let current = refused.act.is_current();
            fields.insert("current".to_owned(), json!(current));
            let repositories = json!(refused.act.repositories);
            fields.insert("repositories".to_owned(), repositories);
        }
        Ok(value)
    })
    .await
}

fn parse(id: &str) -> Result<Id, Problem> {
    Id::parse(id).ok_or_else(|| {
        missing("unknown_act", format!("`{id}` is no id of a refusal"))
            .hint("an id has 12 hexadecimal digits and stands in the refusal")
    })
}

/// What opens the approval key, and why.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Passphrase {
    /// Needed when a passphrase protects the approval key.
    passphrase: Option<String>,
    /// Why; it stays in the audit log.
    #[schema(max_length = 2000)]
    reason: Option<String>,
}

impl Passphrase {
    /// The passphrase and the reason, which is empty if there is none.
    pub(super) fn taken(self) -> Result<(Option<Zeroizing<String>>, String), Problem> {
        let reason = checked_reason(self.reason.unwrap_or_default())?;
        Ok((self.passphrase.map(Zeroizing::new), reason))
    }
}

/// A yes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Approved {
    id: String,
    approved: bool,
    /// When it ends unused.
    expires: String,
}

/// Allows exactly this act, once, and soon.
#[utoipa::path(post, path = "/api/approvals/{id}", operation_id = "approve_act", tag = "oversight", params(("id" = String, Path)),
    request_body = Passphrase, responses((status = 200, body = Approved)))]
pub(super) async fn approve(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(id): Part,
    Given(body): Given<Passphrase>,
) -> Answer<Approved> {
    let _alone = desk.one_passphrase().await;
    answer(&desk, move |desk| {
        let (passphrase, reason) = body.taken()?;
        approve_act(desk, (&person, &reason), &id, passphrase.as_ref())
    })
    .await
}

/// Signs the approval of a refused act. The caller holds [`Desk::one_passphrase`].
pub(crate) fn approve_act(
    desk: &Desk,
    (person, why): (&Person, &str),
    id: &str,
    passphrase: Option<&Zeroizing<String>>,
) -> Result<Approved, Problem> {
    let id = parse(id)?;
    let refused = approvals::find_open(&desk.workspace, &id, clock::now_ns())?;
    let key = signing_key(desk, passphrase)?;
    let lifetime = desk.config.oversight.approval_lifetime();
    let id = id.to_string();
    audited(desk, person, ("approve", &id, why), || {
        let now = clock::now_ns();
        let ends = approvals::approve(&desk.workspace, &refused, &key, lifetime, now);
        ownership::hand_over(&desk.workspace);
        Ok(Approved {
            id: id.clone(),
            approved: true,
            expires: clock::text(ends?),
        })
    })
}

/// A no.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Dismissed {
    id: String,
    dismissed: bool,
}

/// Dismisses a refused act, or takes its unused approval back.
#[utoipa::path(post, path = "/api/approvals/{id}/dismiss", operation_id = "dismiss_act", tag = "oversight", params(("id" = String, Path)),
    responses((status = 200, body = Dismissed)))]
pub(super) async fn dismiss(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Part(id): Part,
) -> Answer<Dismissed> {
    answer(&desk, move |desk| dismiss_act(desk, &person, &id)).await
}

/// Dismisses a refused act.
pub(crate) fn dismiss_act(desk: &Desk, person: &Person, id: &str) -> Result<Dismissed, Problem> {
    let id = parse(id)?;
    audited(desk, person, ("dismiss", &id.to_string(), ""), || {
        approvals::dismiss(&desk.workspace, &id, clock::now_ns())?;
        ownership::hand_over(&desk.workspace);
        Ok(Dismissed {
            id: id.to_string(),
            dismissed: true,
        })
    })
}

/// Returns the key that signs a person's decisions.
pub(super) fn signing_key(
    desk: &Desk,
    passphrase: Option<&Zeroizing<String>>,
) -> Result<SigningKey, Problem> {
    let place = approval_key::Place::of(&desk.workspace);
    if passphrase.is_none() && place.is_sealed()? {
        return Err(Problem::new(
            axum::http::StatusCode::FORBIDDEN,
            "passphrase_needed",
            "a passphrase protects the approval key",
        )
        .hint("send it as `passphrase`, or use `roleos approve` in a terminal"));
    }
    let passphrase = passphrase.map(|text| text.as_str());
    Ok(approval_key::ensure(&desk.workspace, passphrase)?)
}
