//! A command that nobody trusts, in a box of Linux namespaces made by bubblewrap: no network, the system read-only and
//! little of it, private folders that vanish, and limits on time, memory, processes and output.
//!
//! Why bubblewrap: it needs no rights, is what Flatpak runs everything in, and works the same for root and for an ordinary
//! user; a box built in our own process would have to fork a program with many threads. Limits that a kernel without
//! cgroups cannot set for all processes together are watched from outside, and going over one ends the whole box.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use base::config::selection::Selection;
use base::process::Output;

use super::filter::Filter;
use super::processes::{below, table, used};

/// How long to wait between looks at the box.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// At every how many looks processes and memory are counted.
const COUNT_EVERY: u64 = 4;

/// Folders with the system's programs. Nothing else of the machine is seen.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// The few settings that programs cannot do without; none holds a secret.
const SETTINGS: [&str; 6] = [
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
];

/// The limits are set by a shell inside the box, and its first line tells that the box came about. `-p` is dash's name for
/// the number of processes, `-u` that of other shells.
const START: &str = r#"ulimit -c 0; ulimit -d "$2" || exit 125; ulimit -p "$3" 2>/dev/null || ulimit -u "$3" || exit 125
printf '%s\n' "$1"; shift 3; exec "$@""#;

/// What root's box is made with: everything but a user namespace, and the right to become nobody.
const ROOT: [&str; 11] = [
    "--unshare-net",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--cap-add",
    "CAP_SETUID",
    "--cap-add",
    "CAP_SETGID",
];

/// What anybody's box is made with.
const ANYBODY: [&str; 3] = ["--unshare-all", "--cap-drop", "ALL"];

/// Largest file of a package that is copied, and all of them together.
const MAX_COPIED_FILE: u64 = 16 << 20;
const MAX_COPY: u64 = 256 << 20;
const MAX_FILES: usize = 10_000;

/// What a command may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Memory of all processes together, in bytes.
    pub memory: u64,
    /// Processes at a time.
    pub processes: u64,
    /// Output after which it is stopped, in bytes.
    pub output: u64,
    /// Size of each private folder, in bytes.
    pub scratch: u64,
    /// Further folders that may be read.
    pub reads: Vec<PathBuf>,
    /// Whether it may run without a box where there is none.
    pub unsandboxed: bool,
    /// The program that makes the box.
    pub program: PathBuf,
}

impl From<&Selection> for Limits {
    fn from(set: &Selection) -> Self {
        Self {
            time: set.verifier_time(),
            memory: set.verifier_memory_mib.get().saturating_mul(1 << 20),
            processes: set.verifier_processes.get(),
            output: set.verifier_output_kib.get().saturating_mul(1 << 10),
            scratch: set.verifier_scratch_mib.get().saturating_mul(1 << 20),
            reads: set.verifier_reads.iter().map(PathBuf::from).collect(),
            unsandboxed: set.allow_unsandboxed,
            program: PathBuf::from("bwrap"),
        }
    }
}

/// What is to be run on what.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Program and arguments; `{output}` and `{input}` stand for the files' paths.
    pub words: &'a [String],
    /// Folder that it starts in and may read, when there is one.
    pub package: Option<&'a Path>,
    /// Name of the output's file.
    pub output_file: &'a str,
    /// The output; also on standard input.
    pub output: &'a [u8],
    /// The input.
    pub input: &'a [u8],
}

/// How a command ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its exit code; 128 and the number for a signal.
    pub code: i32,
    /// What it printed.
    pub output: Vec<u8>,
}

/// Why a command did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// There is no box to run it in.
    #[error("there is no sandbox: {0}")]
    NoSandbox(String),
    /// Its time was over.
    #[error("the verifier's command was stopped after {} seconds", .0.as_secs())]
    Time(Duration),
    /// It used too much memory.
    #[error("the verifier's command was stopped: it used more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
    /// It had too many processes.
    #[error("the verifier's command was stopped: it had more than {0} processes")]
    Processes(u64),
    /// It printed too much.
    #[error("the verifier's command was stopped: it printed more than {} KiB", .0 >> 10)]
    Output(u64),
    /// The machine would not.
    #[error("the verifier's command could not be run: {0}")]
    Machine(String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Machine(error.to_string())
    }
}

/// How a box comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    /// By root, who then becomes nobody: the kernel does not count root's processes.
    Root,
    /// By anybody, in a user namespace.
    Anybody,
}

/// Runs a command in a box and waits for it. Everything that it started ends with it.
///
/// # Errors
/// There is no box, or the command was stopped.
pub fn run(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    let mut ended = Err(Stopped::NoSandbox(String::new()));
    if rustix::process::geteuid().is_root() {
        ended = boxed(job, limits, Rights::Root);
    }
    // Root without rights, as in a container, is anybody.
    if matches!(ended, Err(Stopped::NoSandbox(_))) {
        ended = boxed(job, limits, Rights::Anybody);
    }
    match ended {
        Err(Stopped::NoSandbox(_)) if limits.unsandboxed => bare(job, limits),
        ended => ended,
    }
}

/// Paths as the command sees them.
struct Seen {
    output: PathBuf,
    input: PathBuf,
    scratch: PathBuf,
}

fn boxed(job: &Job<'_>, limits: &Limits, rights: Rights) -> Result<Done, Stopped> {
    let given = Given::write(job)?;
    let seen = Seen {
        output: Path::new("/given").join(job.output_file),
        input: PathBuf::from("/given/input"),
        scratch: PathBuf::from("/work"),
    };
    let copied = match (rights, job.package) {
        (Rights::Root, Some(package)) if !is_open(package) => Some(copy(package)?),
        _ => None,
    };
    let package = copied.as_ref().map(tempfile::TempDir::path).or(job.package);
    let mut command = Command::new(&limits.program);
    command.args(match rights {
        Rights::Root => &ROOT[..],
        Rights::Anybody => &ANYBODY[..],
    });
    let filter = Filter::write().map_err(|error| Stopped::NoSandbox(error.to_string()))?;
    command.args(["--seccomp", &filter.number().to_string()]);
    command.args(["--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    for folder in SYSTEM.iter().chain(&SETTINGS) {
        command.args(["--ro-bind-try", folder, folder]);
    }
    for folder in &limits.reads {
        command.arg("--ro-bind-try").arg(folder).arg(folder);
    }
    let size = limits.scratch.to_string();
    for folder in ["/tmp", "/work", "/dev/shm"] {
        command.args(["--perms", "1777", "--size", &size, "--tmpfs", folder]);
    }
    command.arg("--ro-bind").arg(given.folder()).arg("/given");
    if let Some(package) = package {
        command.arg("--ro-bind").arg(package).arg("/package");
    }
    for (name, value) in environment(&seen) {
        command.arg("--setenv").arg(name).arg(value);
    }
    let start = package.map_or("/work", |_| "/package");
    command.args(["--chdir", start, "--remount-ro", "/", "--"]);
    let nonce = uuid::Uuid::now_v7();
    if rights == Rights::Root {
        command.args(nobody(&nonce));
    }
    let nonce = nonce.to_string();
    inner(&mut command, job, limits, &seen, &nonce);
    let watched = Watched::start(command, &given, limits).map_err(|error| {
        let program = limits.program.display();
        Stopped::NoSandbox(format!(
            "`{program}` (bubblewrap) cannot be started: {error}"
        ))
    })?;
    let (code, printed) = watched.finish(limits)?;
    match printed.strip_prefix(format!("{nonce}\n").as_bytes()) {
        Some(output) => Ok(Done {
            code,
            output: output.to_vec(),
        }),
        None => {
            let said = String::from_utf8_lossy(&printed);
            let said = said.lines().next_back().unwrap_or("it said nothing");
            Err(Stopped::NoSandbox(said.trim().to_owned()))
        }
    }
}

/// Becomes a user that nobody else is, so that its processes are counted alone.
fn nobody(nonce: &uuid::Uuid) -> Vec<String> {
    let [.., a, b, c] = *nonce.as_bytes();
    let id = 0x7000_0000 + u32::from_be_bytes([0, a, b, c]);
    ["setpriv", "--reuid", "", "--regid", "", "--clear-groups"]
        .map(|word| {
            if word.is_empty() {
                id.to_string()
            } else {
                word.to_owned()
            }
        })
        .to_vec()
}

/// Whether everybody may look into a folder.
fn is_open(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|facts| facts.permissions().mode() & 0o5 == 0o5)
}

/// A package that others may not look into, as a copy that they may. What is too large for tests to need, such as weights,
/// is left out.
fn copy(package: &Path) -> io::Result<tempfile::TempDir> {
    let copy = tempfile::Builder::new()
        .prefix("roleos-package-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()?;
    let mut left = MAX_COPY;
    let files = walkdir::WalkDir::new(package).follow_links(false);
    for entry in files.into_iter().take(MAX_FILES).flatten() {
        let Ok(name) = entry.path().strip_prefix(package) else {
            continue;
        };
        let target = copy.path().join(name);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target)?;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755))?;
        } else if entry.file_type().is_file() {
            let length = entry.metadata().map_or(u64::MAX, |facts| facts.len());
            if length > left.min(MAX_COPIED_FILE) {
                continue;
            }
            left -= length;
            fs::copy(entry.path(), &target)?;
            let mode = fs::metadata(&target)?.permissions().mode();
            fs::set_permissions(&target, fs::Permissions::from_mode(mode | 0o444))?;
        }
    }
    Ok(copy)
}

/// Without a box: only the limits hold.
fn bare(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    let given = Given::write(job)?;
    let scratch = tempfile::tempdir()?;
    let seen = Seen {
        output: given.folder().join(job.output_file),
        input: given.folder().join("input"),
        scratch: scratch.path().to_owned(),
    };
    let mut words = Command::new("env");
    words.arg("-i");
    for (name, value) in environment(&seen) {
        let mut word = std::ffi::OsString::from(name);
        word.push("=");
        word.push(value);
        words.arg(word);
    }
    let nonce = uuid::Uuid::now_v7().to_string();
    inner(&mut words, job, limits, &seen, &nonce);
    words.current_dir(job.package.unwrap_or(scratch.path()));
    let watched = Watched::start(words, &given, limits)?;
    let (code, printed) = watched.finish(limits)?;
    let nonce = format!("{nonce}\n");
    let output = printed.strip_prefix(nonce.as_bytes()).unwrap_or(&printed);
    Ok(Done {
        code,
        output: output.to_vec(),
    })
}

fn environment(seen: &Seen) -> [(&'static str, &Path); 6] {
    [
        ("PATH", Path::new("/usr/local/bin:/usr/bin:/bin")),
        ("HOME", &seen.scratch),
        ("TMPDIR", &seen.scratch),
        ("LANG", Path::new("C.UTF-8")),
        ("ROLEOS_OUTPUT", &seen.output),
        ("ROLEOS_INPUT", &seen.input),
    ]
}

/// The shell that sets the limits, and behind it the command.
fn inner(command: &mut Command, job: &Job<'_>, limits: &Limits, seen: &Seen, nonce: &str) {
    command.args(["sh", "-c", START, "sh", nonce]);
    command.arg((limits.memory / 1024).to_string());
    command.arg(limits.processes.to_string());
    for word in job.words {
        let word = word.replace("{output}", &seen.output.to_string_lossy());
        command.arg(word.replace("{input}", &seen.input.to_string_lossy()));
    }
}

/// Only root's box belongs to somebody else.
fn given_mode() -> u32 {
    if rustix::process::geteuid().is_root() {
        0o755
    } else {
        0o700
    }
}

/// The files that a command gets.
struct Given {
    folder: tempfile::TempDir,
    output: PathBuf,
}

impl Given {
    fn write(job: &Job<'_>) -> io::Result<Self> {
        // Others may look: root's box is another user's, and its name cannot be guessed for longer than it is there.
        let folder = tempfile::Builder::new()
            .prefix("roleos-verifier-")
            .permissions(fs::Permissions::from_mode(given_mode()))
            .tempdir()?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(&path)
                .and_then(|mut file| file.write_all(bytes))
                .map(|()| path)
        };
        write("input", job.input)?;
        let output = write(job.output_file, job.output)?;
        Ok(Self { folder, output })
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A running box and what it prints.
struct Watched {
    running: Running,
    output: Output,
    started: Instant,
}

impl Watched {
    fn start(mut command: Command, given: &Given, limits: &Limits) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let child = command
            .stdin(Stdio::from(fs::File::open(&given.output)?))
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn();
        // Our own ends of the pipe, without which it never closes.
        drop(command);
        Ok(Self {
            running: Running(child?),
            output: Output::collect(reader, limits.output),
            started: Instant::now(),
        })
    }

    /// Waits until it ends or goes over a limit; either way nothing of it is left. Exit code and output.
    fn finish(mut self, limits: &Limits) -> Result<(i32, Vec<u8>), Stopped> {
        let ended = self.wait(limits);
        drop(self.running);
        let (output, over) = self.output.take();
        match ended? {
            _ if over => Err(Stopped::Output(limits.output)),
            code => Ok((code, output)),
        }
    }

    fn wait(&mut self, limits: &Limits) -> Result<i32, Stopped> {
        for look in 0_u64.. {
            if let Some(status) = self.running.0.try_wait()? {
                let signal = || 128 + status.signal().unwrap_or(0);
                return Ok(status.code().unwrap_or_else(signal));
            }
            if self.started.elapsed() >= limits.time {
                return Err(Stopped::Time(limits.time));
            }
            if self.output.is_over() {
                return Err(Stopped::Output(limits.output));
            }
            thread::sleep(LOOK_EVERY);
            // Going through all processes costs more than the other questions.
            if look % COUNT_EVERY != 0 {
                continue;
            }
            let (processes, memory) = used(self.running.0.id());
            // The box itself is two of them.
            if processes > limits.processes.saturating_add(2) {
                return Err(Stopped::Processes(limits.processes));
            }
            if memory > limits.memory {
                return Err(Stopped::Memory(limits.memory));
            }
        }
        Err(Stopped::Time(limits.time))
    }
}

/// The outermost process of a box. Dropped, it and everything below it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // With the first process of its own world the kernel ends the whole box; without a box all are ended one by one.
        let kill = |pid: u32| i32::try_from(pid).ok().and_then(Pid::from_raw);
        for pid in below(self.0.id(), &table()).into_iter().filter_map(kill) {
            kill_process(pid, Signal::KILL).ok();
        }
        if let Some(group) = kill(self.0.id()) {
            kill_process_group(group, Signal::KILL).ok();
        }
        self.0.wait().ok();
    }
}
