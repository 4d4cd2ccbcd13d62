//! What exams, state and events say about a version: whether it may serve, and how it compares with another.

use std::path::PathBuf;

use ::specialist::event::{Event, Kind};
use ::specialist::registry::{Entry, Version};
use ::specialist::serving::Standing;
use selection::audit::record::{Baseline, passes};
use selection::audit::{Answer, AuditRecord, Given};
use serde_json::Value;

use super::{OperateError, Specialists};
use crate::audits;
use base::clock;

impl Specialists {
    /// What the exams, the state and the events log say about a version, for the one rule about who may serve.
    pub(super) fn standing(
        &self,
        entry: &Entry,
        version: &Version,
    ) -> Result<Standing, OperateError> {
        let records = self.exams(&entry.role);
        // An exam that grades nothing says nothing, unless it failed.
        let speaks = |record: &&AuditRecord| {
            let says = record.is_graded() || !passes(record.rate());
            says && is_of(record, entry, version)
        };
        let newest = records.iter().rfind(speaks);
        let failed = newest.filter(|record| !record.is_passed());
        let state = self.usable_state()?;
        let halt = state.halts_for(&entry.role).versions;
        let halt = halt.and_then(|halts| halts.get(&version.id));
        let events = self.events()?;
        let of_version = |event: &&Event| {
            event.data.get("version").and_then(Value::as_str) == Some(version.id.as_str())
        };
        let halted = events.of(&entry.role, &[Kind::Halt]).filter(of_version);
        let halted = halted.last().map(|event| event.ts.clone());
        let examined = newest.and_then(|record| clock::parse(&record.finished_at));
        let is_newer = |halted: &String| clock::parse(halted) >= examined;
        Ok(Standing {
            halt: halt.map(|halt| halt.reason.clone()),
            failed_exam: failed.map(AuditRecord::said),
            halted_since_exam: halted.filter(is_newer),
        })
    }

    /// The records of a role's exams, oldest first.
    pub(super) fn exams(&self, role: &str) -> Vec<AuditRecord> {
        let all = audits::all(&self.paths().audits).into_iter();
        all.map(|(_, record)| record)
            .filter(|record| record.role == role && audits::check(&self.seals, record).is_ok())
            .collect()
    }

    /// Says of each record of a version's exams that does not count why, and what to do.
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

    /// Returns the newest exam of a version.
    #[must_use]
    pub fn newest_exam(&self, role: &str, version: &str) -> Option<AuditRecord> {
        let registry = self.registry().ok()?;
        let entry = registry.entry(role)?;
        newest(&self.exams(role), entry, entry.version(version)?).cloned()
    }
}

/// Returns the newest exam of a version with the backend that it has now.
pub(super) fn newest<'a>(
    records: &'a [AuditRecord],
    entry: &Entry,
    version: &Version,
) -> Option<&'a AuditRecord> {
    records.iter().rfind(|record| is_of(record, entry, version))
}

/// Returns `true` if an exam was taken by a version with the backend that it has now; an older record does not tell.
fn is_of(record: &AuditRecord, entry: &Entry, version: &Version) -> bool {
    let subject = record.subject.as_ref();
    record.version == version.id && subject.is_none_or(|known| *known == entry.subject(version))
}

/// Compares two versions on the newest exam that both took here.
pub(super) fn compare(
    records: &[AuditRecord],
    entry: &Entry,
    (before, now): (&Version, &Version),
    margin: f64,
) -> Option<Baseline> {
    let own = records.iter().rev();
    let own = own.filter(|one| one.is_graded() && is_of(one, entry, now));
    let mut pairs = own.filter_map(|own| {
        let same = |one: &&AuditRecord| is_of(one, entry, before) && one.exam_hash == own.exam_hash;
        Some((records.iter().rfind(same)?, own))
    });
    let (before, now) = pairs.next()?;
    let answers: Vec<Answer> = now.answers.iter().map(Given::answer).collect();
    Some(Baseline::of(before, &answers, margin))
}
