//! Grades the change of a bundle again, by the suite that its task comes from.

use std::path::Path;

use crate::grading::{self, Graded};
use crate::lab::Lab;
use crate::suite::Suite;

/// Grades a change again in a fresh tree. `folder` is the suite; the task must have the digest of the bundle.
///
/// # Errors
/// The suite, the task or what it needs is missing, and what.
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
    let work = tempfile::Builder::new()
        .prefix("roleos-rerun-")
        .tempdir()
        .map_err(|error| error.to_string())?;
    let lab = Lab::open(&suite, repositories, cache, work.path());
    lab.with(&suite, member, work.path(), |bench| {
        grading::grade(bench, member, diff.to_vec(), Vec::new())
    })
    .map_err(|(cause, why)| format!("{}: {why}", cause.name()))
}
