//! Selects the commits of a history that could be tasks, and the tests that show it. Executes nothing.

use std::collections::BTreeSet;

use crate::cases::{Cases, Status};
use crate::glob;
use crate::task::Tests;

/// A commit and its changes against its first parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    pub commit: String,
    /// Its first parent, empty for the first commit.
    pub parent: String,
    /// Time of the commit.
    pub created: String,
    /// First line of its message.
    pub subject: String,
    /// Files with added and removed lines; `None` for a binary file.
    pub files: Vec<(Option<(u64, u64)>, String)>,
}

/// Sizes beyond which a commit is not a single task.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Most changed lines of source.
    pub max_lines: u64,
    /// Most changed files of source.
    pub max_files: usize,
}

/// Parses the output of `git log -m --first-parent --numstat --format=%x01%H%x02%P%x02%cI%x02%s`.
#[must_use]
pub fn parse_log(log: &str) -> Vec<Candidate> {
    log.split('\u{1}').skip(1).filter_map(parse_one).collect()
}

fn parse_one(text: &str) -> Option<Candidate> {
    let mut lines = text.lines();
    let mut facts = lines.next()?.split('\u{2}');
    let (commit, parents) = (facts.next()?, facts.next()?);
    let created: jiff::Timestamp = facts.next()?.parse().ok()?;
    let file = |line: &str| {
        let mut parts = line.splitn(3, '\t');
        let (added, removed) = (parts.next()?, parts.next()?);
        let path = parts.next()?.to_owned();
        Some((added.parse().ok().zip(removed.parse().ok()), path))
    };
    Some(Candidate {
        commit: commit.to_owned(),
        parent: parents.split(' ').next().unwrap_or_default().to_owned(),
        created: created.to_string(),
        subject: facts.next().unwrap_or_default().to_owned(),
        files: lines.filter_map(file).collect(),
    })
}

/// Checks by its list of files that a commit can be a task.
///
/// # Errors
/// It cannot; the error is the reason.
pub fn screen(candidate: &Candidate, sizes: Sizes) -> Result<(), &'static str> {
    let is_source = |path: &str| glob::source_language(path).is_some();
    let source: Vec<_> = candidate
        .files
        .iter()
        .filter(|(_, path)| is_source(path))
        .collect();
    let tests: Vec<_> = candidate
        .files
        .iter()
        .filter(|(_, path)| glob::is_test(path))
        .collect();
    let subject = candidate.subject.to_ascii_lowercase();
    let is_version = subject
        .trim_start_matches('v')
        .split('.')
        .take(2)
        .filter(|part| part.parse::<u32>().is_ok())
        .count()
        == 2;
    if candidate.parent.is_empty() || source.is_empty() {
        Err("no_source")
    } else if tests.is_empty()
        || !tests
            .iter()
            .any(|(lines, _)| lines.is_some_and(|(added, _)| added > 0))
    {
        Err("no_tests")
    } else if subject.starts_with("revert") {
        Err("revert")
    } else if is_version
        || [
            "release v",
            "release 0",
            "release 1",
            "[release]",
            "bump version",
            "prepare v",
        ]
        .iter()
        .any(|word| subject.starts_with(word))
    {
        Err("release")
    } else if candidate
        .files
        .iter()
        .any(|(_, path)| path == ".gitmodules")
    {
        Err("submodule")
    } else if source.iter().any(|(lines, _)| lines.is_none()) {
        Err("binary")
    } else {
        let lines: u64 = source
            .iter()
            .filter_map(|(lines, _)| lines.map(|(added, removed)| added + removed))
            .sum();
        let fits = (1..=sizes.max_lines).contains(&lines) && source.len() <= sizes.max_files;
        fits.then_some(()).ok_or("too_large")
    }
}

/// Returns `true` if a test runner accepts this file.
#[must_use]
pub fn is_runnable(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_helper = glob::any(
        &[
            "**/fixtures/**",
            "**/testdata/**",
            "**/tap-snapshots/**",
            "conftest.py",
            "__init__.py",
        ],
        path,
    );
    match glob::language(path) {
        Some("python") => (name.starts_with("test_") || name.ends_with("_test.py")) && !is_helper,
        Some("javascript" | "typescript") => glob::is_test(path) && !is_helper,
        Some("rust") => is_rust_test(path),
        Some("go") => name.ends_with("_test.go"),
        Some("shell") => glob::is_test(path) && !is_helper,
        _ => false,
    }
}

/// Returns `true` if cargo builds a test program from this file: it is in `tests` of the package, or of a workspace
/// member.
#[must_use]
pub fn is_rust_test(path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').rev().skip(1).collect();
    matches!(folders.as_slice(), ["tests", above @ ..] if !above.iter().any(|folder| matches!(*folder, "src" | "tests")))
}

/// Returns patterns that cover the test files of a commit.
#[must_use]
pub fn test_patterns<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let patterns: BTreeSet<String> = paths
        .map(|path| match path.split_once('/') {
            Some((
                top @ ("test" | "tests" | "spec" | "specs" | "__tests__" | "tap-snapshots"),
                _,
            )) => format!("{top}/**"),
            _ => path.to_owned(),
        })
        .collect();
    patterns.into_iter().collect()
}

/// Classifies tests: `own` is the base with its own tests, `before` the base with the tests of the fix, `after` the
/// fix. The last two were run several times; in a run without a report, nothing passed.
///
/// # Errors
/// The commit is not a task; the error is the reason.
pub fn classify(
    own: &Cases,
    before: &[Cases],
    after: &[Cases],
    has_new_file: bool,
) -> Result<Tests, &'static str> {
    let passes = |cases: &Cases, name: &str| cases.get(name) == Some(&Status::Passed);
    let names: BTreeSet<&String> = after.iter().flatten().map(|(name, _)| name).collect();
    if names.is_empty() || after.iter().any(Cases::is_empty) {
        return Err("after_no_report");
    }
    let mut tests = Tests::default();
    let mut was_flaky = false;
    for name in names {
        let differs = |runs: &[Cases]| {
            runs.windows(2).any(|pair| match pair {
                [one, other] => passes(one, name) != passes(other, name),
                _ => false,
            })
        };
        let passed_before = passes(own, name) || before.iter().any(|run| passes(run, name));
        if differs(after) || differs(before) {
            tests.unstable.insert(name.clone());
            was_flaky |= !passed_before;
        } else if !after.iter().all(|run| passes(run, name)) {
            tests.known_failing.insert(name.clone());
        } else if passed_before {
            tests.pass_to_pass.insert(name.clone());
        } else {
            tests.fail_to_pass.insert(name.clone());
        }
    }
    if tests.fail_to_pass.is_empty() {
        return Err(if was_flaky {
            "flaky"
        } else {
            "no_fail_to_pass"
        });
    }
    if tests.pass_to_pass.is_empty() && !has_new_file {
        return Err("no_pass_to_pass");
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes {
        max_lines: 500,
        max_files: 15,
    };

    #[test]
    fn test_programs_of_cargo_lie_in_the_package_or_in_one_of_a_workspace() {
        for (path, expected) in [
            ("tests/a.rs", true),
            ("crates/x/tests/a.rs", true),
            ("tests/support/mod.rs", false),
            ("crates/x/tests/support/mod.rs", false),
            ("src/a/tests/b.rs", false),
            ("src/tests.rs", false),
            ("a.rs", false),
        ] {
            assert_eq!(is_rust_test(path), expected, "{path}");
        }
    }

    #[test]
    fn commits_are_screened_by_their_files() {
        for (subject, files, expected) in [
            ("fix x", "3\t1\tsrc/a.py\n5\t0\ttests/test_a.py", Ok(())),
            ("fix x", "3\t1\tsrc/a.py", Err("no_tests")),
            (
                "fix x",
                "3\t1\tsrc/a.py\n0\t4\ttests/test_a.py",
                Err("no_tests"),
            ),
            (
                "fix x",
                "5\t0\ttests/test_a.py\n1\t1\tREADME.md",
                Err("no_source"),
            ),
            (
                "Revert \"fix x\"",
                "3\t1\tsrc/a.py\n5\t0\ttests/test_a.py",
                Err("revert"),
            ),
            ("v6.14.0", "3\t1\tlib/a.js\n5\t0\ttest/a.js", Err("release")),
            (
                "Release v1.2",
                "3\t1\tlib/a.js\n5\t0\ttest/a.js",
                Err("release"),
            ),
            (
                "Release a shared reference",
                "3\t1\tlib/a.js\n5\t0\ttest/a.js",
                Ok(()),
            ),
            (
                "fix x",
                "499\t2\tsrc/a.py\n5\t0\ttests/test_a.py",
                Err("too_large"),
            ),
            (
                "fix x",
                "-\t-\tsrc/a.c\n5\t0\ttests/test_a.py",
                Err("binary"),
            ),
        ] {
            let log =
                format!("\u{1}c\u{2}p q\u{2}2026-01-02T03:04:05+02:00\u{2}{subject}\n\n{files}\n");
            let parsed = parse_log(&log);
            assert_eq!(parsed[0].created, "2026-01-02T01:04:05Z");
            assert_eq!((parsed[0].parent.as_str(), parsed.len()), ("p", 1));
            assert_eq!(screen(&parsed[0], SIZES), expected, "{subject} {files}");
        }
    }

    fn cases(text: &str) -> Cases {
        let one = |one: &str| {
            let (name, status) = one.split_once('=').unwrap();
            (
                name.to_owned(),
                if status == "P" {
                    Status::Passed
                } else {
                    Status::Failed
                },
            )
        };
        text.split_whitespace().map(one).collect()
    }

    #[test]
    fn tests_are_classified_by_three_runs() {
        for (own, before, after, new_file, expected) in [
            (
                "b=P",
                "a=F b=P",
                "a=P b=P c=F|a=P b=P c=F",
                false,
                "F2P a P2P b",
            ),
            // The tests do not compile before the fix: tests that passed with its own tests still count.
            ("b=P", "", "a=P b=P", false, "F2P a P2P b"),
            ("b=P", "b=P", "b=P", false, "no_fail_to_pass"),
            ("b=P", "a=F b=P", "a=P b=P|a=F b=P", false, "flaky"),
            ("", "", "a=P", false, "no_pass_to_pass"),
            ("", "", "a=P", true, "F2P a P2P "),
            ("b=P", "b=P", "", false, "after_no_report"),
        ] {
            let runs = |text: &str| text.split('|').map(cases).collect::<Vec<_>>();
            let found = match classify(&cases(own), &runs(before), &runs(after), new_file) {
                Err(reason) => reason.to_owned(),
                Ok(tests) => {
                    let join =
                        |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(" ");
                    format!(
                        "F2P {} P2P {}",
                        join(tests.fail_to_pass),
                        join(tests.pass_to_pass)
                    )
                }
            };
            assert_eq!(found, expected, "{own} | {before} | {after}");
        }
    }
}
