//! Signed notes of bundles that a person deleted: `tombstones.jsonl` beside the leaves.
//!
//! The leaf of a deleted bundle stays in the tree, so every checkpoint and proof still holds; its tombstone records
//! when and why a person deleted it. A tombstone that no trusted key signed, or that names another bundle, is ignored.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

use super::{Entry, LedgerError, Problem};
use base::files::{self, Privacy};

pub(super) const FILE: &str = "tombstones.jsonl";
/// Prefix of the signed bytes, so that the signature cannot be used for anything else.
const CONTEXT: &[u8] = b"roleos tombstone ed25519 v1\n";
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Kind of the problem of a deleted bundle that was solved: its absence improves no figure.
pub const DELETED: &str = "deleted";
/// Kind of the problem of any other deleted bundle.
pub const DELETED_UNSOLVED: &str = "deleted_unsolved";

/// Record of a deleted bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tombstone {
    /// Place of its leaf in the ledger.
    pub index: u64,
    /// Task id of the bundle.
    pub task_id: String,
    /// SHA-256 of the bundle.
    pub sha256: String,
    /// Outcome of the task.
    pub outcome: String,
    /// Time of the deletion.
    pub deleted: String,
    /// Actor that deleted it.
    pub by: String,
    /// Reason of the deletion.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tombstone: Tombstone,
    signature: String,
}

impl Tombstone {
    fn message(&self) -> Vec<u8> {
        let mut bytes = CONTEXT.to_vec();
        bytes.extend(serde_json::to_vec(self).unwrap_or_default());
        bytes
    }

    /// Returns the deletion as a problem of `ledger verify`.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let kind = match self.outcome.as_str() {
            "solved" => DELETED,
            _ => DELETED_UNSOLVED,
        };
        let Self {
            index,
            task_id,
            outcome,
            deleted,
            by,
            reason,
            ..
        } = self;
        let day = deleted.split('T').next().unwrap_or_default();
        let reason = match reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        Problem::new(
            kind,
            format_args!(
                "bundle {index} of task {task_id} ({outcome}) was deleted on {day} by {by}{reason}"
            ),
        )
    }
}

/// Appends a tombstone.
///
/// # Errors
/// It cannot be written.
pub(crate) fn append(
    directory: &Path,
    tombstone: Tombstone,
    key: &SigningKey,
) -> Result<(), LedgerError> {
    let path = directory.join(FILE);
    let signature = hex::encode(key.sign(&tombstone.message()));
    let line = Line {
        tombstone,
        signature,
    };
    let mut text = serde_json::to_vec(&line).unwrap_or_default();
    text.push(b'\n');
    if !path.exists() {
        files::write(&path, b"", Privacy::Secret)?;
    }
    files::append(&path, &text)?;
    Ok(())
}

/// Reads the tombstones that a trusted key signed for leaves of this ledger, by their place. Others are skipped.
pub(crate) fn read(
    directory: &Path,
    entries: &[Entry],
    trusted: &[PublicKey],
) -> BTreeMap<usize, Tombstone> {
    let bytes = files::read(&directory.join(FILE), MAX_FILE).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    let believed = lines.filter_map(|line| {
        let Line {
            tombstone,
            signature,
        } = serde_json::from_slice(line).ok()?;
        let signature: [u8; 64] = hex::decode(signature).ok()?.try_into().ok()?;
        let message = tombstone.message();
        let is_signed = trusted.iter().any(|key| key.verifies(&message, &signature));
        let index = usize::try_from(tombstone.index).ok()?;
        let leaf = entries.get(index)?.leaf;
        let is_of_leaf = hex::encode(leaf.bundle_sha256) == tombstone.sha256
            && leaf.task_id.to_string() == tombstone.task_id;
        (is_signed && is_of_leaf).then_some((index, tombstone))
    });
    believed.collect()
}
