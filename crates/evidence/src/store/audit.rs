//! Checks that every bundle is still there, unchanged, signed and in its place. Reports; repairs nothing.
//!
//! A [`Comparison`] is made once from ledger, checkpoint and trust store; bundles are then passed to it one by one,
//! from any thread, while a scorecard or a view reads them anyway.

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

/// Result of an audit of ledger and bundles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Name of the ledger; `None` when there is none yet.
    pub origin: Option<String>,
    /// Number of leaves.
    pub size: u64,
    /// Root of the tree.
    pub root: [u8; 32],
    /// Set if the trust store was checked for an earlier state. Without a home directory there is no trust store.
    pub is_recorded: bool,
    /// Set if the workspace was initialised and has sealed nothing yet.
    pub is_unsealed: bool,
    /// Problems found; empty if there are none.
    pub problems: Vec<Problem>,
}

impl Audit {
    /// Returns `true` if there are no problems except deleted bundles.
    #[must_use]
    pub fn holds(&self) -> bool {
        let kinds = [DELETED, DELETED_UNSOLVED];
        self.problems.iter().all(|one| kinds.contains(&one.kind))
    }

    /// Names the problems in one sentence, each kind with its count; `None` if there are none. A deleted bundle that
    /// was solved improves no figure, so it is not one of them.
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

/// Directories of a ledger and its bundles, with the knowledge about them.
#[derive(Clone, Debug)]
pub struct Place {
    /// Directory of the ledger.
    pub ledger: PathBuf,
    /// Directory of the bundles.
    pub witness: PathBuf,
    /// Record of earlier states.
    pub trust: Option<TrustStore>,
    /// Set if the user initialised the workspace, so that a ledger with leaves must have a record.
    pub is_initialised: bool,
    /// Knowledge about seals, if there is no ledger.
    pub seals: Seals,
}

/// Facts of one bundle for the comparison.
#[derive(Clone, Debug)]
pub struct BundleFacts {
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// Name of its verdict.
    pub verdict: &'static str,
    /// Set if one of our own keys signed it.
    pub is_own: bool,
    /// Its place, as it states it.
    pub chain: Option<Chain>,
}

impl BundleFacts {
    /// Extracts the facts of a judged bundle.
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

/// Findings among the bundles; one per thread.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Leaves whose bundle was found.
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
    /// Set if the leaves are in the signed order, so that their chain can be checked.
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
        // A ledger that its own checkpoint refutes needs no further evidence.
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

    /// Checks a missing ledger, which is fine unless traces show that there was one.
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

    /// Returns the ledger, if there is one.
    #[must_use]
    pub fn ledger(&self) -> Option<&LedgerFile> {
        self.ledger.as_ref()
    }

    /// Returns the problems of the ledger itself, apart from the bundles.
    #[must_use]
    pub fn ledger_problems(&self) -> Vec<Problem> {
        [&*self.before, &self.after].concat()
    }

    /// Returns the keys of imported bundles.
    #[must_use]
    pub fn others(&self) -> &[KeyId] {
        &self.others
    }

    /// Compares one bundle file with its leaf and returns the leaf's index. An unreadable file has no facts.
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

    /// Adds up the findings, after all bundles were passed.
    ///
    /// # Errors
    /// The existence of a bundle cannot be checked.
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
    /// Returns the directories of ledger and bundles of this store.
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

    /// Lists the files, beside the bundles, that can change the result of a comparison.
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
        // A seal in progress looks like damage, so check again while no seal runs.
        let _pause = self.pause_seals();
        self.audit_once(keys, against)
    }

    /// Waits for a seal in progress and blocks others until the result is dropped.
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

    /// Lists the bundle files of the store; none if there is no such directory.
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
