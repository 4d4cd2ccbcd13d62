//! The supervisor's process: answers notifications until the last process with the filter is gone.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::DumpableBehavior;

use super::calls::Call;
use super::child::{self, Prepared, Ready};
use super::connect::{self, Wanted};
use super::memory::{Memory, Unread};
use super::message::Message;
use super::seen::{Connect, Exec, Links, NoExec, mounts_of, process_of};
use super::sys::{self, Change, Notification, Reply, Signals};
use super::verify::{Stop, Verifier};
use crate::{Answer, Command, End, Judge, Summary};

/// Pipes to the waiting process, and the signals that were blocked before it began.
pub(super) struct Ends {
    pub(super) up: OwnedFd,
    pub(super) control: OwnedFd,
    pub(super) mask: Signals,
}

/// Stack size of a thread that waits for a connection.
const STACK: usize = 64 << 10;

/// Starts the command and supervises it. On an error it was not started.
pub(super) fn supervise(
    command: &Command,
    mut prepared: Prepared,
    ends: Ends,
    judge: &mut dyn Judge,
) -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let (heard, told) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    let name = format!("{}.{:016x}", std::process::id(), u64::from_le_bytes(nonce));
    prepared.name_supervisor(&name);
    let Some(child) = sys::fork_with_descriptors()? else {
        child::become_command(command, &prepared, &told, &ends.mask)
    };
    // The child is being set up meanwhile. It uses our descriptors until it has its own table, so they stay open.
    withdraw()?;
    judge.begin(&command.program);
    let ready = first_word(&heard, child)?;
    drop(told);
    let (listener, sealed) = match ready {
        Ready::Listening(listener, sealed) => (Some(sys::own(listener)), sealed),
        Ready::Nested => (None, false),
        Ready::Failed(errno) => {
            let mut up = Up::new(ends.up);
            up.send(&Message::Failed(errno));
            return Ok(());
        }
    };
    let signals = Signals::new(&[libc::SIGCHLD]);
    signals.block()?;
    let children = signals.descriptor()?;
    leave_streams()?;
    let mounts = [std::process::id(), child.cast_unsigned()]
        .into_iter()
        .filter_map(mounts_of);
    let mut supervisor = Supervisor {
        up: Up::new(ends.up),
        control: Some(ends.control),
        heard,
        children,
        child: Some(child),
        mark: child::mark(name.as_ref()),
        mounts: mounts.collect(),
        links: Links::default(),
        judge,
        verifier: Verifier::default(),
        summary: Summary {
            execs: 0,
            refused: 0,
            killed: 0,
            unverified: 0,
            nested: listener.is_none(),
            sealed,
        },
    };
    match listener {
        Some(listener) => supervisor.run(&Arc::new(listener)),
        None => supervisor.wait_only(),
    }
    Ok(())
}

/// Reads the child's first message. The child may be killed before, and its end of the pipe is shared with this
/// process until it has sent it.
fn first_word(heard: &OwnedFd, child: i32) -> io::Result<Ready> {
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    while poll(&mut [PollFd::new(heard, PollFlags::IN)], Some(&second)).unwrap_or(0) == 0 {
        if sys::wait(child, false).is_some() {
            return Ok(Ready::Failed(libc::EIO));
        }
    }
    let mut bytes = [0; 9];
    let read = rustix::io::read(heard, &mut bytes)?;
    Ok(if read == bytes.len() {
        Ready::from_bytes(bytes)
    } else {
        Ready::Failed(libc::EIO)
    })
}

/// Leaves the session and the directory of the command, and its reach.
fn withdraw() -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::thread::set_name(c"roleos-watch")?;
    sys::be_prompt();
    // A separate session is scheduled as a whole against others. Only privileged users may change that.
    let group = OpenOptions::new().write(true).open("/proc/self/autogroup");
    group.and_then(|mut group| group.write_all(b"-20")).ok();
    rustix::process::chdir("/")?;
    Ok(())
}

/// Closes the command's streams.
fn leave_streams() -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Pipe to the waiting process. It never blocks, because that process may be stopped.
struct Up {
    pipe: Option<OwnedFd>,
    waiting: Vec<u8>,
}

impl Up {
    fn new(pipe: OwnedFd) -> Self {
        let flags = rustix::fs::OFlags::NONBLOCK;
        // Without it, a stopped reader would only stop this process as well.
        rustix::fs::fcntl_setfl(&pipe, flags).ok();
        Self {
            pipe: Some(pipe),
            waiting: Vec::new(),
        }
    }

    fn send(&mut self, message: &Message) {
        message.write(&mut self.waiting);
        self.flush();
    }

    fn flush(&mut self) {
        while !self.waiting.is_empty()
            && let Some(pipe) = &self.pipe
        {
            match rustix::io::write(pipe, &self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => self.pipe = None,
            }
        }
    }
}

struct Supervisor<'a> {
    up: Up,
    /// Pipe with signals for the command; closed when the waiting process ends.
    control: Option<OwnedFd>,
    /// Pipe with the error of a failed execution.
    heard: OwnedFd,
    children: OwnedFd,
    /// Process id of the command, while it runs.
    child: Option<i32>,
    mark: PathBuf,
    /// Mount namespaces in which names have the same meaning as here.
    mounts: Vec<PathBuf>,
    links: Links,
    judge: &'a mut dyn Judge,
    verifier: Verifier,
    summary: Summary,
}

/// Result of one wait.
struct Round {
    notified: bool,
    alone: bool,
    controlled: bool,
    changed: bool,
}

impl Supervisor<'_> {
    fn run(&mut self, listener: &Arc<OwnedFd>) {
        sys::wake_in_sync(listener.as_fd());
        // The command may have ended before its signal was watched.
        self.reap();
        loop {
            let Some(round) = self.wait(Some(listener.as_ref())) else {
                continue;
            };
            for process in self.verifier.look() {
                self.judge_image(process, false);
            }
            if round.changed {
                // There is one signal for any number of changes.
                sys::next_signal(self.children.as_fd());
                self.reap();
            }
            if round.controlled {
                self.control();
            }
            if round.notified {
                // An interrupted or withdrawn one is repeated, or not at all.
                if let Ok(notification) = sys::receive(listener.as_fd()) {
                    self.notified(listener, &notification);
                }
            } else if round.alone {
                self.last_words();
                return;
            }
        }
    }

    /// Only waits for the command, because another supervisor answers.
    fn wait_only(&mut self) {
        self.reap();
        while self.child.is_some() {
            let Some(round) = self.wait(None) else {
                continue;
            };
            if round.changed {
                // There is one signal for any number of changes.
                sys::next_signal(self.children.as_fd());
                self.reap();
            }
            if round.controlled {
                self.control();
            }
        }
    }

    fn wait(&mut self, listener: Option<&OwnedFd>) -> Option<Round> {
        let look = self.verifier.next_look();
        let look = look.and_then(|look| Timespec::try_from(look).ok());
        let mut fds = vec![PollFd::new(&self.children, PollFlags::IN)];
        fds.extend(listener.map(|listener| PollFd::new(listener, PollFlags::IN)));
        let controls = fds.len();
        fds.extend(
            self.control
                .as_ref()
                .map(|control| PollFd::new(control, PollFlags::IN)),
        );
        let writes = fds.len();
        let waiting = self
            .up
            .pipe
            .as_ref()
            .filter(|_| !self.up.waiting.is_empty());
        fds.extend(waiting.map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        poll(&mut fds, look.as_ref()).ok()?;
        let has = |at: usize, flags: PollFlags| {
            fds.get(at).is_some_and(|fd| fd.revents().intersects(flags))
        };
        let any = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        let listens = listener.is_some();
        let round = Round {
            changed: has(0, any),
            notified: listens && has(1, PollFlags::IN),
            alone: listens && has(1, PollFlags::HUP | PollFlags::ERR),
            controlled: writes > controls && has(controls, any),
        };
        let writable = has(writes, PollFlags::all());
        drop(fds);
        if writable {
            self.up.flush();
        }
        Some(round)
    }

    /// Handles every change of children and traced threads.
    fn reap(&mut self) {
        while let Some((process, change)) = sys::wait(-1, false) {
            self.changed(process, change);
        }
    }

    fn changed(&mut self, process: i32, change: Change) {
        if matches!(change, Change::Stopped(..)) {
            if let Stop::Differs(process) = self.verifier.stopped(process, change) {
                self.judge_image(process, true);
            }
            return;
        }
        self.verifier.gone(process);
        if self.child == Some(process) {
            self.child = None;
            self.ended(change);
        }
    }

    /// Judges the program that a process really executes, because it is not the one that was judged before: a script
    /// by its interpreter, a file that was replaced, arguments that were changed in between.
    fn judge_image(&mut self, process: u32, stopped: bool) {
        let answer = Exec::of_image(process).map(|image| self.judge.exec(&image));
        let Ok(id) = i32::try_from(process) else {
            return;
        };
        if answer != Some(Answer::Proceed) {
            sys::kill(id, libc::SIGKILL);
            self.summary.killed += 1;
            if let Some(Answer::Refuse(told)) = answer {
                self.refused(told);
            }
        }
        if stopped {
            sys::detach(id);
        }
    }

    fn refused(&mut self, told: Vec<u8>) {
        self.summary.refused += 1;
        self.up.send(&Message::Told(told));
    }

    fn control(&mut self) {
        let mut signal = [0];
        let read = self
            .control
            .as_ref()
            .map(|control| rustix::io::read(control, &mut signal));
        let [signal] = signal;
        match (read, self.child) {
            (Some(Ok(1)), Some(child)) => sys::kill(child, signal.into()),
            (Some(Ok(1)), None) => {}
            // The waiting process was killed, and the command ends with it.
            (_, child) => {
                self.control = None;
                if let Some(child) = child {
                    sys::kill(child, libc::SIGKILL);
                }
            }
        }
    }

    fn notified(&mut self, listener: &Arc<OwnedFd>, notification: &Notification) {
        let Notification {
            id, thread, data, ..
        } = *notification;
        let answer = match Call::of(data.arch, data.number, data.args) {
            Some(call @ Call::Exec { .. }) => self.exec(listener, id, thread, call),
            Some(call) => self.connect(listener, id, thread, call),
            None => Some(Reply::Error(libc::ENOSYS)),
        };
        if let Some(answer) = answer {
            // The caller may be gone.
            sys::reply(listener.as_fd(), id, answer).ok();
        }
    }

    fn exec(&mut self, listener: &OwnedFd, id: u64, thread: u32, call: Call) -> Option<Reply> {
        let memory = Memory::of(thread);
        let exec = match Exec::read(thread, &memory, call, &self.mounts, &mut self.links) {
            Ok(exec) => exec,
            Err(why) => return Some(self.nothing(thread, why)),
        };
        // The read values belong to this caller only if it still waits.
        if !sys::is_valid(listener.as_fd(), id) {
            return None;
        }
        if exec.path() == self.mark {
            return Some(Reply::Error(child::MARK_ANSWER));
        }
        self.summary.execs += 1;
        let answer = self.judge.exec(&exec);
        if let Some(why) = exec.unread() {
            return Some(self.nothing(thread, why));
        }
        if let Answer::Refuse(told) = answer {
            self.refused(told);
            return Some(Reply::Error(libc::EPERM));
        }
        let process = || process_of(thread).unwrap_or(thread);
        if !self.verifier.expect(thread, process, exec.into_judged()) {
            self.summary.unverified += 1;
        }
        Some(Reply::Continue)
    }

    /// Answers if there is nothing to judge.
    fn nothing(&mut self, thread: u32, why: NoExec) -> Reply {
        match why {
            NoExec::Fails(errno) => Reply::Error(errno),
            NoExec::Forbidden => {
                let process = process_of(thread).unwrap_or(thread);
                let told = self.judge.unreadable(process);
                self.refused(told);
                Reply::Error(libc::EPERM)
            }
        }
    }

    fn connect(
        &mut self,
        listener: &Arc<OwnedFd>,
        id: u64,
        thread: u32,
        call: Call,
    ) -> Option<Reply> {
        let local = match connect::read(thread, call) {
            Ok(Wanted::Local(local)) => local,
            Ok(Wanted::Other) => return Some(Reply::Continue),
            Err(Unread::Invalid(errno)) => return Some(Reply::Error(errno)),
            Err(Unread::Forbidden) => return Some(Reply::Error(libc::EPERM)),
        };
        if !sys::is_valid(listener.as_fd(), id) {
            return None;
        }
        if let Answer::Refuse(told) = self
            .judge
            .connect(&Connect::new(local.process, &local.name))
        {
            self.refused(told);
            return Some(Reply::Error(libc::EPERM));
        }
        // If sockets cannot be copied, the caller connects by itself.
        let Ok(ready) = local.prepare() else {
            return Some(Reply::Continue);
        };
        let finish = move |ready: &connect::Ready| match ready.connect() {
            Ok(()) => Reply::Value(0),
            Err(errno) => Reply::Error(errno),
        };
        if !ready.may_wait {
            return Some(finish(&ready));
        }
        let shared = Arc::clone(listener);
        let wait = move || {
            sys::reply(shared.as_fd(), id, finish(&ready)).ok();
        };
        match thread::Builder::new().stack_size(STACK).spawn(wait) {
            Ok(_) => None,
            Err(_) => Some(Reply::Error(libc::EAGAIN)),
        }
    }

    /// Sends the end of the command to the waiting process.
    fn ended(&mut self, change: Change) {
        let mut reason = [0; 4];
        let failed = rustix::io::read(&self.heard, &mut reason) == Ok(reason.len());
        let end = match change {
            _ if failed => End::NotStarted(i32::from_le_bytes(reason)),
            Change::Signalled(signal) => End::Signalled(signal),
            Change::Exited(code) | Change::Stopped(code, _) => End::Exited(code),
        };
        self.judge.ended(&self.summary);
        self.up.send(&Message::Ended(end, self.summary));
    }

    /// Handles the end of the last process with the filter; the command's end may still be pending.
    fn last_words(&mut self) {
        while let Some(child) = self.child {
            match sys::wait(child, true) {
                Some((process, change)) => self.changed(process, change),
                None => return,
            }
        }
    }
}
