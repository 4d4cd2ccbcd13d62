//! Is every bundle still there, unchanged and in its place? Looks and reports; repairs nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use witness::key::PublicKey;
use witness::ledger::note::SignedCheckpoint;

use super::{Store, pending};
use crate::files;
use crate::keys::KeyStore;
use crate::ledger::{self, Entry, LedgerError, LedgerFile, Problem};
use crate::scan;

/// What an audit of ledger and bundles found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Name of the ledger; `None` when there is none yet.
    pub origin: Option<String>,
    /// Number of leaves.
    pub size: u64,
    /// Root of the tree.
    pub root: [u8; 32],
    /// Empty when everything is as it should be.
    pub problems: Vec<Problem>,
}

impl Store {
    /// Compares the bundles on disk with the ledger, and the ledger with its checkpoint and, if given, another one.
    ///
    /// # Errors
    /// The ledger cannot be read at all.
    pub fn audit(
        &self,
        keys: &KeyStore,
        against: Option<&SignedCheckpoint>,
    ) -> Result<Audit, LedgerError> {
        let audit = self.audit_once(keys, against)?;
        if audit.problems.is_empty() {
            return Ok(audit);
        }
        // A seal that is under way looks like damage, so look again while nobody seals.
        let _pause = ledger::pause_writers(&self.ledger);
        self.audit_once(keys, against)
    }

    fn audit_once(
        &self,
        keys: &KeyStore,
        against: Option<&SignedCheckpoint>,
    ) -> Result<Audit, LedgerError> {
        let Some(ledger) = self.ledger()? else {
            return self.audit_without_ledger(against.is_some());
        };
        let mut problems = Vec::new();
        if let Some(torn) = ledger.torn() {
            problems.push(Problem::new(
                "torn",
                format_args!(
                    "the last leaf was cut off after {} bytes; the next seal repairs it",
                    torn.len()
                ),
            ));
        }
        self.audit_bundles(&ledger, &mut problems);
        self.audit_strays(ledger.entries(), &mut problems)?;
        let trusted = keys.public_keys();
        match ledger.checkpoint()? {
            Some(signed) => {
                audit_checkpoint("the checkpoint", &ledger, &signed, &trusted, &mut problems);
            }
            None if ledger.tree().is_empty() => {}
            None => problems.push(Problem::new(
                "checkpoint_missing",
                "the ledger has no checkpoint",
            )),
        }
        if let Some(signed) = against {
            audit_checkpoint(
                "the given checkpoint",
                &ledger,
                signed,
                &trusted,
                &mut problems,
            );
        }
        Ok(Audit {
            origin: Some(ledger.tree().origin().as_str().to_owned()),
            size: ledger.tree().len(),
            root: ledger.tree().root(),
            problems,
        })
    }

    /// No ledger is fine as long as nothing says that there was one.
    fn audit_without_ledger(&self, expected: bool) -> Result<Audit, LedgerError> {
        let mut problems = Vec::new();
        if expected || ledger::has_remains(&self.ledger) {
            problems.push(Problem::new(
                "ledger_missing",
                "there was a ledger, and it or the file with its name is gone",
            ));
        }
        self.audit_strays(&[], &mut problems)?;
        Ok(Audit {
            problems,
            ..Audit::default()
        })
    }

    fn audit_bundles(&self, ledger: &LedgerFile, problems: &mut Vec<Problem>) {
        let mut buffer = Vec::new();
        for (index, entry) in ledger.entries().iter().enumerate() {
            let path = self.witness.join(&entry.file);
            let name = format!("bundle {index} of task {}", entry.leaf.task_id);
            let read = files::read_into(&path, self.max_bytes, &mut buffer);
            let problem = match read {
                Ok(()) if crate::digest(&buffer) == entry.leaf.bundle_sha256 => continue,
                Ok(()) => Problem::new(
                    "edited",
                    format_args!("{name} is not the one that was logged"),
                ),
                Err(_) if pending(&path).exists() => Problem::new(
                    "unfinished",
                    format_args!("{name} was logged but not finished; the next seal does it"),
                ),
                Err(error) => {
                    Problem::new("missing", format_args!("{name} is gone: {}", error.source))
                }
            };
            problems.push(problem);
        }
    }

    /// Bundles that lie in the directory and were never logged.
    fn audit_strays(
        &self,
        entries: &[Entry],
        problems: &mut Vec<Problem>,
    ) -> Result<(), LedgerError> {
        if !self.witness.exists() {
            return Ok(());
        }
        let logged: BTreeSet<PathBuf> = entries
            .iter()
            .map(|entry| self.witness.join(&entry.file))
            .collect();
        for path in scan::find(std::slice::from_ref(&self.witness))? {
            if !logged.contains(&path) {
                problems.push(Problem::new(
                    "unlogged",
                    format_args!("`{}` is not in the ledger", path.display()),
                ));
            }
        }
        Ok(())
    }
}

fn audit_checkpoint(
    what: &str,
    ledger: &LedgerFile,
    signed: &SignedCheckpoint,
    trusted: &[PublicKey],
    problems: &mut Vec<Problem>,
) {
    let attested = match ledger::attest(signed, trusted) {
        Ok(attested) => attested,
        Err(why) => {
            problems.push(Problem::new(
                "checkpoint_signature",
                format_args!("{what} is not signed by a key that is trusted here: {why}"),
            ));
            return;
        }
    };
    let consistency = ledger.tree().compare(attested.checkpoint());
    if !consistency.holds() {
        let detail = format_args!("{what}: {}", consistency.explain()).to_string();
        problems.push(Problem::new(consistency.name(), detail));
    }
}
