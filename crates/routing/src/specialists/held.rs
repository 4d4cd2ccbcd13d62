//! The locked state: a file under its lock, or a turn in the store that machines share.
//!
//! Every change of the state or the registry goes through this module, so that the rest does not depend on the kind of
//! storage.

use std::sync::{Arc, PoisonError};

use ::specialist::event::Event;
use ::specialist::registry::Registry;
use ::specialist::state::State;

use super::{
    Known, MAX_FILE, OperateError, Seen, Specialists, Unreadable, append, lock, read_or_nothing,
};
use crate::shared::{Document, HeldDocument, Line, Log, REGISTRY, SharedError, Turn};
use base::files::{FileError, Lock};
use base::recorded;

/// The locked state.
pub(super) enum Held<'a> {
    Files(Lock),
    Shared(Box<dyn Turn + 'a>),
}

/// The locked registry, with its content at that time.
pub(super) struct HeldRegistry {
    pub(super) registry: Registry,
    pub(super) before: Vec<u8>,
    guard: Guard,
}

enum Guard {
    Files(Lock),
    Shared(Box<dyn HeldDocument>),
}

/// Durability of a write to files; in a shared store every commit is durable and whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Survives the end of the process.
    Quick,
    /// Survives a power cut.
    Durable,
    /// Results of probes have changed.
    Probes { durable: bool },
    /// A halt is lifted: the lines are written first, because a halt that is lifted only in the log is still in force.
    Cleared,
}

impl Specialists {
    /// Locks the state of a role.
    pub(super) fn hold(&self, role: &str) -> Result<Held<'_>, FileError> {
        match &self.shared {
            None => self.lock_state().map(Held::Files),
            Some(shared) => {
                let fleet = self.settings.scope == ::specialist::quota::Scope::Fleet;
                Ok(Held::Shared(shared.hold_state(role, fleet)?))
            }
        }
    }

    /// Returns the locked state.
    pub(super) fn held_state(&self, held: &mut Held<'_>) -> Result<State, Unreadable> {
        match held {
            Held::Files(_) => self.state(),
            Held::Shared(turn) => {
                let mut state = turn.state().map_err(unreadable)?;
                state.release(|reservation| self.leases.is_abandoned(reservation));
                Ok(state)
            }
        }
    }

    /// Returns the registry for a holder of the state. Files are read before that, because of the order of locks.
    pub(super) fn seen_by(&self, held: &Held<'_>) -> Result<Seen, FileError> {
        match held {
            Held::Files(_) => self.see(),
            Held::Shared(turn) => self.see_document(turn.registry()),
        }
    }

    /// Returns the registry of a shared store. Only users with write access could have written it.
    pub(super) fn see_document(&self, document: Option<&Document>) -> Result<Seen, FileError> {
        let known = Known::Shared(document.map_or(0, |document| document.version));
        let cached = || self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, seen)) = cached().as_ref().filter(|(then, _)| *then == known) {
            return Ok(seen.clone());
        }
        let seen = Seen {
            is_trusted: true,
            registry: Arc::new(self.effective(document.map(|document| document.body.as_bytes()))),
        };
        *cached() = Some((known, seen.clone()));
        Ok(seen)
    }

    /// Writes the state, and lines about it.
    pub(super) fn keep(
        &self,
        held: Held<'_>,
        mut state: State,
        how: Keep,
        lines: &[(Log, &Event)],
    ) -> Result<(), FileError> {
        let _lock = match held {
            Held::Shared(turn) => {
                let line =
                    |(log, event): &(Log, &Event)| Line::new(*log, &event.role, &event.line());
                return Ok(turn.commit(state, lines.iter().map(line).collect())?);
            }
            Held::Files(lock) => lock,
        };
        // A probe is one of thousands; actions of operators and guards must survive a power cut.
        let durable = |log: Log| log == Log::Events || how == Keep::Cleared;
        let mut note = lines
            .iter()
            .map(|(log, event)| append(self.path_of(*log), &event.line(), durable(*log)).map(drop));
        match how {
            Keep::Cleared => {
                note.try_for_each(|noted| noted)?;
                self.save_probes(&mut state, true)
            }
            _ => {
                let saved = match how {
                    Keep::Probes { durable } => self.save_probes(&mut state, durable),
                    _ => self.save(&state, how == Keep::Durable),
                };
                // Each is tried, and the first failure is returned.
                note.fold(saved, Result::and)
            }
        }
    }

    /// Locks the registry, which must be valid and trusted; the remains of a crash are settled before.
    pub(super) fn hold_registry(&self) -> Result<HeldRegistry, OperateError> {
        let Some(shared) = &self.shared else {
            let guard = Guard::Files(lock(&self.paths.registry)?);
            let (registry, before) = self.valid_registry()?;
            return Ok(HeldRegistry {
                registry,
                before,
                guard,
            });
        };
        let document = shared.hold_document(REGISTRY).map_err(FileError::from)?;
        let before = document.now().map(|now| now.body.as_bytes().to_vec());
        let registry = before
            .as_deref()
            .map_or_else(Registry::default, Registry::parse);
        if !registry.is_valid() {
            return Err(OperateError::Invalid {
                path: self.paths.registry.clone(),
                problems: registry.problems().to_vec(),
            });
        }
        Ok(HeldRegistry {
            registry,
            before: before.unwrap_or_default(),
            guard: Guard::Shared(document),
        })
    }

    /// Replaces the registry, with `event` in the log before or in the same commit.
    pub(super) fn replace_registry(
        &self,
        held: HeldRegistry,
        event: &Event,
        after: &Registry,
    ) -> Result<(), FileError> {
        match held.guard {
            Guard::Files(_lock) => self.move_pointer(event, &held.before, after),
            Guard::Shared(document) => {
                let line = Line::new(Log::Events, &event.role, &event.line());
                document.replace(&after.print(), vec![line])?;
                recorded::mark();
                Ok(())
            }
        }
    }

    /// Adds an event to its log.
    pub(super) fn note(&self, log: Log, event: &Event, durable: bool) -> Result<(), FileError> {
        self.add_line(log, &event.role, &event.line(), durable)
    }

    /// Adds a line to a log.
    pub(super) fn add_line(
        &self,
        log: Log,
        role: &str,
        line: &str,
        durable: bool,
    ) -> Result<(), FileError> {
        match &self.shared {
            None => append(self.path_of(log), line, durable).map(drop),
            Some(shared) => Ok(shared.append(vec![Line::new(log, role, line)])?),
        }
    }

    /// Returns a log as bytes; for a role, at least its lines.
    pub(super) fn bytes_of(&self, log: Log, role: Option<&str>) -> Result<Vec<u8>, FileError> {
        let Some(shared) = &self.shared else {
            return Ok(read_or_nothing(self.path_of(log), super::MAX_LOG)?.unwrap_or_default());
        };
        let mut bytes = Vec::new();
        shared.lines(log, role, &mut |line| {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        })?;
        Ok(bytes)
    }

    pub(super) fn path_of(&self, log: Log) -> &std::path::Path {
        match log {
            Log::Probes => &self.paths.probes,
            Log::Field => &self.paths.field_log,
            Log::Events => &self.paths.events,
        }
    }
}

pub(super) fn unreadable(error: SharedError) -> Unreadable {
    Unreadable::File(error.into())
}

/// Reads the registry's text for display.
pub(super) fn registry_bytes(of: &Specialists) -> Result<Option<Vec<u8>>, FileError> {
    read_or_nothing(&of.paths.registry, MAX_FILE)
}
