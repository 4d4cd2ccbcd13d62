//! Counters for Prometheus: what came, where it went, and how much time was ours.

use std::fmt;
use std::time::Duration;

use host::store::audit::Audit;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

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
        }
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub fn answered(&self, labels: &Labels, overhead: Duration) {
        self.requests.get_or_create(labels).inc();
        self.overhead.observe(overhead.as_secs_f64());
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
    pub fn text(&self, audit: Option<&Audit>) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        encode_registry(&mut text, &self.registry).ok();
        if let Some(audit) = audit {
            encode_registry(&mut text, &of_ledger(audit)).ok();
        }
        encode_eof(&mut text).ok();
        text
    }
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
