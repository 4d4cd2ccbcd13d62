//! Cost to outcome over time: the cost of a solved task in each week or day, and tasks that were solved before and
//! fail now.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use crate::bundle::{Bundle, Contents};
use crate::cost::Cost;
use crate::evidence::Evidence;
use crate::extension::field;
use crate::scorecard::{Age, Filter, Row};
use crate::wire::{Outcome, Tag, TaskId};

const DAY_NS: u64 = 86_400_000_000_000;

/// Period of the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// ISO 8601 week, Monday to Sunday.
    Week,
    /// Calendar day.
    Day,
}

impl Period {
    /// Returns `2026-W07` or `2026-02-15`, whose text order is the order of time.
    #[must_use]
    pub fn label(self, created_ns: u64) -> String {
        let Ok(time) = Timestamp::from_nanosecond(i128::from(created_ns)) else {
            return "(none)".to_owned();
        };
        let date = time.to_zoned(TimeZone::UTC).date();
        match self {
            Self::Week => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Self::Day => date.to_string(),
        }
    }
}

/// One point of the curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Label of the period; see [`Period::label`].
    pub period: String,
    /// Number of attempted tasks.
    pub tasks: u64,
    /// Number of solved tasks.
    pub solved: u64,
    /// Cost of all tasks.
    pub cost: Cost,
    /// Tokens of all tasks.
    pub tokens: u64,
    /// Retries of all tasks.
    pub retries: u64,
    /// Number of tasks that were solved before and are failed now.
    pub regressions: u64,
}

impl Point {
    /// Returns the cost per solved task; see [`Cost::per_solve`].
    #[must_use]
    pub fn cost_per_solve(&self) -> Option<u64> {
        self.cost.per_solve()
    }

    /// Returns the tokens of all tasks per solved task; `None` if none is solved.
    #[must_use]
    pub fn tokens_per_solve(&self) -> Option<u64> {
        self.tokens.checked_div(self.solved)
    }
}

/// Identity of a task across attempts: the suite's id, else the spec, else the task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub [u8; 16]);

impl Identity {
    /// Reads the identity from a bundle.
    #[must_use]
    pub fn of(contents: &Contents<'_>) -> Self {
        let suite_task = contents.extensions().provenance.get(field::SUITE_TASK);
        let digest = match (suite_task, contents.section(Tag::Spec)) {
            (Some(id), _) => Sha256::new().chain_update(b"suite\n").chain_update(id),
            (None, Some(spec)) => Sha256::new().chain_update(b"spec\n").chain_update(spec),
            (None, None) => Sha256::new()
                .chain_update(b"task\n")
                .chain_update(contents.header().task_id.0),
        };
        let digest: [u8; 32] = digest.finalize().into();
        let mut short = [0; 16];
        short.copy_from_slice(digest.first_chunk::<16>().unwrap_or(&[0; 16]));
        Self(short)
    }
}

/// Collector of attempts. The same attempt twice counts once; a task that is tried again in another week counts
/// again.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    filter: Filter,
    all: bool,
    attempts: HashMap<(TaskId, u64), Attempt>,
}

#[derive(Clone, Copy, Debug)]
struct Attempt {
    identity: Identity,
    row: Row,
    verified: bool,
    age: Age,
}

impl Attempts {
    /// Creates an empty collector. With `all`, sessions that attempted no task count as well.
    #[must_use]
    pub fn new(filter: Filter, all: bool) -> Self {
        Self {
            filter,
            all,
            attempts: HashMap::new(),
        }
    }

    /// Adds verified evidence; `leaf` is its index in the ledger.
    pub fn add(&mut self, evidence: &Evidence<'_>, leaf: Option<u64>) {
        let contents = evidence.contents();
        self.collect(contents, Age::of(contents, evidence.bytes(), leaf), true);
    }

    /// Adds a bundle without a verified signature; it never replaces verified evidence.
    pub fn add_unverified(&mut self, bundle: &Bundle<'_>) {
        let contents = bundle.claims();
        self.collect(contents, Age::of(contents, bundle.bytes(), None), false);
    }

    fn collect(&mut self, contents: &Contents<'_>, age: Age, verified: bool) {
        if self.filter.holds(contents) {
            let task = contents.header().task_id;
            self.add_row(
                task,
                age,
                Identity::of(contents),
                Row::of(contents),
                verified,
            );
        }
    }

    /// Adds values that were read from a bundle earlier; the caller has applied the filter.
    pub fn add_row(
        &mut self,
        task: TaskId,
        age: Age,
        identity: Identity,
        row: Row,
        verified: bool,
    ) {
        if row.by_agent || !(row.is_task || self.all) {
            return;
        }
        let attempt = Attempt {
            identity,
            row,
            verified,
            age,
        };
        self.keep((task, age.created_ns), attempt);
    }

    fn keep(&mut self, which: (TaskId, u64), attempt: Attempt) {
        let kept = self.attempts.entry(which).or_insert(attempt);
        if (attempt.verified, attempt.age) > (kept.verified, kept.age) {
            *kept = attempt;
        }
    }

    /// Adds the attempts that another thread collected.
    pub fn merge(&mut self, other: Self) {
        #[expect(
            clippy::iter_over_hash_type,
            reason = "`keep` gives the same in any order"
        )]
        for (which, attempt) in other.attempts {
            self.keep(which, attempt);
        }
    }

    /// Returns the curve, oldest point first.
    #[must_use]
    pub fn curve(&self, period: Period) -> Vec<Point> {
        let mut attempts: Vec<_> = self
            .attempts
            .iter()
            .map(|((task, created_ns), one)| (*created_ns, *task, one.identity, one.row))
            .collect();
        attempts.sort_unstable_by_key(|(created_ns, task, ..)| (*created_ns, *task));

        let mut points: BTreeMap<String, Point> = BTreeMap::new();
        let mut history = History::default();
        let (mut day, mut label) = (None, String::new());
        for (created_ns, _, identity, row) in attempts {
            // The attempts are in the order of time, and all of one day have the same label.
            if day.replace(created_ns / DAY_NS) != Some(created_ns / DAY_NS) {
                label = period.label(created_ns);
            }
            let point = points.entry(label.clone()).or_insert_with(|| Point {
                period: label.clone(),
                tasks: 0,
                solved: 0,
                cost: Cost::default(),
                tokens: 0,
                retries: 0,
                regressions: 0,
            });
            point.tasks += 1;
            point.solved += u64::from(row.outcome == Outcome::Solved);
            point.cost.add(&row);
            point.tokens += u64::from(row.tokens);
            point.retries += u64::from(row.retries);
            history.note(&point.period, identity, row.outcome);
        }
        for (label, regressions) in history.regressions {
            if let Some(point) = points.get_mut(&label) {
                point.regressions = regressions.values().filter(|failed| **failed).count() as u64;
            }
        }
        points.into_values().collect()
    }
}

/// Tasks that were ever solved, and their state at the end of each period.
#[derive(Default)]
struct History {
    solved: std::collections::HashSet<Identity>,
    regressions: BTreeMap<String, BTreeMap<Identity, bool>>,
}

impl History {
    /// Adds an attempt, in the order of time. Skipped and broken ones say nothing about a regression.
    fn note(&mut self, period: &str, identity: Identity, outcome: Outcome) {
        let failed = match outcome {
            Outcome::Solved => {
                self.solved.insert(identity);
                false
            }
            Outcome::Failed => true,
            Outcome::Skipped | Outcome::Error => return,
        };
        if self.solved.contains(&identity) {
            self.regressions
                .entry(period.to_owned())
                .or_default()
                .insert(identity, failed);
        }
    }
}
