//! What the analysis may ask of the machine, as values. The host answers; a test answers from a map.

mod remembered;

use std::borrow::Cow;

pub use remembered::Remembered;

/// The content of a file, as far as it helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// There is no such file.
    Missing,
    /// A program or other bytes that are no text.
    Binary,
    /// It is there and cannot be taken into account, and why.
    Unreadable(&'static str),
}

/// A thing that brings many files at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'p> {
    /// A directory.
    Directory(&'p str),
    /// An archive file.
    Archive(&'p str),
    /// What git would put into the working tree around a directory.
    Git {
        /// The directory.
        directory: &'p str,
        /// Where the content comes from.
        from: Snapshot<'p>,
    },
}

/// What git takes files from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot<'p> {
    /// The tree of a revision, where it differs from `HEAD`.
    Tree(&'p str),
    /// The same, and files of it that were changed since on the disk.
    Restored(&'p str),
    /// What a revision adds to the history of `HEAD`, as a merge does.
    Merge(&'p str),
    /// What one commit changes, as a cherry-pick does.
    Commit(&'p str),
    /// The same the other way round, as a revert does.
    Reverted(&'p str),
    /// The index.
    Index,
}

/// Work in a repository that can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work<'p> {
    /// Changes of files that git knows, which no commit holds.
    Changes,
    /// Files that git neither knows nor ignores.
    NewFiles,
    /// Commits of a revision that no other ref holds when it is removed or moved.
    Commits {
        /// `HEAD` or a branch.
        of: &'p str,
        /// Where it moves to.
        to: Option<&'p str>,
    },
}

/// The answer to a search in a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The first entry that was wanted.
    Found(String),
    /// All entries were seen, and none was wanted.
    Clean,
    /// The source is not there.
    Missing,
    /// The source is there and cannot be listed.
    Unknown,
}

/// The most entries of a source that are looked at.
pub const MAX_ENTRIES: usize = 50_000;

/// Files, read on request. Paths are absolute, without `.` and `..`.
pub trait Lookup {
    /// The content of a file.
    fn read(&self, path: &str) -> Content;
    /// The names in a directory; empty when there is none.
    fn list(&self, directory: &str) -> Vec<String>;
    /// Returns `true` if there is a file or a folder of this name.
    fn has(&self, path: &str) -> bool {
        !matches!(self.read(path), Content::Missing) || !self.list(path).is_empty()
    }
    /// Where a symbolic link leads, as it is written in it; None for everything else.
    fn link(&self, _path: &str) -> Option<String> {
        None
    }
    /// The path with every link in it followed; what does not exist stays as it is written.
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
    /// Whether the repository around a directory holds such work; None where that cannot be told.
    fn loses(&self, _directory: &str, _work: Work<'_>) -> Option<bool> {
        None
    }
    /// Whether the system may start the file as a program: false where that is sure not to be so.
    fn may_start(&self, _path: &str) -> bool {
        true
    }
}

/// More links in one path are a circle.
const MAX_LINKS: usize = 64;

/// Follows links part by part, also where the end of the path does not exist yet: writing would make it there.
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

/// A machine without files.
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

/// Makes a path absolute and takes `.`, `..` and doubled slashes out, without asking the machine.
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

/// Whether a path has nothing to take out: most are like that.
fn is_straight(path: &str) -> bool {
    let mut parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.next() == Some(b"") && parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The last part of a path.
#[must_use]
pub fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let slash = path.bytes().rposition(|byte| byte == b'/');
    slash.map_or(path, |slash| path.get(slash + 1..).unwrap_or_default())
}

/// The directory of a path.
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

    /// `/d` holds `a` and `b/c`.
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
