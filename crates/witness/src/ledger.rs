//! An append-only Merkle log over sealed bundles, which shows whether one was changed, moved, inserted or lost.
//!
//! Reading order: [`Leaf`] and [`Ledger`] here, [`checkpoint`] (size and root under a name), [`note`] (a checkpoint
//! that somebody signed), [`proof`] (one leaf, or the growth between two checkpoints, shown without the ledger), [`tiles`]
//! (the same tree without holding it in memory).
//!
//! The tree is that of RFC 6962 with SHA-256, computed by `ct-merkle`; the texts are those of C2SP (signed-note,
//! tlog-checkpoint, tlog-proof and the request of tlog-witness), so that other people's tools can read them.
//!
//! What it does not prove: that every task was logged, or when. Whoever holds the signing key and all copies of the
//! checkpoints can write another history; a checkpoint that was copied out of the writer's reach makes that visible.
//! No file, no clock, no network; the host keeps leaves and checkpoints and hands them in.

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

/// Leaves begin with this text, so that their bytes can mean nothing else.
const LEAF_CONTEXT: &[u8; 22] = b"roleos ledger leaf v1\n";

/// Bytes of a leaf.
pub const LEAF_LEN: usize = LEAF_CONTEXT.len() + 16 + 8 + 32;

type Tree = MemoryBackedTree<Sha256, Leaf>;

/// What the ledger keeps of one sealed bundle.
///
/// ```text
/// 0x00 22  "roleos ledger leaf v1\n"     0x26 u64 created_ns, little-endian
/// 0x16 16  task_id                       0x2E 32  SHA-256 of the whole bundle
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Which task, as in the bundle's header.
    pub task_id: TaskId,
    /// Nanoseconds since 1970, as in the bundle's header.
    pub created_ns: u64,
    /// SHA-256 of the bundle, to its last byte.
    pub bundle_sha256: [u8; 32],
}

impl Leaf {
    /// The leaf of a checked bundle. Made from the bundle alone, so that a proof needs no second file.
    #[must_use]
    pub fn of(evidence: &Evidence<'_>) -> Self {
        let header = evidence.contents().header();
        Self {
            task_id: header.task_id,
            created_ns: header.created_ns,
            bundle_sha256: evidence.digest(),
        }
    }

    /// The bytes that the tree hashes and the host stores.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; LEAF_LEN] {
        join([
            LEAF_CONTEXT,
            &self.task_id.0,
            &self.created_ns.to_le_bytes(),
            &self.bundle_sha256,
        ])
    }

    /// Reads what [`Leaf::to_bytes`] wrote; `None` for anything else.
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
/// 32 bytes a leaf and make [`Ledger::root_at`] a look-up, where the tree would have to be built anew each time.
#[derive(Clone, Debug)]
pub struct Ledger {
    origin: Origin,
    tree: Tree,
    /// At `i`, the root of the first `i + 1` leaves.
    roots: Vec<[u8; 32]>,
}

impl Ledger {
    /// An empty log of this name.
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

    /// The name of the log.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Number of leaves.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.tree.len()
    }

    /// Whether nothing was logged yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Every leaf, oldest first.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        self.tree.items()
    }

    /// The root over all leaves.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.roots.last().copied().unwrap_or_else(empty_root)
    }

    /// The root over the first `size` leaves; `None` when there are fewer.
    #[must_use]
    pub fn root_at(&self, size: u64) -> Option<[u8; 32]> {
        let Some(last) = size.checked_sub(1) else {
            return Some(empty_root());
        };
        self.roots.get(usize::try_from(last).ok()?).copied()
    }

    /// What there is to sign now.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            origin: self.origin.clone(),
            size: self.len(),
            root: self.root(),
        }
    }

    /// Whether this log and a checkpoint, made earlier or elsewhere, tell the same history.
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

    /// The tree over the first `size` leaves, built anew when it is not the current one.
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

/// How a ledger and a checkpoint fit together. A new answer must break every reader that does not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Exactly these leaves.
    Same,
    /// The checkpoint's leaves, unchanged, and newer ones after them.
    Extended {
        /// How many are newer.
        added: u64,
    },
    /// The checkpoint speaks of more leaves than there are. What is left may have been changed as well.
    Truncated {
        /// How many are missing.
        missing: u64,
    },
    /// Enough leaves, but not the ones that were signed: some were changed, moved, inserted or removed.
    Forked,
    /// The checkpoint bears the name of another log.
    OtherLog,
}

impl Consistency {
    /// Whether nothing that the checkpoint vouches for was lost or changed.
    #[must_use]
    pub fn holds(self) -> bool {
        match self {
            Self::Same | Self::Extended { .. } => true,
            Self::Truncated { .. } | Self::Forked | Self::OtherLog => false,
        }
    }

    /// Stable name, as used in JSON.
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

    /// One sentence for people.
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

/// RFC 6962 says that the root of no leaves is the hash of no bytes.
fn empty_root() -> [u8; 32] {
    Sha256::digest([]).into()
}
