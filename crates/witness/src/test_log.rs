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
//!   package's last result counts. JUnit documents are all added, since one run may write many.
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
    /// Whether every run reached its summary and none says that it stopped early or could not be built.
    pub complete: bool,
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
    /// A JUnit XML report, whoever wrote it.
    JunitXml,
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
        }
    }
}

/// Reads a log. `None` means that no known runner was recognised, so nobody can tell.
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
        for piece in line.pieces() {
            readers.feed(&Line {
                number: line.number,
                text: &piece,
            });
        }
    }
    combine(readers.finish())
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
    complete: bool,
    /// Line of the last summary, 0 when there was none.
    summary: usize,
}

/// Every format, side by side.
#[derive(Default)]
struct Readers {
    pytest: pytest::Pytest,
    cargo: cargo::CargoTest,
    nextest: nextest::Nextest,
    go: go::GoTest,
    jest: jest::Jest,
    vitest: vitest::Vitest,
    junit: junit::Junit,
}

impl Readers {
    fn line_readers(&mut self) -> [&mut dyn Reader; 6] {
        [
            &mut self.pytest,
            &mut self.cargo,
            &mut self.nextest,
            &mut self.go,
            &mut self.jest,
            &mut self.vitest,
        ]
    }

    fn is_owned(&mut self) -> bool {
        self.line_readers().iter().any(|reader| reader.owns())
    }

    fn feed(&mut self, line: &Line<'_>) {
        let mut readers = self.line_readers();
        if let Some(owner) = readers.iter_mut().find(|reader| reader.owns()) {
            owner.line(line);
            return;
        }
        for reader in readers {
            reader.line(line);
        }
    }

    fn finish(self) -> [Option<Part>; 7] {
        [
            self.pytest.finish(),
            self.cargo.finish(),
            self.nextest.finish(),
            self.go.finish(),
            self.jest.finish(),
            self.vitest.finish(),
            self.junit.finish(),
        ]
    }
}

/// Adds the runners up.
fn combine(parts: [Option<Part>; 7]) -> Option<Reading> {
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    let runner = parts.iter().max_by_key(|part| part.summary)?.runner;
    let mut total = run::Counts::default();
    let mut failures = Vec::new();
    let mut complete = true;
    for part in parts {
        total.add(part.counts);
        failures.extend(part.failures);
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
        complete,
    })
}
