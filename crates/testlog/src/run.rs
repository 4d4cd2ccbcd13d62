//! Numbers and names of one run, and the rule that the last run decides.
//!
//! Contains the limits of kept data. Independent of formats.

use std::collections::BTreeSet;

use super::{Failure, MAX_FAILURES, MAX_NAME_CHARS, Part, Runner};

/// Limit of the bytes of a name that are decoded: enough for [`MAX_NAME_CHARS`] of the longest characters.
const MAX_NAME_BYTES: usize = 4 * MAX_NAME_CHARS;
/// Limit of the bytes of the names of passed tests.
const MAX_PASSED_BYTES: usize = 1024 * 1024;
/// Limit of a count. The sum of the four numbers of a reading of hostile bytes stays far from an overflow.
const MAX_COUNT: u64 = u64::MAX / 8;

/// Number of tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) errors: u64,
}

impl Counts {
    /// Adds, saturating at [`MAX_COUNT`].
    pub(super) fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed).min(MAX_COUNT);
        self.failed = self.failed.saturating_add(other.failed).min(MAX_COUNT);
        self.skipped = self.skipped.saturating_add(other.skipped).min(MAX_COUNT);
        self.errors = self.errors.saturating_add(other.errors).min(MAX_COUNT);
    }

    /// Returns the number of all tests. A summary has at most a handful of 15-digit numbers, so this cannot overflow.
    pub(super) fn total(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
            .saturating_add(self.errors)
    }

    /// Returns `true` if a test failed or an error occurred.
    pub(super) fn is_bad(&self) -> bool {
        self.failed > 0 || self.errors > 0
    }
}

/// Packages, or other groups with one result each, by name.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) passed: BTreeSet<String>,
    pub(super) failed: BTreeSet<String>,
}

impl Groups {
    /// Adds all of `other`.
    pub(super) fn append(&mut self, other: Self) {
        self.passed.extend(other.passed);
        self.failed.extend(other.failed);
    }
}

/// A reader whose log may hold several runs, of which the last counts.
pub(super) trait LastRun: Default {
    /// Returns the run that is being read.
    fn run(&mut self) -> &mut Run;

    /// Drops the state of all runs but `run`, which begins.
    fn begin(&mut self, run: Run) {
        *self = Self::default();
        *self.run() = run;
    }

    /// Begins another run if this one has its summary.
    fn renew(&mut self) {
        if self.run().is_closed() {
            let next = self.run().next();
            self.begin(next);
        }
    }

    /// Returns the reader at the run that a line belongs to.
    fn current(&mut self) -> &mut Self {
        self.renew();
        self.run().touch();
        self
    }
}

/// The failed tests by name, bounded.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Failure>);

impl Names {
    /// Adds a name up to the limit unless it is known; returns `true` if it was added.
    pub(super) fn push(&mut self, name: &[u8], line: usize) -> bool {
        self.push_after(0, name, line)
    }

    /// Does the same as [`Self::push`], comparing only with the names after the first `known`.
    pub(super) fn push_after(&mut self, known: usize, name: &[u8], line: usize) -> bool {
        if self.0.len() >= MAX_FAILURES || name.is_empty() {
            return false;
        }
        let name = bounded(name);
        if self.0.iter().skip(known).any(|other| other.name == name) {
            return false;
        }
        self.0.push(Failure { name, line });
        true
    }

    /// Adds the names of `other` up to the limit.
    pub(super) fn append(&mut self, other: Self) {
        let room = MAX_FAILURES.saturating_sub(self.0.len());
        self.0.extend(other.0.into_iter().take(room));
    }

    /// Returns the number of names.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops all names.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the names in the order in which they were found.
    pub(super) fn into_failures(self) -> Vec<Failure> {
        self.0
    }
}

/// The passed tests by name, bounded.
#[derive(Debug, Default)]
pub(super) struct Passed {
    names: BTreeSet<String>,
    bytes: usize,
}

impl Passed {
    /// Adds a name up to the limit.
    pub(super) fn push(&mut self, name: &[u8]) {
        if name.is_empty() || self.bytes >= MAX_PASSED_BYTES {
            return;
        }
        let name = bounded(name);
        self.bytes = self.bytes.saturating_add(name.len());
        self.names.insert(name);
    }

    /// Adds the names of `other` up to the limit.
    pub(super) fn append(&mut self, other: Self) {
        for name in other.names {
            self.push(name.as_bytes());
        }
    }

    /// Returns the names.
    pub(super) fn into_names(self) -> BTreeSet<String> {
        self.names
    }
}

fn bounded(name: &[u8]) -> String {
    let name = name.get(..MAX_NAME_BYTES).unwrap_or(name);
    String::from_utf8_lossy(name)
        .chars()
        .take(MAX_NAME_CHARS)
        .collect()
}

/// The last run of a runner that prints one summary at the end of each run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) names: Names,
    pub(super) passed: Passed,
    seen: bool,
    owns: bool,
    broken: bool,
    summary: Option<Counts>,
    summary_line: usize,
    earlier_failed: bool,
}

impl Run {
    /// Creates a run that announces itself: from here to its summary, all lines are its own.
    pub(super) fn start(&self) -> Self {
        Self {
            seen: true,
            owns: true,
            ..self.next()
        }
    }

    /// Creates the run that follows this one in the log. It records if this one or an earlier one failed.
    pub(super) fn next(&self) -> Self {
        Self {
            earlier_failed: self.earlier_failed || self.shows_failure(),
            ..Self::default()
        }
    }

    fn shows_failure(&self) -> bool {
        self.summary.is_some_and(|counts| counts.is_bad()) || self.names.len() > 0
    }

    /// Records that a part of a run was seen, such as a failed test.
    pub(super) fn touch(&mut self) {
        self.seen = true;
    }

    /// Records that the run stopped early or broke.
    pub(super) fn stop(&mut self) {
        self.seen = true;
        self.broken = true;
    }

    /// Sets the summary. One directly after another belongs to another run.
    pub(super) fn close(&mut self, counts: Counts, line: usize) {
        if self.summary.is_some() {
            self.earlier_failed |= self.shows_failure();
            self.names.clear();
            self.passed = Passed::default();
            self.broken = false;
        }
        self.seen = true;
        self.owns = false;
        self.summary = Some(counts);
        self.summary_line = line;
    }

    /// Corrects the summary by later output of the runner.
    pub(super) fn amend(&mut self, amend: impl FnOnce(&mut Counts)) {
        if let Some(counts) = &mut self.summary {
            amend(counts);
        }
    }

    /// Returns `true` if the summary was read.
    pub(super) fn is_closed(&self) -> bool {
        self.summary.is_some()
    }

    /// Returns `true` if the summary was read and shows no failure.
    pub(super) fn looks_good(&self) -> bool {
        self.summary.is_some_and(|counts| !counts.is_bad())
    }

    /// Returns `true` if every line belongs to this run.
    pub(super) fn owns(&self) -> bool {
        self.owns
    }

    /// Returns the result of the last run; without a summary, the failures that it named are counted.
    pub(super) fn finish(self, runner: Runner) -> Option<Part> {
        if !self.seen {
            return None;
        }
        let counts = self.summary.unwrap_or_else(|| Counts {
            failed: self.names.len() as u64,
            ..Counts::default()
        });
        Some(Part {
            groups: Groups::default(),
            runner,
            counts,
            failures: self.names.into_failures(),
            passed: self.passed,
            complete: self.summary.is_some() && !self.broken,
            summary: self.summary_line,
            earlier_failed: self.earlier_failed,
        })
    }
}
