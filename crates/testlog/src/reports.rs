//! JSON reports of test runners, alone or in the middle of a log.
//!
//! A report starts with a line that starts with `{`. Supported are those of jest and vitest (`--json`,
//! `--reporter=json`), mocha, rspec, Playwright, pytest-json-report, and the events of Rust's libtest, one per line.
//! The keys of its summary identify the format. Any other document is left to the other readers.

use super::json::{Level, Value, plain, walk};
use super::run::{Counts, Groups, Names, Passed};
use super::text::number;
use super::{Part, Runner};

/// All reports of a log. The last one of a runner decides, as with its summaries; libtest has one per binary.
#[derive(Debug, Default)]
pub(super) struct Reports {
    found: Vec<Found>,
    /// Number of bytes that were walked in vain, at most those of the log.
    wasted: usize,
    /// Names of failed tests whose suite has not ended yet.
    open: Names,
    /// Names of passed tests whose suite has not ended yet.
    open_passed: Passed,
    is_open: bool,
    /// Set if the log ends within a document, whose result is unknown.
    pub(super) is_cut: bool,
}

/// Reports of one runner.
#[derive(Debug)]
struct Found {
    runner: Runner,
    counts: Counts,
    names: Names,
    passed: Passed,
    complete: bool,
    line: usize,
    earlier_failed: bool,
}

/// Values of a document so far.
#[derive(Debug, Default)]
struct Document<'a> {
    /// Numbers of the summary by their keys.
    numbers: Vec<(&'a [u8], u64)>,
    /// Success by the summary.
    success: Option<bool>,
    kind: &'a [u8],
    event: &'a [u8],
    name: &'a [u8],
    /// Names of the current object; `is_failed` is set for a failed test.
    full_name: Option<&'a [u8]>,
    title: Option<&'a [u8]>,
    is_failed: bool,
    is_passed: bool,
    failed: Vec<(&'a [u8], usize)>,
    passed: Vec<&'a [u8]>,
}

/// Limit of the failed tests that a document names.
const MAX_FAILED: usize = 200;

/// Limit of the passed tests that a document names.
const MAX_PASSED: usize = 20_000;

/// Keys of numbers in summaries.
const NUMBERS: [&str; 24] = [
    "numPassedTests",
    "numFailedTests",
    "numPendingTests",
    "numTodoTests",
    "numRuntimeErrorTestSuites",
    "numTotalTests",
    "passes",
    "failures",
    "pending",
    "tests",
    "example_count",
    "failure_count",
    "pending_count",
    "errors_outside_of_examples_count",
    "expected",
    "unexpected",
    "flaky",
    "skipped",
    "passed",
    "failed",
    "error",
    "xfailed",
    "total",
    "ignored",
];

impl Reports {
    /// Reads one document; returns the number of bytes, or `None` for an unknown format.
    pub(super) fn document(&mut self, bytes: &[u8], line: usize, limit: usize) -> Option<usize> {
        if self.wasted > limit {
            return None;
        }
        let mut document = Document::default();
        let mut values = 0_usize;
        let walked = walk(bytes, |levels, value, at| {
            values += 1;
            document.value(levels, value, at);
        });
        let (Ok(seen) | Err(seen)) = walked;
        self.wasted = self.wasted.saturating_add(seen);
        let rest = bytes.get(seen..).unwrap_or_default().trim_ascii_end();
        self.is_cut |= walked.is_err() && values > 0 && memchr::memchr(b'\n', rest).is_none();
        let used = walked.ok()?;
        let line_at = |at: usize| {
            let before = bytes.get(..at).unwrap_or_default();
            line + memchr::memchr_iter(b'\n', before).count()
        };
        if document.kind == b"suite" || document.kind == b"test" {
            self.event(&document, line)?;
            return Some(used);
        }
        let (runner, counts) = document.summary()?;
        let mut names = Names::default();
        for (name, at) in &document.failed {
            names.push(&plain(name), line_at(*at));
        }
        let mut passed = Passed::default();
        for name in &document.passed {
            passed.push(&plain(name));
        }
        let claims_bad = document.success == Some(false);
        let mut counts = counts;
        counts.errors += u64::from(claims_bad && !counts.is_bad());
        self.add(Found {
            runner,
            counts,
            names,
            passed,
            complete: true,
            line,
            earlier_failed: false,
        });
        Some(used)
    }

    /// Reads one event of libtest.
    fn event(&mut self, document: &Document<'_>, line: usize) -> Option<()> {
        match (document.kind, document.event) {
            (b"suite", b"started") => {
                self.is_open = true;
                self.open = Names::default();
            }
            (b"suite", b"ok" | b"failed") => {
                let mut counts = Counts {
                    passed: document.number("passed")?,
                    failed: document.number("failed")?,
                    skipped: document.number("ignored").unwrap_or(0),
                    errors: 0,
                };
                counts.errors = u64::from(document.event == b"failed" && !counts.is_bad());
                self.is_open = false;
                let names = std::mem::take(&mut self.open);
                let passed = std::mem::take(&mut self.open_passed);
                match self
                    .found
                    .iter_mut()
                    .find(|found| found.runner == Runner::CargoTest)
                {
                    Some(found) => {
                        found.counts.add(counts);
                        found.names.append(names);
                        found.passed.append(passed);
                        found.line = line;
                    }
                    None => self.found.push(Found {
                        runner: Runner::CargoTest,
                        counts,
                        names,
                        passed,
                        complete: true,
                        line,
                        earlier_failed: false,
                    }),
                }
            }
            (b"test", b"failed" | b"timeout") => {
                self.is_open = true;
                self.open.push(&plain(document.name), line);
            }
            (b"test", b"ok") => {
                self.is_open = true;
                self.open_passed.push(&plain(document.name));
            }
            (b"test", b"started" | b"ignored") => self.is_open = true,
            _ => return None,
        }
        Some(())
    }

    fn add(&mut self, mut found: Found) {
        if let Some(place) = self.found.iter().position(|one| one.runner == found.runner) {
            let before = self.found.remove(place);
            found.earlier_failed = before.earlier_failed || before.counts.is_bad();
        }
        self.found.push(found);
    }

    /// Returns the results of all reports.
    pub(super) fn finish(mut self) -> Vec<Part> {
        if self.is_open {
            let names = std::mem::take(&mut self.open);
            self.found.push(Found {
                runner: Runner::CargoTest,
                counts: Counts {
                    failed: names.len() as u64,
                    ..Counts::default()
                },
                names,
                passed: Passed::default(),
                complete: false,
                line: 0,
                earlier_failed: false,
            });
        }
        let part = |found: Found| Part {
            groups: Groups::default(),
            runner: found.runner,
            counts: found.counts,
            failures: found.names.into_failures(),
            passed: found.passed,
            complete: found.complete,
            summary: found.line,
            earlier_failed: found.earlier_failed,
        };
        self.found.into_iter().map(part).collect()
    }
}

impl<'a> Document<'a> {
    fn value(&mut self, levels: &[Level<'a>], value: &Value<'a>, at: usize) {
        let key = levels.last().map_or(b"".as_slice(), |level| level.key);
        let parent = levels
            .len()
            .checked_sub(2)
            .and_then(|above| levels.get(above))
            .map_or(b"".as_slice(), |level| level.key);
        let in_summary =
            levels.len() == 1 || levels.len() == 2 && matches!(parent, b"stats" | b"summary");
        match value {
            Value::Word(word) => match (key, *word) {
                (b"success", b"true") if in_summary => self.success = Some(true),
                (b"success", b"false") if in_summary => self.success = Some(false),
                // A spec of Playwright.
                (b"ok", b"false") if levels.len() > 2 => self.is_failed = true,
                _ if in_summary && NUMBERS.iter().any(|known| known.as_bytes() == key) => {
                    let whole = word.strip_suffix(b".0").unwrap_or(word);
                    if let Some(count) = number(whole) {
                        self.numbers.push((key, count));
                    }
                }
                _ => {}
            },
            Value::Text(text) => match key {
                b"type" if levels.len() == 1 => self.kind = text,
                b"event" if levels.len() == 1 => self.event = text,
                b"name" if levels.len() == 1 => self.name = text,
                b"fullName" | b"full_description" | b"nodeid" | b"fullTitle" => {
                    self.full_name = Some(text);
                }
                b"title" => self.title = Some(text),
                // Playwright has a status for every try and `ok` for the test.
                b"status" | b"outcome" if matches!(*text, b"failed" | b"error") => {
                    self.is_failed |= self.full_name.is_some();
                }
                b"status" | b"outcome" if *text == b"passed" => {
                    self.is_passed |= self.full_name.is_some();
                }
                _ => {}
            },
            Value::End => self.end(levels, at),
        }
    }

    /// Handles the end of an object; if it is a failed test, its name is kept.
    fn end(&mut self, levels: &[Level<'a>], at: usize) {
        // mocha lists its failed tests again under this key.
        let is_mocha_failure = levels.first().is_some_and(|level| level.key == b"failures");
        // The object of a test is in an array; an object inside it does not end the test.
        let in_array = levels.last().is_some_and(|level| level.key.is_empty());
        if !in_array {
            return;
        }
        let title = self.title.take();
        let is_failed = std::mem::take(&mut self.is_failed) || is_mocha_failure;
        let is_passed = std::mem::take(&mut self.is_passed) && !is_failed;
        let Some(name) = self.full_name.take().or(title) else {
            return;
        };
        if is_failed && self.failed.len() < MAX_FAILED {
            self.failed.push((name, at));
        } else if is_passed && self.passed.len() < MAX_PASSED {
            self.passed.push(name);
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        let found = self
            .numbers
            .iter()
            .find(|(known, _)| *known == key.as_bytes());
        found.map(|(_, count)| *count)
    }

    /// Returns the runner of the report, and its numbers.
    fn summary(&self) -> Option<(Runner, Counts)> {
        let zero = |key: &str| self.number(key).unwrap_or(0);
        if let (Some(total), Some(passed)) =
            (self.number("numTotalTests"), self.number("numPassedTests"))
        {
            let counts = Counts {
                passed,
                failed: zero("numFailedTests"),
                skipped: zero("numPendingTests") + zero("numTodoTests"),
                errors: zero("numRuntimeErrorTestSuites"),
            };
            return (counts.total() >= total).then_some((Runner::Jest, counts));
        }
        if let (Some(total), Some(failed)) =
            (self.number("example_count"), self.number("failure_count"))
        {
            let skipped = zero("pending_count");
            let counts = Counts {
                passed: total.checked_sub(failed.checked_add(skipped)?)?,
                failed,
                skipped,
                errors: zero("errors_outside_of_examples_count"),
            };
            return Some((Runner::Rspec, counts));
        }
        if let (Some(passed), Some(failed)) = (self.number("passes"), self.number("failures")) {
            let counts = Counts {
                passed,
                failed,
                skipped: zero("pending"),
                errors: 0,
            };
            return Some((Runner::Mocha, counts));
        }
        if let (Some(expected), Some(failed)) = (self.number("expected"), self.number("unexpected"))
        {
            let counts = Counts {
                passed: expected.saturating_add(zero("flaky")),
                failed,
                skipped: zero("skipped"),
                errors: 0,
            };
            return Some((Runner::Playwright, counts));
        }
        let total = self.number("total")?;
        let counts = Counts {
            passed: zero("passed"),
            failed: zero("failed"),
            skipped: zero("skipped") + zero("xfailed"),
            errors: zero("error"),
        };
        (counts.total() == total).then_some((Runner::Pytest, counts))
    }
}
