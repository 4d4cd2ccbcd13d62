//! Counters for Prometheus: what came, where it went, and how much time was ours.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use evidence::store::audit::Audit;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use routing::learning::Shown;

/// What a request is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Labels {
    /// "passthrough", "specialist", "general" or "refused".
    pub route: &'static str,
    /// Name of the upstream, or nothing.
    pub upstream: String,
    /// The status of the answer.
    pub status: u16,
}

/// What an exam is counted under that was too old.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct AuditLabels {
    /// "passed", "not passed" or "not taken".
    pub outcome: &'static str,
}

/// What tokens are counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TokenLabels {
    /// As of requests.
    pub route: &'static str,
    /// "input" or "output".
    pub direction: &'static str,
}

/// What work in the background is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// What came of it.
    pub outcome: &'static str,
}

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    /// Requests that were answered.
    pub requests: Family<Labels, Counter>,
    /// Our own share of a request's time: what it would not have taken without us.
    pub overhead: Histogram,
    /// From the head of the request to the last byte of the answer.
    pub duration: Histogram,
    /// Answers that are under way.
    pub open: Gauge,
    /// Answers that did not reach their end because the client went away.
    pub cancelled: Counter,
    /// Answers that did not reach their end because the upstream broke off.
    pub broken: Counter,
    /// Receipts that could not be written.
    pub receipts_lost: Counter,
    /// Connections that are open.
    pub connections: Gauge,
    /// Exams that were too old, by what came of taking them again.
    pub audits: Family<AuditLabels, Counter>,
    /// Exams that are too old.
    pub old_audits: Gauge,
    /// Tokens of answers, as far as they are known.
    pub tokens: Family<TokenLabels, Counter>,
    /// Probes, by what came of them.
    pub probes: Family<OutcomeLabels, Counter>,
    /// What users said of answers.
    pub feedback: Counter,
    /// Questions that were drawn to learn from, by what came of them.
    pub lessons: Family<OutcomeLabels, Counter>,
    /// Trainings of the selector, by what came of them.
    pub trainings: Family<OutcomeLabels, Counter>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Bounds in seconds, from 10 microseconds.
const OVERHEAD: [f64; 12] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.002_5, 0.005,
    0.025, 0.1,
];

const DURATION: [f64; 12] = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0,
];

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("roleos_gateway");
        let requests = Family::<Labels, Counter>::default();
        let overhead = Histogram::new(OVERHEAD);
        let duration = Histogram::new(DURATION);
        let (open, connections) = (Gauge::default(), Gauge::default());
        let (cancelled, broken, receipts_lost) =
            (Counter::default(), Counter::default(), Counter::default());
        registry.register("requests", "Requests that were answered", requests.clone());
        registry.register_with_unit(
            "latency_overhead",
            "Time that the gateway itself added",
            Unit::Seconds,
            overhead.clone(),
        );
        registry.register_with_unit(
            "duration",
            "From the head of a request to the end of its answer",
            Unit::Seconds,
            duration.clone(),
        );
        registry.register("open_answers", "Answers that are under way", open.clone());
        registry.register(
            "cancelled",
            "Answers that clients did not wait for",
            cancelled.clone(),
        );
        registry.register(
            "broken",
            "Answers that an upstream broke off",
            broken.clone(),
        );
        registry.register(
            "receipts_lost",
            "Receipts that could not be written",
            receipts_lost.clone(),
        );
        registry.register(
            "connections",
            "Open connections of clients",
            connections.clone(),
        );
        let audits = Family::<AuditLabels, Counter>::default();
        let old_audits = Gauge::default();
        registry.register(
            "audits",
            "Exams that were too old, by what came of taking them again",
            audits.clone(),
        );
        registry.register("old_audits", "Exams that are too old", old_audits.clone());
        let tokens = Family::<TokenLabels, Counter>::default();
        registry.register(
            "tokens",
            "Tokens of answers, as far as they are known",
            tokens.clone(),
        );
        let probes = Family::<OutcomeLabels, Counter>::default();
        registry.register(
            "probes",
            "Answers of adapters that were compared with the general model, by what came of it",
            probes.clone(),
        );
        let lessons = Family::<OutcomeLabels, Counter>::default();
        registry.register(
            "learning_contests",
            "Questions that were drawn to learn from, by what came of them",
            lessons.clone(),
        );
        let trainings = Family::<OutcomeLabels, Counter>::default();
        registry.register(
            "learning_trainings",
            "Trainings of the selector, by what came of them",
            trainings.clone(),
        );
        let feedback = Counter::default();
        registry.register("feedback", "What users said of answers", feedback.clone());
        Self {
            registry,
            requests,
            overhead,
            duration,
            open,
            cancelled,
            broken,
            receipts_lost,
            connections,
            audits,
            old_audits,
            tokens,
            probes,
            feedback,
            lessons,
            trainings,
        }
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub fn answered(&self, labels: &Labels, overhead: Duration) {
        self.requests.get_or_create(labels).inc();
        self.overhead.observe(overhead.as_secs_f64());
    }

    /// Counts the tokens of an answer.
    pub fn used(&self, route: &'static str, (input, output): (Option<u64>, Option<u64>)) {
        for (direction, tokens) in [("input", input), ("output", output)] {
            if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
                let labels = TokenLabels { route, direction };
                self.tokens.get_or_create(&labels).inc_by(tokens);
            }
        }
    }

    /// Counts a probe.
    pub fn probed(&self, outcome: &'static str) {
        self.probes.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Counts a question that was drawn to learn from.
    pub fn learned(&self, outcome: &'static str) {
        self.lessons.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Counts a training.
    pub fn trained(&self, outcome: &'static str) {
        self.trainings
            .get_or_create(&OutcomeLabels { outcome })
            .inc();
    }

    /// Counts an exam that was too old.
    pub fn audited(&self, outcome: &'static str) {
        self.audits.get_or_create(&AuditLabels { outcome }).inc();
    }

    /// Counts a request that the guard did not let in.
    pub fn refused(&self, status: u16) {
        let labels = Labels {
            route: "refused",
            upstream: String::new(),
            status,
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// As Prometheus reads it; with the ledger once it was compared with the bundles.
    #[must_use]
    pub fn text(&self, audit: Option<&Audit>, learning: Option<&Shown>) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        encode_registry(&mut text, &self.registry).ok();
        if let Some(audit) = audit {
            encode_registry(&mut text, &of_ledger(audit)).ok();
        }
        if let Some(learning) = learning {
            encode_registry(&mut text, &of_learning(learning)).ok();
        }
        encode_eof(&mut text).ok();
        text
    }
}

/// How far learning is, as it is at this moment.
fn of_learning(shown: &Shown) -> Registry {
    let mut registry = Registry::with_prefix("roleos_learning");
    let figures = [
        (
            "budget_usd",
            "Most that learning may cost on a day, in US dollars",
            shown.budget_usd,
        ),
        (
            "spent_usd",
            "What learning cost today, in US dollars",
            shown.spent_usd,
        ),
        (
            "share",
            "Share of the dispatches that are learned from",
            shown.share,
        ),
    ];
    for (name, help, value) in figures {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    }
    let last = shown.learning.last.as_ref();
    let counts = [
        (
            "contests",
            "Contests that were held to learn from",
            shown.learning.contests,
        ),
        (
            "contests_since_training",
            "Contests since the selector was trained last",
            shown.learning.since_training,
        ),
        (
            "last_training_taken",
            "1 if the selector of the last training is in use, else 0",
            u64::from(last.is_some_and(|last| last.taken)),
        ),
    ];
    for (name, help, value) in counts {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    registry
}

/// The state of the ledger, as it is at this moment.
fn of_ledger(audit: &Audit) -> Registry {
    let mut registry = Registry::with_prefix("roleos_ledger");
    let figures = [
        (
            "ok",
            "1 if bundles, ledger and checkpoint fit together, else 0",
            u64::from(audit.problems.is_empty()),
        ),
        ("size", "Leaves of the ledger", audit.size),
        (
            "problems",
            "Problems that `roleos ledger verify` lists",
            audit.problems.len() as u64,
        ),
    ];
    for (name, help, value) in figures {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    registry
}
