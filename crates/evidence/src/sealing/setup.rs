//! A hash over the settings of test runners in the working tree, which select tests beside the command.
//!
//! Every directory that holds a file of the repository is read, so that a file that git ignores counts as well.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::test_commands::setup::{choosing_part, is_setup};
use sha2::{Digest as _, Sha256};

use super::entries::{Entry, path_in};
use base::files;

/// Most directories that are read; a larger project has no hash.
const MAX_FOLDERS: usize = 20_000;

/// Longest file that is read; of a longer file, only its length is hashed.
const MAX_BYTES: u64 = 512 * 1024;

/// Returns the hash; `None` if the project is too large.
pub(super) fn hash(top: &Path, entries: &[Entry]) -> Option<String> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::from([top.to_owned()]);
    for entry in entries {
        let path = path_in(top, &entry.path);
        for folder in path.ancestors().skip(1) {
            if folder == top || !folders.insert(folder.to_owned()) {
                break;
            }
        }
    }
    if folders.len() > MAX_FOLDERS {
        return None;
    }
    let mut hash = Sha256::new();
    for folder in &folders {
        for path in settings(folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let part = match files::read(&path, MAX_BYTES) {
                Ok(bytes) => choosing_part(&name, &String::from_utf8_lossy(&bytes)),
                Err(_) => fs::metadata(&path)
                    .map_or_else(|_| String::new(), |facts| facts.len().to_string()),
            };
            if part.is_empty() {
                continue;
            }
            let place = path.strip_prefix(top).unwrap_or(&path);
            for bytes in [place.as_os_str().as_bytes(), part.as_bytes()] {
                hash.update((bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
        }
    }
    Some(hex::encode(hash.finalize()))
}

/// Lists the settings in a directory, ordered by name.
fn settings(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter(|entry| is_setup(&entry.file_name().to_string_lossy()));
    found.map(|entry| entry.path()).collect()
}
