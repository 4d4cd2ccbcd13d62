//! Subject of a notification, in the form for the rule.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::calls::Call;
use super::memory::{self, Memory, Unread};
use crate::FileState;

/// Device and inode.
pub(super) type FileId = (u64, u64);

/// A program that is about to be executed, or that is stopped before its first instruction.
#[derive(Debug)]
pub struct Exec<'a> {
    thread: u32,
    path: PathBuf,
    /// First argument, if the rule has read it; unread parts may change.
    name: OnceCell<Option<OsString>>,
    /// All arguments, likewise.
    words: OnceCell<Vec<OsString>>,
    /// Reason that a part which the rule requested could not be read.
    unread: Cell<Option<Unread>>,
    /// Path of the file for the supervisor.
    place: PathBuf,
    state: Option<FileState>,
    /// Set if the file was changed just before, so that a further change may not be visible.
    is_fresh: bool,
    target: Option<PathBuf>,
    source: Source<'a>,
    environment: OnceCell<Option<Vec<OsString>>>,
}

/// Source of arguments and environment.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// In the memory of the caller.
    Caller {
        memory: &'a Memory,
        first: u64,
        words: u64,
        environment: u64,
        wide: bool,
    },
    /// In the new image.
    Image,
}

/// Reason that there is nothing to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoExec {
    /// The call fails with this error, as it would without supervision.
    Fails(i32),
    /// The caller's memory cannot be read.
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
        links: &mut Links,
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
        let (path, first) = memory.path_and_first(path, words, wide)?;
        let path = PathBuf::from(OsString::from_vec(path));
        let (place, facts) = find(thread, folder, &path);
        let (facts, target) = match facts {
            Ok(facts) if facts.is_symlink() => match fs::metadata(&place) {
                Ok(real) => {
                    let target = links.target(&place, &facts, &real);
                    (Some(real), target)
                }
                Err(_) => (None, None),
            },
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
        let path = named(thread, folder, path);
        let state = facts.as_ref().map(FileState::from);
        let source = Source::Caller {
            memory,
            first,
            words,
            environment,
            wide,
        };
        Ok(Self {
            thread,
            path,
            name: OnceCell::new(),
            words: OnceCell::new(),
            unread: Cell::new(None),
            place,
            is_fresh: state.as_ref().is_some_and(FileState::is_fresh),
            state,
            target,
            source,
            environment: OnceCell::new(),
        })
    }

    /// Reads the program of a process that is stopped after `execve`.
    pub(super) fn of_image(process: u32) -> Option<Self> {
        let words = memory::split(&memory::strings_of(process, "cmdline").ok()?);
        let exe = format!("/proc/{process}/exe");
        let path = fs::read_link(&exe).ok()?;
        let source = Source::Image;
        Some(Self {
            thread: process,
            path,
            name: OnceCell::from(words.first().cloned()),
            words: OnceCell::from(words),
            unread: Cell::new(None),
            state: FileState::of(exe.as_ref()),
            place: exe.into(),
            is_fresh: false,
            target: None,
            source,
            environment: OnceCell::new(),
        })
    }

    /// Returns the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        process_of(self.thread).unwrap_or(self.thread)
    }

    /// Returns the first argument of the program, by which it is called; like [`words`](Self::words) it is compared
    /// only if a rule has read it.
    #[must_use]
    pub fn name(&self) -> Option<&OsStr> {
        let read = self.name.get_or_init(|| match self.source {
            Source::Caller { memory, first, .. } => memory
                .word(first)
                .unwrap_or_else(|why| {
                    self.unread.set(Some(why));
                    None
                })
                .map(OsString::from_vec),
            Source::Image => None,
        });
        read.as_deref()
    }

    /// Returns the arguments of the program, its name first. Only parts that a rule has read are compared when the
    /// program begins. Empty if they cannot be read; then the call fails, whatever the rule answers.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        self.words.get_or_init(|| match self.source {
            Source::Caller {
                memory,
                words,
                wide,
                ..
            } => memory.list(words, wide).unwrap_or_else(|why| {
                self.unread.set(Some(why));
                Vec::new()
            }),
            Source::Image => Vec::new(),
        })
    }

    /// Returns why the arguments could not be read, if a rule has requested them.
    pub(super) fn unread(&self) -> Option<NoExec> {
        self.unread.get().map(NoExec::from)
    }

    /// Returns the file as the caller names it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the target of the name, if it is a symbolic link.
    #[must_use]
    pub fn target(&self) -> Option<&Path> {
        self.target.as_deref()
    }

    /// Returns the file and its state, if they are known.
    #[must_use]
    pub fn state(&self) -> Option<FileState> {
        self.state
    }

    /// Returns the path by which the supervisor can open a file that the program names.
    #[must_use]
    pub fn place_of(&self, path: &Path) -> PathBuf {
        place(self.thread, None, path)
    }

    /// Returns the path by which the supervisor can open the file, while the caller waits.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns `true` if the program is stopped before its first instruction: a refusal ends the process.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.source, Source::Image)
    }

    /// Returns the working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/cwd", self.thread)).ok()
    }

    /// Returns the environment of the program, as `NAME=value`. It is compared as well if a rule has read it.
    #[must_use]
    pub fn environment(&self) -> Option<&[OsString]> {
        let read = self.environment.get_or_init(|| match self.source {
            Source::Caller {
                memory,
                environment,
                wide,
                ..
            } => memory.list(environment, wide).ok(),
            Source::Image => memory::strings_of(self.thread, "environ")
                .ok()
                .map(|bytes| memory::split(&bytes)),
        });
        read.as_deref()
    }

    /// Returns the conditions that must still hold when the program begins.
    pub(super) fn into_judged(self) -> Judged {
        Judged {
            name: self.name.into_inner(),
            words: self.words.into_inner(),
            state: self.state.filter(|_| !self.is_fresh),
            environment: self.environment.into_inner().flatten(),
        }
    }
}

/// Judged parts of an execution: those that the rule has read.
#[derive(Debug)]
pub(super) struct Judged {
    name: Option<Option<OsString>>,
    words: Option<Vec<OsString>>,
    /// State of the file; `None` if a change would not be visible.
    state: Option<FileState>,
    environment: Option<Vec<OsString>>,
}

impl Judged {
    /// Returns `true` if a process executes exactly this. `stack` is that of an image which has not begun, if it is
    /// known. Returns `false` as well if that is unknown.
    pub(super) fn is_executed_by(&self, process: u32, stack: impl FnOnce() -> Option<u64>) -> bool {
        let exe = || FileState::of(format!("/proc/{process}/exe").as_ref());
        // The kernel does not permit writing to a file that is executed.
        self.state.is_some_and(|judged| exe() == Some(judged))
            && self.has_words(process, stack)
            && self.environment.as_ref().is_none_or(|environment| {
                memory::strings_of(process, "environ")
                    .is_ok_and(|bytes| memory::are(&bytes, environment))
            })
    }

    fn has_words(&self, process: u32, stack: impl FnOnce() -> Option<u64>) -> bool {
        let whole = self.words.is_some();
        let words: Vec<&OsStr> = match (&self.words, &self.name) {
            (Some(words), _) => words.iter().map(OsString::as_os_str).collect(),
            (None, Some(Some(name))) => vec![name],
            // The kernel adds an argument to an empty list.
            (None, Some(None)) => return false,
            (None, None) => return true,
        };
        if stack().is_some_and(|stack| Memory::of(process).starts_with(stack, &words, whole)) {
            return true;
        }
        let Ok(bytes) = memory::strings_of(process, "cmdline") else {
            return false;
        };
        match whole {
            true => memory::are(&bytes, &words),
            false => {
                memory::split(&bytes).first().map(OsString::as_os_str) == words.first().copied()
            }
        }
    }
}

/// Cache of the targets of symbolic links: a link never changes, and the file behind it is looked up each time.
#[derive(Debug, Default)]
pub(super) struct Links {
    known: HashMap<(FileId, (i64, i64), FileId), Option<PathBuf>>,
}

/// Limit of cached links.
const MAX_LINKS: usize = 4096;

impl Links {
    fn target(
        &mut self,
        place: &Path,
        link: &fs::Metadata,
        real: &fs::Metadata,
    ) -> Option<PathBuf> {
        let made = (link.ctime(), link.ctime_nsec());
        let key = (id(link), made, id(real));
        if self.known.len() >= MAX_LINKS {
            self.known.clear();
        }
        let known = self.known.entry(key);
        known
            .or_insert_with(|| fs::canonicalize(place).ok())
            .clone()
    }
}

fn id(facts: &fs::Metadata) -> FileId {
    (facts.dev(), facts.ino())
}

/// Finds a file that the caller names. An absolute name is looked up by the supervisor's view first, which is fast; a
/// caller with another view executes another file, which is judged when it begins.
fn find(thread: u32, folder: Option<i32>, path: &Path) -> (PathBuf, io::Result<fs::Metadata>) {
    let differs = ["/proc", "/dev"]
        .iter()
        .any(|start| path.starts_with(start));
    if path.is_absolute()
        && !differs
        && let Ok(facts) = fs::symlink_metadata(path)
    {
        return (path.to_owned(), Ok(facts));
    }
    let place = place(thread, folder, path);
    let facts = fs::symlink_metadata(&place);
    (place, facts)
}

/// Returns the path by which the supervisor finds a file in the caller's view.
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

/// Returns the file's name for the rule: a descriptor gets the name of its open file.
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

/// Returns `true` if a file that is missing for the supervisor is missing for the caller as well: its mounts are
/// known, and the name is not a kernel file that differs by process.
fn sees_the_same(thread: u32, path: &Path, mounts: &[PathBuf]) -> bool {
    let special = ["/proc", "/dev"]
        .iter()
        .any(|start| path.starts_with(start));
    !special && path.is_absolute() && mounts_of(thread).is_some_and(|its| mounts.contains(&its))
}

/// Returns the mount namespace of a process, by its name.
pub(super) fn mounts_of(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/mnt")).ok()
}

/// Returns the process of a thread.
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

    /// Returns the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns the socket's real path; the name of one without a file begins with `@`.
    #[must_use]
    pub fn socket(&self) -> &Path {
        self.socket
    }

    /// Returns the program that connects.
    #[must_use]
    pub fn program(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.process)).ok()
    }

    /// Returns the arguments of that program, as it shows them.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        memory::strings_of(self.process, "cmdline")
            .map_or_else(|_| Vec::new(), |bytes| memory::split(&bytes))
    }

    /// Returns its working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/cwd", self.process)).ok()
    }
}

/// Returns the name of a socket without a file.
pub(super) fn abstract_name(bytes: &[u8]) -> PathBuf {
    let mut name = OsString::from("@");
    name.push(OsStr::from_bytes(bytes));
    PathBuf::from(name)
}
