//! The store that several machines share, as routing sees it. Without one, everything stands in the files of a workspace.
//!
//! [`Shared`] is narrow on purpose: a state that is held by one caller at a time and is written in one commit with its log
//! lines ([`Turn`]), a document that is held in the same way ([`HeldDocument`]), and logs. What is decided in between is
//! decided where it is decided for files, in `specialists`.

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
    /// What operators and guards did.
    Events,
    /// Shadow probes.
    Probes,
    /// Dispatches.
    Field,
}

impl Log {
    /// Every log.
    pub const ALL: [Self; 3] = [Self::Events, Self::Probes, Self::Field];

    /// The name in a store and in a migration.
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
    /// Which log.
    pub log: Log,
    /// The role that it is about.
    pub role: String,
    /// The line.
    pub text: String,
}

impl Line {
    /// Takes the end of the line off.
    #[must_use]
    pub fn new(log: Log, role: &str, text: &str) -> Self {
        Self {
            log,
            role: role.to_owned(),
            text: text.trim_end().to_owned(),
        }
    }
}

/// A text with the number of its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Higher with every change.
    pub version: i64,
    /// The text.
    pub body: Arc<str>,
}

/// Something that the store could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct SharedError {
    /// In words, with the store's name.
    pub detail: String,
    /// Whether the store is away; the same may succeed later.
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

/// Returns `true` for an error that says that the store is away.
pub(crate) fn is_away(error: &FileError) -> bool {
    error.source.kind() == io::ErrorKind::NotConnected
}

/// The store.
pub trait Shared: fmt::Debug + Send + Sync {
    /// The name by which places of this process are known.
    fn holder(&self) -> &str;

    /// Returns `true` if another holder ended without giving its places back. Doubt keeps them.
    fn is_gone(&self, holder: &str) -> bool;

    /// Reads a document.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn document(&self, name: &str) -> Result<Option<Document>, SharedError>;

    /// Keeps others from changing a document.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn hold_document(&self, name: &str) -> Result<Box<dyn HeldDocument>, SharedError>;

    /// Reads the state of every role, without keeping anybody from it.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn state(&self) -> Result<State, SharedError>;

    /// Waits for the state of a role, and keeps every other caller from it. With `fleet`, also for the window of all roles.
    ///
    /// # Errors
    /// The store is away or damaged.
    fn hold_state<'a>(&'a self, role: &str, fleet: bool)
    -> Result<Box<dyn Turn + 'a>, SharedError>;

    /// Adds lines; all of them or none. When the store is away, they wait on this machine and arrive later, once.
    ///
    /// # Errors
    /// They can be kept nowhere.
    fn append(&self, lines: Vec<Line>) -> Result<(), SharedError>;

    /// Hands out the lines of a log in their order, of one role or of all.
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

/// A state that no other caller changes. Dropped, nothing is written.
pub trait Turn {
    /// The state as it is now.
    ///
    /// # Errors
    /// It is damaged.
    fn state(&mut self) -> Result<State, SharedError>;

    /// The registry as it is now.
    fn registry(&self) -> Option<&Document>;

    /// Writes the state and the lines in one commit, and returns when it is durable.
    ///
    /// # Errors
    /// The store is away; what was to be written is then not acknowledged and may or may not stand.
    fn commit(self: Box<Self>, state: State, lines: Vec<Line>) -> Result<(), SharedError>;
}

/// A document that no other caller changes. Dropped, nothing is written.
pub trait HeldDocument {
    /// As it is now.
    fn now(&self) -> Option<&Document>;

    /// Replaces it, with lines in the same commit.
    ///
    /// # Errors
    /// The store is away; the change is then not acknowledged and may or may not stand.
    fn replace(self: Box<Self>, body: &str, lines: Vec<Line>) -> Result<(), SharedError>;
}
