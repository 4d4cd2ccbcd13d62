//! Files past their retention: sealed journals, rotated logs, and refused acts that waited too long.
//!
//! Lists and removes whole files only. Bundles, the ledger, the run log and the receipts are chained, so nothing here
//! touches them.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::journal::read::{Session, journals};
use crate::journal::record::Record;
use crate::sealing::budget;
use base::clock;
use base::config::Config;
use base::config::within::Within;
use base::files::{self, Action, FileError};
use base::workspace::Workspace;

pub mod archive;

/// Prefixes of rotated logs.
const GATEWAY: &str = "gateway.jsonl.";
const ADAPTERS: &str = "specialist-field-log.jsonl.";

/// Extensions of refused and denied acts.
const ACTS: [&str; 2] = ["refused", "denied"];

/// Time that a refused act waits for a person.
const ACTS_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Retention per kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Ages {
    journals: Duration,
    gateway: Duration,
    adapters: Duration,
    refusals: Duration,
}

impl Ages {
    /// Uses the same age for all kinds.
    #[must_use]
    pub fn all(age: Duration) -> Self {
        Self {
            journals: age,
            gateway: age,
            adapters: age,
            refusals: age,
        }
    }

    /// Returns the ages of the settings.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let days = |days: u64| Duration::from_secs(days.saturating_mul(24 * 3600));
        let usual = config.oversight.keep_days.get();
        let of = |own: Option<Within<1, 3650>>| days(own.map_or(usual, Within::get));
        let set = &config.retention;
        Self {
            journals: days(usual),
            gateway: of(set.gateway_days),
            adapters: of(set.adapter_days),
            refusals: of(set.refusal_days),
        }
    }
}

/// A file past its retention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    pub path: PathBuf,
    /// Description of the file.
    pub what: &'static str,
    pub bytes: u64,
}

/// Lists the files past the retention of their kind, by name.
///
/// # Errors
/// A folder cannot be read.
pub fn expired(workspace: &Workspace, ages: Ages) -> Result<Vec<Expired>, FileError> {
    let mut found = Vec::new();
    let folder = workspace.role_os_dir();
    for path in entries(&folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for (log, age) in [(GATEWAY, ages.gateway), (ADAPTERS, ages.adapters)] {
            if is_set_aside(&name, log) {
                found.extend(older(&path, "log that was set aside", age));
            }
        }
    }
    for path in entries(&workspace.approvals_dir())? {
        if path
            .extension()
            .is_some_and(|end| ACTS.iter().any(|act| end == *act))
            && !path.with_extension("approval").exists()
        {
            found.extend(older(&path, "refused act", ACTS_WAIT.max(ages.refusals)));
        }
    }
    for (_, path) in journals(&workspace.sessions_dir()).unwrap_or_default() {
        let expired = older(&path, "journal of a sealed session", ages.journals);
        if expired.is_some() && sealed_task(&path).is_some() {
            found.extend(expired);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Lists the journals whose last line records that they were sealed as this task.
#[must_use]
pub fn journals_of(workspace: &Workspace, task_id: &str) -> Vec<Expired> {
    let all = journals(&workspace.sessions_dir()).unwrap_or_default();
    let paths = all.into_iter().map(|(_, path)| path);
    paths
        .filter(|path| sealed_task(path).is_some_and(|task| task.replace('-', "") == task_id))
        .filter_map(|path| older(&path, "journal of its session", Duration::ZERO))
        .collect()
}

/// Removes a file of the list; for a journal, the count of its cost as well.
///
/// # Errors
/// It cannot be removed.
pub fn remove(expired: &Expired) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Write, &expired.path, source);
    files::remove_file(&expired.path).map_err(fail)?;
    if expired.path.extension().is_some_and(|end| end == "jsonl") {
        budget::forget(&expired.path.with_extension("spent"));
    }
    Ok(())
}

/// Returns the task of a journal that ends with its seal.
fn sealed_task(path: &Path) -> Option<String> {
    let session = Session::read(path).ok()?;
    match &session.lines.last()?.record {
        Record::Sealed(sealed) => Some(sealed.task_id.clone()),
        _ => None,
    }
}

fn is_set_aside(name: &str, log: &str) -> bool {
    let number = name.strip_prefix(log);
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn older(path: &Path, what: &'static str, age: Duration) -> Option<Expired> {
    let facts = files::metadata(path).ok()?;
    let written = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let is_old = Duration::from_nanos(clock::now_ns()).saturating_sub(written) >= age;
    is_old.then(|| Expired {
        path: path.to_owned(),
        what,
        bytes: facts.len(),
    })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries =
        files::read_dir(folder).map_err(|error| FileError::new(Action::Read, folder, error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_files_that_nothing_needs_expire() {
        let guard = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(guard.path()).unwrap();
        for name in [
            "gateway.jsonl",
            "gateway.jsonl.1",
            "gateway.jsonl.lock",
            "specialist-field-log.jsonl.12",
            "run_log.jsonl.torn",
            "approvals/0123456789ab.refused",
            "approvals/0123456789ac.refused",
            "approvals/0123456789ac.approval",
            "approvals/0123456789ad.denied",
            "approvals/used.json",
            "ledger/leaves.jsonl",
            "sessions/open.jsonl",
        ] {
            let path = workspace.role_os_dir().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            files::write(&path, b"x\n", files::Privacy::Shared).unwrap();
            let now = UNIX_EPOCH + Duration::from_nanos(clock::now_ns());
            let old = now - Duration::from_secs(40 * 24 * 3600);
            std::fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        let names = |ages| {
            let found = expired(&workspace, ages).unwrap();
            let name = |one: &Expired| one.path.file_name().unwrap().to_string_lossy().into_owned();
            found.iter().map(name).collect::<Vec<_>>()
        };
        let days = |days: u64| names(Ages::all(Duration::from_secs(days * 24 * 3600)));
        assert_eq!(days(50), [""; 0]);
        assert_eq!(
            days(30),
            [
                "0123456789ab.refused",
                "0123456789ad.denied",
                "gateway.jsonl.1",
                "specialist-field-log.jsonl.12"
            ]
        );
        let text = "[oversight]\nkeep_days = 50\n[retention]\ngateway_days = 30\n";
        let config = Config::parse(Path::new("c.toml"), text).unwrap();
        assert_eq!(names(Ages::of(&config)), ["gateway.jsonl.1"]);
    }
}
