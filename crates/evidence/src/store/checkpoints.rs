//! Compares leaves with the checkpoint beside the ledger, or with one that was kept elsewhere.

use witness::key::PublicKey;
use witness::ledger::note::SignedCheckpoint;

use crate::ledger::{self, Coverage, LedgerFile, Problem};

/// Returns the problem if the checkpoint beside the ledger does not cover all leaves.
pub(super) fn uncovered(coverage: Coverage) -> Option<Problem> {
    Some(match coverage {
        Coverage::Whole => return None,
        Coverage::Part {
            added,
            is_pledged: true,
        } => Problem::new(
            "unfinished",
            format_args!(
                "the checkpoint of the last {added} leaves is signed and not yet in place; the next seal does it"
            ),
        ),
        Coverage::Part { added, .. } => Problem::new(
            "unsigned_leaves",
            format_args!("no checkpoint covers the last {added} leaves"),
        ),
        Coverage::Missing => Problem::new("checkpoint_missing", "the ledger has no checkpoint"),
        Coverage::Stranger(why) => Problem::new(
            "checkpoint_signature",
            format_args!("the checkpoint is not signed by a key that is trusted here: {why}"),
        ),
        Coverage::Broken(broken) => Problem::new(
            broken.name(),
            format_args!("the checkpoint: {}", broken.explain()),
        ),
    })
}

/// Compares with a checkpoint that was kept elsewhere, which may be older.
pub(super) fn differing(
    ledger: &LedgerFile,
    signed: &SignedCheckpoint,
    trusted: &[PublicKey],
) -> Option<Problem> {
    let attested = match ledger::attest(signed, trusted) {
        Ok(attested) => attested,
        Err(why) => {
            return Some(Problem::new(
                "checkpoint_signature",
                format_args!(
                    "the given checkpoint is not signed by a key that is trusted here: {why}"
                ),
            ));
        }
    };
    let consistency = ledger.tree().compare(attested.checkpoint());
    (!consistency.holds()).then(|| {
        Problem::new(
            consistency.name(),
            format_args!("the given checkpoint: {}", consistency.explain()),
        )
    })
}
