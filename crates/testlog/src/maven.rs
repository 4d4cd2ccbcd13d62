//! Maven with surefire or failsafe: one result per module, and `BUILD SUCCESS` or `BUILD FAILURE` at the end.
//!
//! Takes `Tests run: 5, Failures: 1, Errors: 1, Skipped: 1` below `Results:`, because every class prints such a line
//! too. Modules are summed. A build that fails without a failed test counts as one error. With `-q`, a build that
//! passes prints nothing, so its result is unknown.

use super::run::{Counts, Groups, Names, Passed};
use super::text::{Line, contains, cut, cut_last, number, split, word};
use super::{Part, Reader, Runner};

/// State of the last build.
#[derive(Debug, Default)]
pub(super) struct Maven {
    counts: Counts,
    names: Names,
    in_results: bool,
    /// Set inside the list below `Failures:` or `Errors:`.
    in_list: bool,
    results: u64,
    ended: Option<bool>,
    summary_line: usize,
    earlier_failed: bool,
}

impl Reader for Maven {
    fn line(&mut self, line: &Line<'_>) {
        let Some(text) = logged(line.text) else {
            return;
        };
        let text = text.trim_ascii_end();
        match text {
            b"Scanning for projects..." => self.renew(),
            b"Results:" | b"Results :" => self.in_results = true,
            b"Failures:" | b"Errors:" if self.in_results => self.in_list = true,
            b"BUILD SUCCESS" => self.end(true, line.number),
            b"BUILD FAILURE" => self.end(false, line.number),
            _ if self.in_results => match totals(text) {
                Some(counts) => {
                    self.counts.add(counts);
                    self.results += 1;
                    self.summary_line = line.number;
                    (self.in_results, self.in_list) = (false, false);
                }
                None => self.failure(text, line.number),
            },
            _ => {}
        }
    }
}

impl Maven {
    /// Returns the result of the last build.
    pub(super) fn finish(self) -> Option<Part> {
        let mut counts = self.counts;
        if self.results == 0 && self.ended.is_none() {
            return None;
        }
        if self.ended == Some(false) && !counts.is_bad() {
            counts.errors = 1;
        }
        Some(Part {
            groups: Groups::default(),
            runner: Runner::Maven,
            counts,
            failures: self.names.into_failures(),
            passed: Passed::default(),
            // A build that succeeds prints that; one that fails may be quiet and end here.
            complete: self.ended.is_some() || counts.is_bad(),
            summary: self.summary_line,
            earlier_failed: self.earlier_failed,
        })
    }

    fn renew(&mut self) {
        *self = Self {
            earlier_failed: self.earlier_failed
                || self.counts.is_bad()
                || self.ended == Some(false),
            ..Self::default()
        };
    }

    fn end(&mut self, good: bool, line: usize) {
        if self.ended.is_some() {
            self.renew();
        }
        self.ended = Some(good);
        self.summary_line = line;
    }

    /// Reads `  BadTest.wrong:2 expected:<2> but was:<1>`.
    fn failure(&mut self, text: &[u8], line: usize) {
        if !self.in_list || !text.starts_with(b"  ") {
            return;
        }
        let (name, _) = word(text);
        let name = cut_last(name, b":").map_or(name, |(name, _)| name);
        if contains(name, b".") {
            self.names.push(name, line);
        }
    }
}

/// Returns the text after the level, `[INFO] `.
fn logged(text: &[u8]) -> Option<&[u8]> {
    ["[INFO] ", "[ERROR] ", "[WARNING] "]
        .iter()
        .find_map(|level| text.strip_prefix(level.as_bytes()))
}

/// Parses `Tests run: 5, Failures: 1, Errors: 1, Skipped: 1`.
fn totals(text: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut total = None;
    for item in split(text, b", ") {
        let (kind, count) = cut(item, b": ")?;
        let count = number(count)?;
        match kind {
            b"Tests run" => total = Some(count),
            b"Failures" => counts.failed = count,
            b"Errors" => counts.errors = count,
            b"Skipped" => counts.skipped = count,
            b"Flakes" => {}
            _ => return None,
        }
    }
    counts.passed = total?.saturating_sub(counts.total());
    Some(counts)
}
