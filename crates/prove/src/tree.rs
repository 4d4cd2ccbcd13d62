//! Working trees of agents and tests: only one commit over the base tree, in a separate repository.
//!
//! The source repository is only read. An agent's tree has its own objects, without the history; a grading tree needs
//! no repository at all. Changes of an agent are computed from outside, and `.git` in its tree is not trusted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::files::{self, Lock};
use base::git::{self, Content, Git, GitError};

use crate::patch::MAX_PATCH;
use crate::repo::Repo;

/// Refs and settings of an agent's repository.
const HEAD: &str = "ref: refs/heads/main\n";

/// The object store for one source repository: objects of the harness, beside the source's own.
#[derive(Clone, Debug)]
pub struct Trees {
    store: PathBuf,
    packs: PathBuf,
    format: String,
    work: PathBuf,
    /// git on the store, over the work folder; its settings are ours and are read once.
    git: Git,
}

impl Trees {
    /// Creates the store for a repository below `cache`; temporary files go to `work`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(repo: &Repo, cache: &Path, work: &Path) -> Result<Self, GitError> {
        let name = hex::encode(base::digest(repo.git_dir.as_os_str().as_encoded_bytes()));
        let store = cache
            .join("stores")
            .join(format!("{}.git", name.get(..16).unwrap_or(&name)));
        let format = repo.line(&["rev-parse", "--show-object-format"])?;
        write_store(&store, &format, repo, work).map_err(failed)?;
        let content = Content::Bytes {
            ignore: Some(Vec::new()),
        };
        Ok(Self {
            git: Git::over(&store, work, &content)?,
            packs: store.join("roleos-packs"),
            store,
            format,
            work: work.to_owned(),
        })
    }

    /// git on the store with its files at `top`.
    fn git(&self, top: &Path) -> Result<Git, GitError> {
        let top = std::path::absolute(top).map_err(failed)?;
        Ok(self.git.with_top(&top))
    }

    /// Writes a tree's files into a folder that is empty or missing, without a repository.
    ///
    /// # Errors
    /// An object is missing, or a file cannot be written.
    pub fn write_files(&self, tree: &str, to: &Path) -> Result<(), GitError> {
        fs::create_dir_all(to).map_err(failed)?;
        let index = self.index()?;
        let git = self
            .git(to)?
            .with("GIT_INDEX_FILE", index.path().join("index"));
        git.run(["read-tree", "--reset", "-u", tree], &[]).map(drop)
    }

    /// Creates the working tree of an agent: the files of `tree` and a repository with one commit.
    ///
    /// # Errors
    /// An object is missing, a file cannot be written, or the repository contains other objects.
    pub fn write_agent_tree(&self, tree: &str, to: &Path, hidden: &[&str]) -> Result<(), GitError> {
        let commit = self.pack(tree)?;
        let git_dir = to.join(".git");
        for folder in ["objects/pack", "refs/heads", "info"] {
            fs::create_dir_all(git_dir.join(folder)).map_err(failed)?;
        }
        put(&git_dir.join("HEAD"), HEAD.as_bytes()).map_err(failed)?;
        let config = format!(
            "{}\tlogallrefupdates = false\n[user]\n\tname = agent\n\temail = agent@localhost\n",
            config(&self.format)
        );
        put(&git_dir.join("config"), config.as_bytes()).map_err(failed)?;
        put(
            &git_dir.join("refs/heads/main"),
            format!("{commit}\n").as_bytes(),
        )
        .map_err(failed)?;
        for ending in ["pack", "idx"] {
            let from = self.packs.join(format!("{tree}.{ending}"));
            fs::copy(
                from,
                git_dir.join(format!("objects/pack/pack-{commit}.{ending}")),
            )
            .map_err(failed)?;
        }
        let git_dir = std::path::absolute(git_dir).map_err(failed)?;
        let git = self.git(to)?.with("GIT_INDEX_FILE", git_dir.join("index"));
        git.run(["read-tree", "-m", "-u", &commit], &[])?;
        // Its own objects, and not those of the store.
        let git = git.with("GIT_OBJECT_DIRECTORY", git_dir.join("objects"));
        Self::check(&git, &commit, tree, hidden)
    }

    /// Checks that an agent's repository has its commit over its tree, and none of the hidden objects.
    fn check(git: &Git, commit: &str, tree: &str, hidden: &[&str]) -> Result<(), GitError> {
        let mut asked = format!("{commit}^{{tree}}\n");
        for one in hidden {
            asked.push_str(&format!("{one}\n"));
        }
        let told = git.run(
            ["cat-file", "--batch-check=%(objectname)"],
            asked.as_bytes(),
        )?;
        let told = String::from_utf8_lossy(&told);
        let mut lines = told.lines();
        let is_tree = lines.next() == Some(tree);
        let are_hidden = lines.all(|line| line.ends_with(" missing"));
        (is_tree && are_hidden).then_some(()).ok_or_else(|| {
            GitError::new(
                "cat-file",
                "the agent's repository is not the one that it should be",
            )
        })
    }

    /// Creates the pack of a tree with its one commit, once. Returns the commit.
    fn pack(&self, tree: &str) -> Result<String, GitError> {
        let name = self.packs.join(format!("{tree}.commit"));
        if let Ok(commit) = fs::read_to_string(&name) {
            return Ok(commit);
        }
        let _lock = Lock::take_patiently(&self.packs.join("lock")).map_err(failed)?;
        let git = self.git(&self.work)?;
        let git = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]
            .iter()
            .fold(git, |git, name| git.with(name, "roleos"));
        let git = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
            .iter()
            .fold(git, |git, name| git.with(name, "roleos@localhost"));
        let git = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"]
            .iter()
            .fold(git, |git, name| git.with(name, "@0 +0000"));
        let commit = git.line(["commit-tree", "-m", "base", tree])?;
        let objects = git.run(["rev-list", "--objects", "--no-object-names", &commit], &[])?;
        let packed = git.run(["pack-objects", "--stdout", "-q"], &objects)?;
        let pack = self.packs.join(format!("{tree}.pack"));
        put(&pack, &packed).map_err(failed)?;
        git.run([std::ffi::OsStr::new("index-pack"), pack.as_os_str()], &[])?;
        put(&name, commit.as_bytes()).map_err(failed)?;
        Ok(commit)
    }

    /// Applies a patch to a tree, strictly.
    ///
    /// # Errors
    /// It does not apply.
    pub fn apply(&self, patch: &[u8], to: &Path) -> Result<(), GitError> {
        if patch.trim_ascii().is_empty() {
            return Ok(());
        }
        self.git(to)?
            .run(["apply", "--whitespace=nowarn", "-"], patch)
            .map(drop)
    }

    /// Returns the changes in a folder since `tree`, new files included. `.git` and nested repositories are left out.
    ///
    /// # Errors
    /// A file cannot be read, or the patch is too large.
    pub fn changes(&self, tree: &str, folder: &Path) -> Result<Changed, GitError> {
        fs::create_dir_all(folder).map_err(failed)?;
        let index = self.index()?;
        let objects = index.path().join("objects");
        fs::create_dir(&objects).map_err(failed)?;
        let git = self
            .git(folder)?
            .with("GIT_INDEX_FILE", index.path().join("index"))
            .with("GIT_OBJECT_DIRECTORY", objects)
            .with(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                git::quoted(&self.store.join("objects")),
            );
        git.run(["read-tree", tree], &[])?;
        let listed = git.run(
            [
                "ls-files",
                "-z",
                "--modified",
                "--deleted",
                "--others",
                "--exclude-standard",
            ],
            &[],
        )?;
        let paths = listed
            .split_inclusive(|byte| *byte == 0)
            .filter(|path| !path.ends_with(b"/\0") && !is_git_path(path));
        let paths: Vec<u8> = paths.flatten().copied().collect();
        if paths.is_empty() {
            return Ok(Changed::default());
        }
        git.run(
            [
                "update-index",
                "-z",
                "--add",
                "--remove",
                "--replace",
                "--stdin",
            ],
            &paths,
        )?;
        let printed = git.patch_to_index(tree, MAX_PATCH)?;
        Ok(Changed {
            patch: printed.bytes,
            is_cut: printed.truncated,
        })
    }

    fn index(&self) -> Result<tempfile::TempDir, GitError> {
        tempfile::Builder::new()
            .prefix("index-")
            .tempdir_in(&self.work)
            .map_err(failed)
    }
}

fn write_store(store: &Path, format: &str, repo: &Repo, work: &Path) -> io::Result<()> {
    for folder in ["objects/info", "refs", "roleos-packs"] {
        fs::create_dir_all(store.join(folder))?;
    }
    fs::create_dir_all(work)?;
    let mut alternates = git::quoted(&repo.git_dir.join("objects"));
    alternates.push("\n");
    // Written under other names first: two runs may share the store.
    put(
        &store.join("objects/info/alternates"),
        alternates.as_encoded_bytes(),
    )?;
    put(&store.join("config"), config(format).as_bytes())?;
    put(&store.join("HEAD"), HEAD.as_bytes())
}

/// Settings of a repository with objects of this format.
fn config(format: &str) -> String {
    if format == "sha1" {
        return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned();
    }
    format!(
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = {format}\n"
    )
}

/// What an agent changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub patch: Vec<u8>,
    /// Set if the changes exceed the limit.
    pub is_cut: bool,
}

fn is_git_path(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .any(|part| part.eq_ignore_ascii_case(b".git"))
}

/// Writes a file that has no readers meanwhile.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::write_plainly(path, bytes).map_err(|error| error.source)
}

pub(crate) fn failed(error: impl std::fmt::Display) -> GitError {
    GitError::new("checkout", &error.to_string())
}
