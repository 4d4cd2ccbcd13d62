//! The working tree of a repository as a git tree, new files included, without touching its index or its `HEAD`.
//!
//! Everything happens in an index of our own. Ignored files, submodules, nested repositories and the folders of Role OS
//! itself are left alone.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};
use crate::repository::Location;

/// Settings under which our index is written; what speeds up the user's own would only leave files behind.
const PLAIN_INDEX: [&str; 8] = [
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "index.sparse=false",
    "-c",
    "advice.addEmbeddedRepo=false",
];

/// How git writes the mode of a submodule.
const SUBMODULE: &[u8] = b"160000 ";

/// What is done with submodules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submodules {
    /// They are no part of the tree.
    LeftOut,
    /// The tree says which commit each one stands at.
    Recorded,
}

/// An index of our own over the user's working tree. Dropped, it leaves no trace.
#[derive(Debug)]
pub(super) struct Scratch {
    git: Git,
    top: PathBuf,
    directory: tempfile::TempDir,
    submodules: Submodules,
}

/// A path as git has it, relative to the top of the repository.
pub(super) type GitPath = Vec<u8>;

impl Scratch {
    /// An index with nothing in it, over the working tree at `top`.
    fn empty(top: &Path, submodules: Submodules) -> Result<Self, GitError> {
        let directory = tempfile::Builder::new()
            .prefix("roleos-tree-")
            .tempdir()
            .map_err(|error| GitError::new("update-index", &error.to_string()))?;
        let index = directory.path().join("index");
        Ok(Self {
            git: Git::at(top).with("GIT_INDEX_FILE", index),
            top: top.to_owned(),
            directory,
            submodules,
        })
    }

    /// Begins with the user's own index, which knows what has not changed; then takes in the working tree.
    pub(super) fn of_working_tree(top: &Path, submodules: Submodules) -> Result<Self, GitError> {
        let scratch = Self::empty(top, submodules)?;
        scratch.copy_index()?;
        scratch.leave_out()?;
        scratch.take_changes()?;
        Ok(scratch)
    }

    /// The same, but new objects go to a place that is gone with the scratch.
    pub(super) fn of_working_tree_aside(
        top: &Path,
        submodules: Submodules,
    ) -> Result<Self, GitError> {
        let mut scratch = Self::empty(top, submodules)?;
        let real = top.join(scratch.git.line(["rev-parse", "--git-path", "objects"])?);
        let objects = scratch.directory.path().join("objects");
        fs::create_dir(&objects)
            .map_err(|error| GitError::new("update-index", &error.to_string()))?;
        scratch.git = scratch
            .git
            .with("GIT_OBJECT_DIRECTORY", objects)
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&real));
        scratch.copy_index()?;
        scratch.leave_out()?;
        scratch.take_changes()?;
        Ok(scratch)
    }

    /// Begins with a tree; nothing of the working tree is taken in yet.
    pub(super) fn of_tree(
        top: &Path,
        tree: &str,
        submodules: Submodules,
    ) -> Result<Self, GitError> {
        let scratch = Self::empty(top, submodules)?;
        scratch.index(&["read-tree", tree], &[])?;
        Ok(scratch)
    }

    /// Git with our index.
    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// The tree that the index stands for.
    pub(super) fn write_tree(&self) -> Result<String, GitError> {
        self.git.line(["write-tree"])
    }

    /// Takes in what differs between the index and the working tree: changed, removed and new files.
    pub(super) fn take_changes(&self) -> Result<(), GitError> {
        let changes = self.changes()?;
        // A file below what is a link or a file now cannot be looked at, only forgotten.
        self.forget(&changes.removed)?;
        self.take(&changes.present)
    }

    /// Takes in these files as they are now.
    pub(super) fn take(&self, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        let arguments = [
            "update-index",
            "-z",
            "--add",
            "--remove",
            "--replace",
            "--stdin",
        ];
        self.index(&arguments, &joined(paths))
    }

    /// Forgets these files.
    pub(super) fn forget(&self, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        self.index(
            &["update-index", "-z", "--force-remove", "--stdin"],
            &joined(paths),
        )
    }

    /// Compares with the files on disk once, so that later questions are quick.
    pub(super) fn refresh(&self) {
        // It fails when something has changed, which is no failure here.
        self.index(&["update-index", "-q", "--refresh"], &[]).ok();
    }

    /// What differs from the working tree.
    pub(super) fn changes(&self) -> Result<Changes, GitError> {
        let arguments = [
            "ls-files",
            "-z",
            "-t",
            "--modified",
            "--deleted",
            "--others",
            "--exclude-standard",
        ];
        let listed = self.git.run(arguments, &[])?;
        let mut changes = Changes::default();
        for entry in listed.split(|byte| *byte == 0) {
            let Some((tag, path)) = entry.split_first_chunk::<2>() else {
                continue;
            };
            // A path that ends in a slash is a repository of its own.
            if is_ours(path) || path.ends_with(b"/") {
                continue;
            }
            match tag {
                b"R " => changes.removed.insert(path.to_vec()),
                _ => changes.present.insert(path.to_vec()),
            };
        }
        let Changes { removed, present } = &mut changes;
        present.retain(|path| !removed.contains(path));
        Ok(changes)
    }

    /// Runs git on our index, under settings of our own.
    pub(super) fn index(&self, arguments: &[&str], input: &[u8]) -> Result<(), GitError> {
        let arguments = PLAIN_INDEX.iter().chain(arguments);
        self.git.run(arguments, input).map(drop)
    }

    /// Copies the user's index, its time included: git trusts what is older than the index.
    fn copy_index(&self) -> Result<(), GitError> {
        let own = Git::at(&self.top).line(["rev-parse", "--git-path", "index"])?;
        let copy = || -> io::Result<()> {
            let from = self.top.join(own);
            let modified = match fs::metadata(&from) {
                Ok(facts) => facts.modified()?,
                // Nothing was ever added.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            };
            let to = self.directory.path().join("index");
            fs::copy(from, &to)?;
            File::options().write(true).open(to)?.set_modified(modified)
        };
        copy().map_err(|error| GitError::new("update-index", &error.to_string()))
    }

    /// Takes out what is left alone.
    fn leave_out(&self) -> Result<(), GitError> {
        let listed = self.git.run(["ls-files", "-z", "--stage"], &[])?;
        let mut out = BTreeSet::new();
        for entry in listed.split(|byte| *byte == 0) {
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            let (facts, path) = entry.split_at(tab);
            let path = path.get(1..).unwrap_or_default();
            let is_submodule =
                self.submodules == Submodules::LeftOut && facts.starts_with(SUBMODULE);
            if is_submodule || is_ours(path) {
                out.insert(path.to_vec());
            }
        }
        self.forget(&out)
    }
}

/// Returns the hash of the working tree around `folder`, as [`diff`](super::diff) sees it; `None` without a repository.
pub(crate) fn working_tree(folder: impl AsRef<Path>) -> Option<String> {
    let top = Location::around(folder.as_ref())?.top;
    let scratch = Scratch::of_working_tree_aside(&top, Submodules::Recorded).ok()?;
    scratch.write_tree().ok()
}

/// What differs between an index and the working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// In the index and not on disk.
    pub removed: BTreeSet<GitPath>,
    /// New or changed.
    pub present: BTreeSet<GitPath>,
}

/// Whether a path lies in a folder of Role OS itself: journals and grants go on while a tree is looked at.
pub(super) fn is_ours(path: &[u8]) -> bool {
    let mut before: &[u8] = b"";
    for part in path.split(|byte| *byte == b'/') {
        if part == b".role-os" || (part == b"role-os" && before == b".claude") {
            return true;
        }
        before = part;
    }
    false
}

/// A list of paths as git reads it.
pub(super) fn joined(paths: &BTreeSet<GitPath>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// A path in a list of object directories, where a colon would divide it.
fn quoted(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for byte in path.as_os_str().as_encoded_bytes() {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'"');
    OsString::from_vec(text)
}
