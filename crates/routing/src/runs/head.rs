//! The head of the run log: its length and its last link, stored beside it. Links between lines show a change in the
//! middle; the head shows lines removed from the end, and the beginning of a torn contest.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use selection::run_log::{FIRST, link};

use base::files::{self, Action, FileError, Tail};
use base::seals::Seals;
use base::trust::Doubt;

/// Name in the seal.
const NAME: &str = ".role-os/run_log.jsonl";

/// Largest head.
const MAX_HEAD: u64 = 4096;

/// The end of the log after the last contest, and before it: a crash may leave the log at either.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The log's length.
    pub(super) bytes: u64,
    /// The link of its last line.
    pub(super) last: String,
    /// The length before that contest.
    #[serde(default)]
    before_bytes: u64,
    /// The link before that contest.
    #[serde(default)]
    before_last: String,
    /// Proof that `roleos` wrote this here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

impl Head {
    /// Returns `true` if a log whose last line has this link is whole.
    pub(super) fn ends_at(&self, link: &str) -> bool {
        self.last == link || self.before_last == link
    }

    /// Checks the seal, and that the last line in the trust store is the last one here, or was before the last contest.
    pub(super) fn check(&self, seals: &Seals) -> Result<(), Doubt> {
        seals.check(NAME, &self.covered(), self.seal.as_deref())?;
        seals.check_newest(NAME, &[&self.last, &self.before_last])
    }

    fn covered(&self) -> Vec<u8> {
        let Self {
            bytes,
            last,
            before_bytes,
            before_last,
            ..
        } = self;
        format!("{bytes} {last} {before_bytes} {before_last}").into_bytes()
    }
}

fn path_of(log: &Path) -> PathBuf {
    log.with_added_extension("head")
}

/// Returns the path of torn contests.
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

/// Writes the head of a log before `more` bytes are added whose last line has the link `last`; with 0 bytes, the log is
/// whole and may not end elsewhere. The caller holds the log's lock.
pub(super) fn write(seals: &Seals, log: &Path, more: u64, last: &str) -> Result<(), FileError> {
    let length = match files::metadata(log) {
        Ok(facts) => facts.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(FileError::new(Action::Read, log, error)),
    };
    let before = super::last_line(log, selection::run_log::MAX_LINE)?;
    let mut head = Head {
        bytes: length + more,
        last: last.to_owned(),
        before_bytes: length,
        before_last: before.map_or_else(|| FIRST.to_owned(), |line| link(&line)),
        seal: None,
    };
    head.seal = seals.seal(NAME, &head.covered());
    let text = serde_json::to_string(&head).unwrap_or_default();
    // The lines are written: the head beside the log still knows both ends, if a crash happens here.
    if more == 0 {
        seals.set_head(NAME, &[last])?;
    }
    files::write_quickly(&path_of(log), text.as_bytes())
}

/// Sets aside lines of other programs, if only sealed lines count: everything behind the sealed end, or the whole log
/// if it does not contain that end. Otherwise a new contest would seal these lines too. The caller holds the log's
/// lock.
fn set_foreign_aside(seals: &Seals, log: &Path) -> Result<Tail, FileError> {
    let length = match files::metadata(log) {
        Ok(facts) => facts.len(),
        Err(_) => return Ok(Tail::Whole),
    };
    if length == 0 || !seals.is_enforced() {
        return Ok(Tail::Whole);
    }
    let head = read(log).ok().flatten();
    let head = head.filter(|head| head.check(seals).is_ok());
    let end = head.and_then(|head| {
        let ends = [
            (head.bytes, head.last),
            (head.before_bytes, head.before_last),
        ];
        ends.into_iter()
            .find(|(bytes, _)| (1..=length).contains(bytes))
    });
    let Some((keep, last)) = end else {
        return set_all_aside(log);
    };
    if length > keep {
        let mut aside = super::tail(log, length - keep)?;
        aside.push(b'\n');
        files::append(&torn(log), &aside)?;
        files::truncate(log, keep)?;
    }
    let line = super::last_line(log, selection::run_log::MAX_LINE)?;
    if line.is_none_or(|line| link(&line) != last) {
        return set_all_aside(log);
    }
    Ok(if length > keep {
        Tail::Torn
    } else {
        Tail::Whole
    })
}

/// Renames a log, beside those that were set aside before.
fn set_all_aside(log: &Path) -> Result<Tail, FileError> {
    let numbers = (0..).map(|number: u32| match number {
        0 => "unsealed".to_owned(),
        _ => format!("unsealed.{number}"),
    });
    let mut names = numbers.map(|ending| log.with_added_extension(ending));
    let aside = names.find(|name| !name.exists());
    files::rename(log, &aside.unwrap_or_else(|| torn(log)))
        .map_err(|source| FileError::new(Action::Append, log, source))?;
    Ok(Tail::Torn)
}

/// Sets a contest aside that a crash tore: everything behind the last whole contest, or the last line if there is no
/// head. The caller holds the log's lock.
pub(super) fn repair(seals: &Seals, log: &Path) -> Result<Tail, FileError> {
    let torn = set_torn_aside(log)?;
    let foreign = set_foreign_aside(seals, log)?;
    Ok(if torn == Tail::Torn { torn } else { foreign })
}

/// Sets a torn contest aside, regardless of lines of other programs. The caller holds the log's lock.
pub(crate) fn set_torn_aside(log: &Path) -> Result<Tail, FileError> {
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
        let whole = if length < head.bytes {
            head.before_bytes
        } else {
            head.bytes
        };
        keep = keep.min(whole.max(start));
    }
    let cut = usize::try_from(keep - start).unwrap_or(usize::MAX);
    let mut aside = bytes.get(cut..).unwrap_or_default().to_vec();
    aside.push(b'\n');
    files::append(&torn(log), &aside)?;
    files::truncate(log, keep)?;
    Ok(Tail::Torn)
}
