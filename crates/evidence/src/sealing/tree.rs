//! The working tree of a repository as a git tree, new files included, without touching its index or its `HEAD`.
//!
//! Everything happens in a separate index. Ignored files, nested repositories and the folders of Role OS itself are
//! left alone. A diff reads files as a commit would store them; a snapshot reads their bytes, so that it can put back
//! exactly those.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::entries::{Entry, GitPath, joined, path_in};
use super::lfs;
use base::git::{self, Content, Git, GitError};
use base::repository::Location;

/// Most attempts to list files that vanish while they are read.
const TRIES: usize = 3;

/// Modes of reading the files of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As a commit would store them, with the commits of submodules and the files outside of a sparse checkout.
    Committed,
    /// The bytes on disk and nothing else.
    Bytes {
        /// Ignore patterns in force instead of the current ones.
        ignore: Option<Vec<u8>>,
    },
}

/// A separate index over the user's working tree. Dropped, it leaves no trace.
#[derive(Debug)]
pub(super) struct Scratch {
    git: Git,
    top: PathBuf,
    directory: tempfile::TempDir,
    reading: Reading,
}

impl Scratch {
    /// Creates an empty index over the working tree at `top`.
    fn empty(top: &Path, reading: Reading) -> Result<Self, GitError> {
        let directory = tempfile::Builder::new()
            .prefix("roleos-tree-")
            .tempdir()
            .map_err(failed)?;
        let content = match &reading {
            Reading::Committed => Content::Converted,
            Reading::Bytes { ignore } => Content::Bytes {
                ignore: ignore.clone(),
            },
        };
        let index = directory.path().join("index");
        Ok(Self {
            git: Git::with_content(top, &content)?.with("GIT_INDEX_FILE", index),
            top: top.to_owned(),
            directory,
            reading,
        })
    }

    /// Begins with the user's own index, which knows the files that have not changed; then adds the working tree.
    pub(super) fn of_working_tree(top: &Path, reading: Reading) -> Result<Self, GitError> {
        let scratch = Self::empty(top, reading)?;
        scratch.copy_index()?;
        scratch.prepare()?;
        scratch.take_changes()?;
        Ok(scratch)
    }

    /// Does the same, but writes new objects to a directory that is removed with the scratch.
    pub(super) fn of_working_tree_aside(top: &Path, reading: Reading) -> Result<Self, GitError> {
        let mut scratch = Self::empty(top, reading)?;
        let real = scratch.git.location().common_dir.join("objects");
        let objects = scratch.directory.path().join("objects");
        fs::create_dir(&objects).map_err(failed)?;
        scratch.git = scratch
            .git
            .with("GIT_OBJECT_DIRECTORY", objects)
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", git::quoted(&real));
        scratch.copy_index()?;
        scratch.prepare()?;
        scratch.take_changes()?;
        Ok(scratch)
    }

    /// Begins with a tree; nothing of the working tree is added yet.
    pub(super) fn of_tree(top: &Path, tree: &str, reading: Reading) -> Result<Self, GitError> {
        let scratch = Self::empty(top, reading)?;
        scratch.index(&["read-tree", tree], &[])?;
        Ok(scratch)
    }

    /// Creates an empty index whose objects are stored beside those of the repository, and stay.
    pub(super) fn aside(top: &Path, reading: Reading) -> Result<Self, GitError> {
        let mut scratch = Self::empty(top, reading)?;
        let objects = scratch.git.location().git_dir.join("roleos-aside");
        fs::create_dir_all(&objects).map_err(failed)?;
        scratch.git = scratch.git.with("GIT_OBJECT_DIRECTORY", objects);
        Ok(scratch)
    }

    /// Returns its mode of reading files.
    pub(super) fn reading(&self) -> Reading {
        self.reading.clone()
    }

    /// Returns git with our index.
    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// Writes the tree of the index. Files outside of a sparse checkout need not exist.
    pub(super) fn write_tree(&self) -> Result<String, GitError> {
        self.git.line(["write-tree", "--missing-ok"])
    }

    /// Adds the differences between the index and the working tree: changed, removed and new files.
    pub(super) fn take_changes(&self) -> Result<(), GitError> {
        let changes = self.changes()?;
        // A file below a path that is now a link or a file cannot be read, only forgotten.
        self.forget(&changes.removed)?;
        self.take(&changes.present)
    }

    /// Adds these files in their current state.
    pub(super) fn take(&self, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        if self.reading != Reading::Committed {
            return self.take_bytes(paths);
        }
        let arguments = [
            "update-index",
            "-z",
            "--add",
            "--remove",
            "--replace",
            "--stdin",
        ];
        self.index(&arguments, &joined(paths))?;
        let pointers = lfs::pointers(&self.git, &self.top, paths)?;
        if pointers.is_empty() {
            return Ok(());
        }
        let mut entries = self.entries()?;
        entries.retain_mut(|entry| match pointers.get(&entry.path) {
            Some(id) => {
                entry.id.clone_from(id);
                true
            }
            None => false,
        });
        self.put_entries(&entries)
    }

    /// Adds the bytes of these files. git's own `update-index` would convert them by attributes.
    fn take_bytes(&self, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        let mut result = Ok(());
        for _ in 0..TRIES {
            result = self.try_take_bytes(paths);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    fn try_take_bytes(&self, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        let links = self.directory.path().join("links");
        fs::create_dir_all(&links).map_err(failed)?;
        let (mut gone, mut found, mut input) = (BTreeSet::new(), Vec::new(), Vec::new());
        for path in paths {
            let real = path_in(&self.top, path);
            let (mode, source) = match fs::symlink_metadata(&real) {
                Ok(facts) if facts.is_file() => {
                    let executable = facts.permissions().mode() & 0o100 != 0;
                    let mode = if executable { "100755" } else { "100644" };
                    (mode, path.clone())
                }
                // A link is stored as a file that holds its target.
                Ok(facts) if facts.is_symlink() => {
                    let target = fs::read_link(&real).map_err(failed)?;
                    let source = links.join(found.len().to_string());
                    let mut file = File::create(&source).map_err(failed)?;
                    file.write_all(target.as_os_str().as_bytes())
                        .map_err(failed)?;
                    ("120000", source.as_os_str().as_bytes().to_vec())
                }
                _ => {
                    gone.insert(path.clone());
                    continue;
                }
            };
            input.extend(git::quoted_bytes(&source));
            input.push(b'\n');
            found.push((mode, path));
        }
        self.forget(&gone)?;
        let arguments = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let ids = if found.is_empty() {
            Vec::new()
        } else {
            self.git.run(arguments, &input)?
        };
        let ids = String::from_utf8_lossy(&ids);
        let entries: Vec<Entry> = found
            .into_iter()
            .zip(ids.lines())
            .map(|((mode, path), id)| Entry::new(mode, id, path))
            .collect();
        self.put_entries(&entries)
    }

    /// Puts entries into the index, over existing ones.
    pub(super) fn put_entries(&self, entries: &[Entry]) -> Result<(), GitError> {
        if entries.is_empty() {
            return Ok(());
        }
        let lines: Vec<u8> = entries.iter().flat_map(Entry::line).collect();
        self.index(&["update-index", "-z", "--index-info"], &lines)
    }

    /// Removes these files from the index.
    pub(super) fn forget(&self, paths: &BTreeSet<GitPath>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        self.index(
            &["update-index", "-z", "--force-remove", "--stdin"],
            &joined(paths),
        )
    }

    /// Compares with the files on disk once, so that later queries are quick.
    pub(super) fn refresh(&self) {
        // It fails if something has changed, which is not an error here.
        self.index(&["update-index", "-q", "--refresh"], &[]).ok();
    }

    /// Returns the differences from the working tree.
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
            // A path that ends in a slash is a separate repository.
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

    /// Runs git on our index.
    pub(super) fn index(&self, arguments: &[&str], input: &[u8]) -> Result<(), GitError> {
        self.git.run(arguments, input).map(drop)
    }

    /// Returns all entries of the index.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, GitError> {
        let listed = self.git.run(["ls-files", "-z", "-v", "--stage"], &[])?;
        Ok(Entry::parse(&listed))
    }

    /// Copies the user's index, its time included: git trusts files that are older than the index.
    fn copy_index(&self) -> Result<(), GitError> {
        let copy = || -> io::Result<()> {
            let from = self.git.location().git_dir.join("index");
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
        copy().map_err(failed)
    }

    /// Removes from the copied index the entries that are left alone, and claims of the index about files.
    fn prepare(&self) -> Result<(), GitError> {
        let (mut out, mut again, mut kept) = (BTreeSet::new(), Vec::new(), Vec::new());
        for entry in self.entries()? {
            let is_bytes = self.reading != Reading::Committed;
            let is_there = || fs::symlink_metadata(path_in(&self.top, &entry.path)).is_ok();
            if is_ours(&entry.path) || (is_bytes && entry.is_submodule()) {
                out.insert(entry.path);
            } else if entry.is_flagged() {
                // git would believe that such a file has not changed.
                if is_there() {
                    again.push(entry);
                } else if is_bytes {
                    out.insert(entry.path);
                }
            } else if is_bytes && entry.stage == "0" {
                kept.push(entry);
            }
        }
        self.forget(&out)?;
        self.put_entries(&again)?;
        let converted = self.converted(&kept)?;
        self.put_entries(&converted)
    }

    /// Returns the entries that may have other bytes on disk than in their object, although git considers them
    /// unchanged. git's own conversions shorten a file or leave it alone; filters and encodings can do anything.
    fn converted(&self, entries: &[Entry]) -> Result<Vec<Entry>, GitError> {
        let ids: Vec<u8> = entries
            .iter()
            .flat_map(|entry| format!("{}\n", entry.id).into_bytes())
            .collect();
        let sizes = self
            .git
            .run(["cat-file", "--batch-check=%(objectsize)"], &ids)?;
        let sizes = String::from_utf8_lossy(&sizes);
        let paths: BTreeSet<GitPath> = entries.iter().map(|entry| entry.path.clone()).collect();
        let driven = self.driven(&paths)?;
        let suspects = entries.iter().zip(sizes.lines()).filter(|(entry, size)| {
            let facts = fs::symlink_metadata(path_in(&self.top, &entry.path));
            let is_same = facts.is_ok_and(|facts| facts.len().to_string() == **size);
            !is_same || driven.contains(&entry.path)
        });
        Ok(suspects.map(|(entry, _)| entry.clone()).collect())
    }

    /// Returns the files with a filter or an encoding attribute.
    fn driven(&self, paths: &BTreeSet<GitPath>) -> Result<BTreeSet<GitPath>, GitError> {
        let git = Git::at(&self.top)?;
        let names = ["filter", "working-tree-encoding"];
        let set = super::entries::attributes(&git, &names, paths)?;
        Ok(set.into_iter().map(|(path, _)| path).collect())
    }
}

/// The state that a test run tested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tested {
    /// The hash of the working tree, as [`diff`](super::diff) sees it.
    pub tree: Option<String>,
    /// The hash of the settings that select tests.
    pub setup: Option<String>,
}

/// Returns the state that a test run around `folder` tests; `None` without a repository.
pub fn tested(folder: impl AsRef<Path>) -> Option<Tested> {
    let top = Location::around(folder.as_ref())?.top;
    let scratch = Scratch::of_working_tree_aside(&top, Reading::Committed).ok()?;
    let setup = scratch
        .entries()
        .ok()
        .and_then(|entries| super::setup::hash(&top, &entries));
    Some(Tested {
        tree: scratch.write_tree().ok(),
        setup,
    })
}

/// Differences between an index and the working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// In the index and not on disk.
    pub removed: BTreeSet<GitPath>,
    /// New or changed.
    pub present: BTreeSet<GitPath>,
}

/// Returns `true` if a path lies in a folder of Role OS itself: journals and grants change while a tree is read.
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

fn failed(error: impl std::fmt::Display) -> GitError {
    GitError::new("update-index", &error.to_string())
}
