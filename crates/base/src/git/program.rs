//! Starts the `git` program with an environment in which only our settings count.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use super::{MAX_MESSAGE, Printed};
use crate::environment;

/// Variables for every call, so that git asks no questions and fetches nothing.
const FIXED: [(&str, &str); 5] = [
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// Returns git in `directory`, without the variables that configure the caller's git.
pub(super) fn command(directory: &Path) -> Command {
    let mut command = Command::new("git");
    for name in environment::git_variables() {
        command.env_remove(name);
    }
    if let Some(path) = environment::absolute_search_path() {
        command.env("PATH", path);
    }
    command
        .envs(FIXED)
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}

/// Runs git, writes `input` to it and keeps the first `limit` bytes of its output.
pub(super) fn feed(
    command: &mut Command,
    input: &[u8],
    limit: usize,
) -> io::Result<(ExitStatus, Printed, Vec<u8>)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, move || {
            // If git stops reading early, its exit code shows the reason.
            stdin.map(|mut stdin| stdin.write_all(input));
        })?;
        let message = thread::Builder::new().spawn_scoped(scope, move || {
            stderr.map_or(
                Ok(Vec::new()),
                |stderr| Ok(keep(stderr, MAX_MESSAGE)?.bytes),
            )
        })?;
        let printed = match stdout {
            Some(stdout) => keep(stdout, limit)?,
            None => Printed {
                bytes: Vec::new(),
                truncated: false,
            },
        };
        let message: io::Result<Vec<u8>> = message.join().unwrap_or(Ok(Vec::new()));
        Ok((child.wait()?, printed, message?))
    })
}

/// Keeps the first `limit` bytes and drops the rest, so that the writer never waits.
fn keep(mut reader: impl io::Read, limit: usize) -> io::Result<Printed> {
    let mut bytes = Vec::new();
    let room = u64::try_from(limit).unwrap_or(u64::MAX);
    reader.by_ref().take(room).read_to_end(&mut bytes)?;
    let dropped = io::copy(&mut reader, &mut io::sink())?;
    Ok(Printed {
        bytes,
        truncated: dropped > 0,
    })
}
