//! Finds exams that have become too old, and repeats them.
//!
//! Checks every version that was not withdrawn, in a registry that may be used, for each exam with a record.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::config::Config;
use base::files::FileError;
use base::workspace::Workspace;
use routing::audits::{self, Unfinished, kept};
use routing::metrics;
use routing::specialists::Specialists;
use selection::audit::AuditRecord;
use specialist::registry::Registry;

use super::exam::{Exam, ExamError, Taken};

/// One check of all records.
pub struct Round<'a> {
    pub workspace: &'a Workspace,
    /// Settings.
    pub config: &'a Config,
    pub specialists: &'a Specialists,
    /// Current time, in nanoseconds since 1970.
    pub now_ns: u64,
    /// Set to abort an exam.
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for Round<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Round").finish_non_exhaustive()
    }
}

/// A record that is too old.
#[derive(Debug)]
pub struct Old {
    pub path: PathBuf,
    /// Its content.
    pub record: AuditRecord,
}

impl Round<'_> {
    /// Returns the records that are too old, oldest first. None while the registry may not be used.
    pub fn old(&self) -> Result<Vec<Old>, FileError> {
        let Some(age) = self.config.selection.audit_max_age() else {
            return Ok(Vec::new());
        };
        let seen = self.specialists.see()?;
        if !seen.is_trusted || !seen.registry.is_valid() {
            return Ok(Vec::new());
        }
        let serves = |record: &AuditRecord| {
            let entry = seen.registry.entry(&record.role);
            let version = entry.and_then(|entry| entry.version(&record.version));
            version.is_some_and(|version| version.withdrawn.is_none())
        };
        let records = audits::all(&self.specialists.paths().audits).into_iter();
        let is_own = |path: &PathBuf, record: &AuditRecord| {
            let folder = &self.specialists.paths().audits;
            *path == audits::record_path(folder, &record.role, &record.version, &record.exam_hash)
        };
        Ok(records
            .filter(|(path, record)| is_own(path, record) && serves(record))
            .filter(|(_, record)| kept::is_old(record, age, self.now_ns))
            .map(|(path, record)| Old { path, record })
            .collect())
    }

    /// Repeats one of them, against the same version as before.
    ///
    /// # Errors
    /// Its set cannot be used, its backend cannot be reached, or it was stopped; as a sentence.
    pub fn again(&self, old: &Old) -> Result<Taken, String> {
        let record = &old.record;
        let kept = kept::find(self.specialists.paths(), &record.exam_hash).map_err(|why| {
            format!("{why}; `roleos audit run` with `--set` takes it, and later ones then follow")
        })?;
        let registry = self.trusted()?;
        let entry = registry.entry(&record.role);
        let version = entry.and_then(|entry| Some((entry, entry.version(&record.version)?)));
        let (entry, version) = version.ok_or("the version is no longer registered")?;
        let fail = |error: ExamError| error.to_string();
        let age = self.config.selection.audit_max_age().unwrap_or_default();
        let last_ns = Unfinished::last_ns(&old.path).unwrap_or(self.now_ns);
        let exam = Exam {
            workspace: self.workspace,
            config: self.config,
            specialists: self.specialists,
            set: kept.set,
            written: None,
            package: kept.package,
            metric: metrics::current(self.workspace)
                .map_err(|error| error.to_string())?
                .metric,
            jobs: 1,
            // Old answers are not evidence about the present.
            fresh: u128::from(self.now_ns.saturating_sub(last_ns)) > age.as_nanos(),
            goes_on: &|_| !self.stop.load(Ordering::Relaxed),
        };
        let against = record.baseline.as_ref();
        let against = against.and_then(|baseline| entry.version(&baseline.version));
        let baseline = against.and_then(|before| audits::read(&exam.path(entry, before)).ok());
        exam.take(entry, version, baseline.as_ref()).map_err(fail)
    }

    /// Returns the registry, which may have changed since the records were checked.
    fn trusted(&self) -> Result<Arc<Registry>, String> {
        let seen = self.specialists.see().map_err(|error| error.to_string())?;
        if seen.is_trusted {
            return Ok(seen.registry);
        }
        Err(self.specialists.distrust())
    }
}
