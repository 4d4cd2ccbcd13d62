//! The Merkle log over the bundles: its signed checkpoint, its proofs, and checks for missing bundles.

use std::sync::Arc;

use axum::extract::State;
use evidence::ledger::LedgerFile;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use witness::ledger::note::SignedCheckpoint;

use super::Desk;
use super::errors::conflict;
use super::frame::{Answer, Asked, Part, answer, bad_query, missing};
use crate::problem::Problem;

/// The ledger as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ledger {
    /// Its name.
    origin: String,
    /// Bundles that it covers.
    size: u64,
    /// Root of the tree.
    root: String,
    /// The newest signed checkpoint, to be kept elsewhere.
    checkpoint: Option<String>,
}

fn open(desk: &Desk) -> Result<LedgerFile, Problem> {
    desk.store.ledger()?.ok_or_else(|| {
        missing("no_ledger", "there is no ledger in this workspace")
            .hint("the first sealed bundle makes one")
    })
}

fn signed(ledger: &LedgerFile) -> Result<SignedCheckpoint, Problem> {
    ledger.checkpoint()?.ok_or_else(|| {
        missing("no_ledger", "the ledger has no checkpoint yet")
            .hint("the first sealed bundle makes one")
    })
}

/// The ledger and its newest checkpoint.
#[utoipa::path(get, path = "/api/ledger", operation_id = "get_ledger", tag = "ledger", responses((status = 200, body = Ledger)))]
pub(super) async fn checkpoint(State(desk): State<Arc<Desk>>) -> Answer<Ledger> {
    answer(&desk, |desk| {
        let ledger = open(desk)?;
        Ok(Ledger {
            origin: ledger.tree().origin().as_str().to_owned(),
            size: ledger.tree().len(),
            root: hex::encode(ledger.tree().root()),
            checkpoint: ledger.checkpoint()?.map(|signed| signed.to_text()),
        })
    })
    .await
}

/// Something that is not as it should be.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Finding {
    kind: &'static str,
    detail: String,
}

/// Whether anything is missing or changed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Audit {
    ok: bool,
    origin: Option<String>,
    size: u64,
    root: String,
    /// An earlier state in the user's trust store was looked for.
    recorded: bool,
    problems: Vec<Finding>,
}

/// Compares every bundle with the ledger, and the ledger with its checkpoint. Reads all bundles.
#[utoipa::path(get, path = "/api/ledger/verify", operation_id = "verify_ledger", tag = "ledger", responses((status = 200, body = Audit)))]
pub(super) async fn verify(State(desk): State<Arc<Desk>>) -> Answer<Audit> {
    answer(&desk, |desk| {
        let keys = desk.store.keys()?;
        let audit = desk.store.audit(&keys, None)?;
        let problems = audit.problems.into_iter().map(|problem| Finding {
            kind: problem.kind,
            detail: problem.detail,
        });
        let problems: Vec<Finding> = problems.collect();
        Ok(Audit {
            ok: problems.is_empty(),
            origin: audit.origin,
            size: audit.size,
            root: hex::encode(audit.root),
            recorded: audit.is_recorded,
            problems,
        })
    })
    .await
}

/// A proof that others can check.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Proof {
    /// Place of the bundle, or size of the older tree.
    index: u64,
    /// The proof as text, with the signed checkpoint in it.
    proof: String,
}

/// Proves that a bundle is in the ledger.
#[utoipa::path(get, path = "/api/ledger/proof/{task}", operation_id = "prove_task", tag = "ledger", params(("task" = String, Path)),
    responses((status = 200, body = Proof)))]
pub(super) async fn prove(State(desk): State<Arc<Desk>>, Part(task): Part) -> Answer<Proof> {
    answer(&desk, move |desk| {
        let ledger = open(desk)?;
        let wanted = task.replace('-', "").to_lowercase();
        let entries = ledger.entries().iter().enumerate();
        let mut found = entries
            .filter(|(_, entry)| entry.leaf.task_id.to_string() == wanted)
            .map(|(index, _)| index as u64);
        let index = found.next_back().ok_or_else(|| {
            missing(
                "bundle_not_found",
                format!("the ledger has no task `{task}`"),
            )
            .hint("give the whole task id, as `GET /api/witness` lists it")
        })?;
        let proof = ledger.tree().prove(index, signed(&ledger)?);
        let proof = proof.map_err(|error| conflict("cannot_prove", error.to_string()))?;
        Ok(Proof {
            index,
            proof: proof.to_text(),
        })
    })
    .await
}

/// From where.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Growth {
    /// Size of the older tree.
    from: u64,
}

/// Proves that the ledger still begins as it did when it had so many bundles.
#[utoipa::path(get, path = "/api/ledger/consistency", operation_id = "prove_growth", tag = "ledger", params(Growth),
    responses((status = 200, body = Proof)))]
pub(super) async fn prove_growth(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Growth>,
) -> Answer<Proof> {
    answer(&desk, move |desk| {
        let ledger = open(desk)?;
        let proof = ledger.tree().prove_growth(asked.from, signed(&ledger)?);
        let proof = proof.map_err(|error| bad_query(&error.to_string()))?;
        Ok(Proof {
            index: asked.from,
            proof: proof.to_text(),
        })
    })
    .await
}
