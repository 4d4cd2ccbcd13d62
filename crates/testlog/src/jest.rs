//! jest: `PASS`/`FAIL` headers per file, and one summary per run.
//!
//! Takes `Tests:       1 failed, 2 skipped, 10 passed, 13 total` at the start of a line when its numbers add up. The
//! `Test Suites:` line above it shows files that could not be run at all, which count as errors, and files that were
//! left out by `--bail`. Names come from `● suite › name` under a `FAIL` header, or from `✕ name` when the log has no
//! such headers.

use super::run::{Counts, LastRun, Names, Run};
use super::text::{Line, contains, counted, cut_last, number, split};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Jest {
    run: Run,
    /// File of the `FAIL` header above.
    failed_file: Option<Vec<u8>>,
    /// Names of `✕` lines, if there are no better ones.
    crossed: Names,
    suites: Option<Suites>,
    /// Number of files that could not be run.
    broken_files: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Suites {
    failed: u64,
    stopped: bool,
}

impl Reader for Jest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if let Some((is_failed, file)) = header(text) {
            self.current().failed_file = is_failed.then(|| file.to_vec());
        } else if let Some(suites) = text.strip_prefix(b"Test Suites: ").and_then(suites) {
            self.current().suites = Some(suites);
        } else if let Some(tests) = text.strip_prefix(b"Tests: ").and_then(tests) {
            self.close(tests, line.number);
        } else if text.starts_with(b"No tests found, exiting with code ") {
            self.current();
            self.close(Counts::default(), line.number);
        } else if text.starts_with(b"  ") {
            self.failure(line);
        }
    }
}

impl LastRun for Jest {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }
}

impl Jest {
    /// Returns the result of the last run.
    pub(super) fn finish(mut self) -> Option<Part> {
        if self.run.names.len() == 0 {
            self.run.names = self.crossed;
        }
        self.run.finish(Runner::Jest)
    }

    fn close(&mut self, mut counts: Counts, line: usize) {
        self.renew();
        let suites = self.suites.unwrap_or_default();
        counts.errors = match counts.failed {
            0 => suites.failed,
            _ => self.broken_files.min(suites.failed),
        };
        self.run.close(counts, line);
        if suites.stopped {
            self.run.stop();
        }
        self.failed_file = None;
    }

    fn failure(&mut self, line: &Line<'_>) {
        let Some(file) = &self.failed_file else {
            return;
        };
        let trimmed = line.text.trim_ascii_start();
        if let Some(name) = trimmed.strip_prefix("✕ ".as_bytes()) {
            self.crossed.push(without_time(name), line.number);
        }
        match line.text.strip_prefix("  ● ".as_bytes()) {
            None | Some(b"Console") => {}
            Some(b"Test suite failed to run") => {
                let is_new = self.run.names.push(file, line.number);
                self.broken_files += u64::from(is_new);
            }
            Some(name) => {
                self.run.names.push(name, line.number);
            }
        }
    }
}

/// Parses `FAIL src/a.test.js` or, with colours, ` FAIL  src/a.test.js (5.2 s)`: `true` if it failed, and the file.
fn header(text: &[u8]) -> Option<(bool, &[u8])> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let is_failed = text.starts_with(b"FAIL ");
    let rest = text
        .strip_prefix(b"FAIL ")
        .or_else(|| text.strip_prefix(b"PASS "))?;
    // vitest names the test or repeats the file behind its name.
    if contains(rest, b" > ") || rest.ends_with(b" ]") {
        return None;
    }
    // With several projects, the name of the project comes first.
    let file = without_time(rest.trim_ascii_start());
    let last = cut_last(file, b" ").map_or(file, |(_, last)| last);
    is_script(last).then_some((is_failed, file))
}

fn is_script(file: &[u8]) -> bool {
    let ending = cut_last(file, b".").map(|(_, ending)| ending);
    matches!(
        ending,
        Some(
            b"js"
                | b"ts"
                | b"jsx"
                | b"tsx"
                | b"mjs"
                | b"cjs"
                | b"mts"
                | b"cts"
                | b"vue"
                | b"svelte"
        )
    )
}

/// Returns `subtracts (34 ms)` without the time.
fn without_time(text: &[u8]) -> &[u8] {
    match cut_last(text, b" (") {
        Some((name, time)) if time.ends_with(b"s)") => name,
        _ => text,
    }
}

/// Parses `1 failed, 1 skipped, 1 passed, 2 of 3 total`: a skipped file is not one of the two.
fn suites(list: &[u8]) -> Option<Suites> {
    let (mut failed, mut done, mut total) = (0, 0, None);
    for item in split(list, b", ") {
        let (count, word) = counted(item)?;
        match word {
            b"failed" => {
                failed = count;
                done += count;
            }
            b"passed" | b"skipped" => done += count,
            b"total" => total = Some(count),
            word => {
                let all = word.strip_prefix(b"of ")?.strip_suffix(b" total")?;
                total = Some(number(all)?);
            }
        }
    }
    Some(Suites {
        failed,
        stopped: done < total?,
    })
}

/// Parses `1 failed, 2 skipped, 1 todo, 10 passed, 14 total`.
fn tests(list: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut total = None;
    for item in split(list.trim_ascii_start(), b", ") {
        let (count, word) = counted(item)?;
        match word {
            b"passed" => counts.passed = count,
            b"failed" => counts.failed = count,
            b"skipped" | b"todo" => counts.skipped += count,
            b"total" if total.is_none() => total = Some(count),
            _ => return None,
        }
    }
    (counts.total() == total?).then_some(counts)
}
