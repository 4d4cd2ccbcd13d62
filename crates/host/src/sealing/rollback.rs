//! Autonomous mode around a session: the working tree is kept when it begins, and a violation returns to that.
//!
//! Both are written into the session's journal. Whatever fails is written down as well: a rollback that could not be
//! done is one that was not correct.

use std::path::Path;

use super::snapshot::Snapshot;
use crate::clock;
use crate::files::FileError;
use crate::journal::SessionId;
use crate::journal::append::Journal;
use crate::journal::read::Session;
use crate::journal::record::{Record, Rollback, Snapshot as SnapshotLine};

/// A session and where its journal is.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The directory of journals.
    pub sessions: &'a Path,
    /// Whose journal.
    pub session: &'a SessionId,
    /// Whose hook this is, as in the journal.
    pub agent: &'a str,
    /// Where the agent works.
    pub directory: &'a Path,
}

/// Keeps the working tree as it is when the session begins. The journal must not be locked by the caller.
///
/// # Errors
/// It cannot be written down. A tree that cannot be kept is no error but a line that says why.
pub fn begin(place: Place<'_>) -> Result<(), FileError> {
    let line = match Snapshot::take(place.directory, place.session) {
        Ok(snapshot) => SnapshotLine {
            top: snapshot.top.to_string_lossy().into_owned(),
            commit: snapshot.commit,
            state: snapshot.state,
            name: snapshot.name,
            problem: None,
        },
        Err(why) => SnapshotLine {
            problem: Some(why.to_string()),
            ..SnapshotLine::default()
        },
    };
    add(place, Record::Snapshot(line))
}

/// Returns the working tree to the snapshot, because the call `call_id` broke a rule. Gives what a person and the agent
/// are to read; none when nothing was done since the last return. The journal must not be locked by the caller.
///
/// # Errors
/// It cannot be written down.
pub fn undo(place: Place<'_>, call_id: &str) -> Result<Option<String>, FileError> {
    let read = Session::read(&place.session.path_in(place.sessions))?;
    let mut taken = None;
    let mut is_back = false;
    for line in &read.lines {
        match &line.record {
            Record::Snapshot(snapshot) => taken = Some(snapshot),
            Record::Rollback(rollback) => is_back = rollback.restored,
            // Only a tool that ran can have changed a file.
            Record::Result(_) | Record::Failure(_) => is_back = false,
            _ => {}
        }
    }
    if is_back {
        return Ok(None);
    }
    let mut line = match taken {
        Some(taken) if taken.problem.is_none() => restore(place, taken),
        Some(taken) => Rollback {
            problem: Some(format!(
                "there is no snapshot: {}",
                taken.problem.as_deref().unwrap_or_default()
            )),
            ..Rollback::default()
        },
        None => Rollback {
            problem: Some("there is no snapshot of the start of the session".to_owned()),
            ..Rollback::default()
        },
    };
    call_id.clone_into(&mut line.call_id);
    let words = words(&line);
    add(place, Record::Rollback(line))?;
    Ok(Some(words))
}

fn restore(place: Place<'_>, taken: &SnapshotLine) -> Rollback {
    let snapshot = Snapshot {
        top: taken.top.clone().into(),
        commit: taken.commit.clone(),
        state: taken.state.clone(),
        name: taken.name.clone(),
    };
    match snapshot.restore(place.session) {
        Ok(restored) => Rollback {
            restored: restored.rollback.restored,
            wanted: restored.rollback.wanted,
            found: restored.rollback.found,
            kept: restored.rollback.kept,
            problem: restored.problem,
            ..Rollback::default()
        },
        Err(why) => Rollback {
            problem: Some(why.to_string()),
            ..Rollback::default()
        },
    }
}

fn words(line: &Rollback) -> String {
    match (line.restored, &*line.kept, &line.problem) {
        (true, "", _) => "The working tree is as it was when the session began.".to_owned(),
        (true, kept, _) => format!(
            "The working tree was returned to the start of the session; what was undone is kept as {kept}."
        ),
        (false, "", problem) => format!(
            "The working tree could not be returned to the start of the session: {}.",
            problem.as_deref().unwrap_or("it differs")
        ),
        (false, kept, problem) => format!(
            "The working tree could not be returned to the start of the session as a whole: {}. It is kept as {kept}.",
            problem.as_deref().unwrap_or("it differs")
        ),
    }
}

fn add(place: Place<'_>, record: Record) -> Result<(), FileError> {
    let mut journal = Journal::open(place.sessions, place.session)?;
    journal.push(place.agent, clock::now_ns(), record);
    journal.commit(true)
}
