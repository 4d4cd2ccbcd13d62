//! Stores checked bundles of other machines and proves each in the ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use witness::ledger::note::SignedCheckpoint;
use witness::ledger::proof::InclusionProof;
use witness::wire::TaskId;

use super::{BATCH, Store, StoreError};
use crate::archive::{NewBundle, Placed};
use crate::ledger::LedgerFile;
use base::keys::KeyStore;

/// Result per bundle, and the checkpoint to which the proofs lead.
pub(crate) type Joined = (
    Vec<(Placed, Option<InclusionProof>)>,
    Option<Arc<SignedCheckpoint>>,
);

impl Store {
    /// Stores and logs bundles that the caller has checked, each once. Other bytes under a stored task id are not
    /// stored.
    ///
    /// # Errors
    /// They cannot be stored. Stored ones may be joined again.
    pub(crate) fn join(
        &self,
        bundles: &[&NewBundle],
        keys: &KeyStore,
    ) -> Result<Joined, StoreError> {
        let (mut ledger, _) = self.open_ledger(keys)?;
        let leaves = ledger.file().tree().len();
        let entries = ledger.file().entries().iter().enumerate();
        let mut known: BTreeMap<TaskId, Vec<([u8; 32], u64)>> = BTreeMap::new();
        for (index, entry) in entries {
            let place = (entry.leaf.bundle_sha256, index as u64);
            known.entry(entry.leaf.task_id).or_default().push(place);
        }
        let mut placed = Vec::new();
        for batch in bundles.chunks(BATCH) {
            let mut new = Vec::new();
            let mut staged = Ok(());
            for bundle in batch {
                let leaf = bundle.leaf;
                let of_task = known.entry(leaf.task_id).or_default();
                let same = of_task.iter().find(|(hash, _)| *hash == leaf.bundle_sha256);
                placed.push(match same {
                    Some((_, index)) => Placed::Known(Some(*index)),
                    None if !of_task.is_empty() => Placed::Taken,
                    None => {
                        let index = ledger.file().tree().len() + new.len() as u64;
                        of_task.push((leaf.bundle_sha256, index));
                        let mut none = std::collections::BTreeSet::new();
                        staged = self
                            .stage(bundle.bytes.bytes(), &mut none, &mut new)
                            .map(drop);
                        Placed::Stored(Some(index))
                    }
                });
                if staged.is_err() {
                    break;
                }
            }
            self.commit_if(staged, &mut ledger, &new, keys)?;
        }
        self.remember(ledger.file(), leaves);
        proved(ledger.file(), placed)
    }

    /// Returns the name and size of the ledger, created if there is none.
    ///
    /// # Errors
    /// It cannot be read or created.
    pub(crate) fn named_ledger(
        &self,
        keys: &KeyStore,
    ) -> Result<(witness::ledger::checkpoint::Origin, u64), StoreError> {
        if let Some(ledger) = self.ledger()? {
            return Ok((ledger.tree().origin().clone(), ledger.tree().len()));
        }
        let (ledger, _) = self.open_ledger(keys)?;
        let tree = ledger.file().tree();
        Ok((tree.origin().clone(), tree.len()))
    }
}

fn proved(ledger: &LedgerFile, placed: Vec<Placed>) -> Result<Joined, StoreError> {
    let Some(signed) = ledger.checkpoint()? else {
        return Ok((placed.into_iter().map(|one| (one, None)).collect(), None));
    };
    let prove = |one: Placed| {
        let proof = one.index().map(|index| {
            let proof = ledger.tree().prove(index, signed.clone());
            proof.map_err(|error| StoreError::SelfCheck(error.to_string()))
        });
        Ok((one, proof.transpose()?))
    };
    let placed: Result<_, StoreError> = placed.into_iter().map(prove).collect();
    Ok((placed?, Some(Arc::new(signed))))
}
