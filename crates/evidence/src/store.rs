//! The bundles of a workspace: sealing new ones and importing those of others. [`audit`] compares them with the ledger,
//! [`repair`] recognises leaves and bundles that a crash left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use witness::builder::{Builder, Refused};
use witness::bundle::{Bundle, Strictness};
use witness::evidence::Verdict;
use witness::key::Keyring;
use witness::ledger::Leaf;
use witness::wire::{Outcome, TaskId};

use crate::judged::Judged;
use crate::ledger::record::Before;
use crate::ledger::writer::{LedgerWriter, NotAppended, close_to_others};
use crate::ledger::{self, Entry, LedgerError, LedgerFile, SEALING, is_there, record};
use crate::scan;
use base::files::{self, Action, FileError, Privacy};
use base::installed::Installed;
use base::keys::{self, Algorithm, KeyError, KeyStore};
use base::recorded;
use base::trust::Trust;
use base::trust_store::TrustStore;
use base::workspace::Workspace;

pub mod audit;
mod checkpoints;
mod deletion;
mod join;
mod repair;

/// Bundles that are logged with one durable write; a crash leaves at most that many to finish.
const BATCH: usize = 256;

/// Error of storing a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The format cannot hold it.
    #[error("cannot write the bundle")]
    Refused(#[from] Refused),
    /// The task id is taken.
    #[error("task `{0}` is already sealed in this workspace")]
    AlreadySealed(TaskId),
    /// It could be written, but not read again.
    #[error("the bundle has {size} bytes, the limit is {limit}")]
    TooLarge {
        size: usize,
        /// Largest size that is read.
        limit: u64,
    },
    /// The bundle's own test log refutes its outcome. Nothing was stored.
    #[error("the outcome is `{}`, and the test log shows that not every test passed", stated.name())]
    Contradiction {
        /// The stated outcome.
        stated: Outcome,
    },
    /// The bundle is logged; a later step failed.
    #[error(
        "task `{task_id}` is logged, and its bundle or checkpoint is not in place yet: {source}"
    )]
    Unfinished {
        task_id: TaskId,
        /// Error of the later step.
        source: Box<LedgerError>,
    },
    /// Our own bundle did not pass our own check. Nothing was stored.
    #[error("the new bundle does not verify: {0}")]
    SelfCheck(String),
}

/// Access to the bundles, keys and ledger of a workspace.
#[derive(Clone, Debug)]
pub struct Store {
    witness: PathBuf,
    ledger: PathBuf,
    workspace: Workspace,
    max_bytes: u64,
    /// Record of the ledger's last known state; without it, a rollback of everything is not noticed.
    trust: Option<TrustStore>,
}

/// A bundle that was stored.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// Task id of the bundle.
    pub task_id: TaskId,
    /// Path of the bundle.
    pub path: PathBuf,
    /// SHA-256 of the bundle.
    pub sha256: [u8; 32],
    /// Its place in the ledger.
    pub index: u64,
    /// Effects of a crash that were repaired, as sentences for people.
    pub repaired: Vec<String>,
}

/// Result of importing one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// Stored under this path.
    Stored(PathBuf),
    /// The same bytes were stored already.
    Known,
    /// Not readable or not verified, so not stored; as a sentence for people.
    Refused(String),
}

impl Store {
    /// Returns the store of a workspace. No bundle larger than `max_bytes` is read. The state of the ledger is recorded in
    /// the user's trust store and compared with it.
    #[must_use]
    pub fn of(workspace: &Workspace, max_bytes: u64) -> Self {
        Self {
            witness: workspace.witness_dir(),
            ledger: workspace.ledger_dir(),
            max_bytes,
            trust: workspace.state().map(TrustStore::at),
            workspace: workspace.clone(),
        }
    }

    /// Returns the directory of the bundles.
    #[must_use]
    pub fn witness_dir(&self) -> &Path {
        &self.witness
    }

    /// Returns the keys of the workspace.
    ///
    /// # Errors
    /// A key file cannot be read.
    pub fn keys(&self) -> Result<KeyStore, KeyError> {
        KeyStore::open(&self.workspace)
    }

    /// Returns the ledger, for reading.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn ledger(&self) -> Result<Option<LedgerFile>, LedgerError> {
        LedgerFile::read(&self.ledger)
    }

    /// Returns the path of the leaves file, with one line per logged bundle.
    #[must_use]
    pub fn leaves_path(&self) -> PathBuf {
        ledger::leaves_path(&self.ledger)
    }

    /// Returns the place of a bundle in the ledger and the ledger's size; see [`ledger::place_of`].
    ///
    /// # Errors
    /// It cannot be read.
    pub fn place_of(&self, leaf: &Leaf) -> Result<Option<(u64, u64)>, LedgerError> {
        ledger::place_of(&self.ledger, leaf)
    }

    /// Returns the keys, created if missing, and the algorithms of the created ones.
    ///
    /// # Errors
    /// A key cannot be read or created.
    pub fn keys_for_writing(&self) -> Result<(KeyStore, Vec<Algorithm>), KeyError> {
        keys::create_missing(&self.workspace)
    }

    /// Signs a bundle, stores it, and logs it.
    ///
    /// # Errors
    /// It cannot be written; then nothing is stored.
    pub fn seal(&self, mut builder: Builder, keys: &KeyStore) -> Result<Sealed, StoreError> {
        let stated = builder.stated_outcome();
        if builder.supported_outcome() != stated {
            return Err(StoreError::Contradiction { stated });
        }
        let (mut ledger, mut repaired) = self.open_ledger(keys)?;
        builder.chain(ledger.file().chain_at(ledger.file().entries().len()));
        let bytes = builder.build(keys.hmac(), keys.signing())?;
        if bytes.len() as u64 > self.max_bytes {
            return Err(StoreError::TooLarge {
                size: bytes.len(),
                limit: self.max_bytes,
            });
        }
        let bundle = Bundle::parse(&bytes, Strictness::Strict)
            .map_err(|malformed| StoreError::SelfCheck(malformed.detail))?;
        let evidence = bundle
            .verify(&keys.keyring())
            .map_err(|unproven| StoreError::SelfCheck(unproven.verdict.explain()))?;
        let leaf = Leaf::of(&evidence);
        let file = relative_path(leaf.task_id, leaf.created_ns, "");
        let path = self.witness.join(&file);
        // The ledger covers other months as well; the file may be one that was never logged.
        let mut logged = ledger.file().entries().iter();
        if logged.any(|entry| entry.leaf.task_id == leaf.task_id) || is_there(&path)? {
            return Err(StoreError::AlreadySealed(leaf.task_id));
        }
        let index = ledger.file().tree().len();
        let new = [Entry {
            leaf,
            file,
            imported: false,
        }];
        let written = self.write_pending(&path, &bytes);
        self.commit_if(written.map_err(StoreError::from), &mut ledger, &new, keys)?;
        repaired.extend(self.remember(ledger.file(), index));
        Ok(Sealed {
            task_id: leaf.task_id,
            path,
            sha256: leaf.bundle_sha256,
            index,
            repaired,
        })
    }

    /// Stores and logs bundles that were sealed elsewhere. Unverified ones are refused, unless `unverified` is set;
    /// damaged ones are always refused. `each` is called for every file. Returns the repairs made on the way.
    ///
    /// # Errors
    /// A bundle cannot be written. Bundles that were reported before stay stored.
    pub fn import(
        &self,
        paths: &[PathBuf],
        keyring: &Keyring,
        unverified: bool,
        mut each: impl FnMut(&Path, &Imported),
    ) -> Result<Vec<String>, StoreError> {
        let refusal = |path: &Path, bytes: &mut Vec<u8>| {
            refusal(path, self.max_bytes, keyring, unverified, bytes)
        };
        // Nothing is created, neither key nor ledger, before there is something to import.
        let mut bytes = Vec::new();
        let mut paths = paths;
        while let Some((path, rest)) = paths.split_first() {
            let Some(why) = refusal(path, &mut bytes) else {
                break;
            };
            each(path, &Imported::Refused(why));
            paths = rest;
        }
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let (keys, _) = self.keys_for_writing()?;
        let (mut ledger, mut repaired) = self.open_ledger(&keys)?;
        let leaves = ledger.file().tree().len();
        let mut known: BTreeSet<[u8; 32]> = ledger
            .file()
            .entries()
            .iter()
            .map(|entry| entry.leaf.bundle_sha256)
            .collect();
        for batch in paths.chunks(BATCH) {
            let mut new = Vec::new();
            let mut reports = Vec::new();
            let staged = batch.iter().try_for_each(|path| {
                let imported = match refusal(path, &mut bytes) {
                    Some(why) => Imported::Refused(why),
                    None => self.stage(&bytes, &mut known, &mut new)?,
                };
                reports.push((path, imported));
                Ok(())
            });
            self.commit_if(staged, &mut ledger, &new, &keys)?;
            reports
                .iter()
                .for_each(|(path, imported)| each(path, imported));
        }
        repaired.extend(self.remember(ledger.file(), leaves));
        Ok(repaired)
    }

    /// Writes one acceptable bundle under its pending name, unless it is stored already.
    fn stage(
        &self,
        bytes: &[u8],
        known: &mut BTreeSet<[u8; 32]>,
        new: &mut Vec<Entry>,
    ) -> Result<Imported, StoreError> {
        let bundle = Bundle::parse(bytes, Strictness::Strict)
            .map_err(|malformed| StoreError::SelfCheck(malformed.detail))?;
        let header = bundle.claims().header();
        let leaf = Leaf {
            task_id: header.task_id,
            created_ns: header.created_ns,
            bundle_sha256: base::digest(bundle.bytes()),
        };
        if !known.insert(leaf.bundle_sha256) {
            return Ok(Imported::Known);
        }
        let mut file = relative_path(header.task_id, header.created_ns, "");
        let is_taken =
            is_there(&self.witness.join(&file))? || new.iter().any(|entry| entry.file == file);
        if is_taken {
            // Another bundle of the same task: both are kept, distinguished by their hash.
            let short: String = hex::encode(leaf.bundle_sha256).chars().take(16).collect();
            file = relative_path(header.task_id, header.created_ns, &format!("-{short}"));
        }
        let path = self.witness.join(&file);
        new.push(Entry {
            leaf,
            file,
            imported: true,
        });
        self.write_pending(&path, bundle.bytes())?;
        Ok(Imported::Stored(path))
    }

    /// Bundles hold prompts, diffs and logs, so only their owner may read them.
    fn write_pending(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        files::make_directory(&self.witness, Privacy::Secret)?;
        close_to_others(&self.witness)?;
        let month = files::parent(path);
        files::make_directory(files::parent(month), Privacy::Secret)?;
        files::make_directory(month, Privacy::Secret)?;
        files::write(&pending(path), bytes, Privacy::Secret)
    }

    /// Logs the bundles under pending names, gives them their final names, and publishes the signed tree.
    ///
    /// A pending bundle is removed only when its leaf is known not to be in the ledger; otherwise the next seal finishes
    /// it.
    fn commit_if(
        &self,
        written: Result<(), StoreError>,
        ledger: &mut LedgerWriter,
        new: &[Entry],
        keys: &KeyStore,
    ) -> Result<(), StoreError> {
        let Some(first) = new.first() else {
            return written;
        };
        let unfinished = |source: LedgerError| StoreError::Unfinished {
            task_id: first.leaf.task_id,
            source: Box::new(source),
        };
        let logged = written.map_err(Ok).and_then(|()| {
            let no_key = || StoreError::SelfCheck("there is no key to sign with".to_owned());
            let key = keys.signing().ok_or_else(no_key).map_err(Ok)?;
            ledger.append(new, key).map_err(Err)
        });
        match logged {
            Ok(()) => recorded::mark(),
            Err(Err(NotAppended::Unknown(error))) => return Err(unfinished(error)),
            Err(Err(NotAppended::Absent(error))) => {
                self.discard(new);
                return Err(error.into());
            }
            Err(Ok(error)) => {
                self.discard(new);
                return Err(error);
            }
        }
        let finished = new
            .iter()
            .try_for_each(|entry| finish(&self.witness.join(&entry.file)))
            .and_then(|()| ledger.publish());
        finished.map_err(|error| unfinished(error.into()))
    }

    fn discard(&self, new: &[Entry]) {
        for entry in new {
            // A bundle that was never written is not an error.
            files::remove_file(&pending(&self.witness.join(&entry.file))).ok();
        }
    }

    /// Records the new state of the ledger, which had `leaves` leaves before. The seal is done by then, so a failure is
    /// only reported.
    fn remember(&self, ledger: &LedgerFile, leaves: u64) -> Option<String> {
        // The trust store records the same; this is for the case that it is lost.
        Installed::note_seal(&self.workspace).ok();
        let trust = self.trust.as_ref()?;
        let before = Before {
            leaves,
            is_expected: Trust::of(&self.workspace).is_initialised(),
        };
        match record::remember(trust, &self.ledger, ledger.tree(), before) {
            Ok(None) => None,
            Ok(Some(why)) => Some(format!(
                "the ledger does not continue the one that is known here: {why}; see `roleos ledger verify`"
            )),
            Err(error) => Some(format!(
                "the state of the ledger was not recorded in the trust store: {error}: {}",
                error.source
            )),
        }
    }

    /// Records the current ledger in the trust store, regardless of the earlier record. Returns its size.
    ///
    /// # Errors
    /// There is no ledger, or the record cannot be written.
    pub fn adopt_ledger(&self) -> Result<Option<u64>, StoreError> {
        let (Some(trust), Some(ledger)) = (&self.trust, self.ledger()?) else {
            return Ok(None);
        };
        record::replace(trust, &self.ledger, ledger.tree())?;
        Ok(Some(ledger.tree().len()))
    }

    /// Locks the ledger and finishes bundles that were logged but do not have their final name. Returns the repairs.
    fn open_ledger(&self, keys: &KeyStore) -> Result<(LedgerWriter, Vec<String>), StoreError> {
        let bundles = repair::Beside { store: self, keys };
        let ledger = LedgerWriter::open(&self.ledger, &keys.public_keys(), &bundles)?;
        let mut repaired = ledger.repaired().to_vec();
        for entry in ledger.file().entries().iter().rev().take(BATCH) {
            let path = self.witness.join(&entry.file);
            if !is_there(&path)? && is_there(&pending(&path))? {
                finish(&path)?;
                let task = entry.leaf.task_id;
                repaired.push(format!(
                    "the bundle of task {task} was logged but not finished; it is now"
                ));
            }
        }
        Ok((ledger, repaired))
    }
}

/// Checks a file for an import; returns the reason if it is refused. Damaged files always are.
fn refusal(
    path: &Path,
    max_bytes: u64,
    keyring: &Keyring,
    unverified: bool,
    bytes: &mut Vec<u8>,
) -> Option<String> {
    if let Err(error) = files::read_into(path, max_bytes, bytes) {
        return Some(format!("it cannot be read: {}", error.source));
    }
    let judged = Judged::of(bytes, Strictness::Strict, keyring);
    let acceptable = match judged.verdict() {
        Verdict::Valid => true,
        Verdict::Unsigned { required: false } | Verdict::Unchecked => unverified,
        Verdict::Unsigned { required: true } | Verdict::BadSignature(_) | Verdict::Malformed(_) => {
            false
        }
    };
    (!acceptable).then(|| judged.verdict().explain())
}

/// Returns `2026/02/<task id>.rvww`, by the time in the header.
fn relative_path(task: TaskId, created_ns: u64, suffix: &str) -> String {
    let date = jiff::Timestamp::from_nanosecond(i128::from(created_ns))
        .map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).date())
        .unwrap_or_default();
    let (year, month) = (date.year(), date.month());
    format!("{year:04}/{month:02}/{task}{suffix}.{}", scan::EXTENSION)
}

/// Returns the name of a bundle that is not logged yet.
fn pending(path: &Path) -> PathBuf {
    path.with_added_extension(SEALING)
}

fn finish(path: &Path) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Name, path, source);
    files::rename(&pending(path), path).map_err(fail)?;
    files::sync_directory(files::parent(path)).map_err(fail)
}
