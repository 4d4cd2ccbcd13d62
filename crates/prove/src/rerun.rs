//! Grades the change of a bundle again, with the suite of its task or with the tests in the bundle.

use std::path::Path;

use crate::grading::{self, Graded};
use crate::lab::Lab;
use crate::suite::{Member, Meta, Suite};
use witness::extension::TestPatch;

/// Grades a change again in a fresh tree. `folder` is the suite; the task must have the digest of the bundle.
///
/// # Errors
/// The suite, the task or a requirement of it is missing; the error names it.
pub fn rerun(
    folder: &Path,
    repositories: Option<&Path>,
    cache: &Path,
    task: &str,
    digest: &str,
    diff: &[u8],
) -> Result<Graded, String> {
    let suite = Suite::read(folder).map_err(|error| error.to_string())?;
    let member = suite.members.iter().find(|member| member.task.id == task);
    let member = member.ok_or_else(|| format!("the suite has no task `{task}`"))?;
    if member.digest != digest {
        return Err(format!(
            "task `{task}` of the suite has changed since the bundle was sealed"
        ));
    }
    grade(&suite, member, repositories, cache, diff)
}

/// Grades a change again by the tests of its bundle, without a suite. A relative source of the task is resolved from
/// `folder`.
///
/// # Errors
/// The tests cannot be read, or the repository or the environment is missing.
pub fn rerun_alone(
    parts: &TestPatch,
    folder: &Path,
    repositories: Option<&Path>,
    cache: &Path,
    diff: &[u8],
) -> Result<Graded, String> {
    let member = Member::of_bundle(parts).map_err(|error| error.to_string())?;
    let suite = Suite {
        folder: folder.to_owned(),
        meta: Meta::default(),
        members: vec![member.clone()],
    };
    grade(&suite, &member, repositories, cache, diff)
}

fn grade(
    suite: &Suite,
    member: &Member,
    repositories: Option<&Path>,
    cache: &Path,
    diff: &[u8],
) -> Result<Graded, String> {
    let work = tempfile::Builder::new()
        .prefix("roleos-rerun-")
        .tempdir()
        .map_err(|error| error.to_string())?;
    let lab = Lab::open(suite, repositories, cache, work.path());
    lab.with(suite, member, work.path(), |bench| {
        grading::grade(bench, member, diff.to_vec(), Vec::new())
    })
    .map_err(|(cause, why)| format!("{}: {why}", cause.name()))
}
