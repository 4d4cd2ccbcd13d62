//! The state of an agent's tree as a list of everything in it, and its restoration.
//!
//! Worktree entries are compared by type, permissions, size and content, ignored and hidden files, empty folders and
//! nested repositories included; of `.git` everything but the objects, and the index by its entries. Times are not
//! included.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use base::files;
use base::git::{Content, Git};
use base::repository::index;
use sha2::{Digest as _, Sha256};

/// Files beyond this size are compared by their size; the base has none.
const MAX_HASHED: u64 = 64 << 20;
/// Most entries that are listed.
const MAX_ENTRIES: usize = 1_000_000;

/// Everything in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    entries: BTreeMap<PathBuf, String>,
    /// Bytes of all files, holes included.
    pub size: u64,
}

impl World {
    /// Reads a tree. Top-level entries named in `skip` are left out.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn read(root: &Path, skip: &[&str]) -> io::Result<Self> {
        let mut world = Self::default();
        world.walk(root, Path::new(""), skip)?;
        if let Some(entry) = index_entry(root) {
            world.entries.insert(PathBuf::from(".git/index"), entry);
        }
        Ok(world)
    }

    /// Returns the SHA-256 over all entries.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for (path, entry) in &self.entries {
            hash.update(path.as_os_str().as_bytes());
            hash.update(b"\0");
            hash.update(entry.as_bytes());
            hash.update(b"\n");
        }
        format!("world:{}", hex::encode(hash.finalize()))
    }

    /// Returns the paths that differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<PathBuf> {
        let all = self.entries.keys().chain(other.entries.keys());
        let mut found: Vec<PathBuf> = all
            .filter(|path| self.entries.get(*path) != other.entries.get(*path))
            .cloned()
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn walk(&mut self, root: &Path, below: &Path, skip: &[&str]) -> io::Result<()> {
        let folder = root.join(below);
        open_up(&folder);
        let mut names: Vec<_> = fs::read_dir(&folder)?
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort();
        for name in names {
            let path = below.join(&name);
            let is_skipped =
                below.as_os_str().is_empty() && skip.iter().any(|skipped| name == *skipped);
            if is_skipped
                || is_objects(&path)
                || path == Path::new(".git/index")
                || self.entries.len() > MAX_ENTRIES
            {
                continue;
            }
            let facts = fs::symlink_metadata(root.join(&path))?;
            self.entries
                .insert(path.clone(), entry(&root.join(&path), &facts)?);
            if facts.is_dir() {
                self.walk(root, &path, skip)?;
            } else {
                self.size = self.size.saturating_add(facts.len());
            }
        }
        Ok(())
    }
}

/// Identity of the index: its entries without git's facts about the files, which reading them changes.
fn index_entry(root: &Path) -> Option<String> {
    let path = root.join(".git/index");
    if !path.exists() {
        return None;
    }
    let bytes = match files::read(&path, MAX_HASHED) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    let entries = index::entries(&bytes);
    let text = entries.map(|entries| {
        let line = |one: &index::Entry| {
            let (mode, flags, id) = (one.mode, one.flags, hex::encode(&one.id));
            format!("{mode:o} {flags:x} {id} {}\0", one.path)
        };
        entries.iter().map(line).collect::<String>()
    });
    // One of SHA-256, or in two files, is left to git.
    let listed = text.map_or_else(
        || {
            Git::over(&root.join(".git"), root, &Content::Bytes { ignore: None })
                .and_then(|git| git.run(["ls-files", "--stage", "-z", "-v"], &[]))
        },
        |text| Ok(text.into_bytes()),
    );
    Some(listed.map_or_else(
        |error| error.to_string(),
        |listed| hex::encode(base::digest(&listed)),
    ))
}

/// Objects that no ref leads to are harmless, and are not compared.
fn is_objects(path: &Path) -> bool {
    path.starts_with(".git/objects")
        && !path.starts_with(".git/objects/info")
        && path != Path::new(".git/objects")
}

/// Describes an entry in one line.
fn entry(path: &Path, facts: &fs::Metadata) -> io::Result<String> {
    let kind = facts.file_type();
    let mode = facts.mode() & 0o7777;
    Ok(if kind.is_dir() {
        format!("folder {mode:o}")
    } else if kind.is_symlink() {
        format!(
            "link {}",
            hex::encode(fs::read_link(path)?.as_os_str().as_bytes())
        )
    } else if kind.is_file() && facts.len() <= MAX_HASHED {
        if mode & 0o400 == 0 {
            open_up(path);
        }
        let bytes = fs::read(path)?;
        format!(
            "file {mode:o} {} {}",
            facts.len(),
            hex::encode(base::digest(&bytes))
        )
    } else if kind.is_file() {
        format!("file {mode:o} {}", facts.len())
    } else {
        let name = if kind.is_fifo() {
            "pipe"
        } else if kind.is_socket() {
            "socket"
        } else {
            "device"
        };
        format!("{name} {mode:o}")
    })
}

/// Lets the owner read and change an entry; root always can.
fn open_up(path: &Path) {
    if rustix::process::geteuid().is_root() {
        return;
    }
    if let Ok(facts) = fs::symlink_metadata(path)
        && !facts.is_symlink()
    {
        let more = if facts.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(
            path,
            fs::Permissions::from_mode(facts.mode() & 0o7777 | more),
        )
        .ok();
    }
}

/// Restores a tree to `wanted`, with the differing entries copied from `fresh`, a tree in that state. The processes
/// that worked in the tree must have ended.
///
/// # Errors
/// An entry cannot be read, removed or written.
pub fn restore(tree: &Path, fresh: &Path, wanted: &World, skip: &[&str]) -> io::Result<World> {
    if !fs::symlink_metadata(tree).is_ok_and(|facts| facts.is_dir()) {
        fs::remove_file(tree).ok();
        fs::create_dir_all(tree)?;
    }
    let now = World::read(tree, skip)?;
    let differing = wanted.differences(&now);
    // Deepest first, so that a folder is empty before it is removed.
    for path in differing.iter().rev() {
        remove(
            &tree.join(path),
            wanted
                .entries
                .get(path)
                .is_some_and(|entry| entry.starts_with("folder")),
        )?;
    }
    for path in &differing {
        if wanted.entries.contains_key(path) {
            bring(&fresh.join(path), &tree.join(path))?;
        }
    }
    bring_objects(
        &fresh.join(".git/objects/pack"),
        &tree.join(".git/objects/pack"),
    )?;
    World::read(tree, skip)
}

fn remove(path: &Path, stays_folder: bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() && stays_folder => Ok(()),
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(from)?;
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    if facts.is_dir() {
        fs::create_dir_all(to)?;
    } else if facts.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    } else {
        fs::copy(from, to)?;
    }
    fs::set_permissions(to, facts.permissions())
}

fn bring_objects(from: &Path, to: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(to).is_ok_and(|facts| facts.is_dir()) {
        fs::remove_file(to).ok();
        fs::create_dir_all(to)?;
    }
    for entry in fs::read_dir(from)?.flatten() {
        let target = to.join(entry.file_name());
        let is_same = fs::read(&target)
            .is_ok_and(|bytes| fs::read(entry.path()).is_ok_and(|wanted| wanted == bytes));
        if !is_same {
            remove(&target, false)?;
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
