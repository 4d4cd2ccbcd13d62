//! `cargo nextest run`: one summary per run, with a status line for every test before it and the failed ones after
//! it.
//!
//! Takes `Summary [ 0.5s] 6 tests run: 4 passed (1 slow), 2 failed, 1 skipped` when its numbers add up; `2/6 tests
//! run` means that the run stopped early. A try that failed and was repeated is not a failure. The output of tests is
//! indented by four or between `---` lines, and is never read, see the rule about open runs.

use super::run::{Counts, Run};
use super::text::{Line, contains, counted, cut, number, split};
use super::{Part, Reader, Runner};

/// Column of the `[` of a status line: the status is right-aligned to 12 columns.
const STATUS_COLUMNS: usize = 12;

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Nextest {
    run: Run,
}

impl Reader for Nextest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if text == b"error: test run failed" {
            if self.run.looks_good() {
                self.run.stop();
            }
        } else if is_start(text) {
            self.run = self.run.start();
        } else if let Some(summary) = summary(text, self.run.owns()) {
            self.run.close(summary.counts, line.number);
            if summary.stopped {
                self.run.stop();
            }
        } else if let Some((status, name)) = status(text, self.run.is_closed()) {
            if is_failure(status) {
                self.run.touch();
                self.run.names.push(name, line.number);
            } else if status == b"PASS" && self.run.owns() {
                self.run.passed.push(name);
            }
        }
    }

    fn owns(&self) -> bool {
        self.run.owns()
    }
}

impl Nextest {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Nextest)
    }
}

/// Returns `true` for ` Nextest run ID …` or `    Starting 6 tests across 2 binaries (1 test skipped)`.
fn is_start(text: &[u8]) -> bool {
    let starting = text.strip_prefix(b"    Starting ").and_then(counted);
    text.starts_with(b" Nextest run ID ")
        || starting.is_some_and(|(_, rest)| {
            rest.starts_with(b"tests across ") || rest.starts_with(b"test across ")
        })
}

#[derive(Debug)]
struct Summary {
    counts: Counts,
    stopped: bool,
}

/// Parses the summary. While the run is open, it must have nextest's indentation; a filtered log may have lost the
/// spaces.
fn summary(text: &[u8], strict: bool) -> Option<Summary> {
    let text = if strict {
        text.strip_prefix(b"     ")?
    } else {
        text.trim_ascii_start()
    };
    let list = text.strip_prefix(b"Summary [")?;
    let (tests, list) = cut(cut(list, b"s] ")?.1, b" run: ")?;
    let (tests, word) = cut(tests, b" ")?;
    let (finished, planned) = cut(tests, b"/").unwrap_or((tests, tests));
    let (finished, planned) = (number(finished)?, number(planned)?);
    let mut counts = Counts::default();
    for item in items(list) {
        let (count, word) = counted(item)?;
        match word {
            b"passed" => counts.passed = count,
            b"failed" | b"timed out" => counts.failed += count,
            b"exec failed" => counts.errors = count,
            b"skipped" => counts.skipped = count,
            _ => return None,
        }
    }
    let ran = counts.passed + counts.failed + counts.errors;
    let is_whole = matches!(word, b"tests" | b"test") && ran == finished;
    is_whole.then_some(Summary {
        counts,
        stopped: finished < planned,
    })
}

/// Returns the items of the list without their notes; `4 passed (1 slow, 1 flaky)` is one item.
fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut in_note = false;
    split(list, b", ").filter_map(move |item| {
        let skip = in_note;
        let (shown, note) =
            cut(item, b" (").map_or((item, None), |(shown, note)| (shown, Some(note)));
        in_note = (in_note || note.is_some()) && !item.ends_with(b")");
        (!skip).then_some(shown)
    })
}

/// Parses the status and the test of `        FAIL [   0.017s] (1/6) toy more::should`; the counter is new in later
/// versions.
fn status(text: &[u8], after_summary: bool) -> Option<(&[u8], &[u8])> {
    let (status, rest) = text.split_at_checked(STATUS_COLUMNS)?;
    let (seconds, rest) = cut(rest.strip_prefix(b" [")?, b"s] ")?;
    if contains(seconds, b"]") {
        return None;
    }
    let (counter, name) = match rest.strip_prefix(b"(").and_then(|rest| cut(rest, b") ")) {
        Some((counter, name)) => (Some(counter), name),
        None => (None, rest),
    };
    let (status, is_last) = match status.trim_ascii_start().strip_prefix(b"TRY ") {
        // Only the last try counts: it has a number in the count, or it is listed after the summary.
        Some(tried) => {
            let has_place = counter
                .and_then(|counter| counter.last())
                .is_some_and(u8::is_ascii_digit);
            (counted(tried)?.1, after_summary || has_place)
        }
        None => (status.trim_ascii_start(), true),
    };
    is_last.then_some((status, name))
}

fn is_failure(status: &[u8]) -> bool {
    let known: [&[u8]; 9] = [
        b"FAIL",
        b"FAIL + LEAK",
        b"FL+LK",
        b"LEAK-FAIL",
        b"LKFAIL",
        b"TIMEOUT",
        b"TMT",
        b"XFAIL",
        b"ABORT",
    ];
    known.contains(&status) || status.starts_with(b"SIG") || status.starts_with(b"FLKY-FL ")
}
