//! Files of a working tree that git would change, by its objects and its index. Git is not run.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use oversight::lookup::{Listing, MAX_ENTRIES, Snapshot};

use super::objects::{Id, Kind, Objects, parse_id};
use base::files;
use base::repository::{Location, index};

/// Limit of a ref, reflog or list of refs, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Limit of an index, in bytes.
const MAX_INDEX: u64 = 64 * 1024 * 1024;
/// Limit of commits that are walked to find where two histories part.
pub(super) const MAX_COMMITS: usize = 20_000;
/// Limit of the depth of a tree.
const MAX_DEPTH: usize = 64;
pub(super) const DIRECTORY: &[u8] = b"40000";
const LINK: &[u8] = b"120000";

/// Searches the paths that a git command would change.
pub(super) fn search(
    directory: &Path,
    from: Snapshot<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Listing {
    let Some(repository) = Repository::around(directory) else {
        return Listing::Missing;
    };
    let inner = repository.names_down_to(directory);
    let found = match from {
        Snapshot::Tree(name) => repository
            .resolve(name)
            .map(|id| repository.switched(&id, is_wanted)),
        Snapshot::Restored(name) => repository
            .resolve(name)
            .map(|id| repository.restored(&id, &inner, is_wanted)),
        Snapshot::Merge(name) => repository
            .resolve(name)
            .map(|id| repository.merged(&id, is_wanted)),
        Snapshot::Commit(name) => repository
            .resolve(name)
            .map(|id| repository.picked(&id, is_wanted)),
        Snapshot::Reverted(name) => repository
            .resolve(name)
            .map(|id| repository.reverted(&id, is_wanted)),
        Snapshot::Index => Some(repository.indexed(is_wanted)),
    };
    match found {
        // A syntax that is not supported here can name any commit.
        None if is_expression(from) => Listing::Unknown,
        None => Listing::Missing,
        Some(Ok(None)) => Listing::Clean,
        Some(Ok(Some(path))) => Listing::Found(path),
        Some(Err(NotUnderstood)) => Listing::Unknown,
    }
}

/// Returns `true` if a revision is more than the name of a ref.
fn is_expression(from: Snapshot<'_>) -> bool {
    match from {
        Snapshot::Tree(name)
        | Snapshot::Restored(name)
        | Snapshot::Merge(name)
        | Snapshot::Commit(name)
        | Snapshot::Reverted(name) => name.contains([':', '{', '^', '~']) || name.contains(".."),
        Snapshot::Index => false,
    }
}

/// Error for a missing or damaged object, or too many objects.
pub(super) struct NotUnderstood;

type Found = Result<Option<String>, NotUnderstood>;

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: Vec<u8>,
    pub(super) id: Id,
}

pub(super) type Tree = BTreeMap<String, Entry>;

pub(super) struct Repository {
    pub(super) location: Location,
    pub(super) objects: Objects,
    seen: Cell<usize>,
}

impl Repository {
    pub(super) fn around(directory: &Path) -> Option<Self> {
        let location = Location::around(directory)?;
        Some(Self {
            objects: Objects::open(&location.common_dir),
            location,
            seen: Cell::new(0),
        })
    }

    /// Finds a change of moving `HEAD` there: the files in which the two differ.
    fn switched(&self, to: &Id, is_wanted: &dyn Fn(&str) -> bool) -> Found {
        let head = self.resolve("HEAD").and_then(|head| self.tree_of(&head));
        let to = self.tree_of(to).ok_or(NotUnderstood)?;
        self.compared(head, Some(to), "", MAX_DEPTH, &|path, entry| {
            is_wanted(path) && self.differs(path, entry)
        })
    }

    /// Finds a change of restoring files: those that differ from the disk as well. It checks the hidden ones at the
    /// top and in the directories down to that of the call, `inner`, because protected things are there.
    fn restored(&self, to: &Id, inner: &[String], is_wanted: &dyn Fn(&str) -> bool) -> Found {
        if let Some(path) = self.switched(to, is_wanted)? {
            return Ok(Some(path));
        }
        let is_changed =
            |path: &str, entry: Option<&Entry>| is_wanted(path) && self.differs(path, entry);
        let mut tree = self.tree(&self.tree_of(to).ok_or(NotUnderstood)?)?;
        let mut prefix = String::new();
        let mut inner = inner.iter();
        loop {
            for (name, entry) in tree.iter().filter(|(name, _)| name.starts_with('.')) {
                let path = format!("{prefix}{name}");
                let found = if entry.mode == DIRECTORY {
                    let prefix = format!("{path}/");
                    self.compared(None, Some(entry.id), &prefix, MAX_DEPTH, &is_changed)?
                } else {
                    is_changed(&path, Some(entry)).then_some(path)
                };
                if found.is_some() {
                    return Ok(found);
                }
            }
            let next = inner.next().and_then(|name| Some((name, tree.get(name)?)));
            let Some((name, entry)) = next.filter(|(_, entry)| entry.mode == DIRECTORY) else {
                return Ok(None);
            };
            prefix = format!("{prefix}{name}/");
            tree = self.tree(&entry.id)?;
        }
    }

    /// Returns the names of the directories from the top of the working tree down to this one.
    fn names_down_to(&self, directory: &Path) -> Vec<String> {
        let real = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_owned());
        let top = &self.location.top;
        let top = top.canonicalize().unwrap_or_else(|_| top.clone());
        let below = real.strip_prefix(&top).unwrap_or(Path::new(""));
        let names = below.iter().map(|name| name.to_string_lossy().into_owned());
        names.collect()
    }

    /// Finds a change of a merge: everything that was changed there since the histories parted.
    fn merged(&self, other: &Id, is_wanted: &dyn Fn(&str) -> bool) -> Found {
        let head = self.resolve("HEAD").and_then(|head| self.commit_of(&head));
        let other = self.commit_of(other).ok_or(NotUnderstood)?;
        let base = match head {
            Some(head) => Some(self.parting(&head, &other).ok_or(NotUnderstood)?),
            None => None,
        };
        let base = base.and_then(|base| self.tree_of(&base));
        let tree = self.tree_of(&other).ok_or(NotUnderstood)?;
        self.compared(base, Some(tree), "", MAX_DEPTH, &|path, entry| {
            is_wanted(path) && self.differs(path, entry)
        })
    }

    /// Finds a change of undoing one commit.
    fn reverted(&self, commit: &Id, is_wanted: &dyn Fn(&str) -> bool) -> Found {
        let commit = self.commit_of(commit).ok_or(NotUnderstood)?;
        let parents = self.parents(&commit).ok_or(NotUnderstood)?;
        let before = parents.first().and_then(|parent| self.tree_of(parent));
        let tree = self.tree_of(&commit).ok_or(NotUnderstood)?;
        self.compared(Some(tree), before, "", MAX_DEPTH, &|path, entry| {
            is_wanted(path) && self.differs(path, entry)
        })
    }

    /// Finds a change of one commit; a stash stores new files in a separate parent.
    fn picked(&self, commit: &Id, is_wanted: &dyn Fn(&str) -> bool) -> Found {
        let commit = self.commit_of(commit).ok_or(NotUnderstood)?;
        let parents = self.parents(&commit).ok_or(NotUnderstood)?;
        let before = parents.first().and_then(|parent| self.tree_of(parent));
        let tree = self.tree_of(&commit).ok_or(NotUnderstood)?;
        // Existing content changes nothing.
        let is_changed =
            |path: &str, entry: Option<&Entry>| is_wanted(path) && self.differs(path, entry);
        let found = self.compared(before, Some(tree), "", MAX_DEPTH, &is_changed)?;
        if found.is_some() {
            return Ok(found);
        }
        let new = match parents.get(2) {
            Some(parent) => Some(self.tree_of(parent).ok_or(NotUnderstood)?),
            None => None,
        };
        self.compared(None, new, "", MAX_DEPTH, &is_changed)
    }

    fn indexed(&self, is_wanted: &dyn Fn(&str) -> bool) -> Found {
        let entries = self.index()?;
        let mut wanted = entries.iter().filter(|entry| is_wanted(&entry.path));
        let changed = wanted.find(|entry| self.is_changed(entry));
        Ok(changed.map(|entry| entry.path.clone()))
    }

    pub(super) fn index(&self) -> Result<Vec<index::Entry>, NotUnderstood> {
        match files::read(&self.location.git_dir.join("index"), MAX_INDEX) {
            Ok(bytes) => index::entries(&bytes).ok_or(NotUnderstood),
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(_) => Err(NotUnderstood),
        }
    }

    /// Returns `true` if the content on the disk differs from that of the index.
    pub(super) fn is_changed(&self, entry: &index::Entry) -> bool {
        let mode = format!("{:o}", entry.mode).into_bytes();
        let known = <Id>::try_from(entry.id.as_slice()).map(|id| Entry { mode, id });
        known.map_or(true, |known| self.differs(&entry.path, Some(&known)))
    }

    /// Visits the files in which two trees differ, and returns the first match.
    fn compared(
        &self,
        before: Option<Id>,
        after: Option<Id>,
        prefix: &str,
        depth: usize,
        fits: &dyn Fn(&str, Option<&Entry>) -> bool,
    ) -> Found {
        if before == after {
            return Ok(None);
        }
        let depth = depth.checked_sub(1).ok_or(NotUnderstood)?;
        let old = before.map_or_else(|| Ok(Tree::new()), |id| self.tree(&id))?;
        let new = after.map_or_else(|| Ok(Tree::new()), |id| self.tree(&id))?;
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let (one, other) = (old.get(name), new.get(name));
            if one == other {
                continue;
            }
            let is_tree = |entry: Option<&Entry>| {
                entry
                    .filter(|entry| entry.mode == DIRECTORY)
                    .map(|entry| entry.id)
            };
            let (from, to) = (is_tree(one), is_tree(other));
            let path = format!("{prefix}{name}");
            if from.is_some() || to.is_some() {
                let found = self.compared(from, to, &format!("{path}/"), depth, fits)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            let file = other.filter(|entry| entry.mode != DIRECTORY);
            let was_file = one.is_some_and(|entry| entry.mode != DIRECTORY);
            if (file.is_some() || was_file) && fits(&path, file) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Returns `true` if the file on the disk differs from the entry.
    fn differs(&self, path: &str, entry: Option<&Entry>) -> bool {
        let path = self.location.top.join(path);
        let facts = std::fs::symlink_metadata(&path);
        let Some(entry) = entry else {
            return facts.is_ok();
        };
        let Some((Kind::Blob, wanted)) = self.objects.read(&entry.id) else {
            return true;
        };
        match facts {
            Err(_) => true,
            Ok(facts) if facts.is_symlink() => {
                let target = std::fs::read_link(&path);
                entry.mode != LINK
                    || target.map_or(true, |target| {
                        target.as_os_str().as_encoded_bytes() != wanted
                    })
            }
            Ok(_) => {
                entry.mode == LINK
                    || files::read(&path, wanted.len() as u64).map_or(true, |bytes| bytes != wanted)
            }
        }
    }

    pub(super) fn tree(&self, id: &Id) -> Result<Tree, NotUnderstood> {
        let (kind, bytes) = self.objects.read(id).ok_or(NotUnderstood)?;
        if kind != Kind::Tree {
            return Err(NotUnderstood);
        }
        let tree = parse_tree(&bytes).ok_or(NotUnderstood)?;
        self.seen.set(self.seen.get().saturating_add(tree.len()));
        if self.seen.get() > MAX_ENTRIES {
            return Err(NotUnderstood);
        }
        Ok(tree)
    }

    /// Returns the first value of a line in the head of a commit or tag.
    fn header(&self, id: &Id, key: &str) -> Option<Vec<Id>> {
        let (_, bytes) = self.objects.read(id)?;
        let text = String::from_utf8_lossy(&bytes);
        let head = text.lines().take_while(|line| !line.is_empty());
        let values = head.filter_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        Some(values.filter_map(|value| parse_id(value.trim())).collect())
    }

    pub(super) fn parents(&self, commit: &Id) -> Option<Vec<Id>> {
        self.header(commit, "parent")
    }

    /// Peels tags.
    pub(super) fn commit_of(&self, id: &Id) -> Option<Id> {
        let mut id = *id;
        for _ in 0..8 {
            match self.objects.read(&id)?.0 {
                Kind::Commit => return Some(id),
                Kind::Tag => id = *self.header(&id, "object")?.first()?,
                Kind::Tree | Kind::Blob => return None,
            }
        }
        None
    }

    pub(super) fn tree_of(&self, id: &Id) -> Option<Id> {
        if self.objects.read(id)?.0 == Kind::Tree {
            return Some(*id);
        }
        let commit = self.commit_of(id)?;
        self.header(&commit, "tree")?.first().copied()
    }

    /// Returns the commit at which two histories part: the nearest one of the first that the second contains as well.
    fn parting(&self, one: &Id, other: &Id) -> Option<Id> {
        let theirs = self.history(other)?;
        let mut queue = VecDeque::from([*one]);
        let mut seen = BTreeSet::new();
        while let Some(id) = queue.pop_front() {
            if theirs.contains(&id) {
                return Some(id);
            }
            if seen.insert(id) {
                queue.extend(self.parents(&id)?);
            }
            if seen.len() > MAX_COMMITS {
                return None;
            }
        }
        None
    }

    fn history(&self, from: &Id) -> Option<BTreeSet<Id>> {
        let mut queue = VecDeque::from([*from]);
        let mut seen = BTreeSet::new();
        while let Some(id) = queue.pop_front() {
            if seen.insert(id) {
                // The parents of the last commits of a shallow history do not exist.
                queue.extend(self.parents(&id).unwrap_or_default());
            }
            if seen.len() > MAX_COMMITS {
                return None;
            }
        }
        Some(seen)
    }
}

pub(super) fn read_text(path: &Path) -> Option<String> {
    let bytes = files::read(path, MAX_FILE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses the entries of a tree: mode, name and object.
fn parse_tree(mut bytes: &[u8]) -> Option<Tree> {
    let mut tree = Tree::new();
    while !bytes.is_empty() {
        let blank = bytes.iter().position(|byte| *byte == b' ')?;
        let (mode, rest) = bytes.split_at_checked(blank)?;
        let rest = rest.get(1..)?;
        let zero = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = rest.split_at_checked(zero)?;
        let (id, after) = rest.get(1..)?.split_first_chunk::<20>()?;
        let entry = Entry {
            mode: mode.to_vec(),
            id: *id,
        };
        tree.insert(String::from_utf8_lossy(name).into_owned(), entry);
        bytes = after;
    }
    Some(tree)
}
