//! `roleos hook`: reads one event of an agent from standard input and answers it in time, whatever happens.
//!
//! The work is done by one thread and watched by another: when it takes too long or panics, the watcher answers in its
//! place. Words are read by hand first, because an agent waits for us at each of its steps; clap only sees mistakes.

mod ceiling;

use std::env;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::panic;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use host::agents::{Agent, Reply};
use host::environment::Environment;
use host::hook::{self, Ceiling, MAX_EVENT, Progress, Request};
use host::sealing::background;

use crate::cli::VERSION;
use crate::exit::Exit;

/// An installed hook has five seconds; we answer before that.
const DEADLINE: Duration = Duration::from_secs(4);

/// An answer that is being written down may still come.
const GRACE: Duration = Duration::from_millis(500);

/// The analysis goes into depth; what a main thread has is known to be enough.
const STACK: usize = 8 * 1024 * 1024;

/// Words of `hook`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Agents call this; `roleos init` installs it. Exit codes: 0 proceed, 2 block.

Example:
  echo '{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"cwd\":\"/tmp\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git push\"}}' \\
    | ROLEOS_CAPABILITY_GATE=1 roleos hook claude")]
pub struct Args {
    /// The agent that calls.
    #[arg(value_enum)]
    agent: AgentName,
    /// Name of the event, for agents that do not put it into the event.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Answer within so many milliseconds; more than 4000 is 4000.
    #[arg(long, value_name = "MS", hide = true)]
    deadline_ms: Option<u64>,
}

/// The agents as words.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AgentName {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot.
    Copilot,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::Claude => Self::Claude,
            AgentName::Codex => Self::Codex,
            AgentName::Gemini => Self::Gemini,
            AgentName::Cursor => Self::Cursor,
            AgentName::Copilot => Self::Copilot,
        }
    }
}

/// Answers at once when the words are the usual ones of an installed hook.
pub fn direct(arguments: &[OsString]) -> Option<Exit> {
    let mut words = arguments.iter().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let agent = AgentName::from_str(words.next()?.to_str()?, false).ok()?;
    let mut args = Args {
        agent,
        event: None,
        deadline_ms: None,
    };
    let mut root = None;
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.to_str()? {
            "--root" => root = Some(PathBuf::from(value)),
            "--event" => args.event = Some(value.to_str()?.to_owned()),
            "--deadline-ms" => args.deadline_ms = Some(value.to_str()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(run(&args, root))
}

/// Answers one event.
#[must_use]
pub fn run(args: &Args, root: Option<PathBuf>) -> Exit {
    let (reply, progress) = watched(args, root);
    let printed = print(&reply);
    if let (Some(root), Ok(program)) = (progress.to_seal(), env::current_exe()) {
        // What this cannot start is sealed by the next one that can.
        background::start(&program, root).ok();
    }
    // A question that did not arrive was not asked.
    if printed.is_err() && !reply.stdout.is_empty() {
        return Exit::Refused;
    }
    if reply.code == 0 {
        Exit::Done
    } else {
        Exit::Refused
    }
}

fn print(reply: &Reply) -> io::Result<()> {
    let told = io::stderr().write_all(reply.stderr.as_bytes());
    if !reply.stdout.is_empty() {
        let mut out = io::stdout().lock();
        out.write_all(reply.stdout.as_bytes())?;
        out.flush()?;
    }
    told
}

/// The answer, or the one that is given in its place.
fn watched(args: &Args, root: Option<PathBuf>) -> (Reply, Arc<Progress>) {
    let progress = Arc::new(Progress::default());
    let reply = watched_with(args, root, &progress);
    (reply, progress)
}

fn watched_with(args: &Args, root: Option<PathBuf>, progress: &Arc<Progress>) -> Reply {
    let agent = Agent::from(args.agent);
    let deadline = args
        .deadline_ms
        .map_or(DEADLINE, |ms| Duration::from_millis(ms).min(DEADLINE));
    let end = Instant::now() + deadline;
    let last_words = listen_to_panics();
    let (sender, receiver) = mpsc::sync_channel(1);
    let worker = {
        let (args, progress) = (args.clone(), Arc::clone(progress));
        let work = move || {
            let reply = answer(&args, root.as_deref(), &progress, end);
            // Nobody listens when the watcher has answered.
            sender.send(reply).ok();
        };
        thread::Builder::new().stack_size(STACK).spawn(work)
    };
    if let Err(error) = worker {
        return hook::failed(
            agent,
            &format!("no thread can be started: {error}"),
            progress,
        );
    }
    let mut answered = receiver.recv_timeout(deadline);
    if answered == Err(RecvTimeoutError::Timeout) && !progress.expire() {
        answered = receiver.recv_timeout(GRACE);
    }
    match answered {
        Ok(reply) => reply,
        Err(RecvTimeoutError::Timeout) => {
            let waited = deadline.as_millis();
            hook::failed(agent, &format!("it took longer than {waited} ms"), progress)
        }
        Err(RecvTimeoutError::Disconnected) => {
            let words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            hook::failed(agent, &format!("a defect in roleos: {words}"), progress)
        }
    }
}

fn answer(args: &Args, root: Option<&std::path::Path>, progress: &Progress, end: Instant) -> Reply {
    let environment = Environment::read();
    let mut event = Vec::new();
    let read = io::stdin()
        .lock()
        .take(MAX_EVENT + 1)
        .read_to_end(&mut event);
    if let Err(error) = read {
        let why = format!("standard input cannot be read: {error}");
        return hook::failed(args.agent.into(), &why, progress);
    }
    let request = Request {
        agent: args.agent.into(),
        event: &event,
        named: args.event.as_deref(),
        root,
        environment: &environment,
        version: VERSION,
    };
    let ask = |consultation| ceiling::ask(consultation, end);
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
