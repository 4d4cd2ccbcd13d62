//! CMake's ctest: one summary per run, with the failed tests by name behind it.
//!
//! Takes `50% tests passed, 2 tests failed out of 4`, and names from the list below `The following tests FAILED:`.

use super::run::{Counts, Run};
use super::text::{Line, contains, counted, cut, cut_last, number};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Ctest {
    run: Run,
    in_list: bool,
}

impl Reader for Ctest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if text.starts_with(b"Test project ") {
            self.run = self.run.next();
            self.run.touch();
        } else if let Some(counts) = summary(text) {
            self.run.close(counts, line.number);
        } else if text == b"No tests were found!!!" {
            self.run.close(Counts::default(), line.number);
        } else if text == b"Errors while running CTest" && self.run.looks_good() {
            self.run.stop();
        } else if is_failed(text) && !self.run.is_closed() {
            self.run.touch();
        }
        match text {
            b"The following tests FAILED:" => self.in_list = self.run.is_closed(),
            _ if self.in_list => match listed(text) {
                Some(name) => {
                    self.run.names.push(name, line.number);
                }
                None => self.in_list = false,
            },
            _ => {}
        }
    }
}

impl Ctest {
    /// Returns the result of the last run.
    pub(super) fn finish(self) -> Option<Part> {
        self.run.finish(Runner::Ctest)
    }
}

/// Parses `50% tests passed, 2 tests failed out of 4`.
fn summary(text: &[u8]) -> Option<Counts> {
    let (percent, rest) = cut(text, b"% tests passed, ")?;
    number(percent)?;
    let (failed, rest) = counted(rest)?;
    let total = rest
        .strip_prefix(b"tests failed out of ")
        .or_else(|| rest.strip_prefix(b"test failed out of "))?;
    Some(Counts {
        passed: number(total)?.checked_sub(failed)?,
        failed,
        ..Counts::default()
    })
}

/// Returns `true` for `3/5 Test #3: bad ....***Failed    0.02 sec`.
fn is_failed(text: &[u8]) -> bool {
    contains(text, b" Test ") && contains(text, b"***") && text.ends_with(b" sec")
}

/// Parses `      3 - bad (Failed)`.
fn listed(text: &[u8]) -> Option<&[u8]> {
    let (digits, name) = cut(text.trim_ascii_start(), b" - ")?;
    number(digits)?;
    Some(cut_last(name, b" (").map_or(name, |(name, _)| name))
}
