//! `cargo test`: one section per test binary, `running 5 tests` to `test result: …`, and the output of cargo around
//! them.
//!
//! Sections of one run are added. **A new run begins** with the first section after cargo has built again, that is
//! after a line `Compiling …` or `Finished … target(s) in …`, or after `error: 2 targets failed:`. With `--quiet`,
//! cargo prints none of these when tests pass: then all sections of the log are added, so an earlier failure stays.
//!
//! A section takes only a result whose numbers add up to the announced tests, because a test may print such a line
//! too. A result without an announcement counts as it is, because logs are often filtered down to these lines. A run
//! is incomplete when a section has no result, when cargo reports a failure that no result shows (a crashed binary),
//! when the last announced binary has no section, or when the last build failed; a crash and a failed build count as
//! one error each. A log that holds all of stdout before all of stderr is understood as one run when it announces as
//! many binaries as it has sections.

use super::run::{Counts, Groups, Names, Passed};
use super::text::{Line, contains, counted, cut, cut_last, number, split};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct CargoTest {
    run: Run,
    /// Tests that the open section has announced.
    open: Option<u64>,
    /// Number of names before this section.
    names_before: usize,
    /// Set inside the list of names that follows `failures:`.
    in_list: bool,
    /// Set if cargo has built since the last section; the next one is another run.
    rebuilt: bool,
    /// Number of binaries announced since then.
    announced: u64,
    /// Set if the last build failed.
    unbuilt: bool,
}

#[derive(Debug, Default)]
struct Run {
    counts: Counts,
    names: Names,
    passed: Passed,
    announced: u64,
    sections: u64,
    /// Set if a binary was announced and no section has followed yet.
    awaits: bool,
    broken: bool,
    seen: bool,
    summary_line: usize,
    earlier_failed: bool,
}

impl Reader for CargoTest {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if self.in_list && self.listed(line) {
            return;
        }
        match text {
            b"failures:" => self.in_list = true,
            [b'r', b'u', b'n', ..] => self.section(text),
            [b't', b'e', b's', b't', b' ', ..] => match result(text) {
                Some(result) => self.result(&result, line.number),
                None => match ended(text, b" ... ok") {
                    Some(name) => self.pass(name),
                    None => self.failure(ended(text, b" ... FAILED"), line.number),
                },
            },
            [b' ', ..] => self.cargo_says(text),
            [b'e', b'r', b'r', b'o', b'r', rest @ ..] => self.cargo_fails(rest),
            _ if self.open.is_some() => {
                self.failure(text.strip_suffix(b" --- FAILED"), line.number);
            }
            _ => {}
        }
    }

    fn owns(&self) -> bool {
        self.open.is_some()
    }
}

impl CargoTest {
    /// Returns the result of the last run.
    pub(super) fn finish(mut self) -> Option<Part> {
        self.adopt_announced();
        let begun = self.rebuilt && self.announced > 0;
        let run = self.run;
        if !run.seen && !begun && !self.unbuilt {
            return None;
        }
        let open = self.open.is_some() || run.awaits || begun;
        let mut counts = run.counts;
        if open {
            counts.failed = counts.failed.max(run.names.len() as u64);
        }
        counts.errors += u64::from(self.unbuilt);
        Some(Part {
            groups: Groups::default(),
            runner: Runner::CargoTest,
            counts,
            failures: run.names.into_failures(),
            passed: run.passed,
            complete: run.sections > 0 && !open && !run.broken && !self.unbuilt,
            summary: run.summary_line,
            earlier_failed: run.earlier_failed,
        })
    }

    /// Returns the run that a section belongs to.
    fn current(&mut self) -> &mut Run {
        if self.rebuilt {
            self.run = Run {
                announced: self.announced,
                earlier_failed: self.run.earlier_failed || self.run.counts.is_bad(),
                ..Run::default()
            };
            self.rebuilt = false;
            self.announced = 0;
            self.names_before = 0;
        }
        self.run.seen = true;
        self.run.awaits = false;
        &mut self.run
    }

    fn section(&mut self, text: &[u8]) {
        let Some(tests) = announced_tests(text) else {
            return;
        };
        // A test of a test runner prints this too; without a new build, the open section continues.
        if self.open.is_some() && !self.rebuilt {
            return;
        }
        self.names_before = self.current().names.len();
        self.open = Some(tests);
    }

    fn result(&mut self, result: &SectionResult, line: usize) {
        match self.open {
            Some(tests) if tests != result.tests => return,
            // Lines like those of a build inside the section were printed by a test.
            Some(_) => self.rebuilt = false,
            None => {}
        }
        self.open = None;
        let run = self.current();
        run.counts.add(result.counts);
        run.sections += 1;
        run.summary_line = line;
        self.names_before = self.run.names.len();
    }

    fn pass(&mut self, name: &[u8]) {
        if self.open.is_some() {
            self.run.passed.push(plain(name));
        }
    }

    fn failure(&mut self, name: Option<&[u8]>, line: usize) {
        let Some(name) = name else {
            return;
        };
        let name = plain(name);
        let known = self.names_before;
        let run = match self.open {
            Some(_) => &mut self.run,
            None => self.current(),
        };
        run.names.push_after(known, name, line);
    }

    /// Reads a name in the list at the end of a section; `false` if the list is over.
    fn listed(&mut self, line: &Line<'_>) -> bool {
        let name = line.text.strip_prefix(b"    ");
        self.in_list = name.is_some_and(|name| !name.starts_with(b" "));
        if self.in_list {
            self.failure(name, line.number);
        }
        self.in_list
    }

    fn cargo_says(&mut self, text: &[u8]) {
        if is_finished(text) {
            self.rebuilt = true;
            self.unbuilt &= self.open.is_some();
        } else if text.starts_with(b"   Compiling ") {
            self.rebuilt = true;
        } else if is_announced(text) && self.open.is_none() {
            if self.rebuilt {
                self.announced += 1;
            } else {
                self.run.seen = true;
                self.run.announced += 1;
                self.run.awaits = true;
            }
        }
    }

    /// Handles the text after the word `error` at the start of a line.
    fn cargo_fails(&mut self, text: &[u8]) {
        if is_build_error(text) {
            self.unbuilt |= self.open.is_none();
        } else if is_test_error(text) {
            let crashed = self.open.take().is_some();
            self.adopt_announced();
            let run = self.current();
            if crashed || !run.counts.is_bad() {
                run.broken = true;
                run.counts.errors += 1;
            }
            self.rebuilt = text.ends_with(b" failed:");
        }
    }

    /// Applies the announcements of stderr to the earlier sections of stdout, if the two were concatenated.
    fn adopt_announced(&mut self) {
        if self.rebuilt && self.run.announced == 0 && self.run.sections == self.announced {
            self.run.announced = self.announced;
            self.announced = 0;
            self.rebuilt = false;
        }
    }
}

#[derive(Debug)]
struct SectionResult {
    counts: Counts,
    /// Number of announced tests of a section with this result.
    tests: u64,
}

/// Parses `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.19s`.
fn result(text: &[u8]) -> Option<SectionResult> {
    let (verdict, list) = cut(text.strip_prefix(b"test result: ")?, b". ")?;
    let mut items = split(list, b"; ");
    let mut next = |expected: &[u8]| {
        let (count, word) = counted(items.next()?)?;
        (word == expected).then_some(count)
    };
    let (passed, failed) = (next(b"passed")?, next(b"failed")?);
    let (ignored, measured) = (next(b"ignored")?, next(b"measured")?);
    next(b"filtered out")?;
    let mut counts = Counts {
        passed: passed + measured,
        failed,
        skipped: ignored,
        errors: 0,
    };
    let tests = counts.total();
    match verdict {
        b"ok" => {}
        b"FAILED" => counts.errors = u64::from(failed == 0),
        _ => return None,
    }
    Some(SectionResult { counts, tests })
}

/// Parses `running 5 tests`, perhaps with a note in parentheses.
fn announced_tests(text: &[u8]) -> Option<u64> {
    let (digits, rest) = cut(text.strip_prefix(b"running ")?, b" ")?;
    let rest = rest.strip_prefix(b"test")?;
    let rest = rest.strip_prefix(b"s").unwrap_or(rest);
    (rest.is_empty() || rest.starts_with(b" (")).then(|| number(digits))?
}

/// Returns the name without the note that the test must panic.
fn plain(name: &[u8]) -> &[u8] {
    name.strip_suffix(b" - should panic").unwrap_or(name)
}

/// Parses `test tests::adds ... FAILED`, perhaps with a reason or a time behind it.
fn ended<'t>(text: &'t [u8], end: &[u8]) -> Option<&'t [u8]> {
    let (name, rest) = cut_last(text.strip_prefix(b"test ")?, end)?;
    (rest.is_empty() || rest.starts_with(b" ")).then_some(name)
}

/// Returns `true` for `    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.34s`.
fn is_finished(text: &[u8]) -> bool {
    text.starts_with(b"    Finished ") && contains(text, b" target(s) in ")
}

/// Returns `true` for `     Running unittests src/lib.rs (target/debug/deps/toy-72d1228a8632fa39)` or `   Doc-tests
/// toy`.
fn is_announced(text: &[u8]) -> bool {
    let binary =
        text.starts_with(b"     Running ") && (text.ends_with(b")") || contains(text, b"deps"));
    binary || text.starts_with(b"   Doc-tests ")
}

fn is_build_error(text: &[u8]) -> bool {
    text.starts_with(b"[E")
        || text.starts_with(b": could not compile `")
        || text.starts_with(b": failed to run custom build command for `")
}

fn is_test_error(text: &[u8]) -> bool {
    let targets = text.strip_prefix(b": ").and_then(counted);
    text.starts_with(b": test failed, to rerun pass ")
        || text.starts_with(b": doctest failed, to rerun pass ")
        || targets.is_some_and(|(_, rest)| matches!(rest, b"target failed:" | b"targets failed:"))
}
