//! Runs a command of the user under limits of time, memory and output, and ends all its descendants.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::unregister;
use signal_hook::{SigId, flag};

use crate::git::LOCAL_VARIABLES;

pub use self::printed::{Printed, Ran, output};

mod printed;

/// How long to wait between looks at the child.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time for output after everything was ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Repetitions of the search for processes that appear while others are ended.
const SWEEPS: usize = 20;

/// Variable that marks processes which left their group.
const MARK: &str = "ROLEOS_RERUN";

/// Returns `true` if this process is to outlive its terminal, as with `nohup`: it was started with the hangup signal
/// ignored. If that is unknown, the signal is left alone.
#[must_use]
pub fn outlives_its_terminal() -> bool {
    let status = fs::read_to_string("/proc/self/status");
    status.map_or(true, |status| ignores(&status, SIGHUP).unwrap_or(true))
}

/// The niceness of background work.
const NICENESS: i32 = 10;

/// Lowers the priority of this process, for background work.
pub fn stand_back() {
    let own = rustix::process::getpriority_process(None).unwrap_or(NICENESS);
    // If the system refuses, the priority stays unchanged.
    rustix::process::setpriority_process(None, own.max(NICENESS)).ok();
}

/// Returns `true` if a process with this `status` of `/proc` ignores a signal.
fn ignores(status: &str, signal: i32) -> Option<bool> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let ignored = u64::from_str_radix(line.trim(), 16).ok()?;
    let place = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(ignored.checked_shr(place)? & 1 == 1)
}

/// Limits of a command.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Memory that each process may write to, in bytes. Reserved address space does not count.
    pub memory: u64,
    /// Kept bytes of output; the rest is read and dropped.
    pub output: u64,
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ended with this exit code.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// We ended it after its time limit.
    TimedOut,
    /// We ended it because this process was interrupted.
    Interrupted,
}

/// Result of a command.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its end.
    pub ended: Ended,
    /// Its standard output and error, in order, up to the limit.
    pub output: Vec<u8>,
    /// Set if more was printed than was kept.
    pub truncated: bool,
}

/// Runs `command` through `sh` in `directory`, without standard input, in a new process group.
///
/// Its descendants end with it, whether they stayed in the group or, on Linux, left it like a daemon.
///
/// # Errors
/// The shell cannot be started.
pub fn run(command: &str, directory: &Path, limits: Limits) -> io::Result<Finished> {
    let (reader, writer) = io::pipe()?;
    let mark = crate::fresh_uuid().to_string();
    // The shell sets the limit: none of our code may run between fork and exec.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"ulimit -d "$1" || exit 126; eval "$2" "#, "sh"])
        .arg((limits.memory / 1024).to_string())
        .arg(command)
        .env(MARK, &mark)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    for variable in LOCAL_VARIABLES {
        shell.env_remove(variable);
    }
    let mut child = shell.spawn()?;
    // Our own ends of the pipe, which must be closed first.
    drop(shell);
    let output = Output::collect(reader, limits.output);
    let interrupted = listen()?;
    let ended = wait(&mut child, limits.time, &interrupted.flag);
    // Remaining children hold the pipe open; they end with the command.
    end_group(&child);
    end_marked(&mark);
    let (output, truncated) = output.take();
    Ok(Finished {
        ended: ended?,
        output,
        truncated,
    })
}

/// The output of a pipe so far, collected by a thread.
#[derive(Debug)]
pub struct Output {
    kept: Arc<Mutex<(Vec<u8>, bool)>>,
    closed: mpsc::Receiver<()>,
}

impl Output {
    /// Keeps the first `limit` bytes and drops the rest, so that the writer never waits.
    pub fn collect(mut reader: io::PipeReader, limit: u64) -> Self {
        let kept = Arc::new(Mutex::new((Vec::new(), false)));
        let (sender, closed) = mpsc::channel();
        let sink = Arc::clone(&kept);
        let reading = thread::Builder::new().spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                let read = buffer.get(..length).unwrap_or_default();
                let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
                let room = usize::try_from(limit).unwrap_or(usize::MAX) - kept.0.len();
                kept.0.extend(read.iter().take(room));
                kept.1 |= room < length;
            }
            // There is no receiver after the caller has stopped waiting.
            sender.send(()).ok();
        });
        if reading.is_err() {
            // Nothing is read, which must not look like empty output.
            kept.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        }
        Self { kept, closed }
    }

    /// Returns `true` if more was printed than is kept.
    pub fn is_over(&self) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Returns the bytes, and `true` if there were more. Does not wait for an escaped process that holds the pipe open.
    pub fn take(self) -> (Vec<u8>, bool) {
        self.closed.recv_timeout(LAST_WORDS).ok();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *kept)
    }
}

/// Records Ctrl-C or a termination request instead of ending the process. Dropped, it stops.
struct Interrupted {
    flag: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

/// Starts recording. The command has its own group, so the terminal's Ctrl-C reaches only us and must be forwarded.
fn listen() -> io::Result<Interrupted> {
    let mut interrupted = Interrupted {
        flag: Arc::default(),
        handlers: Vec::new(),
    };
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let handler = flag::register(signal, Arc::clone(&interrupted.flag))?;
        interrupted.handlers.push(handler);
    }
    Ok(interrupted)
}

impl Drop for Interrupted {
    fn drop(&mut self) {
        self.handlers.drain(..).for_each(|handler| {
            unregister(handler);
        });
    }
}

fn wait(child: &mut Child, time: Duration, interrupted: &AtomicBool) -> io::Result<Ended> {
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        let is_interrupted = interrupted.load(Ordering::Relaxed);
        if is_interrupted || Instant::now() >= deadline {
            end_group(child);
            child.wait()?;
            return Ok(if is_interrupted {
                Ended::Interrupted
            } else {
                Ended::TimedOut
            });
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    }
}

/// Ends the command and all of its children; ended ones are not an error.
fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        kill_process_group(group, Signal::KILL).ok();
    }
}

/// Ends every process with the mark, repeatedly while new ones appear. Without `/proc` it ends none.
fn end_marked(mark: &str) {
    let mark = format!("{MARK}={mark}");
    for _ in 0..SWEEPS {
        let mut found = false;
        for process in marked(mark.as_bytes()) {
            found |= kill_process(process, Signal::KILL).is_ok();
        }
        if !found {
            return;
        }
    }
}

fn marked(mark: &[u8]) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let carries_mark = |directory: &Path| {
        // Ended, or of another user: not ours to end.
        let environment = fs::read(directory.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == mark)
    };
    processes
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let process = Pid::from_raw(number)?;
            carries_mark(&entry.path()).then_some(process)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_back_does_not_come_forward_again() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        stand_back();
        assert!(niceness() >= NICENESS);
        rustix::process::setpriority_process(None, NICENESS + 5).unwrap();
        stand_back();
        assert_eq!(niceness(), NICENESS + 5);
    }

    #[test]
    fn an_ignored_signal_is_a_bit_of_the_mask() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t0001\nSigIgn:\t{mask}\nSigCgt:\t0\n");
        for (mask, hangup) in [
            ("0000000000000001", Some(true)),
            ("0000000000001000", Some(false)),
            ("ffffffffffffffff", Some(true)),
            ("x", None),
        ] {
            assert_eq!(ignores(&status(mask), SIGHUP), hangup, "{mask}");
        }
        assert_eq!(ignores("", SIGHUP), None);
        assert_eq!(ignores(&status("4000"), SIGTERM), Some(true));
    }
}
