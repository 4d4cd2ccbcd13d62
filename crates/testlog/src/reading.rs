//! The result of reading a log: counts, failures, and whether it can be believed.

use std::collections::BTreeSet;

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
