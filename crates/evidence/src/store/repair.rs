//! Recognises leaves and bundles that a crash left of a real seal: proved by our own signature, never by their
//! existence.

use witness::bundle::Strictness;
use witness::evidence::Evidence;
use witness::ledger::Leaf;

use super::{BATCH, Store, pending};
use crate::judged::Judged;
use crate::ledger::writer::Bundles;
use crate::ledger::{Entry, LedgerFile};
use crate::scan;
use base::files;
use base::keys::KeyStore;

/// The bundles beside the ledger of a store.
pub(super) struct Beside<'a> {
    pub(super) store: &'a Store,
    pub(super) keys: &'a KeyStore,
}

impl Beside<'_> {
    /// Reads a bundle that one of our keys signed.
    fn read_own<T>(
        &self,
        path: &std::path::Path,
        then: impl FnOnce(&Evidence<'_>) -> T,
    ) -> Option<T> {
        let bytes = files::read(path, self.store.max_bytes).ok()?;
        match Judged::of(&bytes, Strictness::Strict, &self.keys.keyring()) {
            Judged::Evidence(evidence) if self.keys.owns(evidence.signers()) => {
                Some(then(&evidence))
            }
            _ => None,
        }
    }
}

impl Bundles for Beside<'_> {
    fn proves(&self, ledger: &LedgerFile, index: usize) -> bool {
        let Some(entry) = ledger.entries().get(index) else {
            return false;
        };
        let expected = (entry.leaf, Some(ledger.chain_at(index)));
        let found =
            |evidence: &Evidence<'_>| (Leaf::of(evidence), evidence.contents().extensions().chain);
        let path = self.store.witness.join(&entry.file);
        let own = self
            .read_own(&path, found)
            .or_else(|| self.read_own(&pending(&path), found));
        own == Some(expected)
    }

    fn find_lost(&self, ledger: &LedgerFile, is_it: &dyn Fn(Leaf) -> bool) -> Option<Entry> {
        let root = &self.store.witness;
        let found = scan::find(std::slice::from_ref(root)).ok()?;
        let known: std::collections::BTreeSet<&str> = ledger
            .entries()
            .iter()
            .map(|entry| entry.file.as_str())
            .collect();
        let strays = found.iter().filter_map(|path| {
            let file = path.strip_prefix(root).ok()?.to_str()?;
            (!known.contains(file)).then(|| (path, file.to_owned()))
        });
        let chain = Some(ledger.chain_at(ledger.entries().len()));
        strays.take(BATCH).find_map(|(path, file)| {
            let bytes = files::read(path, self.store.max_bytes).ok()?;
            let judged = Judged::of(&bytes, Strictness::Strict, &self.keys.keyring());
            let contents = judged.contents()?;
            let leaf = Leaf {
                task_id: contents.header().task_id,
                created_ns: contents.header().created_ns,
                bundle_sha256: base::digest(&bytes),
            };
            is_it(leaf).then(|| Entry {
                leaf,
                file,
                imported: contents.extensions().chain != chain,
            })
        })
    }
}
