//! Connections to local sockets, made by the supervisor itself on a copy of the caller's socket and of the address,
//! so that the judged socket is the connected one.
//!
//! The kernel continues the call for a socket of another family. A process that swaps its descriptor within that
//! moment, from another thread, is not detected.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::calls::Call;
use super::memory::{Memory, Unread};
use super::seen::{abstract_name, process_of};

/// Offset of the name in `sockaddr_un`, and its limit.
const NAME: usize = offset_of!(libc::sockaddr_un, sun_path);
const MAX_ADDRESS: usize = size_of::<libc::sockaddr_un>();

/// Target of a connection.
pub(super) enum Wanted {
    /// A target that is not judged.
    Other,
    /// A local socket.
    Local(Local),
}

/// A local socket that shall be connected.
pub(super) struct Local {
    pub(super) process: u32,
    /// Name for the rule.
    pub(super) name: PathBuf,
    socket: i32,
    place: Place,
}

enum Place {
    /// A file, kept open.
    File(OwnedFd),
    /// A name without a file.
    Abstract(Vec<u8>),
}

/// Reads the target of a connection.
pub(super) fn read(thread: u32, call: Call) -> Result<Wanted, Unread> {
    let memory = Memory::of(thread);
    let (socket, address, length) = match call {
        Call::Connect {
            socket,
            address,
            length,
        } => (socket, address, length),
        Call::PackedConnect { arguments } => {
            let mut packed = [0; 12];
            memory.bytes(arguments, &mut packed)?;
            let (words, _) = packed.as_chunks::<4>();
            let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
            let mut next = || words.next().unwrap_or_default();
            (next().cast_signed(), u64::from(next()), next())
        }
        Call::Exec { .. } => return Ok(Wanted::Other),
    };
    let length = usize::try_from(length).unwrap_or(0).min(MAX_ADDRESS);
    let mut bytes = [0; MAX_ADDRESS];
    let bytes = bytes.get_mut(..length).unwrap_or_default();
    memory.bytes(address, bytes)?;
    let family = bytes
        .first_chunk::<2>()
        .map(|family| u16::from_ne_bytes(*family));
    let name = bytes.get(NAME..).filter(|name| !name.is_empty());
    let (true, Some(name)) = (family.map(i32::from) == Some(libc::AF_UNIX), name) else {
        return Ok(Wanted::Other);
    };
    let process = process_of(thread).ok_or(Unread::Forbidden)?;
    if let Some(name) = name.strip_prefix(&[0]) {
        let place = Place::Abstract(name.to_vec());
        return Ok(Wanted::Local(Local {
            process,
            name: abstract_name(name),
            socket,
            place,
        }));
    }
    let end = name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(name.len());
    let path = Path::new(OsStr::from_bytes(name.get(..end).unwrap_or(name)));
    let start = if path.is_absolute() { "root" } else { "cwd" };
    let path = path.strip_prefix("/").unwrap_or(path);
    let place = Path::new(&format!("/proc/{thread}/{start}")).join(path);
    let opened = rustix::fs::open(&place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let file = opened.map_err(|error| Unread::Invalid(error.raw_os_error()))?;
    let name = fs::read_link(of_descriptor(&file)).map_err(|_| Unread::Forbidden)?;
    Ok(Wanted::Local(Local {
        process,
        name,
        socket,
        place: Place::File(file),
    }))
}

fn of_descriptor(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// A prepared connection.
pub(super) struct Ready {
    socket: OwnedFd,
    address: SocketAddrUnix,
    /// Set if connecting may block.
    pub(super) may_wait: bool,
    /// File of the address, kept open.
    _file: Option<OwnedFd>,
}

impl Local {
    /// Copies the caller's socket. Fails if the kernel does not permit it.
    pub(super) fn prepare(self) -> io::Result<Ready> {
        let process = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        let process = pidfd_open(process.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        let socket = pidfd_getfd(&process, self.socket, PidfdGetfdFlags::empty())?;
        let (address, file) = match self.place {
            Place::File(file) => (SocketAddrUnix::new(of_descriptor(&file))?, Some(file)),
            Place::Abstract(name) => (SocketAddrUnix::new_abstract_name(&name)?, None),
        };
        let may_wait = !rustix::fs::fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK);
        Ok(Ready {
            socket,
            address,
            may_wait,
            _file: file,
        })
    }
}

impl Ready {
    /// Connects; returns the number of the error if that fails.
    pub(super) fn connect(&self) -> Result<(), i32> {
        rustix::net::connect(&self.socket, &self.address).map_err(Errno::raw_os_error)
    }
}
