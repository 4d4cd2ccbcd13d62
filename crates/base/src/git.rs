//! Runs the `git` program; no other module of this crate starts it.
//!
//! A repository can be untrusted, and an agent can change any. So no call loads the configuration of the repository:
//! git runs with a private directory, see [`isolated`]. It finds no filter, hook, driver, helper or remote, fetches
//! nothing, and starts no other program. Our settings are in a file of that directory and not in variables that another
//! program could inherit.

mod checkout;
mod isolated;
mod program;
mod settings;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::process;
use crate::repository::Location;
use isolated::Isolated;
use settings::Settings;

pub use crate::process::Printed;
pub use checkout::Checkout;
pub use isolated::Content;

/// Variables by which git tells its hooks where they are (`git rev-parse --local-env-vars`, without settings). A git that
/// is started below a hook would take its own worktree for the hook's.
pub const LOCAL_VARIABLES: [&str; 11] = [
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

/// A failed git command.
#[derive(Debug, thiserror::Error)]
#[error("`git {command}` failed: {message}")]
pub struct GitError {
    command: String,
    message: String,
}

impl GitError {
    /// Creates an error with the attempted command and the reason, for a failure before git could report one.
    pub fn new(command: &str, message: &str) -> Self {
        Self {
            command: command.to_owned(),
            message: message.to_owned(),
        }
    }
}

/// Returns the top of the working tree that holds `directory`.
///
/// # Errors
/// The directory is not in a repository.
pub fn top_level(directory: &Path) -> Result<PathBuf, GitError> {
    Ok(locate(directory)?.top)
}

/// Returns commits that touched one of `paths`, newest first and at most `limit`. Paths are relative to `directory`.
///
/// # Errors
/// The directory is not in a repository.
pub fn history(directory: &Path, paths: &[String], limit: usize) -> Result<Vec<String>, GitError> {
    let count = format!("--max-count={limit}");
    let mut arguments = vec!["log", "--format=%H", &count, "--"];
    arguments.extend(paths.iter().map(String::as_str));
    let output = run(directory, arguments, &[])?;
    let text = String::from_utf8_lossy(&output);
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns a file from a commit; the path is relative to `directory`.
///
/// # Errors
/// The commit has no such file.
pub fn file_at(directory: &Path, commit: &str, path: &str) -> Result<Vec<u8>, GitError> {
    let name = format!("{commit}:./{path}");
    run(directory, ["cat-file", "blob", &name], &[])
}

/// Returns the name that git would give the author of a commit here.
#[must_use]
pub fn user(directory: &Path) -> Option<String> {
    let settings = Settings::read(directory).ok()?;
    let name = settings.get("user.name")?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn locate(directory: &Path) -> Result<Location, GitError> {
    Location::around(directory)
        .ok_or_else(|| GitError::new("rev-parse --show-toplevel", "not a git repository"))
}

fn run<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<Vec<u8>, GitError> {
    Git::at(directory)?.run(arguments, input)
}

/// A repository, and the way to run git in it.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
    isolated: Arc<Isolated>,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Runs git in the repository that holds `directory`, with git's built-in conversions of files.
    pub fn at(directory: &Path) -> Result<Self, GitError> {
        Self::with_content(directory, &Content::Converted)
    }

    /// Runs git in the repository that holds `directory`.
    pub fn with_content(directory: &Path, content: &Content) -> Result<Self, GitError> {
        let location = locate(directory)?;
        let settings = Settings::read(&location.top)?;
        let isolated = Isolated::new(location, &settings, content)
            .map_err(|error| GitError::new("rev-parse --git-dir", &error.to_string()))?;
        Ok(Self {
            directory: directory.to_owned(),
            isolated: Arc::new(isolated),
            variables: Vec::new(),
        })
    }

    /// Runs git on the repository at `git_dir`, bare or not, with its files at `top`. `.git` below `top` is not used.
    ///
    /// # Errors
    /// There is no repository at `git_dir`.
    pub fn over(git_dir: &Path, top: &Path, content: &Content) -> Result<Self, GitError> {
        let fail = |error: &dyn std::fmt::Display| {
            GitError::new("rev-parse --git-dir", &error.to_string())
        };
        let git_dir = std::fs::canonicalize(git_dir).map_err(|error| fail(&error))?;
        // git runs in `top`, where a relative path would mean another place.
        let top = std::path::absolute(top).map_err(|error| fail(&error))?;
        if !git_dir.join("objects").is_dir() {
            return Err(fail(&"not a git repository"));
        }
        let settings = Settings::of_repository(&git_dir)?;
        let location = Location {
            top: top.clone(),
            common_dir: git_dir.clone(),
            git_dir,
        };
        let isolated = Isolated::new(location, &settings, content).map_err(|error| fail(&error))?;
        Ok(Self {
            directory: top,
            isolated: Arc::new(isolated),
            variables: Vec::new(),
        })
    }

    /// Returns git on the same repository with its files at `top`, an absolute path. Nothing is read again.
    #[must_use]
    pub fn with_top(&self, top: &Path) -> Self {
        let git = Self {
            directory: top.to_owned(),
            ..self.clone()
        };
        git.with("GIT_WORK_TREE", top)
    }

    /// Sets a variable, such as another index.
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Returns the location of the repository's parts.
    pub fn location(&self) -> &Location {
        &self.isolated.location
    }

    /// Returns the patterns of ignored files from outside the working tree.
    pub fn ignore_patterns(&self) -> Result<Vec<u8>, GitError> {
        self.isolated
            .ignore_patterns()
            .map_err(|error| GitError::new("check-ignore", &error.to_string()))
    }

    /// Returns the content of `HEAD` in our private directory, which [`Self::run`] can change.
    pub fn private_head(&self) -> io::Result<Vec<u8>> {
        std::fs::read(self.isolated.git_dir().join("HEAD"))
    }

    /// Returns the output of the command.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        Ok(self.run_up_to(arguments, input, usize::MAX)?.bytes)
    }

    /// Returns the output of the command as text, without the last line end.
    pub fn line<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        let output = self.run(arguments, &[])?;
        Ok(String::from_utf8_lossy(&output)
            .trim_end_matches('\n')
            .to_owned())
    }

    /// Returns the first `limit` bytes of the patch between two trees below these paths, in the format of bundles and
    /// suites.
    pub fn patch(
        &self,
        from: &str,
        to: &str,
        paths: &[&str],
        limit: usize,
    ) -> Result<Printed, GitError> {
        self.print_patch("diff-tree", &[from, to, "--"], paths, limit)
    }

    /// Returns the first `limit` bytes of the patch from a tree to the index, in the same form.
    pub fn patch_to_index(&self, from: &str, limit: usize) -> Result<Printed, GitError> {
        self.print_patch("diff-index", &["--cached", from, "--"], &[], limit)
    }

    fn print_patch(
        &self,
        command: &str,
        trees: &[&str],
        paths: &[&str],
        limit: usize,
    ) -> Result<Printed, GitError> {
        let form = [
            command,
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        ];
        let arguments = form.iter().chain(trees).chain(paths);
        self.run_up_to(arguments, &[], limit)
    }

    /// Returns the first `limit` bytes of the command's output; the rest is read and dropped.
    pub fn run_up_to<A: AsRef<OsStr>>(
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
        let mut command = program::command(&self.directory);
        command
            .arg("--no-pager")
            .args(&arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_DIR", self.isolated.git_dir())
            .env("GIT_WORK_TREE", &self.location().top)
            .env("GIT_INDEX_FILE", self.location().git_dir.join("index"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        let ran =
            process::output(&mut command, input, limit).map_err(|error| fail(error.to_string()))?;
        if !ran.status.success() {
            return Err(fail(trimmed(&ran.stderr.bytes)));
        }
        Ok(ran.stdout)
    }
}

/// Returns a message of git in one line.
fn trimmed(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    lines.join("; ")
}

/// Quotes a path for a list of object directories, where a colon would split it.
pub fn quoted(path: &Path) -> OsString {
    OsString::from_vec(quoted_bytes(path.as_os_str().as_encoded_bytes()))
}

/// Quotes a name with double quotes, for git input in which a line feed would end it.
pub fn quoted_bytes(name: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            _ => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

/// Returns the directory from which git takes the hooks of the repository around `directory`.
///
/// # Errors
/// The directory is not in a repository.
pub fn hooks_dir(directory: &Path) -> Result<PathBuf, GitError> {
    let location = locate(directory)?;
    let set = Settings::read(&location.top)?.path("core.hookspath", &location.top);
    Ok(set.unwrap_or_else(|| location.common_dir.join("hooks")))
}

/// Returns the file with the ignore patterns of one clone.
///
/// # Errors
/// The directory is not in a repository.
pub fn exclude_file(directory: &Path) -> Result<PathBuf, GitError> {
    Ok(locate(directory)?.common_dir.join("info/exclude"))
}

/// Returns `true` if git tracks this file.
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

/// Returns `true` if git ignores this file when files are added.
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

/// Returns `true` if `ancestor` is `commit` or an ancestor of it.
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

#[cfg(any(test, feature = "testing"))]
pub mod testing;
