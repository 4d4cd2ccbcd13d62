//! Resolves paths so that no symbolic link below `.role-os/` or `.claude/role-os/` is followed.
//!
//! A link in these folders can come with a clone or an archive. Following it would let its author select a file of the
//! user to read, append to or replace. From the folder's own name on, every component is opened separately with
//! `O_NOFOLLOW`, and operations go through the open folder, so that a link that appears meanwhile is not followed
//! either. Other paths, the workspace's root included, are resolved by the system.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, ReadDir};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, mkdirat, openat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

/// A symbolic link that is not followed.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is a symbolic link, and none is followed there", .0.display())]
struct LinkInTheWay(PathBuf);

/// Returns `true` if the error is a link that was not followed.
#[must_use]
pub fn is_link(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<LinkInTheWay>())
}

/// A name in an open folder, or a path outside the guarded folders.
#[derive(Debug)]
pub(super) struct Place {
    folder: Option<OwnedFd>,
    name: PathBuf,
    path: PathBuf,
}

impl Place {
    /// Opens the folder that holds `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let Some((above, below)) = split(path) else {
            return Ok(Self {
                folder: None,
                name: path.to_owned(),
                path: path.to_owned(),
            });
        };
        Self::walk(&above, &below, path)
    }

    /// Opens the folder that holds `path`. No link below `base` is followed, for any folder names.
    pub(super) fn below(base: &Path, path: &Path) -> io::Result<Self> {
        let below = path.strip_prefix(base).map_err(io::Error::other)?;
        let parts: Vec<&OsStr> = below.components().map(Component::as_os_str).collect();
        Self::walk(base, &parts, path)
    }

    /// Opens one folder after the other, starting at `above`.
    fn walk(above: &Path, below: &[&OsStr], path: &Path) -> io::Result<Self> {
        let Some((name, folders)) = below.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let start = match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        };
        let mut folder = retry_on_intr(|| openat(CWD, start, flags, Mode::empty()))?;
        let mut reached = above.to_owned();
        for part in folders {
            reached.push(part);
            let below = flags | OFlags::NOFOLLOW;
            let next = retry_on_intr(|| openat(&folder, *part, below, Mode::empty()));
            folder = next.map_err(|error| explain(folder.as_fd(), part, &reached, error))?;
        }
        Ok(Self {
            folder: Some(folder),
            name: name.into(),
            path: path.to_owned(),
        })
    }

    /// Returns a place beside this one.
    pub(super) fn sibling(&self, name: &OsStr) -> io::Result<Self> {
        let folder = self.folder.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Self {
            folder,
            name: self.name.with_file_name(name),
            path: self.path.with_file_name(name),
        })
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.folder.is_some()
    }

    fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_ref().map_or(CWD, OwnedFd::as_fd)
    }

    /// Opens the file with these flags; a new one gets `mode`.
    pub(super) fn open(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        let follow = match self.is_guarded() {
            true => OFlags::NOFOLLOW,
            false => OFlags::empty(),
        };
        let flags = flags | follow | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        retry_on_intr(|| openat(self.folder(), &self.name, flags, mode))
            .map(File::from)
            .map_err(|error| self.explain(error))
    }

    /// Opens a regular file. Any other kind could swallow writes, or block.
    pub(super) fn open_regular(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        let other = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        match self.open(flags | OFlags::NONBLOCK, mode) {
            Ok(file) if file.metadata()?.is_file() => Ok(file),
            Ok(_) => Err(other()),
            // A pipe that has no reader.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => Err(other()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        if !self.is_guarded() {
            return fs::metadata(&self.path);
        }
        let facts = self.open(OFlags::PATH, 0)?.metadata()?;
        match facts.is_symlink() {
            true => Err(self.explain(Errno::LOOP)),
            false => Ok(facts),
        }
    }

    pub(super) fn make_folder(&self, mode: u32) -> io::Result<()> {
        mkdirat(self.folder(), &self.name, Mode::from_raw_mode(mode))?;
        Ok(())
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        unlinkat(self.folder(), &self.name, AtFlags::empty())?;
        Ok(())
    }

    /// Creates a link to `target`.
    pub(super) fn make_link(&self, target: &Path) -> io::Result<()> {
        symlinkat(target, self.folder(), &self.name)?;
        Ok(())
    }

    pub(super) fn rename(&self, to: &Self) -> io::Result<()> {
        renameat(self.folder(), &self.name, to.folder(), &to.name)?;
        Ok(())
    }

    /// Exchanges the two names.
    pub(super) fn exchange(&self, with: &Self) -> io::Result<()> {
        let flags = RenameFlags::EXCHANGE;
        renameat_with(self.folder(), &self.name, with.folder(), &with.name, flags)?;
        Ok(())
    }

    /// Makes the names in the folder durable.
    pub(super) fn sync_folder(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = match &self.folder {
            Some(folder) => openat(folder, ".", flags, Mode::empty())?,
            None => openat(CWD, super::parent(&self.path), flags, Mode::empty())?,
        };
        File::from(open).sync_all()
    }

    fn explain(&self, error: Errno) -> io::Error {
        match &self.folder {
            Some(folder) => explain(folder.as_fd(), self.name.as_os_str(), &self.path, error),
            None => error.into(),
        }
    }
}

/// Names the link in the error, if a link is the reason.
fn explain(folder: BorrowedFd<'_>, name: &OsStr, path: &Path, error: Errno) -> io::Error {
    let facts = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_link = facts.is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode).is_symlink());
    match is_link {
        true => io::Error::other(LinkInTheWay(path.to_owned())),
        false => error.into(),
    }
}

/// Splits a path before the first guarded folder, below which no link is followed.
fn split(path: &Path) -> Option<(PathBuf, Vec<&OsStr>)> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let is_guarded = |at: usize| {
        let part = |at: usize| parts.get(at).map(|part| part.as_os_str());
        let above = at.checked_sub(1).and_then(part);
        part(at) == Some(OsStr::new(".role-os"))
            || part(at) == Some(OsStr::new("role-os")) && above == Some(OsStr::new(".claude"))
    };
    let start = (0..parts.len()).find(|at| is_guarded(*at))?;
    let (above, below) = parts.split_at(start);
    let below = below.iter().map(|part| part.as_os_str()).collect();
    Some((above.iter().collect(), below))
}

/// Opens a file for reading.
///
/// # Errors
/// The file cannot be opened, or it is below a guarded folder and not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let place = Place::of(path)?;
    match place.is_guarded() {
        true => place.open_regular(OFlags::RDONLY, 0),
        // Without this flag, opening a pipe waits for a writer.
        false => place.open(OFlags::RDONLY | OFlags::NONBLOCK, 0),
    }
}

/// Opens a file or folder to read its metadata or change its owner. A link itself is opened.
///
/// # Errors
/// It does not exist, or a link is in the way of its folder.
pub(crate) fn open_itself(path: &Path) -> io::Result<File> {
    Place::of(path)?.open(OFlags::PATH | OFlags::NOFOLLOW, 0)
}

/// Opens a log for reading and appending; a new one is only for the owner.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open_log(path: &Path) -> io::Result<File> {
    Place::of(path)?.open_regular(OFlags::RDWR | OFlags::APPEND | OFlags::CREATE, 0o600)
}

/// Returns the metadata of a file.
///
/// # Errors
/// It does not exist, or a link is in the way.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    Place::of(path)?.metadata()
}

/// Lists a folder. Only the names may be used: open them through this module.
///
/// # Errors
/// It does not exist, or a link is in the way.
pub fn read_dir(path: &Path) -> io::Result<ReadDir> {
    metadata(path)?;
    fs::read_dir(path)
}

/// Removes a file, or a link itself.
///
/// # Errors
/// It does not exist, or a link is in the way of its folder.
pub fn remove_file(path: &Path) -> io::Result<()> {
    Place::of(path)?.remove()
}

/// Renames a file.
///
/// # Errors
/// It cannot be renamed, or a link is in the way of a folder.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    Place::of(from)?.rename(&Place::of(to)?)
}
