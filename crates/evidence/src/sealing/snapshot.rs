//! The state of a working tree when a session began, and the way back to it.
//!
//! A snapshot is a commit under `refs/roleos/snapshot/`. Its tree holds the bytes of the files; a second commit behind it
//! holds permissions, directories, the index, `HEAD`, the branches and the settings, see [`super::state`]. Going back
//! restores what differs, proves it by one hash over all of that, and keeps the undone work under `refs/roleos/undone/`.
//! Files that git ignores by the rules of then come back as far as they were few ([`super::aside`]); submodules and nested
//! repositories are not touched, but a new one is a difference. Settings, hooks, the stash, and branches and tags that
//! were not checked out come back where there is one worktree; others share them, so there they are compared and not
//! changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use witness::extension::Rollback;

use super::entries::{Entry, GitPath, paths};
use super::state::{State, commit};
use super::tree::{Reading, Scratch};
use crate::journal::SessionId;
use base::git::{Git, GitError};

/// Refs of snapshots.
const SNAPSHOTS: &str = "refs/roleos/snapshot";

/// Refs of undone work.
const UNDONE: &str = "refs/roleos/undone";

/// Files with ignore rules.
const IGNORE_FILE: &[u8] = b".gitignore";

/// A saved state of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The top of the repository.
    pub top: PathBuf,
    pub commit: String,
    pub tree: String,
    /// The commit of index, refs and permissions.
    pub state: String,
    /// The ref that keeps both.
    pub name: String,
}

impl Snapshot {
    /// Saves the state of the working tree around `directory`. A second snapshot of a session replaces the first.
    ///
    /// # Errors
    /// The directory is not in a repository, or a file of it cannot be read.
    pub fn take(directory: &Path, session: &SessionId) -> Result<Self, GitError> {
        let top = base::git::top_level(directory)?;
        let scratch = Scratch::of_working_tree(&top, Reading::Bytes { ignore: None })?;
        let git = scratch.git();
        let now = State::read(&scratch, &top, None)?;
        let state = now.keep(git)?;
        let message = format!("The working tree when session {session} began");
        let parents: Vec<&str> = now.refs.commit().into_iter().chain([&*state]).collect();
        let commit = commit(git, &now.files, &parents, &message)?;
        let name = format!("{SNAPSHOTS}/{}", ref_name(session));
        git.run(["update-ref", &name, &commit], &[])?;
        Ok(Self {
            top,
            commit,
            tree: now.files,
            state,
            name,
        })
    }

    /// Finds the snapshot of a session in the repository around `directory`.
    ///
    /// # Errors
    /// The directory is not in a repository.
    pub fn find(directory: &Path, session: &SessionId) -> Result<Option<Self>, GitError> {
        let git = Git::at(directory)?;
        let top = git.location().top.clone();
        let name = format!("{SNAPSHOTS}/{}", ref_name(session));
        let wanted = format!("{name}^{{commit}}");
        let Ok(commit) = git.line(["rev-parse", "--verify", "--quiet", &wanted]) else {
            return Ok(None);
        };
        let tree = git.line(["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        let parents = git.line(["rev-parse", &format!("{commit}^@")])?;
        let state = parents.lines().last().unwrap_or_default().to_owned();
        Ok(Some(Self {
            top,
            commit,
            tree,
            state,
            name,
        }))
    }

    /// Forgets the snapshot; undone work stays.
    ///
    /// # Errors
    /// The ref cannot be removed.
    pub fn forget(&self) -> Result<(), GitError> {
        Git::at(&self.top)?
            .run(["update-ref", "-d", &self.name], &[])
            .map(drop)
    }

    /// Restores the snapshot, keeps the undone work, and checks the result by its hash.
    ///
    /// # Errors
    /// The undone work cannot be kept, so nothing was undone.
    pub fn restore(&self, session: &SessionId) -> Result<Restored, GitError> {
        let wanted = State::load(&Git::at(&self.top)?, &self.state)?;
        let back = Way {
            snapshot: self,
            wanted,
        };
        let scratch = back.scratch()?;
        scratch.refresh();
        scratch.take_changes()?;
        let now = back.read(&scratch)?;
        let (mut kept, mut problem) = (String::new(), None);
        let mut found = None;
        if now.id != back.wanted.id {
            let message = format!("Work that a rollback of session {session} undid");
            let state = now.keep(scratch.git())?;
            let mut parents = vec![&*self.commit];
            parents.extend(now.refs.commit());
            let lost = now.refs.commits_beside(&back.wanted.refs, scratch.git());
            parents.extend(
                lost.iter()
                    .map(String::as_str)
                    .filter(|id| Some(*id) != now.refs.commit()),
            );
            parents.push(&state);
            let undone = commit(scratch.git(), &now.files, &parents, &message)?;
            kept = self.keep(session, &undone)?;
            let undone = Undone {
                commit: undone,
                name: &kept,
                message: &message,
            };
            problem = back
                .go(&scratch, &now, &undone)
                .err()
                .map(|error| error.to_string());
            found = Some(back.look()?);
        }
        let found = found.as_ref().unwrap_or(&now);
        let restored = found.id == back.wanted.id;
        if !restored && problem.is_none() {
            problem = Some(back.wanted.differences(found));
        }
        Ok(Restored {
            rollback: Rollback {
                restored,
                wanted: back.wanted.id,
                found: found.id.clone(),
                kept,
            },
            problem,
        })
    }

    /// Keeps a commit of undone work under a free name.
    fn keep(&self, session: &SessionId, commit: &str) -> Result<String, GitError> {
        let git = Git::at(&self.top)?;
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
}

/// A restore in progress.
struct Way<'a> {
    snapshot: &'a Snapshot,
    wanted: State,
}

impl Way<'_> {
    /// Restores the working tree from the state `now`. git changes no file if one is in the way.
    fn go(&self, scratch: &Scratch, now: &State, undone: &Undone<'_>) -> Result<(), GitError> {
        let top = &self.snapshot.top;
        self.wanted.layout.make_room(&now.layout, top);
        self.switch_files(scratch, &now.files, undone)?;
        if let Some(aside) = &self.wanted.aside {
            aside.put_back(&self.scratch()?, &self.wanted.layout, top)?;
        }
        let after = self.read(&self.scratch()?)?;
        self.wanted.layout.put_back(&after.layout, top);
        let git = Git::at(top)?;
        self.wanted.put_back_git(&git, &self.snapshot.state, now)?;
        self.wanted.put_back_settings(now, scratch, top)
    }

    fn switch_files(
        &self,
        scratch: &Scratch,
        now: &str,
        undone: &Undone<'_>,
    ) -> Result<(), GitError> {
        // The old ignore rules must be in place before new files can be recognised.
        let mut disk = self.with_ignore_files_of_then(scratch, now)?;
        scratch.switch(now, &disk)?;
        let hidden = scratch.changes()?.present;
        if !hidden.is_empty() {
            let all = self.scratch_of(now)?;
            all.take(&hidden)?;
            let parents = [&*undone.commit];
            let commit = commit(all.git(), &all.write_tree()?, &parents, undone.message)?;
            all.git().run(["update-ref", undone.name, &commit], &[])?;
            scratch.take(&hidden)?;
            disk = scratch.write_tree()?;
        }
        let new = scratch.names(&["--diff-filter=A"], &self.wanted.files, &disk)?;
        let target = self.scratch()?;
        target.take_from(&disk, &self.ignored(&new)?)?;
        scratch.switch(&disk, &target.write_tree()?)
    }

    /// Returns an index with the files of the snapshot.
    fn scratch(&self) -> Result<Scratch, GitError> {
        self.scratch_of(&self.wanted.files)
    }

    fn scratch_of(&self, tree: &str) -> Result<Scratch, GitError> {
        let reading = Reading::Bytes {
            ignore: Some(self.wanted.ignore.clone()),
        };
        Scratch::of_tree(&self.snapshot.top, tree, reading)
    }

    fn read(&self, scratch: &Scratch) -> Result<State, GitError> {
        State::read(scratch, &self.snapshot.top, Some(&self.wanted))
    }

    /// Reads the state again, every file included.
    fn look(&self) -> Result<State, GitError> {
        let scratch = self.scratch()?;
        scratch.take_changes()?;
        self.read(&scratch)
    }

    /// Returns `now` with the ignore files of the snapshot.
    fn with_ignore_files_of_then(&self, scratch: &Scratch, now: &str) -> Result<String, GitError> {
        let mut paths = scratch.names(&[], &self.wanted.files, now)?;
        paths.retain(|path| path.rsplit(|byte| *byte == b'/').next() == Some(IGNORE_FILE));
        let tree = self.scratch_of(now)?;
        tree.forget(&paths)?;
        tree.take_from(&self.wanted.files, &paths)?;
        tree.write_tree()
    }

    /// Returns those of the files that git ignores by the rules on disk.
    fn ignored(&self, paths: &BTreeSet<GitPath>) -> Result<BTreeSet<GitPath>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut ignored = self.scratch()?.ignored()?;
        ignored.retain(|path| paths.contains(path));
        Ok(ignored)
    }
}

/// Result of a restore.
#[derive(Debug)]
pub struct Restored {
    /// Its record in a bundle.
    pub rollback: Rollback,
    /// Why it is incomplete.
    pub problem: Option<String>,
}

/// Work that was saved before it is undone.
struct Undone<'a> {
    commit: String,
    name: &'a str,
    message: &'a str,
}

impl Scratch {
    /// Changes the working tree from one tree to another. Git refuses if a file differs from the first tree; it would
    /// overwrite an ignored file, so these are checked before.
    fn switch(&self, from: &str, to: &str) -> Result<(), GitError> {
        self.index(&["read-tree", from], &[])?;
        self.refresh();
        let new = self.names(&["--diff-filter=A"], from, to)?;
        if let Some(path) = in_the_way(&self.ignored()?, &new) {
            let path = String::from_utf8_lossy(path);
            let why = format!("the ignored file `{path}` is in the way");
            return Err(GitError::new("read-tree -m -u", &why));
        }
        self.index(&["read-tree", "-m", "-u", from, to], &[])
    }

    /// Returns the files that git ignores by the rules on disk, with directories that are ignored as a whole.
    pub(super) fn ignored_entries(&self) -> Result<BTreeSet<GitPath>, GitError> {
        let arguments = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ];
        let listed = self.git().run(arguments, &[])?;
        Ok(paths(&listed))
    }

    /// Returns the files that git ignores by the rules on disk.
    pub(super) fn ignored(&self) -> Result<BTreeSet<GitPath>, GitError> {
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

    /// Returns the paths in which two trees differ.
    pub(super) fn names(
        &self,
        options: &[&str],
        from: &str,
        to: &str,
    ) -> Result<BTreeSet<GitPath>, GitError> {
        let mut arguments = vec!["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
        arguments.extend(options);
        arguments.extend([from, to]);
        let listed = self.git().run(arguments, &[])?;
        Ok(paths(&listed))
    }

    /// Restores these files from a tree, if it has them.
    fn take_from(&self, tree: &str, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let listed = self
            .git()
            .run(["ls-tree", "-r", "-z", "--full-tree", tree], &[])?;
        let entries: Vec<Entry> = listed
            .split(|byte| *byte == 0)
            .filter_map(Entry::parse_tree_line)
            .filter(|entry| paths.contains(&entry.path))
            .collect();
        self.put_entries(&entries)
    }
}

/// Returns an ignored file at, above or below the place of a new one.
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

/// Returns the ref name of a session, without dots that git does not allow.
fn ref_name(session: &SessionId) -> String {
    let name = session.as_str();
    if name.contains('.') {
        return hex::encode(base::digest(name.as_bytes()));
    }
    name.to_owned()
}

#[cfg(test)]
mod tests;
