//! Reads a repository that tasks come from, without its settings, and changes nothing in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::git::{Content, Git, GitError};
use base::repository::Location;

use crate::patch::MAX_PATCH;

/// A repository of a task, bare or with a working tree.
#[derive(Clone, Debug)]
pub struct Repo {
    git: Git,
    /// The directory with its objects.
    pub git_dir: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// `blob`, `commit` and so on.
    pub kind: String,
    /// Object id.
    pub id: String,
    /// Path, relative to the top.
    pub path: String,
}

impl Repo {
    /// Opens the repository at or around a folder.
    ///
    /// # Errors
    /// There is none.
    pub fn open(folder: &Path) -> Result<Self, GitError> {
        let git_dir = match Location::around(folder) {
            _ if folder.join("objects").is_dir() && folder.join("HEAD").exists() => {
                folder.to_owned()
            }
            Some(location) => location.common_dir,
            None => {
                return Err(GitError::new(
                    "rev-parse --git-dir",
                    &format!("`{}` is not a git repository", folder.display()),
                ));
            }
        };
        let content = Content::Bytes {
            ignore: Some(Vec::new()),
        };
        let git = Git::over(&git_dir, &git_dir, &content)?;
        let git_dir = git.location().git_dir.clone();
        Ok(Self { git, git_dir })
    }

    /// Runs git and returns its output.
    ///
    /// # Errors
    /// git fails.
    pub fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.git.run(arguments, &[])
    }

    /// Runs git with bytes on its standard input and returns its output.
    ///
    /// # Errors
    /// git fails.
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.git.run(arguments, input)
    }

    /// Runs git and returns its output as text, without the last line end.
    ///
    /// # Errors
    /// git fails.
    pub fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        self.git.line(arguments)
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        let name = format!("{commit}^{{tree}}");
        self.line(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ])
    }

    /// Returns those of these objects that are there.
    #[must_use]
    pub fn present(&self, objects: &BTreeSet<String>) -> BTreeSet<String> {
        let asked: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let told = self.run_with(
            &["cat-file", "--batch-check=%(objectname)"],
            asked.as_bytes(),
        );
        let told = String::from_utf8_lossy(&told.unwrap_or_default()).into_owned();
        let there = |line: &&str| !line.ends_with(" missing");
        told.lines().filter(there).map(str::to_owned).collect()
    }

    /// Returns the entries of a tree, files and submodules.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn entries(&self, tree: &str) -> Result<Vec<TreeEntry>, GitError> {
        let listed = self.run(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
        let entry = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).into_owned();
            let (facts, path) = line.split_once('\t')?;
            let mut facts = facts.split(' ').skip(1);
            Some(TreeEntry {
                kind: facts.next()?.to_owned(),
                id: facts.next()?.to_owned(),
                path: path.to_owned(),
            })
        };
        Ok(listed.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Returns a file of a tree; `None` if it has no such file.
    #[must_use]
    pub fn file(&self, tree: &str, path: &str) -> Option<Vec<u8>> {
        self.run(&["cat-file", "blob", &format!("{tree}:{path}")])
            .ok()
    }

    /// Returns the patch between two commits or trees, in the format of suites.
    ///
    /// # Errors
    /// One of them is missing, or the patch is too large.
    pub fn patch(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let printed = self.git.patch(from, to, &[], MAX_PATCH)?;
        if printed.truncated {
            return Err(GitError::new(
                "diff-tree",
                "the patch is larger than 16 MiB",
            ));
        }
        Ok(printed.bytes)
    }

    /// Returns `true` if a word occurs in a tree as a whole word.
    #[must_use]
    pub fn has_word(&self, tree: &str, word: &str) -> bool {
        self.line(&[
            "grep",
            "--quiet",
            "--fixed-strings",
            "--word-regexp",
            "-e",
            word,
            tree,
        ])
        .is_ok()
    }
}
