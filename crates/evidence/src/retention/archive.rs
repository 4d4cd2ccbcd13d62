//! Copies of files that are about to be pruned, with checksums signed by the workspace's key.

use std::io;
use std::path::Path;

use base::files::{self, Action, FileError, Privacy};
use witness::key::SigningKey;
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::sign_text;

use super::Expired;

/// File of an archive: the checksums of the others as a C2SP signed note.
pub const NOTE: &str = "SHA256SUMS.note";

/// Largest file that is archived; logs are rotated far below it.
const MAX_FILE: u64 = 1024 * 1024 * 1024;

/// Copies files of a workspace to a new folder, at their places below `root`, and signs their checksums under `name`.
///
/// # Errors
/// The folder exists, or a file cannot be read or written. The folder then has no note.
pub fn seal(
    root: &Path,
    going: &[Expired],
    folder: &Path,
    name: &Origin,
    key: &SigningKey,
) -> Result<(), FileError> {
    if folder.exists() {
        let error = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(FileError::new(Action::Write, folder, error));
    }
    let mut sums = String::new();
    for one in going {
        let place = one.path.strip_prefix(root).unwrap_or(&one.path);
        let bytes = files::read(&one.path, MAX_FILE)?;
        let copy = folder.join(place);
        files::make_directory(files::parent(&copy), Privacy::Secret)?;
        files::write(&copy, &bytes, Privacy::Secret)?;
        let sum = hex::encode(base::digest(&bytes));
        sums.push_str(&format!("{sum}  {}\n", place.display()));
    }
    files::write(
        &folder.join(NOTE),
        sign_text(name, &sums, key).as_bytes(),
        Privacy::Secret,
    )
}
