//! Asks the `git` program; nothing else of ours knows how it is called.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

/// Bytes of an error message of git that are kept.
const MAX_MESSAGE: usize = 64 * 1024;

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

impl GitError {
    /// What was attempted, and why it failed before git could say so.
    pub(crate) fn new(command: &str, message: &str) -> Self {
        Self {
            command: command.to_owned(),
            message: message.to_owned(),
        }
    }
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
            .map_err(|error| GitError::new("worktree add", &error.to_string()))?;
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

/// Whom git would name as the author of a commit here.
#[must_use]
pub fn user(directory: &Path) -> Option<String> {
    let output = run(directory, ["config", "--get", "user.name"], &[]).ok()?;
    let name = String::from_utf8_lossy(&output).trim().to_owned();
    (!name.is_empty()).then_some(name)
}

fn run<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<Vec<u8>, GitError> {
    Git::at(directory).run(arguments, input)
}

/// A repository, and how git is called in it.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    directory: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

/// What git printed, up to a limit.
pub(crate) struct Printed {
    pub bytes: Vec<u8>,
    /// More was printed than was kept.
    pub truncated: bool,
}

impl Git {
    /// In the repository that holds `directory`.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            variables: Vec::new(),
        }
    }

    /// With a variable set, such as another index.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Everything that the command prints.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        Ok(self.run_up_to(arguments, input, usize::MAX)?.bytes)
    }

    /// What the command prints as text, without the last line end.
    pub(crate) fn line<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        let output = self.run(arguments, &[])?;
        Ok(String::from_utf8_lossy(&output)
            .trim_end_matches('\n')
            .to_owned())
    }

    /// The first `limit` bytes that the command prints; the rest is read and dropped.
    pub(crate) fn run_up_to<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
        limit: usize,
    ) -> Result<Printed, GitError> {
        let arguments: Vec<A> = arguments.into_iter().collect();
        let fail = |message: String| GitError {
            command: arguments
                .iter()
                .map(|argument| argument.as_ref().to_string_lossy())
                .collect::<Vec<_>>()
                .join(" "),
            message,
        };
        let (status, printed, message) = self
            .feed(&arguments, input, limit)
            .map_err(|error| fail(error.to_string()))?;
        if !status.success() {
            let message = String::from_utf8_lossy(&message);
            let lines: Vec<&str> = message.lines().map(str::trim).collect();
            return Err(fail(lines.join("; ")));
        }
        Ok(printed)
    }

    fn feed<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
        input: &[u8],
        limit: usize,
    ) -> io::Result<(ExitStatus, Printed, Vec<u8>)> {
        let mut command = Command::new("git");
        for variable in LOCAL_VARIABLES {
            command.env_remove(variable);
        }
        let mut child = command
            // Hooks and watchers of the repository are the user's programs; reading it must not start them.
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ])
            .arg("-C")
            .arg(&self.directory)
            .args(arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            scope.spawn(move || {
                // A git that stops reading early says why by its exit code.
                stdin.map(|mut stdin| stdin.write_all(input));
            });
            let message = scope.spawn(move || {
                stderr.map_or(
                    Ok(Vec::new()),
                    |stderr| Ok(keep(stderr, MAX_MESSAGE)?.bytes),
                )
            });
            let printed = match stdout {
                Some(stdout) => keep(stdout, limit)?,
                None => Printed {
                    bytes: Vec::new(),
                    truncated: false,
                },
            };
            let message: io::Result<Vec<u8>> = message.join().unwrap_or(Ok(Vec::new()));
            Ok((child.wait()?, printed, message?))
        })
    }
}

/// Keeps the first `limit` bytes and drops the rest, so that the writer never waits.
fn keep(mut reader: impl io::Read, limit: usize) -> io::Result<Printed> {
    let mut bytes = Vec::new();
    let room = u64::try_from(limit).unwrap_or(u64::MAX);
    reader.by_ref().take(room).read_to_end(&mut bytes)?;
    let dropped = io::copy(&mut reader, &mut io::sink())?;
    Ok(Printed {
        bytes,
        truncated: dropped > 0,
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
    let arguments = [
        "merge-base",
        "--is-ancestor",
        "--end-of-options",
        ancestor,
        commit,
    ];
    run(directory, arguments, &[]).is_ok()
}
