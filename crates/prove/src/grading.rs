//! Grades a change: a fresh tree, the permitted part of the change, the tests of the suite, a canary, and the test
//! command in a box. Never runs in an agent's tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::files;
use sandbox::Mount;

use crate::boxes::{self, Boxed, Toolchains};
use crate::canary;
use crate::cases::{self, Cases, MAX_REPORT};
use crate::glob;
use crate::grade::{self, Cause, Observed, Verdict};
use crate::patch;
use crate::repo::Repo;
use crate::suite::Member;
use crate::task::{Canary, Format, Task};
use crate::tree::{self, Trees};

/// Longest test log that is kept.
pub const MAX_LOG: usize = 1 << 20;

/// Place and tools of tests.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// The repository of the task.
    pub repo: &'a Repo,
    pub trees: &'a Trees,
    /// Toolchains of the machine.
    pub tools: &'a Toolchains,
    /// The environment of the task.
    pub env: Option<&'a Path>,
    /// Folder for the tree and the report.
    pub work: &'a Path,
}

#[derive(Clone, Debug, Default)]
pub struct TestRun {
    /// The report, canary included.
    pub observed: Observed,
    /// Output of the command, and the report if it is text.
    pub log: Vec<u8>,
    /// Its duration.
    pub took: Duration,
    /// Reason why it could not run at all.
    pub broken: Option<String>,
    /// Set if it exceeded its time.
    pub timed_out: bool,
}

/// Result of grading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graded {
    pub verdict: Verdict,
    /// The change that was graded.
    pub diff: Vec<u8>,
    /// Paths of the agent's change that were left out.
    pub left_out: Vec<String>,
    /// The test log.
    pub log: Vec<u8>,
    /// Duration of the tests.
    pub took: Duration,
    /// Number of runs.
    pub runs: u32,
}

/// Runs the tests of a task over its base tree with these patches, in order. The test patch goes last and over
/// everything: its files are those of the fix.
pub fn run_tests(
    bench: &Bench<'_>,
    task: &Task,
    patches: &[&[u8]],
    test_patch: &[u8],
    suffix: Option<&str>,
) -> Result<TestRun, Cause> {
    let slot = Slot::new(bench.work).map_err(|_| Cause::Harness)?;
    let tree = slot.folder.path().join("tree");
    bench
        .trees
        .write_files(&task.base_tree, &tree)
        .map_err(|_| Cause::NeedsCommit)?;
    apply_all(bench, task, patches, test_patch, &tree)?;
    let planted = suffix.and_then(|suffix| canary::plant(task, suffix));
    let mut files = task.test.files.clone();
    if let Some(planted) = &planted {
        plant(&tree, planted).map_err(|_| Cause::Harness)?;
        if !planted.is_appended {
            files.push(planted.path.clone());
        }
    }
    files.retain(|file| tree.join(file).exists());
    Ok(slot.run(
        bench,
        task,
        &tree,
        &files,
        planted.map(|planted| planted.suffix),
    ))
}

/// Applies the patches, and puts the test files of the fix in place.
fn apply_all(
    bench: &Bench<'_>,
    task: &Task,
    patches: &[&[u8]],
    test_patch: &[u8],
    tree: &Path,
) -> Result<(), Cause> {
    // Patches that have no file in common with the tests need one call of git; it changes nothing when it fails.
    if are_apart(patches, test_patch) {
        let mut all = patches.to_vec();
        all.push(test_patch);
        if bench.trees.apply(&all.join(&b'\n'), tree).is_ok() {
            return Ok(());
        }
    }
    for patch in patches {
        bench.trees.apply(patch, tree).map_err(|_| Cause::NoApply)?;
    }
    put_tests(bench, task, test_patch, tree)
}

/// Returns `true` if no patch touches a file of the test patch, or one above or below it.
fn are_apart(patches: &[&[u8]], test_patch: &[u8]) -> bool {
    let paths = |patch: &[u8]| -> Option<Vec<PathBuf>> {
        let files = patch::files(patch).ok()?.into_iter();
        Some(files.map(|file| PathBuf::from(file.path)).collect())
    };
    let (Some(tests), Some(others)) = (
        paths(test_patch),
        patches
            .iter()
            .map(|patch| paths(patch))
            .collect::<Option<Vec<_>>>(),
    ) else {
        return false;
    };
    let meets = |one: &PathBuf| {
        let both = |test: &PathBuf| test.starts_with(one) || one.starts_with(test);
        tests.iter().any(both)
    };
    !others.iter().flatten().any(meets)
}

/// Puts the test files of the fix into a tree: those that the test patch touches are made what base and patch give.
fn put_tests(bench: &Bench<'_>, task: &Task, test_patch: &[u8], tree: &Path) -> Result<(), Cause> {
    let touched = patch::files(test_patch).map_err(|_| Cause::Harness)?;
    for file in &touched {
        let path = tree.join(&file.path);
        clear_way(tree, &file.path).map_err(|_| Cause::Harness)?;
        if let Some(bytes) = bench.repo.file(&task.base_tree, &file.path) {
            tree::put(&path, &bytes).map_err(|_| Cause::Harness)?;
        }
    }
    bench
        .trees
        .apply(test_patch, tree)
        .map_err(|_| Cause::Harness)
}

/// Removes everything at a path or in place of a folder above it.
fn clear_way(tree: &Path, path: &str) -> std::io::Result<()> {
    let mut at = tree.to_owned();
    let parts: Vec<&str> = path.split('/').collect();
    for (number, part) in parts.iter().enumerate() {
        at.push(part);
        let is_last = number + 1 == parts.len();
        match fs::symlink_metadata(&at) {
            Ok(facts) if facts.is_dir() && is_last => fs::remove_dir_all(&at)?,
            Ok(facts) if !facts.is_dir() => fs::remove_file(&at)?,
            _ => {}
        }
    }
    Ok(())
}

fn plant(tree: &Path, planted: &canary::Planted) -> std::io::Result<()> {
    let path = tree.join(&planted.path);
    let mut text = if planted.is_appended {
        fs::read(&path)?
    } else {
        Vec::new()
    };
    text.extend_from_slice(planted.text.as_bytes());
    tree::put(&path, &text)
}

/// A private folder for one test run; removed when dropped.
struct Slot {
    folder: tempfile::TempDir,
    report: PathBuf,
}

impl Slot {
    fn new(work: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(work)?;
        let folder = tempfile::Builder::new().prefix("grade-").tempdir_in(work)?;
        let report = folder.path().join("out");
        fs::create_dir(&report)?;
        fs::create_dir(folder.path().join("cache"))?;
        Ok(Self { folder, report })
    }

    fn run(
        &self,
        bench: &Bench<'_>,
        task: &Task,
        tree: &Path,
        files: &[String],
        canary: Option<String>,
    ) -> TestRun {
        let started = Instant::now();
        let name = base::fresh_task_id().to_string();
        let inside = format!("/w/out/{name}");
        let command = expand(&task.test.command, task.test.format, files, &inside);
        let cache = self.folder.path().join("cache");
        if let Some(made) = bench
            .env
            .map(|env| env.join("cache"))
            .filter(|made| made.is_dir())
        {
            copy_tree(&made, &cache);
        }
        if bench
            .env
            .is_some_and(|env| env.join("node_modules").is_dir())
        {
            fs::create_dir_all(tree.join("node_modules")).ok();
        }
        let mut boxed = Boxed::new(bench.tools, tree);
        boxed.env = bench.env;
        boxed.epoch = epoch(task);
        let path = PathBuf::from;
        boxed.mounts = vec![
            Mount::Write(self.report.clone(), path("/w/out")),
            Mount::Write(cache, path("/w/cache")),
        ];
        if task.test.format == Format::Reward {
            boxed
                .mounts
                .push(Mount::Write(self.report.clone(), path("/logs/verifier")));
        }
        boxed.variables = vec![("CARGO_TARGET_DIR".to_owned(), "/w/cache".to_owned())];
        let limits = boxes::limits(&task.limits, task.limits.test_seconds);
        let (mut log, ended) = boxed.run(&command, &limits, &mut || false);
        let code = ended.as_ref().ok().map(|done| done.code);
        let report = if task.test.format == Format::Reward {
            "reward.txt"
        } else {
            &name
        };
        let report = files::read(&self.report.join(report), MAX_REPORT).ok();
        let cases = match (&report, task.test.format) {
            (_, Format::Exit) => cases::read(Format::Exit, &[], code),
            (Some(report), format) => cases::read(format, report, code),
            (None, _) => None,
        };
        if let Some(report) =
            report.filter(|_| matches!(task.test.format, Format::Tap | Format::Cargo))
        {
            log.extend_from_slice(&report);
        }
        TestRun {
            observed: Observed {
                cases,
                code,
                canary,
            },
            log: shortened(log),
            took: started.elapsed(),
            timed_out: matches!(ended, Err(sandbox::Stopped::Time(_))),
            broken: match ended {
                Err(stopped @ (sandbox::Stopped::NoSandbox(_) | sandbox::Stopped::Machine(_))) => {
                    Some(stopped.to_string())
                }
                _ => None,
            },
        }
    }
}

/// Copies a folder, sharing blocks where the file system can.
fn copy_tree(from: &Path, to: &Path) {
    // A failed copy only loses the time that the cache would have saved.
    let mut command = std::process::Command::new("cp");
    command
        .args(["-a", "--reflink=auto", "-T"])
        .arg(from)
        .arg(to);
    command.stderr(std::process::Stdio::null()).status().ok();
}

/// Inserts files and report into a test command.
pub(crate) fn expand(command: &str, format: Format, files: &[String], report: &str) -> String {
    let word = |file: &String| match format {
        Format::Cargo => {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!(
                "--test {}",
                quoted(name.strip_suffix(".rs").unwrap_or(name))
            )
        }
        _ => quoted(file),
    };
    let mut files: Vec<String> = files.iter().map(word).collect();
    if format == Format::Cargo {
        // The canary fails, and cargo would skip the tests after it.
        files.insert(0, "--no-fail-fast".to_owned());
    }
    command
        .replace("{files}", &files.join(" "))
        .replace("{report}", report)
        .replace("{repo}", boxes::REPO)
}

pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn epoch(task: &Task) -> i64 {
    task.created_at
        .parse::<jiff::Timestamp>()
        .map_or(0, jiff::Timestamp::as_second)
}

/// Keeps the beginning and the end of a log.
fn shortened(log: Vec<u8>) -> Vec<u8> {
    if log.len() <= MAX_LOG {
        return log;
    }
    let half = MAX_LOG / 2 - 64;
    let (head, tail) = (
        log.get(..half).unwrap_or_default(),
        log.get(log.len() - half..).unwrap_or_default(),
    );
    [head, b"\n[ middle of the log left out ]\n", tail].concat()
}

/// Removes the parts of an agent's change that do not count: test files, and files that affect the execution of tests.
///
/// # Errors
/// It is not a patch.
pub fn counted_part(
    repo: &Repo,
    member: &Member,
    tree: &Path,
    change: &[u8],
) -> Result<(Vec<u8>, Vec<String>), patch::BadPatch> {
    let task = &member.task;
    let of_tests: BTreeSet<String> = patch::files(&member.test_patch)?
        .into_iter()
        .map(|file| file.path)
        .collect();
    patch::divide(change, |path| {
        if of_tests.contains(path) || glob::any(&task.test_paths, path) {
            return false;
        }
        if glob::any(&task.allow_guarded, path) {
            return true;
        }
        let after = || fs::read(tree.join(path)).unwrap_or_default();
        let before = || repo.file(&task.base_tree, path).unwrap_or_default();
        let is_guarded = glob::is_guarded(path, &task.test.command)
            || glob::any(&task.guarded, path)
            || glob::changes_test_settings(path, before, after);
        !is_guarded
    })
}

/// Grades a change after [`counted_part`]. Unstable tests may be run up to three times.
#[must_use]
pub fn grade(bench: &Bench<'_>, member: &Member, diff: Vec<u8>, left_out: Vec<String>) -> Graded {
    let mut graded = Graded {
        diff,
        left_out,
        ..Graded::default()
    };
    if graded.diff.trim_ascii().is_empty() {
        graded.verdict = Verdict::of(Cause::EmptyPatch, "there is no change that counts");
        return graded;
    }
    for run in 1..=3 {
        graded.runs = run;
        grade_once(bench, member, &mut graded);
        let failing = |verdict: &Verdict| {
            verdict
                .failing
                .iter()
                .any(|(name, _)| member.tests.unstable.contains(name))
        };
        if graded.verdict.cause != Some(Cause::Tests) || !failing(&graded.verdict) {
            break;
        }
    }
    graded
}

fn grade_once(bench: &Bench<'_>, member: &Member, graded: &mut Graded) {
    let suffix: String = base::fresh_task_id()
        .to_string()
        .chars()
        .rev()
        .filter(char::is_ascii_hexdigit)
        .take(12)
        .collect();
    let suffix = (member.task.test.canary == Canary::Auto).then_some(suffix);
    let run = match run_tests(
        bench,
        &member.task,
        &[&graded.diff],
        &member.test_patch,
        suffix.as_deref(),
    ) {
        Ok(run) => run,
        Err(cause) => {
            graded.verdict = Verdict::of(cause, "the tree to grade could not be made");
            return;
        }
    };
    graded.took = run.took;
    graded.verdict = match &run.broken {
        Some(why) => Verdict::of(Cause::SandboxFailed, why.clone()),
        None => grade::decide(&member.tests, &run.observed),
    };
    graded.log = test_log(member, &run, &graded.verdict);
}

/// Returns the sealed log: command, exit code, one line per test, then the output.
fn test_log(member: &Member, run: &TestRun, verdict: &Verdict) -> Vec<u8> {
    let code = run
        .observed
        .code
        .map_or("none".to_owned(), |code| code.to_string());
    let mut text = format!("$ {}\nexit code {code}\n", member.task.test.command);
    let total = verdict.passing.len() + verdict.failing.len();
    text.push_str(&format!(
        "{} of {total} graded tests passed\n",
        verdict.passing.len()
    ));
    for (name, status) in &verdict.failing {
        text.push_str(&format!("{status} {name}\n"));
    }
    for name in &verdict.passing {
        text.push_str(&format!("PASSED {name}\n"));
    }
    for note in &verdict.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    if verdict.cause.is_some() {
        text.push_str("--- output ---\n");
        text.push_str(&String::from_utf8_lossy(&run.log));
    }
    shortened(text.into_bytes())
}

/// Returns the statuses of all tests of a run, without the canary.
#[must_use]
pub fn plain_cases(run: &TestRun) -> Cases {
    let mut cases = run.observed.cases.clone().unwrap_or_default();
    if let Some(suffix) = &run.observed.canary {
        canary::take(&mut cases, suffix);
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_their_files_as_the_runner_takes_them() {
        let files = ["tests/a.rs".to_owned(), "it's.sh".to_owned()];
        for (command, format, expected) in [
            (
                "t {files} > {report}",
                Format::Tap,
                r"t 'tests/a.rs' 'it'\''s.sh' > /r",
            ),
            (
                "cargo test {files}",
                Format::Cargo,
                r"cargo test --no-fail-fast --test 'a' --test 'it'\''s.sh'",
            ),
        ] {
            assert_eq!(expand(command, format, &files, "/r"), expected);
        }
    }

    #[test]
    fn a_long_log_keeps_its_ends() {
        let log = [vec![b'a'; MAX_LOG], b"end".to_vec()].concat();
        let kept = shortened(log);
        assert!(kept.len() <= MAX_LOG && kept.starts_with(b"aaa") && kept.ends_with(b"end"));
    }
}
