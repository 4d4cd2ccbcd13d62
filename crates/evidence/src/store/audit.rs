//! Is every bundle still there, unchanged, signed and in its place? Looks and reports; repairs nothing.
//!
//! A [`Comparison`] is made once from ledger, checkpoint and trust store; bundles are then shown to it one by one, from
//! any thread, while a scorecard or a view reads them for its own purpose anyway.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use witness::bundle::Strictness;
use witness::extension::Chain;
use witness::key::{KeyId, PublicKey};
use witness::ledger::note::SignedCheckpoint;

use super::checkpoints::{differing, uncovered};
use super::{Store, pending};
use crate::judged::Judged;
use crate::ledger::seals::Seals;
use crate::ledger::tombstones::{self, DELETED, DELETED_UNSOLVED, Tombstone};
use crate::ledger::{self, Coverage, LedgerError, LedgerFile, Problem, is_there, record};
use crate::scan;
use base::files::FileError;
use base::keys::{KeyStore, Signatories};
use base::trust::Trust;
use base::trust_store::TrustStore;

/// What an audit of ledger and bundles found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Name of the ledger; `None` when there is none yet.
    pub origin: Option<String>,
    /// Number of leaves.
    pub size: u64,
    /// Root of the tree.
    pub root: [u8; 32],
    /// The trust store was asked for an earlier state. Without a home directory there is no trust store.
    pub is_recorded: bool,
    /// The workspace was initialised and has sealed nothing yet.
    pub is_unsealed: bool,
    /// Empty when everything is as it should be.
    pub problems: Vec<Problem>,
}

impl Audit {
    /// Returns `true` if nothing is wrong but bundles that a person deleted.
    #[must_use]
    pub fn holds(&self) -> bool {
        let kinds = [DELETED, DELETED_UNSOLVED];
        self.problems.iter().all(|one| kinds.contains(&one.kind))
    }

    /// Names the problems in one sentence, each kind with its number; `None` when there are none. A deleted bundle that was
    /// solved makes no figure better, so it is not one of them.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let mut kinds: Vec<(&str, usize)> = Vec::new();
        for problem in self.problems.iter().filter(|one| one.kind != DELETED) {
            match kinds.iter_mut().find(|(kind, _)| *kind == problem.kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((problem.kind, 1)),
            }
        }
        let parts: Vec<String> = kinds
            .iter()
            .map(|(kind, count)| format!("{count} {}", kind.replace('_', " ")))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// A ledger and the bundles that it speaks of.
#[derive(Clone, Debug)]
pub struct Place {
    /// Directory of the ledger.
    pub ledger: PathBuf,
    /// Directory of the bundles.
    pub witness: PathBuf,
    /// Where an earlier state may be recorded.
    pub trust: Option<TrustStore>,
    /// The user initialised the workspace, so that a ledger with leaves has a record.
    pub is_initialised: bool,
    /// What is known of seals, where there is no ledger.
    pub seals: Seals,
}

/// What one bundle says about itself and its signature.
#[derive(Clone, Debug)]
pub struct BundleFacts {
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// Name of the verdict on it.
    pub verdict: &'static str,
    /// One of our own keys signed it.
    pub is_own: bool,
    /// Its place, by its own word.
    pub chain: Option<Chain>,
}

impl BundleFacts {
    /// Reads the facts off a judged bundle.
    #[must_use]
    pub fn of(bytes: &[u8], judged: &Judged<'_>, others: &[KeyId]) -> Self {
        let signers = judged.signers();
        let by_own = |id: KeyId| !others.contains(&id);
        Self {
            sha256: base::digest(bytes),
            verdict: judged.verdict().name(),
            is_own: signers.hmac.is_some() || signers.ed25519.is_some_and(by_own),
            chain: judged
                .contents()
                .and_then(|contents| contents.extensions().chain),
        }
    }
}

/// What was found among the bundles; one per thread.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Leaves whose bundle was met.
    met: Vec<usize>,
    problems: Vec<(usize, Problem)>,
    strays: Vec<PathBuf>,
}

/// The ledger, ready to be compared with bundles.
#[derive(Debug)]
pub struct Comparison {
    place: Place,
    others: Vec<KeyId>,
    ledger: Option<LedgerFile>,
    /// Bundles that a person deleted, by the index of their leaf.
    tombstones: BTreeMap<usize, Tombstone>,
    /// Indices of the leaves in the order of their files.
    by_file: Vec<usize>,
    /// The order of the leaves is the signed one, so that their chain can be checked.
    is_in_order: bool,
    before: Vec<Problem>,
    after: Vec<Problem>,
}

impl Comparison {
    /// Reads the ledger, and compares it with its checkpoint, with the trust store and, if given, another checkpoint.
    ///
    /// # Errors
    /// The ledger cannot be read at all.
    pub fn open(
        place: Place,
        signatories: Signatories,
        against: Option<&SignedCheckpoint>,
    ) -> Result<Self, LedgerError> {
        let ledger = LedgerFile::read(&place.ledger)?;
        let mut comparison = Self {
            others: signatories.others,
            tombstones: BTreeMap::new(),
            by_file: Vec::new(),
            is_in_order: true,
            before: Vec::new(),
            after: Vec::new(),
            ledger: None,
            place,
        };
        match &ledger {
            Some(ledger) => comparison.look_at_ledger(ledger, &signatories.trusted, against)?,
            None => comparison.look_without_ledger(against.is_some())?,
        }
        // A ledger that its own checkpoint refutes needs no further witness.
        if let Some(trust) = &comparison.place.trust
            && comparison.is_in_order
        {
            let tree = ledger.as_ref().map(LedgerFile::tree);
            let place = &comparison.place;
            let problem = record::compare(trust, &place.ledger, tree, place.is_initialised);
            comparison.after.extend(problem);
        }
        comparison.ledger = ledger;
        Ok(comparison)
    }

    fn look_at_ledger(
        &mut self,
        ledger: &LedgerFile,
        trusted: &[PublicKey],
        against: Option<&SignedCheckpoint>,
    ) -> Result<(), LedgerError> {
        self.tombstones = tombstones::read(&self.place.ledger, ledger.entries(), trusted);
        self.by_file = (0..ledger.entries().len()).collect();
        self.by_file
            .sort_by_key(|index| ledger.entries().get(*index).map(|entry| &entry.file));
        if let Some(torn) = ledger.torn() {
            self.before.push(Problem::new(
                "torn",
                format_args!(
                    "the last leaf was cut off after {} bytes; the next seal repairs it",
                    torn.len()
                ),
            ));
        }
        let coverage = ledger.coverage(trusted)?;
        self.is_in_order = !matches!(coverage, Coverage::Broken(_));
        self.after.extend(uncovered(coverage));
        if let Some(signed) = against {
            self.after.extend(differing(ledger, signed, trusted));
        }
        Ok(())
    }

    /// No ledger is fine as long as nothing says that there was one.
    fn look_without_ledger(&mut self, expected: bool) -> Result<(), LedgerError> {
        let gone = "there was a ledger, and it or the file with its name is gone";
        let why = match &self.place.seals {
            _ if expected || ledger::has_remains(&self.place.ledger)? => gone.to_owned(),
            Seals::Missed(why) => format!("{gone}: {why}"),
            Seals::None | Seals::NotYet => return Ok(()),
        };
        self.before.push(Problem::new("ledger_missing", why));
        Ok(())
    }

    /// The ledger, where there is one.
    #[must_use]
    pub fn ledger(&self) -> Option<&LedgerFile> {
        self.ledger.as_ref()
    }

    /// Returns what is wrong with the ledger itself, apart from the bundles.
    #[must_use]
    pub fn ledger_problems(&self) -> Vec<Problem> {
        [&*self.before, &self.after].concat()
    }

    /// Public keys whose bundles came by import.
    #[must_use]
    pub fn others(&self) -> &[KeyId] {
        &self.others
    }

    /// Compares one bundle file with its leaf and returns the leaf's index. A file that could not be read has no facts.
    pub fn look(&self, found: &mut Found, path: &Path, seen: Option<&BundleFacts>) -> Option<u64> {
        let file = path.strip_prefix(&self.place.witness).ok();
        let leaves = file
            .and_then(Path::to_str)
            .map_or(&[][..], |file| self.leaves_of(file));
        if leaves.is_empty() {
            found.strays.push(path.to_owned());
        }
        let mut place = None;
        for index in leaves {
            found.met.push(*index);
            match self.problem_of(*index, seen) {
                Some(problem) => found.problems.push((*index, problem)),
                None => place = Some(*index as u64),
            }
        }
        place
    }

    fn leaves_of(&self, file: &str) -> &[usize] {
        let Some(ledger) = &self.ledger else {
            return &[];
        };
        let name = |index: &usize| {
            let entry = ledger.entries().get(*index);
            entry.map_or("", |entry| entry.file.as_str())
        };
        let start = self.by_file.partition_point(|index| name(index) < file);
        let end = self.by_file.partition_point(|index| name(index) <= file);
        self.by_file.get(start..end).unwrap_or_default()
    }

    fn problem_of(&self, index: usize, seen: Option<&BundleFacts>) -> Option<Problem> {
        let ledger = self.ledger.as_ref()?;
        let entry = ledger.entries().get(index)?;
        let name = format_args!("bundle {index} of task {}", entry.leaf.task_id).to_string();
        let Some(seen) = seen else {
            return Some(Problem::new(
                "missing",
                format_args!("{name} cannot be read"),
            ));
        };
        if seen.sha256 != entry.leaf.bundle_sha256 {
            return Some(Problem::new(
                "edited",
                format_args!("{name} is not the one that was logged"),
            ));
        }
        let is_believed = match seen.verdict {
            "valid" => true,
            "unsigned" | "unchecked" => entry.imported,
            _ => false,
        };
        if !is_believed {
            let verdict = seen.verdict.replace('_', " ");
            return Some(Problem::new(
                "signature",
                format_args!("{name} is not signed by a key that is trusted here: {verdict}"),
            ));
        }
        let must_fit = self.is_in_order && seen.is_own && !entry.imported;
        (must_fit && seen.chain != Some(ledger.chain_at(index))).then(|| {
            Problem::new(
                "chain",
                format_args!("{name} was not sealed for this place in the ledger"),
            )
        })
    }

    /// Adds up what was found; every bundle has been shown by then.
    ///
    /// # Errors
    /// The system cannot tell whether a bundle is there.
    pub fn finish(&self, parts: impl IntoIterator<Item = Found>) -> Result<Audit, FileError> {
        let mut problems = self.before.clone();
        let mut of_leaves = Vec::new();
        let mut strays = Vec::new();
        let entries = self.ledger.as_ref().map_or(&[][..], LedgerFile::entries);
        let mut met = vec![false; entries.len()];
        for part in parts {
            of_leaves.extend(part.problems);
            strays.extend(part.strays);
            for index in part.met {
                if let Some(met) = met.get_mut(index) {
                    *met = true;
                }
            }
        }
        for (index, (entry, _)) in entries
            .iter()
            .zip(met)
            .enumerate()
            .filter(|(_, one)| !one.1)
        {
            let name = format_args!("bundle {index} of task {}", entry.leaf.task_id).to_string();
            let path = self.place.witness.join(&entry.file);
            let problem = if let Some(tombstone) = self.tombstones.get(&index) {
                tombstone.problem()
            } else if is_there(&pending(&path))? {
                let text =
                    format_args!("{name} was logged but not finished; the next seal does it")
                        .to_string();
                Problem::new("unfinished", text)
            } else {
                Problem::new("missing", format_args!("{name} is gone"))
            };
            of_leaves.push((index, problem));
        }
        of_leaves.sort_by_key(|(index, _)| *index);
        problems.extend(of_leaves.into_iter().map(|(_, problem)| problem));
        strays.sort();
        problems.extend(strays.iter().map(|path| {
            Problem::new(
                "unlogged",
                format_args!("`{}` is not in the ledger", path.display()),
            )
        }));
        problems.extend(self.after.iter().cloned());
        let tree = self.ledger.as_ref().map(LedgerFile::tree);
        Ok(Audit {
            origin: tree.map(|tree| tree.origin().as_str().to_owned()),
            size: tree.map_or(0, witness::ledger::Ledger::len),
            root: tree.map_or([0; 32], witness::ledger::Ledger::root),
            is_recorded: self.place.trust.is_some(),
            is_unsealed: tree.is_none() && self.place.seals == Seals::NotYet,
            problems,
        })
    }
}

impl Store {
    /// Where the ledger and the bundles of this store lie.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            ledger: self.ledger.clone(),
            witness: self.witness.clone(),
            trust: self.trust.clone(),
            is_initialised: Trust::of(&self.workspace).is_initialised(),
            seals: Seals::without_ledger(&self.ledger, &self.workspace),
        }
    }

    /// Files whose change can change the result of a comparison, beside the bundles.
    #[must_use]
    pub fn ledger_files(&self) -> Vec<PathBuf> {
        let record = self.trust.as_ref();
        let record = record.and_then(|trust| record::path(trust, &self.ledger));
        ledger::files_in(&self.ledger)
            .into_iter()
            .chain(record)
            .collect()
    }

    /// Reads the ledger for a comparison with bundles that the caller reads.
    ///
    /// # Errors
    /// The ledger cannot be read at all.
    pub fn comparison(
        &self,
        keys: &KeyStore,
        against: Option<&SignedCheckpoint>,
    ) -> Result<Comparison, LedgerError> {
        Comparison::open(self.place(), keys.signatories(), against)
    }

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
        // A seal that is under way looks like damage, so look again while no seal runs.
        let _pause = self.pause_seals();
        self.audit_once(keys, against)
    }

    /// Waits for a seal that is under way and keeps others from starting until the result is dropped.
    #[must_use]
    pub fn pause_seals(&self) -> impl Sized + use<> {
        ledger::pause_writers(&self.ledger)
    }

    fn audit_once(
        &self,
        keys: &KeyStore,
        against: Option<&SignedCheckpoint>,
    ) -> Result<Audit, LedgerError> {
        let comparison = self.comparison(keys, against)?;
        let paths = self.bundle_paths()?;
        let keyring = keys.keyring();
        let parts = scan::scan(
            &paths,
            scan::Options::all_cores(self.max_bytes),
            Found::default,
            |found, visit| {
                let seen = visit.bytes.ok().map(|bytes| {
                    let judged = Judged::of(bytes, Strictness::Strict, &keyring);
                    BundleFacts::of(bytes, &judged, comparison.others())
                });
                comparison.look(found, visit.path, seen.as_ref());
            },
            |_| {},
        );
        Ok(comparison.finish(parts)?)
    }

    /// The bundle files of the store; none when there is no such directory.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn bundle_paths(&self) -> Result<Vec<PathBuf>, FileError> {
        if is_there(&self.witness)? {
            scan::find(std::slice::from_ref(&self.witness))
        } else {
            Ok(Vec::new())
        }
    }
}
