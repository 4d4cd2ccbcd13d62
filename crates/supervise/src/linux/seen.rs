//! What a notification is about, as the rule sees it.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::calls::Call;
use super::memory::{self, MAX_PATH, Memory, Unread};

/// Device and inode.
pub(super) type FileId = (u64, u64);

/// A program that is about to be executed, or that is stopped before its first instruction.
#[derive(Debug)]
pub struct Exec<'a> {
    thread: u32,
    path: PathBuf,
    words: Vec<OsString>,
    /// Where the supervisor finds the file.
    place: PathBuf,
    file: Option<FileId>,
    size: u64,
    target: Option<PathBuf>,
    source: Source<'a>,
    environment: RefCell<Option<Vec<OsString>>>,
}

/// Where the environment is found.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// In the memory of the caller.
    Caller(&'a Memory, u64, bool),
    /// In the new image.
    Image,
}

/// Why there is nothing to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoExec {
    /// The call fails with this error, as it would without us.
    Fails(i32),
    /// The caller cannot be read.
    Forbidden,
}

impl From<Unread> for NoExec {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Invalid(errno) => Self::Fails(errno),
            Unread::Forbidden => Self::Forbidden,
        }
    }
}

impl<'a> Exec<'a> {
    /// Reads the arguments of an `execve` or `execveat`.
    pub(super) fn read(
        thread: u32,
        memory: &'a Memory,
        call: Call,
        mounts: &[PathBuf],
    ) -> Result<Self, NoExec> {
        let Call::Exec {
            folder,
            path,
            words,
            environment,
            wide,
        } = call
        else {
            return Err(NoExec::Fails(libc::ENOSYS));
        };
        let path = memory.string(path, MAX_PATH, libc::ENAMETOOLONG)?;
        let path = PathBuf::from(OsString::from_vec(path));
        let place = place(thread, folder, &path);
        let facts = fs::symlink_metadata(&place);
        let (facts, target) = match facts {
            Ok(facts) if facts.is_symlink() => {
                (fs::metadata(&place).ok(), fs::canonicalize(&place).ok())
            }
            Ok(facts) => (Some(facts), None),
            Err(error) => match error.raw_os_error() {
                // One step of a search through PATH.
                Some(errno @ (libc::ENOENT | libc::ENOTDIR))
                    if sees_the_same(thread, &path, mounts) =>
                {
                    return Err(NoExec::Fails(errno));
                }
                _ => (None, None),
            },
        };
        let words = memory.list(words, wide)?;
        let path = named(thread, folder, path);
        let source = Source::Caller(memory, environment, wide);
        Ok(Self {
            thread,
            path,
            words,
            place,
            file: facts.as_ref().map(id),
            size: facts.map_or(0, |facts| facts.len()),
            target,
            source,
            environment: RefCell::new(None),
        })
    }

    /// Reads what a process that is stopped after `execve` really executes.
    pub(super) fn of_image(process: u32) -> Option<Self> {
        let words = memory::split(&memory::strings_of(process, "cmdline").ok()?);
        let exe = format!("/proc/{process}/exe");
        let facts = fs::metadata(&exe).ok();
        let path = fs::read_link(&exe).ok()?;
        let source = Source::Image;
        Some(Self {
            thread: process,
            path,
            words,
            place: exe.into(),
            file: facts.as_ref().map(id),
            size: facts.map_or(0, |facts| facts.len()),
            target: None,
            source,
            environment: RefCell::new(None),
        })
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> u32 {
        process_of(self.thread).unwrap_or(self.thread)
    }

    /// The program's words, its name first.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The file as the caller names it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the name leads, if it is a symbolic link.
    #[must_use]
    pub fn target(&self) -> Option<&Path> {
        self.target.as_deref()
    }

    /// Device and inode of the file, where they are known.
    #[must_use]
    pub fn file(&self) -> Option<(u64, u64)> {
        self.file
    }

    /// How long the file is; 0 where that is not known.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Where the supervisor can open the file, while the caller waits.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Whether the program is stopped before its first instruction: a refusal ends the process.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.source, Source::Image)
    }

    /// The working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/cwd", self.thread)).ok()
    }

    /// The environment that the program gets, as `NAME=value`. What a rule has looked at is compared as well.
    #[must_use]
    pub fn environment(&self) -> Option<Vec<OsString>> {
        if self.environment.borrow().is_none() {
            let read = match self.source {
                Source::Caller(memory, address, wide) => memory.list(address, wide).ok(),
                Source::Image => memory::strings_of(self.thread, "environ")
                    .ok()
                    .map(|bytes| memory::split(&bytes)),
            };
            *self.environment.borrow_mut() = read;
        }
        self.environment.borrow().clone()
    }

    /// What must still be true when the program begins.
    pub(super) fn into_judged(self) -> Judged {
        Judged {
            words: self.words,
            file: self.file,
            environment: self.environment.into_inner(),
        }
    }
}

/// What was judged.
#[derive(Debug)]
pub(super) struct Judged {
    words: Vec<OsString>,
    file: Option<FileId>,
    /// As far as the rule has looked at it.
    environment: Option<Vec<OsString>>,
}

impl Judged {
    /// Whether a process executes exactly this. `false` as well when it cannot be told.
    pub(super) fn is_executed_by(&self, process: u32) -> bool {
        let same = |file: &str, words: &[OsString]| {
            memory::strings_of(process, file).is_ok_and(|bytes| memory::are(&bytes, words))
        };
        let exe = || {
            fs::metadata(format!("/proc/{process}/exe"))
                .ok()
                .map(|facts| id(&facts))
        };
        self.file.is_some_and(|judged| exe() == Some(judged))
            && same("cmdline", &self.words)
            && self
                .environment
                .as_ref()
                .is_none_or(|environment| same("environ", environment))
    }
}

fn id(facts: &fs::Metadata) -> FileId {
    (facts.dev(), facts.ino())
}

/// Where the supervisor finds a file that the caller names.
fn place(thread: u32, folder: Option<i32>, path: &Path) -> PathBuf {
    let own = |rest: &Path| Path::new(&format!("/proc/{thread}")).join(rest);
    if let Ok(rest) = path
        .strip_prefix("/proc/self")
        .or_else(|_| path.strip_prefix("/proc/thread-self"))
    {
        return own(rest);
    }
    if let Ok(rest) = path.strip_prefix("/dev/fd") {
        return own(Path::new("fd")).join(rest);
    }
    if let Ok(rest) = path.strip_prefix("/") {
        return own(Path::new("root")).join(rest);
    }
    let start = folder.map_or_else(
        || own(Path::new("cwd")),
        |fd| own(Path::new(&format!("fd/{fd}"))),
    );
    if path.as_os_str().is_empty() {
        start
    } else {
        start.join(path)
    }
}

/// The file's name for the rule: a descriptor is named by what it is open on.
fn named(thread: u32, folder: Option<i32>, path: PathBuf) -> PathBuf {
    let descriptor = match folder {
        Some(fd) if path.as_os_str().is_empty() => Some(fd.to_string()),
        _ => ["/proc/self/fd", "/dev/fd"]
            .iter()
            .find_map(|start| path.strip_prefix(start).ok())
            .and_then(|rest| rest.to_str().map(str::to_owned)),
    };
    let opened = descriptor.and_then(|fd| fs::read_link(format!("/proc/{thread}/fd/{fd}")).ok());
    opened.unwrap_or(path)
}

/// Whether a file that is missing for us is missing for the caller: it sees known mounts, and the name is no file of the
/// kernel that looks different to each process.
fn sees_the_same(thread: u32, path: &Path, mounts: &[PathBuf]) -> bool {
    let special = ["/proc", "/dev"]
        .iter()
        .any(|start| path.starts_with(start));
    !special && path.is_absolute() && mounts_of(thread).is_some_and(|its| mounts.contains(&its))
}

/// The mount namespace of a process, by its name.
pub(super) fn mounts_of(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/mnt")).ok()
}

/// The process of a thread.
pub(super) fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// A connection to a local socket.
#[derive(Debug)]
pub struct Connect<'a> {
    process: u32,
    socket: &'a Path,
}

impl<'a> Connect<'a> {
    pub(super) fn new(process: u32, socket: &'a Path) -> Self {
        Self { process, socket }
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The socket's real path; the name of one without a file begins with `@`.
    #[must_use]
    pub fn socket(&self) -> &Path {
        self.socket
    }

    /// The program that connects.
    #[must_use]
    pub fn program(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.process)).ok()
    }
}

/// The name of a socket without a file.
pub(super) fn abstract_name(bytes: &[u8]) -> PathBuf {
    let mut name = OsString::from("@");
    name.push(OsStr::from_bytes(bytes));
    PathBuf::from(name)
}
