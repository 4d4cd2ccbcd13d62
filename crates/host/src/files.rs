//! Reading with a limit, writing so that a crash leaves the old file or the new one, and locks between processes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A file operation that failed, with the file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct FileError {
    action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// Names the operation and the file.
    pub(crate) fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Only the owner: 0600.
    Secret,
    /// Everybody, as the umask allows: 0644.
    Shared,
}

/// Reads a whole file into `buffer`, which is emptied first and can be used again and again.
///
/// # Errors
/// The file cannot be read, or it is larger than `limit`.
pub fn read_into(path: &Path, limit: u64, buffer: &mut Vec<u8>) -> Result<(), FileError> {
    let fail = |source| FileError::new("read", path, source);
    buffer.clear();
    let file = File::open(path).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    if length > limit {
        return Err(fail(too_large(length, limit)));
    }
    // One byte of room behind the end lets a single call find out that there is no more.
    buffer.reserve_exact(usize::try_from(length).unwrap_or(0).saturating_add(1));
    // The length is a hint: the file may grow, or be a pipe that has none.
    file.take(limit.saturating_add(1))
        .read_to_end(buffer)
        .map_err(fail)?;
    if buffer.len() as u64 > limit {
        return Err(fail(too_large(buffer.len() as u64, limit)));
    }
    Ok(())
}

/// Reads a whole file.
///
/// # Errors
/// The file cannot be read, or it is larger than `limit`.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut buffer = Vec::new();
    read_into(path, limit, &mut buffer)?;
    Ok(buffer)
}

fn too_large(length: u64, limit: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it has {length} bytes, the limit is {limit}"),
    )
}

/// Replaces a file in one step: temporary file, sync, rename, sync of the directory.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<(), FileError> {
    let fail = |source| FileError::new("write", path, source);
    let directory = parent(path);
    let mut file = tempfile::Builder::new()
        .prefix(".roleos-")
        .permissions(fs::Permissions::from_mode(mode(privacy)))
        .tempfile_in(directory)
        .map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    sync_directory(directory).map_err(fail)
}

/// Appends in one call and syncs, so that what was acknowledged survives. Hold a [`Lock`] around it.
///
/// # Errors
/// The bytes cannot be appended.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let fail = |source| FileError::new("append to", path, source);
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(mode(Privacy::Shared))
        .open(path)
        .map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.sync_data().map_err(fail)
}

/// Makes a directory and those above it; a secret one is closed to others, those above it are not.
///
/// # Errors
/// The directory cannot be made.
pub fn make_directory(path: &Path, privacy: Privacy) -> Result<(), FileError> {
    let fail = |source| FileError::new("make the directory", path, source);
    if privacy == Privacy::Shared {
        return fs::create_dir_all(path).map_err(fail);
    }
    fs::create_dir_all(parent(path)).map_err(fail)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(fail)
}

/// Keeps other processes out until it is dropped; a process that dies lets go of it.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock file at `path`, which is made when missing and never removed.
    ///
    /// # Errors
    /// The lock file cannot be opened or locked.
    pub fn take(path: &Path) -> Result<Self, FileError> {
        let fail = |source| FileError::new("lock", path, source);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(Self { _file: file })
    }
}

/// Makes a rename inside the directory durable.
///
/// # Errors
/// The directory cannot be synced.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn mode(privacy: Privacy) -> u32 {
    match privacy {
        Privacy::Secret => 0o600,
        Privacy::Shared => 0o644,
    }
}
