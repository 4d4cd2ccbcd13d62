//! Access of machines and programs: enrolled machines, API tokens, and the audit log of both.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use evidence::archive::people::{Act, Role, Token};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use witness::key::KeyId;

use super::Desk;
use super::errors::unfit;
use super::frame::{Answer, Given, LoggedIn, Part, answer, missing};
use super::ship::{name, public_key};
use crate::login::Person;
use crate::problem::Problem;

/// Most acts that are shown.
const MOST_ACTS: usize = 1000;

/// A machine whose evidence is taken.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Machine {
    /// The id of its key.
    id: String,
    /// Its public key, in hexadecimal digits.
    public_key: String,
    /// Its name.
    machine: String,
    /// When it was enrolled.
    enrolled: String,
    /// Who enrolled it.
    by: String,
}

/// The machines whose evidence is taken.
#[utoipa::path(get, path = "/api/machines", operation_id = "list_machines", tag = "ship", responses((status = 200, body = Vec<Machine>)))]
pub(super) async fn machines(State(desk): State<Arc<Desk>>) -> Answer<Vec<Machine>> {
    answer(&desk, |desk| {
        let enrolled = desk.gate.archive().enrolled()?.into_iter();
        let shown = enrolled.map(|one| Machine {
            id: one.key.id().to_string(),
            public_key: hex::encode(one.key.to_bytes()),
            machine: one.machine,
            enrolled: base::clock::text(one.at_ns),
            by: one.by,
        });
        Ok(shown.collect())
    })
    .await
}

/// A machine to be enrolled.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMachine {
    /// Its public key, in hexadecimal digits.
    public_key: String,
    /// Its name, for people.
    #[schema(min_length = 1, max_length = 100)]
    machine: String,
    /// Why, for the audit log.
    #[schema(min_length = 1, max_length = 100)]
    why: String,
}

/// Whether anything changed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Changed {
    changed: bool,
}

/// Takes evidence of a machine from now on.
#[utoipa::path(post, path = "/api/machines", operation_id = "enroll_key", tag = "ship", request_body = NewMachine, responses((status = 200, body = Changed)))]
pub(super) async fn enroll(
    State(desk): State<Arc<Desk>>,
    LoggedIn(operator): LoggedIn,
    Given(asked): Given<NewMachine>,
) -> Answer<Changed> {
    answer(&desk, move |desk| {
        let key = public_key(&asked.public_key)?;
        let machine = name("machine", asked.machine)?;
        let why = name("why", asked.why)?;
        let act = Act::now(&operator.name, "key.enroll", &key.id().to_string(), &why);
        let changed = desk.gate.archive().enroll(&key, &machine, &act)?;
        Ok(Changed { changed })
    })
    .await
}

/// Why something is taken back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// For the audit log.
    #[schema(min_length = 1, max_length = 100)]
    why: String,
}

/// Takes no evidence of a machine any more; what was taken stays.
#[utoipa::path(post, path = "/api/machines/{id}/dismiss", operation_id = "dismiss_key", tag = "ship", params(("id" = String, Path)), request_body = Reason, responses((status = 200, body = Changed)))]
pub(super) async fn dismiss(
    State(desk): State<Arc<Desk>>,
    LoggedIn(operator): LoggedIn,
    Part(id): Part,
    Given(asked): Given<Reason>,
) -> Answer<Changed> {
    answer(&desk, move |desk| {
        let bytes: Option<[u8; 8]> = hex::decode(&id).ok().and_then(|it| it.try_into().ok());
        let key =
            bytes.ok_or_else(|| missing("unknown_key", format!("no key is called `{id}`")))?;
        let why = name("why", asked.why)?;
        let act = Act::now(&operator.name, "key.dismiss", &id, &why);
        let changed = desk.gate.archive().dismiss_key(KeyId(key), &act)?;
        Ok(Changed { changed })
    })
    .await
}

/// An API token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ShownToken {
    /// Its name.
    name: String,
    /// `agent`, `viewer`, `operator` or `admin`.
    role: String,
    /// When it was made.
    created: String,
    /// Who made it.
    by: String,
    /// When it was revoked.
    revoked: Option<String>,
}

/// The API tokens, without their secrets.
#[utoipa::path(get, path = "/api/tokens", operation_id = "list_tokens", tag = "operator", responses((status = 200, body = Vec<ShownToken>)))]
pub(super) async fn tokens(State(desk): State<Arc<Desk>>, _: LoggedIn) -> Answer<Vec<ShownToken>> {
    answer(&desk, |desk| {
        let tokens = desk.gate.archive().tokens()?.into_iter();
        let shown = tokens.map(|one| ShownToken {
            name: one.name,
            role: one.role.name().to_owned(),
            created: base::clock::text(one.at_ns),
            by: one.by,
            revoked: one.revoked_ns.map(base::clock::text),
        });
        Ok(shown.collect())
    })
    .await
}

/// An API token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewToken {
    /// Its name, which the audit log uses.
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    /// `agent`, `viewer`, `operator` or `admin`.
    role: String,
    /// Why, for the audit log.
    #[schema(min_length = 1, max_length = 100)]
    why: String,
}

/// A new API token.
#[derive(Serialize, ToSchema)]
pub(super) struct Secret {
    /// The token; it is shown once and kept nowhere.
    token: String,
}

/// A person who logged in with the code of the terminal may; others need the role.
fn administers(person: &Person) -> Result<(), Problem> {
    if person.role.may_administer() {
        return Ok(());
    }
    let why = "only the role `admin` may change tokens";
    Err(Problem::new(StatusCode::FORBIDDEN, "role_too_low", why))
}

/// Makes an API token.
#[utoipa::path(post, path = "/api/tokens", operation_id = "create_token", tag = "operator", request_body = NewToken, responses((status = 200, body = Secret)))]
pub(super) async fn create(
    State(desk): State<Arc<Desk>>,
    LoggedIn(operator): LoggedIn,
    Given(asked): Given<NewToken>,
) -> Answer<Secret> {
    answer(&desk, move |desk| {
        administers(&operator)?;
        let role = Role::parse(&asked.role).ok_or_else(|| {
            unfit(
                "bad_role",
                "`role` must be agent, viewer, operator or admin",
            )
        })?;
        let token = name("name", asked.name)?;
        let why = name("why", asked.why)?;
        let act = Act::now(
            &operator.name,
            "token.create",
            &format!("{token} ({role})"),
            &why,
        );
        let made = Token::create(&token, role, &act);
        let (token, secret) = made.map_err(|error| unfit("no_randomness", error.to_string()))?;
        desk.gate.archive().add_token(&token, &act)?;
        desk.gate.forget();
        Ok(Secret { token: secret })
    })
    .await
}

/// Revokes an API token.
#[utoipa::path(post, path = "/api/tokens/{name}/revoke", operation_id = "revoke_token", tag = "operator", params(("name" = String, Path)), request_body = Reason, responses((status = 200, body = Changed)))]
pub(super) async fn revoke(
    State(desk): State<Arc<Desk>>,
    LoggedIn(operator): LoggedIn,
    Part(token): Part,
    Given(asked): Given<Reason>,
) -> Answer<Changed> {
    answer(&desk, move |desk| {
        administers(&operator)?;
        let why = name("why", asked.why)?;
        let act = Act::now(&operator.name, "token.revoke", &token, &why);
        let changed = desk.gate.archive().revoke_token(&token, &act)?;
        desk.gate.forget();
        Ok(Changed { changed })
    })
    .await
}

/// A privileged act.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ShownAct {
    /// When.
    time: String,
    /// Who.
    who: String,
    /// What was done, such as `key.enroll`.
    what: String,
    /// To what.
    subject: String,
    /// Why.
    why: String,
}

/// The newest privileged acts, oldest first.
#[utoipa::path(get, path = "/api/acts", operation_id = "list_acts", tag = "operator", responses((status = 200, body = Vec<ShownAct>)))]
pub(super) async fn acts(State(desk): State<Arc<Desk>>) -> Answer<Vec<ShownAct>> {
    answer(&desk, |desk| {
        let acts = desk.gate.archive().acts(MOST_ACTS)?.into_iter();
        let shown = acts.map(|act| ShownAct {
            time: base::clock::text(act.at_ns),
            who: act.who,
            what: act.what,
            subject: act.subject,
            why: act.why,
        });
        Ok(shown.collect())
    })
    .await
}
