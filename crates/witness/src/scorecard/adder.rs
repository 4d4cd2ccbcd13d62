//! Sums rows, each of which is known to be the only one of its task; only the latencies are kept.

use std::collections::BTreeMap;

use super::{Report, Row, Tally};

/// Running sums for a [`Report`].
#[derive(Clone, Debug, Default)]
pub struct Adder {
    /// Set if sessions that attempted no task count as well.
    all: bool,
    report: Report,
    total: Tally,
    groups: BTreeMap<String, Tally>,
}

impl Adder {
    /// Creates an empty sum; `all` counts sessions that attempted no task as well.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }

    /// Counts bundles that the filter left out.
    pub fn filtered(&mut self, number: u64) {
        self.report.filtered += number;
    }

    /// Adds the row of a verified bundle that the filter let through.
    pub fn add(&mut self, row: &Row, group: Option<&str>) {
        if row.by_agent {
            self.report.by_agent += 1;
            return;
        }
        if !row.is_task && !self.all {
            self.report.not_tasks += 1;
            return;
        }
        self.total.add(row);
        self.report.note(row, true);
        let Some(name) = group else {
            return;
        };
        match self.groups.get_mut(name) {
            Some(tally) => tally.add(row),
            None => {
                let mut tally = Tally::default();
                tally.add(row);
                self.groups.insert(name.to_owned(), tally);
            }
        }
    }

    /// Returns the metrics of all rows.
    #[must_use]
    pub fn finish(self) -> Report {
        let groups = self.groups.into_iter();
        Report {
            all: self.total.finish(),
            groups: groups.map(|(name, tally)| (name, tally.finish())).collect(),
            ..self.report
        }
    }
}
