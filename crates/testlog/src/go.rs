//! `go test`, plain, with `-v`, and with `-json` (whose events [`go_json`](super::go_json) parses).
//!
//! go prints one result per package, `ok`, `FAIL` or `?`, after the lines of its tests. Each package's last result
//! counts, so that rerunning one package replaces that package alone. Tests are counted with their subtests, as they
//! are listed; without `-v`, passing tests are not listed, and a package that is `ok` counts as one passed test. A
//! package that fails without a failed test, because it cannot be built or crashed, counts as one error and is not
//! complete.

use std::collections::BTreeMap;

use super::go_json::{Event, event};
use super::run::{Counts, Groups, Names, Passed};
use super::text::{Line, cut, cut_last, is_seconds, word};
use super::{MAX_FAILURES, Part, Reader, Runner};

/// Limit of packages that are kept separately; further ones are summed without detection of reruns.
const MAX_PACKAGES: usize = 10_000;
/// Limit of the bytes of a package's name; a longer one is treated like one too many.
const MAX_PACKAGE_NAME: usize = 500;
/// Limit of failed tests that are named before the packages are summed.
const MAX_NAMES: usize = 10 * MAX_FAILURES;

/// Last result of every package.
#[derive(Debug, Default)]
pub(super) struct GoTest {
    packages: BTreeMap<Vec<u8>, Package>,
    others: Package,
    /// Tests of plain output that no package line has claimed yet.
    unclaimed: Package,
    names: usize,
    passed: Passed,
    summary_line: usize,
    seen: bool,
    /// Set if a package failed before it was run again.
    earlier_failed: bool,
    /// Set by a line `FAIL`, which ends a run in which a package failed.
    is_bad: bool,
}

#[derive(Debug, Default)]
struct Package {
    counts: Counts,
    names: Names,
    /// Set if it has begun and not yet ended with a result.
    open: bool,
    /// Set if it failed without a failed test.
    broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
    Skip,
}

impl Reader for GoTest {
    fn line(&mut self, line: &Line<'_>) {
        match line.text {
            [b'{', b'"', ..] => {
                if let Some(event) = event(line.text) {
                    self.event(&event, line.number);
                }
            }
            [b'=', b'=', b'=', b' ', b'R', b'U', b'N', b' ', ..] => self.begin(),
            [b' ' | b'-', ..] => {
                if let Some((verdict, name)) = test(line.text) {
                    self.begin();
                    self.pass(verdict, name);
                    let room = self.names < MAX_NAMES;
                    let named = self.unclaimed.count(verdict, name, line.number, room);
                    self.names += usize::from(named);
                }
            }
            b"FAIL" => self.is_bad = true,
            [b'o' | b'F' | b'?', ..] => {
                if let Some((verdict, result)) = package(line.text) {
                    self.end(verdict, &result, line.number);
                }
            }
            _ => {}
        }
    }
}

impl GoTest {
    /// Returns the results of all packages together.
    pub(super) fn finish(self) -> Option<Part> {
        if !self.seen {
            return None;
        }
        let mut counts = Counts::default();
        let mut failures = Vec::new();
        let mut complete = self.summary_line > 0;
        let mut groups = Groups::default();
        for (name, package) in &self.packages {
            let name = String::from_utf8_lossy(name).into_owned();
            if package.counts.is_bad() {
                groups.failed.insert(name);
            } else if package.counts.passed > 0 {
                groups.passed.insert(name);
            }
        }
        let rest = [self.others, self.unclaimed];
        for package in self.packages.into_values().chain(rest) {
            counts.add(package.counts);
            failures.extend(package.names.into_failures());
            complete &= !package.open && !package.broken;
        }
        failures.sort_by_key(|failure| failure.line);
        // A log that was cut at its start may have lost the package that failed.
        if self.is_bad && !counts.is_bad() {
            counts.errors = 1;
            complete = false;
        }
        Some(Part {
            runner: Runner::GoTest,
            groups,
            counts,
            failures,
            passed: self.passed,
            complete,
            summary: self.summary_line,
            earlier_failed: self.earlier_failed,
        })
    }

    /// Begins a test of plain output, which names the package only afterwards.
    fn begin(&mut self) {
        self.seen = true;
        self.unclaimed.open = true;
    }

    fn pass(&mut self, verdict: Verdict, name: &[u8]) {
        if verdict == Verdict::Pass {
            self.passed.push(name);
        }
    }

    fn end(&mut self, verdict: Verdict, result: &PackageLine<'_>, line: usize) {
        let mut package = std::mem::take(&mut self.unclaimed);
        if verdict == Verdict::Pass && package.counts.total() == 0 && !result.is_empty {
            package.counts.passed = 1;
        }
        package.end(verdict);
        self.seen = true;
        self.is_bad = false;
        self.summary_line = line;
        let (place, is_known) = place(&mut self.packages, &mut self.others, result.package);
        if is_known {
            let old = std::mem::replace(place, package);
            self.earlier_failed |= old.counts.is_bad();
            self.names = self.names.saturating_sub(old.names.len());
        } else {
            place.counts.add(package.counts);
            place.names.append(package.names);
            place.broken |= package.broken;
        }
    }

    fn event(&mut self, event: &Event<'_>, line: usize) {
        let verdict = match event.action {
            b"run" | b"start" => None,
            b"pass" => Some(Verdict::Pass),
            b"fail" => Some(Verdict::Fail),
            b"skip" => Some(Verdict::Skip),
            _ => return,
        };
        self.seen = true;
        let (package, is_known) = place(&mut self.packages, &mut self.others, &event.package);
        if is_known && !package.open {
            self.names = self.names.saturating_sub(package.names.len());
            self.earlier_failed |= package.counts.is_bad();
            *package = Package {
                open: true,
                ..Package::default()
            };
        }
        match (verdict, &event.test) {
            (None, _) => {}
            (Some(verdict), Some(test)) => {
                let room = self.names < MAX_NAMES;
                let named = package.count(verdict, test, line, room);
                self.names += usize::from(named);
                self.pass(verdict, test);
            }
            (Some(verdict), None) => {
                package.end(verdict);
                self.summary_line = line;
            }
        }
    }
}

impl Package {
    /// Counts a test; returns `true` if it was also named.
    fn count(&mut self, verdict: Verdict, test: &[u8], line: usize, room: bool) -> bool {
        let mut one = Counts::default();
        match verdict {
            Verdict::Pass => one.passed = 1,
            Verdict::Fail => one.failed = 1,
            Verdict::Skip => one.skipped = 1,
        }
        self.counts.add(one);
        verdict == Verdict::Fail && room && self.names.push(test, line)
    }

    fn end(&mut self, verdict: Verdict) {
        self.open = false;
        if verdict == Verdict::Fail && self.counts.failed == 0 {
            self.counts.errors = 1;
            self.broken = true;
        }
    }
}

/// Returns the entry for a package's result, and `true` if it is the package's own.
fn place<'a>(
    packages: &'a mut BTreeMap<Vec<u8>, Package>,
    others: &'a mut Package,
    name: &[u8],
) -> (&'a mut Package, bool) {
    let has_room = packages.len() < MAX_PACKAGES && name.len() <= MAX_PACKAGE_NAME;
    if has_room || packages.contains_key(name) {
        (packages.entry(name.to_vec()).or_default(), true)
    } else {
        (others, false)
    }
}

/// Parses `--- FAIL: TestTable/two (0.00s)`, with subtests indented by fours.
fn test(text: &[u8]) -> Option<(Verdict, &[u8])> {
    let rest = text.trim_ascii_start().strip_prefix(b"--- ")?;
    let (verdict, rest) = cut(rest, b": ")?;
    let verdict = match verdict {
        b"PASS" => Verdict::Pass,
        b"FAIL" => Verdict::Fail,
        b"SKIP" => Verdict::Skip,
        _ => return None,
    };
    let (name, seconds) = cut_last(rest, b" (")?;
    is_seconds(seconds.strip_suffix(b")")?).then_some((verdict, name))
}

#[derive(Debug)]
struct PackageLine<'a> {
    package: &'a [u8],
    /// Set if no test was run.
    is_empty: bool,
}

/// Parses `ok  ⇥toy/good⇥0.003s`, `FAIL⇥toy/bad [build failed]` or `?   ⇥toy/none⇥[no test files]`, in which ⇥ is a
/// tab or spaces.
fn package(text: &[u8]) -> Option<(Verdict, PackageLine<'_>)> {
    let (verdict, rest) = match text {
        [b'o', b'k', b' ', b' ', rest @ ..] => (Verdict::Pass, rest),
        [b'F', b'A', b'I', b'L', b' ' | b'\t', rest @ ..] => (Verdict::Fail, rest),
        [b'?', b' ', b' ', b' ', rest @ ..] => (Verdict::Skip, rest),
        _ => return None,
    };
    let (package, rest) = word(rest);
    let note = rest.trim_ascii_start();
    let (time, _) = word(note);
    let is_timed = is_seconds(time) || (time == b"(cached)" && verdict == Verdict::Pass);
    let is_result = match verdict {
        Verdict::Pass => is_timed,
        Verdict::Fail => is_timed || matches!(note, b"[build failed]" | b"[setup failed]"),
        Verdict::Skip => note == b"[no test files]",
    };
    let is_empty = note.ends_with(b"[no tests to run]");
    is_result.then_some((verdict, PackageLine { package, is_empty }))
}
