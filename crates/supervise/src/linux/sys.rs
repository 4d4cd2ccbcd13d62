//! System calls that have no safe wrapper elsewhere. With `alarm.rs` the only `unsafe` code of the project; no
//! decision is made here.
#![expect(
    unsafe_code,
    reason = "seccomp notifications, ptrace, fork and signal masks have no safe interface"
)]

use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::io::{self, Read as _};
use std::mem;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use libc::{pid_t, sigset_t, sock_filter};

/// The kernel's `struct seccomp_data`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Data {
    pub(super) number: i32,
    pub(super) arch: u32,
    pub(super) instruction: u64,
    pub(super) args: [u64; 6],
}

/// The kernel's `struct seccomp_notif`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notification {
    pub(super) id: u64,
    /// Id of the thread.
    pub(super) thread: u32,
    pub(super) flags: u32,
    pub(super) data: Data,
}

/// The kernel's `struct seccomp_notif_resp`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: u64 = 0xc050_2100;
const SEND: u64 = 0xc018_2101;
const IS_VALID: u64 = 0x4008_2102;
const SET_FLAGS: u64 = 0x4008_2104;
const SYNC_WAKE_UP: u64 = 1;
const CONTINUE: u32 = 1;
const SET_MODE_FILTER: c_long = 1;
const NEW_LISTENER: c_long = 1 << 3;
/// Without this flag, kernels before 5.16 slow down every filtered process by a mitigation of speculation.
const SPEC_ALLOW: c_long = 1 << 2;
const WAIT_KILLABLE: c_long = 1 << 5;

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn ioctl<T>(listener: BorrowedFd<'_>, request: u64, argument: &mut T) -> io::Result<()> {
    // SAFETY: each caller pairs the request with the structure that the kernel reads or writes for it; the reference
    // keeps it alive and alone for the call.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), request as _, ptr::from_mut(argument)) };
    checked(result.into()).map(drop)
}

/// Receives the next notification.
pub(super) fn receive(listener: BorrowedFd<'_>) -> io::Result<Notification> {
    // The kernel requires zeros.
    let mut notification = Notification::default();
    ioctl(listener, RECEIVE, &mut notification)?;
    Ok(notification)
}

/// Result of a notified call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The kernel executes it.
    Continue,
    /// It returns this value.
    Value(i64),
    /// It fails with this error.
    Error(i32),
}

/// Answers a notification. If the caller is gone, the error changes nothing.
pub(super) fn reply(listener: BorrowedFd<'_>, id: u64, reply: Reply) -> io::Result<()> {
    let (value, error, flags) = match reply {
        Reply::Continue => (0, 0, CONTINUE),
        Reply::Value(value) => (value, 0, 0),
        Reply::Error(errno) => (0, -errno, 0),
    };
    ioctl(
        listener,
        SEND,
        &mut Response {
            id,
            value,
            error,
            flags,
        },
    )
}

/// Returns `true` if the caller still waits, so that its thread id is not reused.
pub(super) fn is_valid(listener: BorrowedFd<'_>, mut id: u64) -> bool {
    ioctl(listener, IS_VALID, &mut id).is_ok()
}

/// Requests wake-ups on the caller's own core; older kernels do not support them.
pub(super) fn wake_in_sync(listener: BorrowedFd<'_>) {
    // SAFETY: this request takes its flags by value.
    unsafe { libc::ioctl(listener.as_raw_fd(), SET_FLAGS as _, SYNC_WAKE_UP) };
}

/// Installs a filter with a listener and returns the listener's number. It is not owned: the table of descriptors is
/// shared with the supervisor, which owns it.
pub(super) fn install(filter: &mut [sock_filter]) -> io::Result<RawFd> {
    let len = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog {
        len,
        filter: filter.as_mut_ptr(),
    };
    let install = |flags: c_long| {
        // SAFETY: the program and its steps outlive the call.
        checked(unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        })
    };
    let installed = match install(NEW_LISTENER | SPEC_ALLOW | WAIT_KILLABLE) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            install(NEW_LISTENER | SPEC_ALLOW)
        }
        installed => installed,
    }?;
    RawFd::try_from(installed).map_err(io::Error::other)
}

/// Takes ownership of a descriptor that another process has put into the shared table.
pub(super) fn own(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the child that made it has sent its number, and has closed only its own copy.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Forks the process; `None` is the child. The child continues with a copy of only this thread.
pub(super) fn fork() -> io::Result<Option<pid_t>> {
    // SAFETY: the child runs on a copy of the memory. The C library makes its allocator usable after a fork.
    let pid = checked(unsafe { libc::fork() }.into())?;
    Ok(pid_t::try_from(pid).ok().filter(|pid| *pid != 0))
}

/// Forks the process, with one table of descriptors for both; `None` is the child.
pub(super) fn fork_with_descriptors() -> io::Result<Option<pid_t>> {
    let flags = c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is a fork. The child only makes system calls and allocates.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    Ok(pid_t::try_from(pid).ok().filter(|pid| *pid != 0))
}

/// Unshares the process's table of descriptors, or a namespace.
pub(super) fn unshare(what: c_int) -> io::Result<()> {
    // SAFETY: no other thread of this process exists that could use the old table; namespaces hold no memory.
    checked(unsafe { libc::unshare(what) }.into()).map(drop)
}

/// Closes a descriptor of this process's own table by its number.
pub(super) fn close(descriptor: RawFd) {
    // SAFETY: the caller owns the number in its own table and does not use it any more.
    unsafe { libc::close(descriptor) };
}

/// Ends the process at once, without destructors.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Argument list for `execve`.
pub(super) struct Pointers<'a> {
    list: Vec<*const c_char>,
    life: std::marker::PhantomData<&'a CString>,
}

impl<'a> Pointers<'a> {
    pub(super) fn new(words: impl IntoIterator<Item = &'a CString>) -> Self {
        let mut list: Vec<*const c_char> = words.into_iter().map(|word| word.as_ptr()).collect();
        list.push(ptr::null());
        Self {
            list,
            life: std::marker::PhantomData,
        }
    }
}

/// Executes a file; returns the error number if that fails.
pub(super) fn execute(path: &CString, words: &Pointers<'_>, environment: &Pointers<'_>) -> i32 {
    // SAFETY: both lists end with a null pointer and their strings outlive the call.
    unsafe {
        libc::execve(
            path.as_ptr(),
            words.list.as_ptr(),
            environment.list.as_ptr(),
        )
    };
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EINVAL)
}

/// Set of signals in the kernel's form.
#[derive(Clone, Copy)]
pub(super) struct Signals(sigset_t);

impl Signals {
    pub(super) fn new(signals: &[c_int]) -> Self {
        // SAFETY: all zeros are a value of this type, and the calls write into it alone.
        let mut set: sigset_t = unsafe { mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::sigemptyset(&raw mut set) };
        for signal in signals {
            // SAFETY: as above; an unknown number is refused.
            unsafe { libc::sigaddset(&raw mut set, *signal) };
        }
        Self(set)
    }

    /// Blocks them and returns the set that was blocked before.
    pub(super) fn block(&self) -> io::Result<Self> {
        let mut before = Self::new(&[]);
        // SAFETY: both sets outlive the call.
        let result =
            unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const self.0, &raw mut before.0) };
        checked(result.into())?;
        Ok(before)
    }

    /// Makes exactly these the blocked signals.
    pub(super) fn restore(&self) {
        // SAFETY: the set outlives the call; no old set is requested.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }

    /// Creates a descriptor for reading them while they are blocked.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set outlives the call.
        let descriptor = unsafe { libc::signalfd(-1, &raw const self.0, flags) };
        checked(descriptor.into())?;
        Ok(own(descriptor))
    }
}

/// Reads one signal: its number, and `true` if a process sent it on purpose and not the terminal to the whole group.
pub(super) fn next_signal(descriptor: BorrowedFd<'_>) -> Option<(u8, bool)> {
    // SAFETY: all zeros are a value of this type.
    let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
    let size = mem::size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer has the given length, and any bytes are a value of it.
    let read = unsafe {
        libc::read(
            descriptor.as_raw_fd(),
            (&raw mut info).cast::<c_void>(),
            size,
        )
    };
    let whole = usize::try_from(read).is_ok_and(|read| read == size);
    let number = u8::try_from(info.ssi_signo).ok()?;
    whole.then_some((number, info.ssi_code <= 0))
}

/// Restores the default action of a signal.
pub(super) fn default_action(signal: c_int) {
    // SAFETY: no handler is installed, only the default.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Sends a signal; the process may be gone.
pub(super) fn kill(process: pid_t, signal: c_int) {
    // SAFETY: it takes numbers only.
    unsafe { libc::kill(process, signal) };
}

/// Change of a child or a traced thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Exited(c_int),
    Signalled(c_int),
    /// Stopped by this signal, with the ptrace event behind it.
    Stopped(c_int, c_int),
}

/// Takes one change of a child or traced thread; waits only if `block` is set. Returns `None` if there is none.
pub(super) fn wait(process: pid_t, block: bool) -> Option<(pid_t, Change)> {
    let options = libc::__WALL | if block { 0 } else { libc::WNOHANG };
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let found = unsafe { libc::waitpid(process, &raw mut status, options) };
    if found <= 0 {
        return None;
    }
    let change = if libc::WIFSTOPPED(status) {
        Change::Stopped(libc::WSTOPSIG(status), status >> 16)
    } else if libc::WIFSIGNALED(status) {
        Change::Signalled(libc::WTERMSIG(status))
    } else {
        Change::Exited(libc::WEXITSTATUS(status))
    };
    Some((found, change))
}

/// Flag that keeps the scheduling policy.
const KEEP_POLICY: u64 = 0x08;

/// Shortest time slice of an ordinary process in the kernel, in nanoseconds. A process with a shorter request is
/// scheduled sooner.
const SHORT_TURN: u64 = 100_000;

/// Requests short time slices, and early ones if that is permitted: every program of the command waits for this
/// process.
pub(super) fn be_prompt() {
    let own = rustix::process::getpriority_process(None).unwrap_or(0);
    for nice in [-20, own] {
        // `struct sched_attr`: size and policy, flags, niceness and priority, runtime, deadline, period.
        let nice = u64::from(nice.cast_unsigned());
        let wanted: [u64; 6] = [48, KEEP_POLICY, nice, SHORT_TURN, 0, 0];
        // SAFETY: the kernel reads the 48 bytes of the first number, which are those of the array.
        let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
        if done == 0 {
            break;
        }
    }
}

/// Starts tracing a thread: it stops when it has executed a file.
pub(super) fn trace_exec(thread: pid_t) -> io::Result<()> {
    ptrace(
        libc::PTRACE_SEIZE,
        thread,
        c_long::from(libc::PTRACE_O_TRACEEXEC),
    )
}

/// Ends the tracing of a stopped thread.
pub(super) fn detach(thread: pid_t) {
    // A thread that is gone need not be detached.
    ptrace(libc::PTRACE_DETACH, thread, 0).ok();
}

/// Resumes a stopped thread, with a signal.
pub(super) fn go_on(thread: pid_t, signal: c_int) {
    ptrace(libc::PTRACE_CONT, thread, c_long::from(signal)).ok();
}

/// Leaves a thread of a stopped group stopped.
pub(super) fn listen(thread: pid_t) {
    ptrace(libc::PTRACE_LISTEN, thread, 0).ok();
}

/// Requests that a traced thread stops.
pub(super) fn interrupt(thread: pid_t) {
    ptrace(libc::PTRACE_INTERRUPT, thread, 0).ok();
}

fn ptrace(request: libc::c_uint, thread: pid_t, data: c_long) -> io::Result<()> {
    // SAFETY: these requests take numbers only; none of our memory is written.
    checked(unsafe { libc::ptrace(request, thread, ptr::null_mut::<c_void>(), data) }).map(drop)
}

/// Returns the thread that executed the file, by the id that it had before.
pub(super) fn former_thread(thread: pid_t) -> Option<u32> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: this request writes one long to the address given.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETEVENTMSG,
            thread,
            ptr::null_mut::<c_void>(),
            &raw mut message,
        )
    };
    checked(result).ok()?;
    u32::try_from(message).ok()
}

/// Returns the stack pointer of a stopped thread; `None` if its registers are not those of a 64-bit program.
pub(super) fn stack_of(thread: pid_t) -> Option<u64> {
    // SAFETY: all zeros are a value of this type.
    let mut registers: libc::user_regs_struct = unsafe { mem::zeroed() };
    let size = mem::size_of_val(&registers);
    let mut place = libc::iovec {
        iov_base: (&raw mut registers).cast(),
        iov_len: size,
    };
    // SAFETY: the kernel writes at most the given length to the given address, and stores the written length; both
    // outlive the call.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETREGSET,
            thread,
            libc::NT_PRSTATUS,
            &raw mut place,
        )
    };
    checked(result).ok()?;
    #[cfg(target_arch = "x86_64")]
    let pointer = registers.rsp;
    #[cfg(target_arch = "aarch64")]
    let pointer = registers.sp;
    (place.iov_len == size).then_some(pointer)
}

/// Reads pieces of another process's memory into one buffer, in order; returns the number of bytes.
pub(super) fn read_memory(
    thread: u32,
    pieces: &[(u64, usize)],
    into: &mut [u8],
) -> io::Result<usize> {
    let room = into.len();
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: room,
    };
    let remote: Vec<libc::iovec> = pieces
        .iter()
        .map(|(address, length)| libc::iovec {
            iov_base: ptr::without_provenance_mut(usize::try_from(*address).unwrap_or(usize::MAX)),
            iov_len: *length,
        })
        .collect();
    let count = libc::c_ulong::try_from(remote.len()).unwrap_or(0);
    let thread = pid_t::try_from(thread).map_err(io::Error::other)?;
    // SAFETY: the kernel writes no more than `room` bytes into the buffer; remote addresses are checked by it and are
    // never read by us.
    let read =
        unsafe { libc::process_vm_readv(thread, &raw const local, 1, remote.as_ptr(), count, 0) };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    usize::try_from(read).map_err(io::Error::other)
}

/// Overwrites the arguments of this process that other processes see.
pub(super) fn hide_words() {
    let place = || {
        // The whole file is shorter, and is read in one piece.
        let mut stat = [0; 1024];
        let mut file = std::fs::File::open("/proc/self/stat").ok()?;
        let length = file.read(&mut stat).ok()?;
        let stat = str::from_utf8(stat.get(..length)?).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut ends = fields
            .split(' ')
            .skip(45)
            .map_while(|field| field.parse::<usize>().ok());
        Some((ends.next()?, ends.next()?))
    };
    let Some((start, end)) = place().filter(|(start, end)| *start != 0 && start < end) else {
        return;
    };
    let words = ptr::with_exposed_provenance_mut::<u8>(start);
    // SAFETY: the kernel put the arguments of this process there, in writable memory of its stack. Only
    // `std::env::args` looks there; it finds empty arguments from here on, and a reader in another thread finds bytes
    // that end with a zero.
    unsafe { ptr::write_bytes(words, 0, end - start) };
}

/// Ends this process by a signal, without a second core file.
pub(super) fn die_by(signal: c_int) {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit outlives the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    default_action(signal);
    let mut set = Signals::new(&[]);
    // SAFETY: the set is ours, and only read.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, ptr::null(), &raw mut set.0) };
    // SAFETY: as above.
    unsafe { libc::sigdelset(&raw mut set.0, signal) };
    set.restore();
    // SAFETY: it takes a number only.
    unsafe { libc::raise(signal) };
}
