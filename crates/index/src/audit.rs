//! Check of the ledger by the view's data on every bundle: no bundle is read again for it.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use evidence::ledger::Problem;
use evidence::store::audit::{Audit, BundleFacts, Found};
use rusqlite::Connection;
use witness::extension::Chain;

use super::log::Stamp;
use super::{View, ViewError};

/// Verdicts on a bundle.
const VERDICTS: [&str; 5] = [
    "valid",
    "unsigned",
    "unchecked",
    "bad_signature",
    "malformed",
];

impl View {
    /// Returns the comparison of bundles and ledger.
    pub fn audit(&self) -> Result<Arc<Audit>, ViewError> {
        if let Some(known) = self.known_audit() {
            return Ok(known);
        }
        let audit = Arc::new(self.compare_with_ledger()?);
        self.keep_audit(&audit);
        Ok(audit)
    }

    /// Returns `true` if the ledger's files differ from those at the last call.
    pub(super) fn is_ledger_other(&self) -> bool {
        let files = self.sources.store.ledger_files();
        let stamps: Vec<Option<Stamp>> = files.iter().map(|path| Stamp::of(path)).collect();
        let mut known = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = *known != stamps;
        *known = stamps;
        is_other
    }

    /// Makes the next refresh compare with the ledger.
    pub(super) fn forget_ledger(&self) {
        let mut known = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }

    /// Compares with the ledger. A ledger that cannot be read is a problem of the ledger and not of the view.
    pub(super) fn compare_with_ledger(&self) -> Result<Audit, ViewError> {
        let store = &self.sources.store;
        let keys = store.keys()?;
        let comparison = match store.comparison(&keys, None) {
            Ok(comparison) => comparison,
            Err(error) => {
                return Ok(Audit {
                    problems: vec![Problem {
                        kind: "ledger_damaged",
                        detail: error.to_string(),
                    }],
                    ..Audit::default()
                });
            }
        };
        let found = self.read(|db| {
            let mut found = Found::default();
            each_bundle(db, |file, seen| {
                let path = store.witness_dir().join(file);
                comparison.look(&mut found, &path, seen.as_ref());
            })?;
            Ok(found)
        })?;
        Ok(comparison.finish([found])?)
    }
}

fn each_bundle(
    db: &Connection,
    mut each: impl FnMut(&Path, Option<BundleFacts>),
) -> Result<(), rusqlite::Error> {
    let mut query =
        db.prepare_cached("SELECT file, sha256, verdict, own, sequence, previous FROM task")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let file = row.get_ref(0)?.as_str()?;
        let sha256: Option<[u8; 32]> = row.get(1)?;
        let verdict = row.get_ref(2)?.as_str()?;
        let verdict = VERDICTS.into_iter().find(|known| *known == verdict);
        let chain = match (row.get::<_, Option<i64>>(4)?, row.get(5)?) {
            (Some(sequence), Some(previous)) => Some(Chain {
                sequence: sequence.cast_unsigned(),
                previous,
            }),
            _ => None,
        };
        let is_own = row.get(3)?;
        let seen = sha256.zip(verdict).map(|(sha256, verdict)| BundleFacts {
            sha256,
            verdict,
            is_own,
            chain,
        });
        each(Path::new(file), seen);
    }
    Ok(())
}
