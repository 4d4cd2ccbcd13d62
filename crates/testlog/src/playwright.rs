//! Playwright: `Running 5 tests using 1 worker`, and a block of numbers at the end, the passed tests last.
//!
//! Takes `  2 passed (2.8s)` when the numbers above it (`2 failed`, `1 flaky`, `1 skipped`, `1 did not run`) make up
//! the announced tests together with it. A flaky test counts as passed. A run without a passed test ends without that
//! line.

use super::run::{Counts, Run};
use super::text::{Line, counted, cut, number};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Playwright {
    run: Run,
    announced: Option<u64>,
    /// Block of numbers so far.
    block: Counts,
    not_run: u64,
    /// Set below `2 failed`, where the names are.
    in_list: bool,
}

impl Reader for Playwright {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some(tests) = announced(text) {
            *self = Self {
                run: self.run.start(),
                announced: Some(tests),
                ..Self::default()
            };
        } else if let Some(name) = text.strip_prefix(b"    ").filter(|_| self.in_list) {
            let name = name.trim_ascii_end();
            let rule = name.iter().rposition(|byte| *byte == b' ');
            let name = rule.and_then(|end| name.get(..end)).unwrap_or(name);
            self.run.names.push(name, line.number);
        } else if let Some((count, word)) = text.strip_prefix(b"  ").and_then(counted) {
            self.number(count, word, line.number);
        } else if text.starts_with(b"Error: No tests found") {
            self.run.close(Counts::default(), line.number);
        } else {
            self.in_list = false;
        }
    }

    fn owns(&self) -> bool {
        self.run.owns()
    }
}

impl Playwright {
    /// Returns the result of the last run.
    pub(super) fn finish(mut self) -> Option<Part> {
        if !self.run.is_closed() && self.block.is_bad() {
            let is_whole = self.announced == Some(self.block.total() + self.not_run);
            self.run.close(self.block, 0);
            if !is_whole || self.not_run > 0 {
                self.run.stop();
            }
        }
        self.run.finish(Runner::Playwright)
    }

    /// Reads a line of the block.
    fn number(&mut self, count: u64, word: &[u8], line: usize) {
        self.in_list = false;
        match word {
            b"failed" => {
                self.block.failed = count;
                self.in_list = true;
            }
            b"interrupted" => self.block.errors = count,
            b"flaky" => self.block.passed = count,
            b"skipped" => self.block.skipped = count,
            b"did not run" => self.not_run = count,
            b"error was not a part of any test, see above for details"
            | b"errors were not a part of any test, see above for details" => {
                self.block.errors += count;
                self.run.amend(|counts| counts.errors += count);
            }
            word => {
                let time = word
                    .strip_prefix(b"passed (")
                    .and_then(|time| time.strip_suffix(b")"));
                if time.is_some_and(|time| time.ends_with(b"s") || time.ends_with(b"m")) {
                    self.close(count, line);
                }
            }
        }
    }

    fn close(&mut self, passed: u64, line: usize) {
        let mut counts = self.block;
        counts.passed += passed;
        let total = counts.total() + self.not_run;
        if self.announced.is_none_or(|tests| tests == total) {
            self.run.close(counts, line);
            if self.not_run > 0 {
                self.run.stop();
            }
        }
    }
}

/// Parses `Running 5 tests using 1 worker`.
fn announced(text: &[u8]) -> Option<u64> {
    let (tests, rest) = cut(text.strip_prefix(b"Running ")?, b" ")?;
    let (word, workers) = cut(rest, b" using ")?;
    let is_whole = matches!(word, b"test" | b"tests")
        && (workers.ends_with(b" worker") || workers.ends_with(b" workers"));
    is_whole.then(|| number(tests))?
}
