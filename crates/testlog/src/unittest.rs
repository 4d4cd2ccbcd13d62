//! Python's unittest, and Django's test command that is built on it.
//!
//! Takes `Ran 7 tests in 0.001s` below a line of dashes, together with the verdict that follows it: `OK`, `OK
//! (skipped=1)`, `FAILED (failures=2, errors=1)` or `NO TESTS RAN`. Names come from `FAIL: …` and `ERROR: …` below a
//! line of equals signs. An expected failure counts as skipped, an unexpected success as failed.

use super::run::{Counts, Run};
use super::text::{Line, cut, is_seconds, number, split};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Unittest {
    run: Run,
    before: Before,
}

/// Relevant kind of the line before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Nothing,
    Dashes,
    Equals,
    /// The number of tests that ran; the verdict follows.
    Ran(u64),
}

impl Reader for Unittest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        self.before = match self.before {
            Before::Ran(tests) if text.is_empty() => Before::Ran(tests),
            Before::Ran(tests) => {
                if let Some(counts) = verdict(text, tests) {
                    self.run.close(counts, line.number);
                }
                Before::Nothing
            }
            Before::Dashes => match ran(text) {
                Some(tests) => Before::Ran(tests),
                None => ruled(text),
            },
            Before::Equals => {
                let name = text
                    .strip_prefix(b"FAIL: ")
                    .or_else(|| text.strip_prefix(b"ERROR: "));
                if let Some(name) = name {
                    self.failure(name, line.number);
                }
                ruled(text)
            }
            Before::Nothing => {
                // With `-v`: `test_a (mod.Class.test_a) ... ok`.
                if let Some(name) = text
                    .strip_suffix(b" ... ok")
                    .filter(|_| !self.run.is_closed())
                {
                    self.run.passed.push(name);
                }
                ruled(text)
            }
        };
    }
}

impl Unittest {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Unittest)
    }

    fn failure(&mut self, name: &[u8], line: usize) {
        if self.run.is_closed() {
            self.run = self.run.next();
        }
        self.run.touch();
        self.run.names.push(name, line);
    }
}

/// Recognises a line of 70 dashes or equals signs.
fn ruled(text: &[u8]) -> Before {
    let is_rule = |sign: u8| text.len() >= 70 && text.iter().all(|byte| *byte == sign);
    if is_rule(b'-') {
        Before::Dashes
    } else if is_rule(b'=') {
        Before::Equals
    } else {
        Before::Nothing
    }
}

/// Parses `Ran 7 tests in 0.001s`.
fn ran(text: &[u8]) -> Option<u64> {
    let (tests, rest) = cut(text.strip_prefix(b"Ran ")?, b" ")?;
    let (word, seconds) = cut(rest, b" in ")?;
    let is_whole = matches!(word, b"test" | b"tests") && is_seconds(seconds);
    is_whole.then(|| number(tests))?
}

/// Parses `OK (skipped=1)` or `FAILED (failures=2, errors=1)`.
fn verdict(text: &[u8], tests: u64) -> Option<Counts> {
    if text == b"NO TESTS RAN" {
        return Some(Counts::default());
    }
    let (word, list) = cut(text, b" (").unwrap_or((text, b")"));
    let mut counts = Counts::default();
    for item in split(list.strip_suffix(b")")?, b", ").filter(|item| !item.is_empty()) {
        let (kind, count) = cut(item, b"=")?;
        let count = number(count)?;
        match kind {
            b"failures" | b"unexpected successes" => counts.failed += count,
            b"errors" => counts.errors += count,
            b"skipped" | b"expected failures" => counts.skipped += count,
            _ => return None,
        }
    }
    match word {
        b"OK" if !counts.is_bad() => {}
        b"FAILED" if counts.is_bad() => {}
        _ => return None,
    }
    counts.passed = tests.saturating_sub(counts.total());
    Some(counts)
}
