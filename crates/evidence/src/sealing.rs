//! Makes witness bundles out of session journals, and keeps and restores the working tree around a session.
//!
//! Reading order: [`test_commands`] (commands whose output is evidence), [`story`] (the content of a journal),
//! [`transcript`], [`prices`] and [`spent`] (the cost), [`tree`], [`entries`], [`lfs`] and [`diff`] (the changes),
//! [`draft`] (the bundle) with [`ending`] (its test log and outcome), then this file: the selection of sessions to
//! seal, exactly once each, and [`background`] (sealing in another process), [`budget`] (the cost of a running
//! session). [`rollback`] returns to a [`snapshot`]; [`state`] and [`layout`] are the parts that it restores.
//!
//! A seal is recorded in the journal before it begins and after it is done. A later run finishes an interrupted seal
//! under the same task id, and the ledger has every task id once.

mod aside;

pub mod background;

pub mod budget;

pub mod diff;

mod draft;

mod ending;

mod entries;

mod layout;

mod lfs;

mod metadata;

pub mod rollback;

pub mod snapshot;

mod spent;

mod state;

mod story;

mod setup;

pub mod test_commands;

pub mod transcript;

mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use witness::wire::TaskId;

use crate::journal::SessionId;
use crate::journal::append::Journal;
use crate::journal::reached::JournalNotes;
use crate::journal::read::{Session, journals};
use crate::journal::record::{Line, Record, Sealed as SealedLine, Sealing};
use crate::store::{Store, StoreError};
use base::clock;
use base::config::Config;
use base::files::{self, FileError, Lock, Privacy};
use base::liveness;
use base::workspace::Workspace;

pub use spent::unpriced_models;
pub use story::credit;
pub use tree::tested;

use draft::Sources;
use story::Story;

/// Keeps two seals from running at the same time.
const LOCK: &str = ".sealing.lock";

/// Time without a line after which a session counts as over, if nothing better is known.
const SILENCE: Duration = Duration::from_secs(12 * 60 * 60);

/// Error of sealing a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The bundle could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such session.
    #[error("there is no session `{0}`")]
    NoSession(String),
}

/// Result of sealing a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// A bundle was made.
    Sealed {
        task_id: TaskId,
        /// Path of the bundle.
        path: PathBuf,
        /// The outcome in the bundle.
        outcome: witness::wire::Outcome,
        /// Effects of a crash that were repaired.
        repaired: Vec<String>,
    },
    /// Everything in the journal is in a bundle already.
    Already,
    /// The journal holds nothing to seal.
    Nothing,
    /// The session is still running.
    GoesOn,
}

/// Sealer for the sessions of one workspace.
#[derive(Clone, Copy, Debug)]
pub struct Sealer<'a> {
    pub workspace: &'a Workspace,
    /// Settings of the workspace.
    pub config: &'a Config,
    /// Store for the bundles.
    pub store: &'a Store,
}

/// Part of a journal that goes into one bundle.
struct Stretch {
    /// Number of its first line.
    from: u64,
    /// Number of the line behind its last.
    upto: u64,
    task_id: TaskId,
    /// Hash of the last line in the chain.
    link: String,
}

impl Sealer<'_> {
    /// Seals the part of a session that is not in a bundle yet, even if the session is still running.
    ///
    /// # Errors
    /// The journal cannot be read or written, or the bundle cannot be stored.
    pub fn seal(&self, session: &SessionId) -> Result<Done, SealError> {
        let _lock = self.lock()?;
        self.seal_locked(session, false)
    }

    /// Seals every session that is over, and removes journals past their retention. `each` is called for every session
    /// that was not sealed before.
    ///
    /// # Errors
    /// The journals cannot be listed. A session that cannot be sealed does not stop the others.
    pub fn seal_all(
        &self,
        mut each: impl FnMut(&SessionId, Result<Done, SealError>),
    ) -> Result<(), SealError> {
        let directory = self.workspace.sessions_dir();
        if !directory.is_dir() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.miss_journals()?;
        for (session, path) in journals(&directory)? {
            match self.seal_locked(&session, true) {
                Ok(Done::Already) => self.let_go(&session, &path),
                done => each(&session, done),
            }
        }
        Ok(())
    }

    /// Begins a new journal, with a note of the loss, for each journal that was removed before it was sealed.
    fn miss_journals(&self) -> Result<(), FileError> {
        let notes = JournalNotes::existing(self.workspace);
        let noted = notes.map(|notes| notes.sessions()).unwrap_or_default();
        let directory = self.workspace.sessions_dir();
        for session in noted {
            if !session.path_in(&directory).exists() {
                self.journal(&session)?.admit_loss(clock::now_ns())?;
            }
        }
        Ok(())
    }

    fn journal(&self, session: &SessionId) -> Result<Journal, FileError> {
        let notes = JournalNotes::existing(self.workspace);
        Journal::open_noted(&self.workspace.sessions_dir(), session, notes)
    }

    fn lock(&self) -> Result<Lock, FileError> {
        let directory = self.workspace.sessions_dir();
        files::make_directory(&directory, Privacy::Secret)?;
        Lock::take_patiently(&directory.join(LOCK))
    }

    fn seal_locked(&self, session: &SessionId, only_over: bool) -> Result<Done, SealError> {
        let directory = self.workspace.sessions_dir();
        let path = session.path_in(&directory);
        if !path.exists() {
            return Err(SealError::NoSession(session.to_string()));
        }
        // Locked, so that no line is added between the check and the mark.
        let mut journal = self.journal(session)?;
        journal.admit_loss(clock::now_ns())?;
        let read = Session::read(&path)?;
        let stretch = match open_seal(&read.lines) {
            Some(stretch) => stretch,
            None => {
                let from = next_line(&read.lines);
                let upto = journal.head().seq;
                let rest = read.lines.iter().filter(|line| line.seq >= from);
                if rest.clone().all(|line| is_mark(&line.record)) {
                    return Ok(Done::Already);
                }
                let story = Story::of(&read.lines, from, upto);
                if only_over && !is_over(&story) {
                    return Ok(Done::GoesOn);
                }
                let stretch = Stretch {
                    from,
                    upto,
                    task_id: base::fresh_task_id(),
                    link: hex::encode(journal.head().hash),
                };
                let agent = story.agent;
                let mark = Record::Sealing(Sealing {
                    task_id: stretch.task_id.to_string(),
                    from,
                });
                journal.push(&agent, clock::now_ns(), mark);
                journal.commit(true)?;
                stretch
            }
        };
        drop(journal);
        self.finish(session, &read, &stretch)
    }

    /// Makes the bundle of a begun seal, unless it exists already, and marks the seal as done.
    fn finish(
        &self,
        session: &SessionId,
        read: &Session,
        stretch: &Stretch,
    ) -> Result<Done, SealError> {
        let story = Story::of(&read.lines, stretch.from, stretch.upto);
        if story.is_empty() {
            self.mark_done(session, &story, stretch, String::new())?;
            return Ok(Done::Nothing);
        }
        let sources = Sources {
            config: self.config,
            task_id: stretch.task_id,
            created_ns: clock::now_ns(),
            journal: (stretch.link.clone(), read.is_whole()),
            others: self.others(session, &story),
        };
        let (keys, _) = self.store.keys_for_writing().map_err(StoreError::from)?;
        let mut builder = draft::draft(&story, &sources).map_err(StoreError::from)?;
        // A log that refutes the stated outcome must not lose the session.
        let outcome = builder.supported_outcome();
        builder.outcome(outcome);
        let (path, sha256, repaired) = match self.store.seal(builder, &keys) {
            Ok(sealed) => (sealed.path, sealed.sha256, sealed.repaired),
            // A crash happened between the bundle and the mark.
            Err(StoreError::AlreadySealed(task_id)) => {
                let (path, sha256) = self.logged(task_id)?;
                (path, sha256, Vec::new())
            }
            Err(error) => return Err(error.into()),
        };
        self.mark_done(session, &story, stretch, hex::encode(sha256))?;
        Ok(Done::Sealed {
            task_id: stretch.task_id,
            path,
            outcome,
            repaired,
        })
    }

    /// Returns the path of a task's bundle according to the ledger, and its hash.
    fn logged(&self, task_id: TaskId) -> Result<(PathBuf, [u8; 32]), SealError> {
        let ledger = self.store.ledger().map_err(StoreError::from)?;
        let entries = ledger.as_ref().map_or(&[][..], |ledger| ledger.entries());
        let entry = entries.iter().find(|entry| entry.leaf.task_id == task_id);
        let entry = entry.ok_or(StoreError::AlreadySealed(task_id))?;
        let path = self.store.witness_dir().join(&entry.file);
        Ok((path, entry.leaf.bundle_sha256))
    }

    fn mark_done(
        &self,
        session: &SessionId,
        story: &Story<'_>,
        stretch: &Stretch,
        sha256: String,
    ) -> Result<(), FileError> {
        let mut journal = self.journal(session)?;
        let mark = Record::Sealed(SealedLine {
            task_id: stretch.task_id.to_string(),
            sha256,
            upto: stretch.upto.saturating_sub(1),
        });
        journal.push(&story.agent, clock::now_ns(), mark);
        journal.commit(true)?;
        journal.forget_note();
        Ok(())
    }

    /// Returns the sessions that ran in the same directory at the same time.
    fn others(&self, session: &SessionId, story: &Story<'_>) -> Vec<String> {
        let Ok(all) = journals(&self.workspace.sessions_dir()) else {
            return Vec::new();
        };
        let place = story.start.map(|start| &start.cwd);
        let mut found = Vec::new();
        for (other, path) in all {
            // A journal without changes since this session began is skipped.
            let late = files::metadata(&path)
                .and_then(|facts| facts.modified())
                .is_ok_and(|time| since_epoch(time) >= story.began_ns);
            if other == *session || !late {
                continue;
            }
            let Ok(read) = Session::read(&path) else {
                continue;
            };
            let in_time = |line: &Line| {
                !is_mark(&line.record) && (story.began_ns..=story.ended_ns).contains(&line.time_ns)
            };
            let theirs = Story::of(&read.lines, 0, u64::MAX);
            let same_place = theirs.start.map(|start| &start.cwd) == place;
            if same_place && read.lines.iter().any(in_time) {
                found.push(other.to_string());
            }
        }
        found
    }

    /// Removes a sealed journal past its retention. A failed removal is tried again the next time.
    fn let_go(&self, session: &SessionId, path: &Path) {
        let days = self.config.oversight.keep_days.get();
        let kept = days.saturating_mul(24 * 60 * 60 * 1_000_000_000);
        let directory = self.workspace.sessions_dir();
        // Locked, so that a running session does not write into a removed file.
        let Ok(journal) = Journal::open(&directory, session) else {
            return;
        };
        if journal.head().time_ns.saturating_add(kept) > clock::now_ns() {
            return;
        }
        let start = journal.start().ok().flatten();
        let removed = files::remove_file(path);
        budget::forget(&budget::memory_in(&directory, session));
        if let (Ok(()), Some(start)) = (removed, start) {
            let snapshot = snapshot::Snapshot::find(Path::new(&start.cwd), session);
            if let Ok(Some(snapshot)) = snapshot {
                snapshot.forget().ok();
            }
        }
    }
}

/// Returns the lines of a begun and unfinished seal.
fn open_seal(lines: &[Line]) -> Option<Stretch> {
    let place = lines
        .iter()
        .rposition(|line| matches!(line.record, Record::Sealing(_)))?;
    let begun = lines.get(place)?;
    let Record::Sealing(sealing) = &begun.record else {
        return None;
    };
    let is_done = lines.iter().skip(place).any(
        |line| matches!(&line.record, Record::Sealed(sealed) if sealed.task_id == sealing.task_id),
    );
    let task_id = TaskId::parse(&sealing.task_id)?;
    (!is_done).then_some(Stretch {
        from: sealing.from,
        upto: begun.seq,
        task_id,
        link: begun.prev.clone(),
    })
}

/// Returns the number of the first line that is not in a bundle.
fn next_line(lines: &[Line]) -> u64 {
    let sealed = lines.iter().filter_map(|line| match &line.record {
        Record::Sealed(sealed) => Some(sealed.upto.saturating_add(1)),
        _ => None,
    });
    sealed.max().unwrap_or(0)
}

fn is_mark(record: &Record) -> bool {
    matches!(record, Record::Sealing(_) | Record::Sealed(_))
}

/// Returns `true` if no more lines are expected: the agent ended the session, its process is gone, or it was silent for
/// long.
fn is_over(story: &Story<'_>) -> bool {
    let is_gone = story.is_cut && story.start.is_none();
    if story.end.is_some() || is_gone {
        return true;
    }
    if let Some(process) = story.process().filter(|process| process.started > 0) {
        return !liveness::is_alive(process);
    }
    let silent = clock::now_ns().saturating_sub(story.ended_ns);
    u128::from(silent) > SILENCE.as_nanos()
}

fn since_epoch(time: std::time::SystemTime) -> u64 {
    time.duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
