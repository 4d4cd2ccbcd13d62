//! The ledger against published RFC 6962 vectors and a second implementation, against malformed text, and against
//! random histories.

mod forms;
mod history;
mod oracle;

use super::checkpoint::{Checkpoint, Origin};
use super::note::{Attested, SignedCheckpoint};
use super::{Leaf, Ledger};
use crate::key::SigningKey;
use crate::wire::TaskId;

fn origin() -> Origin {
    Origin::parse("roleos.example/ledger").unwrap()
}

fn key() -> SigningKey {
    SigningKey::new(&[7; 32])
}

fn leaf(number: u64) -> Leaf {
    let byte = u8::try_from(number % 251).unwrap();
    Leaf {
        task_id: TaskId([byte; 16]),
        created_ns: number,
        bundle_sha256: [byte; 32],
    }
}

fn ledger(size: u64) -> Ledger {
    Ledger::from_leaves(origin(), (0..size).map(leaf))
}

fn sign(ledger: &Ledger) -> SignedCheckpoint {
    SignedCheckpoint::sign(&ledger.checkpoint(), &key())
}

/// Returns the verdict on a note of a reader who trusts [`key`].
fn read_note(note: &str) -> Result<Attested, String> {
    let signed = SignedCheckpoint::parse(note).map_err(|error| format!("{error:?}"))?;
    let keys = [key().public()];
    signed.verify(&keys).map_err(|error| format!("{error:?}"))
}

/// Returns a checkpoint that none of our ledgers could have made.
fn forged(size: u64, root: [u8; 32]) -> SignedCheckpoint {
    let origin = origin();
    SignedCheckpoint::sign(&Checkpoint { origin, size, root }, &key())
}
