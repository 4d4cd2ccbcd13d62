//! Autonomous mode around a session: the working tree is saved when it begins, and a violation resets it.
//!
//! Both are recorded in the session's journal, failures included: a failed rollback does not count as correct. The
//! files of two sessions in one working tree cannot be distinguished. So nothing is undone if another session ran a
//! tool in the same tree since the snapshot; the violation is still refused, and the rollback is recorded as not done.

use std::fs;
use std::path::Path;

use super::since_epoch;
use super::snapshot::Snapshot;
use crate::journal::SessionId;
use crate::journal::append::Journal;
use crate::journal::read::{Session, journals};
use crate::journal::record::{Line, Record, Rollback, Snapshot as SnapshotLine};
use base::clock;
use base::files::FileError;
use base::repository::Location;

/// Parts of a working tree that no rollback covers.
pub(super) const NOT_COVERED: &str = "more than 4096 or 64 MiB of ignored files, what is in submodules and nested repositories, and settings, branches and tags that other worktrees share";

/// A session with its journal and agent.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The directory of journals.
    pub sessions: &'a Path,
    pub session: &'a SessionId,
    /// The agent, as in the journal.
    pub agent: &'a str,
    /// Working directory of the agent.
    pub directory: &'a Path,
}

/// Saves the working tree when the session begins. A session that is resumed keeps its first snapshot. The journal must
/// not be locked by the caller.
///
/// # Errors
/// The journal cannot be read or written. A tree that cannot be saved is recorded with the reason.
pub fn begin(place: Place<'_>) -> Result<(), FileError> {
    let path = place.session.path_in(place.sessions);
    if path.exists() && first_snapshot(&Session::read(&path)?.lines).is_some() {
        return Ok(());
    }
    let line = match Snapshot::take(place.directory, place.session) {
        Ok(snapshot) => SnapshotLine {
            top: snapshot.top.to_string_lossy().into_owned(),
            commit: snapshot.commit,
            tree: snapshot.tree,
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

/// Returns the first successful snapshot, with its line.
fn first_snapshot(lines: &[Line]) -> Option<(&Line, &SnapshotLine)> {
    lines.iter().find_map(|line| match &line.record {
        Record::Snapshot(taken) if taken.problem.is_none() => Some((line, taken)),
        _ => None,
    })
}

/// Resets the working tree to the snapshot, because the call `call_id` broke a rule. Returns a sentence for the user
/// and the agent; `None` if nothing changed since the last rollback. The journal must not be locked by the caller.
///
/// # Errors
/// The journal cannot be read or written.
pub fn undo(place: Place<'_>, call_id: &str) -> Result<Option<String>, FileError> {
    let read = Session::read(&place.session.path_in(place.sessions))?;
    let failed = |problem: String| Rollback {
        problem: Some(problem),
        ..Rollback::default()
    };
    let mut line = match first_snapshot(&read.lines) {
        Some((line, taken)) => match others_since(place, &taken.top, line.time_ns) {
            others if others.is_empty() => restore(place, taken),
            others => failed(format!(
                "session `{}` worked in the same tree since then, and its work cannot be told apart",
                others.join("`, `")
            )),
        },
        None => failed(missing_snapshot(&read.lines)),
    };
    let mut rollbacks = read.lines.iter().filter_map(|line| match &line.record {
        Record::Rollback(rollback) => Some(rollback),
        _ => None,
    });
    let was_restored = rollbacks.next_back().is_some_and(|last| last.restored);
    if was_restored && line.restored && line.kept.is_empty() {
        return Ok(None);
    }
    call_id.clone_into(&mut line.call_id);
    let words = words(&line);
    add(place, Record::Rollback(line))?;
    Ok(Some(words))
}

fn missing_snapshot(lines: &[Line]) -> String {
    let problem = lines.iter().find_map(|line| match &line.record {
        Record::Snapshot(taken) => taken.problem.as_deref(),
        _ => None,
    });
    match problem {
        Some(problem) => format!("there is no snapshot: {problem}"),
        None => "there is no snapshot of the start of the session".to_owned(),
    }
}

/// Returns the other sessions that ran a tool in the working tree at `top` since a moment.
fn others_since(place: Place<'_>, top: &str, since_ns: u64) -> Vec<String> {
    let mut found = Vec::new();
    for (other, path) in journals(place.sessions).unwrap_or_default() {
        let is_late = fs::metadata(&path)
            .and_then(|facts| facts.modified())
            .is_ok_and(|time| since_epoch(time) >= since_ns);
        if other == *place.session || !is_late {
            continue;
        }
        let Ok(read) = Session::read(&path) else {
            continue;
        };
        let is_here = |cwd: &str| {
            let location = Location::around(Path::new(cwd));
            location.is_some_and(|location| location.top == Path::new(top))
        };
        let worked = read.lines.iter().any(|line| match &line.record {
            Record::Call(call) => {
                line.time_ns >= since_ns && call.recorded != "denied" && is_here(&call.cwd)
            }
            _ => false,
        });
        if worked {
            found.push(other.to_string());
        }
    }
    found
}

fn restore(place: Place<'_>, taken: &SnapshotLine) -> Rollback {
    let snapshot = Snapshot {
        top: taken.top.clone().into(),
        commit: taken.commit.clone(),
        tree: taken.tree.clone(),
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
        (true, "", _) => {
            format!("The working tree is as it was when the session began, without {NOT_COVERED}.")
        }
        (true, kept, _) => format!(
            "The working tree was returned to the start of the session; the undone work is kept as {kept}. Not covered: {NOT_COVERED}."
        ),
        (false, "", problem) => format!(
            "The working tree could not be returned to the start of the session: {}.",
            problem.as_deref().unwrap_or("it differs")
        ),
        (false, kept, problem) => format!(
            "The working tree could not be returned to the start of the session as a whole: {}. Its state before is kept as {kept}.",
            problem.as_deref().unwrap_or("it differs")
        ),
    }
}

fn add(place: Place<'_>, record: Record) -> Result<(), FileError> {
    let mut journal = Journal::open(place.sessions, place.session)?;
    journal.push(place.agent, clock::now_ns(), record);
    journal.commit(true)
}
