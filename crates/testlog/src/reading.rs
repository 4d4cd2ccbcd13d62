//! Result of reading a log: counts, failures, and completeness.

use std::collections::BTreeSet;

/// Limit of the failed tests that a reading names.
pub const MAX_FAILURES: usize = 100;
/// Limit of the characters of a test's name.
pub const MAX_NAME_CHARS: usize = 500;

/// Content of a test log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Runner with the last summary.
    pub runner: Runner,
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that ran and failed.
    pub failed: u64,
    /// Number of tests that were not run on purpose, or were expected to fail and did.
    pub skipped: u64,
    /// Number of errors outside of a test: a fixture, a file that cannot be imported, a package.
    pub errors: u64,
    /// Failed tests by name, at most [`MAX_FAILURES`].
    pub failures: Vec<Failure>,
    /// Passed tests that the log names; many runners name only the failed ones.
    pub named: BTreeSet<String>,
    /// Packages that passed, if the runner prints one result for each.
    pub passed_groups: BTreeSet<String>,
    /// Packages that failed.
    pub failed_groups: BTreeSet<String>,
    /// Set if every run reached its summary and none was stopped early or could not be built.
    pub complete: bool,
    /// Set if the whole result is in one summary, so that no line of another part can be missing unnoticed.
    pub has_one_summary: bool,
    /// Set if a run failed that a later one in the same log replaced.
    pub earlier_failed: bool,
}

impl Reading {
    /// Returns `true` if at least one test ran, nothing failed or broke, and nothing is missing.
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
    /// Name in the log, at most [`MAX_NAME_CHARS`] characters, with invalid UTF-8 replaced.
    pub name: String,
    /// Line of the log with the name, counted from 1.
    pub line: usize,
}

/// Program whose output is supported.
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
    /// Node's own runner.
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
    /// Returns the stable name for the command line and JSON.
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

    /// Returns `true` if a run ends with one summary of all its tests. The others print one per binary, package,
    /// module or test, any of which may be missing from a selection of lines.
    pub(crate) fn has_one_summary(self) -> bool {
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
