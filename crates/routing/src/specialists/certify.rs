//! Gathers the evidence about a version from the records and applies it: raises or lowers a level, withdraws a version.
//! Each action leaves a line in the events log with its evidence.

use std::collections::BTreeMap;
use std::path::Path;

use ::specialist::event::{Event, Kind, Log};
use ::specialist::level::Level;
use ::specialist::registry::{Entry, Registry, Version, Withdrawn};
use selection::audit::AuditRecord;
use selection::certification::{Assessment, Evidence, Shadow, assess};
use selection::growth::{Counter, Field, Prune, Trials};
use selection::metric::Metric;
use selection::promotion::{Rival, Windows};
use selection::run_log::Record;
use selection::verifier::Declared;
use serde_json::{Value, json};

use super::{OperateError, Operator, Specialists};
use crate::runs;
use crate::shared::Log as Kept;
use base::files::FileError;
use base::seals::Seals;

/// Sources of evidence, beside the specialists' own files.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The run log.
    pub log: &'a Path,
    /// The current metric.
    pub metric: &'a Metric,
    /// All metrics that lines of the log may name.
    pub known: &'a [Metric],
    /// Proof that `roleos` wrote the log.
    pub seals: &'a Seals,
}

/// All evidence about a version.
#[derive(Clone, Debug)]
pub struct Dossier {
    /// The version's id.
    pub version: String,
    /// Its current level.
    pub level: Level,
    /// Its newest exam, compared with the active version's if that took the same.
    pub audit: Option<AuditRecord>,
    /// SHA-256 of the exam's record.
    pub audit_digest: Option<String>,
    /// Its last runs and contests under the metric.
    pub windows: Windows,
    /// The contests of the role.
    pub field: Field,
    /// Result of the evidence.
    pub assessment: Assessment,
    /// Hashes of the manifest and the weights, if there is a manifest.
    pub digests: Value,
}

/// Result of a certification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified {
    /// The level before.
    pub before: Level,
    /// The level now.
    pub now: Level,
}

/// Content of a log by role; empty if its chain is broken.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// By role.
    pub roles: BTreeMap<String, Seen>,
    /// Reason why its chain or a number in it is wrong.
    pub broken: Option<String>,
}

/// Content of a log for one role and its versions.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub contests: Counter,
    /// By version's id.
    pub versions: BTreeMap<String, (Windows, Trials)>,
}

/// Reads a log by role under a metric; lines of other metrics are another history. A missing log is empty, and one with
/// a broken chain or wrong rewards does not count.
///
/// # Errors
/// It exists and cannot be read.
pub fn read_log_of(registry: &Registry, sources: Sources<'_>) -> Result<Reading, FileError> {
    let mut all: BTreeMap<String, Seen> = BTreeMap::new();
    if !sources.log.exists() {
        return Ok(Reading::default());
    }
    let (_, bad) = runs::verify(sources.seals, sources.log, sources.known.to_vec())?;
    if let Some(first) = bad.first() {
        return Ok(Reading {
            roles: all,
            broken: Some(format!("line {}: {}", first.line, first.reason)),
        });
    }
    // The lines of one contest are adjacent.
    let mut contest: Vec<Record> = Vec::new();
    runs::lines(sources.log, |line| {
        let Ok(record) = Record::parse(line) else {
            return;
        };
        let run = |record: &Record| record.more.run_id.clone();
        let is_same = |first: &Record| run(first).is_some() && run(first) == run(&record);
        if !contest.first().is_some_and(is_same) {
            count(&mut all, registry, sources, &std::mem::take(&mut contest));
        }
        contest.push(record);
    })?;
    count(&mut all, registry, sources, &contest);
    Ok(Reading {
        roles: all,
        broken: None,
    })
}

/// Counts one contest for its role and the versions that took part.
fn count(
    all: &mut BTreeMap<String, Seen>,
    registry: &Registry,
    sources: Sources<'_>,
    contest: &[Record],
) {
    for record in contest {
        let role = record.more.role.as_deref();
        let Some(entry) = role.and_then(|role| registry.entry(role)) else {
            continue;
        };
        if record.metric_version != sources.metric.metric_version {
            continue;
        }
        let seen = all.entry(entry.role.clone()).or_default();
        seen.contests.add(record);
        if let Some(version) = whose(entry, record) {
            let (windows, trials) = seen.versions.entry(version.id.clone()).or_default();
            windows.add(record, Rival::of(record, contest));
            trials.add(record);
        }
    }
}

/// Returns the highest level earned by evidence on this machine, from the events log.
pub(super) fn earned(events: &Log, role: &str, version: &str) -> Level {
    let text = |event: &Event, key: &str| event.data.get(key)?.as_str().map(str::to_owned);
    events
        .of(role, &[Kind::CertificationAttempt])
        .filter(|event| text(event, "version_id").as_deref() == Some(version))
        .filter_map(|event| Level::parse(&text(event, "earned_level")?))
        .max()
        .unwrap_or(Level::UNCERTIFIED)
}

/// Returns the version of a run: by its id, else by its model.
fn whose<'a>(entry: &'a Entry, record: &Record) -> Option<&'a Version> {
    match &record.more.version {
        Some(id) => entry.version(id),
        None => entry
            .versions
            .iter()
            .find(|version| version.model_id == record.model_id),
    }
}

impl Specialists {
    /// Gathers the evidence. `supply_chain` checks that manifest and weights are unchanged, and has their hashes.
    ///
    /// # Errors
    /// The role or the version is unknown, or a file cannot be read.
    pub fn dossier(
        &self,
        role: &str,
        version: &str,
        sources: Sources<'_>,
        supply_chain: impl FnOnce(&Value) -> (Result<(), String>, Value),
    ) -> Result<Dossier, OperateError> {
        let registry = self.registry()?;
        if !registry.is_valid() {
            return Err(OperateError::Invalid {
                path: self.paths().registry.clone(),
                problems: registry.problems().to_vec(),
            });
        }
        let (entry, found) = find(&registry, role, version)?;
        let version = found.id.as_str();
        let newest = self.newest_audit(entry, found);
        let audit = newest.as_ref().map(|(record, _)| record);
        let mut read = read_log_of(&registry, sources)?;
        let mut seen = read.roles.remove(role).unwrap_or_default();
        let windows = seen.versions.remove(version).unwrap_or_default().0;
        let field = seen.contests.finish();
        let written = registry.written(role, version).cloned().unwrap_or_default();
        let (supply_chain, digests) = supply_chain(&written);
        let shadow = self.shadow_of(entry, found)?;
        let assessment = assess(&Evidence {
            audit: audit.map_err(String::as_str),
            windows: &windows,
            run_log: read.broken.map_or(Ok(()), Err),
            supply_chain,
            shadow,
        });
        let (audit, audit_digest) = newest.ok().unzip();
        Ok(Dossier {
            version: found.id.clone(),
            level: found.certified_level,
            audit,
            audit_digest,
            windows,
            field,
            assessment,
            digests,
        })
    }

    /// Returns the newest exam and the digest of its record.
    ///
    /// # Errors
    /// No exam counts; the error is the reason.
    fn newest_audit(
        &self,
        entry: &Entry,
        version: &Version,
    ) -> Result<(AuditRecord, String), String> {
        let records = self.exams(&entry.role);
        let mut record = self
            .newest_record(entry, version, &records)?
            .ok_or_else(|| {
                let unsealed = self.unsealed_exams(&entry.role, &version.id);
                unsealed
                    .last()
                    .cloned()
                    .unwrap_or_else(|| "no audit was run".to_owned())
            })?;
        let digest = selection::canonical::hash(&serde_json::to_value(&record).unwrap_or_default());
        let active = entry.active().ok().flatten();
        let other = active.filter(|active| active.id != version.id);
        if let (None, Some(other)) = (&record.baseline, other) {
            record.baseline = self.compare(entry, (other, version), &records);
        }
        Ok((record, digest))
    }

    /// Returns the probes of a version's answers since the last clearing, each input once.
    fn shadow_of(&self, entry: &Entry, version: &Version) -> Result<Shadow, OperateError> {
        let settings = &self.settings().shadow;
        let state = self.usable_state()?;
        let probes = state.probes(&entry.role, &version.id);
        let inputs = probes
            .map(|probes| probes.inputs.clone())
            .unwrap_or_default();
        Ok(Shadow {
            probes: inputs.total,
            agreed: inputs.agreed,
            needed: settings.window,
            tau: settings.tau,
            doubt: self.state_doubt().map(|doubt| doubt.to_string()),
            halted: state.halts_for(&entry.role).of(&version.id).is_some(),
        })
    }

    /// Records an attempt, and raises the level if more was earned.
    ///
    /// # Errors
    /// The version is unknown, or a file cannot be written.
    pub fn certify(
        &self,
        role: &str,
        dossier: &Dossier,
        evidence: &Value,
        operator: Operator<'_>,
    ) -> Result<Certified, OperateError> {
        let earned = Level::of(dossier.assessment.earned);
        let version = dossier.version.as_str();
        let attempt = json!({
            "version_id": version, "certified_level": dossier.level.to_string(), "earned_level": earned.to_string(),
            "operator": operator.name, "reason": operator.reason, "evidence": evidence,
        });
        let event = Event::new(Kind::CertificationAttempt, role, operator.now, attempt);
        self.note(Kept::Events, &event, true)?;
        let exam = dossier.audit.as_ref().map(|audit| audit.exam_hash.clone());
        self.relevel(role, version, operator, |entry, found| {
            let before = found.certified_level;
            // A claimed level is backed by evidence now, as far as the evidence goes.
            let is_news = earned > before
                || (found.claimed && earned.is_certified())
                || (entry.has_lapsed(found) && earned.is_certified());
            is_news.then(|| {
                // A level earned with another backend does not carry over.
                let level = match entry.has_lapsed(found) {
                    true => earned,
                    false => earned.max(before),
                };
                let mut keys = vec![
                    ("certified_level", json!(level.to_string())),
                    ("certified_for", json!(entry.subject(found))),
                    ("evidence_level", json!(earned.to_string())),
                ];
                keys.extend(exam.map(|exam| ("exam_hash", json!(exam))));
                (level, keys, evidence.clone())
            })
        })
    }

    /// Lowers the level of a version, with the reason.
    ///
    /// # Errors
    /// The version is unknown, or a file cannot be written.
    pub fn demote(
        &self,
        role: &str,
        version: &str,
        to: Level,
        evidence: &Value,
        operator: Operator<'_>,
    ) -> Result<Certified, OperateError> {
        self.relevel(role, version, operator, |_, found| {
            let keys = vec![("certified_level", json!(to.to_string()))];
            (to < found.certified_level).then(|| (to, keys, evidence.clone()))
        })
    }

    fn relevel(
        &self,
        role: &str,
        version: &str,
        operator: Operator<'_>,
        change: impl FnOnce(&Entry, &Version) -> Option<(Level, Vec<(&'static str, Value)>, Value)>,
    ) -> Result<Certified, OperateError> {
        let held = self.hold_registry()?;
        let registry = held.registry.clone();
        let (entry, found) = find(&registry, role, version)?;
        let version = found.id.as_str();
        let before = found.certified_level;
        let Some((now, keys, evidence)) = change(entry, found) else {
            return Ok(Certified {
                before,
                now: before,
            });
        };
        let after = registry.with_keys(role, version, &keys);
        if !after.is_valid() {
            return Err(OperateError::WouldBeInvalid(after.problems().to_vec()));
        }
        let data = json!({
            "version_id": version, "from_level": before.to_string(), "to_level": now.to_string(),
            "operator": operator.name, "reason": operator.reason, "evidence": evidence,
        });
        let event = Event::new(Kind::Certify, role, operator.now, data);
        self.replace_registry(held, &event, &after)?;
        // The block of the role's own file names the level of the active version.
        if let Some(entry) = after.entry(role) {
            self.sync_block(entry, operator);
        }
        Ok(Certified { before, now })
    }

    /// Withdraws a version. It stays in the registry, with the reason.
    ///
    /// # Errors
    /// The version is unknown, or a file cannot be written.
    pub fn withdraw(
        &self,
        role: &str,
        version: &str,
        status: Withdrawn,
        evidence: &Value,
        operator: Operator<'_>,
    ) -> Result<(), OperateError> {
        let held = self.hold_registry()?;
        let registry = held.registry.clone();
        let (_, found) = find(&registry, role, version)?;
        // A revoked version does not become merely deprecated.
        if found.withdrawn == Some(Withdrawn::Revoked) || found.withdrawn == Some(status) {
            return Ok(());
        }
        let after = registry.with_keys(role, &found.id, &[("status", json!(status.name()))]);
        if !after.is_valid() {
            return Err(OperateError::WouldBeInvalid(after.problems().to_vec()));
        }
        let data = json!({
            "version_id": version, "status": status.name(),
            "operator": operator.name, "reason": operator.reason, "evidence": evidence,
        });
        let event = Event::new(Kind::Withdraw, role, operator.now, data);
        self.replace_registry(held, &event, &after)?;
        Ok(())
    }
}

fn find<'a>(
    registry: &'a Registry,
    role: &str,
    version: &str,
) -> Result<(&'a Entry, &'a Version), OperateError> {
    let entry = registry
        .entry(role)
        .ok_or_else(|| OperateError::UnknownRole(role.to_owned()))?;
    Ok((entry, entry.resolve(version)?))
}

/// Proposal of a review.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposal {
    /// A stable version whose windows fell.
    Demote {
        version: String,
        /// Its current level.
        from: Level,
        /// The conditions that it no longer meets, with their numbers.
        why: String,
    },
    /// A version with evidence against it in the log.
    Prune {
        version: String,
        /// Reason.
        why: Prune,
    },
    /// Too many inputs without a good version.
    Spawn(Field),
    /// One model wins too much.
    Dominance(Field),
}

/// Returns the proposals for a role, based on the log. A version without a declared verifier is skipped: its lines only
/// show that nothing could be verified.
#[must_use]
pub fn review(registry: &Registry, entry: &Entry, seen: Seen) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for version in &entry.versions {
        let Some((windows, trials)) = seen.versions.get(&version.id) else {
            continue;
        };
        let written = registry.written(&entry.role, &version.id);
        let declared = written.map(Declared::of_version);
        if version.withdrawn.is_some() || matches!(declared, Some(Ok(None)) | None) {
            continue;
        }
        if version.certified_level >= Level::of(2) && windows.must_fall() {
            let conditions = windows.conditions();
            let fallen = conditions.iter().filter(|one| one.has_fallen());
            let why: Vec<String> = fallen
                .map(|one| {
                    let (hits, n) = (one.rate.hits, one.rate.n);
                    format!("{} {hits} of {n}, {} % are needed", one.name, one.percent)
                })
                .collect();
            proposals.push(Proposal::Demote {
                version: version.id.clone(),
                from: version.certified_level,
                why: why.join("; "),
            });
        }
        if let Some(why) = trials.verdict() {
            proposals.push(Proposal::Prune {
                version: version.id.clone(),
                why,
            });
        }
    }
    let field = seen.contests.finish();
    if field.wants_more() {
        proposals.push(Proposal::Spawn(field.clone()));
    }
    if field.dominance() != selection::growth::Dominance::Spread && field.weak.n >= 50 {
        proposals.push(Proposal::Dominance(field));
    }
    proposals
}
