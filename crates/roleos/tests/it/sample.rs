//! Bundles like those of another sealer: fixed times, keys and figures.

use witness::builder::Builder;
use witness::extension::Rollback;
use witness::key::HmacKey;
use witness::policy::{Check, Policy, Violation};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

/// The key of these bundles, for `--key-hex`.
pub(crate) const KEY_HEX: &str = "5ec2e75ec2e75ec2e75ec2e75ec2e75e";

/// Nanoseconds per day.
pub(crate) const DAY: u64 = 86_400_000_000_000;

/// Thursday, 2026-01-01, the first day of the ISO week 2026-W01 in that year.
pub(crate) const NEW_YEAR: u64 = 1_767_225_600_000_000_000;

/// Content of one bundle.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) task: u8,
    pub(crate) created_ns: u64,
    pub(crate) outcome: Outcome,
    pub(crate) mode: Mode,
    pub(crate) latency_ms: u32,
    pub(crate) cost_microdollars: u32,
    pub(crate) tokens: u32,
    pub(crate) retries: u16,
    pub(crate) evidence_complete: bool,
    pub(crate) violations: u32,
    /// Results of rollbacks; `true` if restored completely.
    pub(crate) rollbacks: Vec<bool>,
    pub(crate) spec: Option<&'static str>,
    pub(crate) facts: Vec<(&'static str, &'static str)>,
}

impl Sample {
    /// Returns a solved task with everything in order.
    pub(crate) fn new(task: u8) -> Self {
        Self {
            task,
            created_ns: NEW_YEAR + u64::from(task),
            outcome: Outcome::Solved,
            mode: Mode::Autonomous,
            latency_ms: 100,
            cost_microdollars: 1_000,
            tokens: 10,
            retries: 0,
            evidence_complete: true,
            violations: 0,
            rollbacks: Vec::new(),
            spec: None,
            facts: Vec::new(),
        }
    }

    /// Returns the bundle, signed with the key that [`KEY_HEX`] names.
    pub(crate) fn signed(&self) -> Vec<u8> {
        let key = HmacKey::new(&hex::decode(KEY_HEX).unwrap());
        self.builder().build(Some(&key), None).unwrap()
    }

    /// Returns the bundle without a signature.
    pub(crate) fn unsigned(&self) -> Vec<u8> {
        self.builder().build(None, None).unwrap()
    }

    pub(crate) fn builder(&self) -> Builder {
        let policy = Policy {
            max_cost_microdollars: u32::MAX,
            ..Policy::of_mode(self.mode)
        };
        let mut builder = Builder::new(TaskId([self.task; 16]), policy, self.created_ns);
        builder.outcome(self.outcome);
        if let Some(spec) = self.spec {
            builder.spec(spec);
        }
        if self.evidence_complete {
            let own = format!("task {}", self.task);
            builder.spec(self.spec.map_or(own, str::to_owned));
            builder.diff("+x").test_log("it ran");
        }
        let call = Call {
            action: b"Read",
            check: Check::Allowed,
            args_hash: [1; 8],
            result_hash: [2; 8],
            latency_ms: self.latency_ms,
            cost_microdollars: self.cost_microdollars,
            tokens: self.tokens,
        };
        builder.record(&call).unwrap();
        (0..self.retries).for_each(|_| builder.retry());
        for call in 0..self.violations {
            let text = "a rule".to_owned();
            builder.violation(Violation { call, text });
        }
        for restored in &self.rollbacks {
            builder.rollback(Rollback {
                restored: *restored,
                wanted: "a".to_owned(),
                found: if *restored { "a" } else { "b" }.to_owned(),
                kept: String::new(),
            });
        }
        for (name, value) in &self.facts {
            builder.provenance(name, value);
        }
        builder
    }
}
