//! Everything that a rollback puts back, under one hash: files, permissions, index, `HEAD` and branches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::aside::Aside;
use super::layout::Layout;
use super::metadata::Metadata;
use super::tree::Scratch;
use base::files;
use base::git::{Git, GitError};

/// Largest index that is saved.
const MAX_INDEX: u64 = 512 * 1024 * 1024;

/// Largest part of a state that is read back.
const MAX_PART: usize = 512 * 1024 * 1024;

/// Files of a git directory that stand for an operation in progress.
const IN_PROGRESS: [&str; 8] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_START",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// The newest entry of the stash.
const STASH: &str = "refs/stash";

/// What a reflog says of our changes.
const REASON: &str = "roleos: return to the start of the session";

/// The state of a working tree and of its place in the repository.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Tree of the files.
    pub(super) files: String,
    /// Tree over files, layout, index and refs: equal states have equal ids.
    pub(super) id: String,
    pub(super) layout: Layout,
    pub(super) refs: Refs,
    /// The ignored files; `None` if they were not read, as in snapshots of older versions.
    pub(super) aside: Option<Aside>,
    /// The settings of the repository; `None` in snapshots of older versions, which have no stash and no nested
    /// repository either.
    metadata: Option<Metadata>,
    /// The entries of the index, as git lists them.
    index: Vec<u8>,
    /// The ignore patterns from outside the working tree.
    pub(super) ignore: Vec<u8>,
}

impl State {
    /// Reads the state, with the files in `scratch`. `wanted` is the state to compare with later: parts that it does
    /// not cover are not read.
    ///
    /// # Errors
    /// The repository or the working tree cannot be read.
    pub(super) fn read(
        scratch: &Scratch,
        top: &Path,
        wanted: Option<&Self>,
    ) -> Result<Self, GitError> {
        let git = scratch.git();
        let read = Layout::read(top, &scratch.ignored_entries()?);
        let mut layout = read.map_err(|error| GitError::new("ls-files", &error.to_string()))?;
        if let Some(wanted) = wanted {
            layout = layout.seen_from(&wanted.layout, top);
        }
        let is_old = wanted.is_some_and(|wanted| wanted.metadata.is_none());
        if is_old {
            layout.forget_nested();
        }
        let metadata = (!is_old)
            .then(|| Metadata::read(scratch, top))
            .transpose()?;
        let aside = match wanted.map(|wanted| &wanted.aside) {
            None | Some(Some(Aside::Files { .. })) => Some(Aside::read(scratch, top)?),
            Some(unknown) => unknown.clone(),
        };
        let refs = Refs::read(git, !is_old)?;
        let index = own_index(git).run(["ls-files", "-z", "-v", "--stage"], &[])?;
        let files = scratch.write_tree()?;
        let mut parts = format!("040000 tree {files}\tfiles\0").into_bytes();
        let ignored = aside.as_ref().map(|aside| ("aside", aside.text()));
        let other = [
            ("layout", layout.text()),
            ("index", index.clone()),
            ("refs", refs.text()),
        ];
        let settings = metadata.as_ref().map(|found| ("metadata", found.text()));
        for (name, bytes) in ignored.into_iter().chain(settings).chain(other) {
            let id = put_blob(git, &bytes)?;
            parts.extend(format!("100644 blob {id}\t{name}\0").into_bytes());
        }
        Ok(Self {
            id: make_tree(git, &parts)?,
            files,
            layout,
            refs,
            aside,
            metadata,
            index,
            ignore: git.ignore_patterns()?,
        })
    }

    /// Saves the state as a commit, with the bytes of the index and the ignore patterns beside it.
    ///
    /// # Errors
    /// An object cannot be written.
    pub(super) fn keep(&self, git: &Git) -> Result<String, GitError> {
        let ignore = put_blob(git, &self.ignore)?;
        let mut parts = format!(
            "040000 tree {}\tstate\0100644 blob {ignore}\tignore\0",
            self.id
        )
        .into_bytes();
        if let Some(bytes) = index_bytes(git)? {
            let id = put_blob(git, &bytes)?;
            parts.extend(format!("100644 blob {id}\tindex\0").into_bytes());
        }
        let tree = make_tree(git, &parts)?;
        commit(git, &tree, &[], "Index, refs and permissions of a session")
    }

    /// Reads a state that [`Self::keep`] saved.
    ///
    /// # Errors
    /// It is missing or malformed.
    pub(super) fn load(git: &Git, kept: &str) -> Result<Self, GitError> {
        let broken = || GitError::new("cat-file", "the kept state cannot be read");
        if kept.is_empty() {
            return Err(broken());
        }
        let id = |path: &str| git.line(["rev-parse", "--verify", &format!("{kept}:{path}")]);
        let part = |path: &str| blob(git, &format!("{kept}:{path}"));
        Ok(Self {
            files: id("state/files")?,
            id: id("state")?,
            layout: Layout::parse(&part("state/layout")?).ok_or_else(broken)?,
            refs: Refs::parse(&part("state/refs")?).ok_or_else(broken)?,
            aside: part("state/aside")
                .ok()
                .and_then(|text| Aside::parse(&text)),
            metadata: part("state/metadata")
                .ok()
                .and_then(|text| Metadata::parse(&text)),
            index: part("state/index")?,
            ignore: part("ignore")?,
        })
    }

    /// Restores the index, `HEAD` and the branch that was checked out; `kept` is the commit of this state.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub(super) fn put_back_git(&self, git: &Git, kept: &str, now: &Self) -> Result<(), GitError> {
        if self.refs != now.refs {
            self.refs.put_back(&with_name(git), &now.refs)?;
        }
        if self.index == now.index {
            return Ok(());
        }
        match blob(git, &format!("{kept}:index")) {
            Ok(bytes) => replace_locked(&git.location().git_dir.join("index"), &bytes)
                .map_err(|error| GitError::new("read-tree", &format!("index: {error}"))),
            // There was no index.
            Err(_) => own_index(git).run(["read-tree", "--empty"], &[]).map(drop),
        }
    }

    /// Puts back the settings of the repository.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub(super) fn put_back_settings(
        &self,
        now: &Self,
        scratch: &Scratch,
        top: &Path,
    ) -> Result<(), GitError> {
        match (&self.metadata, &now.metadata) {
            (Some(wanted), Some(now)) if wanted != now => wanted.put_back(now, scratch, top),
            _ => Ok(()),
        }
    }

    /// Names the parts in which another state differs.
    pub(super) fn differences(&self, found: &Self) -> String {
        let mut parts = Vec::new();
        if self.files != found.files {
            parts.push("files differ".to_owned());
        }
        if let Some(path) = self.layout.difference(&found.layout) {
            parts.push(format!("`{path}` has another kind or other permissions"));
        }
        if self.aside != found.aside {
            parts.push("ignored files differ".to_owned());
        }
        if self.index != found.index {
            parts.push("the index differs".to_owned());
        }
        if let Some(name) = self.refs.difference(&found.refs) {
            parts.push(format!("`{name}` differs"));
        }
        if let (Some(wanted), Some(found)) = (&self.metadata, &found.metadata)
            && let Some(path) = wanted.difference(found)
        {
            parts.push(format!("`.git/{path}` differs"));
        }
        parts.join(", ")
    }
}

/// `HEAD`, branches, tags, the stash and operations in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refs {
    /// Values by name; `HEAD` is the name of a branch, or a commit.
    values: BTreeMap<String, String>,
}

impl Refs {
    fn read(git: &Git, has_stash: bool) -> Result<Self, GitError> {
        let mut values = BTreeMap::new();
        let mut arguments = vec![
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads",
            "refs/tags",
        ];
        if has_stash {
            arguments.push(STASH);
        }
        for line in git.line(arguments)?.lines() {
            if let Some((name, id)) = line.split_once(' ') {
                values.insert(name.to_owned(), id.to_owned());
            }
        }
        let branch = git.line(["symbolic-ref", "--quiet", "HEAD"]).ok();
        let head = branch.or_else(|| git.line(["rev-parse", "--verify", "--quiet", "HEAD"]).ok());
        values.insert("HEAD".to_owned(), head.unwrap_or_default());
        for name in IN_PROGRESS {
            if git.location().git_dir.join(name).exists() {
                values.insert(name.to_owned(), "in progress".to_owned());
            }
        }
        Ok(Self { values })
    }

    fn text(&self) -> Vec<u8> {
        let lines = self.values.iter();
        let lines = lines.map(|(name, value)| format!("{name} {value}\n"));
        lines.collect::<String>().into_bytes()
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let values = text
            .lines()
            .map(|line| line.split_once(' '))
            .map(|line| line.map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect::<Option<_>>()?;
        Some(Self { values })
    }

    fn head(&self) -> &str {
        self.values.get("HEAD").map_or("", String::as_str)
    }

    /// Returns the commit that is checked out; `None` before the first.
    pub(super) fn commit(&self) -> Option<&str> {
        let head = self.head();
        if !head.starts_with("refs/") {
            return (!head.is_empty()).then_some(head);
        }
        self.values.get(head).map(String::as_str)
    }

    /// Returns the commits of branches and tags that differ in `wanted`, so that they can be kept.
    pub(super) fn commits_beside(&self, wanted: &Self, git: &Git) -> BTreeSet<String> {
        let differing = self.values.iter().filter(|(name, value)| {
            name.starts_with("refs/") && wanted.values.get(*name) != Some(*value)
        });
        let commit = |id: &str| {
            let peeled = format!("{id}^{{commit}}");
            git.line(["rev-parse", "--verify", "--quiet", &peeled]).ok()
        };
        differing.filter_map(|(_, id)| commit(id)).collect()
    }

    /// Sets the branches and tags that differ, except the one that `HEAD` named. Nothing is changed if there are other
    /// worktrees, which share them.
    fn put_back_others(&self, git: &Git, now: &Self) -> Result<(), GitError> {
        let worktrees = fs::read_dir(git.location().common_dir.join("worktrees"));
        if worktrees.is_ok_and(|mut entries| entries.next().is_some()) {
            return Ok(());
        }
        let names = self.values.keys().chain(now.values.keys());
        let others: BTreeSet<&String> = names
            .filter(|name| name.starts_with("refs/") && *name != self.head())
            .collect();
        for name in others {
            let (wanted, found) = (self.values.get(name), now.values.get(name));
            let found_id = found.map_or("", String::as_str);
            match wanted {
                _ if wanted == found => {}
                Some(id) => {
                    let mut words = vec!["update-ref", "-m", REASON, name, id, found_id];
                    // The list of the stash is the log of its ref.
                    if name == STASH {
                        words.insert(1, "--create-reflog");
                    }
                    git.run(words, &[])?;
                }
                None => {
                    git.run(["update-ref", "-d", name, found_id], &[])?;
                }
            }
        }
        Ok(())
    }

    /// Sets `HEAD` and the branch that it named, then the others.
    fn put_back(&self, git: &Git, now: &Self) -> Result<(), GitError> {
        let head = self.head();
        if head.starts_with("refs/") {
            let (wanted, found) = (self.values.get(head), now.values.get(head));
            let found_id = found.map_or("", String::as_str);
            match wanted {
                _ if wanted == found => {}
                Some(id) => {
                    git.run(["update-ref", "-m", REASON, head, id, found_id], &[])?;
                }
                None => {
                    git.run(["update-ref", "-d", head, found_id], &[])?;
                }
            }
            git.run(["symbolic-ref", "-m", REASON, "HEAD", head], &[])?;
        } else {
            git.run(
                ["update-ref", "-m", REASON, "--no-deref", "HEAD", head],
                &[],
            )?;
        }
        let real = git.location().git_dir.join("HEAD");
        let copy = || -> io::Result<()> {
            let wanted = git.private_head()?;
            // If refs are stored in tables, the file has no meaning and stays as it is.
            if fs::read(&real)? != wanted {
                replace_locked(&real, &wanted)?;
            }
            Ok(())
        };
        copy().map_err(|error| GitError::new("symbolic-ref HEAD", &error.to_string()))?;
        self.put_back_others(git, now)
    }

    fn difference(&self, other: &Self) -> Option<&str> {
        let theirs = |name: &&String| self.values.get(*name) != other.values.get(*name);
        // The other side names refs that are new there.
        let mut names = self.values.keys();
        let own = names.find(theirs).map(String::as_str);
        own.or_else(|| {
            let mut names = other.values.keys();
            names
                .find(theirs)
                .map(|_| "a branch, a tag or an operation in progress")
        })
    }
}

/// Returns git on the user's own index.
fn own_index(git: &Git) -> Git {
    let index = git.location().git_dir.join("index");
    git.clone().with("GIT_INDEX_FILE", index)
}

/// Returns the bytes of the user's index, in one piece; `None` if there is none.
fn index_bytes(git: &Git) -> Result<Option<Vec<u8>>, GitError> {
    let failed = |error: String| GitError::new("update-index", &error);
    let path = git.location().git_dir.join("index");
    let bytes = match files::read(&path, MAX_INDEX) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(base::said(&error))),
    };
    // A split index depends on a second file, which git may remove.
    let directory = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let copy = directory.path().join("index");
    File::create(&copy)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(|error| failed(error.to_string()))?;
    let on_copy = git.clone().with("GIT_INDEX_FILE", &copy);
    on_copy.run(["update-index", "--no-split-index"], &[])?;
    let whole = files::read(&copy, MAX_INDEX).map_err(|error| failed(base::said(&error)))?;
    Ok(Some(whole))
}

/// Replaces a file of git's, under git's own lock.
pub(super) fn replace_locked(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock = Path::new(&name);
    let mut file = File::create_new(lock)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(lock, path));
    if written.is_err() {
        fs::remove_file(lock).ok();
    }
    written
}

fn put_blob(git: &Git, bytes: &[u8]) -> Result<String, GitError> {
    let id = git.run(["hash-object", "-w", "--stdin", "--no-filters"], bytes)?;
    Ok(String::from_utf8_lossy(&id).trim_end().to_owned())
}

fn blob(git: &Git, name: &str) -> Result<Vec<u8>, GitError> {
    let printed = git.run_up_to(["cat-file", "blob", name], &[], MAX_PART)?;
    Ok(printed.bytes)
}

fn make_tree(git: &Git, entries: &[u8]) -> Result<String, GitError> {
    let id = git.run(["mktree", "-z"], entries)?;
    Ok(String::from_utf8_lossy(&id).trim_end().to_owned())
}

/// Returns git with our name as author of commits and reflogs.
fn with_name(git: &Git) -> Git {
    git.clone()
        .with("GIT_AUTHOR_NAME", "Role OS")
        .with("GIT_AUTHOR_EMAIL", "roleos@localhost")
        .with("GIT_COMMITTER_NAME", "Role OS")
        .with("GIT_COMMITTER_EMAIL", "roleos@localhost")
}

/// Writes a commit in our name.
pub(super) fn commit(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, GitError> {
    let mut arguments = vec!["commit-tree", tree, "-m", message];
    for parent in parents {
        arguments.extend(["-p", parent]);
    }
    with_name(git).line(arguments)
}
