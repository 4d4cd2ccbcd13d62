//! Sets of exams that were taken, `.role-os/audits/_sets/`: an exam can then be repeated without naming its set. Also
//! recognises exams that are old enough to repeat.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use selection::audit::{AuditRecord, AuditSet};
use serde_json::{Value, json};

use super::MAX_FILE;
use crate::specialists::Paths;
use base::clock;
use base::files::{self, FileError, Privacy};
use base::trust::{self, Belief, Confirming, Kind, Trust};

/// Folder below the records. No role's folder can have this name.
pub const FOLDER: &str = "_sets";

/// A set with the folder of its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub set: AuditSet,
    pub package: PathBuf,
}

/// Reason why a set cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// It was never stored, or not as this exam.
    Missing,
    /// The user did not confirm it, and its verifiers may run programs.
    Untrusted(PathBuf),
    /// The folder of its files does not exist any more.
    NoPackage(PathBuf),
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("its set was not kept"),
            Self::Untrusted(path) => {
                write!(
                    f,
                    "its set `{}` was not written by `roleos` here",
                    path.display()
                )
            }
            Self::NoPackage(path) => {
                write!(f, "the folder `{}` of its set is gone", path.display())
            }
        }
    }
}

fn path(records: &Path, exam_hash: &str) -> PathBuf {
    records.join(FOLDER).join(format!("{exam_hash}.json"))
}

/// Stores a set as written, and its folder.
///
/// # Errors
/// It cannot be written.
pub fn keep(paths: &Paths, exam_hash: &str, set: &Value, package: &Path) -> Result<(), FileError> {
    let path = path(&paths.audits, exam_hash);
    let package = package
        .canonicalize()
        .unwrap_or_else(|_| package.to_owned());
    let text = json!({ "package": package.display().to_string(), "set": set }).to_string();
    let by = Confirming {
        what: "audit run",
        key: None,
    };
    trust::confirm(&paths.workspace, &path, text.as_bytes(), Kind::Plain, &by)?;
    if files::read(&path, MAX_FILE).is_ok_and(|known| known == text.as_bytes()) {
        return Ok(());
    }
    files::make_directory(files::parent(&path), Privacy::Shared)?;
    files::write(&path, text.as_bytes(), Privacy::Shared)
}

/// Returns the set of an exam.
///
/// # Errors
/// It cannot be used.
pub fn find(paths: &Paths, exam_hash: &str) -> Result<Kept, NotKept> {
    let is_hash = exam_hash.len() == 64 && exam_hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(NotKept::Missing);
    }
    let path = path(&paths.audits, exam_hash);
    let bytes = files::read(&path, MAX_FILE).map_err(|_| NotKept::Missing)?;
    if Trust::of(&paths.workspace).belief(&path, &bytes, Kind::Plain) != Belief::Own {
        return Err(NotKept::Untrusted(path));
    }
    let kept: Value = serde_json::from_slice(&bytes).map_err(|_| NotKept::Missing)?;
    let set = kept
        .get("set")
        .and_then(|set| AuditSet::parse(set).ok())
        .filter(|set| set.exam_hash == exam_hash)
        .ok_or(NotKept::Missing)?;
    let package = kept.get("package").and_then(Value::as_str);
    let package = PathBuf::from(package.ok_or(NotKept::Missing)?);
    if !package.is_dir() {
        return Err(NotKept::NoPackage(package));
    }
    Ok(Kept { set, package })
}

/// Returns `true` if an exam was finished longer ago than `age`. One with an unreadable time is old.
#[must_use]
pub fn is_old(record: &AuditRecord, age: Duration, now_ns: u64) -> bool {
    let Some(finished_ns) = clock::parse(&record.finished_at) else {
        return true;
    };
    u128::from(now_ns.saturating_sub(finished_ns)) > age.as_nanos()
}
