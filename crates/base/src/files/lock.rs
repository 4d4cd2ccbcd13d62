//! Locks between processes. A lock file is accessible only to its owner, because `flock` needs only the right to read
//! it.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::place::Place;
use super::{Action, FileError, Privacy, make_directory, parent};

/// Time that this process waits for a lock, in milliseconds.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(10_000);

/// Time to wait for a lock that is held during long reads or writes.
const LONG: Duration = Duration::from_secs(600);

/// Limits how long this process waits for a lock that is usually held only briefly.
pub fn wait_at_most(patience: Duration) {
    let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    PATIENCE_MS.store(patience, Ordering::Relaxed);
}

/// A lock that blocks other processes until it is dropped, or until this process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock file at `path`, which is created if missing and never removed.
    ///
    /// # Errors
    /// The lock file cannot be opened, or another process holds it for too long.
    pub fn take(path: &Path) -> Result<Self, FileError> {
        Self::take_within(path, patience())
    }

    /// Waits up to ten minutes, for a lock that is held during long work.
    ///
    /// # Errors
    /// The lock file cannot be opened, or another process holds it for longer.
    pub fn take_patiently(path: &Path) -> Result<Self, FileError> {
        Self::take_within(path, LONG)
    }

    fn take_within(path: &Path, patience: Duration) -> Result<Self, FileError> {
        open(path)
            .and_then(|file| wait(file, Kind::Alone, patience))
            .map(|file| Self { _file: file })
            .map_err(|source| FileError::new(Action::Lock, path, source))
    }

    /// Waits for the lock beside a file, `<name>.lock`; its folder is created if missing.
    ///
    /// # Errors
    /// The lock file cannot be opened, or another process holds it for too long.
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

    /// Waits until no process holds the lock at `path`, and blocks writers but not readers. Changes nothing on disk.
    ///
    /// # Errors
    /// There is no such lock file, or another process holds it for too long.
    pub fn share(path: &Path) -> Result<Self, FileError> {
        super::open(path)
            .and_then(|file| wait(file, Kind::Shared, patience()))
            .map(|file| Self { _file: file })
            .map_err(|source| FileError::new(Action::Lock, path, source))
    }
}

/// Opens a lock file, created if missing and closed to other users.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let file = Place::of(path)?.open_regular(flags, 0o600)?;
    let facts = file.metadata()?;
    if facts.mode() & 0o077 != 0 && facts.uid() == geteuid().as_raw() {
        file.set_permissions(fs::Permissions::from_mode(facts.mode() & 0o700))?;
    }
    Ok(file)
}

/// Waits for the lock of an open file, with this process's time limit.
pub fn lock(file: File) -> io::Result<File> {
    wait(file, Kind::Alone, patience())
}

fn patience() -> Duration {
    Duration::from_millis(PATIENCE_MS.load(Ordering::Relaxed))
}

#[derive(Clone, Copy)]
enum Kind {
    Alone,
    Shared,
}

/// Waits with a time limit. The system has no such call, and polling could starve one of many waiters. So a thread
/// waits, and after the limit it keeps the file and closes it as soon as it has the lock.
fn wait(file: File, kind: Kind, patience: Duration) -> io::Result<File> {
    let tried = match kind {
        Kind::Alone => file.try_lock(),
        Kind::Shared => file.try_lock_shared(),
    };
    match tried {
        Ok(()) => return Ok(file),
        Err(fs::TryLockError::WouldBlock) => {}
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    let facts = file.metadata()?;
    let (send, receive) = mpsc::sync_channel(1);
    thread::Builder::new().spawn(move || {
        let locked = match kind {
            Kind::Alone => file.lock(),
            Kind::Shared => file.lock_shared(),
        };
        send.send(locked.map(|()| file)).ok();
    })?;
    let late = |_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            held(&facts, patience),
        ))
    };
    receive.recv_timeout(patience).unwrap_or_else(late)
}

fn held(facts: &Metadata, patience: Duration) -> String {
    let by = holder(facts.ino()).map_or_else(
        || "another process".to_owned(),
        |id| {
            let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            match name.trim() {
                "" => format!("process {id}"),
                name => format!("process {id} ({})", name.escape_default()),
            }
        },
    );
    format!("held by {by} for more than {} seconds", patience.as_secs())
}

/// Returns the process that holds the lock of a file. The device is not compared: layered file systems report another
/// one.
fn holder(inode: u64) -> Option<u32> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (kind, id) = (words.next()?, words.nth(2)?);
        let place = words.next()?.rsplit(':').next()?;
        let is_it = kind == "FLOCK" && place.parse() == Ok(inode);
        is_it.then(|| id.parse().ok()).flatten()
    })
}
