//! Reading with a limit, writing so that a crash leaves the old file or the new one, and locks between processes.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_setfl};

/// What was attempted with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Look at it; nothing changes.
    Read,
    /// Replace it.
    Write,
    /// Add to its end.
    Append,
    /// Give it its final name.
    Name,
    /// Make a directory.
    MakeDirectory,
    /// Keep others out.
    Lock,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Append => "append to",
            Self::Name => "name",
            Self::MakeDirectory => "make the directory",
            Self::Lock => "lock",
        })
    }
}

/// A file operation that failed, with the file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct FileError {
    /// What was attempted.
    pub action: Action,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// Names the operation and the file.
    pub(crate) fn new(action: Action, path: &Path, source: io::Error) -> Self {
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
/// Pipes are read as files are, so that `<(git diff)` and `/dev/stdin` work, but never waited for: one that nobody
/// writes to is an error, and so is one that brings nothing, for its writer has most likely failed. Devices are refused.
///
/// # Errors
/// The file cannot be read, or it is larger than `limit`.
pub fn read_into(path: &Path, limit: u64, buffer: &mut Vec<u8>) -> Result<(), FileError> {
    buffer.clear();
    try_read_into(path, limit, buffer).map_err(|source| FileError::new(Action::Read, path, source))
}

fn try_read_into(path: &Path, limit: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    // Without this flag, opening a pipe waits for a writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    let is_pipe = metadata.file_type().is_fifo();
    if is_pipe {
        fcntl_setfl(&file, OFlags::empty())?;
    } else if metadata.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a directory",
        ));
    } else if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a device, not a file",
        ));
    }
    let length = metadata.len();
    if length > limit {
        let why = format!("it has {length} bytes, the limit is {limit}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    // One byte of room behind the end lets a single call find out that there is no more.
    buffer.reserve_exact(usize::try_from(length).unwrap_or(0).saturating_add(1));
    // The length is a hint: the file may grow, or be a pipe that has none.
    file.take(limit.saturating_add(1)).read_to_end(buffer)?;
    if buffer.len() as u64 > limit {
        let why = format!("it has more than {limit} bytes, which is the limit");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    if is_pipe && buffer.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "nothing came through the pipe",
        ));
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

/// Reads the lines that begin among the last `length` bytes of a log. The last one may be torn, as in the log itself.
///
/// # Errors
/// The file cannot be read.
pub fn read_tail(path: &Path, length: u64) -> Result<Vec<u8>, FileError> {
    let fail = |source| FileError::new(Action::Read, path, source);
    let mut file = File::open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    // One byte more tells whether a line begins right where the tail does.
    let start = size.saturating_sub(length.saturating_add(1));
    file.seek(SeekFrom::Start(start)).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(size - start)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if size > length {
        let cut = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
        bytes.drain(..cut);
    }
    Ok(bytes)
}

/// New content that is on the disk already and waits to take the place of the old.
#[derive(Debug)]
pub struct Prepared {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

/// Writes everything that can need space, and replaces nothing yet. Dropped instead of committed, it leaves no trace.
///
/// # Errors
/// The new content cannot be written.
pub fn prepare(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<Prepared, FileError> {
    prepare_as(path, bytes, mode(privacy))
}

fn prepare_as(path: &Path, bytes: &[u8], mode: u32) -> Result<Prepared, FileError> {
    let fail = |source| FileError::new(Action::Write, path, source);
    let mut file = tempfile::Builder::new()
        .prefix(".roleos-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(parent(path))
        .map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    Ok(Prepared {
        file,
        path: path.to_owned(),
    })
}

impl Prepared {
    /// Takes the old content's place: rename, and sync of the directory.
    ///
    /// # Errors
    /// The file cannot be named; the old one is then untouched.
    pub fn commit(self) -> Result<(), FileError> {
        let fail = |source| FileError::new(Action::Write, &self.path, source);
        self.file
            .persist(&self.path)
            .map_err(|error| fail(error.error))?;
        sync_directory(parent(&self.path)).map_err(fail)
    }
}

/// Replaces a file in one step: temporary file, sync, rename, sync of the directory.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<(), FileError> {
    prepare(path, bytes, privacy)?.commit()
}

/// Replaces somebody else's file in one step: its links are followed and its permissions kept. A new file gets `mode`.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn rewrite(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = match fs::metadata(&real) {
        Ok(facts) => facts.permissions().mode() & 0o7777,
        Err(_) => mode,
    };
    prepare_as(&real, bytes, mode)?.commit()
}

/// Replaces a file in one step, with exactly these permissions.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write_as(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    prepare_as(path, bytes, mode)?.commit()
}

/// Appends in one call and syncs, so that what was acknowledged survives. Hold a [`Lock`] around it.
///
/// # Errors
/// The bytes cannot be appended; the file is then as long as before.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Append, path, source);
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(mode(Privacy::Shared))
        .open(path)
        .map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let appended = file.write_all(bytes).and_then(|()| file.sync_data());
    if let Err(error) = appended {
        // A disk that is full takes a part of the bytes.
        file.set_len(length).ok();
        return Err(fail(error));
    }
    if length == 0 {
        sync_directory(parent(path)).map_err(fail)?;
    }
    Ok(())
}

/// Replaces a file in one step without waiting for the disk, for counts that are written with every call: it survives the
/// end of this process. After a power cut the file may be empty, or have a content since the last [`forget_older`].
/// Hold a [`Lock`] around it. A reader that holds none may rarely see half of two contents, and should look again.
///
/// Two files are written in turns and trade their names. A new file that takes an old one's name would be written to the
/// disk by some file systems at once, which takes twenty times as long.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write_quickly(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let beside = other(path);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(mode(Privacy::Shared))
        .open(&beside)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)
        })
        .and_then(|()| trade(&beside, path));
    written.map_err(|error| {
        fs::remove_file(&beside).ok();
        FileError::new(Action::Write, path, error)
    })
}

/// The other of the two files.
fn other(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

fn trade(new: &Path, path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    // The first one has nobody to trade with, and not every file system can.
    renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE).or_else(|_| fs::rename(new, path))
}

/// Forgets an older content of a file that is written quickly, so that not even a power cut brings it back. For one who
/// has just written something durably. Hold the same [`Lock`].
///
/// # Errors
/// It is there and cannot be removed.
pub fn forget_older(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(other(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new(Action::Write, path, error))
        }
        _ => Ok(()),
    }
}

/// What stands at the end of a log before something is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Whole lines, or nothing.
    Whole,
    /// A line without its end, as a crash leaves it; it was ended, so that it stays visible and spoils no other.
    Torn,
}

/// Adds one line to a log, and says whether the last one was torn. Hold a [`Lock`] around it.
///
/// # Errors
/// The line cannot be added; the log is then as long as before.
pub fn append_line(path: &Path, line: &str, durable: bool) -> Result<Tail, FileError> {
    let fail = |source| FileError::new(Action::Append, path, source);
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(mode(Privacy::Shared))
        .open(path)
        .map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut last = [b'\n'];
    if let Some(end) = length.checked_sub(1) {
        file.read_exact_at(&mut last, end).map_err(fail)?;
    }
    let tail = if last == [b'\n'] {
        Tail::Whole
    } else {
        Tail::Torn
    };
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if tail == Tail::Torn {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    let synced = |file: &File| if durable { file.sync_data() } else { Ok(()) };
    if let Err(error) = file.write_all(&bytes).and_then(|()| synced(&file)) {
        // A disk that is full takes a part of the bytes.
        file.set_len(length).ok();
        return Err(fail(error));
    }
    if length == 0 && durable {
        sync_directory(parent(path)).map_err(fail)?;
    }
    Ok(tail)
}

/// Makes a directory and those above it, durably; a secret one is closed to others, those above it are not.
///
/// # Errors
/// The directory cannot be made.
pub fn make_directory(path: &Path, privacy: Privacy) -> Result<(), FileError> {
    if path.is_dir() {
        return Ok(());
    }
    let above = parent(path);
    make_directory(above, Privacy::Shared)?;
    let directory_mode = match privacy {
        Privacy::Secret => 0o700,
        Privacy::Shared => 0o755,
    };
    fs::DirBuilder::new()
        .mode(directory_mode)
        .create(path)
        .or_else(|error| match error.kind() {
            // Somebody else was faster.
            io::ErrorKind::AlreadyExists if path.is_dir() => Ok(()),
            _ => Err(error),
        })
        .and_then(|()| sync_directory(above))
        .map_err(|source| FileError::new(Action::MakeDirectory, path, source))
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
        let fail = |source| FileError::new(Action::Lock, path, source);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(Self { _file: file })
    }

    /// Waits for the lock beside a file, `<name>.lock`; its folder is made when missing.
    ///
    /// # Errors
    /// The lock file cannot be opened or locked.
    pub fn beside(path: &Path) -> Result<Self, FileError> {
        let beside = path.with_added_extension("lock");
        Self::take(&beside).or_else(|error| {
            if error.source.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            make_directory(parent(path), Privacy::Shared)?;
            Self::take(&beside)
        })
    }

    /// Waits until nobody holds the lock at `path`, and lets others read but not write. Changes nothing on disk.
    ///
    /// # Errors
    /// There is no such lock file, or it cannot be locked.
    pub fn share(path: &Path) -> Result<Self, FileError> {
        let fail = |source| FileError::new(Action::Lock, path, source);
        let file = File::open(path).map_err(fail)?;
        file.lock_shared().map_err(fail)?;
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

#[cfg(test)]
mod tests;
