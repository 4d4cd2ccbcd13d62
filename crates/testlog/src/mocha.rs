//! mocha with the reporters that end in a list of failures (spec, dot, list, …), and Cypress, which is built on it.
//!
//! Takes `  3 passing (7ms)` with the `1 pending` and `2 failing` that follow it. Names come from the numbered list
//! behind them. A failure that the tree of the spec reporter marks and the summary does not report makes the run
//! incomplete: then the log was cut.

use super::run::{Counts, Run};
use super::text::{Line, counted, cut};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    run: Run,
    /// Number of failures that the tree marks.
    marked: u64,
    has_failing: bool,
    /// Name that is assembled from its lines, and the line where it began.
    name: Option<(Vec<u8>, usize)>,
}

impl Reader for Mocha {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some(passed) = passing(text) {
            self.run.close(
                Counts {
                    passed,
                    ..Counts::default()
                },
                line.number,
            );
            (self.has_failing, self.name) = (false, None);
            return;
        }
        if !self.run.is_closed() {
            self.marked += u64::from(text.starts_with(b"    ") && mark(text).is_some());
            return;
        }
        match counted(text.trim_ascii_start()) {
            Some((count, b"pending")) => self.run.amend(|counts| counts.skipped = count),
            Some((count, b"failing")) => {
                self.has_failing = true;
                self.run.amend(|counts| counts.failed = count);
            }
            _ if self.has_failing => self.listed(line),
            _ => {}
        }
    }
}

impl Mocha {
    /// Returns the result of the last run.
    pub(super) fn finish(mut self) -> Option<Part> {
        if self.run.looks_good() && self.marked > 0 {
            self.run.stop();
        }
        // Marks alone do not identify a mocha run.
        self.run.finish(Runner::Mocha)
    }

    /// Reads `  1) suite`, then its parts further to the right, the last of which ends with a colon.
    fn listed(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some(part) = mark(text) {
            self.name = Some((Vec::new(), line.number));
            self.add(part);
        } else if text.starts_with(b"     ") {
            self.add(text.trim_ascii_start());
        } else {
            self.name = None;
        }
    }

    fn add(&mut self, part: &[u8]) {
        let Some((name, line)) = &mut self.name else {
            return;
        };
        if !name.is_empty() {
            name.push(b' ');
        }
        match part.strip_suffix(b":") {
            Some(part) => {
                name.extend_from_slice(part);
                let line = *line;
                if let Some((name, _)) = self.name.take() {
                    self.run.names.push(&name, line);
                }
            }
            None => name.extend_from_slice(part),
        }
    }
}

/// Parses `  3 passing (7ms)`.
fn passing(text: &[u8]) -> Option<u64> {
    let (count, rest) = counted(text.trim_ascii_start())?;
    let time = rest.strip_prefix(b"passing (")?.strip_suffix(b")")?;
    let is_time = time.first().is_some_and(u8::is_ascii_digit)
        && matches!(time.last(), Some(b's' | b'm' | b'h'));
    is_time.then_some(count)
}

/// Parses `  1) name`.
fn mark(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"  ")?.trim_ascii_start();
    let (number, name) = cut(text, b") ")?;
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    is_number.then_some(name)
}
