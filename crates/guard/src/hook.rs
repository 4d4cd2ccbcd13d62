//! `roleos hook`: one event of an agent in, one answer out, and a line in the session's journal.
//!
//! [`desk`] holds the settings of the workspace, [`tool`] decides calls, [`notes`] records all other events, [`around`]
//! saves and restores the working tree, [`effects`] handles changes of protected files, [`execution`] decides about a
//! program that is about to begin, [`ceiling`] asks for a second opinion, [`unknown_cost`] reports cost budgets that
//! cannot be enforced, [`words`] formats refusals. The verdict itself is [`oversight::decide()`].
//!
//! If the gate is on or a mode is in force, every failure blocks, with the reason. Otherwise no failure blocks.

mod around;
mod ceiling;
mod desk;
mod effects;
mod execution;
mod given_code;
mod half_characters;

mod build_files;
mod notes;
mod outcome;
mod own_code;
mod real_program;
mod test_run;
mod tool;
mod unknown_cost;
mod words;

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::agents::{Agent, Answer, Event, Kind, Reply};
use crate::supervision::proof;
use base::environment::Environment;
use base::said;
use base::workspace::Workspace;
use evidence::journal::SessionId;

use desk::Desk;

pub use ceiling::{Ceiling, Consultation};
pub use execution::{Bench, Ruled};

/// Longest event that is read; the result of a tool can be long.
pub const MAX_EVENT: u64 = 32 * 1024 * 1024;

/// One event to answer.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub agent: Agent,
    /// The event, as received.
    pub event: &'a [u8],
    /// The event's name, if the agent does not put it into the event.
    pub named: Option<&'a str>,
    /// The workspace root that the installed hook carries.
    pub root: Option<&'a Path>,
    /// The environment variables.
    pub environment: &'a Environment,
    /// Version of Role OS.
    pub version: &'a str,
}

/// No timeout has occurred yet.
const RUNNING: u8 = 0;
/// The answer is being recorded; a timeout now would contradict the journal.
const COMMITTING: u8 = 1;
/// The watchdog has answered instead.
const EXPIRED: u8 = 2;

/// Progress of an answer, for its watchdog: if the answer never comes, it determines the reply.
#[derive(Debug)]
pub struct Progress {
    stage: AtomicU8,
    closed: AtomicBool,
    refusable: AtomicBool,
    /// The workspace whose sessions are to be sealed afterwards.
    seal: OnceLock<Workspace>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            stage: AtomicU8::new(RUNNING),
            // Until proved otherwise.
            closed: AtomicBool::new(true),
            refusable: AtomicBool::new(true),
            seal: OnceLock::new(),
        }
    }
}

impl Progress {
    /// Revokes the right to answer; returns `false` if the answer is already being recorded.
    #[must_use]
    pub fn expire(&self) -> bool {
        self.move_to(EXPIRED)
    }

    /// Claims the right to answer; returns `false` if it is too late.
    fn claim(&self) -> bool {
        self.move_to(COMMITTING)
    }

    fn move_to(&self, stage: u8) -> bool {
        let moved = self
            .stage
            .compare_exchange(RUNNING, stage, Ordering::SeqCst, Ordering::SeqCst);
        // A second claim succeeds: one event can need two commits.
        moved.is_ok() || moved == Err(stage)
    }

    /// Returns the workspace in which a session has begun or ended, so that finished sessions can be sealed once the
    /// agent has its answer.
    #[must_use]
    pub fn to_seal(&self) -> Option<&Workspace> {
        self.seal.get()
    }

    /// Returns `true` if a failure must block: the gate is on, or may be.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.closed.load(Ordering::SeqCst) && self.refusable.load(Ordering::SeqCst)
    }
}

/// Answers one event. Never fails: errors are in the answer. `ceiling` is asked about calls that may proceed.
#[must_use]
pub fn answer(request: &Request<'_>, progress: &Progress, ceiling: Option<Ceiling<'_>>) -> Reply {
    let dialect = request.agent.dialect();
    let event = parse(request);
    if let Ok(event) = &event {
        let refusable = matches!(event.kind, Kind::BeforeTool | Kind::ConfigChange);
        progress.refusable.store(refusable, Ordering::SeqCst);
    }
    let desk = Desk::open(request);
    let closed = desk.as_ref().map_or(true, Desk::is_closed);
    progress.closed.store(closed, Ordering::SeqCst);
    let event = match event {
        Ok(event) => event,
        Err(why) => return failed(request.agent, &why, progress),
    };
    let (given, note) = match desk {
        Err(_) if event.kind == Kind::Other || !progress.blocks() => (Answer::Proceed, None),
        Err(why) => return failed(request.agent, &why, progress),
        Ok(_) if event.kind == Kind::Other => (Answer::Proceed, None),
        Ok(desk) => respond(request, desk, &event, progress, ceiling),
    };
    dialect.reply_with(&event, &given, note.as_deref())
}

/// Answers one event in a workspace, with notes beside the answer.
fn respond(
    request: &Request<'_>,
    found: Desk<'_>,
    event: &Event,
    progress: &Progress,
    ceiling: Option<Ceiling<'_>>,
) -> (Answer, Option<String>) {
    // A change of settings is decided as found, before it is reverted.
    let is_change = event.kind == Kind::ConfigChange && !found.is_foreign();
    let refused = is_change.then(|| notes::write(&found, event, progress));
    let note = match effects::look(&found, event) {
        Ok(note) => note,
        Err(error) => match effects::failure(&found, event, &error) {
            Some(answer) => return (answer, None),
            None => Some(format!("roleos: {}", said(&error))),
        },
    };
    // The settings may be among the restored files.
    let desk = match note.is_some() || found.unreadable.is_some() {
        true => Desk::open(request).unwrap_or(found),
        false => found,
    };
    progress.closed.store(desk.is_closed(), Ordering::SeqCst);
    if desk.is_foreign() {
        return (Answer::Proceed, note);
    }
    if let Some(why) = desk.unreadable.as_ref().filter(|_| progress.blocks()) {
        return (Answer::Block(words::failure(why)), note);
    }
    let desk = &desk;
    if matches!(event.kind, Kind::SessionStart | Kind::SessionEnd) {
        // Set once, since there is one event.
        progress
            .seal
            .set(desk.workspace.clone())
            .unwrap_or_default();
    }
    let mut approved = String::new();
    let given = match event.kind {
        Kind::ConfigChange => refused.unwrap_or(Answer::Proceed),
        Kind::BeforeTool => match (tool::judge(desk, event, progress, &mut approved), ceiling) {
            (Answer::Proceed, Some(ceiling)) => ceiling::consult(desk, event, ceiling),
            (answer, _) => answer,
        },
        _ => notes::write(desk, event, progress),
    };
    if event.kind == Kind::BeforeTool && !matches!(given, Answer::Deny(_) | Answer::Block(_)) {
        // A build whose beginning is not recorded proves nothing.
        test_run::begin(desk, event).ok();
    }
    let given = match effects::begin(desk, event, &given, &approved) {
        Ok(()) => given,
        Err(error) => effects::failure(desk, event, &error).unwrap_or(given),
    };
    match &note {
        Some(text) => (effects::add(given, text), note),
        None => (given, note),
    }
}

/// Reports that the session of an event runs its commands under supervision. A failed report proves nothing.
pub fn prove(event: &[u8], root: Option<&Path>, environment: &Environment) {
    let event: Value = serde_json::from_slice(event).unwrap_or_default();
    let session = event.get("session_id").and_then(Value::as_str);
    if let (Some(session), Ok(workspace)) = (session, Workspace::find(root, environment)) {
        proof::report(&workspace, &SessionId::new(session), None).ok();
    }
}

/// Returns the answer if there can be no decision: a refusal if the gate is on, or may be.
#[must_use]
pub fn failed(agent: Agent, why: &str, progress: &Progress) -> Reply {
    let answer = match progress.blocks() {
        true => Answer::Block(words::failure(why)),
        false => Answer::Proceed,
    };
    agent.dialect().reply(&any_call(), &answer)
}

/// Returns the answers to a call that is not judged in time: the refusal, and the one that lets it run. They are made
/// ahead for every call.
#[must_use]
pub fn late(agent: Agent, deadline: Duration) -> [Reply; 2] {
    let why = format!("it took longer than {} ms", deadline.as_millis());
    let answers = [Answer::Block(words::failure(&why)), Answer::Proceed];
    answers.map(|answer| agent.dialect().reply_with_own_words(&any_call(), &answer))
}

/// Returns an event for an answer to a call that is not known.
fn any_call() -> Event {
    Event {
        kind: Kind::BeforeTool,
        name: "PreToolUse".to_owned(),
        ..Event::default()
    }
}

fn parse(request: &Request<'_>) -> Result<Event, String> {
    let bytes = request.event;
    if bytes.len() as u64 > MAX_EVENT {
        return Err(format!(
            "the event on standard input is longer than {MAX_EVENT} bytes"
        ));
    }
    if bytes.trim_ascii().is_empty() {
        return Err("there is no event on standard input".to_owned());
    }
    let value: Value = serde_json::from_slice(bytes)
        .or_else(|error| match half_characters::mended(bytes) {
            Some(mended) => serde_json::from_slice(&mended),
            None => Err(error),
        })
        .map_err(|error| format!("the event on standard input is no JSON: {error}"))?;
    let read = request.agent.dialect().read(&value, request.named);
    read.map_err(|error| format!("the event on standard input cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_refusal_is_what_a_failure_for_this_reason_says() {
        for agent in Agent::ALL {
            let [refusal, pass] = late(agent, Duration::from_millis(4000));
            let progress = Progress::default();
            let failed = |progress| failed(agent, "it took longer than 4000 ms", progress);
            assert_eq!(refusal, failed(&progress), "{agent:?}");
            progress.closed.store(false, Ordering::SeqCst);
            assert_eq!(pass, failed(&progress), "{agent:?}");
            assert_ne!(refusal, pass, "{agent:?}");
        }
    }
}
