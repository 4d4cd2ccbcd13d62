//! Reverts a change: saves the current content, and writes the recorded one. Follows no link.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::content::{Content, MAX_FILE, Seen};
use super::list::Item;
use super::store::{Store, Undone};
use base::files::{self, Action, FileError, below};
use base::sealed_files::announce;
use base::workspace::Workspace;

/// Saves the content of a path, and returns its location. A folder is saved by moving it away.
pub(super) fn set_aside(store: &Store, id: &str, item: &Item, seen: &Seen) -> Option<String> {
    match (&seen.content, &seen.bytes) {
        (Content::File { .. }, Some(bytes)) => store.set_aside(id, &item.path, bytes),
        (Content::Link(target), _) => store.set_aside(id, &item.path, target.as_bytes()),
        _ => None,
    }
}

/// Restores the content of a path; returns the new location of a folder that was in its place.
///
/// # Errors
/// There is no copy, or the path cannot be written.
pub(super) fn put_back(
    store: &Store,
    item: &Item,
    before: &Content,
) -> Result<Option<PathBuf>, FileError> {
    let real = RealPath::of(item);
    let (base, path) = (real.base.as_path(), real.path.as_path());
    if *before == Content::Other {
        let source =
            io::Error::other("no copy is kept of a file that is this long or cannot be read");
        return Err(FileError::new(Action::Write, path, source));
    }
    // The copy is read first: without one, the present content stays.
    let copy = before.sha256().map(|hash| store.copy(hash)).transpose()?;
    let is_file = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
    let moved = match (&copy, is_file) {
        (Some(_), true) => None,
        _ => below::remove(base, path)?,
    };
    match (before, copy) {
        (Content::File { mode, .. }, Some(bytes)) => below::write(base, path, &bytes, *mode)?,
        (Content::Link(target), _) => below::link(base, path, Path::new(target))?,
        _ => {}
    }
    Ok(moved)
}

/// Replaces the content of a path, and keeps its permissions.
///
/// # Errors
/// The path cannot be written.
pub(super) fn mend(item: &Item, seen: &Seen, text: &str) -> Result<Option<PathBuf>, FileError> {
    let real = RealPath::of(item);
    let mode = match seen.content {
        Content::File { mode, .. } => mode,
        _ => 0o644,
    };
    below::write(&real.base, &real.path, text.as_bytes(), mode)?;
    Ok(None)
}

/// Writes the reverted content of a path back.
///
/// # Errors
/// The content is no longer kept, or cannot be written.
pub(super) fn take(workspace: &Workspace, undone: &Undone) -> Result<(), FileError> {
    let path = Path::new(&undone.path);
    let state = workspace.state();
    let Some(kept) = &undone.kept else {
        announce(state, path, None)?;
        below::remove(files::parent(path), path)?;
        return Ok(());
    };
    let bytes = files::read(Path::new(kept), MAX_FILE)?;
    announce(state, path, Some(&bytes))?;
    files::make_directory(files::parent(path), files::Privacy::Shared)?;
    below::write(files::parent(path), path, &bytes, undone.mode)
}

/// Resolves a path below a linked folder that is in order: the folders were checked before.
struct RealPath {
    base: PathBuf,
    path: PathBuf,
}

impl RealPath {
    fn of(item: &Item) -> Self {
        let plain = Self {
            base: item.base.clone(),
            path: item.path.clone(),
        };
        let is_link = |folder: &Path| folder.is_symlink();
        let above = item.path.ancestors().skip(1);
        let mut above =
            above.take_while(|folder| *folder != item.base && folder.starts_with(&item.base));
        if !above.any(is_link) {
            return plain;
        }
        let folder = fs::canonicalize(files::parent(&item.path));
        match (folder, item.path.file_name()) {
            (Ok(folder), Some(name)) => Self {
                path: folder.join(name),
                base: folder,
            },
            _ => plain,
        }
    }
}
