//! Changes files whose folders may have been replaced: no link below a given folder is followed.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::place::Place;
use super::{Action, FileError, parent, prepare_at};

/// Replaces a file atomically, with exactly these permissions. Missing folders below `base` are created.
///
/// # Errors
/// A link is in the way, or the new file cannot be written; the old one is then untouched.
pub fn write(base: &Path, path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Write, path, source);
    make_folders(base, parent(path)).map_err(fail)?;
    let place = Place::below(base, path).map_err(fail)?;
    let prepared = prepare_at(place, path, bytes, 0o600)?;
    if let Some(waiting) = &prepared.waiting {
        let opened = waiting.open(OFlags::RDONLY, 0);
        opened
            .and_then(|file| file.set_permissions(Permissions::from_mode(mode & 0o7777)))
            .map_err(fail)?;
    }
    prepared.commit()
}

/// Removes a file or a link itself. A folder is renamed instead, and its new path returned.
///
/// # Errors
/// A link is in the way, or the entry cannot be removed.
pub fn remove(base: &Path, path: &Path) -> Result<Option<PathBuf>, FileError> {
    let fail = |source| FileError::new(Action::Write, path, source);
    let place = match Place::below(base, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        place => place.map_err(fail)?,
    };
    match place.remove() {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            let mut name = path.file_name().map(OsString::from).unwrap_or_default();
            name.push(format!(".undone-{}", crate::fresh_uuid().simple()));
            let aside = place.sibling(&name).map_err(fail)?;
            place.rename(&aside).map_err(fail)?;
            Ok(Some(path.with_file_name(name)))
        }
        Err(error) => Err(fail(error)),
    }
}

/// Creates a link to `target`.
///
/// # Errors
/// A link is in the way, or `path` exists.
pub fn link(base: &Path, path: &Path, target: &Path) -> Result<(), FileError> {
    let made = Place::below(base, path).and_then(|place| place.make_link(target));
    made.map_err(|source| FileError::new(Action::Write, path, source))
}

fn make_folders(base: &Path, folder: &Path) -> io::Result<()> {
    if folder == base || !folder.starts_with(base) {
        return Ok(());
    }
    make_folders(base, parent(folder))?;
    let mode = match folder.file_name() {
        Some(name) if name == ".role-os" || name == "keys" || name == "approval" => 0o700,
        _ => 0o755,
    };
    match Place::below(base, folder)?.make_folder(mode) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
