//! The files that git ignores, if they are few. They are stored beside a snapshot in separate objects, below
//! `roleos-aside` of the git directory: no ref leads there, so that no push sends files that were ignored for a reason.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::entries::{GitPath, joined, path_in};
use super::layout::Layout;
use super::tree::{Scratch, is_ours};
use base::git::GitError;

/// Most ignored files that are covered. More or larger ones are dependencies and build output.
const MOST_FILES: usize = 4096;
const MOST_BYTES: u64 = 64 << 20;

/// The ignored files of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Aside {
    /// A tree of them, and their permissions, of which git keeps only one bit.
    Files { tree: String, modes: Layout },
    /// They are too many or too large to be covered.
    TooMuch,
}

impl Aside {
    /// Reads the ignored files of the working tree at `top`, by the rules of `scratch`.
    ///
    /// # Errors
    /// A file cannot be read, or an object cannot be written.
    pub(super) fn read(scratch: &Scratch, top: &Path) -> Result<Self, GitError> {
        let paths = covered(scratch)?;
        let sizes = paths
            .iter()
            .filter_map(|path| fs::symlink_metadata(path_in(top, path)).ok());
        let bytes = sizes.fold(0_u64, |sum, facts| sum.saturating_add(facts.len()));
        if paths.len() > MOST_FILES || bytes > MOST_BYTES {
            return Ok(Self::TooMuch);
        }
        let own = Scratch::aside(top, scratch.reading())?;
        own.take(&paths)?;
        Ok(Self::Files {
            tree: own.write_tree()?,
            modes: Layout::of(top, paths),
        })
    }

    /// Returns the text by which they are stored and compared.
    pub(super) fn text(&self) -> Vec<u8> {
        match self {
            Self::Files { tree, modes } => [tree.as_bytes(), b"\n", &modes.text()].concat(),
            Self::TooMuch => b"too much".to_vec(),
        }
    }

    /// Parses the output of [`Self::text`]; `None` for anything else.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if text == b"too much" {
            return Some(Self::TooMuch);
        }
        let end = text.iter().position(|byte| *byte == b'\n')?;
        let (tree, modes) = text.split_at_checked(end)?;
        Some(Self::Files {
            tree: String::from_utf8(tree.to_vec()).ok()?,
            modes: Layout::parse(modes.get(1..)?)?,
        })
    }

    /// Restores the differences; `layout` has the directories that stay.
    ///
    /// # Errors
    /// There are too many ignored files now, or one cannot be written.
    pub(super) fn put_back(
        &self,
        scratch: &Scratch,
        layout: &Layout,
        top: &Path,
    ) -> Result<(), GitError> {
        let Self::Files {
            tree: wanted,
            modes,
        } = self
        else {
            return Ok(());
        };
        let Self::Files { tree: now, .. } = Self::read(scratch, top)? else {
            return Err(GitError::new(
                "ls-files",
                "there are too many ignored files now to take them away",
            ));
        };
        let own = Scratch::aside(top, scratch.reading())?;
        own.index(&["read-tree", wanted], &[])?;
        let differing = |filter: &str| own.names(&[filter], wanted, &now);
        let other = differing("--diff-filter=DMT")?;
        for path in differing("--diff-filter=A")?.iter().chain(&other) {
            remove(top, path, layout)
                .map_err(|error| GitError::new("checkout-index", &error.to_string()))?;
        }
        own.index(&["checkout-index", "-f", "-z", "--stdin"], &joined(&other))?;
        modes.set_modes(top);
        Ok(())
    }
}

fn covered(scratch: &Scratch) -> Result<BTreeSet<GitPath>, GitError> {
    let mut paths = scratch.ignored()?;
    // A path that ends in a slash is a separate repository.
    paths.retain(|path| !is_ours(path) && !path.ends_with(b"/"));
    Ok(paths)
}

/// Removes a file, and the directories above it that are empty then and did not exist before.
fn remove(top: &Path, path: &[u8], layout: &Layout) -> io::Result<()> {
    match fs::remove_file(path_in(top, path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let ends: Vec<usize> = slashes.map(|(end, _)| end).collect();
    for end in ends.into_iter().rev() {
        let above = path.get(..end).unwrap_or_default();
        if layout.has(above) || fs::remove_dir(path_in(top, above)).is_err() {
            break;
        }
    }
    Ok(())
}
