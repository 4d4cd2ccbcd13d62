//! The evidence of many machines in one place: bundles under one ledger, and the lines of each machine's own logs.
//!
//! Reading order: [`shipment`] (the bytes that a machine sends), [`intake`] (what of them is believed), [`Archive`] (where it
//! is kept; [`files`] is the engine over a workspace, PostgreSQL is another crate's), [`group`] (many requests, one commit),
//! [`people`] (tokens, codes and what was done with them), [`migrate`] (from one engine to another).
//!
//! What an engine acknowledged survives the end of its process, and is there once: the same bytes are acknowledged again,
//! other bytes under the same task id or line number are refused.

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

/// Why an archive could not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It cannot be reached or is busy; the same can succeed later.
    #[error("the archive cannot be reached: {0}")]
    Away(String),
    /// What is kept contradicts itself or was changed from outside.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// The engine cannot do this.
    #[error("{0}")]
    Unfit(String),
    /// Anything else, in words for people.
    #[error("{0}")]
    Failed(String),
}

impl ArchiveError {
    /// Returns `true` if the same can succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    pub(crate) fn failed(error: &dyn std::error::Error) -> Self {
        Self::Failed(base::said(error))
    }
}

/// Name of a log of a machine: `runs`, or `decisions/` and a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogName(String);

impl LogName {
    /// The run log.
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

    /// The run log of a machine.
    #[must_use]
    pub fn runs() -> Self {
        Self(Self::RUNS.to_owned())
    }

    /// The decisions of a session; `None` when its id is too long for a name.
    #[must_use]
    pub fn decisions(session: &crate::journal::SessionId) -> Option<Self> {
        Self::parse(&format!("{}{session}", Self::DECISIONS))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A checked bundle on its way into the archive.
#[derive(Clone, Debug)]
pub struct NewBundle {
    /// What the ledger keeps of it.
    pub leaf: Leaf,
    /// Its bytes.
    pub bytes: Slice,
    /// Whose signature was found good.
    pub signer: KeyId,
    /// What a scorecard needs, computed from the bytes.
    pub facts: Facts,
}

/// A line on its way into the archive.
#[derive(Clone, Debug)]
pub struct NewLine {
    /// Whose log.
    pub writer: KeyId,
    /// Which log.
    pub log: LogName,
    /// Its number there.
    pub number: u64,
    /// The line.
    pub text: Slice,
}

/// Something on its way into the archive.
#[derive(Clone, Debug)]
pub enum Item {
    /// A bundle.
    Bundle(Box<NewBundle>),
    /// A line.
    Line(NewLine),
}

/// What became of an item.
#[derive(Clone, Debug)]
pub enum Placed {
    /// It is kept now; for a bundle, with its place in the ledger.
    Stored(Option<u64>),
    /// The same bytes were kept before.
    Known(Option<u64>),
    /// Other bytes are kept under its task id or number.
    Taken,
}

impl Placed {
    /// The place of a bundle in the ledger.
    #[must_use]
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::Stored(index) | Self::Known(index) => *index,
            Self::Taken => None,
        }
    }
}

/// What a commit came to.
#[derive(Clone, Debug)]
pub struct Committed {
    /// For each item, in order, with the proof for a bundle that is kept.
    pub placed: Vec<(Placed, Option<InclusionProof>)>,
    /// The signed checkpoint to which the proofs lead; `None` while the ledger is empty.
    pub checkpoint: Option<Arc<SignedCheckpoint>>,
}

/// How the ledger of an archive is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub origin: Origin,
    /// The keys that sign its checkpoints, the newest first.
    pub keys: Vec<PublicKey>,
    /// Its leaves.
    pub size: u64,
}

/// A key whose bundles and shipments are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolled {
    /// The key.
    pub key: PublicKey,
    /// Which machine, as far as it said so.
    pub machine: String,
    /// When it was enrolled, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Who enrolled it.
    pub by: String,
}

/// A bundle as the archive keeps it.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its place in the ledger.
    pub index: u64,
    /// What the ledger keeps of it.
    pub leaf: Leaf,
    /// Its bytes; `None` for one that was removed by age.
    pub bytes: Option<Vec<u8>>,
    /// It was sealed elsewhere.
    pub imported: bool,
}

/// A place for the evidence of many machines. Every method may wait; none prints.
pub trait Archive: fmt::Debug + Send + Sync {
    /// Returns how the ledger is known, and makes it when there is none.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn identity(&self) -> Result<Identity, ArchiveError>;

    /// Returns the keys whose bundles and shipments are taken.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn enrolled(&self) -> Result<Vec<Enrolled>, ArchiveError>;

    /// Takes bundles and shipments of a key from now on; `false` if it was enrolled before.
    ///
    /// # Errors
    /// It cannot be written.
    fn enroll(&self, key: &PublicKey, machine: &str, act: &Act) -> Result<bool, ArchiveError>;

    /// Takes nothing of a key any more; `false` if it was not enrolled. What was taken stays.
    ///
    /// # Errors
    /// It cannot be written.
    fn dismiss_key(&self, key: KeyId, act: &Act) -> Result<bool, ArchiveError>;

    /// Keeps the hash of a code with which one machine may enrol its key until a time.
    ///
    /// # Errors
    /// It cannot be written.
    fn offer_code(&self, code: &CodeHash, until_ns: u64, act: &Act) -> Result<(), ArchiveError>;

    /// Uses a code up and returns who offered it; `None` if it is unknown, used or too old.
    ///
    /// # Errors
    /// It cannot be written.
    fn use_code(&self, code: &CodeHash, now_ns: u64) -> Result<Option<String>, ArchiveError>;

    /// Keeps items, all or none of the new ones, and proves the bundles. Durable when it returns.
    ///
    /// # Errors
    /// Nothing is known to be kept. The same items can be committed again.
    fn commit(&self, items: &[Item]) -> Result<Committed, ArchiveError>;

    /// Proves that the ledger still begins as it did with so many leaves; `None` while it has no more.
    ///
    /// # Errors
    /// There were never so many leaves, or the archive cannot be read.
    fn growth(&self, from: u64) -> Result<Option<ConsistencyProof>, ArchiveError>;

    /// Returns the bytes of a task's bundle.
    ///
    /// # Errors
    /// The archive cannot be read.
    fn bundle(&self, task: TaskId) -> Result<Option<Vec<u8>>, ArchiveError>;

    /// Returns what all bundles add up to.
    ///
    /// # Errors
    /// The archive cannot be read, or the engine cannot divide so.
    fn scorecard(&self, wanted: &Wanted) -> Result<Report, ArchiveError>;

    /// Shows bundles in the order of the ledger, from a leaf on.
    ///
    /// # Errors
    /// The archive cannot be read, or `each` failed.
    fn each_bundle(
        &self,
        from: u64,
        each: &mut dyn FnMut(Kept) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError>;

    /// Shows the lines of every log, by writer, log and number.
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

    /// Keeps a new token, of which it knows the hash only.
    ///
    /// # Errors
    /// It cannot be written, or there is one of that name.
    fn add_token(&self, token: &Token, act: &Act) -> Result<(), ArchiveError>;

    /// Revokes the token of a name; `false` if there is no such one in force.
    ///
    /// # Errors
    /// It cannot be written.
    fn revoke_token(&self, name: &str, act: &Act) -> Result<bool, ArchiveError>;

    /// Writes a privileged act into the audit log.
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
