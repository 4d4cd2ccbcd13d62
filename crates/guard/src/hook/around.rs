//! Saves the working tree when an autonomous session begins, and restores it on a violation.

use std::path::Path;

use oversight::governance::Mode;
use oversight::verdict::Decision;

use super::desk::Desk;
use crate::agents::{Answer, Event};
use base::files::FileError;
use base::said;
use evidence::sealing::rollback::{self, Place};

/// Saves the working tree when a session begins; a resumed session has its snapshot already.
pub(super) fn start(desk: &Desk<'_>, event: &Event) -> Result<(), FileError> {
    if desk.governance.mode != Mode::Autonomous {
        return Ok(());
    }
    with_place(desk, event, rollback::begin)
}

/// Handles a call before its answer: saves the working tree if this is the first event of the session, and restores it
/// if the call is a violation. The answer then says so.
pub(super) fn call(
    desk: &Desk<'_>,
    event: &Event,
    is_first: bool,
    decision: &Decision,
    answer: Answer,
) -> Answer {
    if desk.governance.mode != Mode::Autonomous {
        return answer;
    }
    if is_first {
        // The error is in the journal, and a journal that cannot be written stops the next call.
        with_place(desk, event, rollback::begin).ok();
    }
    if decision.violations.is_empty() {
        return answer;
    }
    let undone = with_place(desk, event, |place| rollback::undo(place, &event.call_id));
    let note = undone.unwrap_or_else(|error| Some(said(&error)));
    match (answer, note) {
        (Answer::Deny(text), Some(note)) => Answer::Deny(format!("{text}\n{note}")),
        (answer, _) => answer,
    }
}

fn with_place<T>(
    desk: &Desk<'_>,
    event: &Event,
    act: impl FnOnce(Place<'_>) -> Result<T, FileError>,
) -> Result<T, FileError> {
    let directory = desk.directory(event);
    act(Place {
        sessions: &desk.workspace.sessions_dir(),
        session: &desk.session(event),
        agent: desk.agent.name(),
        directory: Path::new(&directory),
    })
}
