//! Pointer files of Git LFS, computed here: its filter is a program from the repository's configuration and is never
//! executed.
//!
//! A commit stores a large file as a pointer of three lines. A diff that held the file itself would not be the change
//! that a user sees, and would rarely fit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::entries::{GitPath, attributes, path_in};
use base::git::{Git, GitError};

/// The first line of every pointer.
const VERSION: &str = "version https://git-lfs.github.com/spec/v1\n";

/// Longest pointer file.
const MAX_POINTER: u64 = 1024;

/// Returns the files that Git LFS stores, each with the object id of its pointer.
///
/// # Errors
/// A file cannot be read.
pub(super) fn pointers(
    git: &Git,
    top: &Path,
    paths: &BTreeSet<GitPath>,
) -> Result<BTreeMap<GitPath, String>, GitError> {
    let failed = |error: io::Error| GitError::new("hash-object", &error.to_string());
    let mut ids = BTreeMap::new();
    for (path, filter) in attributes(git, &["filter"], paths)? {
        if filter != b"lfs" {
            continue;
        }
        let Some(pointer) = pointer(&path_in(top, &path)).map_err(failed)? else {
            continue;
        };
        let id = git.run(["hash-object", "-w", "--stdin"], pointer.as_bytes())?;
        let id = String::from_utf8_lossy(&id).trim_end().to_owned();
        ids.insert(path, id);
    }
    Ok(ids)
}

/// Returns the pointer of a plain file; `None` if it is a pointer already, is empty, or is not a plain file.
fn pointer(path: &Path) -> io::Result<Option<String>> {
    if !fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() > 0) {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(MAX_POINTER).read_to_end(&mut head)?;
    if head.starts_with(VERSION.as_bytes()) {
        return Ok(None);
    }
    let mut hash = Sha256::new();
    hash.update(&head);
    let mut size = head.len() as u64;
    let mut part = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        hash.update(part.get(..read).unwrap_or_default());
        size += read as u64;
    }
    let id = hex::encode(hash.finalize());
    Ok(Some(format!("{VERSION}oid sha256:{id}\nsize {size}\n")))
}
