//! Evidence of exams, state and events about a version: may it serve, and how does it compare with another?

use std::path::PathBuf;

use ::specialist::event::{Event, Kind};
use ::specialist::registry::{Entry, Version};
use ::specialist::serving::Standing;
use selection::audit::record::{Attempt, Baseline};
use selection::audit::{Answer, AuditRecord, Given};
use serde_json::Value;

use super::{OperateError, Specialists};
use crate::audits;
use crate::audits::attempts::Attempts;
use base::clock;

impl Specialists {
    /// Returns the facts of the exams, the state and the events log about a version, for the rule that decides if it
    /// may serve.
    ///
    /// Exams count by their attempts, which removing or restoring a record cannot hide, and for the same weights behind
    /// the same backend, under any name.
    pub(super) fn standing(
        &self,
        entry: &Entry,
        version: &Version,
    ) -> Result<Standing, OperateError> {
        let attempts = self.attempts(entry, version);
        let newest = attempts.newest();
        let failed = newest.filter(|attempt| attempt.passed == Some(false));
        let state = self.usable_state()?;
        let halt = state.halts_for(&entry.role).versions;
        let halt = halt.and_then(|halts| halts.get(&version.id));
        let events = self.events()?;
        let ended = |event: &&Event| {
            let text = |key: &str| event.data.get(key).and_then(Value::as_str);
            let is_withdrawn = || text("outcome") == Some("withdrawn");
            text("version") == Some(version.id.as_str())
                || (text("version_id") == Some(version.id.as_str()) && is_withdrawn())
        };
        let ended = events
            .of(&entry.role, &[Kind::Halt, Kind::Canary])
            .filter(ended);
        let ended = ended.last().map(|event| event.ts.clone());
        let examined = newest.and_then(|attempt| clock::parse(&attempt.finished_at));
        let is_newer = |ended: &String| clock::parse(ended) >= examined;
        Ok(Standing {
            halt: halt.map(|halt| halt.reason.clone()),
            failed_exam: failed.map(|attempt| self.said_of(entry, attempt)),
            halted_since_exam: ended.filter(is_newer),
        })
    }

    pub(super) fn attempts(&self, entry: &Entry, version: &Version) -> Attempts<'_> {
        let identity = entry.identity(version);
        let whose = (entry.role.as_str(), version.id.as_str(), identity.as_str());
        Attempts::of(&self.seals, &self.paths().audits, whose)
    }

    /// Describes an attempt, from its record if that still exists.
    fn said_of(&self, entry: &Entry, attempt: &Attempt) -> String {
        let records = self.exams(&entry.role);
        let record = records.iter().find(|record| is_of_attempt(record, attempt));
        let gone = || format!("{}; its record is gone or was changed", attempt.said());
        record.map_or_else(gone, AuditRecord::said)
    }

    /// Returns the newest record of a version's exams.
    ///
    /// # Errors
    /// None counts: the version took an exam later, and its record is missing or was changed.
    pub(super) fn newest_record(
        &self,
        entry: &Entry,
        version: &Version,
        records: &[AuditRecord],
    ) -> Result<Option<AuditRecord>, String> {
        let attempts = self.attempts(entry, version);
        let mut own = attempts
            .so_far()
            .iter()
            .filter(|one| one.version == version.id);
        let newest_attempt = own.rfind(|one| one.passed.is_some());
        let found = newest(records, entry, version);
        let is_newer = |attempt: &&Attempt| {
            let time = clock::parse(&attempt.finished_at);
            found.is_none_or(|record| clock::parse(&record.finished_at) < time)
        };
        match newest_attempt.filter(is_newer) {
            Some(attempt) => {
                let unsealed = self.unsealed_exams(&entry.role, &version.id);
                Err(unsealed.last().cloned().unwrap_or_else(|| format!(
                    "the record of its newest exam is gone: {}; `roleos audit run` takes the exam again",
                    attempt.said()
                )))
            }
            None => Ok(found.cloned()),
        }
    }

    /// Lists the records of a role's exams, oldest first.
    pub(super) fn exams(&self, role: &str) -> Vec<AuditRecord> {
        let all = audits::all(&self.paths().audits).into_iter();
        all.map(|(_, record)| record)
            .filter(|record| record.role == role && audits::check(&self.seals, record).is_ok())
            .collect()
    }

    /// Describes each record of a version's exams that does not count, with the reason and the remedy.
    pub(super) fn unsealed_exams(&self, role: &str, version: &str) -> Vec<String> {
        let all = audits::all(&self.paths().audits).into_iter();
        let said = |(path, record): (PathBuf, AuditRecord)| {
            let is_meant = record.role == role && record.version == version;
            let doubt = audits::check(&self.seals, &record)
                .err()
                .filter(|_| is_meant)?;
            let path = path.display();
            Some(format!(
                "the record `{path}` does not count: {doubt}; `roleos audit run` takes the exam again"
            ))
        };
        all.filter_map(said).collect()
    }

    /// Returns the result of a version's newest exam, and `true` if it passed.
    #[must_use]
    pub fn newest_exam(&self, role: &str, version: &str) -> Option<(bool, String)> {
        let registry = self.registry().ok()?;
        let entry = registry.entry(role)?;
        let version = entry.version(version)?;
        let records = self.exams(role);
        match self.newest_record(entry, version, &records) {
            Ok(record) => record.map(|record| (record.is_passed(), record.said())),
            Err(_) => {
                let attempts = self.attempts(entry, version);
                let newest = attempts.newest()?;
                Some((newest.passed == Some(true), self.said_of(entry, newest)))
            }
        }
    }

    /// Compares two versions on the newest exam that both took here. A version whose newest record is missing is not
    /// compared: the missing one may be a lost exam.
    pub(super) fn compare(
        &self,
        entry: &Entry,
        (before, now): (&Version, &Version),
        records: &[AuditRecord],
    ) -> Option<Baseline> {
        self.newest_record(entry, now, records).ok()?;
        let own = records.iter().rev();
        let own = own.filter(|one| one.is_graded() && is_of(one, entry, now));
        let mut pairs = own.filter_map(|own| {
            let same =
                |one: &&AuditRecord| is_of(one, entry, before) && one.exam_hash == own.exam_hash;
            Some((records.iter().rfind(same)?, own))
        });
        let (before, now) = pairs.next()?;
        let answers: Vec<Answer> = now.answers.iter().map(Given::answer).collect();
        Some(Baseline::of(before, &answers, self.settings().exam_margin))
    }
}

/// Returns the newest exam of a version with its present backend.
fn newest<'a>(
    records: &'a [AuditRecord],
    entry: &Entry,
    version: &Version,
) -> Option<&'a AuditRecord> {
    records.iter().rfind(|record| is_of(record, entry, version))
}

/// Returns `true` if a version took an exam with its present backend; an older record does not show it.
fn is_of(record: &AuditRecord, entry: &Entry, version: &Version) -> bool {
    let subject = record.subject.as_ref();
    record.version == version.id && subject.is_none_or(|known| *known == entry.subject(version))
}

/// Returns `true` if a record is of this attempt.
fn is_of_attempt(record: &AuditRecord, attempt: &Attempt) -> bool {
    record.finished_at == attempt.finished_at && record.exam_hash == attempt.exam_hash
}
