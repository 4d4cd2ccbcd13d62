//! All formats side by side: each reader gets every line, and the results are summed.

use crate::reading::{Failure, MAX_FAILURES, Reading, Runner};
use crate::text::{Line, Lines};
use crate::{
    cargo, ctest, dotnet, go, gradle, jest, junit, maven, mocha, nextest, phpunit, playwright,
    pytest, reports, ruby, run, tap, unittest, vitest,
};

/// Reads a log. Returns `None` if no known runner was recognised.
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

/// Interpretation of a log for one runner.
pub(crate) trait Reader {
    /// Takes the next line.
    fn line(&mut self, line: &Line<'_>);

    /// Returns `true` if a run has begun and not ended, so that every line belongs to this runner or its tests.
    fn owns(&self) -> bool {
        false
    }
}

/// Result of one runner's last run.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) runner: Runner,
    pub(crate) counts: run::Counts,
    pub(crate) failures: Vec<Failure>,
    pub(crate) passed: run::Passed,
    pub(crate) groups: run::Groups,
    pub(crate) complete: bool,
    /// Line of the last summary, or 0.
    pub(crate) summary: usize,
    /// Set if a run before the last one failed.
    pub(crate) earlier_failed: bool,
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

            /// Returns the results, those of reports first, and the number of these.
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

/// Sums the runners. Output of a runner beside its own report is left out, unless only that reports a failure.
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
