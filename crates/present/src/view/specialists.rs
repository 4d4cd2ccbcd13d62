//! JSON of specialists: the registry's roles, and for each the state of the gate and of the field.

use selection::certification::Check;
use selection::metric::Metric;
use serde_json::{Map, Value, json};
use specialist::event::Log;
use specialist::field::{Audit, MIN_SAMPLES};
use specialist::level::Level;
use specialist::quota::Scope;
use specialist::registry::{DEFAULT_AUDIT_WINDOW, Entry, Version, Withdrawn};
use specialist::shadow::{Judgement, Probes};
use specialist::state::{Halt, State};
use statistics::rate::Rate;

use routing::specialists::certify::{Certified, Dossier};
use routing::specialists::{Moved, Registered, Settings, Specialists};

/// Returns a role of the registry with its versions.
#[must_use]
pub fn entry(entry: &Entry) -> Value {
    json!({
        "role": entry.role,
        "backend_url": entry.backend_url,
        "workload_quota": entry.workload_quota,
        "active_version": entry.active_version,
        "beside": entry.beside,
        "canary": entry.canary.as_ref().map(|canary| json!({ "version": canary.version, "share": canary.share })),
        "versions": entry.versions.iter().map(version).collect::<Vec<_>>(),
    })
}

fn version(version: &Version) -> Value {
    json!({
        "id": version.id,
        "model_id": version.model_id,
        "certified_level": version.certified_level.to_string(),
        "claimed": version.claimed,
        "certified_by": version.certified_by,
        "status": version.withdrawn.map(Withdrawn::name),
        "base_model": version.base_model,
        "adapter_id": version.adapter_id,
        "gate_threshold": version.gate_threshold,
        "exam_hash": version.exam_hash,
        "created_at": version.created_at,
    })
}

/// State of a role by the gate and the field log.
#[derive(Debug)]
pub struct Status<'a> {
    /// Entry of the role in the registry.
    pub entry: &'a Entry,
    /// Number of the last `window` dispatches that the adapter has served.
    pub used: u64,
    /// Number of dispatches that the quota refers to.
    pub window: u64,
    /// Halts: of the role itself first, then of versions.
    pub halts: Vec<(Option<&'a str>, &'a Halt)>,
    /// Result of the probes.
    pub judgement: Judgement,
    /// Statistics of the field log.
    pub audit: Audit,
}

impl<'a> Status<'a> {
    /// Collects the state of a role; `window` differs from the settings' window of the quota.
    #[must_use]
    pub fn of(
        entry: &'a Entry,
        state: &'a State,
        settings: &Settings,
        window: Option<usize>,
        (field_log, probe_logs): (&[u8], &[Log; 2]),
    ) -> Self {
        let window = window.unwrap_or(settings.quota_window);
        let slot = state.slot(&entry.role);
        let used = match (settings.scope, slot) {
            (Scope::Fleet, _) => state.fleet.used(window),
            (Scope::Role, Some(slot)) => slot.window.used(window),
            (Scope::Role, None) => 0,
        };
        let none = Probes::default();
        let active = entry.active_version.as_deref().unwrap_or_default();
        let probes = state.probes(&entry.role, active).unwrap_or(&none);
        let audit_window = entry
            .active()
            .ok()
            .flatten()
            .map_or(DEFAULT_AUDIT_WINDOW, |version| version.field_audit_window);
        Self {
            entry,
            used,
            window: window as u64,
            halts: state.halts(&entry.role).collect(),
            judgement: probes.judge(&settings.shadow),
            audit: Audit::of(field_log, &probe_logs.each_ref(), &entry.role, audit_window),
        }
    }

    /// Returns the used share of the quota's window.
    #[must_use]
    pub fn share(&self) -> f64 {
        share(self.used, self.window)
    }

    /// Returns the state as JSON; `warning` is about the backend's address.
    #[must_use]
    pub fn json(&self, settings: &Settings, warning: Option<&str>) -> Value {
        let entry = self.entry;
        let active = entry.active().ok().flatten();
        let mut object = Map::new();
        let mut add = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        add("role", json!(entry.role));
        let addresses = active.map_or_else(
            || vec![entry.backend_url.as_str()],
            |one| entry.addresses(one),
        );
        add("backend_url", json!(addresses.first()));
        add("backend_urls", json!(addresses));
        add("active_version", json!(entry.active_version));
        add(
            "certified_level",
            json!(active.map(|version| version.certified_level.to_string())),
        );
        add(
            "claimed",
            json!(active.is_some_and(|version| version.claimed)),
        );
        add(
            "quota",
            json!({
                "used": self.used, "window": self.window,
                "share": self.share(), "cap": entry.workload_quota,
            }),
        );
        add(
            "halt",
            match self.halts.first() {
                None => json!({ "halted": false }),
                Some((version, halt)) => json!({
                    "halted": true, "version": version, "reason": halt.reason, "since": halt.since,
                    "versions": self.halts.iter().filter_map(|(version, _)| *version).collect::<Vec<_>>(),
                }),
            },
        );
        add("probes", self.probes(settings));
        add("field_audit", self.field_audit());
        add("warning", json!(warning));
        Value::Object(object)
    }

    /// Returns the probes of the active version, and the result of the halting rule.
    fn probes(&self, settings: &Settings) -> Value {
        let (judgement, shadow) = (&self.judgement, &settings.shadow);
        json!({
            "rule": judgement.rule.name(), "required": 1.0 - shadow.tau,
            "total": judgement.total, "agreed": judgement.total_agreed,
            "log_evidence": judgement.log_evidence, "halts_at": -shadow.error.ln(), "error": shadow.error,
            "window": { "size": shadow.window, "probes": judgement.probes, "agreed": judgement.agreed, "rate": judgement.rate },
        })
    }

    fn field_audit(&self) -> Value {
        let audit = &self.audit;
        json!({
            "state": audit.state(), "samples": audit.samples, "distinct_inputs": audit.distinct_inputs,
            "specialist_routed": audit.specialist_served, "not_served": audit.not_served, "min_samples": MIN_SAMPLES, "test_ready": audit.is_ready(),
            "verdicts": audit.verdicts, "general_verdicts": audit.general_verdicts, "mean_score": audit.mean_score,
            "agreement": {
                "probes": audit.probes, "agreed": audit.agreed, "incomparable": audit.incomparable,
                "rate": (audit.probes > 0).then(|| share(audit.agreed, audit.probes)),
            },
            "drift": audit.drift.map(|drift| json!({
                "verdicts": drift.verdicts, "score": drift.score, "large": drift.is_large(),
            })),
            "last_seen": audit.last_seen, "damaged_lines": audit.damaged,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "windows have at most millions of dispatches"
)]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns the whole answer of `status --json`: the paths of the files, and the roles.
#[must_use]
pub fn status(specialists: &Specialists, is_trusted: bool, roles: &[Value]) -> Value {
    let paths = specialists.paths();
    json!({
        "registry": paths.registry.display().to_string(),
        "state": paths.state.display().to_string(),
        "events": paths.events.display().to_string(),
        "trusted": is_trusted,
        "roles": roles,
    })
}

/// Returns the result of moving the pointer.
#[must_use]
pub fn moved(role: &str, moved: &Moved) -> Value {
    json!({
        "role": role, "from_version": moved.from, "to_version": moved.to,
        "claimed": moved.claimed, "halted": moved.halted,
        "certified_level": moved.level, "exam_hash": moved.exam_hash, "share": moved.share, "ended_canary": moved.ended_canary,
        "comparison": moved.compared, "block_error": moved.block_error,
    })
}

/// Returns a registered version; `card` is the recipe that it links.
#[must_use]
pub fn registered(role: &str, registered: &Registered, card: Option<&Value>) -> Value {
    json!({
        "role": role, "version": registered.id, "certified_level": registered.level,
        "refused_level": registered.refused_level,
        "active_version": registered.active, "recipe_card": card,
    })
}

/// Returns the evidence for the event: digests, exam, counts and rates with their bounds, metric.
#[must_use]
pub fn evidence(dossier: &Dossier, metric: &Metric) -> Value {
    let audit = dossier.audit.as_ref();
    json!({
        "exam_hash": audit.map(|audit| &audit.exam_hash), "audit_digest": dossier.audit_digest,
        "digests": dossier.digests, "metric_version": metric.metric_version, "metric_hash": metric.hash(),
        "checks": dossier.assessment.checks.iter().map(check_json).collect::<Vec<_>>(),
    })
}

fn check_json(check: &Check) -> Value {
    let mut object = json!({
        "level": format!("L{}", check.level), "name": check.name, "met": check.met, "said": check.said,
    });
    if let (Some(object), Some(rate)) = (object.as_object_mut(), check.rate) {
        object.insert("rate".to_owned(), self::rate(rate));
    }
    object
}

/// Returns a rate with its interval.
#[must_use]
pub fn rate(rate: Rate) -> Value {
    json!({ "hits": rate.hits, "n": rate.n, "value": rate.value, "low": rate.low, "high": rate.high })
}

/// Returns the result of a certification, with the evidence.
#[must_use]
pub fn certified(role: &str, certified: &Certified, dossier: &Dossier, evidence: &Value) -> Value {
    let mut object = json!({
        "role": role, "version": dossier.version, "level_before": certified.before.to_string(),
        "level": certified.now.to_string(), "earned": Level::of(dossier.assessment.earned).to_string(),
        "raised": certified.now > certified.before,
    });
    if let (Some(object), Some(evidence)) = (object.as_object_mut(), evidence.as_object()) {
        object.extend(evidence.clone());
    }
    object
}
