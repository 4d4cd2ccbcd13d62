//! Starts programs in ways that a supervisor could miss. `caller push FILE` is the act that must not happen: it adds
//! a byte to the file. Every other command starts exactly that in another way; the tests of the crate use it.
#![expect(
    unsafe_code,
    reason = "raw calls and shared memory are what is tried here"
)]

use std::ffi::{CString, OsStr, OsString, c_char};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU8, Ordering};
use std::{ptr, thread};

type Words = Vec<CString>;

fn text(word: impl AsRef<OsStr>) -> CString {
    CString::new(word.as_ref().as_bytes()).unwrap_or_default()
}

fn list(words: &[CString]) -> Vec<*const c_char> {
    words
        .iter()
        .map(|word| word.as_ptr())
        .chain([ptr::null()])
        .collect()
}

fn own_path() -> CString {
    text(std::env::current_exe().unwrap_or_default())
}

/// Returns the forbidden act on this file.
fn act(file: &OsStr) -> Words {
    vec![text("caller"), text("push"), text(file)]
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let word = |at: usize| words.get(at).cloned().unwrap_or_default();
    let file = word(2);
    let by_name = std::env::current_exe().is_ok_and(|path| path.ends_with("forbidden"));
    let by_name = by_name || word(0) == "forbidden";
    if word(1) == "push" || by_name {
        let target = if by_name { word(1) } else { file };
        let opened = OpenOptions::new().create(true).append(true).open(target);
        return code(opened.and_then(|mut file| file.write_all(b"x")).is_ok());
    }
    let words = act(&file);
    match word(1).to_str().unwrap_or_default() {
        "harmless" => ExitCode::SUCCESS,
        "spawn" => code(
            Command::new("/proc/self/exe")
                .arg("push")
                .arg(file)
                .status()
                .is_ok(),
        ),
        "exec" => {
            drop(Command::new("/proc/self/exe").arg("push").arg(file).exec());
            ExitCode::FAILURE
        }
        "execveat" => execveat(&own_path(), libc::AT_FDCWD, 0, &words),
        "descriptor" => descriptor(&words),
        "memory" => memory(&words),
        "vfork" => vfork(&words),
        "thread" => thread::spawn(move || execveat(&own_path(), libc::AT_FDCWD, 0, &words))
            .join()
            .unwrap_or(ExitCode::FAILURE),
        "many" => {
            let more = (0..9_000).map(|number| text(number.to_string()));
            let words: Words = words.into_iter().chain(more).collect();
            execveat(&own_path(), libc::AT_FDCWD, 0, &words)
        }
        "hidden" => {
            // SAFETY: it takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
            let harmless = [text("caller"), text("harmless")];
            execveat(&own_path(), libc::AT_FDCWD, 0, &harmless)
        }
        "old-call" => old_call(&words),
        "race-words" => race(&file, Raced::Words),
        "race-path" => race(&file, Raced::Path),
        "race-name" => race(&file, Raced::Name),
        "connect" => connect(&file),
        other => {
            eprint(other);
            ExitCode::from(64)
        }
    }
}

#[expect(clippy::print_stderr, reason = "an example speaks for itself")]
fn eprint(mode: &str) {
    eprintln!("caller: no such way: {mode}");
}

fn code(good: bool) -> ExitCode {
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn execveat(path: &CString, folder: i32, flags: i32, words: &[CString]) -> ExitCode {
    let words = list(words);
    let none = [ptr::null::<c_char>()];
    // SAFETY: strings and lists outlive the call, and the lists end with null.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            folder,
            path.as_ptr(),
            words.as_ptr(),
            none.as_ptr(),
            flags,
        )
    };
    ExitCode::FAILURE
}

fn descriptor(words: &[CString]) -> ExitCode {
    let Ok(file) = File::open("/proc/self/exe") else {
        return ExitCode::FAILURE;
    };
    execveat(&text(""), file.as_raw_fd(), libc::AT_EMPTY_PATH, words)
}

fn memory(words: &[CString]) -> ExitCode {
    // SAFETY: the name outlives the call.
    let copy = unsafe { libc::memfd_create(c"copy".as_ptr(), 0) };
    let bytes = std::fs::read("/proc/self/exe").unwrap_or_default();
    // SAFETY: the buffer has the given length.
    unsafe { libc::write(copy, bytes.as_ptr().cast(), bytes.len()) };
    execveat(&text(""), copy, libc::AT_EMPTY_PATH, words)
}

/// Starts a program by vfork, as in the C library: with the parent's memory, and the parent stopped.
fn vfork(words: &[CString]) -> ExitCode {
    let words: Vec<*mut c_char> = list(words)
        .into_iter()
        .map(<*const c_char>::cast_mut)
        .collect();
    let none = [ptr::null_mut::<c_char>()];
    let mut child = 0;
    let path = own_path();
    // SAFETY: all pointers outlive the call, and the lists end with null.
    let started = unsafe {
        libc::posix_spawn(
            &raw mut child,
            path.as_ptr(),
            ptr::null(),
            ptr::null(),
            words.as_ptr(),
            none.as_ptr(),
        )
    };
    code(started == 0)
}

/// Executes by `execve` of i386 with its interrupt, from a 64-bit process.
#[cfg(target_arch = "x86_64")]
fn old_call(words: &[CString]) -> ExitCode {
    let page = low_memory();
    if page.is_null() {
        return ExitCode::FAILURE;
    }
    let mut at = 64;
    let mut pointers = Vec::new();
    for word in [&own_path()].into_iter().chain(words) {
        let bytes = word.as_bytes_with_nul();
        // SAFETY: the page is ours, and a few short words do not fill it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), page.add(at), bytes.len()) };
        pointers.push(u32::try_from(page.addr() + at).unwrap_or(0));
        at += bytes.len();
    }
    let path = pointers.remove(0);
    for (index, pointer) in pointers.iter().enumerate() {
        // SAFETY: the first 64 bytes hold the list, which ends with the zeros of a new page.
        unsafe { ptr::write(page.cast::<u32>().add(index), *pointer) };
    }
    let list = u32::try_from(page.addr()).unwrap_or(0);
    // SAFETY: the call reads the page and changes rax alone; rbx is exchanged and restored.
    unsafe {
        std::arch::asm!(
            "xchg rbx, {path}", "int 0x80", "xchg rbx, {path}",
            path = inout(reg) u64::from(path) => _,
            inout("rax") 11_u64 => _,
            in("rcx") u64::from(list),
            in("rdx") 0_u64,
        );
    }
    ExitCode::FAILURE
}

#[cfg(not(target_arch = "x86_64"))]
fn old_call(words: &[CString]) -> ExitCode {
    execveat(&own_path(), libc::AT_FDCWD, 0, words)
}

#[cfg(target_arch = "x86_64")]
fn low_memory() -> *mut u8 {
    map(libc::MAP_PRIVATE | libc::MAP_32BIT)
}

fn map(flags: i32) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of one page, of nothing else.
    let page = unsafe {
        libc::mmap(
            ptr::null_mut(),
            4096,
            access,
            flags | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        ptr::null_mut()
    } else {
        page.cast()
    }
}

/// Memory that another thread changes while a program is started.
#[derive(Clone, Copy)]
enum Raced {
    /// Argument behind the name.
    Words,
    /// Path of the program.
    Path,
    /// Name by which the program is called.
    Name,
}

/// Starts a program a thousand times, half of them by posix_spawn, while a thread swaps an argument or the path.
fn race(file: &OsStr, raced: Raced) -> ExitCode {
    let page = map(libc::MAP_SHARED);
    if page.is_null() {
        return ExitCode::FAILURE;
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let in_folder = |name: &str| text(folder.join(name));
    let (good, bad, fixed) = match raced {
        Raced::Words => (text("fine"), text("push"), own_path()),
        Raced::Path => (
            in_folder("permitted"),
            in_folder("forbidden"),
            text("caller"),
        ),
        Raced::Name => (text("permitted"), text("forbidden"), in_folder("permitted")),
    };
    let file = text(file);
    let address = page.addr();
    let (one, two) = (good, bad);
    thread::spawn(move || {
        loop {
            for word in [&one, &two] {
                for (at, byte) in word.as_bytes_with_nul().iter().enumerate() {
                    let place = ptr::with_exposed_provenance::<AtomicU8>(address + at);
                    // SAFETY: the page stays mapped, and is read by the kernel and by other processes only.
                    unsafe { (*place).store(*byte, Ordering::Relaxed) };
                }
                for _ in 0..50 {
                    std::hint::spin_loop();
                }
            }
        }
    });
    let shared = page.cast::<c_char>().cast_const();
    let (fixed, file, none) = (fixed.as_ptr(), file.as_ptr(), ptr::null());
    let (program, words) = match raced {
        Raced::Words => (fixed, [c"caller".as_ptr(), shared, file, none]),
        Raced::Path => (shared, [fixed, file, none, none]),
        Raced::Name => (fixed, [shared, file, none, none]),
    };
    page.expose_provenance();
    for turn in 0..1000 {
        start(program, &words, turn % 2 == 0);
    }
    // A kill may come between the start and its record: the last ones are awaited above.
    ExitCode::SUCCESS
}

fn start(program: *const c_char, words: &[*const c_char; 4], spawned: bool) {
    let none = [ptr::null_mut::<c_char>()];
    let mut child = 0;
    if spawned {
        let words = words.map(<*const c_char>::cast_mut);
        // SAFETY: all pointers outlive the call; the shared one may change, which is the purpose of the test.
        unsafe {
            libc::posix_spawn(
                &raw mut child,
                program,
                ptr::null(),
                ptr::null(),
                words.as_ptr(),
                none.as_ptr(),
            )
        };
    } else {
        // SAFETY: the child executes or ends at once.
        unsafe {
            child = libc::fork();
            if child == 0 {
                libc::execve(program, words.as_ptr(), none.as_ptr().cast());
                libc::_exit(1);
            }
        }
    }
    if child > 0 {
        // SAFETY: no status is requested.
        unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    }
}

/// Connects to a socket and prints the result; `@name` is one without a file.
#[expect(clippy::print_stdout, reason = "an example speaks for itself")]
fn connect(name: &OsStr) -> ExitCode {
    use std::os::linux::net::SocketAddrExt as _;
    let connected = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)
            .and_then(|address| UnixStream::connect_addr(&address)),
        None => UnixStream::connect(name),
    };
    match connected.and_then(|mut stream| stream.write_all(b"hello")) {
        Ok(()) => println!("connected"),
        Err(error) => println!("{error}"),
    }
    ExitCode::SUCCESS
}
