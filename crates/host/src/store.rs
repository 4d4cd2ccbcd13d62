//! The bundles of a workspace: sealing new ones and taking in those of others. [`audit`] compares them with the ledger.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use witness::builder::{Builder, Refused};
use witness::bundle::{Bundle, Strictness};
use witness::evidence::Verdict;
use witness::extension::Chain;
use witness::key::Keyring;
use witness::ledger::Leaf;
use witness::wire::TaskId;

use crate::files::{self, Action, FileError, Privacy};
use crate::keys::{self, Algorithm, KeyError, KeyStore};
use crate::ledger::{self, Entry, LedgerError, LedgerFile, LedgerWriter, SEALING};
use crate::scan;
use crate::view::bundle::Judged;

pub mod audit;

/// Bundles that are logged with one durable write; a crash leaves at most so many to finish.
const BATCH: usize = 256;

/// Why a bundle could not be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger.
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
        /// Its size.
        size: usize,
        /// What is read here.
        limit: u64,
    },
    /// Our own bundle did not pass our own check. Nothing was stored.
    #[error("the new bundle does not verify: {0}")]
    SelfCheck(String),
}

/// Where bundles, keys and ledger of a workspace lie.
#[derive(Clone, Debug)]
pub struct Store {
    witness: PathBuf,
    ledger: PathBuf,
    keys: PathBuf,
    max_bytes: u64,
}

/// A bundle that was stored.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// Which task.
    pub task_id: TaskId,
    /// Where the bundle is.
    pub path: PathBuf,
    /// SHA-256 of the bundle.
    pub sha256: [u8; 32],
    /// Its place in the ledger.
    pub index: u64,
    /// What a crash had left behind and was put right, in words for people.
    pub repaired: Vec<String>,
}

/// What an import did with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// Stored under this path.
    Stored(PathBuf),
    /// The same bytes were there already.
    Known,
    /// Not readable or not believed, so not stored; in words for people.
    Refused(String),
}

impl Store {
    /// The store below `role_os`, the workspace's `.role-os`. No bundle larger than `max_bytes` is read.
    #[must_use]
    pub fn new(role_os: &Path, max_bytes: u64) -> Self {
        Self {
            witness: role_os.join("witness"),
            ledger: role_os.join("ledger"),
            keys: role_os.join("keys"),
            max_bytes,
        }
    }

    /// The directory of the bundles.
    #[must_use]
    pub fn witness_dir(&self) -> &Path {
        &self.witness
    }

    /// The keys of the workspace.
    ///
    /// # Errors
    /// A key file cannot be read.
    pub fn keys(&self) -> Result<KeyStore, KeyError> {
        KeyStore::open(&self.keys)
    }

    /// The ledger, for reading.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn ledger(&self) -> Result<Option<LedgerFile>, LedgerError> {
        LedgerFile::read(&self.ledger)
    }

    /// The file with a line a logged bundle.
    #[must_use]
    pub fn leaves_path(&self) -> PathBuf {
        ledger::leaves_path(&self.ledger)
    }

    /// Where the ledger has a bundle, byte for byte, and how many it has; see [`ledger::place_of`].
    ///
    /// # Errors
    /// It cannot be read.
    pub fn place_of(&self, leaf: &Leaf) -> Result<Option<(u64, u64)>, LedgerError> {
        ledger::place_of(&self.ledger, leaf)
    }

    /// The keys, made when one is missing, and the algorithms for which that was so.
    ///
    /// # Errors
    /// A key cannot be read or made.
    pub fn keys_for_writing(&self) -> Result<(KeyStore, Vec<Algorithm>), KeyError> {
        keys::create_missing(&self.keys)
    }

    /// Signs a bundle, stores it, and logs it.
    ///
    /// # Errors
    /// It cannot be written; then nothing is stored.
    pub fn seal(&self, mut builder: Builder, keys: &KeyStore) -> Result<Sealed, StoreError> {
        let (mut ledger, repaired) = self.open_ledger(keys)?;
        let last = ledger.file().entries().last();
        builder.chain(Chain {
            sequence: ledger.file().tree().len(),
            previous: last.map_or([0; 32], |entry| entry.leaf.bundle_sha256),
        });
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
        // The ledger knows those of other months as well; the file may be one that was never logged.
        let mut logged = ledger.file().entries().iter();
        if logged.any(|entry| entry.leaf.task_id == leaf.task_id) || path.exists() {
            return Err(StoreError::AlreadySealed(leaf.task_id));
        }
        let index = ledger.file().tree().len();
        let new = [Entry { leaf, file }];
        let written = self.write_pending(&path, &bytes);
        self.commit_if(written.map_err(StoreError::from), &mut ledger, &new, keys)?;
        Ok(Sealed {
            task_id: leaf.task_id,
            path,
            sha256: leaf.bundle_sha256,
            index,
            repaired,
        })
    }

    /// Stores and logs bundles that somebody else sealed. What is not believed is refused, unless `unverified`; what is
    /// damaged is refused always. `each` hears about every file. Gives back what was repaired on the way.
    ///
    /// # Errors
    /// A bundle cannot be written. What was reported before stays stored.
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
        // As long as there is nothing to take in, nothing is made: no key, no ledger.
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
        let (mut ledger, repaired) = self.open_ledger(&keys)?;
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
        Ok(repaired)
    }

    /// Writes one acceptable bundle under its pending name, unless it is known.
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
            bundle_sha256: crate::digest(bundle.bytes()),
        };
        if !known.insert(leaf.bundle_sha256) {
            return Ok(Imported::Known);
        }
        let mut file = relative_path(header.task_id, header.created_ns, "");
        let taken = |file: &String| {
            self.witness.join(file).exists() || new.iter().any(|entry| entry.file == *file)
        };
        if taken(&file) {
            // Another bundle of the same task: both are kept, told apart by their hash.
            let short: String = hex::encode(leaf.bundle_sha256).chars().take(16).collect();
            file = relative_path(header.task_id, header.created_ns, &format!("-{short}"));
        }
        let path = self.witness.join(&file);
        new.push(Entry { leaf, file });
        self.write_pending(&path, bundle.bytes())?;
        Ok(Imported::Stored(path))
    }

    fn write_pending(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        files::make_directory(files::parent(path), Privacy::Shared)?;
        files::write(&pending(path), bytes, Privacy::Shared)
    }

    /// Logs what was written under pending names, gives it its final names, and publishes the signed tree.
    /// When the writing failed, or nothing could be logged, nothing stays behind.
    fn commit_if(
        &self,
        written: Result<(), StoreError>,
        ledger: &mut LedgerWriter,
        new: &[Entry],
        keys: &KeyStore,
    ) -> Result<(), StoreError> {
        if new.is_empty() {
            return written;
        }
        let logged = written.and_then(|()| Ok(ledger.append(new, keys.signing())?));
        let checkpoint = logged.inspect_err(|_| {
            for entry in new {
                // One that was never written is no error.
                files::remove_file(&pending(&self.witness.join(&entry.file))).ok();
            }
        })?;
        for entry in new {
            finish(&self.witness.join(&entry.file))?;
        }
        if let Some(checkpoint) = checkpoint {
            checkpoint.commit()?;
        }
        Ok(())
    }

    /// Locks the ledger and finishes bundles that were logged but have not got their final name. Says what it repaired.
    fn open_ledger(&self, keys: &KeyStore) -> Result<(LedgerWriter, Vec<String>), StoreError> {
        let ledger = LedgerWriter::open(&self.ledger, &keys.public_keys())?;
        let mut repaired = Vec::new();
        if let Some(torn) = ledger.file().torn() {
            repaired.push(format!(
                "the last line of the ledger was cut off after {} bytes; it was removed, for its bundle was never finished",
                torn.len()
            ));
        }
        for entry in ledger.file().entries().iter().rev().take(BATCH) {
            let path = self.witness.join(&entry.file);
            if !path.exists() && pending(&path).exists() {
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

/// Reads a file that may be taken in, or says why it may not. Damage never may.
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

/// `2026/02/<task id>.rvww`, by the time in the header.
fn relative_path(task: TaskId, created_ns: u64, suffix: &str) -> String {
    let date = jiff::Timestamp::from_nanosecond(i128::from(created_ns))
        .map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).date())
        .unwrap_or_default();
    let (year, month) = (date.year(), date.month());
    format!("{year:04}/{month:02}/{task}{suffix}.{}", scan::EXTENSION)
}

/// The name under which a bundle waits until it is logged.
fn pending(path: &Path) -> PathBuf {
    path.with_added_extension(SEALING)
}

fn finish(path: &Path) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Name, path, source);
    files::rename(&pending(path), path).map_err(fail)?;
    files::sync_directory(files::parent(path)).map_err(fail)
}
