//! Parser of the output of test runners.
//!
//! [`read`] takes the bytes of a log and returns how many tests passed, failed, were skipped or broke, and which
//! failed. It never assumes more than it saw: a log that is cut off, contradicts itself or was stopped early is not
//! [`Reading::complete`], and only a complete reading can [pass](Reading::passes).
//!
//! The rules:
//!
//! - **Line shapes are strict.** "3 passed" in prose is nothing; the file of each format lists the lines that it
//!   takes.
//! - **The last run decides.** A log may hold a failing run, a fix and a passing run. pytest, nextest, jest and
//!   vitest print one summary per run: the last run counts, and a run that began after the last summary counts as cut
//!   off. cargo prints one summary per binary, and begins a new run by building again. go prints one per package:
//!   each package's last result counts. JUnit documents are all added, since one run may write many. That an earlier
//!   run in the log failed is kept in [`Reading::earlier_failed`].
//! - **Reports are preferred.** A JUnit or JSON report in the log is read as a document; see `junit` and `reports`.
//! - **Runners are summed.** With several runners in one log, each one's last run counts, numbers are added, failures
//!   are listed in the order of the log, and [`Reading::runner`] is the one with the last summary. One that is cut
//!   off makes the whole reading incomplete.
//! - **The output of a test is not a summary.** While a pytest session, a cargo binary, a nextest run or a vitest run
//!   is open, lines of other runners count as the output of its tests and are skipped.
//!
//! The work is linear in the log and the memory does not depend on it. A test that means to deceive can print
//! anything its runner prints; the caller compares the exit code of the runner. No file, no clock, no network.

mod cargo;
mod ctest;
mod dotnet;
mod go;
mod go_json;
mod gradle;
mod jest;
mod json;
mod junit;
mod maven;
mod mocha;
mod nextest;
mod phpunit;
mod playwright;
mod pytest;
mod readers;
mod reading;
mod reports;
mod ruby;
mod run;
mod tap;
mod text;
mod unittest;
mod vitest;

pub use readers::read;
use readers::{Part, Reader};
pub use reading::{Failure, MAX_FAILURES, MAX_NAME_CHARS, Reading, Runner};
