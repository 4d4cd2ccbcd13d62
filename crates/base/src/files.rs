//! Reading with a limit, writing so that a crash leaves the old file or the new one, and locks between processes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{OFlags, fcntl_setfl};

pub use self::error::{Action, FileError};
pub use self::lock::{Lock, wait_at_most};
use self::place::Place;
pub(crate) use self::place::open_itself;
pub use self::place::{is_link, metadata, open, open_log, read_dir, remove_file, rename};

pub mod below;
mod error;
pub mod lock;
mod place;

/// Permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Only for the owner: 0600.
    Secret,
    /// For every user, as the umask allows: 0644.
    Shared,
}

/// Reads a whole file into `buffer`, which is cleared first and can be reused.
///
/// Pipes are read as files are, so that `<(git diff)` and `/dev/stdin` work, but without waiting: one without a writer
/// is an error, and so is an empty one, because its writer has most likely failed. Devices are refused, and so are
/// pipes below `.role-os/`.
///
/// # Errors
/// The file cannot be read, or it is larger than `limit`.
pub fn read_into(path: &Path, limit: u64, buffer: &mut Vec<u8>) -> Result<(), FileError> {
    buffer.clear();
    try_read_into(path, limit, buffer).map_err(|source| FileError::new(Action::Read, path, source))
}

fn try_read_into(path: &Path, limit: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    // Without this flag, opening a pipe waits for a writer.
    let place = Place::of(path)?;
    let file = place.open(OFlags::RDONLY | OFlags::NONBLOCK, 0)?;
    let metadata = file.metadata()?;
    let is_pipe = metadata.file_type().is_fifo() && !place.is_guarded();
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
            "it is a device or a pipe, not a file",
        ));
    }
    let length = metadata.len();
    if length > limit {
        let why = format!("it has {length} bytes, the limit is {limit}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    // One byte of room behind the end lets a single call find the end.
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
    let mut file = open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    // One more byte shows if a line begins exactly at the tail's start.
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

/// New content on disk, ready to replace the old one.
#[derive(Debug)]
pub struct Prepared {
    /// Temporary place of the content, until it is committed.
    waiting: Option<Place>,
    /// Device and inode of the content.
    inode: (u64, u64),
    place: Place,
    path: PathBuf,
}

/// Writes everything that can need space, and replaces nothing yet. If dropped without a commit, it leaves no trace.
///
/// # Errors
/// The new content cannot be written.
pub fn prepare(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<Prepared, FileError> {
    prepare_as(path, bytes, mode(privacy))
}

fn prepare_as(path: &Path, bytes: &[u8], mode: u32) -> Result<Prepared, FileError> {
    let place = Place::of(path);
    let place = place.map_err(|source| FileError::new(Action::Write, path, source))?;
    prepare_at(place, path, bytes, mode)
}

fn prepare_at(place: Place, path: &Path, bytes: &[u8], mode: u32) -> Result<Prepared, FileError> {
    let fail = |source| FileError::new(Action::Write, path, source);
    let (waiting, mut file) = temporary(&place, mode).map_err(fail)?;
    let mut prepared = Prepared {
        waiting: Some(waiting),
        inode: (0, 0),
        place,
        path: path.to_owned(),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let facts = written.and_then(|()| file.metadata()).map_err(fail)?;
    prepared.inode = (facts.dev(), facts.ino());
    Ok(prepared)
}

/// Creates a new file beside `place`, under a free name.
fn temporary(place: &Place, mode: u32) -> io::Result<(Place, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".roleos-{}-{number}", std::process::id());
        let waiting = place.sibling(OsString::from(name).as_os_str())?;
        match waiting.open(flags, mode) {
            Ok(file) => return Ok((waiting, file)),
            // Left behind by a killed process with the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

impl Prepared {
    /// Takes the old content's place and syncs the directory. The two trade their names, so that the old one can be put
    /// back when the directory cannot be synced: an error means that nothing was replaced.
    ///
    /// # Errors
    /// The file cannot be renamed; the old one is then untouched.
    pub fn commit(mut self) -> Result<(), FileError> {
        self.try_commit()
            .map_err(|source| FileError::new(Action::Write, &self.path, source))
    }

    fn try_commit(&mut self) -> io::Result<()> {
        let old = self.place.metadata();
        let is_new = match &old {
            // A rename would replace a link; the user is told about it instead.
            Err(error) if is_link(error) => return old.map(drop),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => false,
        };
        let Some(waiting) = &self.waiting else {
            return Ok(());
        };
        let has_old = old.is_ok_and(|facts| facts.is_file());
        if has_old && waiting.exchange(&self.place).is_ok() {
            // Dropped, it removes the content that waits now.
            let synced = self.place.sync_folder();
            if synced.is_err() && !(self.is_in_place() && waiting.exchange(&self.place).is_ok()) {
                // Another writer came in between, or the names cannot be traded again: both contents stay.
                self.waiting = None;
            }
            return synced;
        }
        // There is no old one, or the file system cannot trade names.
        waiting.rename(&self.place)?;
        self.waiting = None;
        self.place.sync_folder().inspect_err(|_| {
            if is_new && self.is_in_place() {
                self.place.remove().ok();
            }
        })
    }

    /// Returns `true` if the new content still has the name: nothing of another writer may be put back or removed.
    fn is_in_place(&self) -> bool {
        let facts = self.place.metadata();
        facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == self.inode)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(waiting) = &self.waiting {
            // It is the content of nothing, whether or not it can be removed.
            waiting.remove().ok();
        }
    }
}

/// Refuses a link, which a rename would replace.
fn refuse_link(place: &Place) -> io::Result<()> {
    match place.metadata() {
        Err(error) if is_link(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Replaces a file atomically: temporary file, sync, rename, sync of the directory.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<(), FileError> {
    prepare(path, bytes, privacy)?.commit()
}

/// Replaces another program's file atomically: its links are followed, except below `.role-os/`, and its permissions
/// are kept. A new file gets `mode`.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn rewrite(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Write, path, source);
    let real = match Place::of(path).map_err(fail)?.is_guarded() {
        true => path.to_owned(),
        false => fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
    };
    let mode = match metadata(&real) {
        Ok(facts) => facts.permissions().mode() & 0o7777,
        Err(_) => mode,
    };
    prepare_as(&real, bytes, mode)?.commit()
}

/// Replaces a file atomically, with exactly these permissions.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write_as(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    prepare_as(path, bytes, mode)?.commit()
}

/// Appends in one system call and syncs, so that acknowledged bytes survive. The caller holds a [`Lock`].
///
/// # Errors
/// The bytes cannot be appended; the file is then as long as before.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::Append, path, source);
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mut file = Place::of(path)
        .and_then(|place| place.open_regular(flags, mode(Privacy::Shared)))
        .map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    // Before the bytes: an error after them would deny that they exist.
    if length == 0 {
        sync_directory(parent(path)).map_err(fail)?;
    }
    let appended = file.write_all(bytes).and_then(|()| file.sync_data());
    if let Err(error) = appended {
        // A full disk may take only some of the bytes.
        file.set_len(length).ok();
        return Err(fail(error));
    }
    Ok(())
}

/// Replaces a file atomically without waiting for the disk, for counts that are written with every call: it survives
/// the end of this process. After a power cut the file may be empty, or have any content since the last
/// [`forget_older`]. The caller holds a [`Lock`]. A reader without one may rarely see parts of two contents, and should
/// read again.
///
/// Two files are written in turns and exchange their names. Some file systems write a new file that replaces an old one
/// to the disk immediately, which takes twenty times as long.
///
/// # Errors
/// The new file cannot be written; the old one is then untouched.
pub fn write_quickly(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let fail = |error| FileError::new(Action::Write, path, error);
    let place = Place::of(path).map_err(fail)?;
    let beside = Place::of(&other(path)).map_err(fail)?;
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let written = refuse_link(&place)
        .and_then(|()| beside.open_regular(flags, mode(Privacy::Shared)))
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)
        })
        // The first file has no partner for an exchange, and not every file system supports it.
        .and_then(|()| beside.exchange(&place).or_else(|_| beside.rename(&place)));
    written.map_err(|error| {
        beside.remove().ok();
        fail(error)
    })
}

/// Returns the other of the two files.
fn other(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

/// Removes the older content of a file that is written quickly, so that a power cut cannot restore it. For callers that
/// have just written durably. The caller holds the same [`Lock`].
///
/// # Errors
/// It exists and cannot be removed.
pub fn forget_older(path: &Path) -> Result<(), FileError> {
    match remove_file(&other(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new(Action::Write, path, error))
        }
        _ => Ok(()),
    }
}

/// Writes a file for the owner alone without waiting for the disk, in a folder that is created if missing. A crash may
/// leave a part of it. An existing file is overwritten in place: file systems write a truncated or replaced file to the
/// disk immediately.
///
/// # Errors
/// The file cannot be written.
pub fn write_plainly(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let write = || {
        let place = Place::of(path)?;
        let mut file = place.open_regular(flags, mode(Privacy::Secret))?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    };
    let written = match write() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directory(parent(path), Privacy::Secret)?;
            write()
        }
        written => written,
    };
    written.map_err(|source| FileError::new(Action::Write, path, source))
}

/// End of a log before an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Whole lines, or nothing.
    Whole,
    /// A line without its end, left by a crash; it was ended, so that it stays visible and spoils no other.
    Torn,
}

/// Appends one line to a log, and returns the state of the last one. The caller holds a [`Lock`].
///
/// # Errors
/// The line cannot be added; the log is then as long as before.
pub fn append_line(path: &Path, line: &str, durable: bool) -> Result<Tail, FileError> {
    let fail = |source| FileError::new(Action::Append, path, source);
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
    let mut file = Place::of(path)
        .and_then(|place| place.open_regular(flags, mode(Privacy::Shared)))
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
    // Before the line: an error after it would deny that it exists.
    if length == 0 && durable {
        sync_directory(parent(path)).map_err(fail)?;
    }
    let synced = |file: &File| if durable { file.sync_data() } else { Ok(()) };
    if let Err(error) = file.write_all(&bytes).and_then(|()| synced(&file)) {
        // A full disk may take only some of the bytes.
        file.set_len(length).ok();
        return Err(fail(error));
    }
    Ok(tail)
}

/// Cuts a log to a length. The caller holds a [`Lock`].
///
/// # Errors
/// It cannot be opened or cut.
pub fn truncate(path: &Path, length: u64) -> Result<(), FileError> {
    Place::of(path)
        .and_then(|place| place.open_regular(OFlags::WRONLY, 0))
        .and_then(|file| file.set_len(length))
        .map_err(|source| FileError::new(Action::Write, path, source))
}

/// Creates a directory and its parents, durably; a secret one is closed to other users, its parents are not.
///
/// # Errors
/// The directory cannot be created.
pub fn make_directory(path: &Path, privacy: Privacy) -> Result<(), FileError> {
    let fail = |source| FileError::new(Action::MakeDirectory, path, source);
    match metadata(path) {
        Ok(facts) if facts.is_dir() => return Ok(()),
        Err(error) if is_link(&error) => return Err(fail(error)),
        _ => {}
    }
    let above = parent(path);
    make_directory(above, Privacy::Shared)?;
    // Everything that Role OS stores lies below this one.
    let directory_mode = match privacy {
        Privacy::Shared if path.file_name() != Some(".role-os".as_ref()) => 0o755,
        _ => 0o700,
    };
    let place = Place::of(path).map_err(fail)?;
    place
        .make_folder(directory_mode)
        .or_else(|error| match error.kind() {
            // Another process was faster.
            io::ErrorKind::AlreadyExists if place.metadata()?.is_dir() => Ok(()),
            _ => Err(error),
        })
        .and_then(|()| place.sync_folder())
        .map_err(fail)
}

/// Makes a rename inside the directory durable.
///
/// # Errors
/// The directory cannot be synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    Place::of(directory)?.open(flags, 0)?.sync_all()
}

pub fn parent(path: &Path) -> &Path {
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
