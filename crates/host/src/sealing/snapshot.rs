//! The working tree as it was when a session began, and the way back to it.
//!
//! A snapshot is a commit under `refs/roleos/snapshot/`. Going back restores what differs, proves by the tree's hash
//! that it did, and keeps what it undid under `refs/roleos/undone/`. Neither touches the index, `HEAD` or a branch.
//! Files that git ignores by the rules of then are not touched, and neither are submodules and nested repositories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use witness::extension::Rollback;

use super::tree::{GitPath, Scratch, Submodules};
use crate::git::{Git, GitError};
use crate::journal::SessionId;

/// Where snapshots are.
const SNAPSHOTS: &str = "refs/roleos/snapshot";

/// Where undone work is.
const UNDONE: &str = "refs/roleos/undone";

/// Files that say what git ignores.
const IGNORE_FILE: &[u8] = b".gitignore";

/// A working tree that can be returned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The top of the repository.
    pub top: PathBuf,
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// The ref that keeps it.
    pub name: String,
}

impl Snapshot {
    /// Keeps the working tree around `directory` as it is now. A second one for the same session replaces the first.
    ///
    /// # Errors
    /// The directory is in no repository, or a file of it cannot be read.
    pub fn take(directory: &Path, session: &SessionId) -> Result<Self, GitError> {
        let top = crate::git::top_level(directory)?;
        let scratch = Scratch::of_working_tree(&top, Submodules::LeftOut)?;
        let tree = scratch.write_tree()?;
        let message = format!("The working tree when session {session} began");
        let commit = commit(&top, &tree, head(&top).as_deref(), &message)?;
        let name = format!("{SNAPSHOTS}/{}", ref_name(session));
        Git::at(&top).run(["update-ref", &name, &commit], &[])?;
        Ok(Self {
            top,
            commit,
            tree,
            name,
        })
    }

    /// The snapshot of a session, if there is one in the repository around `directory`.
    ///
    /// # Errors
    /// The directory is in no repository.
    pub fn find(directory: &Path, session: &SessionId) -> Result<Option<Self>, GitError> {
        let top = crate::git::top_level(directory)?;
        let name = format!("{SNAPSHOTS}/{}", ref_name(session));
        let wanted = format!("{name}^{{commit}}");
        let git = Git::at(&top);
        let Ok(commit) = git.line(["rev-parse", "--verify", "--quiet", &wanted]) else {
            return Ok(None);
        };
        let tree = git.line(["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        Ok(Some(Self {
            top,
            commit,
            tree,
            name,
        }))
    }

    /// Forgets the snapshot; what was undone stays.
    ///
    /// # Errors
    /// The ref cannot be removed.
    pub fn forget(&self) -> Result<(), GitError> {
        Git::at(&self.top)
            .run(["update-ref", "-d", &self.name], &[])
            .map(drop)
    }

    /// Returns the working tree to the snapshot, keeps what that undoes, and checks the result by its tree hash.
    ///
    /// # Errors
    /// What would be undone cannot be kept, so nothing was undone.
    pub fn restore(&self, session: &SessionId) -> Result<Restored, GitError> {
        let scratch = self.scratch()?;
        scratch.refresh();
        scratch.take_changes()?;
        let now = scratch.write_tree()?;
        let (mut kept, mut problem) = (String::new(), None);
        if now != self.tree {
            let message = format!("What a rollback of session {session} undid");
            let undone = commit(&self.top, &now, Some(&self.commit), &message)?;
            kept = self.keep(session, &undone)?;
            let undone = Undone {
                commit: undone,
                name: &kept,
                message: &message,
            };
            problem = self.go_back(&scratch, &now, &undone).err();
        }
        let found = self.look()?;
        Ok(Restored {
            rollback: Rollback {
                restored: found == self.tree,
                wanted: self.tree.clone(),
                found,
                kept,
            },
            problem,
        })
    }

    /// Makes the working tree, which is `now`, what it was. Git changes nothing when a file is in the way.
    fn go_back(&self, scratch: &Scratch, now: &str, undone: &Undone<'_>) -> Result<(), GitError> {
        // What git ignores must be what it ignored then, before it can be said which files are new.
        let mut disk = self.with_ignore_files_of_then(scratch, now)?;
        scratch.switch(now, &disk)?;
        let hidden = scratch.changes()?.present;
        if !hidden.is_empty() {
            let all = Scratch::of_tree(&self.top, now, Submodules::LeftOut)?;
            all.take(&hidden)?;
            let commit = commit(
                &self.top,
                &all.write_tree()?,
                Some(&undone.commit),
                undone.message,
            )?;
            Git::at(&self.top).run(["update-ref", undone.name, &commit], &[])?;
            scratch.take(&hidden)?;
            disk = scratch.write_tree()?;
        }
        let new = names(scratch, &["--diff-filter=A"], &self.tree, &disk)?;
        let target = self.scratch()?;
        target.take_from(&disk, &self.ignored(&new)?)?;
        scratch.switch(&disk, &target.write_tree()?)
    }

    /// An index with the files of the snapshot.
    fn scratch(&self) -> Result<Scratch, GitError> {
        Scratch::of_tree(&self.top, &self.tree, Submodules::LeftOut)
    }

    /// The tree that the working tree is now, every file read again.
    fn look(&self) -> Result<String, GitError> {
        let scratch = self.scratch()?;
        scratch.take_changes()?;
        scratch.write_tree()
    }

    /// Keeps a commit of undone work under a name that is not taken.
    fn keep(&self, session: &SessionId, commit: &str) -> Result<String, GitError> {
        let git = Git::at(&self.top);
        let prefix = format!("{UNDONE}/{}", ref_name(session));
        let listed = git.line(["for-each-ref", "--format=%(refname)", &prefix])?;
        let highest = listed
            .lines()
            .filter_map(|name| name.rsplit('/').next()?.parse::<u64>().ok())
            .max()
            .unwrap_or(0);
        let name = format!("{prefix}/{}", highest + 1);
        // An empty old value means that the ref must not exist yet.
        git.run(["update-ref", &name, commit, ""], &[])?;
        Ok(name)
    }

    /// `now` with the files of the snapshot that say what is ignored.
    fn with_ignore_files_of_then(&self, scratch: &Scratch, now: &str) -> Result<String, GitError> {
        let mut paths = names(scratch, &[], &self.tree, now)?;
        paths.retain(|path| path.rsplit(|byte| *byte == b'/').next() == Some(IGNORE_FILE));
        let tree = Scratch::of_tree(&self.top, now, Submodules::LeftOut)?;
        tree.forget(&paths)?;
        tree.take_from(&self.tree, &paths)?;
        tree.write_tree()
    }

    /// Which of these files git ignores by the rules on disk.
    fn ignored(&self, paths: &BTreeSet<GitPath>) -> Result<BTreeSet<GitPath>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut ignored = self.scratch()?.ignored()?;
        ignored.retain(|path| paths.contains(path));
        Ok(ignored)
    }
}

/// What a return to a snapshot did.
#[derive(Debug)]
pub struct Restored {
    /// What a bundle says of it.
    pub rollback: Rollback,
    /// Why git could not do all of it.
    pub problem: Option<GitError>,
}

/// Work that was kept before it is undone.
struct Undone<'a> {
    commit: String,
    name: &'a str,
    message: &'a str,
}

impl Scratch {
    /// Changes the working tree from one tree to another. Git refuses when a file is not what the first one says; an
    /// ignored file it would overwrite, so that is looked for before.
    fn switch(&self, from: &str, to: &str) -> Result<(), GitError> {
        self.index(&["read-tree", from], &[])?;
        self.refresh();
        let new = names(self, &["--diff-filter=A"], from, to)?;
        if let Some(path) = in_the_way(&self.ignored()?, &new) {
            let path = String::from_utf8_lossy(path);
            let why = format!("the ignored file `{path}` is in the way");
            return Err(GitError::new("read-tree -m -u", &why));
        }
        self.index(&["read-tree", "-m", "-u", from, to], &[])
    }

    /// Files that git ignores by the rules on disk.
    fn ignored(&self) -> Result<BTreeSet<GitPath>, GitError> {
        let arguments = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
        ];
        let listed = self.git().run(arguments, &[])?;
        Ok(paths(&listed))
    }

    /// Takes these files from a tree, as far as it has them.
    fn take_from(&self, tree: &str, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let listed = self
            .git()
            .run(["ls-tree", "-r", "-z", "--full-tree", tree], &[])?;
        let mut entries = Vec::new();
        for entry in listed.split(|byte| *byte == 0) {
            let path = entry
                .iter()
                .position(|byte| *byte == b'\t')
                .and_then(|tab| entry.get(tab + 1..));
            if path.is_some_and(|path| paths.contains(path)) {
                entries.extend_from_slice(entry);
                entries.push(0);
            }
        }
        self.index(&["update-index", "-z", "--index-info"], &entries)
    }
}

/// Paths in which two trees differ.
fn names(
    scratch: &Scratch,
    options: &[&str],
    from: &str,
    to: &str,
) -> Result<BTreeSet<GitPath>, GitError> {
    let mut arguments = vec!["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
    arguments.extend(options);
    arguments.extend([from, to]);
    let listed = scratch.git().run(arguments, &[])?;
    Ok(paths(&listed))
}

fn paths(listed: &[u8]) -> BTreeSet<GitPath> {
    listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// An ignored file at, above or below the place of a new one.
fn in_the_way<'a>(ignored: &'a BTreeSet<GitPath>, new: &BTreeSet<GitPath>) -> Option<&'a GitPath> {
    new.iter().find_map(|path| {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let at_or_above = slashes
            .map(|(end, _)| end)
            .chain([path.len()])
            .find_map(|end| ignored.get(path.get(..end)?));
        let below = [path.as_slice(), b"/"].concat();
        let first_below = ignored.range(below.clone()..).next();
        at_or_above.or(first_below.filter(|path| path.starts_with(&below)))
    })
}

/// The commit that is checked out; none before the first.
fn head(top: &Path) -> Option<String> {
    Git::at(top)
        .line(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .ok()
}

/// A commit that nobody's name is on.
fn commit(top: &Path, tree: &str, parent: Option<&str>, message: &str) -> Result<String, GitError> {
    let mut arguments = vec!["commit-tree", tree, "-m", message];
    if let Some(parent) = parent {
        arguments.extend(["-p", parent]);
    }
    Git::at(top)
        .with("GIT_AUTHOR_NAME", "Role OS")
        .with("GIT_AUTHOR_EMAIL", "roleos@localhost")
        .with("GIT_COMMITTER_NAME", "Role OS")
        .with("GIT_COMMITTER_EMAIL", "roleos@localhost")
        .line(arguments)
}

/// A session's name where git does not allow every dot.
fn ref_name(session: &SessionId) -> String {
    let name = session.as_str();
    if name.contains('.') {
        return hex::encode(crate::digest(name.as_bytes()));
    }
    name.to_owned()
}

#[cfg(test)]
mod tests;
