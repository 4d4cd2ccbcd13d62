//! Directories, permissions and special files of a working tree: the parts that git's trees do not hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use walkdir::WalkDir;

use super::entries::{GitPath, path_in};
use super::tree::is_ours;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Fifo,
    /// A repository of its own, whose content is left alone.
    Nested,
    /// A socket or a device.
    Other,
}

impl Kind {
    const LETTERS: [(Self, u8); 5] = [
        (Self::Directory, b'd'),
        (Self::File, b'f'),
        (Self::Fifo, b'p'),
        (Self::Nested, b'n'),
        (Self::Other, b's'),
    ];

    /// Returns the kind of an entry; `None` for a link, which is only its target.
    fn of(facts: &Metadata) -> Option<Self> {
        let kind = facts.file_type();
        match () {
            () if kind.is_symlink() => None,
            () if kind.is_dir() => Some(Self::Directory),
            () if kind.is_file() => Some(Self::File),
            () if kind.is_fifo() => Some(Self::Fifo),
            () => Some(Self::Other),
        }
    }

    fn letter(self) -> u8 {
        let known = Self::LETTERS.iter().find(|(kind, _)| *kind == self);
        known.map_or(b's', |(_, letter)| *letter)
    }

    fn from_letter(letter: u8) -> Option<Self> {
        let known = Self::LETTERS.iter().find(|(_, known)| *known == letter);
        known.map(|(kind, _)| *kind)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    kind: Kind,
    mode: u32,
    /// Set for a directory with ignored files below it.
    holds_ignored: bool,
}

impl Item {
    const NESTED: Self = Self {
        kind: Kind::Nested,
        mode: 0,
        holds_ignored: false,
    };

    fn of(facts: &Metadata) -> Option<Self> {
        Some(Self {
            kind: Kind::of(facts)?,
            mode: facts.permissions().mode() & 0o7777,
            holds_ignored: false,
        })
    }
}

/// The directories, plain files and special files of a working tree with their permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    items: BTreeMap<GitPath, Item>,
}

impl Layout {
    /// Reads the working tree at `top`, except `ignored` paths, nested repositories and the folders of Role OS.
    ///
    /// # Errors
    /// The working tree cannot be read. An unreadable directory below it is skipped.
    pub(super) fn read(top: &Path, ignored: &BTreeSet<GitPath>) -> io::Result<Self> {
        let mut layout = Self::default();
        let mut walk = WalkDir::new(top).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.depth() == 0 => return Err(error.into()),
                Err(error) => {
                    if let Some(path) = error.path().and_then(|path| path.strip_prefix(top).ok()) {
                        layout.mark_above(path.as_os_str().as_bytes());
                    }
                    continue;
                }
            };
            let Ok(path) = entry.path().strip_prefix(top) else {
                continue;
            };
            let path = path.as_os_str().as_bytes();
            let is_directory = entry.file_type().is_dir();
            let is_nested = is_directory && entry.depth() > 0 && entry.path().join(".git").exists();
            let is_left_alone =
                entry.file_name() == ".git" || is_ours(path) || is_in(ignored, path);
            if is_left_alone || is_nested {
                layout.mark_above(path);
                if is_nested && !is_left_alone {
                    layout.items.insert(path.to_vec(), Item::NESTED);
                }
                if is_directory {
                    walk.skip_current_dir();
                }
                continue;
            }
            if let Some(item) = entry.metadata().ok().and_then(|facts| Item::of(&facts)) {
                layout.items.insert(path.to_vec(), item);
            }
        }
        Ok(layout)
    }

    /// Reads the entries at these paths only.
    pub(super) fn of(top: &Path, paths: BTreeSet<GitPath>) -> Self {
        let item = |path: GitPath| {
            let facts = fs::symlink_metadata(path_in(top, &path)).ok()?;
            Some((path, Item::of(&facts)?))
        };
        Self {
            items: paths.into_iter().filter_map(item).collect(),
        }
    }

    /// Forgets the nested repositories.
    pub(super) fn forget_nested(&mut self) {
        self.items.retain(|_, item| item.kind != Kind::Nested);
    }

    fn mark_above(&mut self, path: &[u8]) {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(end, _)| end).chain([0, path.len()]);
        for end in ends.collect::<Vec<_>>() {
            let above = path.get(..end).unwrap_or_default();
            if let Some(item) = self.items.get_mut(above) {
                item.holds_ignored = true;
            }
        }
    }

    /// Returns the text by which a layout is stored and compared.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (path, item) in &self.items {
            text.push(item.kind.letter());
            text.extend(format!(" {:o} ", item.mode).as_bytes());
            text.extend_from_slice(path);
            text.push(0);
        }
        text
    }

    /// Parses the output of [`Self::text`]; `None` for anything else.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut items = BTreeMap::new();
        let lines = text
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty());
        for line in lines {
            let mut fields = line.splitn(3, |byte| *byte == b' ');
            let letter = *fields.next()?.first()?;
            let mode = std::str::from_utf8(fields.next()?).ok()?;
            let item = Item {
                kind: Kind::from_letter(letter)?,
                mode: u32::from_str_radix(mode, 8).ok()?,
                holds_ignored: false,
            };
            items.insert(fields.next()?.to_vec(), item);
        }
        Some(Self { items })
    }

    /// Returns this layout as it compares with `wanted`: a directory that only ignored files keep is not a difference,
    /// and neither is one that is there and ignored now.
    pub(super) fn seen_from(mut self, wanted: &Self, top: &Path) -> Self {
        self.items
            .retain(|path, item| !item.holds_ignored || wanted.items.contains_key(path));
        for path in wanted.items.keys() {
            if self.items.contains_key(path) {
                continue;
            }
            let facts = fs::symlink_metadata(path_in(top, path)).ok();
            if let Some(item) = facts.and_then(|facts| Item::of(&facts)) {
                self.items.insert(path.clone(), item);
            }
        }
        self
    }

    /// Returns `true` if it has an entry at this path.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.items.contains_key(path)
    }

    /// Prepares the restore of files: sets the permissions of directories, and removes new pipes.
    pub(super) fn make_room(&self, now: &Self, top: &Path) {
        let directories = self
            .items
            .iter()
            .filter(|(_, item)| item.kind == Kind::Directory);
        for (path, wanted) in directories {
            set_mode(&path_in(top, path), *wanted);
        }
        for (path, _) in self.new_in(now, Kind::Fifo) {
            fs::remove_file(path_in(top, path)).ok();
        }
    }

    /// Restores directories and permissions, as far as possible; the next read shows the rest.
    pub(super) fn put_back(&self, now: &Self, top: &Path) {
        for (path, item) in self.new_in(now, Kind::Directory).rev() {
            if !item.holds_ignored {
                // The next read shows a directory that is not empty.
                fs::remove_dir(path_in(top, path)).ok();
            }
        }
        for (path, item) in &self.items {
            if item.kind == Kind::Directory {
                fs::create_dir(path_in(top, path)).ok();
            }
        }
        self.set_modes(top);
    }

    /// Sets the permissions of existing entries.
    pub(super) fn set_modes(&self, top: &Path) {
        for (path, wanted) in self.items.iter().rev() {
            set_mode(&path_in(top, path), *wanted);
        }
    }

    fn new_in<'a>(
        &'a self,
        now: &'a Self,
        kind: Kind,
    ) -> impl DoubleEndedIterator<Item = (&'a GitPath, &'a Item)> {
        let found = now.items.iter();
        found.filter(move |(path, item)| item.kind == kind && !self.items.contains_key(*path))
    }

    /// Returns the first path in which two layouts differ.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let same = |path: &GitPath| {
            let [one, two] = [self, other].map(|layout| layout.items.get(path));
            one.map(|item| (item.kind, item.mode)) == two.map(|item| (item.kind, item.mode))
        };
        let mut paths = self.items.keys().chain(other.items.keys());
        let path = paths.find(|path| !same(path))?;
        Some(String::from_utf8_lossy(path).into_owned())
    }
}

/// Sets the permissions of a plain file or directory if they differ.
fn set_mode(path: &Path, wanted: Item) {
    let facts = fs::symlink_metadata(path).ok();
    let now = facts.and_then(|facts| Item::of(&facts));
    if now.is_some_and(|now| now.kind == wanted.kind && now.mode != wanted.mode) {
        fs::set_permissions(path, fs::Permissions::from_mode(wanted.mode)).ok();
    }
}

/// Returns `true` if git listed this path as ignored, as a file or as a directory.
fn is_in(ignored: &BTreeSet<GitPath>, path: &[u8]) -> bool {
    ignored.contains(path) || ignored.contains([path, b"/"].concat().as_slice())
}
