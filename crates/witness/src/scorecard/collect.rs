//! Collects bundles, the newest per task, and keeps little of each, so that memory stays flat.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::bundle::{Bundle, Contents};
use crate::evidence::Evidence;
use crate::wire::TaskId;

use super::{Row, Scorecard, Tally, Wanted, count};

/// Age of a bundle. Of two bundles of one task and one time, the newer one has the later leaf of the ledger, else the
/// larger signature. File names do not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age {
    /// Time of creation in nanoseconds since 1970, as in the header.
    pub created_ns: u64,
    /// Index in the ledger; `None` sorts before every leaf.
    pub leaf: Option<u64>,
    /// End of the signature; see [`Age::signature_of`].
    pub signature: u64,
}

impl Age {
    /// Returns the last eight bytes of a bundle, which are the end of its signature if it is signed.
    #[must_use]
    pub fn signature_of(bytes: &[u8]) -> u64 {
        bytes.last_chunk().copied().map_or(0, u64::from_be_bytes)
    }

    pub(crate) fn of(contents: &Contents<'_>, bytes: &[u8], leaf: Option<u64>) -> Self {
        Self {
            created_ns: contents.header().created_ns,
            leaf,
            signature: Self::signature_of(bytes),
        }
    }
}

/// Collector of bundles.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    wanted: Wanted,
    groups: Vec<String>,
    newest: HashMap<TaskId, Kept>,
    duplicates: u64,
    filtered: u64,
    by_agent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    row: Row,
    verified: bool,
    group: u32,
    age: Age,
}

impl Kept {
    /// Returns the rank: signed evidence before claims, and an attempt before a session without one, however new
    /// those are.
    fn rank(&self) -> (bool, bool, Age) {
        (self.verified, self.row.is_task, self.age)
    }
}

/// A scorecard and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Metrics of all counted tasks.
    pub all: Scorecard,
    /// Metrics by group, in the order of their names; empty without grouping.
    pub groups: BTreeMap<String, Scorecard>,
    /// Number of counted tasks with verified bundles.
    pub verified: u64,
    /// Number of counted tasks without.
    pub unverified: u64,
    /// Number of bundles replaced by a newer one of the same task.
    pub duplicates: u64,
    /// Number of bundles that the filter left out.
    pub filtered: u64,
    /// Number of sessions that attempted no task and are not counted.
    pub not_tasks: u64,
    /// Number of bundles that a process below an agent sealed by hand; they do not count.
    pub by_agent: u64,
    /// Number of counted tasks that claim to be solved against their test log.
    pub corrected: u64,
    /// Hashes of the policies of the counted tasks, with the number of tasks.
    pub policies: BTreeMap<[u8; 8], u64>,
    /// Number of counted tasks whose policy is neither published nor contained.
    pub unknown_policies: u64,
}

impl Collector {
    /// Creates an empty collector.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    /// Adds verified evidence; `leaf` is its index in the ledger.
    pub fn add(&mut self, evidence: &Evidence<'_>, leaf: Option<u64>) {
        let contents = evidence.contents();
        self.collect(contents, Age::of(contents, evidence.bytes(), leaf), true);
    }

    /// Adds a bundle without a verified signature; it is counted separately.
    pub fn add_unverified(&mut self, bundle: &Bundle<'_>) {
        let contents = bundle.claims();
        self.collect(contents, Age::of(contents, bundle.bytes(), None), false);
    }

    fn collect(&mut self, contents: &Contents<'_>, age: Age, verified: bool) {
        if !self.wanted.filter.holds(contents) {
            self.filtered += 1;
            return;
        }
        let group = self.wanted.by.as_ref().map(|by| by.group(contents));
        let task = contents.header().task_id;
        self.add_row(task, age, Row::of(contents), verified, group.as_deref());
    }

    /// Adds a row that was read from a bundle earlier; the caller has applied the filter.
    pub fn add_row(
        &mut self,
        task: TaskId,
        age: Age,
        row: Row,
        verified: bool,
        group: Option<&str>,
    ) {
        // It must not replace the evidence about the task either.
        if row.by_agent {
            self.by_agent += 1;
            return;
        }
        let group = group.map_or(0, |name| self.group_number(name));
        let kept = Kept {
            row,
            verified,
            group,
            age,
        };
        self.keep(task, kept);
    }

    /// Returns the number of a group. Groups are few, so a search is simpler than a second map.
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
                if kept.rank() > place.get().rank() {
                    place.insert(kept);
                }
            }
        }
    }

    /// Adds the bundles that another thread collected for the same [`Wanted`].
    pub fn merge(&mut self, other: Self) {
        self.duplicates += other.duplicates;
        self.filtered += other.filtered;
        self.by_agent += other.by_agent;
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

    /// Returns the metrics of all collected bundles.
    #[must_use]
    pub fn finish(&self) -> Report {
        let mut report = Report {
            duplicates: self.duplicates,
            filtered: self.filtered,
            by_agent: self.by_agent,
            ..Report::default()
        };
        let mut all = Tally::default();
        let mut groups = vec![Tally::default(); self.groups.len()];
        #[expect(
            clippy::iter_over_hash_type,
            reason = "sums and a sort do not depend on the order"
        )]
        for kept in self.newest.values() {
            let row = &kept.row;
            if !row.is_task && !self.wanted.all {
                report.not_tasks += 1;
                continue;
            }
            all.add(row);
            let place = usize::try_from(kept.group).unwrap_or(usize::MAX);
            if let Some(group) = groups.get_mut(place) {
                group.add(row);
            }
            report.note(row, kept.verified);
        }
        report.all = all.finish();
        report.groups = self
            .groups
            .iter()
            .cloned()
            .zip(groups.iter().map(Tally::finish))
            .filter(|(_, card)| card.total_tasks > 0)
            .collect();
        report
    }
}

impl Report {
    pub(super) fn note(&mut self, row: &Row, verified: bool) {
        *if verified {
            &mut self.verified
        } else {
            &mut self.unverified
        } += 1;
        self.corrected += u64::from(row.is_corrected);
        self.unknown_policies += u64::from(!row.policy_known);
        *self.policies.entry(row.policy_hash).or_default() += 1;
    }
}
