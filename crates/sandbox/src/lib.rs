//! Runs a command that is not trusted in a box of Linux namespaces made by bubblewrap: no network unless asked for, the
//! system read-only and little of it, only the folders that the caller mounts, and limits on time, memory, processes and
//! output.
//!
//! Why bubblewrap: it needs no rights, is what Flatpak runs everything in, and works the same for root and for an ordinary
//! user; a box built in our own process would have to fork a program with many threads. Limits that a kernel without
//! cgroups cannot set for all processes together are watched from outside, and going over one ends the whole box.

pub mod container;
mod filter;
pub mod inside;
mod processes;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use base::process::Output;

use self::container::Container;
use self::filter::Filter;
use self::processes::{below, table, used};

/// How long to wait between looks at the box: a short one is seen to end at once, and a long one costs little.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_millis(60);

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

/// Settings that a box with a network needs beside those.
const NETWORK: [&str; 6] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/passwd",
];

/// The limits are set by a shell inside the box, and its first line tells that the box came about. `-p` is dash's name for
/// the number of processes, `-u` that of other shells.
const START: &str = r#"ulimit -c 0; ulimit -d "$2" || exit 125; ulimit -p "$3" 2>/dev/null || ulimit -u "$3" || exit 125
printf '%s\n' "$1"; shift 3; exec "$@""#;

/// Options of root's box: everything but a user namespace, and the right to become another user.
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

/// Options of any other box.
const ANYBODY: [&str; 3] = ["--unshare-all", "--cap-drop", "ALL"];

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
    /// The program that makes the box.
    pub program: PathBuf,
}

/// A folder or file that the box has, beside those of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// Read-only, from the path outside to the path inside; one that is missing outside is left out.
    Read(PathBuf, PathBuf),
    /// Writable.
    Write(PathBuf, PathBuf),
    /// Private and empty, of at most so many bytes.
    Scratch(PathBuf, u64),
}

/// The user that a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// One without any file, as far as the caller may choose: the kernel does not count root's processes.
    Nobody,
    /// The caller, so that writable folders stay the caller's.
    Caller,
}

/// A command to run, and the world that it sees.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Folders and files beside those of the system.
    pub mounts: Vec<Mount>,
    /// All variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Folder that it starts in.
    pub directory: PathBuf,
    /// File on standard input.
    pub input: &'a Path,
    /// Whether it has the network of the machine.
    pub network: bool,
    /// The user that it is.
    pub user: User,
    /// Program and arguments that start the box, such as a supervisor.
    pub launcher: Vec<OsString>,
    /// Container that takes the place of bubblewrap.
    pub container: Option<Container>,
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
    #[error("the command was stopped after {} seconds", .0.as_secs())]
    Time(Duration),
    /// It used too much memory.
    #[error("the command was stopped: it used more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
    /// It had too many processes.
    #[error("the command was stopped: it had more than {0} processes")]
    Processes(u64),
    /// It printed too much.
    #[error("the command was stopped: it printed more than {} KiB", .0 >> 10)]
    Output(u64),
    /// The caller wanted it to end.
    #[error("the command was stopped by its caller")]
    Asked,
    /// The machine would not.
    #[error("the command could not be run: {0}")]
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
    /// By root, who then becomes nobody.
    Root,
    /// By anybody, in a user namespace.
    Anybody,
}

/// Runs a command in a box and waits for it. Everything that it started ends with it.
///
/// # Errors
/// There is no box, or the command was stopped.
pub fn run(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    run_until(job, limits, &mut || false).1
}

/// The same, and ends the box when `stop` says so. Returns what was printed in any case.
pub fn run_until(
    job: &Job<'_>,
    limits: &Limits,
    stop: &mut dyn FnMut() -> bool,
) -> (Vec<u8>, Result<Done, Stopped>) {
    if let Some(container) = &job.container {
        return in_container(container, job, limits, stop);
    }
    if job.user == User::Nobody && rustix::process::geteuid().is_root() {
        let ended = boxed(job, limits, Rights::Root, stop);
        // Root without rights, as in a container, is anybody.
        if !matches!(ended.1, Err(Stopped::NoSandbox(_))) {
            return ended;
        }
    }
    boxed(job, limits, Rights::Anybody, stop)
}

/// Runs a command without a box: only the limits hold, and the mounts are not made.
///
/// # Errors
/// The command cannot be started or was stopped.
pub fn run_bare(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    let mut command = Command::new("env");
    command.arg("-i");
    for (name, value) in &job.environment {
        let mut word = name.clone();
        word.push("=");
        word.push(value);
        command.arg(word);
    }
    let nonce = base::fresh_uuid().to_string();
    inner(&mut command, job, limits, &nonce);
    command.current_dir(&job.directory);
    let watched = Watched::start(command, job.input, limits)?;
    let (printed, ended) = watched.finish(limits, &mut || false);
    let nonce = format!("{nonce}\n");
    let output = printed.strip_prefix(nonce.as_bytes()).unwrap_or(&printed);
    Ok(Done {
        code: ended?,
        output: output.to_vec(),
    })
}

fn boxed(
    job: &Job<'_>,
    limits: &Limits,
    rights: Rights,
    stop: &mut dyn FnMut() -> bool,
) -> (Vec<u8>, Result<Done, Stopped>) {
    let no_sandbox = |why: String| (Vec::new(), Err(Stopped::NoSandbox(why)));
    let filter = match Filter::write() {
        Ok(filter) => filter,
        Err(error) => return no_sandbox(error.to_string()),
    };
    let nonce = base::fresh_uuid();
    let mut command = bubblewrap(job, limits, rights, &filter);
    if rights == Rights::Root {
        command.args(nobody(&nonce));
    }
    let nonce = nonce.to_string();
    inner(&mut command, job, limits, &nonce);
    let watched = match Watched::start(command, job.input, limits) {
        Ok(watched) => watched,
        Err(error) => {
            let program = limits.program.display();
            return no_sandbox(format!(
                "`{program}` (bubblewrap) cannot be started: {error}"
            ));
        }
    };
    begun(watched.finish(limits, stop), &nonce)
}

fn in_container(
    container: &Container,
    job: &Job<'_>,
    limits: &Limits,
    stop: &mut dyn FnMut() -> bool,
) -> (Vec<u8>, Result<Done, Stopped>) {
    let nonce = uuid::Uuid::now_v7().to_string();
    let name = format!("roleos-{nonce}");
    let words = container.words(job, limits, &name);
    let mut command = Command::new(&container.program);
    command.args(words);
    inner(&mut command, job, limits, &nonce);
    let ended = match Watched::start(command, job.input, limits) {
        Ok(watched) => begun(watched.finish(limits, stop), &nonce),
        Err(error) => (Vec::new(), Err(Stopped::NoSandbox(error.to_string()))),
    };
    // The daemon, not this process, is above the container.
    container.remove(&name);
    ended
}

/// Takes the first line off, which tells that the box came about.
fn begun(
    (mut printed, ended): (Vec<u8>, Result<i32, Stopped>),
    nonce: &str,
) -> (Vec<u8>, Result<Done, Stopped>) {
    let nonce = format!("{nonce}\n");
    let has_begun = printed.starts_with(nonce.as_bytes());
    if has_begun {
        printed.drain(..nonce.len());
    }
    let ended = match ended {
        Ok(_) if !has_begun => {
            let said = String::from_utf8_lossy(&printed);
            let said = said.lines().next_back().unwrap_or("it said nothing");
            Err(Stopped::NoSandbox(said.trim().to_owned()))
        }
        Ok(code) => Ok(Done {
            code,
            output: printed.clone(),
        }),
        Err(stopped) => Err(stopped),
    };
    (printed, ended)
}

/// The program that makes the box, up to the command in it.
fn bubblewrap(job: &Job<'_>, limits: &Limits, rights: Rights, filter: &Filter) -> Command {
    let mut command = match job.launcher.split_first() {
        Some((launcher, words)) => {
            let mut command = Command::new(launcher);
            command.args(words).arg(&limits.program);
            command
        }
        None => Command::new(&limits.program),
    };
    command.args(match rights {
        Rights::Root => &ROOT[..],
        Rights::Anybody => &ANYBODY[..],
    });
    command.args(["--seccomp", &filter.number().to_string()]);
    command.args(["--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    let mut system = SYSTEM.iter().chain(&SETTINGS).collect::<Vec<_>>();
    if job.network {
        command.arg("--share-net");
        system.extend(&NETWORK);
    }
    for folder in system {
        command.args(["--ro-bind-try", folder, folder]);
    }
    for mount in &job.mounts {
        match mount {
            Mount::Read(outside, inside) => {
                command.arg("--ro-bind-try").arg(outside).arg(inside);
            }
            Mount::Write(outside, inside) => {
                command.arg("--bind").arg(outside).arg(inside);
            }
            Mount::Scratch(inside, size) => {
                command.args(["--perms", "1777", "--size", &size.to_string(), "--tmpfs"]);
                command.arg(inside);
            }
        }
    }
    for (name, value) in &job.environment {
        command.arg("--setenv").arg(name).arg(value);
    }
    command.arg("--chdir").arg(&job.directory);
    command.args(["--remount-ro", "/", "--"]);
    command
}

/// Becomes a user that nobody else is, so that its processes are counted alone.
fn nobody(nonce: &uuid::Uuid) -> Vec<String> {
    let [.., a, b, c] = *nonce.as_bytes();
    let id = (0x7000_0000 + u32::from_be_bytes([0, a, b, c])).to_string();
    ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]
        .map(str::to_owned)
        .to_vec()
}

/// The shell that sets the limits, and behind it the command.
fn inner(command: &mut Command, job: &Job<'_>, limits: &Limits, nonce: &str) {
    command.args(["sh", "-c", START, "sh", nonce]);
    command.arg((limits.memory / 1024).to_string());
    command.arg(limits.processes.to_string());
    command.args(&job.words);
}

/// A running box and what it prints.
struct Watched {
    running: Running,
    output: Output,
    started: Instant,
}

impl Watched {
    fn start(mut command: Command, input: &Path, limits: &Limits) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let child = command
            .stdin(Stdio::from(fs::File::open(input)?))
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

    /// Waits until it ends, goes over a limit or is to stop; either way nothing of it is left. Output and exit code.
    fn finish(
        mut self,
        limits: &Limits,
        stop: &mut dyn FnMut() -> bool,
    ) -> (Vec<u8>, Result<i32, Stopped>) {
        let ended = self.wait(limits, stop);
        drop(self.running);
        let (output, over) = self.output.take();
        let ended = match ended {
            Ok(_) if over => Err(Stopped::Output(limits.output)),
            ended => ended,
        };
        (output, ended)
    }

    fn wait(&mut self, limits: &Limits, stop: &mut dyn FnMut() -> bool) -> Result<i32, Stopped> {
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
            if stop() {
                return Err(Stopped::Asked);
            }
            let pause = self.started.elapsed() / 16;
            thread::sleep(pause.clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY));
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
