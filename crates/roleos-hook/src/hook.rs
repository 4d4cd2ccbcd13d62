//! `hook`: reads one event of an agent from standard input and always answers it in time.
//!
//! A timer interrupts work that takes too long and answers in its place; a panic is caught.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base::environment::Environment;
use base::files;
use base::programs;
use evidence::sealing::background;
use guard::agents::{Agent, Reply};
use guard::hook::{self, Ceiling, MAX_EVENT, Progress, Request};
use guard::supervision::{self, exit_now, set_alarm};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Stat, fstat, stat};
use rustix::io::{Errno, retry_on_intr};
use rustix::stdio::{stderr, stdout};

use crate::consult;
use crate::exit::Exit;

/// An installed hook has five seconds; we answer before that.
const DEADLINE: Duration = Duration::from_secs(4);

/// Time before the deadline at which the wait for a lock ends, so that the answer can name the process that holds it.
const LOCK_MARGIN: Duration = Duration::from_secs(1);

/// Extra time for an answer that is being recorded or read.
const GRACE: Duration = Duration::from_millis(500);

/// Bytes that a writable pipe accepts at once.
const PIPE_BYTES: usize = 4096;

/// Arguments of one call of the hook.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The agent that calls.
    pub agent: Agent,
    /// Name of the event, if the agent does not put it into the event.
    pub event: Option<String>,
    /// Time limit of the answer.
    pub deadline: Duration,
    /// The workspace root.
    pub root: Option<PathBuf>,
    /// The user's trust store.
    pub state: Option<PathBuf>,
    /// Set to report that the commands of a session are supervised, and to decide nothing.
    pub proves: bool,
}

impl Asked {
    /// Returns a call of an agent without options.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self {
            agent,
            event: None,
            deadline: DEADLINE,
            root: None,
            state: None,
            proves: false,
        }
    }

    /// Sets a shorter deadline than the usual one.
    pub fn within(&mut self, ms: u64) {
        self.deadline = Duration::from_millis(ms).min(DEADLINE);
    }

    /// Parses the arguments after the program's name; `None` if they are not a call of the hook with valid options.
    fn parse(arguments: &[OsString]) -> Option<Self> {
        let mut words = arguments.iter();
        if words.next()? != "hook" {
            return None;
        }
        let mut asked = Self::new(Agent::from_name(words.next()?.to_str()?)?);
        while let Some(word) = words.next() {
            let value = words.next()?;
            match word.to_str()? {
                "--root" => asked.root = Some(PathBuf::from(value)),
                "--trust-store" => asked.state = Some(PathBuf::from(value)),
                "--proof" => asked.proves = value == "session",
                "--event" => asked.event = Some(value.to_str()?.to_owned()),
                "--deadline-ms" => asked.within(value.to_str()?.parse().ok()?),
                _ => return None,
            }
        }
        Some(asked)
    }
}

/// Answers an event if the arguments, the program's name first, are those of an installed hook.
pub fn direct(arguments: &[OsString], version: &str) -> Option<Exit> {
    let asked = Asked::parse(arguments.get(1..)?)?;
    Some(run(&asked, version))
}

/// Answers one event.
pub fn run(asked: &Asked, version: &str) -> Exit {
    if asked.proves {
        prove(asked);
        return Exit::Done;
    }
    let progress = Arc::new(Progress::default());
    let exit = speak(&watched(asked, version, &progress));
    if let Some(workspace) = progress.to_seal()
        && let Some(program) = programs::running().ok().as_deref().and_then(programs::main)
    {
        // The next hook that can start a seal does so.
        background::start(&program, workspace).ok();
    }
    exit
}

/// Reports that the session's commands are supervised, if this process is. It decides nothing, so it cannot fail.
fn prove(asked: &Asked) {
    let mut event = Vec::new();
    let read = io::stdin().lock().take(MAX_EVENT).read_to_end(&mut event);
    let environment = Environment::read().with_state(asked.state.as_deref());
    if read.is_ok() && supervision::is_supervised() {
        hook::prove(&event, asked.root.as_deref(), &environment);
    }
}

/// Prints an answer and returns the exit code. Also called when the deadline interrupts the work.
fn speak(reply: &Reply) -> Exit {
    // The exit code is sufficient if this is lost.
    write(stderr(), reply.stderr.as_bytes()).ok();
    let printed = match &reply.otherwise {
        Some(_) if leads_nowhere(stdout()) => Err(Errno::NODEV),
        _ => write(stdout(), reply.stdout.as_bytes()),
    };
    // An undelivered question or refusal must fail; advice may get lost.
    if let (Err(_), Some(text)) = (printed, &reply.otherwise) {
        write(stderr(), text.as_bytes()).ok();
        return Exit::Refused;
    }
    if reply.code == 0 {
        Exit::Done
    } else {
        Exit::Refused
    }
}

/// Returns `true` for the null device, which the standard library also opens if there is no output.
fn leads_nowhere(output: BorrowedFd<'_>) -> bool {
    let is_device = |out: &Stat| FileType::from_raw_mode(out.st_mode).is_char_device();
    let out = fstat(output).ok().filter(is_device);
    out.is_some_and(|out| stat("/dev/null").is_ok_and(|null| null.st_rdev == out.st_rdev))
}

/// Writes to a reader that may not read; a piece that is not accepted within the grace time is an error.
fn write(output: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<()> {
    let grace = Timespec::try_from(GRACE).unwrap_or_default();
    for mut piece in bytes.chunks(PIPE_BYTES) {
        while !piece.is_empty() {
            let mut ready = [PollFd::new(&output, PollFlags::OUT)];
            if retry_on_intr(|| poll(&mut ready, Some(&grace)))? == 0 {
                return Err(Errno::TIMEDOUT);
            }
            let written = retry_on_intr(|| rustix::io::write(output, piece))?;
            piece = piece.get(written..).unwrap_or_default();
        }
    }
    Ok(())
}

/// The answer in place of a late one: prepared before, because nothing may be allocated then.
struct Late {
    progress: Arc<Progress>,
    /// Set if an answer is being printed, or was.
    is_spoken: AtomicBool,
    /// Set if the grace time has begun.
    has_grace: AtomicBool,
    refusal: Reply,
    pass: Reply,
}

static LATE: OnceLock<Late> = OnceLock::new();

/// Returns the answer, or the replacement if the work panics.
fn watched(asked: &Asked, version: &str, progress: &Arc<Progress>) -> Reply {
    let &Asked {
        agent, deadline, ..
    } = asked;
    files::wait_at_most(deadline.checked_sub(LOCK_MARGIN).unwrap_or(deadline));
    let end = Instant::now() + deadline;
    let last_words = listen_to_panics();
    let late = LATE.get_or_init(|| {
        let [refusal, pass] = hook::late(agent, deadline);
        Late {
            progress: Arc::clone(progress),
            is_spoken: AtomicBool::new(false),
            has_grace: AtomicBool::new(false),
            refusal,
            pass,
        }
    });
    if let Err(error) = set_alarm(deadline, interrupt) {
        let why = format!("no timer can be set: {error}");
        return hook::failed(agent, &why, progress);
    }
    let reply = panic::catch_unwind(AssertUnwindSafe(|| answer(asked, version, progress, end)));
    while late.is_spoken.swap(true, Ordering::SeqCst) {
        thread::park();
    }
    reply.unwrap_or_else(|_| {
        let words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        hook::failed(agent, &format!("a defect in roleos: {words}"), progress)
    })
}

/// Prints the replacement and ends the process if the answer is late. An answer that is being recorded gets a little
/// more time.
fn interrupt() {
    let Some(late) = LATE.get() else {
        return;
    };
    if !late.progress.expire() && !late.has_grace.swap(true, Ordering::SeqCst) {
        set_alarm(GRACE, interrupt).ok();
    } else if !late.is_spoken.swap(true, Ordering::SeqCst) {
        let blocks = late.progress.blocks();
        let reply = if blocks { &late.refusal } else { &late.pass };
        exit_now(speak(reply) as i32);
    }
}

fn answer(asked: &Asked, version: &str, progress: &Progress, end: Instant) -> Reply {
    let environment = Environment::read().with_state(asked.state.as_deref());
    let mut event = Vec::new();
    let read = io::stdin()
        .lock()
        .take(MAX_EVENT + 1)
        .read_to_end(&mut event);
    if let Err(error) = read {
        let why = format!("standard input cannot be read: {error}");
        return hook::failed(asked.agent, &why, progress);
    }
    let request = Request {
        agent: asked.agent,
        event: &event,
        named: asked.event.as_deref(),
        root: asked.root.as_deref(),
        environment: &environment,
        version,
    };
    let ask = |consultation| consult::ask(&consultation, end);
    let ceiling = environment
        .conformance_consult
        .then_some(&ask as Ceiling<'_>);
    hook::answer(&request, progress, ceiling)
}

/// Collects the messages of panics for the answer: agents show standard error to their model.
fn listen_to_panics() -> Arc<Mutex<String>> {
    let words = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&words);
    panic::set_hook(Box::new(move |panic| {
        let text = panic.to_string().replace('\n', " ");
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Asked> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Asked::parse(&words)
    }

    #[test]
    fn the_words_of_an_installed_hook_are_read() {
        let asked = parse("hook codex --root /r --trust-store /t --event Stop --deadline-ms 9");
        let asked = asked.unwrap();
        assert_eq!(asked.agent, Agent::Codex);
        assert_eq!(asked.root.as_deref(), Some("/r".as_ref()));
        assert_eq!(asked.state.as_deref(), Some("/t".as_ref()));
        assert_eq!(asked.event.as_deref(), Some("Stop"));
        assert_eq!(asked.deadline, Duration::from_millis(9));
        assert!(!asked.proves && parse("hook claude --proof session").unwrap().proves);
        assert_eq!(
            parse("hook claude --deadline-ms 60000").unwrap().deadline,
            DEADLINE
        );
    }

    #[test]
    fn everything_else_is_refused() {
        for line in [
            "",
            "hook",
            "hook nobody",
            "grant git:push",
            "hook claude --root",
            "hook claude --grant x",
            "hook claude --deadline-ms soon",
        ] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
