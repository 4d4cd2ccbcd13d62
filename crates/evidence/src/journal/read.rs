//! Reads journals and checks their chain. Reading takes no lock and changes nothing; a torn last line is reported.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::append::MAX_LINE;
use super::record::{Line, Record};
use super::{NO_LINE, SessionId};
use base::digest;
use base::files::{self, Action, FileError};

/// Most names that are read from one directory.
const MAX_JOURNALS: usize = 1_000_000;

/// A line that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The line is not one of our lines.
    Unreadable {
        /// Number of the line in the file, from 1.
        line: u64,
        /// Message of the parser.
        why: String,
    },
    /// The line does not follow the one before it.
    Broken {
        /// Number of the line in the file, from 1.
        line: u64,
    },
    /// The last line was cut off; the next append takes it out.
    Torn {
        /// Its length in bytes.
        bytes: u64,
    },
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { line, why } => write!(f, "line {line} cannot be read: {why}"),
            Self::Broken { line } => {
                write!(
                    f,
                    "line {line} does not follow the line before it: something was changed"
                )
            }
            Self::Torn { bytes } => write!(f, "the last line was cut off after {bytes} bytes"),
        }
    }
}

/// One session, read from its journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Every readable line.
    pub lines: Vec<Line>,
    /// Lines that are not as they were written.
    pub problems: Vec<Problem>,
}

impl Session {
    /// Reads a whole journal.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let mut reader = Reader::open(path)?;
        let mut session = Self::default();
        while let Some(read) = reader.next_line()? {
            match read {
                Ok(line) => session.lines.push(line),
                Err(problem) => session.problems.push(problem),
            }
        }
        session.problems.append(&mut reader.broken);
        session.problems.extend(reader.torn());
        Ok(session)
    }

    /// Returns `true` if every line is there and follows the one before it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns `true` if the session was reported as ended and nothing came after that.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(
            self.lines.last().map(|line| &line.record),
            Some(Record::End(_))
        )
    }
}

/// Reader that follows a journal line by line, also while it grows.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    /// Offset of the next line.
    offset: u64,
    /// The part of the next line that was read.
    partial: Vec<u8>,
    number: u64,
    expected: (u64, [u8; 32]),
    broken: Vec<Problem>,
}

impl Reader {
    /// Opens a journal at the first line.
    ///
    /// # Errors
    /// There is no such file, or it cannot be read.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file =
            files::open(path).map_err(|source| FileError::new(Action::Read, path, source))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(1 << 16, file),
            offset: 0,
            partial: Vec::new(),
            number: 0,
            expected: (0, NO_LINE),
            broken: Vec::new(),
        })
    }

    /// Returns the next whole line, or `None` if there is none yet; call again to see later lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_line(&mut self) -> Result<Option<Result<Line, Problem>>, FileError> {
        let whole = self
            .fill()
            .map_err(|source| FileError::new(Action::Read, &self.path, source))?;
        if !whole {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.partial);
        self.offset += bytes.len() as u64;
        bytes.pop();
        Ok(Some(self.check(&bytes)))
    }

    /// Returns the lines so far that did not follow the one before them.
    #[must_use]
    pub fn broken(&self) -> &[Problem] {
        &self.broken
    }

    fn torn(&self) -> Option<Problem> {
        let bytes = self.partial.len() as u64;
        (bytes > 0).then_some(Problem::Torn { bytes })
    }

    fn fill(&mut self) -> io::Result<bool> {
        // A repair may have removed the partial line since, so it is read again.
        if !self.partial.is_empty() {
            self.partial.clear();
            self.file.seek(SeekFrom::Start(self.offset))?;
        }
        (&mut self.file)
            .take(MAX_LINE)
            .read_until(b'\n', &mut self.partial)?;
        let whole = self.partial.ends_with(b"\n");
        if !whole && self.partial.len() as u64 >= MAX_LINE {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it has a line that is longer than any of ours",
            ));
        }
        Ok(whole)
    }

    fn check(&mut self, bytes: &[u8]) -> Result<Line, Problem> {
        self.number += 1;
        let (seq, hash) = self.expected;
        self.expected = (seq + 1, digest(bytes));
        let line: Line = serde_json::from_slice(bytes).map_err(|error| Problem::Unreadable {
            line: self.number,
            why: error.to_string(),
        })?;
        if line.seq != seq || line.prev != hex::encode(hash) {
            self.broken.push(Problem::Broken { line: self.number });
        }
        self.expected.0 = line.seq.saturating_add(1);
        Ok(line)
    }
}

/// Lists the journals of a directory by the time of their last change, oldest first; none if there is no directory.
///
/// # Errors
/// The directory cannot be read.
pub fn journals(directory: &Path) -> Result<Vec<(SessionId, PathBuf)>, FileError> {
    let fail = |source| FileError::new(Action::Read, directory, source);
    let entries = match files::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fail)?,
    };
    let mut found = Vec::new();
    for entry in entries.take(MAX_JOURNALS) {
        let path = entry.map_err(fail)?.path();
        let Some(session) = SessionId::of_path(&path) else {
            continue;
        };
        // A file that is removed meanwhile is skipped.
        let Ok(facts) = files::metadata(&path) else {
            continue;
        };
        if facts.is_file() {
            found.push((facts.modified().ok(), session, path));
        }
    }
    found.sort();
    Ok(found
        .into_iter()
        .map(|(_, session, path)| (session, path))
        .collect())
}
