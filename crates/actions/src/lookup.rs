//! Interface of the analysis to the machine. The host implements it; a test answers from a map.

mod remembered;

use std::borrow::Cow;

pub use remembered::Remembered;

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// The file does not exist.
    Missing,
    /// A program or other bytes that are not text.
    Binary,
    /// The file exists but cannot be used, with the reason.
    Unreadable(&'static str),
}

/// Source of many files at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'p> {
    /// A directory.
    Directory(&'p str),
    /// An archive file.
    Archive(&'p str),
    /// Files that git would put into the working tree around a directory.
    Git {
        directory: &'p str,
        /// Source of the content.
        from: Snapshot<'p>,
    },
}

/// Source of git's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot<'p> {
    /// The tree of a revision, if it differs from `HEAD`.
    Tree(&'p str),
    /// The same, with files of it that were changed since on the disk.
    Restored(&'p str),
    /// The additions of a revision to the history of `HEAD`, as by a merge.
    Merge(&'p str),
    /// The changes of one commit, as by a cherry-pick.
    Commit(&'p str),
    /// The inverse changes, as by a revert.
    Reverted(&'p str),
    /// The index.
    Index,
}

/// Work in a repository that can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work<'p> {
    /// Changes of tracked files, which no commit contains.
    Changes,
    /// Files that git neither knows nor ignores.
    NewFiles,
    /// Commits of a revision that no other ref contains when it is removed or moved.
    Commits {
        /// `HEAD` or a branch.
        of: &'p str,
        /// Target of the move.
        to: Option<&'p str>,
    },
}

/// Result of a search in a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The first wanted entry.
    Found(String),
    /// All entries were seen, and none is wanted.
    Clean,
    /// The source does not exist.
    Missing,
    /// The source exists but cannot be listed.
    Unknown,
}

/// Limit of the entries of a source.
pub const MAX_ENTRIES: usize = 50_000;

/// Access to files, read on request. Paths are absolute, without `.` and `..`.
pub trait Lookup {
    /// Returns the content of a file.
    fn read(&self, path: &str) -> Content;
    /// Returns the names in a directory; empty if there is none.
    fn list(&self, directory: &str) -> Vec<String>;
    /// Returns `true` if there is a file or a directory of this name.
    fn has(&self, path: &str) -> bool {
        !matches!(self.read(path), Content::Missing) || !self.list(path).is_empty()
    }
    /// Returns the target of a symbolic link, as written; `None` for everything else.
    fn link(&self, _path: &str) -> Option<String> {
        None
    }
    /// Returns the path with every link in it resolved; a part that does not exist stays as written.
    fn real(&self, path: &str) -> String {
        resolved(path, &|path| self.link(path))
    }
    /// Searches a source for an entry. Paths are relative to the directory, to the archive's root or to the top of the
    /// working tree.
    fn search(&self, source: Source<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
        match source {
            Source::Directory(directory) => search_directory(self, directory, is_wanted),
            Source::Archive(path) if self.read(path) == Content::Missing => Listing::Missing,
            Source::Archive(_) => Listing::Unknown,
            Source::Git { .. } => Listing::Missing,
        }
    }
    /// Returns whether the repository around a directory contains such work; `None` if that is unknown.
    fn loses(&self, _directory: &str, _work: Work<'_>) -> Option<bool> {
        None
    }
    /// Returns `false` if the file is known not to be executable.
    fn may_start(&self, _path: &str) -> bool {
        true
    }
}

/// Limit of the links in one path, to detect a cycle.
const MAX_LINKS: usize = 64;

/// Resolves links part by part, also if the end of the path does not exist yet: a write would create it there.
fn resolved(path: &str, link: &dyn Fn(&str) -> Option<String>) -> String {
    let mut real = String::with_capacity(path.len());
    let mut rest: Vec<String> = Vec::new();
    let mut parts = path.split('/');
    let mut links = 0;
    while let Some(part) = rest
        .pop()
        .map(Cow::Owned)
        .or_else(|| parts.next().map(Cow::Borrowed))
    {
        match part.as_ref() {
            "" | "." => {}
            ".." => real.truncate(real.rfind('/').unwrap_or(0)),
            part => {
                let before = real.len();
                real.push('/');
                real.push_str(part);
                if let Some(target) = link(&real).filter(|_| links < MAX_LINKS) {
                    links += 1;
                    real.truncate(if target.starts_with('/') { 0 } else { before });
                    rest.extend(target.rsplit('/').map(str::to_owned));
                }
            }
        }
    }
    match real.is_empty() {
        true => "/".to_owned(),
        false => real,
    }
}

/// Walks a directory by the names in it.
fn search_directory<L: Lookup + ?Sized>(
    lookup: &L,
    directory: &str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Listing {
    let mut open = vec![String::new()];
    let mut seen = 0_usize;
    while let Some(inside) = open.pop() {
        for name in lookup.list(&format!("{directory}{inside}")) {
            seen = seen.saturating_add(1);
            let path = format!("{inside}/{name}");
            let entry = path.trim_start_matches('/');
            if is_wanted(entry) {
                return Listing::Found(entry.to_owned());
            }
            if seen > MAX_ENTRIES {
                return Listing::Unknown;
            }
            open.push(path);
        }
    }
    if seen > 0 {
        Listing::Clean
    } else {
        Listing::Missing
    }
}

/// Machine without files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Lookup for Nothing {
    fn read(&self, _: &str) -> Content {
        Content::Missing
    }

    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Makes a path absolute and removes `.`, `..` and doubled slashes, without access to the machine.
#[must_use]
pub fn absolute(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        let mut whole = String::with_capacity(directory.len() + 1 + path.len());
        whole.push_str(directory);
        whole.push('/');
        whole.push_str(path);
        whole
    };
    if is_straight(&whole) {
        return whole;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns `true` if a path has nothing to remove, as most have.
fn is_straight(path: &str) -> bool {
    let mut parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.next() == Some(b"") && parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// Returns the last part of a path.
#[must_use]
pub fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let slash = path.bytes().rposition(|byte| byte == b'/');
    slash.map_or(path, |slash| path.get(slash + 1..).unwrap_or_default())
}

/// Returns the directory of a path.
#[must_use]
pub fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute() {
        for (directory, path, expected) in [
            ("/w", "a", "/w/a"),
            ("/w", "./a//b/", "/w/a/b"),
            ("/w/x", "../a", "/w/a"),
            ("/w", "../../..", "/"),
            ("/w", "/a/./b", "/a/b"),
        ] {
            assert_eq!(absolute(directory, path), expected, "{directory} {path}");
        }
        for (path, base, directory) in [
            ("/a/b", "b", "/a"),
            ("/a", "a", "/"),
            ("a", "a", "."),
            ("/a/b/", "b", "/a/b"),
        ] {
            assert_eq!((base_name(path), directory_of(path)), (base, directory));
        }
    }

    #[test]
    fn links_are_followed_part_by_part() {
        let links = |path: &str| {
            let target = match path {
                "/w/l" => "../h",
                "/h/abs" => "/w/k",
                "/w/k" => "x/./y",
                "/loop" => "loop",
                _ => return None,
            };
            Some(target.to_owned())
        };
        for (path, expected) in [
            ("/w/a/new", "/w/a/new"),
            ("/w/l/../a", "/a"),
            ("/w/l/abs/f", "/w/x/y/f"),
            ("/w/./a//b/..", "/w/a"),
            ("/..", "/"),
            ("/loop/a", "/loop/a"),
        ] {
            assert_eq!(resolved(path, &links), expected, "{path}");
        }
    }

    /// Directory `/d` with `a` and `b/c`.
    struct Tree;

    impl Lookup for Tree {
        fn read(&self, _: &str) -> Content {
            Content::Missing
        }

        fn list(&self, directory: &str) -> Vec<String> {
            let names: &[&str] = match directory {
                "/d" => &["a", "b"],
                "/d/b" => &["c"],
                _ => &[],
            };
            names.iter().map(|name| (*name).to_owned()).collect()
        }
    }

    #[test]
    fn a_directory_is_searched_by_its_names() {
        let search = |directory, wanted: &str| {
            Tree.search(Source::Directory(directory), &|entry| entry == wanted)
        };
        assert_eq!(search("/d", "b/c"), Listing::Found("b/c".to_owned()));
        assert_eq!(search("/d", "x"), Listing::Clean);
        assert_eq!(search("/e", "x"), Listing::Missing);
        let archive = Tree.search(Source::Archive("/x.tar"), &|_| true);
        assert_eq!(archive, Listing::Missing);
    }
}
