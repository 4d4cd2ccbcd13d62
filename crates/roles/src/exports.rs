//! Exported roles on disk. A file that we did not write, or that a person touched since, is left alone.

use std::io;
use std::path::Path;

use ::catalog::export::{Exported, Target, read_back};

use base::files::{self, FileError, Privacy};

/// No file of ours is larger.
const MAX_EXPORT: u64 = 4_000_000;

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is new, or ours and brought up to date.
    Written,
    /// It was there, byte for byte.
    Same,
    /// It is somebody else's, or was edited.
    Kept,
}

/// Writes an exported role under `folder`.
pub fn write(
    folder: &Path,
    target: Target,
    exported: &Exported,
    overwrite: bool,
) -> Result<Written, FileError> {
    let path = folder.join(&exported.path);
    let old = match files::read(&path, MAX_EXPORT) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => None,
        // What cannot be read is not ours.
        Err(_) if !overwrite => return Ok(Written::Kept),
        Err(error) => return Err(error),
    };
    if let Some(old) = &old {
        if *old == exported.text.as_bytes() {
            return Ok(Written::Same);
        }
        let text = String::from_utf8_lossy(old);
        let is_ours = read_back(target, &text).is_some_and(|read| read.is_untouched);
        if !is_ours && !overwrite {
            return Ok(Written::Kept);
        }
    }
    files::make_directory(files::parent(&path), Privacy::Shared)?;
    files::write(&path, exported.text.as_bytes(), Privacy::Shared)?;
    Ok(Written::Written)
}
