//! Counters for Prometheus: requests by route, and the time that the gateway added; [`standing`] is the workspace.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use evidence::store::audit::Audit;
use routing::learning::Shown;

use self::standing::{Counted, Workspace};

pub mod standing;

/// Most series of a family; further ones are counted as one, so that a client cannot fill the memory.
const MAX_SERIES: usize = 1000;

/// Labels of a counted request.
#[derive(Clone, Debug)]
pub struct Labels {
    /// "passthrough", "specialist", "general" or "refused".
    pub route: &'static str,
    /// Name of the upstream; empty if there is none.
    pub upstream: String,
    /// Status of the response.
    pub status: u16,
}

/// Usage of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent<'a> {
    /// "passthrough", "specialist", "general" or "refused".
    pub route: &'static str,
    /// The role that was played; empty if there is none.
    pub role: &'a str,
    /// The model that answered.
    pub model: &'a str,
    /// Input and output tokens, if known.
    pub tokens: (Option<u64>, Option<u64>),
    /// Their cost in millionths of a dollar, if known.
    pub microdollars: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Number(AtomicI64);

impl Number {
    /// Adds one.
    pub fn inc(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Subtracts one.
    pub fn dec(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    /// Replaces the value.
    pub fn set(&self, value: i64) {
        self.0.store(value, Relaxed);
    }
}

/// A counter per set of labels, stored as printed.
#[derive(Debug, Default)]
struct Family(Mutex<BTreeMap<String, u64>>);

impl Family {
    fn add(&self, labels: &[(&str, &dyn fmt::Display)], count: u64) {
        let mut series = printed(labels);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_SERIES && !counts.contains_key(&series) {
            let others: Vec<_> = labels
                .iter()
                .map(|(name, _)| (*name, &"other" as _))
                .collect();
            series = printed(&others);
        }
        *counts.entry(series).or_default() += count;
    }
}

fn printed(labels: &[(&str, &dyn fmt::Display)]) -> String {
    let labels: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escape(&value.to_string())))
        .collect();
    labels.join(",")
}

fn escape(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

/// Upper bounds of the buckets in seconds.
type Bounds = [f64; 12];

const OVERHEAD: Bounds = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.002_5, 0.005,
    0.025, 0.1,
];

const DURATION: Bounds = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0,
];

/// Histogram of durations: of whole requests if `LONG`, else of the part that the gateway added.
#[derive(Debug, Default)]
pub struct Histogram<const LONG: bool>(Mutex<Seen>);

/// Observed durations.
#[derive(Debug, Default)]
pub struct Seen {
    buckets: [u64; 12],
    count: u64,
    sum: f64,
}

impl<const LONG: bool> Histogram<LONG> {
    const BOUNDS: Bounds = if LONG { DURATION } else { OVERHEAD };

    /// Counts one duration.
    pub fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.sum += seconds;
        seen.count += 1;
        for (bucket, bound) in seen.buckets.iter_mut().zip(Self::BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
    }
}

/// All counters of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Family,
    overhead: Histogram<false>,
    /// Duration from the head of the request to the last byte of the response.
    pub duration: Histogram<true>,
    /// Responses that are being sent.
    pub open: Number,
    /// Responses that the client cancelled.
    pub cancelled: Number,
    /// Responses that the upstream interrupted.
    pub broken: Number,
    /// Receipts that could not be written.
    pub receipts_lost: Number,
    /// Open connections.
    pub connections: Number,
    audits: Family,
    /// Exams that are too old.
    pub old_audits: Number,
    tokens: Family,
    /// Costs in millionths of a dollar.
    cost: Family,
    /// Messages to webhooks.
    notified: Family,
    /// Spans for a collector.
    exported: Family,
    probes: Family,
    /// Feedback of users on answers.
    pub feedback: Number,
    lessons: Family,
    trainings: Family,
}

impl Metrics {
    /// Counts an answered request.
    pub fn answered(&self, labels: &Labels, overhead: Duration) {
        self.count_request(labels.route, &labels.upstream, labels.status);
        self.overhead.observe(overhead);
    }

    /// Counts the tokens of an answer, and their cost if known.
    pub fn used(&self, spent: &Spent<'_>) {
        let Spent {
            route, role, model, ..
        } = *spent;
        let labels: [(&str, &dyn fmt::Display); 2] = [("role", &role), ("model", &model)];
        for (direction, tokens) in [("input", spent.tokens.0), ("output", spent.tokens.1)] {
            if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
                let way: [(&str, &dyn fmt::Display); 2] =
                    [("route", &route), ("direction", &direction)];
                self.tokens.add(&[&way[..], &labels].concat(), tokens);
            }
        }
        if let Some(cost) = spent.microdollars.filter(|cost| *cost > 0) {
            self.cost.add(&labels, cost);
        }
    }

    /// Counts a message to a webhook: "delivered", "failed" or "dropped".
    pub fn notified(&self, outcome: &'static str) {
        self.notified.add(&[("outcome", &outcome)], 1);
    }

    /// Counts spans for a collector: "sent", "failed" or "dropped".
    pub fn exported(&self, outcome: &'static str, count: u64) {
        self.exported.add(&[("outcome", &outcome)], count);
    }

    /// Counts a probe.
    pub fn probed(&self, outcome: &'static str) {
        self.probes.add(&[("outcome", &outcome)], 1);
    }

    /// Counts a request that was drawn for learning.
    pub fn learned(&self, outcome: &'static str) {
        self.lessons.add(&[("outcome", &outcome)], 1);
    }

    /// Counts a training.
    pub fn trained(&self, outcome: &'static str) {
        self.trainings.add(&[("outcome", &outcome)], 1);
    }

    /// Counts an exam that was too old, by "passed", "not passed" or "not taken".
    pub fn audited(&self, outcome: &'static str) {
        self.audits.add(&[("outcome", &outcome)], 1);
    }

    /// Counts a request that the guard refused.
    pub fn refused(&self, status: u16) {
        self.count_request("refused", "", status);
    }

    fn count_request(&self, route: &str, upstream: &str, status: u16) {
        let labels: [(&str, &dyn fmt::Display); 3] = [
            ("route", &route),
            ("upstream", &upstream),
            ("status", &status),
        ];
        self.requests.add(&labels, 1);
    }

    /// Returns the OpenMetrics text; with the ledger once it was compared with the bundles, and with the state of the
    /// workspace if known.
    #[must_use]
    #[rustfmt::skip]
    pub fn text(&self, audit: Option<&Audit>, learning: Option<&Shown>, workspace: Option<(&Workspace, &Counted)>) -> String {
        let mut page = Page { prefix: "roleos", text: String::new() };
        page.gauges("build_info", "Version of the program", &[(printed(&[("version", &env!("CARGO_PKG_VERSION"))]), 1)]);
        page.family("notifications", "Messages to webhooks, by what came of them", &self.notified);
        page.family("spans", "Spans for a collector, by what came of them", &self.exported);
        page.prefix = "roleos_gateway";
        page.family("requests", "Requests that were answered", &self.requests);
        page.histogram("latency_overhead_seconds", "Time that the gateway itself added", &self.overhead);
        page.histogram("duration_seconds", "From the head of a request to the end of its answer", &self.duration);
        page.gauge("open_answers", "Answers that are under way", &self.open);
        page.counter("cancelled", "Answers that clients did not wait for", &self.cancelled);
        page.counter("broken", "Answers that an upstream broke off", &self.broken);
        page.counter("receipts_lost", "Receipts that could not be written", &self.receipts_lost);
        page.gauge("connections", "Open connections of clients", &self.connections);
        page.family("audits", "Exams that were too old, by what came of taking them again", &self.audits);
        page.gauge("old_audits", "Exams that are too old", &self.old_audits);
        page.family("tokens", "Tokens of answers, as far as they are known", &self.tokens);
        page.scaled("cost_usd", "Cost of answers in US dollars, as far as prices are known", &self.cost);
        page.family("probes", "Answers of adapters that were compared with the general model, by what came of it", &self.probes);
        page.family("learning_contests", "Questions that were drawn to learn from, by what came of them", &self.lessons);
        page.family("learning_trainings", "Trainings of the selector, by what came of them", &self.trainings);
        page.counter("feedback", "What users said of answers", &self.feedback);
        if let Some(audit) = audit {
            page.prefix = "roleos_ledger";
            let ok = u8::from(audit.problems.is_empty());
            page.value("ok", "1 if bundles, ledger and checkpoint fit together, else 0", ok);
            page.value("size", "Leaves of the ledger", audit.size);
            page.value("problems", "Problems that `roleos ledger verify` lists", audit.problems.len());
        }
        if let Some(Shown { learning, budget_usd, spent_usd, share, .. }) = learning {
            page.prefix = "roleos_learning";
            page.value("budget_usd", "Most that learning may cost on a day, in US dollars", Float(*budget_usd));
            page.value("spent_usd", "What learning cost today, in US dollars", Float(*spent_usd));
            page.value("share", "Share of the dispatches that are learned from", Float(*share));
            page.value("contests", "Contests that were held to learn from", learning.contests);
            page.value("contests_since_training", "Contests since the selector was trained last", learning.since_training);
            let taken = learning.last.as_ref().is_some_and(|last| last.taken);
            page.value("last_training_taken", "1 if the selector of the last training is in use, else 0", u8::from(taken));
        }
        if let Some((workspace, counted)) = workspace {
            workspace.print(counted, &mut page);
        }
        page.text + "# EOF\n"
    }
}

/// Converts millionths to units.
#[expect(clippy::cast_precision_loss, reason = "a sum that is shown")]
fn units(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

/// A number printed with a decimal point.
struct Float(f64);

impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = if self.0.fract() == 0.0 { ".0" } else { "" };
        write!(f, "{}{point}", self.0)
    }
}

/// The text under construction.
struct Page {
    prefix: &'static str,
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        self.line(format_args!("# HELP {prefix}_{name} {help}."));
        self.line(format_args!("# TYPE {prefix}_{name} {kind}"));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        writeln!(self.text, "{line}").ok();
    }

    fn value(&mut self, name: &str, help: &str, value: impl fmt::Display) {
        self.head(name, "gauge", help);
        let prefix = self.prefix;
        self.line(format_args!("{prefix}_{name} {value}"));
    }

    fn gauge(&mut self, name: &str, help: &str, gauge: &Number) {
        self.value(name, help, gauge.0.load(Relaxed));
    }

    fn counter(&mut self, name: &str, help: &str, counter: &Number) {
        self.head(name, "counter", help);
        let (prefix, count) = (self.prefix, counter.0.load(Relaxed));
        self.line(format_args!("{prefix}_{name}_total {count}"));
    }

    fn family(&mut self, name: &str, help: &str, family: &Family) {
        self.series(name, help, family, |count| count.to_string());
    }

    /// Adds a family that counts millionths.
    fn scaled(&mut self, name: &str, help: &str, family: &Family) {
        self.series(name, help, family, |count| Float(units(count)).to_string());
    }

    fn series(&mut self, name: &str, help: &str, family: &Family, show: fn(u64) -> String) {
        let counts = family.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.is_empty() {
            return;
        }
        self.head(name, "counter", help);
        let prefix = self.prefix;
        for (labels, count) in &*counts {
            let count = show(*count);
            self.line(format_args!("{prefix}_{name}_total{{{labels}}} {count}"));
        }
    }

    /// Adds a gauge with these labels.
    fn gauges<T: fmt::Display>(&mut self, name: &str, help: &str, values: &[(String, T)]) {
        if values.is_empty() {
            return;
        }
        self.head(name, "gauge", help);
        let prefix = self.prefix;
        for (labels, value) in values {
            self.line(format_args!("{prefix}_{name}{{{labels}}} {value}"));
        }
    }

    fn histogram<const LONG: bool>(&mut self, name: &str, help: &str, times: &Histogram<LONG>) {
        let seen = times.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.head(name, "histogram", help);
        let name = format!("{}_{name}", self.prefix);
        self.line(format_args!("# UNIT {name} seconds"));
        self.line(format_args!("{name}_sum {}", Float(seen.sum)));
        self.line(format_args!("{name}_count {}", seen.count));
        for (bound, count) in Histogram::<LONG>::BOUNDS.iter().zip(seen.buckets) {
            self.line(format_args!(
                "{name}_bucket{{le=\"{}\"}} {count}",
                Float(*bound)
            ));
        }
        self.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {}", seen.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_labels_and_times_are_printed_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        let labels = Labels {
            route: "general",
            upstream: "a\"\\\n".to_owned(),
            status: 200,
        };
        metrics.answered(&labels, Duration::from_micros(20));
        metrics.answered(&labels, Duration::from_secs(2));
        metrics.open.set(-3);
        let text = metrics.text(None, None, None);
        for line in [
            "# HELP roleos_gateway_requests Requests that were answered.",
            "# TYPE roleos_gateway_requests counter",
            r#"roleos_gateway_requests_total{route="general",upstream="a\"\\\n",status="200"} 2"#,
            "# UNIT roleos_gateway_latency_overhead_seconds seconds",
            "roleos_gateway_latency_overhead_seconds_sum 2.00002",
            "roleos_gateway_latency_overhead_seconds_bucket{le=\"0.00001\"} 0",
            "roleos_gateway_latency_overhead_seconds_bucket{le=\"0.000025\"} 1",
            "roleos_gateway_latency_overhead_seconds_bucket{le=\"+Inf\"} 2",
            "roleos_gateway_duration_seconds_bucket{le=\"1.0\"} 0",
            "roleos_gateway_open_answers -3",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("roleos_gateway_tokens") && text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_client_cannot_make_more_series_than_there_is_room_for() {
        let metrics = Metrics::default();
        for number in 0..3000 {
            let model = format!("model-{number}");
            metrics.used(&Spent {
                route: "passthrough",
                model: &model,
                tokens: (Some(1), None),
                microdollars: Some(2),
                ..Spent::default()
            });
        }
        let text = metrics.text(None, None, None);
        let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(count("roleos_gateway_tokens_total"), MAX_SERIES + 1);
        let other = r#"roleos_gateway_cost_usd_total{role="other",model="other"} 0.004"#;
        assert!(text.lines().any(|line| line == other), "{text}");
    }
}
