//! What a test runner printed, understood as far as it can be.
//!
//! [`read`] takes the bytes of a log and says how many tests passed, failed, were skipped or broke, and which failed.
//! It never believes more than it saw: what is cut off, contradicts itself or was stopped early is not
//! [`Reading::complete`], and only a complete reading can [pass](Reading::passes).
//!
//! The rules:
//!
//! - **Line shapes are strict.** "3 passed" in prose is nothing; each format's file says which lines it takes.
//! - **The last run decides.** A log may hold a failing run, a fix and a passing run. pytest, nextest, jest and vitest
//!   print one summary per run: the last run counts, and a run that began after the last summary counts as cut off.
//!   cargo prints one summary per binary, and begins a new run by building again. go prints one per package: each
//!   package's last result counts. JUnit documents are all added, since one run may write many. That an earlier run in
//!   the log failed is kept in [`Reading::earlier_failed`].
//! - **Reports are preferred.** A JUnit or JSON report in the log is read as a document; see `junit` and `reports`.
//! - **Runners add up.** With several runners in one log, each one's last run counts, numbers are added, failures are
//!   listed in the order of the log, and [`Reading::runner`] is the one with the last summary. One that is cut off
//!   makes the whole reading incomplete.
//! - **What a test prints is not a summary.** While a pytest session, a cargo binary, a nextest run or a vitest run is
//!   open, lines of other runners are taken for its tests' own output and left alone.
//!
//! The work is linear in the log and the memory does not depend on it. A test that means to deceive can print anything
//! its runner prints; the exit code of the runner is the caller's to compare. No file, no clock, no network.

mod text;

mod run;

mod pytest;

mod cargo;

mod nextest;

mod go;

mod go_json;

mod jest;

mod vitest;

mod junit;

mod unittest;

mod mocha;

mod tap;

mod ruby;

mod phpunit;

mod ctest;

mod maven;

mod gradle;

mod dotnet;

mod playwright;

mod json;

mod reports;

use std::collections::BTreeSet;

use text::{Line, Lines};

/// How many failed tests a reading names.
pub const MAX_FAILURES: usize = 100;
/// How many characters of a test's name are kept.
pub const MAX_NAME_CHARS: usize = 500;

/// What a test log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Who printed the last summary.
    pub runner: Runner,
    /// Tests that passed.
    pub passed: u64,
    /// Tests that ran and failed.
    pub failed: u64,
    /// Tests that were not run on purpose, and those that were expected to fail and did.
    pub skipped: u64,
    /// What broke without being a test's own failure: a fixture, a file that cannot be imported, a package.
    pub errors: u64,
    /// The failed tests by name, at most [`MAX_FAILURES`].
    pub failures: Vec<Failure>,
    /// Passed tests that the log names; many runners name only the failed ones.
    pub named: BTreeSet<String>,
    /// Packages that passed, where the runner gives each of them one result.
    pub passed_groups: BTreeSet<String>,
    /// The failed ones.
    pub failed_groups: BTreeSet<String>,
    /// Whether every run reached its summary and none says that it stopped early or could not be built.
    pub complete: bool,
    /// The whole result stands in one summary, so that no line of another part can be missing unseen.
    pub has_one_summary: bool,
    /// A run that a later one in the same log took the place of had failed.
    pub earlier_failed: bool,
}

impl Reading {
    /// Whether at least one test ran, nothing failed or broke, and nothing is missing.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.complete
            && self.passed > 0
            && self.failed == 0
            && self.errors == 0
            && self.failures.is_empty()
    }

    /// Returns `true` if a test failed or something broke.
    #[must_use]
    pub fn shows_failure(&self) -> bool {
        self.failed > 0 || self.errors > 0 || !self.failures.is_empty()
    }

    /// Returns `true` if the log names every test that passed.
    #[must_use]
    pub fn names_all(&self) -> bool {
        self.passed > 0 && self.named.len() as u64 >= self.passed
    }

    /// Returns the number of tests that were run.
    #[must_use]
    pub fn ran(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.errors)
    }
}

/// One failed test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// As the log names it, at most [`MAX_NAME_CHARS`] characters, bytes that are no text replaced.
    pub name: String,
    /// Line of the log that names it, counted from 1.
    pub line: usize,
}

/// A program whose output is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runner {
    /// Python's pytest.
    Pytest,
    /// Rust's `cargo test`.
    CargoTest,
    /// Rust's `cargo nextest run`.
    Nextest,
    /// Go's `go test`, plain, `-v` and `-json`.
    GoTest,
    /// JavaScript's jest.
    Jest,
    /// JavaScript's vitest.
    Vitest,
    /// A JUnit XML report of any program.
    JunitXml,
    /// Python's unittest, and Django's tests.
    Unittest,
    /// JavaScript's mocha, and Cypress.
    Mocha,
    /// node's own runner.
    NodeTest,
    /// The Test Anything Protocol of any program.
    Tap,
    /// Ruby's rspec.
    Rspec,
    /// Ruby's minitest and test-unit.
    Minitest,
    Phpunit,
    /// CMake's ctest.
    Ctest,
    /// Maven with surefire or failsafe.
    Maven,
    Gradle,
    /// .NET's `dotnet test`.
    Dotnet,
    /// Playwright's test runner.
    Playwright,
}

impl Runner {
    /// Stable name, as used on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::CargoTest => "cargo-test",
            Self::Nextest => "nextest",
            Self::GoTest => "go-test",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::JunitXml => "junit-xml",
            Self::Unittest => "unittest",
            Self::Mocha => "mocha",
            Self::NodeTest => "node-test",
            Self::Tap => "tap",
            Self::Rspec => "rspec",
            Self::Minitest => "minitest",
            Self::Phpunit => "phpunit",
            Self::Ctest => "ctest",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
            Self::Dotnet => "dotnet",
            Self::Playwright => "playwright",
        }
    }

    /// Returns `true` if a run ends with one summary of all its tests. The others print one per binary, package, module
    /// or test, any of which may be left out of a chosen set of lines.
    fn has_one_summary(self) -> bool {
        !matches!(
            self,
            Self::CargoTest
                | Self::GoTest
                | Self::JunitXml
                | Self::Tap
                | Self::Maven
                | Self::Gradle
                | Self::Dotnet
        )
    }
}

/// Reads a log. `None` means that no known runner was recognised, so the log tells nothing.
#[must_use]
pub fn read(log: &[u8]) -> Option<Reading> {
    let mut readers = Readers::default();
    let mut lines = Lines::new(log);
    while let Some(line) = lines.next() {
        if let Some(indent) = junit::root(line.bytes).filter(|_| !readers.is_owned()) {
            let document = lines.from(&line, indent);
            let used = readers.junit.document(document, line.number);
            lines.resume(&line, indent + used);
            continue;
        }
        if line.bytes.first() == Some(&b'{') && !readers.is_owned() {
            let used = readers
                .reports
                .document(lines.from(&line, 0), line.number, log.len());
            if let Some(used) = used {
                lines.resume(&line, used);
                continue;
            }
        }
        for piece in line.pieces() {
            readers.feed(&Line {
                number: line.number,
                text: &piece,
            });
        }
    }
    let (parts, reports) = readers.finish();
    combine(parts, reports)
}

/// One runner's understanding of the lines that it was shown.
trait Reader {
    /// Takes the next line.
    fn line(&mut self, line: &Line<'_>);

    /// Whether a run has begun and not ended, so that every line is this runner's or its tests'.
    fn owns(&self) -> bool {
        false
    }
}

/// What one runner's last run said.
#[derive(Debug)]
struct Part {
    runner: Runner,
    counts: run::Counts,
    failures: Vec<Failure>,
    passed: run::Passed,
    groups: run::Groups,
    complete: bool,
    /// Line of the last summary, 0 when there was none.
    summary: usize,
    /// A run before the last one failed.
    earlier_failed: bool,
}

/// Every format, side by side.
macro_rules! readers {
    ($($field:ident: $reader:ty,)*) => {
        #[derive(Default)]
        struct Readers {
            $($field: $reader,)*
            junit: junit::Junit,
            reports: reports::Reports,
        }

        impl Readers {
            fn owner(&mut self) -> Option<&mut dyn Reader> {
                $(if self.$field.owns() {
                    return Some(&mut self.$field);
                })*
                None
            }

            fn feed(&mut self, line: &Line<'_>) {
                match self.owner() {
                    Some(owner) => owner.line(line),
                    None => {
                        $(self.$field.line(line);)*
                    }
                }
            }

            /// The results, those of reports first, and how many these are.
            fn finish(self) -> (Vec<Part>, usize) {
                let is_cut = self.reports.is_cut;
                let mut parts = self.reports.finish();
                let reports = parts.len();
                parts.extend([$(self.$field.finish(),)* self.junit.finish()].into_iter().flatten());
                for part in &mut parts {
                    part.complete &= !is_cut;
                }
                (parts, reports)
            }
        }
    };
}

readers! {
    pytest: pytest::Pytest,
    cargo: cargo::CargoTest,
    nextest: nextest::Nextest,
    go: go::GoTest,
    jest: jest::Jest,
    vitest: vitest::Vitest,
    unittest: unittest::Unittest,
    mocha: mocha::Mocha,
    tap: tap::Tap,
    rspec: ruby::Rspec,
    minitest: ruby::Minitest,
    phpunit: phpunit::Phpunit,
    ctest: ctest::Ctest,
    maven: maven::Maven,
    gradle: gradle::Gradle,
    dotnet: dotnet::Dotnet,
    playwright: playwright::Playwright,
}

impl Readers {
    fn is_owned(&mut self) -> bool {
        self.owner().is_some()
    }
}

/// Adds the runners up. What a runner prints beside its own report is left out, unless only that tells of a failure.
fn combine(mut parts: Vec<Part>, reports: usize) -> Option<Reading> {
    let reported: Vec<(Runner, bool)> = parts
        .iter()
        .take(reports)
        .map(|part| (part.runner, part.counts.is_bad()))
        .collect();
    let mut place = 0;
    parts.retain(|part| {
        place += 1;
        let report = reported.iter().find(|(runner, _)| *runner == part.runner);
        let is_told = report.is_some_and(|(_, is_bad)| *is_bad || !part.counts.is_bad());
        place <= reports || !is_told
    });
    let runner = parts.iter().max_by_key(|part| part.summary)?.runner;
    let mut total = run::Counts::default();
    let mut failures = Vec::new();
    let mut passed = run::Passed::default();
    let mut groups = run::Groups::default();
    let mut complete = true;
    let has_one_summary = parts.len() == 1 && runner.has_one_summary();
    let earlier_failed = parts.iter().any(|part| part.earlier_failed);
    for part in parts {
        total.add(part.counts);
        failures.extend(part.failures);
        passed.append(part.passed);
        groups.append(part.groups);
        complete &= part.complete;
    }
    failures.sort_by_key(|failure| failure.line);
    failures.truncate(MAX_FAILURES);
    Some(Reading {
        runner,
        passed: total.passed,
        failed: total.failed,
        skipped: total.skipped,
        errors: total.errors,
        failures,
        named: passed.into_names(),
        passed_groups: groups.passed,
        failed_groups: groups.failed,
        complete,
        has_one_summary,
        earlier_failed,
    })
}
