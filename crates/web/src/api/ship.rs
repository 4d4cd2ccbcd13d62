//! Evidence of other machines: shipments in, proofs out. A shipment needs no login: it is signed by an enrolled machine.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use evidence::archive::ArchiveError;
use evidence::archive::intake::{Answer as Judged, Refused, Taken};
use evidence::archive::people::{Act, CodeHash, enrolment, is_name};
use evidence::archive::shipment::MAX_SHIPMENT;
use evidence::shipping::{self, IdentityAnswer, ItemAnswer, ShipAnswer};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use witness::key::PublicKey;

use super::Desk;
use super::errors::unfit;
use super::frame::{Answer, Given, answer, waiting};
use crate::problem::Problem;

/// Longest time to receive a shipment.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest time that a shipment waits for its turn.
const TURN: Duration = Duration::from_secs(20);
/// Retry time for a client that found no place.
const AGAIN: Duration = Duration::from_secs(2);

impl From<ArchiveError> for Problem {
    fn from(error: ArchiveError) -> Self {
        let (status, code) = match &error {
            ArchiveError::Away(_) => (StatusCode::SERVICE_UNAVAILABLE, "archive_away"),
            ArchiveError::Unfit(_) => (StatusCode::CONFLICT, "archive_unfit"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "archive"),
        };
        let again = error.is_retryable().then_some(AGAIN);
        Self::new(status, code, error.to_string()).retry_after(again)
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Archive(error) => error.into(),
            Refused::Bad(why) => {
                Self::new(StatusCode::BAD_REQUEST, "bad_shipment", why.to_string())
            }
            refused @ Refused::UnknownKey(_) => {
                Self::new(StatusCode::FORBIDDEN, "unknown_key", refused.to_string()).hint(
                    "an operator enrols it: `roleos key enroll FILE.pub`, or `roleos key enroll --code` for one machine",
                )
            }
            refused => Self::new(StatusCode::BAD_REQUEST, "refused", refused.to_string()),
        }
    }
}

/// How the ledger is known to which shipments are added.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Identity {
    /// Its name.
    origin: String,
    /// The public keys that sign its checkpoints, in hexadecimal digits, the newest first.
    keys: Vec<String>,
    /// Bundles that it has.
    size: u64,
}

impl From<IdentityAnswer> for Identity {
    fn from(answer: IdentityAnswer) -> Self {
        let IdentityAnswer { origin, keys, size } = answer;
        Self { origin, keys, size }
    }
}

fn identity_of(desk: &Desk) -> Result<IdentityAnswer, Problem> {
    let identity = desk.gate.archive().identity()?;
    let digits = |key: &PublicKey| hex::encode(key.to_bytes());
    Ok(IdentityAnswer {
        origin: identity.origin.as_str().to_owned(),
        keys: identity.keys.iter().map(digits).collect(),
        size: identity.size,
    })
}

/// The name and the keys of the ledger to which shipments are added.
#[utoipa::path(get, path = "/api/ship", operation_id = "get_archive", tag = "ship", responses((status = 200, body = Identity)))]
pub(super) async fn identity(State(desk): State<Arc<Desk>>) -> Answer<Identity> {
    answer(&desk, |desk| Ok(identity_of(desk)?.into())).await
}

/// What became of one frame of a shipment.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Item {
    /// `stored`, `known` or `refused`.
    status: String,
    /// Why it was refused, as a stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// Why it was refused, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Shows that the ledger has the bundle: the lines of a C2SP `tlog-proof` before its checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
}

/// What became of a shipment.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Receipt {
    /// The signed checkpoint to which the proofs lead.
    checkpoint: Option<String>,
    /// Shows that the ledger continues the one that the sender has seen.
    growth: Option<String>,
    /// For each frame, in order.
    items: Vec<Item>,
}

impl From<ShipAnswer> for Receipt {
    fn from(answer: ShipAnswer) -> Self {
        let item = |item: ItemAnswer| Item {
            status: item.status,
            code: item.code,
            why: item.why,
            proof: item.proof,
        };
        Self {
            checkpoint: answer.checkpoint,
            growth: answer.growth,
            items: answer.items.into_iter().map(item).collect(),
        }
    }
}

/// Converts the result of a shipment to JSON.
fn receipt(taken: Taken) -> ShipAnswer {
    let item = |judged| match judged {
        Judged::Kept { is_known, proof } => ItemAnswer {
            status: if is_known { "known" } else { "stored" }.to_owned(),
            code: None,
            why: None,
            proof: proof.as_ref().map(shipping::proof_head),
        },
        Judged::Refused { code, why } => ItemAnswer {
            status: "refused".to_owned(),
            code: Some(code.to_owned()),
            why: Some(why),
            proof: None,
        },
    };
    ShipAnswer {
        checkpoint: taken.checkpoint.map(|signed| signed.to_text()),
        growth: taken.growth.map(|proof| proof.to_text()),
        items: taken.answers.into_iter().map(item).collect(),
    }
}

/// Takes a shipment of bundles, decisions and run-log lines that an enrolled machine signed.
///
/// The same shipment may be sent again: what is kept already is acknowledged again. Everything that is answered as `stored`
/// or `known` is durable.
#[utoipa::path(post, path = "/api/ship", operation_id = "ship", tag = "ship",
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, body = Receipt)))]
pub(super) async fn ship(
    State(desk): State<Arc<Desk>>,
    request: Request,
) -> Result<axum::Json<Receipt>, Problem> {
    let busy = || {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "too many shipments are under way",
        )
        .retry_after(Some(AGAIN))
    };
    let place = tokio::time::timeout(TURN, desk.gate.places.acquire()).await;
    let _place = place.map_err(|_| busy())?.map_err(|_| busy())?;
    let bytes: Arc<[u8]> = body(request.into_body()).await?.into();
    let receipt = waiting(&desk, move |desk| {
        Ok(receipt(desk.gate.intake.take(&bytes)?).into())
    });
    receipt.await.map(axum::Json)
}

async fn body(body: Body) -> Result<Vec<u8>, Problem> {
    let read = Limited::new(body, MAX_SHIPMENT).collect();
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the shipment has more than {MAX_SHIPMENT} bytes"),
        )),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "body_cut_off",
            "the shipment did not come to its end",
        )),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            "the shipment did not come in time",
        )),
    }
}

/// A machine that has a one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Enrolment {
    /// The code that an operator gave to this machine.
    code: String,
    /// The public key of the machine, in hexadecimal digits.
    public_key: String,
    /// The name of the machine, for people.
    #[schema(min_length = 1, max_length = 100)]
    machine: String,
    /// Ed25519 over `roleos enroll ed25519 v1`, a newline and the code, in hexadecimal digits.
    signature: String,
}

/// Parses a client's public key.
pub(super) fn public_key(digits: &str) -> Result<PublicKey, Problem> {
    let bytes: Option<[u8; 32]> = hex::decode(digits).ok().and_then(|it| it.try_into().ok());
    let key = bytes.and_then(|bytes| PublicKey::parse(&bytes));
    let bad = || {
        unfit(
            "bad_key",
            "`public_key` is not an Ed25519 key of 64 hexadecimal digits",
        )
    };
    key.ok_or_else(bad)
}

/// Parses the name of a machine, a token or a reason.
pub(super) fn name(field: &str, text: String) -> Result<String, Problem> {
    if is_name(&text) {
        return Ok(text);
    }
    let message = format!("`{field}` must be 1 to 100 characters on one line");
    Err(unfit("bad_name", message))
}

/// Enrols the key of a machine that has a one-time code.
#[utoipa::path(post, path = "/api/ship/enroll", operation_id = "enroll_machine", tag = "ship", request_body = Enrolment,
    responses((status = 200, body = Identity)))]
pub(super) async fn enroll(
    State(desk): State<Arc<Desk>>,
    Given(asked): Given<Enrolment>,
) -> Answer<Identity> {
    answer(&desk, move |desk| {
        let key = public_key(&asked.public_key)?;
        let machine = name("machine", asked.machine)?;
        let signature = hex::decode(&asked.signature).ok();
        let signature: Option<[u8; 64]> = signature.and_then(|it| it.try_into().ok());
        let message = enrolment(&asked.code);
        if !signature.is_some_and(|it| key.verifies(&message, &it)) {
            let why = "the signature does not show that this machine holds the key";
            return Err(Problem::new(StatusCode::FORBIDDEN, "bad_signature", why));
        }
        let archive = desk.gate.archive();
        let code = CodeHash::of(&asked.code);
        let Some(by) = archive.use_code(&code, base::clock::now_ns())? else {
            let why = "the code is unknown, used or too old";
            return Err(Problem::new(StatusCode::FORBIDDEN, "wrong_code", why)
                .hint("an operator makes a new one: `roleos key enroll --code`"));
        };
        let id = key.id().to_string();
        let act = Act::now(
            &by,
            "key.enroll",
            &id,
            &format!("one-time code, used by {machine}"),
        );
        archive.enroll(&key, &machine, &act)?;
        Ok(identity_of(desk)?.into())
    })
    .await
}
