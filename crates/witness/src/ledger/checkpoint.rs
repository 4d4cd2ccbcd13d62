//! A checkpoint: the name, size and root of a log, as the text that is signed.
//!
//! ```text
//! <origin>\n<size, decimal>\n<root, base64>\n
//! ```
//!
//! That is C2SP tlog-checkpoint without extension lines, which nobody could audit. There is one spelling of each
//! checkpoint. Reading one from outside goes through [`note`](super::note), because an unsigned one proves nothing.

use std::fmt;

use ct_merkle::RootHash;
use sha2::Sha256;

use super::text;

/// Longest origin, the limit of C2SP's cosignatures.
pub const MAX_ORIGIN: usize = 255;

/// Largest tree of which a checkpoint may speak. Beyond it the positions of tree nodes would not fit 64 bits.
pub const MAX_SIZE: u64 = 1 << 62;

/// The unique name of a log, also the name of the key that signs for it; best a URL without scheme.
///
/// Visible ASCII without `+`. Since a space is impossible, no checkpoint begins like the other texts that the same
/// key signs; since invisible and foreign letters are impossible, what is shown on a terminal is what was signed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(String);

impl Origin {
    /// Checks a name.
    ///
    /// # Errors
    /// The name is empty, too long, or has a character that a signed note does not allow.
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

    /// The name.
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

/// Why a text cannot name a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadOrigin {
    /// No text.
    #[error("the origin is empty")]
    Empty,
    /// More than [`MAX_ORIGIN`] bytes.
    #[error("the origin has {bytes} bytes, at most {MAX_ORIGIN} are allowed")]
    TooLong {
        /// How many there are.
        bytes: usize,
    },
    /// A space, a control character, a plus or a letter outside ASCII.
    #[error("the origin contains `{}`, only visible ASCII without `+` is allowed", .character.escape_default())]
    Character {
        /// The first of them.
        character: char,
    },
}

/// Size and root of a log. Comes from a [`Ledger`](super::Ledger) or out of a verified note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub(super) origin: Origin,
    pub(super) size: u64,
    pub(super) root: [u8; 32],
}

impl Checkpoint {
    /// Which log.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The RFC 6962 root over these leaves.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.root
    }

    /// The text that is signed, with its last newline.
    #[must_use]
    pub fn to_text(&self) -> String {
        let root = text::encode(&self.root);
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Reads what [`Checkpoint::to_text`] wrote. Kept inside, because a text alone is no reason to believe it.
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

    /// The root in the form in which the tree crate checks proofs.
    pub(super) fn root_hash(&self) -> RootHash<Sha256> {
        RootHash::new(self.root.into(), self.size)
    }
}

/// Why the signed text is not a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCheckpoint {
    /// Line 1.
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
