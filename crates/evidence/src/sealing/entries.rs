//! Parses index lines of git and attributes of paths.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base::git::{Git, GitError};

/// A path as git has it, relative to the top of the repository.
pub(super) type GitPath = Vec<u8>;

/// The mode of a submodule.
const SUBMODULE: &str = "160000";

/// One entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The letter of `ls-files -v`.
    tag: u8,
    pub(super) mode: String,
    pub(super) id: String,
    pub(super) stage: String,
    pub(super) path: GitPath,
}

impl Entry {
    pub(super) fn new(mode: &str, id: &str, path: &[u8]) -> Self {
        Self {
            tag: b'H',
            mode: mode.to_owned(),
            id: id.to_owned(),
            stage: "0".to_owned(),
            path: path.to_owned(),
        }
    }

    /// Parses the output of `ls-files -z -v --stage`.
    pub(super) fn parse(listed: &[u8]) -> Vec<Self> {
        let lines = listed.split(|byte| *byte == 0);
        lines.filter_map(Self::parse_line).collect()
    }

    fn parse_line(line: &[u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (facts, path) = line.split_at(tab);
        let facts = std::str::from_utf8(facts).ok()?;
        let mut facts = facts.split(' ');
        Some(Self {
            tag: *facts.next()?.as_bytes().first()?,
            mode: facts.next()?.to_owned(),
            id: facts.next()?.to_owned(),
            stage: facts.next()?.to_owned(),
            path: path.get(1..)?.to_vec(),
        })
    }

    /// Parses a line of `ls-tree -z`: mode, type, id and path.
    pub(super) fn parse_tree_line(line: &[u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (facts, path) = line.split_at(tab);
        let facts = std::str::from_utf8(facts).ok()?;
        let mut facts = facts.split(' ');
        let (mode, id) = (facts.next()?, facts.nth(1)?);
        Some(Self::new(mode, id, path.get(1..)?))
    }

    /// Returns the line that `update-index -z --index-info` reads.
    pub(super) fn line(&self) -> Vec<u8> {
        let facts = format!("{} {} {}\t", self.mode, self.id, self.stage);
        [facts.as_bytes(), &self.path, b"\0"].concat()
    }

    /// Returns `true` if git ignores changes of the file: assume-unchanged or skip-worktree.
    pub(super) fn is_flagged(&self) -> bool {
        self.tag.is_ascii_lowercase() || self.tag == b'S'
    }

    pub(super) fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }
}

/// Returns the paths that have one of these attributes, each with its value. Attributes without a value are omitted.
pub(super) fn attributes(
    git: &Git,
    names: &[&str],
    paths: &BTreeSet<GitPath>,
) -> Result<Vec<(GitPath, Vec<u8>)>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut arguments = vec!["check-attr", "-z", "--stdin"];
    arguments.extend(names);
    let listed = git.run(arguments, &joined(paths))?;
    let fields: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let set = fields.chunks_exact(3).filter_map(|field| match field {
        [path, _, value] if ![&b"unspecified"[..], b"unset"].contains(value) => {
            Some((path.to_vec(), value.to_vec()))
        }
        _ => None,
    });
    Ok(set.collect())
}

/// Returns a list of paths as git parses it.
pub(super) fn joined(paths: &BTreeSet<GitPath>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// Parses a list of paths that git printed.
pub(super) fn paths(listed: &[u8]) -> BTreeSet<GitPath> {
    listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Returns the path of a file in the repository at `top`.
pub(super) fn path_in(top: &Path, path: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(path))
}
