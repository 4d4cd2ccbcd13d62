//! The ledger, locked for writing. It signs only leaves that this program appended, now or before a crash.

use std::fs;
use std::path::Path;

use witness::key::{PublicKey, SigningKey};
use witness::ledger::Consistency;
use witness::ledger::Leaf;
use witness::ledger::note::SignedCheckpoint;

use super::{
    CHECKPOINT, Coverage, Entry, LEAVES, LOCK, LedgerError, LedgerFile, NEXT, ORIGIN, attest,
    has_remains, if_there, is_there, lines, read_checkpoint, read_origin,
};
use base::files::{self, Action, FileError, Lock, Privacy};

/// Access to the bundles beside a ledger, for its repair.
pub(crate) trait Bundles {
    /// Returns `true` if the leaf with this index is a bundle that one of our own keys signed for this place.
    fn proves(&self, ledger: &LedgerFile, index: usize) -> bool;

    /// Finds the bundle of a last leaf whose line was cut off; `is_it` returns `true` for the leaf.
    fn find_lost(&self, ledger: &LedgerFile, is_it: &dyn Fn(Leaf) -> bool) -> Option<Entry>;
}

/// Error of appending leaves.
#[derive(Debug)]
pub(crate) enum NotAppended {
    /// The leaves are as they were before.
    Absent(LedgerError),
    /// The lines may be in the file, so their bundles must stay.
    Unknown(LedgerError),
}

/// The ledger, locked for writing.
#[derive(Debug)]
pub(crate) struct LedgerWriter {
    file: LedgerFile,
    repaired: Vec<String>,
    _lock: Lock,
}

impl LedgerWriter {
    /// Locks the ledger, creates it if there is none, and repairs the effects of a crash.
    ///
    /// A ledger that does not fit the checkpoint beside it, or that has leaves which neither our checkpoint nor their
    /// own bundles prove to be ours, is not opened.
    pub(crate) fn open(
        directory: &Path,
        trusted: &[PublicKey],
        bundles: &impl Bundles,
    ) -> Result<Self, LedgerError> {
        files::make_directory(directory, Privacy::Secret)?;
        close_to_others(directory)?;
        let lock = Lock::take(&directory.join(LOCK))?;
        let mut repaired = Vec::new();
        if read_origin(directory)?.is_none() {
            repaired.extend(name_ledger(directory, trusted)?);
        }
        let file = LedgerFile::read(directory)?.ok_or_else(|| LedgerError::BadText {
            path: directory.join(ORIGIN),
            why: "it was removed while it was being read".to_owned(),
        })?;
        let mut writer = Self {
            file,
            repaired,
            _lock: lock,
        };
        writer.repair(trusted, bundles)?;
        Ok(writer)
    }

    pub(crate) fn file(&self) -> &LedgerFile {
        &self.file
    }

    /// Returns the effects of a crash that were repaired, as sentences for people.
    pub(crate) fn repaired(&self) -> &[String] {
        &self.repaired
    }

    fn repair(&mut self, trusted: &[PublicKey], bundles: &impl Bundles) -> Result<(), LedgerError> {
        let leaves = self.file.entries.len();
        let unproved_from = match self.file.coverage(trusted)? {
            Coverage::Whole => leaves,
            Coverage::Part {
                is_pledged: true, ..
            } => {
                self.publish()?;
                leaves
            }
            Coverage::Part { added, .. } => {
                leaves.saturating_sub(usize::try_from(added).unwrap_or(leaves))
            }
            Coverage::Missing | Coverage::Stranger(_) => 0,
            Coverage::Broken(broken) => {
                return self.restore_last(broken, trusted, bundles);
            }
        };
        if let Some(index) =
            (unproved_from..leaves).find(|index| !bundles.proves(&self.file, *index))
        {
            return Err(LedgerError::Tampered(format!(
                "no checkpoint of ours covers leaf {index}, and its bundle does not prove that it was sealed here"
            )));
        }
        if let Some(torn) = self.file.torn.take() {
            self.write_whole()?;
            self.repaired.push(format!(
                "the last line of the ledger was cut off after {} bytes; it was removed, for its bundle was never finished",
                torn.len()
            ));
        }
        Ok(())
    }

    /// Restores the last leaf if its line was cut off and the checkpoint identifies it.
    fn restore_last(
        &mut self,
        broken: Consistency,
        trusted: &[PublicKey],
        bundles: &impl Bundles,
    ) -> Result<(), LedgerError> {
        let tampered = || LedgerError::Tampered(broken.explain());
        let is_last_line = matches!(broken, Consistency::Truncated { missing: 1 });
        let signed = self.file.checkpoint()?;
        let attested = signed.and_then(|signed| attest(&signed, trusted).ok());
        let attested = attested
            .filter(|_| is_last_line && self.file.torn.is_some())
            .ok_or_else(tampered)?;
        let is_it = |leaf: Leaf| {
            let mut tree = self.file.ledger.clone();
            tree.push(leaf);
            tree.compare(attested.checkpoint()) == Consistency::Same
        };
        let entry = bundles.find_lost(&self.file, &is_it).ok_or_else(tampered)?;
        let task = entry.leaf.task_id;
        self.push(&entry);
        self.file.torn = None;
        self.write_whole()?;
        self.repaired.push(format!(
            "the last line of the ledger was cut off; the leaf of task {task} was written again, as the checkpoint has it"
        ));
        Ok(())
    }

    fn write_whole(&self) -> Result<(), FileError> {
        let path = self.file.directory.join(LEAVES);
        files::write(
            &path,
            lines(0, &self.file.entries).as_bytes(),
            Privacy::Secret,
        )
    }

    fn push(&mut self, entry: &Entry) {
        self.file.ledger.push(entry.leaf);
        self.file.entries.push(entry.clone());
    }

    /// Signs the checkpoint that covers the new leaves, keeps it aside, and appends them in one durable write.
    /// [`LedgerWriter::publish`] puts the checkpoint in its place.
    ///
    /// Everything that can fail for lack of space, and every sync of the directory, comes before the append.
    pub(crate) fn append(&mut self, new: &[Entry], key: &SigningKey) -> Result<(), NotAppended> {
        let first = self.file.entries.len();
        let length = self.prepare(first, new, key).map_err(|error| {
            self.withdraw();
            NotAppended::Absent(error.into())
        })?;
        let path = self.file.directory.join(LEAVES);
        let appended = files::append(&path, lines(first, new).as_bytes())
            .and_then(|()| fail_for_a_test(new, &path));
        appended.map_err(|error| match files::metadata(&path) {
            Ok(facts) if facts.len() == length => {
                self.withdraw();
                NotAppended::Absent(error.into())
            }
            _ => NotAppended::Unknown(error.into()),
        })
    }

    /// Signs and writes the next checkpoint; returns the length of the leaves file before the append.
    fn prepare(&mut self, first: usize, new: &[Entry], key: &SigningKey) -> Result<u64, FileError> {
        let path = self.file.directory.join(LEAVES);
        if first == 0 {
            // With a checkpoint from the start, a missing one was removed later.
            self.sign(key, CHECKPOINT)?;
        }
        if !is_there(&path)? {
            files::write(&path, b"", Privacy::Secret)?;
        }
        let fail = |error| FileError::new(Action::Append, &path, error);
        let length = files::metadata(&path).map_err(fail)?.len();
        new.iter().for_each(|entry| self.push(entry));
        self.sign(key, NEXT)?;
        files::sync_directory(&self.file.directory).map_err(fail)?;
        Ok(length)
    }

    fn sign(&self, key: &SigningKey, name: &str) -> Result<(), FileError> {
        let signed = SignedCheckpoint::sign(&self.file.ledger.checkpoint(), key);
        let path = self.file.directory.join(name);
        files::write(&path, signed.to_text().as_bytes(), Privacy::Secret)
    }

    /// Removes the announcement of leaves that were not appended.
    fn withdraw(&self) {
        // One that stays announces missing leaves, and the next seal replaces it.
        files::remove_file(&self.file.directory.join(NEXT)).ok();
    }

    /// Moves the checkpoint that was kept aside into its place.
    pub(crate) fn publish(&self) -> Result<(), FileError> {
        let directory = &self.file.directory;
        let path = directory.join(CHECKPOINT);
        files::rename(&directory.join(NEXT), &path)
            .and_then(|()| files::sync_directory(directory))
            .map_err(|error| FileError::new(Action::Name, &path, error))
    }
}

/// Gives a ledger without a name the one that its checkpoint bears, or a new one if there never was a ledger.
fn name_ledger(directory: &Path, trusted: &[PublicKey]) -> Result<Option<String>, LedgerError> {
    let path = directory.join(ORIGIN);
    let kept = if_there(read_checkpoint(&directory.join(CHECKPOINT)))?;
    let attested = kept.and_then(|signed| attest(&signed, trusted).ok());
    let (origin, repaired) = match attested {
        Some(attested) => (
            attested.checkpoint().origin().as_str().to_owned(),
            Some(
                "the file with the ledger's name was gone; the name was taken from the checkpoint"
                    .to_owned(),
            ),
        ),
        None if has_remains(directory)? => {
            return Err(LedgerError::BadText {
                path,
                why: "it is gone, and no checkpoint of ours bears the ledger's name".to_owned(),
            });
        }
        None => (format!("roleos/{}", base::fresh_uuid()), None),
    };
    files::write(&path, format!("{origin}\n").as_bytes(), Privacy::Secret)?;
    Ok(repaired)
}

/// Restricts a folder that an earlier version left open to other users.
pub(crate) fn close_to_others(directory: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::PermissionsExt as _;
    let fail = |error| FileError::new(Action::MakeDirectory, directory, error);
    let mode = files::metadata(directory)
        .map_err(fail)?
        .permissions()
        .mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).map_err(fail)
}

/// Fails the sync after the append, for the tests. A release build does not know the task.
#[cfg(debug_assertions)]
fn fail_for_a_test(new: &[Entry], path: &Path) -> Result<(), FileError> {
    let is_test = |entry: &Entry| entry.leaf.task_id.0 == *b"roleos-test-sync";
    if new.iter().any(is_test) {
        let error = std::io::Error::from_raw_os_error(5);
        return Err(FileError::new(Action::Append, path, error));
    }
    Ok(())
}

#[cfg(not(debug_assertions))]
fn fail_for_a_test(_: &[Entry], _: &Path) -> Result<(), FileError> {
    Ok(())
}
