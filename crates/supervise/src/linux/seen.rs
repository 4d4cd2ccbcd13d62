//! What a notification is about, as the rule sees it.

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
    /// The first word, once the rule has asked; what it has not looked at need not stay the same.
    name: OnceCell<Option<OsString>>,
    /// All of them, likewise.
    words: OnceCell<Vec<OsString>>,
    /// Why something that the rule asked for could not be read.
    unread: Cell<Option<Unread>>,
    /// Where the supervisor finds the file.
    place: PathBuf,
    state: Option<FileState>,
    /// The file was changed just before, so a further change may not show.
    is_fresh: bool,
    target: Option<PathBuf>,
    source: Source<'a>,
    environment: OnceCell<Option<Vec<OsString>>>,
}

/// Where words and environment are found.
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

    /// Reads what a process that is stopped after `execve` really executes.
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

    /// The process.
    #[must_use]
    pub fn process(&self) -> u32 {
        process_of(self.thread).unwrap_or(self.thread)
    }

    /// The first of the program's words, by which it is called; like [`words`](Self::words) it is compared only when a
    /// rule has looked at it.
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

    /// The program's words, its name first. Only what a rule has looked at is compared when the program begins. None when
    /// they cannot be read; then the call fails, whatever the rule answers.
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

    /// Why the words could not be read, if a rule has asked for them.
    pub(super) fn unread(&self) -> Option<NoExec> {
        self.unread.get().map(NoExec::from)
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

    /// The file and its state, where they are known.
    #[must_use]
    pub fn state(&self) -> Option<FileState> {
        self.state
    }

    /// Where the supervisor can open a file that the program names.
    #[must_use]
    pub fn place_of(&self, path: &Path) -> PathBuf {
        place(self.thread, None, path)
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

    /// What must still be true when the program begins.
    pub(super) fn into_judged(self) -> Judged {
        Judged {
            name: self.name.into_inner(),
            words: self.words.into_inner(),
            state: self.state.filter(|_| !self.is_fresh),
            environment: self.environment.into_inner().flatten(),
        }
    }
}

/// What was judged: as much as the rule has looked at.
#[derive(Debug)]
pub(super) struct Judged {
    name: Option<Option<OsString>>,
    words: Option<Vec<OsString>>,
    /// None when a change would not show.
    state: Option<FileState>,
    environment: Option<Vec<OsString>>,
}

impl Judged {
    /// Whether a process executes exactly this. `stack` is that of an image which has not begun, where it is known.
    /// `false` as well when it cannot be told.
    pub(super) fn is_executed_by(&self, process: u32, stack: impl FnOnce() -> Option<u64>) -> bool {
        let exe = || FileState::of(format!("/proc/{process}/exe").as_ref());
        // The kernel lets nobody write to a file that is executed.
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
            // A list without words gets one from the kernel.
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

/// Where symbolic links lead, as far as they were followed already: a link never changes, and the file behind it is looked
/// up each time.
#[derive(Debug, Default)]
pub(super) struct Links {
    known: HashMap<(FileId, (i64, i64), FileId), Option<PathBuf>>,
}

/// More links than this are not remembered.
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

/// Finds a file that the caller names. An absolute name is looked up as the supervisor sees it first, which is quick; a
/// caller that sees another file executes that, and it is judged when it begins.
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

/// Where the supervisor finds a file that the caller names, as the caller sees it.
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

    /// The words of that program, as it shows them.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        memory::strings_of(self.process, "cmdline")
            .map_or_else(|_| Vec::new(), |bytes| memory::split(&bytes))
    }

    /// Its working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/cwd", self.process)).ok()
    }
}

/// The name of a socket without a file.
pub(super) fn abstract_name(bytes: &[u8]) -> PathBuf {
    let mut name = OsString::from("@");
    name.push(OsStr::from_bytes(bytes));
    PathBuf::from(name)
}
