//! Gradle: `> Task :app:test` for every task, and `BUILD SUCCESSFUL` or `BUILD FAILED` at the end.
//!
//! Gradle prints no number of tests when all of them pass, so a test task that was run, or that is up to date, counts
//! as one passed test unless `PASSED` lines show more. Names come from `Class > test() FAILED`, numbers from `5 tests
//! completed, 2 failed, 1 skipped`. A build that fails without a failed test counts as one error.

use super::run::{Counts, Groups, Names, Passed};
use super::text::{Line, counted, cut, cut_last, split};
use super::{Part, Reader, Runner};

/// State of the last build.
#[derive(Debug, Default)]
pub(super) struct Gradle {
    /// Number of test tasks that were run.
    tasks: u64,
    passed: u64,
    skipped: u64,
    /// Sum of the lines with `tests completed`.
    completed: Counts,
    names: Names,
    ended: Option<bool>,
    summary_line: usize,
    seen: bool,
    earlier_failed: bool,
}

impl Reader for Gradle {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some(task) = text.strip_prefix(b"> Task :") {
            if self.ended.is_some() {
                self.renew();
            }
            self.seen = true;
            self.tasks += u64::from(is_test_task(task));
        } else if text.starts_with(b"BUILD SUCCESSFUL") {
            self.end(true, line.number);
        } else if text.starts_with(b"BUILD FAILED") {
            self.end(false, line.number);
        } else if let Some(counts) = completed(text) {
            self.seen = true;
            self.completed.add(counts);
        } else if self.ended.is_none()
            && let Some((name, verdict)) = cut_last(text, b" ")
            && cut(name, b" > ").is_some()
        {
            match verdict {
                b"PASSED" => self.passed += 1,
                b"SKIPPED" => self.skipped += 1,
                b"FAILED" => {
                    self.seen = true;
                    self.names.push(name, line.number);
                }
                _ => {}
            }
        }
    }
}

impl Gradle {
    /// Returns the result of the last build.
    pub(super) fn finish(self) -> Option<Part> {
        if !self.seen {
            return None;
        }
        let mut counts = self.completed;
        counts.failed = counts.failed.max(self.names.len() as u64);
        counts.skipped = counts.skipped.max(self.skipped);
        counts.passed = counts.passed.max(self.passed);
        let failed = self.ended == Some(false);
        if !failed && counts.total() == 0 {
            counts.passed = self.tasks;
        }
        counts.errors = u64::from(failed && counts.failed == 0);
        Some(Part {
            groups: Groups::default(),
            runner: Runner::Gradle,
            counts,
            failures: self.names.into_failures(),
            passed: Passed::default(),
            complete: self.ended.is_some(),
            summary: self.summary_line,
            earlier_failed: self.earlier_failed,
        })
    }

    fn renew(&mut self) {
        *self = Self {
            earlier_failed: self.earlier_failed
                || self.ended == Some(false)
                || self.names.len() > 0,
            ..Self::default()
        };
    }

    fn end(&mut self, good: bool, line: usize) {
        if self.ended.is_some() {
            self.renew();
        }
        // Ant prints the same; only tasks and tests identify Gradle.
        self.ended = self.seen.then_some(good);
        self.summary_line = line;
    }
}

/// Returns `true` for `app:test UP-TO-DATE`: the last part is a name of tests, and the task was not left out.
fn is_test_task(task: &[u8]) -> bool {
    let (path, note) = cut(task, b" ").unwrap_or((task, b""));
    let name = cut_last(path, b":").map_or(path, |(_, name)| name);
    let is_test = name == b"test" || name.ends_with(b"Test") || name.ends_with(b"Tests");
    is_test && !matches!(note, b"NO-SOURCE" | b"SKIPPED")
}

/// Parses `5 tests completed, 2 failed, 1 skipped`.
fn completed(text: &[u8]) -> Option<Counts> {
    let mut items = split(text, b", ");
    let (total, word) = counted(items.next()?)?;
    if !matches!(word, b"test completed" | b"tests completed") {
        return None;
    }
    let mut counts = Counts::default();
    for item in items {
        match counted(item)? {
            (count, b"failed") => counts.failed = count,
            (count, b"skipped") => counts.skipped = count,
            _ => return None,
        }
    }
    counts.passed = total.checked_sub(counts.total())?;
    Some(counts)
}
