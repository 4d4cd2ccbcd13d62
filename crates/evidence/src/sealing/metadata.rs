//! The settings of a repository: `config`, hooks, and what a clone alone ignores or gives attributes.
//!
//! Their bytes lie beside a snapshot as those of ignored files do: a setting can hold a password, and no push may send
//! it. Where there are other worktrees, which share them, they are compared and not changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::entries::{GitPath, path_in};
use super::state::replace_locked;
use super::tree::Scratch;
use base::git::{self, Git, GitError};

/// Files of a git directory that decide what git does, and folders of such files.
const FILES: [&str; 6] = [
    "config",
    "config.worktree",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/sparse-checkout",
];
const FOLDERS: [&str; 2] = ["hooks", "info"];
/// Examples that git brings along and never runs.
const EXAMPLE: &[u8] = b".sample";
/// A larger file is compared by its size.
const MAX_FILE: u64 = 4 << 20;
/// More files than this are not looked at.
const MOST: usize = 1024;

/// Content of one of the paths.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Permissions, and the object of the bytes; one that is too large has its size in place of that.
    File(u32, String),
    /// The target of a link.
    Link(Vec<u8>),
}

/// The settings of a repository, by their path in the git directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    entries: BTreeMap<GitPath, Kind>,
}

impl Metadata {
    /// Reads the settings of the repository around `top` and keeps their bytes.
    ///
    /// # Errors
    /// A file cannot be read, or an object not written.
    pub(super) fn read(scratch: &Scratch, top: &Path) -> Result<Self, GitError> {
        let aside = Scratch::aside(top, scratch.reading())?;
        let folder = &aside.git().location().common_dir;
        let (mut entries, mut files) = (BTreeMap::new(), Vec::new());
        for path in paths(folder) {
            let real = path_in(folder, &path);
            let Ok(facts) = fs::symlink_metadata(&real) else {
                continue;
            };
            let mode = facts.permissions().mode() & 0o7777;
            if facts.is_symlink() {
                let target = fs::read_link(&real).map_err(failed)?;
                entries.insert(
                    path,
                    Kind::Link(target.into_os_string().into_encoded_bytes()),
                );
            } else if facts.is_file() && facts.len() > MAX_FILE {
                entries.insert(path, Kind::File(mode, format!("{} bytes", facts.len())));
            } else if facts.is_file() {
                files.push((path, mode));
            }
        }
        let quoted = |(path, _): &(GitPath, u32)| {
            let real = path_in(folder, path);
            [
                git::quoted_bytes(real.as_os_str().as_bytes()),
                b"\n".to_vec(),
            ]
            .concat()
        };
        let input: Vec<u8> = files.iter().flat_map(quoted).collect();
        let words = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let ids = match files.is_empty() {
            true => Vec::new(),
            false => aside.git().run(words, &input)?,
        };
        let ids = String::from_utf8_lossy(&ids);
        let found = files.into_iter().zip(ids.lines());
        entries.extend(found.map(|((path, mode), id)| (path, Kind::File(mode, id.to_owned()))));
        Ok(Self { entries })
    }

    /// The text by which they are kept and compared.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (path, kind) in &self.entries {
            match kind {
                Kind::File(mode, id) => text.extend(format!("f {mode:o} {id}\t").bytes()),
                Kind::Link(target) => text.extend(format!("l {}\t", hex::encode(target)).bytes()),
            }
            text.extend_from_slice(path);
            text.push(0);
        }
        text
    }

    /// Parses what [`Self::text`] returned; `None` for anything else.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let lines = text
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty());
        let line = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let (facts, path) = line.split_at_checked(tab)?;
            let (kind, facts) = std::str::from_utf8(facts).ok()?.split_once(' ')?;
            let kind = match kind {
                "f" => {
                    let (mode, id) = facts.split_once(' ')?;
                    Kind::File(u32::from_str_radix(mode, 8).ok()?, id.to_owned())
                }
                "l" => Kind::Link(hex::decode(facts).ok()?),
                _ => return None,
            };
            Some((path.get(1..)?.to_vec(), kind))
        };
        let entries = lines.map(line).collect::<Option<_>>()?;
        Some(Self { entries })
    }

    /// Puts back what differs.
    ///
    /// # Errors
    /// A file cannot be removed or written.
    pub(super) fn put_back(
        &self,
        now: &Self,
        scratch: &Scratch,
        top: &Path,
    ) -> Result<(), GitError> {
        let aside = Scratch::aside(top, scratch.reading())?;
        let location = aside.git().location();
        let worktrees = fs::read_dir(location.common_dir.join("worktrees"));
        if worktrees.is_ok_and(|mut entries| entries.next().is_some()) {
            return Ok(());
        }
        let paths: BTreeSet<&GitPath> = self.entries.keys().chain(now.entries.keys()).collect();
        for path in paths {
            let wanted = self.entries.get(path);
            if wanted != now.entries.get(path) {
                let real = path_in(&location.common_dir, path);
                put_entry(aside.git(), &real, wanted)?;
            }
        }
        Ok(())
    }

    /// Returns the first path in which two of them differ.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let mut paths = self.entries.keys().chain(other.entries.keys());
        let path = paths.find(|path| self.entries.get(*path) != other.entries.get(*path))?;
        Some(String::from_utf8_lossy(path).into_owned())
    }
}

/// The paths that are looked at. A folder that is a link is one path.
fn paths(folder: &Path) -> Vec<GitPath> {
    let mut found: Vec<GitPath> = Vec::new();
    let mut add = |path: &str| found.push(path.as_bytes().to_vec());
    let is_link = |name: &str| {
        let facts = fs::symlink_metadata(folder.join(name));
        facts.is_ok_and(|facts| facts.is_symlink())
    };
    for name in FOLDERS {
        add(name);
    }
    for path in FILES {
        if !path
            .split_once('/')
            .is_some_and(|(above, _)| is_link(above))
        {
            add(path);
        }
    }
    let hooks = (!is_link("hooks")).then(|| fs::read_dir(folder.join("hooks")));
    let names = hooks.into_iter().flatten().flatten().flatten();
    let names = names.map(|entry| entry.file_name().into_encoded_bytes());
    let hooks = names.filter(|name| !name.ends_with(EXAMPLE)).take(MOST);
    found.extend(hooks.map(|name| [b"hooks/", name.as_slice()].concat()));
    found
}

/// Makes a path what it was.
fn put_entry(git: &Git, real: &Path, wanted: Option<&Kind>) -> Result<(), GitError> {
    let remove = || match fs::remove_file(real) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    };
    let Some(kind) = wanted else { return remove() };
    let above = real.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(above).map_err(failed)?;
    match kind {
        Kind::Link(target) => {
            remove()?;
            symlink(OsStr::from_bytes(target), real).map_err(failed)
        }
        Kind::File(mode, id) => {
            let bytes = git.run(["cat-file", "blob", id], &[])?;
            replace_locked(real, &bytes).map_err(failed)?;
            fs::set_permissions(real, fs::Permissions::from_mode(*mode)).map_err(failed)
        }
    }
}

fn failed(error: impl std::fmt::Display) -> GitError {
    GitError::new("hash-object", &error.to_string())
}
