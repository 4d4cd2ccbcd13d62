//! `dotnet test`: one result per assembly in the classic output, one for all in the newer ones.
//!
//! Takes `Failed!  - Failed:     2, Passed:     3, Skipped:     1, Total:     6, Duration: …` (added up), and
//! `Test summary: total: 6, failed: 2, succeeded: 3, skipped: 1, duration: 1.2s`. Names come from
//! `  Failed Toy.Tests.Wrong [12 ms]`. A build that fails counts as one error.

use super::run::{Counts, Groups, Names, Passed};
use super::text::{Line, contains, cut, cut_last, number, split};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Dotnet {
    counts: Counts,
    names: Names,
    results: u64,
    unbuilt: bool,
    summary_line: usize,
    earlier_failed: bool,
}

impl Reader for Dotnet {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text.trim_ascii_start();
        if text.starts_with(b"Determining projects to restore") {
            *self = Self {
                earlier_failed: self.earlier_failed || self.counts.is_bad() || self.unbuilt,
                ..Self::default()
            };
        } else if let Some(counts) = assembly(text).or_else(|| summary(text)) {
            self.counts.add(counts);
            self.results += 1;
            self.summary_line = line.number;
        } else if text == b"Build FAILED." || text.starts_with(b"Build failed with ") {
            self.unbuilt = true;
        } else if let Some(name) = failed(line.text) {
            self.names.push(name, line.number);
        }
    }
}

impl Dotnet {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        if self.results == 0 && !self.unbuilt && self.names.len() == 0 {
            return None;
        }
        let mut counts = self.counts;
        if self.results == 0 {
            counts.failed = self.names.len() as u64;
        }
        // The newer output reports a failed test as a failed build.
        let unbuilt = self.unbuilt && !counts.is_bad();
        counts.errors += u64::from(unbuilt);
        Some(Part {
            groups: Groups::default(),
            runner: Runner::Dotnet,
            counts,
            failures: self.names.into_failures(),
            passed: Passed::default(),
            complete: self.results > 0 && !unbuilt,
            summary: self.summary_line,
            earlier_failed: self.earlier_failed,
        })
    }
}

/// Parses `Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 21 ms - toy.dll
/// (net8.0)`.
fn assembly(text: &[u8]) -> Option<Counts> {
    let (verdict, list) = cut(text, b"!  - ")?;
    let counts = numbers(list)?;
    match verdict {
        b"Passed" | b"Skipped" if !counts.is_bad() => Some(counts),
        b"Failed" => Some(Counts {
            errors: u64::from(!counts.is_bad()),
            ..counts
        }),
        _ => None,
    }
}

/// Parses `Test summary: total: 6, failed: 2, succeeded: 3, skipped: 1, duration: 1.2s`.
fn summary(text: &[u8]) -> Option<Counts> {
    numbers(text.strip_prefix(b"Test summary: ")?)
}

fn numbers(list: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut total = None;
    for item in split(list, b", ") {
        let (kind, count) = cut(item, b":")?;
        let count = number(count.trim_ascii_start());
        match kind {
            b"Failed" | b"failed" => counts.failed = count?,
            b"Passed" | b"succeeded" => counts.passed = count?,
            b"Skipped" | b"skipped" => counts.skipped = count?,
            b"Total" | b"total" => total = Some(count?),
            _ => {}
        }
    }
    (total? == counts.total()).then_some(counts)
}

/// Parses `  Failed Toy.Tests.Wrong [12 ms]`.
fn failed(text: &[u8]) -> Option<&[u8]> {
    let (name, time) = cut_last(text.strip_prefix(b"  Failed ")?, b" [")?;
    let is_time = time.ends_with(b"s]")
        && time
            .first()
            .is_some_and(|byte| b"0123456789<".contains(byte));
    (is_time && contains(name, b".")).then_some(name)
}
