//! PHPUnit: one summary per run, with the failed tests by name before it.
//!
//! Takes `OK (2 tests, 2 assertions)`, and `Tests: 11, Assertions: 6, Errors: 1, Failures: 2.` below `OK, but …`,
//! `FAILURES!`, `ERRORS!` or `WARNINGS!`. Names come from `1) Class::test` below `There was 1 error:` and similar
//! lines.

use super::run::{Counts, Run};
use super::text::{Line, contains, counted, cut, number, split};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Phpunit {
    run: Run,
    /// Set inside a list of failures or errors.
    in_list: bool,
    /// Verdict whose numbers are on the next line.
    verdict: Option<bool>,
}

impl Reader for Phpunit {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if text.starts_with(b"PHPUnit ") && contains(text, b" by Sebastian Bergmann") {
            self.run = self.run.next();
            self.run.touch();
            self.in_list = false;
        } else if let Some(good) = self.verdict.take()
            && let Some(counts) = numbers(text, good)
        {
            self.run.close(counts, line.number);
        } else if let Some(counts) = all_well(text) {
            self.run.close(counts, line.number);
        } else if text == b"No tests executed!" {
            self.run.close(Counts::default(), line.number);
        } else if text.starts_with(b"There was ") || text.starts_with(b"There were ") {
            self.in_list = text.ends_with(b"failure:")
                || text.ends_with(b"failures:")
                || text.ends_with(b"error:")
                || text.ends_with(b"errors:");
        } else if self.in_list
            && let Some((digits, name)) = cut(text, b") ")
            && number(digits).is_some()
        {
            self.run.touch();
            self.run.names.push(name, line.number);
        } else {
            self.verdict = match text {
                b"FAILURES!" | b"ERRORS!" => Some(false),
                b"WARNINGS!" => Some(true),
                _ if text.starts_with(b"OK, but ") => Some(true),
                _ => None,
            };
            self.in_list &= self.verdict.is_none();
        }
    }
}

impl Phpunit {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Phpunit)
    }
}

/// Parses `OK (2 tests, 2 assertions)`.
fn all_well(text: &[u8]) -> Option<Counts> {
    let list = text.strip_prefix(b"OK (")?.strip_suffix(b")")?;
    let (tests, assertions) = cut(list, b", ")?;
    let (passed, word) = counted(tests)?;
    let is_whole = matches!(word, b"test" | b"tests") && contains(assertions, b" assertion");
    is_whole.then(|| Counts {
        passed,
        ..Counts::default()
    })
}

/// Parses `Tests: 11, Assertions: 6, Errors: 1, Failures: 2, Skipped: 2, Incomplete: 1, Risky: 1.`
fn numbers(text: &[u8], good: bool) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut total = None;
    for item in split(text.strip_suffix(b".")?, b", ") {
        let (kind, count) = cut(item, b": ")?;
        let count = number(count)?;
        match kind {
            b"Tests" => total = Some(count),
            b"Failures" => counts.failed = count,
            b"Errors" => counts.errors = count,
            b"Skipped" | b"Incomplete" => counts.skipped += count,
            _ => {}
        }
    }
    counts.passed = total?.saturating_sub(counts.total());
    counts.errors += u64::from(!good && !counts.is_bad());
    Some(counts)
}
