//! `hook`: reads one event of an agent from standard input and answers it in time, whatever happens.
//!
//! A timer interrupts work that takes too long, and an answer is given in its place; a panic is caught.

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

/// How long before the deadline the wait for a lock ends, so that the answer can name the process that holds it.
const LOCK_MARGIN: Duration = Duration::from_secs(1);

/// An answer that is being written down, or read, may still come.
const GRACE: Duration = Duration::from_millis(500);

/// A pipe that can be written to takes so many bytes at once.
const PIPE_BYTES: usize = 4096;

/// One call of the hook, as its arguments say.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The agent that calls.
    pub agent: Agent,
    /// Name of the event, for agents that do not put it into the event.
    pub event: Option<String>,
    /// Answer within this time.
    pub deadline: Duration,
    /// The workspace root.
    pub root: Option<PathBuf>,
    /// The user's trust store.
    pub state: Option<PathBuf>,
    /// Report that the commands of a session are supervised, and decide nothing.
    pub proves: bool,
}

impl Asked {
    /// Returns the call of an agent without options.
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

    /// Sets a deadline that is shorter than the usual one.
    pub fn within(&mut self, ms: u64) {
        self.deadline = Duration::from_millis(ms).min(DEADLINE);
    }

    /// Parses what follows the program's name; `None` if that is not a call of the hook with valid options.
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
        // What this cannot start is sealed by the next one that can.
        background::start(&program, workspace).ok();
    }
    exit
}

/// Reports that the session's commands are supervised, if this process is. It decides nothing, so nothing can go wrong.
fn prove(asked: &Asked) {
    let mut event = Vec::new();
    let read = io::stdin().lock().take(MAX_EVENT).read_to_end(&mut event);
    let environment = Environment::read().with_state(asked.state.as_deref());
    if read.is_ok() && supervision::is_supervised() {
        hook::prove(&event, asked.root.as_deref(), &environment);
    }
}

/// Prints an answer and returns the exit code. It also runs when the deadline interrupts the work.
fn speak(reply: &Reply) -> Exit {
    // The exit code says enough, should this not arrive.
    write(stderr(), reply.stderr.as_bytes()).ok();
    let printed = match &reply.otherwise {
        Some(_) if leads_nowhere(stdout()) => Err(Errno::NODEV),
        _ => write(stdout(), reply.stdout.as_bytes()),
    };
    // A question or a refusal that did not arrive was not given; advice may get lost.
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

/// Returns `true` for the null device, which the standard library also opens where there is no output.
fn leads_nowhere(output: BorrowedFd<'_>) -> bool {
    let is_device = |out: &Stat| FileType::from_raw_mode(out.st_mode).is_char_device();
    let out = fstat(output).ok().filter(is_device);
    out.is_some_and(|out| stat("/dev/null").is_ok_and(|null| null.st_rdev == out.st_rdev))
}

/// Writes to a reader that may not read; a piece that is not taken within the grace time is an error.
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

/// What is said in place of an answer that does not come in time: made before, because nothing may be allocated then.
struct Late {
    progress: Arc<Progress>,
    /// An answer is being printed, or was.
    is_spoken: AtomicBool,
    /// The grace time has begun.
    has_grace: AtomicBool,
    refusal: Reply,
    pass: Reply,
}

static LATE: OnceLock<Late> = OnceLock::new();

/// Returns the answer, or the one in its place when the work panics.
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

/// Speaks and ends the process when the answer does not come in time. An answer that is being written down gets a little
/// more.
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

/// What a panic says belongs into the answer: agents show standard error to their model.
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
