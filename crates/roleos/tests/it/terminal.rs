//! A person at a terminal: a pseudo-terminal on which the binary runs without ancestors, regardless of the process that
//! started the tests.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::workspace::{ROLEOS, Workspace};

const TOO_LONG: Duration = Duration::from_secs(60);

/// Starts a new session on the terminal `$PTS`, so that `/dev/tty` is that terminal, runs the words and leaves their
/// exit code. A shell that ends at once puts it into the background, so its only ancestor is the first process.
const SESSION: &str =
    r#"exec <"$PTS" 2>"$PTS"; "$@" >"$OUT"; echo $? >"$CODE.part"; mv "$CODE.part" "$CODE""#;

/// A command on a terminal.
pub(crate) struct Terminal {
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// Length of the output that was expected already.
    expected: usize,
    folder: tempfile::TempDir,
}

/// Result of the command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) seen: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

impl Terminal {
    /// Runs the binary with these arguments in the workspace.
    pub(crate) fn roleos(workspace: &Workspace, arguments: &[&str]) -> Self {
        Self::run(workspace, &[&[ROLEOS], arguments].concat(), &[])
    }

    /// Runs any command, with these variables set besides the usual few of a person.
    pub(crate) fn run(workspace: &Workspace, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let status = Command::new("sh")
            .args(["-c", r#"setsid sh -c "$SESSION" sh "$@" & "#, "sh"])
            .args(words)
            .current_dir(workspace.root())
            .env_clear()
            .env("SESSION", SESSION)
            .env("PTS", name.to_str().unwrap())
            .env("OUT", folder.path().join("out"))
            .env("CODE", folder.path().join("code"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", workspace.home())
            .env("ROLEOS_ROOT", workspace.root())
            .env("NO_COLOR", "1")
            .envs(variables.iter().copied())
            .status()
            .unwrap();
        assert!(status.success());
        Self {
            screen: listen(master.try_clone().unwrap()),
            keyboard: File::from(master),
            seen: String::new(),
            expected: 0,
            folder,
        }
    }

    fn code(&self) -> PathBuf {
        self.folder.path().join("code")
    }

    /// Waits until this text is on the screen, after the text that was expected before.
    #[track_caller]
    pub(crate) fn expects(&mut self, text: &str) -> &mut Self {
        let start = Instant::now();
        loop {
            let fresh = self.seen.get(self.expected..).unwrap_or_default();
            if let Some(at) = fresh.find(text) {
                self.expected += at + text.len();
                return self;
            }
            let ended = self.code().exists();
            match self.screen.recv_timeout(Duration::from_millis(50)) {
                Ok(bytes) => self.show(&bytes),
                Err(RecvTimeoutError::Timeout) if !ended && start.elapsed() < TOO_LONG => {}
                Err(_) => panic!("expected `{text}` on the screen:\n{}", self.seen),
            }
        }
    }

    /// Returns the screen so far.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    fn show(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).replace('\r', "");
        self.seen.push_str(&text);
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) -> &mut Self {
        self.keyboard
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
        self
    }

    /// Types a secret, no faster than a person: the echo is off soon after the question.
    pub(crate) fn types_secretly(&mut self, line: &str) -> &mut Self {
        std::thread::sleep(Duration::from_millis(500));
        self.types(line)
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> Ended {
        let start = Instant::now();
        while !self.code().exists() {
            assert!(start.elapsed() < TOO_LONG, "it hangs:\n{}", self.seen);
            std::thread::sleep(Duration::from_millis(5));
        }
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(100)) {
            self.show(&bytes);
        }
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap();
        Ended {
            code: read("code").trim().parse().unwrap(),
            stdout: read("out"),
            seen: self.seen.clone(),
        }
    }
}

fn listen(master: OwnedFd) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut master = File::from(master);
        let mut buffer = [0; 4096];
        loop {
            match master.read(&mut buffer) {
                Ok(length) if length > 0 => {
                    if sender.send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                // The other side is not open yet, or not any more.
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    });
    receiver
}
