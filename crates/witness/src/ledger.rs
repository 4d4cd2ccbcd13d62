//! An append-only Merkle log over sealed bundles, which shows if one was changed, moved, inserted or lost.
//!
//! Reading order: [`Leaf`] and [`Ledger`] here, [`checkpoint`] (size and root under a name), [`note`] (a signed
//! checkpoint), [`proof`] (one leaf, or the growth between two checkpoints, shown without the ledger), [`tiles`] (the
//! same tree without holding it in memory).
//!
//! The tree is that of RFC 6962 with SHA-256, computed by `ct-merkle`; the texts are those of C2SP (signed-note,
//! tlog-checkpoint, tlog-proof and the request of tlog-witness), so that other tools can read them.
//!
//! It does not prove that every task was logged, or when. A party with the signing key and all copies of the
//! checkpoints can write another history; a copy of a checkpoint out of the writer's reach makes that visible. No
//! file, no clock, no network; the host stores leaves and checkpoints and passes them in.

pub mod checkpoint;

pub mod note;

pub mod proof;

pub mod tiles;

mod text;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ct_merkle::{HashableLeaf, digest};
use sha2::{Digest as _, Sha256};

use crate::evidence::Evidence;
use crate::wire::{TaskId, join, take};

use checkpoint::{Checkpoint, Origin};

/// Prefix of a leaf, so that its bytes cannot have another meaning.
const LEAF_CONTEXT: &[u8; 22] = b"roleos ledger leaf v1\n";

/// Length of a leaf in bytes.
pub const LEAF_LEN: usize = LEAF_CONTEXT.len() + 16 + 8 + 32;

type Tree = MemoryBackedTree<Sha256, Leaf>;

/// Entry of the ledger for one sealed bundle.
///
/// ```text
/// 0x00 22  "roleos ledger leaf v1\n"     0x26 u64 created_ns, little-endian
/// 0x16 16  task_id                       0x2E 32  SHA-256 of the whole bundle
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Id of the task, as in the bundle's header.
    pub task_id: TaskId,
    /// Time of creation in nanoseconds since 1970, as in the bundle's header.
    pub created_ns: u64,
    /// SHA-256 of the whole bundle.
    pub bundle_sha256: [u8; 32],
}

impl Leaf {
    /// Creates the leaf of a verified bundle. It depends on the bundle alone, so that a proof needs no second file.
    #[must_use]
    pub fn of(evidence: &Evidence<'_>) -> Self {
        let header = evidence.contents().header();
        Self {
            task_id: header.task_id,
            created_ns: header.created_ns,
            bundle_sha256: evidence.digest(),
        }
    }

    /// Returns the bytes that the tree hashes and the host stores.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; LEAF_LEN] {
        join([
            LEAF_CONTEXT,
            &self.task_id.0,
            &self.created_ns.to_le_bytes(),
            &self.bundle_sha256,
        ])
    }

    /// Parses the output of [`Leaf::to_bytes`]; `None` for anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; LEAF_LEN]) -> Option<Self> {
        let mut input = bytes.as_slice();
        let input = &mut input;
        if &take(input)? != LEAF_CONTEXT {
            return None;
        }
        Some(Self {
            task_id: TaskId(take(input)?),
            created_ns: u64::from_le_bytes(take(input)?),
            bundle_sha256: take(input)?,
        })
    }
}

impl HashableLeaf for Leaf {
    fn hash<H: digest::Update>(&self, hasher: &mut H) {
        hasher.update(&self.to_bytes());
    }
}

/// The whole log in memory: every leaf, the tree above them, and the root after each.
///
/// A push costs O(log n) hashes, about a microsecond. A ledger that was closed is rebuilt by pushing every leaf again
/// (100,000 in some 0.15 s); that is accepted, because a rebuilt tree cannot disagree with its leaves. The roots cost
/// 32 bytes per leaf and make [`Ledger::root_at`] a look-up; without them, each call would rebuild the tree.
#[derive(Clone, Debug)]
pub struct Ledger {
    origin: Origin,
    tree: Tree,
    /// Roots by index: at `i`, the root of the first `i + 1` leaves.
    roots: Vec<[u8; 32]>,
}

impl Ledger {
    /// Creates an empty log of this name.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self {
            origin,
            tree: Tree::new(),
            roots: Vec::new(),
        }
    }

    /// Rebuilds a log from its leaves, oldest first.
    #[must_use]
    pub fn from_leaves(origin: Origin, leaves: impl IntoIterator<Item = Leaf>) -> Self {
        let mut ledger = Self::new(origin);
        for leaf in leaves {
            ledger.push(leaf);
        }
        ledger
    }

    /// Appends a leaf and returns its index.
    pub fn push(&mut self, leaf: Leaf) -> u64 {
        let index = self.len();
        self.tree.push(leaf);
        self.roots.push(root_of(&self.tree));
        index
    }

    /// Returns the name of the log.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the number of leaves.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.tree.len()
    }

    /// Returns `true` if the log has no leaf.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Returns all leaves, oldest first.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        self.tree.items()
    }

    /// Returns the root over all leaves.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.roots.last().copied().unwrap_or_else(empty_root)
    }

    /// Returns the root over the first `size` leaves; `None` if there are fewer.
    #[must_use]
    pub fn root_at(&self, size: u64) -> Option<[u8; 32]> {
        let Some(last) = size.checked_sub(1) else {
            return Some(empty_root());
        };
        self.roots.get(usize::try_from(last).ok()?).copied()
    }

    /// Returns the current checkpoint, for signing.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            origin: self.origin.clone(),
            size: self.len(),
            root: self.root(),
        }
    }

    /// Compares this log with a checkpoint that was made earlier or elsewhere.
    #[must_use]
    pub fn compare(&self, checkpoint: &Checkpoint) -> Consistency {
        if checkpoint.origin != self.origin {
            return Consistency::OtherLog;
        }
        match self.root_at(checkpoint.size) {
            None => Consistency::Truncated {
                missing: checkpoint.size.saturating_sub(self.len()),
            },
            Some(root) if root != checkpoint.root => Consistency::Forked,
            Some(_) => match self.len().saturating_sub(checkpoint.size) {
                0 => Consistency::Same,
                added => Consistency::Extended { added },
            },
        }
    }

    /// Returns the tree over the first `size` leaves, rebuilt if it is not the current one.
    fn tree_at(&self, size: u64) -> Cow<'_, Tree> {
        if size == self.len() {
            return Cow::Borrowed(&self.tree);
        }
        let mut tree = Tree::new();
        for (_, leaf) in (0..size).zip(self.leaves()) {
            tree.push(*leaf);
        }
        Cow::Owned(tree)
    }
}

/// Relation of a ledger to a checkpoint. A new variant must break every reader that does not handle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Exactly these leaves.
    Same,
    /// The checkpoint's leaves, unchanged, and newer ones after them.
    Extended {
        /// Number of newer leaves.
        added: u64,
    },
    /// The checkpoint covers more leaves than there are. The remaining ones may have been changed as well.
    Truncated {
        /// Number of missing leaves.
        missing: u64,
    },
    /// Enough leaves, but not the signed ones: some were changed, moved, inserted or removed.
    Forked,
    /// The checkpoint has the name of another log.
    OtherLog,
}

impl Consistency {
    /// Returns `true` if all leaves of the checkpoint are present and unchanged.
    #[must_use]
    pub fn holds(self) -> bool {
        match self {
            Self::Same | Self::Extended { .. } => true,
            Self::Truncated { .. } | Self::Forked | Self::OtherLog => false,
        }
    }

    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Extended { .. } => "extended",
            Self::Truncated { .. } => "truncated",
            Self::Forked => "forked",
            Self::OtherLog => "other_log",
        }
    }

    /// Returns one sentence for people.
    #[must_use]
    pub fn explain(self) -> String {
        match self {
            Self::Same => "the ledger is exactly what the checkpoint says".into(),
            Self::Extended { added } => {
                format!("the ledger continues the checkpoint with {added} newer leaves")
            }
            Self::Truncated { missing } => {
                format!("the ledger lacks {missing} leaves that the checkpoint vouches for")
            }
            Self::Forked => {
                "the ledger's first leaves are not those that the checkpoint vouches for".into()
            }
            Self::OtherLog => "the checkpoint bears the name of another log".into(),
        }
    }
}

fn root_of(tree: &Tree) -> [u8; 32] {
    (*tree.root().as_bytes()).into()
}

/// Returns the root of no leaves, which is the hash of no bytes by RFC 6962.
fn empty_root() -> [u8; 32] {
    Sha256::digest([]).into()
}
