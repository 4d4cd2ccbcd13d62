//! Runs an untrusted command in a sandbox of Linux namespaces made by bubblewrap: no network unless requested, a
//! small part of the system read-only, only the directories that the caller mounts, and limits on time, memory,
//! processes and output.
//!
//! Why bubblewrap: it needs no privileges, Flatpak uses it for everything, and it works the same for root and for an
//! ordinary user; a sandbox built in our own process would have to fork a program with many threads. Limits that a
//! kernel without cgroups cannot set for all processes together are watched from outside, and exceeding one ends the
//! whole sandbox.

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

/// Intervals between checks of the sandbox: the end of a short one is seen at once, and a long one costs little.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_millis(60);

/// Number of checks per count of processes and memory.
const COUNT_EVERY: u64 = 4;

/// Directories with the system's programs. No other part of the machine is visible.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Settings that programs cannot do without; none contains a secret.
const SETTINGS: [&str; 6] = [
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
];

/// Further settings for a sandbox with a network.
const NETWORK: [&str; 6] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/passwd",
];

/// Script of a shell inside the sandbox that sets the limits, and whose first line of output shows that the sandbox
/// was created. `-p` is dash's option for the number of processes, `-u` that of other shells.
const START: &str = r#"ulimit -c 0; ulimit -d "$2" || exit 125; ulimit -p "$3" 2>/dev/null || ulimit -u "$3" || exit 125
printf '%s\n' "$1"; shift 3; exec "$@""#;

/// Options of root's sandbox: everything but a user namespace, and the capability to become another user.
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

/// Options of any other sandbox.
const ANYBODY: [&str; 3] = ["--unshare-all", "--cap-drop", "ALL"];

/// Limits of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit of wall-clock time.
    pub time: Duration,
    /// Limit of the memory of all processes together, in bytes.
    pub memory: u64,
    /// Limit of simultaneous processes.
    pub processes: u64,
    /// Limit of the output, in bytes.
    pub output: u64,
    /// Program that creates the sandbox.
    pub program: PathBuf,
}

/// A directory or file of the sandbox, besides those of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// Read-only, from the path outside to the path inside; a missing one is left out.
    Read(PathBuf, PathBuf),
    /// Writable, from the path outside to the path inside.
    Write(PathBuf, PathBuf),
    /// Private and empty, with a limit in bytes.
    Scratch(PathBuf, u64),
}

/// User of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// A user without any file, if the caller may choose: the kernel does not limit root's processes.
    Nobody,
    /// The caller, so that writable directories stay the caller's.
    Caller,
}

/// Command with its environment.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Directories and files besides those of the system.
    pub mounts: Vec<Mount>,
    /// All environment variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory.
    pub directory: PathBuf,
    /// File for standard input.
    pub input: &'a Path,
    /// Set if it has the network of the machine.
    pub network: bool,
    /// User of the command.
    pub user: User,
    /// Program and arguments that start the sandbox, such as a supervisor.
    pub launcher: Vec<OsString>,
    /// Container that replaces bubblewrap.
    pub container: Option<Container>,
}

/// Result of a command that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Exit code; 128 plus the number for a signal.
    pub code: i32,
    /// Output of the command.
    pub output: Vec<u8>,
}

/// Reason that a command did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// There is no sandbox to run it in.
    #[error("there is no sandbox: {0}")]
    NoSandbox(String),
    /// It exceeded its time.
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
    /// The caller stopped it.
    #[error("the command was stopped by its caller")]
    Asked,
    /// The machine could not run it.
    #[error("the command could not be run: {0}")]
    Machine(String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Machine(error.to_string())
    }
}

/// Privileges for creating a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    /// As root, who then becomes an unprivileged user.
    Root,
    /// As any user, in a user namespace.
    Anybody,
}

/// Runs a command in a sandbox and waits for it. All processes that it started end with it.
///
/// # Errors
/// Fails if there is no sandbox, or the command was stopped.
pub fn run(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    run_until(job, limits, &mut || false).1
}

/// Does the same, and ends the sandbox when `stop` returns `true`. Returns the output in any case.
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
        // Root without capabilities, as in a container, counts as any user.
        if !matches!(ended.1, Err(Stopped::NoSandbox(_))) {
            return ended;
        }
    }
    boxed(job, limits, Rights::Anybody, stop)
}

/// Runs a command without a sandbox: only the limits hold, and the mounts are not made.
///
/// # Errors
/// Fails if the command cannot be started or was stopped.
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
    // The daemon, not this process, is the parent of the container.
    container.remove(&name);
    ended
}

/// Removes the first line, which shows that the sandbox was created.
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

/// Returns the program that creates the sandbox, up to the command in it.
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

/// Returns the arguments for becoming a unique user, so that its processes are counted alone.
fn nobody(nonce: &uuid::Uuid) -> Vec<String> {
    let [.., a, b, c] = *nonce.as_bytes();
    let id = (0x7000_0000 + u32::from_be_bytes([0, a, b, c])).to_string();
    ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]
        .map(str::to_owned)
        .to_vec()
}

/// Adds the shell that sets the limits, and the command behind it.
fn inner(command: &mut Command, job: &Job<'_>, limits: &Limits, nonce: &str) {
    command.args(["sh", "-c", START, "sh", nonce]);
    command.arg((limits.memory / 1024).to_string());
    command.arg(limits.processes.to_string());
    command.args(&job.words);
}

/// A running sandbox and its output.
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

    /// Waits until it ends, exceeds a limit or must stop; in any case nothing of it is left. Returns output and exit
    /// code.
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
            // Reading all processes costs more than the other checks.
            if look % COUNT_EVERY != 0 {
                continue;
            }
            let (processes, memory) = used(self.running.0.id());
            // The sandbox itself is two of them.
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

/// Outermost process of a sandbox. Dropping it ends it and everything below it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // With the first process of its namespace the kernel ends the whole sandbox; without a sandbox all are ended
        // one by one.
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
