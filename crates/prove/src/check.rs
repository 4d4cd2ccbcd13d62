//! Rechecks the tasks of a suite: without the fix they fail, with it they pass, the canary works, and no part of the
//! fix is in the environment.

use std::collections::BTreeSet;
use std::path::Path;

use base::files;

use crate::cases::Status;
use crate::grading::{self, Bench};
use crate::patch;
use crate::suite::Member;

/// Lines of the fix that an environment may hold by chance.
const CHANCE: usize = 2;
/// Shortest line that distinguishes one fix from another.
const DISTINCTIVE: usize = 30;
/// Largest file of an environment that is read.
const MAX_FILE: u64 = 4 << 20;

/// Returns the problems of a task; empty if it is valid. The reference is run `runs` times.
#[must_use]
pub fn problems(bench: &Bench<'_>, member: &Member, runs: usize) -> Vec<String> {
    let mut found = Vec::new();
    match grading::run_tests(bench, &member.task, &[], &member.test_patch, None) {
        Err(cause) => found.push(format!(
            "the tests cannot run without the fix: {}",
            cause.name()
        )),
        Ok(run) => {
            if let Some(why) = &run.broken {
                found.push(why.clone());
            }
            let cases = grading::plain_cases(&run);
            let passing = |name: &&String| cases.get(*name) == Some(&Status::Passed);
            let count = member.tests.fail_to_pass.iter().filter(passing).count();
            if count > 0 {
                found.push(format!("{count} tests that must fail without the fix pass"));
            }
        }
    }
    let Some(reference) = &member.reference else {
        return found;
    };
    for _ in 0..runs.max(1) {
        let graded = grading::grade(bench, member, reference.clone(), Vec::new());
        if let Some(cause) = graded.verdict.cause {
            let first = graded
                .verdict
                .failing
                .first()
                .map(|(name, _)| name.as_str());
            found.push(format!(
                "the reference does not solve it: {} {}",
                cause.name(),
                first.unwrap_or_default()
            ));
            break;
        }
    }
    if bench.env.is_some_and(|env| is_fix_in(env, reference)) {
        found.push("the environment holds the fix (fix_in_environment)".to_owned());
    }
    found
}

/// Returns `true` if at least three distinctive lines of a fix are in the files below a folder.
fn is_fix_in(env: &Path, reference: &[u8]) -> bool {
    let lines: BTreeSet<&[u8]> = patch::added(reference)
        .map(<[u8]>::trim_ascii)
        .filter(|line| line.len() >= DISTINCTIVE)
        .collect();
    if lines.len() <= CHANCE {
        return false;
    }
    walkdir::WalkDir::new(env)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .any(|entry| {
            let Ok(bytes) = files::read(entry.path(), MAX_FILE) else {
                return false;
            };
            let held: BTreeSet<&[u8]> = bytes
                .split(|byte| *byte == b'\n')
                .map(<[u8]>::trim_ascii)
                .collect();
            lines.iter().filter(|line| held.contains(**line)).count() > CHANCE
        })
}
