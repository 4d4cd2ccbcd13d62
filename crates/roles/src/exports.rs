//! Exported roles on disk. A file that is not ours, or that was edited since, is not changed.

use std::io;
use std::path::Path;

use ::catalog::export::{Exported, Merge, merge};

use base::files::{self, FileError, Privacy};

/// Limit of the size of a file that is read.
const MAX_EXPORT: u64 = 4_000_000;

/// Result of writing one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is new, or ours and was updated.
    Written,
    /// It existed already, byte for byte.
    Same,
    /// It is not ours, or was edited.
    Kept,
}

/// Writes an exported file under `folder`.
///
/// # Errors
/// Fails if the file cannot be read or written.
pub fn write(folder: &Path, exported: &Exported, overwrite: bool) -> Result<Written, FileError> {
    let path = folder.join(&exported.path);
    let old = match files::read(&path, MAX_EXPORT) {
        Ok(bytes) => String::from_utf8(bytes).map(Some),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file that cannot be read is not ours.
        Err(_) if !overwrite => return Ok(Written::Kept),
        Err(error) => return Err(error),
    };
    let text = match old {
        // A section cannot be put into bytes that are not text.
        Err(_) if !overwrite || exported.section.is_some() => return Ok(Written::Kept),
        Err(_) => exported.text.clone(),
        Ok(old) => match merge(exported, old.as_deref(), overwrite) {
            Merge::Same => return Ok(Written::Same),
            Merge::Kept => return Ok(Written::Kept),
            Merge::Write(text) => text,
        },
    };
    files::make_directory(files::parent(&path), Privacy::Shared)?;
    files::write(&path, text.as_bytes(), Privacy::Shared)?;
    Ok(Written::Written)
}
