//! Asks the `git` program; nothing else of ours knows how it is called.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Variables by which git tells its hooks where they are (`git rev-parse --local-env-vars`, without settings). A git that
/// is started below a hook would take its own worktree for the hook's.
pub(crate) const LOCAL_VARIABLES: [&str; 11] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A git command that failed.
#[derive(Debug, thiserror::Error)]
#[error("`git {command}` failed: {message}")]
pub struct GitError {
    command: String,
    message: String,
}

/// A checkout of one commit in a directory of its own, removed when dropped.
#[derive(Debug)]
pub struct Worktree {
    repository: PathBuf,
    directory: tempfile::TempDir,
}

impl Worktree {
    /// Checks out `commit` of `repository` into a fresh temporary directory.
    ///
    /// # Errors
    /// The repository has no such commit, or the checkout fails.
    pub fn new(repository: &Path, commit: &str) -> Result<Self, GitError> {
        let directory = tempfile::Builder::new()
            .prefix("roleos-rerun-")
            .tempdir()
            .map_err(|error| GitError {
                command: "worktree add".to_owned(),
                message: error.to_string(),
            })?;
        let worktree = Self {
            repository: repository.to_owned(),
            directory,
        };
        let tree = worktree.path();
        // `--end-of-options` keeps a commit name that starts with a dash from being an option.
        let resolved = run(
            repository,
            [
                "rev-parse",
                "--verify",
                "--end-of-options",
                &format!("{commit}^{{commit}}"),
            ],
            &[],
        )?;
        let resolved = String::from_utf8_lossy(&resolved).trim().to_owned();
        let arguments: [&OsStr; 6] = [
            "worktree".as_ref(),
            "add".as_ref(),
            "--quiet".as_ref(),
            "--detach".as_ref(),
            tree.as_os_str(),
            resolved.as_ref(),
        ];
        run(repository, arguments, &[])?;
        Ok(worktree)
    }

    /// Where the files are.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    /// Applies a unified diff. An empty one changes nothing.
    ///
    /// # Errors
    /// The diff does not apply.
    pub fn apply(&self, diff: &[u8]) -> Result<(), GitError> {
        if diff.trim_ascii().is_empty() {
            return Ok(());
        }
        run(&self.path(), ["apply", "--whitespace=nowarn", "-"], diff)?;
        Ok(())
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let tree = self.path();
        let arguments: [&OsStr; 4] = [
            "worktree".as_ref(),
            "remove".as_ref(),
            "--force".as_ref(),
            tree.as_os_str(),
        ];
        // What git could not remove goes with the temporary directory; `git worktree prune` forgets it later.
        run(&self.repository, arguments, &[]).ok();
    }
}

/// The top of the repository that holds `directory`.
///
/// # Errors
/// The directory is in no repository.
pub fn top_level(directory: &Path) -> Result<PathBuf, GitError> {
    let output = run(directory, ["rev-parse", "--show-toplevel"], &[])?;
    let text = String::from_utf8_lossy(&output);
    Ok(PathBuf::from(text.trim_end_matches('\n')))
}

/// Commits that touched one of `paths`, newest first and at most `limit`. Paths are relative to `directory`.
///
/// # Errors
/// The directory is in no repository.
pub fn history(directory: &Path, paths: &[String], limit: usize) -> Result<Vec<String>, GitError> {
    let count = format!("--max-count={limit}");
    let mut arguments = vec!["log", "--format=%H", &count, "--"];
    arguments.extend(paths.iter().map(String::as_str));
    let output = run(directory, arguments, &[])?;
    let text = String::from_utf8_lossy(&output);
    Ok(text.lines().map(str::to_owned).collect())
}

/// A file as a commit has it; the path is relative to `directory`.
///
/// # Errors
/// The commit has no such file.
pub fn file_at(directory: &Path, commit: &str, path: &str) -> Result<Vec<u8>, GitError> {
    let name = format!("{commit}:./{path}");
    run(directory, ["cat-file", "blob", &name], &[])
}

fn run<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<Vec<u8>, GitError> {
    let arguments: Vec<A> = arguments.into_iter().collect();
    let fail = |message: String| GitError {
        command: arguments
            .iter()
            .map(|argument| argument.as_ref().to_string_lossy())
            .collect::<Vec<_>>()
            .join(" "),
        message,
    };
    let output = feed(directory, &arguments, input).map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = message.lines().map(str::trim).collect();
        return Err(fail(lines.join("; ")));
    }
    Ok(output.stdout)
}

fn feed<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: &[A],
    input: &[u8],
) -> std::io::Result<Output> {
    let mut command = Command::new("git");
    for variable in LOCAL_VARIABLES {
        command.env_remove(variable);
    }
    let mut child = command
        // Hooks of the repository are the user's programs; reading it must not start them.
        .args(["-c", "core.hooksPath=/dev/null"])
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A git that stops reading early says why by its exit code.
            stdin.map(|mut stdin| stdin.write_all(input));
        });
        child.wait_with_output()
    })
}

/// The directory from which git takes the hooks of the repository around `directory`, `core.hooksPath` respected.
///
/// # Errors
/// The directory is in no repository.
pub fn hooks_dir(directory: &Path) -> Result<PathBuf, GitError> {
    git_path(directory, "hooks")
}

/// The file in which a clone lists what it alone ignores.
///
/// # Errors
/// The directory is in no repository.
pub fn exclude_file(directory: &Path) -> Result<PathBuf, GitError> {
    git_path(directory, "info/exclude")
}

/// Asked without our own settings, because one of them hides the hooks; this command starts none.
fn git_path(directory: &Path, name: &str) -> Result<PathBuf, GitError> {
    let mut command = Command::new("git");
    for variable in LOCAL_VARIABLES {
        command.env_remove(variable);
    }
    let fail = |message: String| GitError {
        command: format!("rev-parse --git-path {name}"),
        message,
    };
    let output = command
        .arg("-C")
        .arg(directory)
        .args(["rev-parse", "--git-path", name])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(fail(message.trim().to_owned()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(directory.join(text.trim_end_matches('\n')))
}

/// Whether git keeps this file.
#[must_use]
pub fn is_tracked(directory: &Path, path: &Path) -> bool {
    let arguments: [&OsStr; 4] = [
        "ls-files".as_ref(),
        "--error-unmatch".as_ref(),
        "--".as_ref(),
        path.as_os_str(),
    ];
    run(directory, arguments, &[]).is_ok()
}

/// Whether git passes over this file when files are added.
#[must_use]
pub fn is_ignored(directory: &Path, path: &Path) -> bool {
    let arguments: [&OsStr; 4] = [
        "check-ignore".as_ref(),
        "--quiet".as_ref(),
        "--".as_ref(),
        path.as_os_str(),
    ];
    run(directory, arguments, &[]).is_ok()
}

/// Whether `ancestor` is `commit` or lies behind it.
#[must_use]
pub fn is_ancestor(directory: &Path, ancestor: &str, commit: &str) -> bool {
    let arguments = ["merge-base", "--is-ancestor", "--end-of-options", ancestor, commit];
    run(directory, arguments, &[]).is_ok()
}
