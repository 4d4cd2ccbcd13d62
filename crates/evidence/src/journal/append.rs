//! Appends lines to a journal. The cost does not depend on the journal's length: only its first and last line are read.
//!
//! The lock is on the file itself and is held from [`Journal::open`] until the journal is dropped, so that decisions
//! based on the journal's head still hold when the line is written.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::reached::{JournalNotes, Reached};
use super::record::{Line, Lost, Record, Repaired, Start};
use super::{NO_LINE, SessionId};
use base::digest;
use base::files::{self, Action, FileError, Privacy};

/// Bytes at the end that are read first; most lines are shorter.
const FIRST_LOOK: u64 = 4096;

/// Longest line that we write.
pub(super) const MAX_LINE: u64 = 4 * 1024 * 1024;

/// Bytes of a torn line that are quoted in the line that reports it.
const QUOTED: usize = 200;

/// Most attempts to open a file that is replaced meanwhile.
const REOPENINGS: usize = 8;

/// An open journal, locked against other writers.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
    head: Head,
    torn: Option<Repaired>,
    lost: Option<Lost>,
    noted: Option<(JournalNotes, SessionId)>,
    pending: Vec<u8>,
    pending_head: Head,
}

/// The end of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the next line.
    pub seq: u64,
    /// Value of its `prev`.
    pub hash: [u8; 32],
    /// Tool calls so far.
    pub calls: u64,
    /// Time of the last line.
    pub time_ns: u64,
}

/// The part of a line that the next line depends on.
#[derive(Deserialize)]
struct Last {
    seq: u64,
    calls: u64,
    time_ns: u64,
}

/// The first line, if it is one.
#[derive(Deserialize)]
struct First {
    kind: String,
    #[serde(flatten)]
    start: Start,
}

impl Journal {
    /// Opens the journal of a session, creates it if missing, waits for its lock, and finds the end of the chain.
    ///
    /// # Errors
    /// The directory or the file cannot be created, opened, locked or read.
    pub fn open(directory: &Path, session: &SessionId) -> Result<Self, FileError> {
        let path = session.path_in(directory);
        let fail = |action, source| FileError::new(action, &path, source);
        for _ in 0..REOPENINGS {
            let file = open_or_make(directory, &path)?;
            let file = files::lock::lock(file).map_err(|source| fail(Action::Lock, source))?;
            let facts = file
                .metadata()
                .map_err(|source| fail(Action::Read, source))?;
            // The process that had the lock may have removed the file; a line written into it now would be lost.
            if facts.nlink() > 0 {
                return Self::new(file, &path, facts.len())
                    .map_err(|source| fail(Action::Read, source));
            }
        }
        let why = io::Error::other("it is removed again and again");
        Err(fail(Action::Append, why))
    }

    /// Opens the journal of a session as [`Journal::open`] does, and compares it with `notes`. The next line reports
    /// missing lines.
    ///
    /// # Errors
    /// As for [`Journal::open`].
    pub fn open_noted(
        directory: &Path,
        session: &SessionId,
        notes: Option<JournalNotes>,
    ) -> Result<Self, FileError> {
        let mut journal = Self::open(directory, session)?;
        let Some(notes) = notes else {
            return Ok(journal);
        };
        journal.lost = match notes.read(session) {
            Ok(None) => None,
            Ok(Some(reached)) => journal
                .missing(&reached)
                .map_err(|source| FileError::new(Action::Read, &journal.path, source))?,
            // A note that we did not write has replaced one that we wrote.
            Err(_) => Some(Lost {
                written: 0,
                found: journal.head.seq,
            }),
        };
        journal.noted = Some((notes, session.clone()));
        Ok(journal)
    }

    /// Returns the loss, if lines are missing that had been written.
    fn missing(&self, reached: &Reached) -> io::Result<Option<Lost>> {
        let is_last = |hash: &[u8; 32]| hex::encode(hash) == reached.hash;
        if self.head.seq == reached.lines && is_last(&self.head.hash) {
            return Ok(None);
        }
        // A crash came between a line and its note, or a line was written without one.
        let is_longer = self.length > reached.length && self.head.seq > reached.lines;
        if is_longer {
            let then = tail(&self.file, reached.length)?;
            let is_there =
                then.end == reached.length && then.line.is_some_and(|line| is_last(&digest(&line)));
            if is_there {
                return Ok(None);
            }
        }
        Ok(Some(Lost {
            written: reached.lines,
            found: self.head.seq,
        }))
    }

    /// Records missing lines, if there are any.
    ///
    /// # Errors
    /// As for [`Journal::commit`].
    pub fn admit_loss(&mut self, time_ns: u64) -> Result<(), FileError> {
        let Some(lost) = self.lost.take() else {
            return Ok(());
        };
        self.push("roleos", time_ns, Record::Lost(lost));
        self.commit(true)
    }

    /// Forgets how far the journal has come, because all of it is in a bundle.
    pub fn forget_note(&self) {
        if let Some((notes, session)) = &self.noted {
            notes.forget(session);
        }
    }

    fn new(file: File, path: &Path, length: u64) -> io::Result<Self> {
        let tail = tail(&file, length)?;
        let head = match &tail.line {
            None => Head {
                seq: 0,
                hash: NO_LINE,
                calls: 0,
                time_ns: 0,
            },
            Some(line) => head_after(&file, line, tail.end)?,
        };
        Ok(Self {
            file,
            path: path.to_owned(),
            length: tail.end,
            head,
            torn: tail.torn,
            lost: None,
            noted: None,
            pending: Vec::new(),
            pending_head: head,
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` if nothing was written to it yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.head.seq == 0
    }

    /// Returns the end of the chain, uncommitted lines included.
    #[must_use]
    #[expect(
        clippy::misnamed_getters,
        reason = "the head that counts is the one with the lines that are not committed yet"
    )]
    pub fn head(&self) -> Head {
        self.pending_head
    }

    /// Returns the rest of a line that a crash cut off; the next commit removes and reports it.
    #[must_use]
    pub fn torn(&self) -> Option<&Repaired> {
        self.torn.as_ref()
    }

    /// Reads the start of the session from the first line.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn start(&self) -> Result<Option<Start>, FileError> {
        let fail = |source| FileError::new(Action::Read, &self.path, source);
        let mut size = FIRST_LOOK;
        loop {
            let bytes = read_at(&self.file, 0, size.min(self.length)).map_err(fail)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                let line = bytes.get(..end).unwrap_or_default();
                let first: Option<First> = serde_json::from_slice(line).ok();
                return Ok(first
                    .filter(|first| first.kind == "start")
                    .map(|first| first.start));
            }
            if size >= self.length.min(MAX_LINE) {
                return Ok(None);
            }
            size = size.saturating_mul(16);
        }
    }

    /// Adds a line to the lines that the next [`Journal::commit`] writes.
    pub fn push(&mut self, agent: &str, time_ns: u64, record: Record) {
        if let Some(torn) = self.torn.take() {
            self.push(agent, time_ns, Record::Repaired(torn));
        }
        // A journal begins with its start, also after all of it was lost.
        let is_start = self.pending_head.seq == 0 && matches!(record, Record::Start(_));
        if let Some(lost) = self.lost.take_if(|_| !is_start) {
            self.push(agent, time_ns, Record::Lost(lost));
        }
        let head = self.pending_head;
        let calls = head.calls + u64::from(matches!(record, Record::Call(_)));
        let line = Line {
            seq: head.seq,
            prev: hex::encode(head.hash),
            time_ns,
            agent: agent.to_owned(),
            calls,
            record,
        };
        // Our own types have text keys and finite numbers only, so this cannot fail.
        let text = serde_json::to_vec(&line).unwrap_or_default();
        self.pending_head = Head {
            seq: head.seq + 1,
            hash: digest(&text),
            calls,
            time_ns,
        };
        self.pending.extend_from_slice(&text);
        self.pending.push(b'\n');
    }

    /// Writes all pushed lines in one system call; `durable` also waits until they are on disk.
    ///
    /// # Errors
    /// They cannot be written; the journal is then as it was.
    pub fn commit(&mut self, durable: bool) -> Result<(), FileError> {
        let is_new = self.is_new();
        let written = self.write(durable);
        let lines = std::mem::take(&mut self.pending);
        if let Err(source) = written {
            // A full disk may take only some of the bytes.
            self.file.set_len(self.length).ok();
            self.pending_head = self.head;
            return Err(FileError::new(Action::Append, &self.path, source));
        }
        self.length += lines.len() as u64;
        self.head = self.pending_head;
        if is_new && durable {
            files::sync_directory(files::parent(&self.path))
                .map_err(|source| FileError::new(Action::Append, &self.path, source))?;
        }
        self.note()
    }

    fn note(&self) -> Result<(), FileError> {
        let Some((notes, session)) = &self.noted else {
            return Ok(());
        };
        let reached = Reached {
            session: session.to_string(),
            lines: self.head.seq,
            length: self.length,
            hash: hex::encode(self.head.hash),
        };
        notes.write(session, &reached)
    }

    fn write(&mut self, durable: bool) -> io::Result<()> {
        // Remains of a crash behind the last whole line are removed first; the lines to write begin with a report of
        // them.
        if self.file.metadata()?.len() > self.length {
            self.file.set_len(self.length)?;
        }
        self.file.write_all(&self.pending)?;
        if durable {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// Opens the file, creates it and its directory if missing. Both are for the owner alone: they hold prompts.
fn open_or_make(directory: &Path, path: &Path) -> Result<File, FileError> {
    let file = match files::open_log(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            files::make_directory(directory, Privacy::Secret)?;
            files::open_log(path)
        }
        opened => opened,
    };
    file.map_err(|source| FileError::new(Action::Append, path, source))
}

/// The last whole line, where it ends (its line feed included), and the bytes behind it.
struct Tail {
    line: Option<Vec<u8>>,
    end: u64,
    torn: Option<Repaired>,
}

fn tail(file: &File, length: u64) -> io::Result<Tail> {
    let mut size = FIRST_LOOK;
    loop {
        let from = length.saturating_sub(size);
        let bytes = read_at(file, from, length - from)?;
        let mut feeds = bytes
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(index, _)| index);
        let last = feeds.next();
        let before = feeds.next();
        let whole = from == 0 || (last.is_some() && before.is_some());
        if !whole {
            if size >= MAX_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "its last line is longer than any of ours",
                ));
            }
            size *= 16;
            continue;
        }
        let line = last.map(|last| {
            let first = before.map_or(0, |before| before + 1);
            bytes.get(first..last).unwrap_or_default().to_vec()
        });
        let rest = last.map_or(0, |last| last + 1);
        let torn = bytes.get(rest..).unwrap_or_default();
        return Ok(Tail {
            line,
            end: from + rest as u64,
            torn: (!torn.is_empty()).then(|| report(torn)),
        });
    }
}

fn report(torn: &[u8]) -> Repaired {
    let quoted = torn.get(..QUOTED.min(torn.len())).unwrap_or_default();
    Repaired {
        bytes: torn.len() as u64,
        sha256: hex::encode(digest(torn)),
        text: String::from_utf8_lossy(quoted).into_owned(),
    }
}

/// Returns the head after a line. A line that we did not write breaks the chain, which readers report; the next one
/// follows it all the same.
fn head_after(file: &File, line: &[u8], end: u64) -> io::Result<Head> {
    let hash = digest(line);
    if let Ok(last) = serde_json::from_slice::<Last>(line) {
        return Ok(Head {
            seq: last.seq.saturating_add(1),
            hash,
            calls: last.calls,
            time_ns: last.time_ns,
        });
    }
    let mut head = Head {
        seq: 0,
        hash,
        calls: 0,
        time_ns: 0,
    };
    let mut from = 0;
    while from < end {
        let bytes = read_at(file, from, (end - from).min(1 << 20))?;
        if bytes.is_empty() {
            break;
        }
        from += bytes.len() as u64;
        head.seq += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    // The number of calls among the lines is unknown, and a budget must not grow by damage.
    head.calls = head.seq;
    Ok(head)
}

fn read_at(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut filled = 0;
    while let Some(space) = bytes.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
