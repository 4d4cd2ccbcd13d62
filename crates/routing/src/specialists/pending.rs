//! Moving the pointer in two steps that a crash cannot tear apart: the receipt is in the log before the pointer moves.
//!
//! A note about the move is written beside the registry first. A process that finds the note finishes the move if its
//! receipt is in the log, and else removes the note.

use ::specialist::event::{Event, Kind};
use ::specialist::registry::Registry;
use serde_json::{Value, json};

use super::{MAX_FILE, Specialists, lock, read_or_nothing};
use crate::shared::Log;
use base::digest;
use base::files::{self, Action, FileError, Privacy};
use base::recorded;
use base::repository::index;

/// Permissions of a new registry; an existing one keeps its own.
const REGISTRY_MODE: u32 = 0o644;

/// Result for a move that a crash interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// There was no such move.
    Nothing,
    /// Its receipt was there, and the pointer has moved now.
    Finished,
    /// The move had not begun.
    Undone,
    /// A person changed the registry meanwhile; the change stays, and the log records that.
    Overtaken,
}

impl Specialists {
    pub(super) fn pending_path(&self) -> std::path::PathBuf {
        self.paths().registry.with_added_extension("pending")
    }

    /// Replaces the registry, with `event` in the log before. The caller holds the registry's lock.
    pub(super) fn move_pointer(
        &self,
        event: &Event,
        before: &[u8],
        after: &Registry,
    ) -> Result<(), FileError> {
        let text = after.print();
        // Only a trusted registry is changed, so the changed one is trusted as well.
        let what = format!("specialist {}", event.kind.as_str());
        self.confirm_next(&text, &what)?;
        let note = json!({
            "event": event.line(),
            "before": hex::encode(digest(before)),
            "after": text,
        });
        let pending = self.pending_path();
        files::write(&pending, note.to_string().as_bytes(), Privacy::Secret)?;
        self.note(Log::Events, event, true)?;
        die_for_a_test(event);
        // From here on the next command finishes it.
        recorded::mark();
        files::rewrite(&self.paths().registry, text.as_bytes(), REGISTRY_MODE)
            .and_then(|()| self.confirm(&text, &what))
            .and_then(|()| self.forget())
            .map_err(FileError::unfinished)
    }

    fn forget(&self) -> Result<(), FileError> {
        let pending = self.pending_path();
        files::remove_file(&pending)
            .map_err(|source| FileError::new(Action::Write, &pending, source))
    }

    /// Finishes or undoes an interrupted move.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn recover(&self) -> Result<Recovered, FileError> {
        let _lock = lock(&self.paths().registry)?;
        self.recover_locked()
    }

    /// Does the same for a holder of the registry's lock.
    pub(super) fn recover_locked(&self) -> Result<Recovered, FileError> {
        let Some(note) = read_or_nothing(&self.pending_path(), MAX_FILE)? else {
            return Ok(Recovered::Nothing);
        };
        let recovered = match Note::read(&note) {
            // A note that came with a clone could install a registry that git does not track.
            Some(note) if !index::is_tracked(&self.pending_path()) => self.settle_note(&note)?,
            // Our notes are written as a whole or not at all, so this is not one.
            _ => Recovered::Undone,
        };
        self.forget()?;
        Ok(recovered)
    }

    fn settle_note(&self, note: &Note) -> Result<Recovered, FileError> {
        let registry = &self.paths().registry;
        let now = read_or_nothing(registry, MAX_FILE)?.unwrap_or_default();
        if now == note.after.as_bytes() {
            return Ok(Recovered::Finished);
        }
        let log = read_or_nothing(&self.paths().events, super::MAX_LOG)?.unwrap_or_default();
        let line = note.event.trim_end().as_bytes();
        let is_logged = log
            .split(|byte| *byte == b'\n')
            .any(|other| other.trim_ascii() == line);
        if !is_logged {
            return Ok(Recovered::Undone);
        }
        if hex::encode(digest(&now)) == note.before {
            files::rewrite(registry, note.after.as_bytes(), REGISTRY_MODE)?;
            return Ok(Recovered::Finished);
        }
        self.note_overtaken(note, &now)?;
        Ok(Recovered::Overtaken)
    }

    /// Adds a line with the true state after the log recorded a version as active that is not.
    fn note_overtaken(&self, note: &Note, now: &[u8]) -> Result<(), FileError> {
        let Some(moved) = ::specialist::event::Log::parse(note.event.as_bytes())
            .events
            .pop()
        else {
            return Ok(());
        };
        let registry = Registry::parse(now);
        let active = registry
            .entry(&moved.role)
            .and_then(|entry| entry.active_version.clone());
        let data = json!({
            "from_version": moved.data.get("to_version"),
            "to_version": active,
            "operator": "(recovery)",
            "reason": "the registry was changed by hand before the move was finished",
        });
        let event = Event::new(
            Kind::Rollback,
            &moved.role,
            &base::clock::text(base::clock::now_ns()),
            data,
        );
        self.note(Log::Events, &event, true)
    }
}

/// Ends the program like `kill -9` at the worst moment, for the tests. A release build does not know the name.
#[cfg(debug_assertions)]
fn die_for_a_test(event: &Event) {
    if event.data.get("operator").and_then(Value::as_str) == Some("roleos-test-kill") {
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::KILL).ok();
    }
}

#[cfg(not(debug_assertions))]
fn die_for_a_test(_: &Event) {}

/// A planned move.
struct Note {
    event: String,
    before: String,
    after: String,
}

impl Note {
    fn read(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        Some(Self {
            event: text("event")?,
            before: text("before")?,
            after: text("after")?,
        })
    }
}
