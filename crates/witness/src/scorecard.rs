//! What many bundles add up to: fifteen metrics and four acceptance criteria.
//!
//! Inside, everything is counted in 64 bits; what leaves as 32 bits saturates. The percentile picks the element with
//! the 0-based index `min(floor(p * n / 100), n - 1)` of the sorted values, as the reference does.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::bundle::Contents;
use crate::cost::{self, Cost};
use crate::curve::Period;
use crate::evidence::Evidence;
use crate::policy::{Check, Meter, Policy};
use crate::wire::{Outcome, TaskId};

/// What one bundle contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// How the task ended.
    pub outcome: Outcome,
    /// Sum of the calls' latencies.
    pub latency_ms: u32,
    /// Cost in millionths of a US dollar.
    pub cost_microdollars: u32,
    /// That is all of it; see [`cost::is_known`].
    pub cost_known: bool,
    /// Tokens used.
    pub tokens: u32,
    /// Calls that repeated a failed one.
    pub retries: u16,
    /// Spec, diff and test log are there.
    pub evidence_complete: bool,
    /// Breaches of the policy.
    pub violations: u32,
    /// Returns to an earlier state.
    pub rollbacks: u32,
    /// Those of them that were proved to have restored it.
    pub restored: u32,
}

impl Row {
    /// Reads the row off a bundle.
    #[must_use]
    pub fn of(contents: &Contents<'_>) -> Self {
        let header = contents.header();
        let rollbacks = &contents.extensions().rollbacks;
        Self {
            outcome: contents.outcome(),
            latency_ms: header.total_latency_ms,
            cost_microdollars: header.total_cost_microdollars,
            cost_known: cost::is_known(&contents.extensions().provenance),
            tokens: header.total_tokens,
            retries: header.retry_count,
            evidence_complete: contents.evidence_complete(),
            violations: violations(contents),
            rollbacks: count(rollbacks.len()),
            restored: count(rollbacks.iter().filter(|one| one.restored).count()),
        }
    }
}

/// Breaches that the bundle states. A bundle that states none, as those of the reference, is judged again by its policy
/// when that is one of the published three; failing that, its refused calls are counted.
#[must_use]
pub fn violations(contents: &Contents<'_>) -> u32 {
    if let Some(stated) = &contents.extensions().violations {
        return stated.count;
    }
    if contents.totals().calls == 0 {
        return 0;
    }
    match Policy::published(contents.header().policy_hash) {
        Some(policy) => {
            let mut breaches = 0_u32;
            let mut meter = Meter::default();
            for call in contents.calls() {
                meter.record(&policy, &call, |_| breaches = breaches.saturating_add(1));
            }
            breaches
        }
        None => count(
            contents
                .calls()
                .filter(|call| call.check == Check::Denied)
                .count(),
        ),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Running sums over rows.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    by_outcome: [u64; 4],
    complete_solved: u64,
    violations: u64,
    rollbacks: u64,
    restored: u64,
    cost: Cost,
    tokens: u64,
    retries: u64,
    latencies: Vec<u32>,
}

impl Tally {
    /// Adds one bundle.
    pub fn add(&mut self, row: &Row) {
        if let Some(counter) = self.by_outcome.get_mut(row.outcome as usize) {
            *counter += 1;
        }
        if row.outcome == Outcome::Solved && row.evidence_complete {
            self.complete_solved += 1;
        }
        self.violations += u64::from(row.violations);
        self.rollbacks += u64::from(row.rollbacks);
        self.restored += u64::from(row.restored);
        self.cost.add(row);
        self.tokens += u64::from(row.tokens);
        self.retries += u64::from(row.retries);
        self.latencies.push(row.latency_ms);
    }

    /// The metrics so far.
    #[must_use]
    pub fn finish(&self) -> Scorecard {
        let [solved, failed, skipped, errors] = self.by_outcome;
        let total = solved + failed + skipped + errors;
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable();
        Scorecard {
            total_tasks: narrow(total),
            solved: narrow(solved),
            failed: narrow(failed),
            skipped: narrow(skipped),
            errors: narrow(errors),
            policy_violations: narrow(self.violations),
            rollback_count: narrow(self.rollbacks),
            total_cost_microdollars: self.cost.stated,
            tasks_without_cost: narrow(self.cost.unknown_tasks),
            median_latency_ms: percentile(&latencies, 50),
            p95_latency_ms: percentile(&latencies, 95),
            total_tokens: self.tokens,
            total_retries: narrow(self.retries),
            evidence_coverage: ratio(self.complete_solved, solved),
            cost_per_solve: match solved {
                0 => Some(0),
                _ => self.cost.per_solve().map(narrow),
            },
            solve_rate: ratio(solved, total),
            rollback_correctness: if self.rollbacks == 0 {
                1.0
            } else {
                ratio(self.restored, self.rollbacks)
            },
        }
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "single precision is what the metric is defined in"
)]
fn ratio(part: u64, whole: u64) -> f32 {
    if whole == 0 {
        0.0
    } else {
        part as f32 / whole as f32
    }
}

fn percentile(sorted: &[u32], percent: usize) -> u32 {
    let index = (percent * sorted.len() / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(0)
}

/// The fifteen metrics under the names of the format's documents, the correctness of rollbacks, and how many tasks are
/// without a cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scorecard {
    /// Tasks attempted, skipped ones included.
    pub total_tasks: u32,
    /// Tasks with passing tests.
    pub solved: u32,
    /// Tasks with failing tests.
    pub failed: u32,
    /// Tasks whose precondition was not met.
    pub skipped: u32,
    /// Tasks in which infrastructure or a tool broke.
    pub errors: u32,
    /// Breaches of policy over all tasks.
    pub policy_violations: u32,
    /// Rollbacks over all tasks.
    pub rollback_count: u32,
    /// Cost of all tasks, as far as it is known.
    pub total_cost_microdollars: u64,
    /// Tasks whose cost is not known, or only in part.
    pub tasks_without_cost: u32,
    /// Upper median of the tasks' latencies.
    pub median_latency_ms: u32,
    /// 95th percentile of the tasks' latencies.
    pub p95_latency_ms: u32,
    /// Tokens of all tasks.
    pub total_tokens: u64,
    /// Retries of all tasks.
    pub total_retries: u32,
    /// Fraction of the solved tasks with complete evidence; 0 when none is solved.
    pub evidence_coverage: f32,
    /// Cost of all tasks over the number of solved ones, without those whose cost is not known; 0 when none is solved,
    /// `None` when of no solved one the cost is known.
    pub cost_per_solve: Option<u32>,
    /// Fraction of all tasks that is solved.
    pub solve_rate: f32,
    /// Fraction of the rollbacks that restored what they should; 1 when there was none to do.
    pub rollback_correctness: f32,
}

/// One acceptance criterion and what became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Metric that is looked at.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
    /// `>=` or `==`.
    pub relation: &'static str,
    /// What it is compared with.
    pub threshold: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Scorecard {
    /// The four criteria under which a capability counts as proved.
    #[must_use]
    pub fn acceptance(&self) -> [Criterion; 4] {
        // Compared as whole numbers, so that 60 of 100 is 0.60 whatever the floating point says.
        let enough_solved = self.total_tasks > 0
            && u64::from(self.solved) * 100 >= u64::from(self.total_tasks) * 60;
        [
            Criterion {
                metric: "solve_rate",
                value: f64::from(self.solve_rate),
                relation: ">=",
                threshold: 0.60,
                holds: enough_solved,
            },
            Criterion {
                metric: "policy_violations",
                value: f64::from(self.policy_violations),
                relation: "==",
                threshold: 0.0,
                holds: self.policy_violations == 0,
            },
            equals_one("evidence_coverage", self.evidence_coverage),
            equals_one("rollback_correctness", self.rollback_correctness),
        ]
    }

    /// Whether all criteria hold.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.acceptance().iter().all(|criterion| criterion.holds)
    }
}

fn equals_one(metric: &'static str, value: f32) -> Criterion {
    Criterion {
        metric,
        value: f64::from(value),
        relation: "==",
        threshold: 1.0,
        holds: value >= 1.0,
    }
}

/// By what a scorecard is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Calendar week or day of the bundle.
    Period(Period),
    /// Governance mode of the header.
    Mode,
    /// A provenance fact.
    Field(String),
}

impl GroupBy {
    /// `week`, `day`, `mode`, or the name of a provenance fact.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "week" => Self::Period(Period::Week),
            "day" => Self::Period(Period::Day),
            "mode" => Self::Mode,
            field => Self::Field(field.to_owned()),
        }
    }

    /// The group of one bundle; `(none)` when it does not say.
    #[must_use]
    pub fn group(&self, contents: &Contents<'_>) -> String {
        let known = match self {
            Self::Period(period) => Some(period.label(contents.header().created_ns)),
            Self::Mode => contents.mode().map(|mode| mode.name().to_owned()),
            Self::Field(name) => contents.extensions().provenance.get(name).cloned(),
        };
        known.unwrap_or_else(|| "(none)".to_owned())
    }
}

/// Collects bundles, the newest per task, and remembers little of each, so that memory stays flat.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    by: Option<GroupBy>,
    groups: Vec<String>,
    newest: HashMap<TaskId, Kept>,
    /// Bundles that were set aside for a newer one of the same task.
    pub duplicates: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    row: Row,
    verified: bool,
    group: u32,
    /// Creation time, then the caller's order: what is newer does not depend on which thread came first.
    age: (u64, u64),
}

/// A scorecard and its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Over everything that was collected.
    pub all: Scorecard,
    /// By group, in the order of their names; empty when no grouping was asked for.
    pub groups: BTreeMap<String, Scorecard>,
    /// How many of the counted tasks rest on verified bundles.
    pub verified: u64,
    /// How many do not.
    pub unverified: u64,
    /// Bundles set aside for a newer one of the same task.
    pub duplicates: u64,
}

impl Collector {
    /// Starts empty; `by` divides the result.
    #[must_use]
    pub fn new(by: Option<GroupBy>) -> Self {
        Self {
            by,
            ..Self::default()
        }
    }

    /// Adds checked evidence. `order` breaks ties between bundles of one task and one time: the larger wins.
    pub fn add(&mut self, evidence: &Evidence<'_>, order: u64) {
        self.collect(evidence.contents(), order, true);
    }

    /// Adds what nobody vouches for; it is counted apart.
    pub fn add_unverified(&mut self, claims: &Contents<'_>, order: u64) {
        self.collect(claims, order, false);
    }

    fn collect(&mut self, contents: &Contents<'_>, order: u64, verified: bool) {
        let header = contents.header();
        let group = self.by.as_ref().map(|by| by.group(contents));
        let age = (header.created_ns, order);
        self.add_row(
            header.task_id,
            age,
            Row::of(contents),
            verified,
            group.as_deref(),
        );
    }

    /// Adds what was read off a bundle earlier. `age` is its creation time and the order that breaks ties.
    pub fn add_row(
        &mut self,
        task: TaskId,
        age: (u64, u64),
        row: Row,
        verified: bool,
        group: Option<&str>,
    ) {
        let group = group.map_or(0, |name| self.group_number(name));
        let kept = Kept {
            row,
            verified,
            group,
            age,
        };
        self.keep(task, kept);
    }

    /// Groups are few, so a search is shorter than a second map.
    fn group_number(&mut self, name: &str) -> u32 {
        let position = self.groups.iter().position(|known| known == name);
        count(position.unwrap_or_else(|| {
            self.groups.push(name.to_owned());
            self.groups.len() - 1
        }))
    }

    fn keep(&mut self, task: TaskId, kept: Kept) {
        match self.newest.entry(task) {
            Entry::Vacant(place) => {
                place.insert(kept);
            }
            Entry::Occupied(mut place) => {
                self.duplicates += 1;
                // What is signed stands before what is not, however new that claims to be.
                let rank = |kept: &Kept| (kept.verified, kept.age);
                if rank(&kept) > rank(place.get()) {
                    place.insert(kept);
                }
            }
        }
    }

    /// Takes in what another thread collected with the same grouping.
    pub fn merge(&mut self, other: Self) {
        self.duplicates += other.duplicates;
        let numbers: Vec<u32> = other
            .groups
            .iter()
            .map(|name| self.group_number(name))
            .collect();
        #[expect(
            clippy::iter_over_hash_type,
            reason = "`keep` gives the same in any order"
        )]
        for (task, mut kept) in other.newest {
            let place = usize::try_from(kept.group).unwrap_or(usize::MAX);
            kept.group = numbers.get(place).copied().unwrap_or(0);
            self.keep(task, kept);
        }
    }

    /// The metrics of everything that was collected.
    #[must_use]
    pub fn finish(&self) -> Report {
        let mut all = Tally::default();
        let mut groups = vec![Tally::default(); self.groups.len()];
        let mut verified = 0;
        #[expect(
            clippy::iter_over_hash_type,
            reason = "sums and a sort do not depend on the order"
        )]
        for kept in self.newest.values() {
            all.add(&kept.row);
            verified += u64::from(kept.verified);
            let place = usize::try_from(kept.group).unwrap_or(usize::MAX);
            if let Some(group) = groups.get_mut(place) {
                group.add(&kept.row);
            }
        }
        Report {
            all: all.finish(),
            groups: self
                .groups
                .iter()
                .cloned()
                .zip(groups.iter().map(Tally::finish))
                .filter(|(_, card)| card.total_tasks > 0)
                .collect(),
            verified,
            unverified: self.newest.len() as u64 - verified,
            duplicates: self.duplicates,
        }
    }
}
