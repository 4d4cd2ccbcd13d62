//! Proofs that need no ledger: one leaf is in a log, or a log only grew since a checkpoint.
//!
//! ```text
//! c2sp.org/tlog-proof@v1\n          old <size, decimal>\n
//! index <decimal>\n                 <hash, base64>\n               none or more
//! <hash, base64>\n    none or more  \n
//! \n                                <the signed checkpoint>
//! <the signed checkpoint>
//! ```
//!
//! The left one is C2SP tlog-proof without its `extra` line, which no signature would cover; the right one is the
//! request to a C2SP witness before it cosigns. Hashes run from the leaf to the root as in RFC 6962, part 2.1.

use std::fmt;

use ct_merkle as merkle;
use sha2::Sha256;

use super::checkpoint::Checkpoint;
use super::note::{Attested, BadNote, MAX_NOTE, SignedCheckpoint, Unverified};
use super::{Consistency, Leaf, Ledger, empty_root, text};
use crate::key::PublicKey;

/// Limit of hashes of a proof, more than any tree of 64-bit size needs.
pub const MAX_HASHES: usize = 63;

/// Limit of bytes of a proof: the note, and lines of at most 64 bytes before it.
pub const MAX_PROOF: usize = MAX_NOTE + 64 * (MAX_HASHES + 3);

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// Proof that a leaf is in a log. Self-contained: a bundle, this text and the log's public key are enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InclusionProof {
    index: u64,
    path: Vec<[u8; 32]>,
    signed: SignedCheckpoint,
}

/// Proof that a log contains an earlier checkpoint's leaves, unchanged and in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsistencyProof {
    old: u64,
    path: Vec<[u8; 32]>,
    signed: SignedCheckpoint,
}

impl Ledger {
    /// Proves that the leaf at `index` is in the tree of `signed`, a checkpoint of this ledger.
    ///
    /// For the newest checkpoint this costs O(log n); for an older one the tree is rebuilt.
    ///
    /// # Errors
    /// Fails if the checkpoint is not one of this ledger, or its tree does not reach `index`.
    pub fn prove(
        &self,
        index: u64,
        signed: SignedCheckpoint,
    ) -> Result<InclusionProof, CannotProve> {
        let size = self.size_of(&signed)?;
        let position = usize::try_from(index).ok().filter(|_| index < size);
        let position = position.ok_or(CannotProve::NoSuchLeaf { index, size })?;
        let proof = self.tree_at(size).prove_inclusion(position);
        Ok(InclusionProof {
            index,
            path: hashes(proof.as_bytes()),
            signed,
        })
    }

    /// Proves that the tree of `signed`, a checkpoint of this ledger, continues that of the first `old` leaves.
    ///
    /// # Errors
    /// Fails if the checkpoint is not one of this ledger, or it has fewer than `old` leaves.
    pub fn prove_growth(
        &self,
        old: u64,
        signed: SignedCheckpoint,
    ) -> Result<ConsistencyProof, CannotProve> {
        let size = self.size_of(&signed)?;
        let added = size
            .checked_sub(old)
            .ok_or(CannotProve::Smaller { old, size })?;
        let path = match usize::try_from(added) {
            // Every tree continues the empty one, and C2SP requires no hashes for it.
            Ok(added) if old > 0 => hashes(self.tree_at(size).prove_consistency(added).as_bytes()),
            _ => Vec::new(),
        };
        Ok(ConsistencyProof { old, path, signed })
    }

    /// Returns the size of a checkpoint of this ledger. Its signatures do not matter here.
    fn size_of(&self, signed: &SignedCheckpoint) -> Result<u64, CannotProve> {
        match self.compare(&signed.claimed) {
            found if found.holds() => Ok(signed.claimed.size),
            found => Err(CannotProve::OtherTree(found)),
        }
    }
}

impl InclusionProof {
    /// Creates a proof whose hashes were computed elsewhere, without any check.
    pub(super) fn of(index: u64, path: Vec<[u8; 32]>, signed: SignedCheckpoint) -> Self {
        Self {
            index,
            path,
            signed,
        }
    }

    /// Parses a proof. Limits come first, then the form; nothing is verified yet.
    ///
    /// # Errors
    /// Fails if the text is too large or not such a proof.
    pub fn parse(proof: &str) -> Result<Self, BadProof> {
        let mut lines = Lines::new(proof)?;
        if lines.next() != Some(FIRST_LINE) {
            return Err(BadProof::FirstLine);
        }
        let index = lines.number("index ").ok_or(BadProof::Index)?;
        let path = lines.hashes()?;
        let signed = SignedCheckpoint::parse(lines.rest)?;
        Ok(Self {
            index,
            path,
            signed,
        })
    }

    /// Returns the text of the proof, whose file ends with `.tlog-proof` by custom.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// Checks that a trusted key signed a tree that contains `leaf`, and returns its position.
    ///
    /// # Errors
    /// Fails if the checkpoint is not trusted, or the hashes do not lead from this leaf to its root.
    pub fn verify(&self, leaf: &Leaf, keys: &[PublicKey]) -> Result<Included, NotProven> {
        let attested = self.signed.verify(keys)?;
        let path = merkle::InclusionProof::<Sha256>::try_from_bytes(self.path.concat());
        path.and_then(|path| {
            let root = attested.checkpoint().root_hash();
            root.verify_inclusion(leaf, self.index, &path)
        })
        .map_err(|_| NotProven::Path)?;
        Ok(Included {
            index: self.index,
            attested,
        })
    }
}

impl fmt::Display for InclusionProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}\nindex {}", self.index)?;
        write_tail(f, &self.path, &self.signed)
    }
}

impl ConsistencyProof {
    /// Creates a proof whose hashes were computed elsewhere, without any check.
    pub(super) fn of(old: u64, path: Vec<[u8; 32]>, signed: SignedCheckpoint) -> Self {
        Self { old, path, signed }
    }

    /// Parses a proof. Limits come first, then the form; nothing is verified yet.
    ///
    /// # Errors
    /// Fails if the text is too large or not such a proof.
    pub fn parse(proof: &str) -> Result<Self, BadProof> {
        let mut lines = Lines::new(proof)?;
        let old = lines.number("old ").ok_or(BadProof::Old)?;
        let path = lines.hashes()?;
        let signed = SignedCheckpoint::parse(lines.rest)?;
        Ok(Self { old, path, signed })
    }

    /// Returns the proof as the body of a witness's `add-checkpoint`.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// Checks that a trusted key signed a tree that continues `earlier`, and returns the newer checkpoint.
    ///
    /// # Errors
    /// Fails if the newer checkpoint is not trusted, is one of another log, or does not continue the earlier.
    pub fn verify(&self, earlier: &Checkpoint, keys: &[PublicKey]) -> Result<Attested, NotProven> {
        let attested = self.signed.verify(keys)?;
        let later = attested.checkpoint();
        if later.origin != earlier.origin {
            return Err(NotProven::OtherLog);
        }
        if earlier.size != self.old {
            return Err(NotProven::OtherSize { old: self.old });
        }
        if self.leads(earlier, later) {
            Ok(attested)
        } else {
            Err(NotProven::Path)
        }
    }

    fn leads(&self, earlier: &Checkpoint, later: &Checkpoint) -> bool {
        if earlier.size == 0 {
            // Every tree continues the empty one; only the empty root is fixed.
            let sound = |point: &Checkpoint| point.size > 0 || point.root == empty_root();
            return sound(earlier) && sound(later) && self.path.is_empty();
        }
        merkle::ConsistencyProof::<Sha256>::try_from_bytes(self.path.concat())
            .and_then(|path| {
                let root = later.root_hash();
                root.verify_consistency(&earlier.root_hash(), &path)
            })
            .is_ok()
    }
}

impl fmt::Display for ConsistencyProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old)?;
        write_tail(f, &self.path, &self.signed)
    }
}

/// A leaf that was proved to be in a trusted log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    index: u64,
    attested: Attested,
}

impl Included {
    /// Returns the index of the leaf, counted from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the checkpoint whose tree contains it.
    #[must_use]
    pub fn attested(&self) -> &Attested {
        &self.attested
    }
}

/// Parser of a proof, line by line; `rest` is the signed checkpoint in the end.
struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Lines<'a> {
    fn new(proof: &'a str) -> Result<Self, BadProof> {
        if proof.len() > MAX_PROOF {
            return Err(BadProof::TooLong { bytes: proof.len() });
        }
        Ok(Self { rest: proof })
    }

    fn next(&mut self) -> Option<&'a str> {
        let (line, rest) = self.rest.split_once('\n')?;
        self.rest = rest;
        Some(line)
    }

    fn number(&mut self, label: &str) -> Option<u64> {
        text::decimal(self.next()?.strip_prefix(label)?)
    }

    /// Reads hashes up to and including the empty line.
    fn hashes(&mut self) -> Result<Vec<[u8; 32]>, BadProof> {
        let mut hashes = Vec::new();
        loop {
            match self.next() {
                Some("") => return Ok(hashes),
                Some(_) if hashes.len() == MAX_HASHES => return Err(BadProof::TooManyHashes),
                line => {
                    let number = hashes.len() + 1;
                    let hash = line.and_then(text::hash);
                    hashes.push(hash.ok_or(BadProof::Hash { number })?);
                }
            }
        }
    }
}

fn write_tail(
    f: &mut fmt::Formatter<'_>,
    path: &[[u8; 32]],
    signed: &SignedCheckpoint,
) -> fmt::Result {
    path.iter()
        .try_for_each(|hash| writeln!(f, "{}", text::encode(hash)))?;
    write!(f, "\n{signed}")
}

fn hashes(bytes: &[u8]) -> Vec<[u8; 32]> {
    bytes.as_chunks().0.to_vec()
}

/// Reason that a proof cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotProve {
    /// The checkpoint is not one of this ledger.
    #[error("cannot prove with this checkpoint: {}", .0.explain())]
    OtherTree(Consistency),
    /// The checkpoint's tree ends before the leaf.
    #[error("there is no leaf `{index}` among the {size} of the checkpoint")]
    NoSuchLeaf {
        /// Index of the requested leaf, counted from 0.
        index: u64,
        /// Number of leaves of the checkpoint.
        size: u64,
    },
    /// The checkpoint is older than the size from which it should have grown.
    #[error("a checkpoint of {size} leaves cannot continue one of `{old}`")]
    Smaller {
        /// Requested old size.
        old: u64,
        /// Number of leaves of the checkpoint.
        size: u64,
    },
}

/// Reason that a text is not a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadProof {
    /// More than [`MAX_PROOF`] bytes.
    #[error("the proof has {bytes} bytes, at most {MAX_PROOF} are read")]
    TooLong {
        /// Number of bytes.
        bytes: usize,
    },
    /// The first line names another format.
    #[error("the first line is not `{FIRST_LINE}`")]
    FirstLine,
    /// The second line is not `index` and a plain decimal.
    #[error("the second line does not give the index of a leaf")]
    Index,
    /// The first line is not `old` and a plain decimal.
    #[error("the first line does not give the old size")]
    Old,
    /// A line that is not the base64 of 32 bytes, or no empty line after the last.
    #[error("hash {number} of the proof cannot be read")]
    Hash {
        /// Number of the line, counted from 1.
        number: usize,
    },
    /// More than [`MAX_HASHES`] lines.
    #[error("the proof has more than {MAX_HASHES} hashes")]
    TooManyHashes,
    /// The text after the hashes is not a signed checkpoint.
    #[error("the proof does not end with a signed checkpoint")]
    Note(#[from] BadNote),
}

/// Reason that a proof fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotProven {
    /// No trusted key signed the checkpoint.
    #[error("the proof's checkpoint is not believed")]
    Checkpoint(#[from] Unverified),
    /// Another leaf, another index, another tree, or damage; the hashes do not tell which.
    #[error("the proof's hashes do not lead to the signed root")]
    Path,
    /// The two checkpoints have different names.
    #[error("the proof speaks of another log")]
    OtherLog,
    /// The proof starts from a checkpoint of another size.
    #[error("the proof starts from a checkpoint of `{old}` leaves, which is not the one given")]
    OtherSize {
        /// Size from which it starts.
        old: u64,
    },
}
