//! Runs the program that replaces the general model: JSON in, JSON out, with limits of time and output.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Interval of checks of the program.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Runs a program with `input` on its standard input, which it need not read, and returns its output.
///
/// # Errors
/// It cannot be started, fails, takes too long or prints too much.
pub fn run(words: &[String], input: &[u8], time: Duration, limit: usize) -> io::Result<Vec<u8>> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::Error::other("no program is named"));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start `{program}`: {error}"))
        })?;
    let end = |id: u32| {
        if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            kill_process_group(group, Signal::KILL).ok();
        }
    };
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read its input is not an error.
        thread::Builder::new().spawn(move || stdin.write_all(&input).ok())?;
    }
    let output = child.stdout.take().map(|stdout| collect(stdout, limit));
    let output = output.transpose()?;
    let deadline = Instant::now() + time;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            end(child.id());
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("`{program}` took longer than {} seconds", time.as_secs()),
            ));
        }
        thread::sleep(LOOK_EVERY);
    };
    // A process that it left behind keeps its output open.
    end(child.id());
    let printed = output.and_then(|output| output.recv_timeout(Duration::from_secs(5)).ok());
    let printed = printed.ok_or_else(|| io::Error::other("its output did not end"))??;
    // Checked before the exit status: a program whose output is not read any more ends by that.
    if printed.len() > limit {
        return Err(io::Error::other(format!(
            "`{program}` printed more than {limit} bytes"
        )));
    }
    if !status.success() {
        return Err(io::Error::other(format!("`{program}` failed: {status}")));
    }
    Ok(printed)
}

fn collect(
    stdout: std::process::ChildStdout,
    limit: usize,
) -> io::Result<mpsc::Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut printed = Vec::new();
        let most = (limit as u64).saturating_add(1);
        let read = stdout.take(most).read_to_end(&mut printed);
        // No receiver waits after the time limit.
        sender.send(read.map(|_| printed)).ok();
    })?;
    Ok(receiver)
}
