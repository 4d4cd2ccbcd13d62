//! Supervision by seccomp notifications. [`child`] becomes the command, [`supervisor`] answers, and the caller waits
//! in this module.

mod calls;
mod child;
mod connect;
mod memory;
mod message;
mod seen;
mod supervisor;
mod sys;
mod verify;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic::{self, AssertUnwindSafe};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::{Command, End, Error, Judge, Outcome, Summary};
use child::Prepared;
use message::Message;
use supervisor::Ends;
use sys::Signals;

pub use seen::{Connect, Exec};

/// Signals that are passed on to the command.
const FORWARDED: [i32; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// Runs a command and returns when it has ended; its descendants may continue, and stay supervised. `told` receives
/// the messages of the rule's refusals as they happen.
///
/// The calling process should have one thread: it is forked, and the rule runs in the copy.
///
/// # Errors
/// Fails if the command cannot be supervised; it was not started.
pub fn run(
    command: &Command,
    judge: &mut dyn Judge,
    told: &mut dyn FnMut(&[u8]),
) -> Result<Outcome, Error> {
    let prepared = Prepared::new(command)?;
    let (heard, up) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
    let (control, steer) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
    let forwarded = Signals::new(&FORWARDED);
    // A command that outlives the supervisor becomes a child of this process, which ends it.
    let was_reaper = rustix::process::child_subreaper().map_err(io::Error::from)?;
    let own = Some(rustix::process::getpid());
    rustix::process::set_child_subreaper(own).map_err(io::Error::from)?;
    let mask = forwarded.block()?;
    // A command that searches for processes by their arguments must not find its own here.
    sys::hide_words();
    let Some(_) = sys::fork()? else {
        drop((heard, steer));
        let ends = Ends { up, control, mask };
        let supervise = || supervisor::supervise(command, prepared, ends, judge);
        let done = panic::catch_unwind(AssertUnwindSafe(supervise));
        sys::exit(i32::from(!matches!(done, Ok(Ok(())))))
    };
    drop((up, control));
    let ended = Waiter {
        heard,
        steer,
        signals: forwarded.descriptor()?,
    }
    .wait(told);
    mask.restore();
    if matches!(ended, Some(Message::Told(_)) | None) {
        // Before this process stops being the reaper of orphans: the kernel reparents them only after the
        // supervisor's pipe has closed.
        end_descendants();
    }
    if was_reaper.is_none() {
        rustix::process::set_child_subreaper(None).map_err(io::Error::from)?;
    }
    match ended {
        Some(Message::Ended(end, summary)) => Ok(Outcome { end, summary }),
        Some(Message::Failed(libc::EBUSY)) => Err(Error::Busy),
        Some(Message::Failed(errno)) => Err(Error::NoFilter(io::Error::from_raw_os_error(errno))),
        Some(Message::Told(_)) | None => Ok(Outcome {
            end: End::Unsupervised,
            summary: NOTHING,
        }),
    }
}

/// Statistics of a tree without its supervisor.
const NOTHING: Summary = Summary {
    execs: 0,
    refused: 0,
    killed: 0,
    unverified: 1,
    nested: false,
    sealed: false,
};

/// State of the caller.
struct Waiter {
    heard: OwnedFd,
    steer: OwnedFd,
    signals: OwnedFd,
}

impl Waiter {
    /// Waits for the last message; `None` if the supervisor ends without one.
    fn wait(&self, told: &mut dyn FnMut(&[u8])) -> Option<Message> {
        let mut arrived = Vec::new();
        loop {
            let mut fds = [
                PollFd::new(&self.heard, PollFlags::IN),
                PollFd::new(&self.signals, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
            self.forward();
            let mut part = [0; 4096];
            let [heard, _] = &fds;
            if heard.revents().is_empty() {
                continue;
            }
            match rustix::io::read(&self.heard, &mut part) {
                Ok(0) => return None,
                Ok(read) => arrived.extend(part.iter().take(read)),
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            }
            while let Some(message) = Message::take(&mut arrived) {
                match message {
                    Message::Told(text) => told(&text),
                    last => return Some(last),
                }
            }
        }
    }

    fn forward(&self) {
        while let Some((signal, on_purpose)) = sys::next_signal(self.signals.as_fd()) {
            // The terminal sends its signals to the command as well.
            if on_purpose && i32::from(signal) != libc::SIGCONT {
                // The end of its pipe shows that a supervisor is gone.
                rustix::io::write(&self.steer, &[signal]).ok();
            }
        }
    }
}

/// Ends every process that has become a child of this one, and their orphans.
fn end_descendants() {
    let own = std::process::id();
    loop {
        let children = fs::read_to_string(format!("/proc/self/task/{own}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            if let Ok(child) = child.parse() {
                sys::kill(child, libc::SIGKILL);
            }
        }
        if sys::wait(-1, true).is_none() {
            return;
        }
    }
}

/// Replaces this process by the command, without supervision. Returns the error if that fails.
#[must_use]
pub fn start_unsupervised(command: &Command) -> io::Error {
    match Prepared::new(command) {
        Ok(prepared) => {
            sys::default_action(libc::SIGPIPE);
            io::Error::from_raw_os_error(prepared.execute())
        }
        Err(error) => io::Error::other(error),
    }
}

/// Returns `true` if our supervisor, named by the variables, is above this process and answers.
#[must_use]
pub fn is_supervised(environment: &[(OsString, OsString)]) -> bool {
    let named = environment.iter().find(|(name, _)| name == crate::VARIABLE);
    let Some(named) = named else {
        return false;
    };
    let command = Command {
        environment: vec![named.clone()],
        ..Command::default()
    };
    Prepared::new(&command).is_ok_and(|prepared| prepared.is_below_ours())
}

/// Ends this process by the signal that ended the command.
pub fn end_by_signal(signal: i32) -> ! {
    sys::die_by(signal);
    sys::exit(128 + signal)
}
