//! The head of the run log: how long it is and how it ends, kept beside it. Links between lines show a change in the
//! middle; the head shows lines that were taken off the end, and where a torn contest began.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::files::{self, Action, FileError, Tail};

/// Largest head.
const MAX_HEAD: u64 = 4096;

/// The end of the log after the last contest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The log's length.
    pub(super) bytes: u64,
    /// The link of its last line.
    pub(super) last: String,
}

fn path_of(log: &Path) -> PathBuf {
    log.with_added_extension("head")
}

/// Where torn contests are kept.
pub(super) fn torn(log: &Path) -> PathBuf {
    log.with_added_extension("torn")
}

/// Reads the head; a log of another program has none.
pub(super) fn read(log: &Path) -> Result<Option<Head>, FileError> {
    let path = path_of(log);
    let bytes = match files::read(&path, MAX_HEAD) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let bad = |error: serde_json::Error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        FileError::new(Action::Read, &path, source)
    };
    serde_json::from_slice(&bytes).map(Some).map_err(bad)
}

/// Writes the head of a log that ends with this link. Hold the log's lock.
pub(super) fn write(log: &Path, last: &str) -> Result<(), FileError> {
    let facts = files::metadata(log);
    let facts = facts.map_err(|source| FileError::new(Action::Read, log, source))?;
    let head = Head {
        bytes: facts.len(),
        last: last.to_owned(),
    };
    let text = serde_json::to_string(&head).unwrap_or_default();
    files::write_quickly(&path_of(log), text.as_bytes())
}

/// Sets a contest aside that a crash tore: everything behind the last whole contest, or the last line where no head tells.
/// Hold the log's lock.
pub(super) fn repair(log: &Path) -> Result<Tail, FileError> {
    let fail = |source| FileError::new(Action::Append, log, source);
    let end = match super::tail(log, 1) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(Tail::Whole),
        end => end?,
    };
    if end.is_empty() || end == b"\n" {
        return Ok(Tail::Whole);
    }
    let bytes = super::tail(log, super::GENERATION)?;
    let length = files::metadata(log).map_err(fail)?.len();
    let start = length.saturating_sub(bytes.len() as u64);
    let line = bytes.iter().rposition(|byte| *byte == b'\n');
    let mut keep = start + line.map_or(0, |at| at as u64 + 1);
    // Whole lines of the torn contest name a winner whose line may be missing.
    if let Ok(Some(head)) = read(log) {
        keep = keep.min(head.bytes.max(start));
    }
    let cut = usize::try_from(keep - start).unwrap_or(usize::MAX);
    let mut aside = bytes.get(cut..).unwrap_or_default().to_vec();
    aside.push(b'\n');
    files::append(&torn(log), &aside)?;
    files::truncate(log, keep)?;
    Ok(Tail::Torn)
}
