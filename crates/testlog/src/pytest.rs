//! pytest, from `-q` to `-vv`, with or without colours and xdist.
//!
//! Takes the framed line `=== 3 failed, 12 passed in 0.50s ===` as a summary, and the same without a frame unless a
//! session has announced itself, because only `-q` prints it in this form. A summary without failures is refused
//! after a `FAILURES` or `ERRORS` banner: such a line was printed by a failed test. As in pytest's own XML, an
//! expected failure counts as skipped and an unexpected pass as passed. `-qq` prints no summary and so is never
//! complete.

use super::run::{Counts, LastRun, Run};
use super::text::{Line, contains, counted, cut, cut_last, is_decimal, is_seconds, split, word};
use super::{Part, Reader, Runner};

/// State of the last session.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    run: Run,
    /// Set inside the list of failed tests just before the summary.
    in_list: bool,
    /// Set if a banner reports a failure.
    is_bad: bool,
}

impl Reader for Pytest {
    fn line(&mut self, line: &Line<'_>) {
        match line.text {
            [b'=', ..] => self.banner(line),
            [b'!', ..] if self.is_stop(line.text) => self.current().run.stop(),
            text if text.starts_with(b"INTERNALERROR> ") => self.current().run.stop(),
            text if !self.run.owns() && self.summary(line, text, true) => {}
            text if self.passed(text) => {}
            _ => self.failure(line),
        }
    }

    fn owns(&self) -> bool {
        self.run.owns()
    }
}

impl LastRun for Pytest {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }
}

impl Pytest {
    /// Returns the result of the last session.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Pytest)
    }

    fn banner(&mut self, line: &Line<'_>) {
        let Some(title) = framed(line.text, b'=') else {
            return;
        };
        match title {
            b"test session starts" => {
                let run = self.run.start();
                self.begin(run);
            }
            b"FAILURES" | b"ERRORS" => self.current().is_bad = true,
            b"short test summary info" => self.current().in_list = true,
            _ => {
                self.in_list = false;
                self.summary(line, title, false);
            }
        }
    }

    /// Takes `text` as a summary; returns `true` if it is one that this session can have.
    fn summary(&mut self, line: &Line<'_>, text: &[u8], strict: bool) -> bool {
        let Some(counts) = summary(text, strict) else {
            return false;
        };
        if self.is_bad && !self.run.is_closed() && !counts.is_bad() {
            return false;
        }
        self.run.close(counts, line.number);
        self.in_list = false;
        self.is_bad = false;
        true
    }

    /// Returns `true` for `!!! stopping after 1 failures !!!`; within a session, for any reason.
    fn is_stop(&self, text: &[u8]) -> bool {
        framed(text, b'!').is_some_and(|title| {
            self.run.owns()
                || title.starts_with(b"stopping after ")
                || contains(title, b"Interrupt")
                || contains(title, b"Exit")
        })
    }

    /// Stores the name of a passed test, from `-v` or `-rA`.
    fn passed(&mut self, text: &[u8]) -> bool {
        let name = match word(text) {
            (b"PASSED", rest) if self.in_list => Some(listed(rest)),
            _ => verbose(text, &["PASSED"]),
        };
        let Some(name) = name.filter(|name| self.run.owns() && is_node(name)) else {
            return false;
        };
        self.run.passed.push(name);
        true
    }

    fn failure(&mut self, line: &Line<'_>) {
        let name = match word(line.text) {
            (b"FAILED", rest) => Some(listed(rest)),
            (b"ERROR", rest) if self.in_list => Some(listed(rest)),
            _ => match line.text.strip_prefix(b"SUBFAILED") {
                Some(rest) if self.in_list => {
                    Some(cut(rest, b" - ").map_or(rest, |(name, _)| name))
                }
                _ => verbose(line.text, &["FAILED", "ERROR"]),
            },
        };
        let Some(name) = name.filter(|name| self.in_list || is_node(name)) else {
            return;
        };
        self.current().run.names.push(name, line.number);
    }
}

/// Returns the text between two runs of `frame`.
fn framed(text: &[u8], frame: u8) -> Option<&[u8]> {
    let start = text.iter().position(|byte| *byte != frame)?;
    let end = text.iter().rposition(|byte| *byte != frame)?;
    let is_framed = start > 0 && end + 1 < text.len();
    let title = text.get(start..=end).filter(|_| is_framed)?;
    title.strip_prefix(b" ")?.strip_suffix(b" ")
}

/// Parses `2 failed, 3 passed in 0.06s`. Unless `strict`, words of plugins may be among the known ones.
fn summary(text: &[u8], strict: bool) -> Option<Counts> {
    if strict && !matches!(text, [b'0'..=b'9' | b'n', ..]) {
        return None;
    }
    let (list, duration) = cut_last(text, b" in ")?;
    let (seconds, rest) = word(duration);
    // A minute or more is printed twice, `65.00s (0:01:05)`, and old versions spell the unit out.
    let is_duration = match rest {
        b"" => is_seconds(seconds),
        b" seconds" => is_decimal(seconds),
        rest => is_seconds(seconds) && rest.starts_with(b" ("),
    };
    if !is_duration {
        return None;
    }
    let mut counts = Counts::default();
    if list == b"no tests ran" || (!strict && contains(list, b" collected")) {
        return Some(counts);
    }
    let mut known = 0;
    for item in split(list, b", ") {
        match counted(item).and_then(|(count, word)| kind(word, count)) {
            Some(more) => {
                counts.add(more);
                known += 1;
            }
            None if strict => return None,
            None => {}
        }
    }
    (known > 0).then_some(counts)
}

fn kind(word: &[u8], count: u64) -> Option<Counts> {
    let mut counts = Counts::default();
    match word {
        b"passed" | b"xpassed" | b"subtests passed" => counts.passed = count,
        b"failed" | b"subtests failed" => counts.failed = count,
        b"skipped" | b"xfailed" | b"subtests skipped" => counts.skipped = count,
        b"error" | b"errors" => counts.errors = count,
        b"deselected" | b"warning" | b"warnings" | b"rerun" => {}
        _ => return None,
    }
    Some(counts)
}

/// Returns `test_a.py::test_b - AssertionError: …` without the message.
fn listed(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_start();
    match cut(text, b" - ") {
        // The parameters of a test are in brackets and may contain the separator.
        Some((name, _)) if contains(name, b"[") && !name.ends_with(b"]") => {
            let end = cut(text, b"] - ").map_or(text.len(), |(name, _)| name.len() + 1);
            text.get(..end).unwrap_or(text)
        }
        Some((name, _)) => name,
        None => text,
    }
}

/// Parses `test_a.py::test_b FAILED      [ 33%]`, or with xdist `[gw0] [ 33%] FAILED test_a.py::test_b`, for one of
/// the verdicts.
fn verbose<'t>(text: &'t [u8], verdicts: &[&str]) -> Option<&'t [u8]> {
    let of_worker = text.starts_with(b"[gw");
    let text = match cut_last(text, b" [") {
        Some((before, percent)) if percent.ends_with(b"%]") => before.trim_ascii_end(),
        _ => text,
    };
    verdicts.iter().find_map(|verdict| {
        if of_worker {
            return Some(cut(text, format!("] {verdict} ").as_bytes())?.1);
        }
        text.strip_suffix(verdict.as_bytes())?.strip_suffix(b" ")
    })
}

/// Returns `true` if this names a test of a Python file.
fn is_node(name: &[u8]) -> bool {
    contains(word(name).0, b".py::")
}
