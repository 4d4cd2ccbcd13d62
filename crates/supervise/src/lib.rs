//! Runs a command so that a rule decides on every program which it or its descendants start, before it begins.
//!
//! Three processes: the caller waits, forwards signals and ends as the command does; the supervisor, its child,
//! answers the kernel's notifications of `execve`, `execveat` and `connect` to local sockets; the command runs below
//! the supervisor with the caller's terminal, group and streams. The judged program is compared with the one that
//! really begins to execute, at a stop before its first instruction, so a change in between is judged too.
//!
//! The crate contains no rule: [`Judge`] decides. It is the only crate with `unsafe` code, all of it in
//! `linux/sys.rs` and `alarm.rs`. Linux on x86-64 and AArch64; elsewhere [`run`] returns [`Error::Platform`].

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

/// Variable that identifies the supervisor to a supervisor below it: `<process id>.<nonce>`.
pub const VARIABLE: &str = "ROLEOS_WATCH";

/// The command to run.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Program; without a slash it is looked up in `PATH`.
    pub program: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Whole environment of the program.
    pub environment: Vec<(OsString, OsString)>,
    /// Files and directories that the command and its descendants can read but not change, if mounts are possible.
    pub read_only: Vec<PathBuf>,
    /// Method of the mounts for [`read_only`](Self::read_only).
    pub seal: Seal,
}

/// Method of making files read-only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seal {
    /// Do not make them read-only.
    #[default]
    Off,
    /// In a mount namespace, if the process may create one without a user namespace.
    Privileged,
    /// In a user namespace as well, if the process has no privileges. Owners other than the user are then shown as
    /// the overflow user.
    UserNamespace,
}

/// Answer of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call may happen.
    Proceed,
    /// The call fails with `EPERM`; the bytes are sent to the waiting process at once.
    Refuse(Vec<u8>),
}

/// A rule. It runs in the supervisor, a separate process: its state does not return to the caller of [`run`].
pub trait Judge {
    /// Prepares for a command while its process is being set up, so that its first program waits less.
    fn begin(&mut self, program: &OsStr) {
        let _ = program;
    }

    /// Decides on a program that is about to be executed.
    fn exec(&mut self, exec: &Exec<'_>) -> Answer;

    /// Decides on a connection to a local socket.
    fn connect(&mut self, connect: &Connect<'_>) -> Answer;

    /// Returns the message for a process that starts something unreadable, which is refused.
    fn unreadable(&mut self, process: u32) -> Vec<u8>;

    /// Handles the end of the command. Its descendants may continue, and so may calls of the rule.
    fn ended(&mut self, summary: &Summary);
}

/// Method of comparing programs with the judged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// At the exec stop, before the first instruction.
    Ptrace,
    /// Shortly after, because the kernel refuses to trace.
    Cmdline,
}

impl Verification {
    /// Returns the name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ptrace => "ptrace",
            Self::Cmdline => "cmdline",
        }
    }
}

/// Statistics of the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of executions that the rule decided.
    pub execs: u64,
    /// Number of executions and connections that were refused.
    pub refused: u64,
    /// Number of processes that were killed because they had begun something other than the judged program, which is
    /// refused.
    pub killed: u64,
    /// Number of executions that were compared only after they had begun.
    pub unverified: u64,
    /// Set if a supervisor above this one judges, so that this one saw nothing.
    pub nested: bool,
    /// Set if the files of [`Command::read_only`] are mounted read-only.
    pub sealed: bool,
}

impl Summary {
    /// Returns the method of comparison: ptrace if every execution was compared by it.
    #[must_use]
    pub fn verification(&self) -> Verification {
        if self.unverified == 0 {
            Verification::Ptrace
        } else {
            Verification::Cmdline
        }
    }
}

/// End of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended with an exit code.
    Exited(i32),
    /// It ended by a signal.
    Signalled(i32),
    /// It could not be started, with the number of the error.
    NotStarted(i32),
    /// The supervisor ended first, so the command was killed.
    Unsupervised,
}

impl End {
    /// Returns the exit code that a shell would report for this end.
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

/// End of the command, with the statistics until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// End of the command.
    pub end: End,
    /// Statistics of the supervisor.
    pub summary: Summary,
}

/// Reason that a command cannot be supervised. It was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such mechanism on this system.
    #[error("programs can only be supervised on Linux (x86-64, AArch64)")]
    Platform,
    /// The kernel refuses the filter.
    #[error("the kernel refuses the filter that supervision needs: {0}")]
    NoFilter(std::io::Error),
    /// Another program supervises this process tree.
    #[error("another program already holds the only seccomp listener of this process tree")]
    Busy,
    /// An argument or variable contains a zero byte.
    #[error("a word of the command holds a zero byte")]
    ZeroByte,
    /// A step before the command's start failed.
    #[error("the supervisor cannot be started: {0}")]
    Start(#[from] std::io::Error),
}
