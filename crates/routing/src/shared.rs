//! The interface of a store that several machines share. Without one, everything is in the files of a workspace.
//!
//! [`Shared`] is narrow on purpose: a state that is held by one caller at a time and is written in one commit with its
//! log lines ([`Turn`]), a document that is held in the same way ([`HeldDocument`]), and logs. The decisions are made
//! in `specialists`, as for files.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ::specialist::state::State;

use base::files::{Action, FileError};

/// The document with the registry.
pub const REGISTRY: &str = "specialists.json";

/// A log that machines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Log {
    /// Actions of operators and guards.
    Events,
    /// Shadow probes.
    Probes,
    /// Dispatches.
    Field,
}

impl Log {
    /// All logs.
    pub const ALL: [Self; 3] = [Self::Events, Self::Probes, Self::Field];

    /// Returns the name in a store and in a migration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "specialist-events",
            Self::Probes => "specialist-shadow-probes",
            Self::Field => "specialist-field-log",
        }
    }
}

/// One line of a log, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub log: Log,
    /// The role of the line.
    pub role: String,
    pub text: String,
}

impl Line {
    /// Creates a line, without its line end.
    #[must_use]
    pub fn new(log: Log, role: &str, text: &str) -> Self {
        Self {
            log,
            role: role.to_owned(),
            text: text.trim_end().to_owned(),
        }
    }
}

/// A text with its version number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Increases with every change.
    pub version: i64,
    /// The text.
    pub body: Arc<str>,
}

/// Error of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct SharedError {
    /// Description, with the store's name.
    pub detail: String,
    /// Set if the store is away; a retry may succeed.
    pub is_away: bool,
}

impl From<SharedError> for FileError {
    fn from(error: SharedError) -> Self {
        let kind = match error.is_away {
            true => io::ErrorKind::NotConnected,
            false => io::ErrorKind::Other,
        };
        Self::new(
            Action::Read,
            Path::new("the team's store"),
            io::Error::new(kind, error.detail),
        )
    }
}

/// Returns `true` if the error means that the store is away.
pub(crate) fn is_away(error: &FileError) -> bool {
    error.source.kind() == io::ErrorKind::NotConnected
}

/// A shared store.
pub trait Shared: fmt::Debug + Send + Sync {
    /// Returns the name of this process as a holder of places.
    fn holder(&self) -> &str;

    /// Returns `true` if another holder ended without releasing its places. In doubt, it keeps them.
    fn is_gone(&self, holder: &str) -> bool;

    /// Reads a document.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn document(&self, name: &str) -> Result<Option<Document>, SharedError>;

    /// Locks a document against other callers.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn hold_document(&self, name: &str) -> Result<Box<dyn HeldDocument>, SharedError>;

    /// Reads the state of every role, without locking it.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn state(&self) -> Result<State, SharedError>;

    /// Waits for the state of a role, and locks it against every other caller. With `fleet`, also the window of all
    /// roles.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn hold_state<'a>(&'a self, role: &str, fleet: bool)
    -> Result<Box<dyn Turn + 'a>, SharedError>;

    /// Adds all lines or none. If the store is away, they wait on this machine and arrive later, once.
    ///
    /// # Errors
    /// They cannot be stored anywhere.
    fn append(&self, lines: Vec<Line>) -> Result<(), SharedError>;

    /// Returns the lines of a log in order, of one role or of all.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn lines(
        &self,
        log: Log,
        role: Option<&str>,
        take: &mut dyn FnMut(&str),
    ) -> Result<(), SharedError>;
}

/// A state that no other caller changes. If it is dropped, nothing is written.
pub trait Turn {
    /// Returns the current state.
    ///
    /// # Errors
    /// It is damaged.
    fn state(&mut self) -> Result<State, SharedError>;

    /// Returns the current registry.
    fn registry(&self) -> Option<&Document>;

    /// Writes the state and the lines in one commit, and returns when it is durable.
    ///
    /// # Errors
    /// The store is away; the write is then not acknowledged and may or may not have happened.
    fn commit(self: Box<Self>, state: State, lines: Vec<Line>) -> Result<(), SharedError>;
}

/// A document that no other caller changes. If it is dropped, nothing is written.
pub trait HeldDocument {
    /// Returns the current document.
    fn now(&self) -> Option<&Document>;

    /// Replaces it, with lines in the same commit.
    ///
    /// # Errors
    /// The store is away; the change is then not acknowledged and may or may not have happened.
    fn replace(self: Box<Self>, body: &str, lines: Vec<Line>) -> Result<(), SharedError>;
}
