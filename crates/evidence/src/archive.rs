//! The evidence of many machines in one place: bundles under one ledger, and the lines of each machine's own logs.
//!
//! Reading order: [`shipment`] (the bytes that a machine sends), [`intake`] (which parts of them are accepted),
//! [`Archive`] (the storage; [`files`] is the engine over a workspace, the PostgreSQL engine is in another crate),
//! [`group`] (many requests, one commit), [`people`] (tokens, codes and the audit log), [`migrate`] (from one engine to
//! another).
//!
//! Everything that an engine acknowledged survives the end of its process and is stored once: the same bytes are
//! acknowledged again, other bytes under the same task id or line number are refused.

pub mod facts;
pub mod files;
pub mod group;
pub mod intake;
pub mod migrate;
pub mod people;
pub mod shipment;

use std::fmt;
use std::sync::Arc;

use witness::key::{KeyId, PublicKey};
use witness::ledger::Leaf;
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::SignedCheckpoint;
use witness::ledger::proof::{ConsistencyProof, InclusionProof};
use witness::scorecard::{Report, Wanted};
use witness::wire::TaskId;

use self::facts::Facts;
use self::people::{Act, CodeHash, Token};
use self::shipment::Slice;

/// Error of an archive operation.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The archive cannot be reached or is busy; a retry can succeed.
    #[error("the archive cannot be reached: {0}")]
    Away(String),
    /// The stored data contradicts itself or was changed from outside.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// The engine does not support the operation.
    #[error("{0}")]
    Unfit(String),
    /// Any other failure, as a sentence for people.
    #[error("{0}")]
    Failed(String),
}

impl ArchiveError {
    /// Returns `true` if a retry can succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    pub(crate) fn failed(error: &dyn std::error::Error) -> Self {
        Self::Failed(base::said(error))
    }
}

/// Name of a machine's log: `runs`, or `decisions/` and a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogName(String);

impl LogName {
    /// Name of the run log.
    pub const RUNS: &'static str = "runs";
    const DECISIONS: &'static str = "decisions/";
    /// Longest name.
    const MAX: usize = 200;

    /// Checks a name that came from outside.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_known = match text.strip_prefix(Self::DECISIONS) {
            Some(session) => crate::journal::SessionId::new(session).as_str() == session,
            None => text == Self::RUNS,
        };
        (is_known && text.len() <= Self::MAX).then(|| Self(text.to_owned()))
    }

    /// Returns the name of the run log.
    #[must_use]
    pub fn runs() -> Self {
        Self(Self::RUNS.to_owned())
    }

    /// Returns the name of a session's decision log; `None` if the session id is too long for a name.
    #[must_use]
    pub fn decisions(session: &crate::journal::SessionId) -> Option<Self> {
        Self::parse(&format!("{}{session}", Self::DECISIONS))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A checked bundle on its way into the archive.
#[derive(Clone, Debug)]
pub struct NewBundle {
    /// Its leaf in the ledger.
    pub leaf: Leaf,
    pub bytes: Slice,
    /// Key whose signature was verified.
    pub signer: KeyId,
    /// Figures for scorecards, computed from the bytes.
    pub facts: Facts,
}

/// A line on its way into the archive.
#[derive(Clone, Debug)]
pub struct NewLine {
    /// Key of the machine that wrote the log.
    pub writer: KeyId,
    pub log: LogName,
    /// Number of the line in the log.
    pub number: u64,
    pub text: Slice,
}

/// Something on its way into the archive.
#[derive(Clone, Debug)]
pub enum Item {
    Bundle(Box<NewBundle>),
    Line(NewLine),
}

/// Result for one item.
#[derive(Clone, Debug)]
pub enum Placed {
    /// It is stored now; for a bundle, with its place in the ledger.
    Stored(Option<u64>),
    /// The same bytes were stored before.
    Known(Option<u64>),
    /// Other bytes are stored under its task id or number.
    Taken,
}

impl Placed {
    /// Returns the place of a bundle in the ledger.
    #[must_use]
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::Stored(index) | Self::Known(index) => *index,
            Self::Taken => None,
        }
    }
}

/// Result of a commit.
#[derive(Clone, Debug)]
pub struct Committed {
    /// For each item, in order, with the proof for a bundle that is kept.
    pub placed: Vec<(Placed, Option<InclusionProof>)>,
    /// The signed checkpoint to which the proofs lead; `None` while the ledger is empty.
    pub checkpoint: Option<Arc<SignedCheckpoint>>,
}

/// Name, keys and size of an archive's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub origin: Origin,
    /// The keys that sign its checkpoints, newest first.
    pub keys: Vec<PublicKey>,
    /// Number of leaves.
    pub size: u64,
}

/// A key whose bundles and shipments are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolled {
    pub key: PublicKey,
    /// Machine, as it named itself.
    pub machine: String,
    /// When it was enrolled, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Actor that enrolled it.
    pub by: String,
}

/// A bundle as the archive keeps it.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its place in the ledger.
    pub index: u64,
    /// Its leaf in the ledger.
    pub leaf: Leaf,
    /// Its bytes; `None` for one that was removed by age.
    pub bytes: Option<Vec<u8>>,
    /// Set if it was sealed elsewhere.
    pub imported: bool,
}

/// Storage for the evidence of many machines. Every method may block; none prints.
pub trait Archive: fmt::Debug + Send + Sync {
    /// Returns the identity of the ledger; creates the ledger if there is none.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn identity(&self) -> Result<Identity, ArchiveError>;

    /// Returns the keys whose bundles and shipments are accepted.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn enrolled(&self) -> Result<Vec<Enrolled>, ArchiveError>;

    /// Accepts bundles and shipments of a key from now on; returns `false` if the key was enrolled before.
    ///
    /// # Errors
    /// It cannot be written.
    fn enroll(&self, key: &PublicKey, machine: &str, act: &Act) -> Result<bool, ArchiveError>;

    /// Accepts nothing from a key any more; returns `false` if the key was not enrolled. Stored evidence stays.
    ///
    /// # Errors
    /// It cannot be written.
    fn dismiss_key(&self, key: KeyId, act: &Act) -> Result<bool, ArchiveError>;

    /// Stores the hash of a code with which one machine may enrol its key until a time.
    ///
    /// # Errors
    /// It cannot be written.
    fn offer_code(&self, code: &CodeHash, until_ns: u64, act: &Act) -> Result<(), ArchiveError>;

    /// Consumes a code and returns the actor that offered it; `None` if it is unknown, used or too old.
    ///
    /// # Errors
    /// It cannot be written.
    fn use_code(&self, code: &CodeHash, now_ns: u64) -> Result<Option<String>, ArchiveError>;

    /// Stores all or none of the new items, and proves the bundles. The result is durable on return.
    ///
    /// # Errors
    /// None of the items is known to be stored. The same items can be committed again.
    fn commit(&self, items: &[Item]) -> Result<Committed, ArchiveError>;

    /// Proves that the first `from` leaves of the ledger are unchanged; `None` while it has no more leaves.
    ///
    /// # Errors
    /// The ledger never had `from` leaves, or the archive cannot be read.
    fn growth(&self, from: u64) -> Result<Option<ConsistencyProof>, ArchiveError>;

    /// Returns the bytes of a task's bundle.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn bundle(&self, task: TaskId) -> Result<Option<Vec<u8>>, ArchiveError>;

    /// Returns the scorecard of all bundles.
    ///
    /// # Errors
    /// The archive cannot be read, or the engine does not support this division.
    fn scorecard(&self, wanted: &Wanted) -> Result<Report, ArchiveError>;

    /// Passes bundles to `each` in the order of the ledger, from a leaf on.
    ///
    /// # Errors
    /// The archive cannot be read, or `each` failed.
    fn each_bundle(
        &self,
        from: u64,
        each: &mut dyn FnMut(Kept) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError>;

    /// Passes the lines of every log to `each`, by writer, log and number.
    ///
    /// # Errors
    /// The archive cannot be read, or `each` failed.
    fn each_line(
        &self,
        each: &mut dyn FnMut(NewLine) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError>;

    /// Returns the API tokens, revoked ones included.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn tokens(&self) -> Result<Vec<Token>, ArchiveError>;

    /// Stores a new token, of which the archive knows only the hash.
    ///
    /// # Errors
    /// It cannot be written, or the name is taken.
    fn add_token(&self, token: &Token, act: &Act) -> Result<(), ArchiveError>;

    /// Revokes the token of a name; returns `false` if no such token is in force.
    ///
    /// # Errors
    /// It cannot be written.
    fn revoke_token(&self, name: &str, act: &Act) -> Result<bool, ArchiveError>;

    /// Appends a privileged act to the audit log.
    ///
    /// # Errors
    /// It cannot be written.
    fn note(&self, act: &Act) -> Result<(), ArchiveError>;

    /// Returns the newest acts of the audit log, oldest first.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn acts(&self, most: usize) -> Result<Vec<Act>, ArchiveError>;
}
