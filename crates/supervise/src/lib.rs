//! Runs a command so that every program which it or its descendants start is put to a rule before it begins.
//!
//! Three processes: the caller waits, forwards signals and ends as the command does; the supervisor, its child, answers
//! the kernel's notifications of `execve`, `execveat` and `connect` to local sockets; the command runs below the
//! supervisor with the caller's terminal, group and streams. What was judged is compared with what really begins to
//! execute, at a stop before its first instruction, so a change in between is judged too.
//!
//! The crate knows no rule: [`Judge`] decides. It is the one crate with `unsafe` code, all of it in `linux/sys.rs` and `alarm.rs`.
//! Linux on x86-64 and AArch64; elsewhere [`run`] answers [`Error::Platform`].

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use linux::{Connect, Exec, end_by_signal, is_supervised, run, start_unsupervised};

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod unavailable;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub use unavailable::{Connect, Exec, end_by_signal, is_supervised, run, start_unsupervised};

mod alarm;
mod state;

pub use alarm::{exit_now, set_alarm};
pub use state::FileState;

/// Names the supervisor to a supervisor below it: `<process id>.<nonce>`.
pub const VARIABLE: &str = "ROLEOS_WATCH";

/// The command to run.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The program; without a slash it is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Files and folders that the command and its descendants can read but not change, where mounts can be made.
    pub read_only: Vec<PathBuf>,
    /// How mounts for [`read_only`](Self::read_only) are made.
    pub seal: Seal,
}

/// How files are made read-only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seal {
    /// Not at all.
    #[default]
    Off,
    /// In a mount namespace, where the process may make one without a user namespace.
    Privileged,
    /// In a user namespace as well, where the process has no rights of its own. Owners other than the user then show as
    /// the overflow user.
    UserNamespace,
}

/// What a rule answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may happen.
    Proceed,
    /// The call fails with `EPERM`; the bytes reach the waiting process at once.
    Refuse(Vec<u8>),
}

/// The rule. It runs in the supervisor, a process of its own: what it keeps does not come back to the caller of [`run`].
pub trait Judge {
    /// Prepares for a command while its process is being set up, so that its first program waits less.
    fn begin(&mut self, program: &OsStr) {
        let _ = program;
    }

    /// Decides about a program that is about to be executed.
    fn exec(&mut self, exec: &Exec<'_>) -> Answer;

    /// Decides about a connection to a local socket.
    fn connect(&mut self, connect: &Connect<'_>) -> Answer;

    /// Says what is told when a process starts something that cannot be read. It is refused.
    fn unreadable(&mut self, process: u32) -> Vec<u8>;

    /// Takes note that the command has ended. Its descendants may go on, and so may calls of the rule.
    fn ended(&mut self, summary: &Summary);
}

/// How programs are compared with what was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// At the exec stop, before the first instruction.
    Ptrace,
    /// Shortly after, because the kernel refuses to trace.
    Cmdline,
}

impl Verification {
    /// As programs read it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ptrace => "ptrace",
            Self::Cmdline => "cmdline",
        }
    }
}

/// What the supervisor has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Executions that were put to the rule.
    pub execs: u64,
    /// Executions and connections that were refused.
    pub refused: u64,
    /// Processes that were ended because they had begun something else than was judged, and that is refused.
    pub killed: u64,
    /// Executions that were compared only after they had begun.
    pub unverified: u64,
    /// A supervisor above this one judges; this one saw nothing.
    pub nested: bool,
    /// The files of [`Command::read_only`] are mounted read-only.
    pub sealed: bool,
}

impl Summary {
    /// How executions were compared: by ptrace when each of them was.
    #[must_use]
    pub fn verification(&self) -> Verification {
        if self.unverified == 0 {
            Verification::Ptrace
        } else {
            Verification::Cmdline
        }
    }
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// It could not be started; the number of the error.
    NotStarted(i32),
    /// The supervisor ended first, so the command was ended.
    Unsupervised,
}

impl End {
    /// The exit code by which a shell would tell of this end.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::NotStarted(errno) if errno == NO_ENTRY => 127,
            Self::NotStarted(_) => 126,
            Self::Unsupervised => 125,
        }
    }
}

/// `ENOENT`, the same number everywhere.
const NO_ENTRY: i32 = 2;

/// The end of the command and what was seen until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What was seen.
    pub summary: Summary,
}

/// Why a command cannot be supervised. It was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such mechanism on this system.
    #[error("programs can only be supervised on Linux (x86-64, AArch64)")]
    Platform,
    /// The kernel does not take the filter.
    #[error("the kernel refuses the filter that supervision needs: {0}")]
    NoFilter(std::io::Error),
    /// Another program supervises this tree, and it is not ours.
    #[error("another program already holds the only seccomp listener of this process tree")]
    Busy,
    /// A word or variable holds a zero byte.
    #[error("a word of the command holds a zero byte")]
    ZeroByte,
    /// A step before the command's start failed.
    #[error("the supervisor cannot be started: {0}")]
    Start(#[from] std::io::Error),
}
