//! Ruby's runners: rspec, minitest (Rails too) and test-unit. Each prints one summary per run.
//!
//! rspec: `6 examples, 2 failures, 2 pending`, and behind it `rspec ./bad_spec.rb:2 # math wrong` for every failure.
//! minitest: `3 runs, 2 assertions, 1 failures, 1 errors, 0 skips`, and before it `  1) Failure:` with the name on the
//! next line. test-unit prints `3 tests, …, 0 pendings, 0 omissions, 0 notifications`.

use super::run::{Counts, Run};
use super::text::{Line, counted, cut, split};
use super::{Part, Reader, Runner};

/// State of the last rspec run.
#[derive(Debug, Default)]
pub(super) struct Rspec {
    run: Run,
}

impl Reader for Rspec {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some(counts) = examples(text) {
            self.run.close(counts, line.number);
        } else if self.run.is_closed()
            && let Some(place) = text.strip_prefix(b"rspec ")
            && let Some((_, name)) = cut(place, b" # ")
        {
            self.run.names.push(name, line.number);
        }
    }
}

impl Rspec {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Rspec)
    }
}

/// Parses `6 examples, 2 failures, 2 pending, 1 error occurred outside of examples`.
fn examples(text: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut total = None;
    let mut has_failures = false;
    for item in split(text, b", ") {
        let (count, word) = counted(item)?;
        match word {
            b"example" | b"examples" if total.is_none() => total = Some(count),
            b"failure" | b"failures" => {
                counts.failed = count;
                has_failures = true;
            }
            b"pending" => counts.skipped = count,
            b"error occurred outside of examples" | b"errors occurred outside of examples" => {
                counts.errors = count;
            }
            _ => return None,
        }
    }
    counts.passed = total?.checked_sub(counts.failed + counts.skipped)?;
    has_failures.then_some(counts)
}

/// State of the last minitest or test-unit run.
#[derive(Debug, Default)]
pub(super) struct Minitest {
    run: Run,
    /// Set if the next line names a failed test.
    name_is_due: bool,
}

impl Reader for Minitest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some(counts) = runs(text) {
            self.run.close(counts, line.number);
        } else if std::mem::take(&mut self.name_is_due) {
            let name = cut(text, b" [").map_or(text, |(name, _)| name);
            let name = name.strip_suffix(b":").unwrap_or(name);
            self.run.names.push(name, line.number);
        } else if is_heading(text) {
            if self.run.is_closed() {
                self.run = self.run.next();
            }
            self.run.touch();
            self.name_is_due = true;
        }
    }
}

impl Minitest {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Minitest)
    }
}

/// Returns `true` for `  1) Failure:`.
fn is_heading(text: &[u8]) -> bool {
    let heading = text.strip_prefix(b"  ").and_then(|text| cut(text, b") "));
    heading.is_some_and(|(number, kind)| {
        matches!(kind, b"Failure:" | b"Error:") && number.iter().all(u8::is_ascii_digit)
    })
}

/// Parses `3 runs, 2 assertions, 1 failures, 1 errors, 0 skips`.
fn runs(text: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    let (mut total, mut has_errors) = (None, false);
    for item in split(text, b", ") {
        let (count, word) = counted(item)?;
        match word {
            b"run" | b"runs" | b"test" | b"tests" if total.is_none() => total = Some(count),
            b"failure" | b"failures" => counts.failed = count,
            b"error" | b"errors" => {
                counts.errors = count;
                has_errors = true;
            }
            b"skip" | b"skips" | b"pendings" | b"omissions" => counts.skipped += count,
            b"assertion" | b"assertions" | b"notifications" => {}
            _ => return None,
        }
    }
    counts.passed = total?.checked_sub(counts.failed + counts.skipped + counts.errors)?;
    has_errors.then_some(counts)
}
