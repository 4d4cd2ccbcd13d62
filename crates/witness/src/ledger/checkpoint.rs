//! A checkpoint: the name, size and root of a log, as the text that is signed.
//!
//! ```text
//! <origin>\n<size, decimal>\n<root, base64>\n
//! ```
//!
//! That is C2SP tlog-checkpoint without extension lines, which could not be audited. There is one spelling of each
//! checkpoint. A checkpoint from outside is parsed by [`note`](super::note), because an unsigned one proves nothing.

use std::fmt;

use ct_merkle::RootHash;
use sha2::Sha256;

use super::text;

/// Longest origin, the limit of C2SP's cosignatures.
pub const MAX_ORIGIN: usize = 255;

/// Size of the largest tree in a checkpoint. Beyond it the positions of tree nodes would not fit 64 bits.
pub const MAX_SIZE: u64 = 1 << 62;

/// Unique name of a log, which is also the name of its signing key; best a URL without scheme.
///
/// Visible ASCII without `+`. Without spaces, no checkpoint begins like the other texts that the same key signs;
/// without invisible and foreign letters, the text on a terminal is the text that was signed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(String);

impl Origin {
    /// Parses a name.
    ///
    /// # Errors
    /// Fails if the name is empty, too long, or has a character that a signed note does not allow.
    pub fn parse(name: &str) -> Result<Self, BadOrigin> {
        if name.is_empty() {
            return Err(BadOrigin::Empty);
        }
        if name.len() > MAX_ORIGIN {
            return Err(BadOrigin::TooLong { bytes: name.len() });
        }
        match name.chars().find(|c| !c.is_ascii_graphic() || *c == '+') {
            Some(character) => Err(BadOrigin::Character { character }),
            None => Ok(Self(name.to_owned())),
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reason that a string cannot name a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadOrigin {
    /// The string is empty.
    #[error("the origin is empty")]
    Empty,
    /// More than [`MAX_ORIGIN`] bytes.
    #[error("the origin has {bytes} bytes, at most {MAX_ORIGIN} are allowed")]
    TooLong {
        /// Number of bytes.
        bytes: usize,
    },
    /// A space, a control character, a plus or a letter outside ASCII.
    #[error("the origin contains `{}`, only visible ASCII without `+` is allowed", .character.escape_default())]
    Character {
        /// The first such character.
        character: char,
    },
}

/// Size and root of a log, from a [`Ledger`](super::Ledger) or a verified note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub(super) origin: Origin,
    pub(super) size: u64,
    pub(super) root: [u8; 32],
}

impl Checkpoint {
    /// Returns the name of the log.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the RFC 6962 root over these leaves.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.root
    }

    /// Returns the text that is signed, with its last newline.
    #[must_use]
    pub fn to_text(&self) -> String {
        let root = text::encode(&self.root);
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Parses the output of [`Checkpoint::to_text`]. Not public, because an unsigned text proves nothing.
    pub(super) fn from_text(text: &str) -> Result<Self, BadCheckpoint> {
        let mut lines = text.split('\n');
        let mut line = || lines.next().unwrap_or_default();
        let origin = Origin::parse(line())?;
        let size = text::decimal(line())
            .filter(|size| *size <= MAX_SIZE)
            .ok_or(BadCheckpoint::Size)?;
        let root = text::hash(line()).ok_or(BadCheckpoint::Root)?;
        if lines.next() != Some("") || lines.next().is_some() {
            return Err(BadCheckpoint::Lines);
        }
        Ok(Self { origin, size, root })
    }

    /// Returns the root in the form in which the tree crate checks proofs.
    pub(super) fn root_hash(&self) -> RootHash<Sha256> {
        RootHash::new(self.root.into(), self.size)
    }
}

/// Reason that the signed text is not a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCheckpoint {
    /// Line 1 does not name a log.
    #[error("line 1 of the checkpoint does not name a log")]
    Origin(#[from] BadOrigin),
    /// Line 2 is not a plain decimal up to [`MAX_SIZE`].
    #[error("line 2 of the checkpoint is not a tree size")]
    Size,
    /// Line 3 is not the base64 of 32 bytes.
    #[error("line 3 of the checkpoint is not a root hash")]
    Root,
    /// There are not exactly three lines.
    #[error("the checkpoint does not have exactly three lines")]
    Lines,
}
