//! Runs a command of the user under limits of time, memory and output, and ends everything that it started.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long to wait between looks at the child.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a command may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Memory that each process may write to, in bytes. Address space that a runtime only reserves does not count.
    pub memory: u64,
    /// Bytes of output that are kept; the rest is read and dropped.
    pub output: u64,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// By us, after its time was over.
    TimedOut,
}

/// What a command did.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output and error, as they came, up to the limit.
    pub output: Vec<u8>,
    /// More was printed than was kept.
    pub truncated: bool,
}

/// Runs `command` through `sh` in `directory`, without standard input, in a process group of its own.
///
/// # Errors
/// The shell cannot be started.
pub fn run(command: &str, directory: &Path, limits: Limits) -> io::Result<Finished> {
    let (reader, writer) = io::pipe()?;
    // The limit is set by the shell itself: between fork and exec nothing of ours may run.
    let mut child = Command::new("sh")
        .args(["-c", r#"ulimit -d "$1" || exit 126; eval "$2" "#, "sh"])
        .arg((limits.memory / 1024).to_string())
        .arg(command)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let output = collect(reader, limits.output);
    let ended = wait(&mut child, limits.time)?;
    // Children that were left behind hold the pipe open; they end with the command.
    end_group(&child);
    let (output, truncated) = output.recv().unwrap_or_default();
    Ok(Finished {
        ended,
        output,
        truncated,
    })
}

fn collect(mut reader: io::PipeReader, limit: u64) -> mpsc::Receiver<(Vec<u8>, bool)> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        let read = reader.by_ref().take(limit).read_to_end(&mut kept);
        let dropped = read.and_then(|_| io::copy(&mut reader, &mut io::sink()));
        // Nobody listens any more only when the caller has gone.
        sender.send((kept, dropped.unwrap_or(0) > 0)).ok();
    });
    receiver
}

fn wait(child: &mut Child, time: Duration) -> io::Result<Ended> {
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        if Instant::now() >= deadline {
            end_group(child);
            child.wait()?;
            return Ok(Ended::TimedOut);
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

/// Ends the command and all of its children; those that are gone already are no error.
fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        kill_process_group(group, Signal::KILL).ok();
    }
}
