//! Runs a program to its end and keeps what it prints.
//!
//! `Command::output` and `Child::wait_with_output` of the standard library panic when a read from the program's output
//! fails. Here that is an error like any other.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

/// Bytes of an error message that are kept.
const MAX_MESSAGE: usize = 64 * 1024;

/// Output of one stream, up to a limit.
#[derive(Debug, Default)]
pub struct Printed {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// More was printed than was kept.
    pub truncated: bool,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Printed,
    /// Its standard error.
    pub stderr: Printed,
}

/// Runs the program, feeds it `input`, and keeps the first `limit` bytes of its output and the beginning of its error
/// output; the rest is read and dropped.
///
/// # Errors
/// The program cannot be started, or its output cannot be read; it is ended then.
pub fn output(command: &mut Command, input: &[u8], limit: usize) -> io::Result<Ran> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let read = read(&mut child, input, limit);
    if read.is_err() {
        // Nothing reads its output now, so it could wait for ever.
        child.kill().ok();
    }
    let status = child.wait();
    let (stdout, stderr) = read?;
    Ok(Ran {
        status: status?,
        stdout,
        stderr,
    })
}

fn read(child: &mut Child, input: &[u8], limit: usize) -> io::Result<(Printed, Printed)> {
    let stdin = child.stdin.take().filter(|_| !input.is_empty());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        if let Some(mut stdin) = stdin {
            thread::Builder::new().spawn_scoped(scope, move || {
                // A program that stops reading early says why by its exit code.
                stdin.write_all(input).ok();
            })?;
        }
        let stderr =
            thread::Builder::new().spawn_scoped(scope, move || keep(stderr, MAX_MESSAGE))?;
        let stdout = keep(stdout, limit);
        let stderr = stderr.join();
        let stderr = stderr.unwrap_or_else(|_| Err(io::Error::other("a reader panicked")));
        Ok((stdout?, stderr?))
    })
}

/// Keeps the first `limit` bytes and drops the rest, so that the writer never waits.
fn keep(reader: Option<impl Read>, limit: usize) -> io::Result<Printed> {
    let Some(mut reader) = reader else {
        return Ok(Printed::default());
    };
    let mut bytes = Vec::new();
    let room = u64::try_from(limit).unwrap_or(u64::MAX);
    reader.by_ref().take(room).read_to_end(&mut bytes)?;
    let dropped = io::copy(&mut reader, &mut io::sink())?;
    Ok(Printed {
        bytes,
        truncated: dropped > 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_kept_up_to_the_limit() {
        let script = "cat; printf abcdef; printf 123 >&2; exit 7";
        let mut command = Command::new("sh");
        let ran = output(command.args(["-c", script]), b"in:", 6).unwrap();
        assert_eq!(ran.status.code(), Some(7));
        assert_eq!(
            (&*ran.stdout.bytes, ran.stdout.truncated),
            (&b"in:abc"[..], true)
        );
        assert_eq!(
            (&*ran.stderr.bytes, ran.stderr.truncated),
            (&b"123"[..], false)
        );
    }

    #[test]
    fn a_stream_that_cannot_be_read_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        assert_eq!(keep(Some(Broken), 10).unwrap_err().to_string(), "broken");
        assert!(keep(None::<Broken>, 10).unwrap().bytes.is_empty());
    }
}
