//! Makes a suite from the history of a repository: every commit that changes source and tests, and whose tests fail
//! before it and pass after it, is a task.

mod commit;
pub mod issue;
pub mod progress;
pub mod screen;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base::git::GitError;
use serde::Serialize;

use crate::envs::Environments;
use crate::repo::Repo;
use crate::suite::Member;
use crate::task::Format;
use crate::tree::Trees;
use commit::Miner;
use progress::Progress;
use screen::{Candidate, Sizes};

/// Options of mining.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the repository, such as `github:ljharb/qs`.
    pub name: String,
    /// Folder of the repository, as written to tasks.
    pub source: String,
    /// Test command.
    pub test: String,
    /// Format of its report.
    pub format: Format,
    /// Setup command, and the files that name its environment.
    pub setup: String,
    /// Files whose content names the environment.
    pub key: Vec<String>,
    /// Most tasks.
    pub limit: usize,
    /// Oldest commit by date, as git reads it.
    pub since: Option<String>,
    /// Only these commits, by prefixes of their ids; all if empty.
    pub commits: Vec<String>,
    /// Only commits that change source files with these patterns; all if empty.
    pub paths: Vec<String>,
    /// Sizes of a task.
    pub sizes: Sizes,
    /// Number of runs of the fix.
    pub runs: usize,
    /// Threads.
    pub jobs: usize,
    /// Longest test run in seconds.
    pub test_seconds: u64,
    /// Issues of a tracker by number.
    pub issues: BTreeMap<u64, String>,
}

/// A commit that is not a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// Stable name of the reason.
    pub reason: String,
    pub detail: String,
}

/// Result of mining.
#[derive(Clone, Debug, Default)]
pub struct Mined {
    /// The tasks, newest first.
    pub members: Vec<Member>,
    /// The commits that are not tasks.
    pub dropped: Vec<Dropped>,
    /// Those whose tests ran, as tasks for inspection.
    pub invalid: Vec<Member>,
}

/// Reason of dropping a commit: its name, and details.
type Reason = (Cow<'static, str>, String);

/// Result of trying a commit.
pub type Tried = Result<Member, (Cow<'static, str>, String)>;

fn reason(name: &'static str, detail: impl Into<String>) -> Reason {
    (Cow::Borrowed(name), detail.into())
}

/// Resources and progress of mining.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Environments of tasks.
    pub envs: &'a Environments,
    /// Trees of the repository.
    pub trees: &'a Trees,
    /// Folder for trees and reports.
    pub work: &'a Path,
    /// Commits tried so far.
    pub progress: &'a Progress,
}

/// Mines a repository. `told` is called with the numbers of tried commits, of tasks, and of all commits.
///
/// # Errors
/// The repository cannot be read.
pub fn mine(
    repo: &Repo,
    plan: &Plan,
    site: Site<'_>,
    told: &(dyn Fn(usize, usize, usize) + Sync),
) -> Result<Mined, GitError> {
    let miner = Miner {
        repo,
        plan,
        envs: site.envs,
        trees: site.trees,
        work: site.work,
        invalid: Mutex::default(),
    };
    let candidates = miner.candidates()?;
    let known = site.progress.tried();
    let (next, valid, is_enough) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let results: Mutex<BTreeMap<usize, Tried>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                while !is_enough.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(candidate) = candidates.get(at) else {
                        break;
                    };
                    let result = known.get(&candidate.commit).cloned().unwrap_or_else(|| {
                        let tried = miner.try_commit(candidate);
                        site.progress.keep(&candidate.commit, &tried);
                        tried
                    });
                    let found = valid.fetch_add(usize::from(result.is_ok()), Ordering::Relaxed)
                        + usize::from(result.is_ok());
                    is_enough.fetch_or(found >= plan.limit, Ordering::Relaxed);
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.insert(at, result);
                    told(results.len(), found, candidates.len());
                }
            });
        }
    });
    let mut mined = Mined::default();
    for (at, result) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // Another thread may have found one more; the newest count is used.
        if mined.members.len() >= plan.limit {
            break;
        }
        match (result, candidates.get(at)) {
            (Ok(member), _)
                if mined
                    .members
                    .iter()
                    .any(|other| other.task.base_tree == member.task.base_tree) =>
            {
                mined.drop_one(
                    candidates.get(at),
                    reason("duplicate", "another task begins with the same tree"),
                );
            }
            (Ok(member), _) => mined.members.push(member),
            (Err(reason), candidate) => mined.drop_one(candidate, reason),
        }
    }
    mined.invalid = miner
        .invalid
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    mined.invalid.sort_by(|a, b| a.task.id.cmp(&b.task.id));
    Ok(mined)
}

impl Mined {
    fn drop_one(&mut self, candidate: Option<&Candidate>, (reason, detail): Reason) {
        if let Some(candidate) = candidate {
            self.dropped.push(Dropped {
                commit: candidate.commit.clone(),
                subject: candidate.subject.clone(),
                reason: reason.into_owned(),
                detail,
            });
        }
    }
}

/// Guesses the format of a test command's report, by the runner that it names.
#[must_use]
pub fn guess_format(command: &str) -> Option<Format> {
    let known = [
        ("pytest", Format::Junit),
        ("tape", Format::Tap),
        ("--test-reporter=tap", Format::Tap),
        ("cargo test", Format::Cargo),
        ("go test", Format::GotestJson),
        ("mocha", Format::MochaJson),
        ("jest", Format::JestJson),
    ];
    known
        .iter()
        .find(|(word, _)| command.contains(word))
        .map(|(_, format)| *format)
}

/// Returns the folder of mining's temporary trees.
#[must_use]
pub fn work_folder(out: &Path) -> PathBuf {
    out.with_added_extension("work")
}
