//! vitest: one summary per run, with the failed tests by name before it.
//!
//! Takes `      Tests  2 failed | 10 passed | 1 skipped (13)`; when the numbers stay below the total, `--bail` left
//! tests out and the run is not complete. Files that could not be run (`Test Files`) and errors outside of tests
//! (`Errors`) count as errors. Names come from ` FAIL  file > suite > name`, or from `× name` when the log has no
//! such lines. A test that was expected to fail and did counts as passed.

use super::run::{Counts, LastRun, Names, Run};
use super::text::{Line, contains, counted, cut, cut_last, number, split};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Vitest {
    run: Run,
    /// Names of `×` lines, if there are no better ones.
    crossed: Names,
    failed_files: u64,
    /// Number of files that could not be run.
    broken_files: u64,
    /// Set if a banner reports errors outside of tests.
    is_bad: bool,
}

impl Reader for Vitest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if text.starts_with(b" RUN  v") || text.starts_with(b" DEV  v") {
            let run = self.run.start();
            self.begin(run);
        } else if let Some(name) = text.strip_prefix(b" FAIL  ") {
            self.failure(name, line.number);
        } else if text.starts_with("⎯".as_bytes()) && contains(text, b" Unhandled Errors ") {
            self.current().is_bad = true;
        } else if text.starts_with(b"No test files found, exiting with code ") {
            self.current();
            self.run.close(Counts::default(), line.number);
        } else if text.starts_with(b" ") || !self.run.owns() {
            // The output of a test is not indented; a filtered log may have lost the spaces.
            self.summary(text.trim_ascii_start(), line.number);
        }
    }

    fn owns(&self) -> bool {
        self.run.owns()
    }
}

impl LastRun for Vitest {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }
}

impl Vitest {
    /// Returns the result of the last run.
    pub(super) fn finish(mut self) -> Option<Part> {
        if self.run.names.len() == 0 {
            self.run.names = self.crossed;
        }
        self.run.finish(Runner::Vitest)
    }

    fn failure(&mut self, name: &[u8], line: usize) {
        let file = name.strip_suffix(b" ]").and_then(|name| cut(name, b" [ "));
        if file.is_none() && !contains(name, b" > ") {
            return;
        }
        let name = file.map_or(name, |(file, _)| file);
        let this = self.current();
        let is_new = this.run.names.push(name, line);
        this.broken_files += u64::from(is_new && file.is_some());
    }

    /// Reads a line of the summary, or of the tree of tests above it.
    fn summary(&mut self, text: &[u8], line: usize) {
        if let Some(files) = text.strip_prefix(b"Test Files  ").and_then(state) {
            self.current().failed_files = files.counts.failed;
        } else if let Some(tests) = text.strip_prefix(b"Tests  ").and_then(state) {
            self.close(&tests, line);
        } else if let Some(errors) = text.strip_prefix(b"Errors  ").and_then(errors) {
            // The files that could not be run are already counted.
            let errors = errors.saturating_sub(u64::from(self.is_bad));
            self.run
                .amend(|counts| counts.errors = counts.errors.saturating_add(errors));
        } else if self.run.owns() {
            let name = text.strip_prefix("× ".as_bytes()).unwrap_or_default();
            let name = cut_last(name, b" ").map_or(name, |(name, _)| name);
            self.crossed.push(name, line);
        }
    }

    fn close(&mut self, tests: &State, line: usize) {
        self.renew();
        let mut counts = tests.counts;
        counts.errors = match counts.failed {
            0 => self.failed_files,
            _ => self.broken_files.min(self.failed_files),
        };
        counts.errors = counts.errors.saturating_add(u64::from(self.is_bad));
        self.run.close(counts, line);
        if tests.stopped {
            self.run.stop();
        }
    }
}

#[derive(Debug)]
struct State {
    counts: Counts,
    stopped: bool,
}

/// Parses `2 failed | 10 passed | 1 skipped (13)` or `no tests`.
fn state(text: &[u8]) -> Option<State> {
    let mut counts = Counts::default();
    if text == b"no tests" {
        return Some(State {
            counts,
            stopped: false,
        });
    }
    let (list, total) = cut_last(text, b" (")?;
    let total = number(total.strip_suffix(b")")?)?;
    for item in split(list, b" | ") {
        let (count, word) = counted(item)?;
        match word {
            b"passed" | b"expected fail" => counts.passed += count,
            b"failed" => counts.failed = count,
            b"skipped" | b"todo" => counts.skipped += count,
            _ => return None,
        }
    }
    (counts.total() <= total).then(|| State {
        counts,
        stopped: counts.total() < total,
    })
}

/// Parses `2 errors`.
fn errors(text: &[u8]) -> Option<u64> {
    let (count, word) = counted(text)?;
    matches!(word, b"error" | b"errors").then_some(count)
}
