//! Deletes the bundle of one task at a person's request, and leaves a signed tombstone in the ledger.

use witness::bundle::Strictness;

use super::{Store, StoreError};
use crate::judged::Judged;
use crate::ledger::tombstones::{self, Tombstone};
use base::clock;
use base::files::{self, Action, FileError};
use base::keys::KeyStore;

impl Store {
    /// Deletes the bundle at this place of the ledger. The tombstone is on disk before the bundle is removed.
    ///
    /// # Errors
    /// There is no key or no such leaf, or a file cannot be written.
    pub fn delete(
        &self,
        index: usize,
        by: &str,
        reason: &str,
        keys: &KeyStore,
    ) -> Result<Tombstone, StoreError> {
        let (ledger, _) = self.open_ledger(keys)?;
        let missing = || StoreError::SelfCheck(format!("the ledger has no leaf {index}"));
        let entry = ledger.file().entries().get(index).ok_or_else(missing)?;
        let no_key = || StoreError::SelfCheck("there is no key to sign with".to_owned());
        let key = keys.signing().ok_or_else(no_key)?;
        let path = self.witness.join(&entry.file);
        let bytes = files::read(&path, self.max_bytes)?;
        let judged = Judged::of(&bytes, Strictness::Strict, &keys.keyring());
        let outcome = judged
            .contents()
            .map_or("unreadable", |contents| contents.outcome().name());
        let tombstone = Tombstone {
            index: index as u64,
            task_id: entry.leaf.task_id.to_string(),
            sha256: hex::encode(entry.leaf.bundle_sha256),
            outcome: outcome.to_owned(),
            deleted: clock::text(clock::now_ns()),
            by: by.to_owned(),
            reason: reason.to_owned(),
        };
        tombstones::append(&self.ledger, tombstone.clone(), key)?;
        let fail = |source| FileError::new(Action::Write, &path, source);
        files::remove_file(&path).map_err(fail)?;
        files::sync_directory(files::parent(&path)).map_err(fail)?;
        Ok(tombstone)
    }
}
