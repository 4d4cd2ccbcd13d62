//! A checkpoint that somebody signed: a C2SP signed note.
//!
//! ```text
//! <origin>\n<size>\n<root>\n
//! \n
//! — <key name> <base64 of: 4-byte key hash, signature>\n          one or more; the dash is U+2014
//! ```
//!
//! The log signs with Ed25519 (type 1) over the text up to the empty line, under its origin as the key name; the key
//! hash is the start of SHA-256(name, newline, 1, public key). Lines of other names are witnesses' cosignatures: they
//! are carried along and not judged here. The name and the hash only say which key to try.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::checkpoint::{BadCheckpoint, Checkpoint, Origin};
use super::text;
use crate::key::{KeyId, PublicKey, SigningKey};

/// Most bytes of a note that is read.
pub const MAX_NOTE: usize = 64 * 1024;

/// Most signature lines of a note that is read; C2SP asks every reader for this many.
pub const MAX_SIGNATURES: usize = 16;

/// The type byte of a plain Ed25519 signature.
const ED25519: u8 = 1;

const DASH: &str = "\u{2014} ";

/// A note that is well-formed. Who signed it, and whether that is true, is known after [`SignedCheckpoint::verify`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    pub(super) claimed: Checkpoint,
    signatures: Vec<Signature>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Signature {
    name: String,
    key_hash: [u8; 4],
    bytes: Vec<u8>,
}

impl SignedCheckpoint {
    /// Signs for the log. The same checkpoint and key always give the same bytes.
    #[must_use]
    pub fn sign(checkpoint: &Checkpoint, key: &SigningKey) -> Self {
        let signature = Signature {
            name: checkpoint.origin.to_string(),
            key_hash: key_hash(checkpoint.origin.as_str(), &key.public()),
            bytes: key.sign(checkpoint.to_text().as_bytes()).to_vec(),
        };
        Self {
            claimed: checkpoint.clone(),
            signatures: vec![signature],
        }
    }

    /// Reads a note. Limits come first, then the form; signatures are not looked at.
    ///
    /// # Errors
    /// The text is too large, not a note, or not the note of a checkpoint.
    pub fn parse(note: &str) -> Result<Self, BadNote> {
        if note.len() > MAX_NOTE {
            return Err(BadNote::TooLong { bytes: note.len() });
        }
        let (text, lines) = note.rsplit_once("\n\n").ok_or(BadNote::NoSignatures)?;
        if lines.is_empty() {
            return Err(BadNote::NoSignatures);
        }
        let lines = lines.strip_suffix('\n').ok_or(BadNote::NoNewline)?;
        let count = lines.split('\n').count();
        if count > MAX_SIGNATURES {
            return Err(BadNote::TooManySignatures { count });
        }
        let claimed = Checkpoint::from_text(&format!("{text}\n"))?;
        let read = |(number, line)| Signature::parse(line).ok_or(BadNote::Signature { number });
        let signatures = (1..).zip(lines.split('\n')).map(read);
        Ok(Self {
            claimed,
            signatures: signatures.collect::<Result<_, _>>()?,
        })
    }

    /// The note, byte for byte as it was read.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// Checks the log's signatures against the keys that are believed.
    ///
    /// Any key may sign for any origin, so a caller who expects a certain log compares [`Checkpoint::origin`].
    ///
    /// # Errors
    /// No believed key signed in the log's name, or one that did signed something else.
    pub fn verify(&self, keys: &[PublicKey]) -> Result<Attested, Unverified> {
        let origin = self.claimed.origin.as_str();
        let text = self.claimed.to_text();
        let mut signers = Vec::new();
        let mut unknown = false;
        for signature in self.signatures.iter().filter(|line| line.name == origin) {
            match signature.look(text.as_bytes(), keys) {
                Looked::NoKey => unknown = true,
                Looked::Bad(key) => return Err(Unverified::BadSignature { key }),
                Looked::Good(key) if signers.contains(&key) => {}
                Looked::Good(key) => signers.push(key),
            }
        }
        if !signers.is_empty() {
            let checkpoint = self.claimed.clone();
            return Ok(Attested {
                checkpoint,
                signers,
            });
        }
        let origin = self.claimed.origin.clone();
        Err(if unknown {
            Unverified::UnknownKey { origin }
        } else {
            Unverified::NothingVerified { origin }
        })
    }
}

impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.claimed.to_text())?;
        self.signatures
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Result of looking at one signature line of the log.
enum Looked {
    NoKey,
    Good(KeyId),
    Bad(KeyId),
}

impl Signature {
    fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
        let forbidden = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if name.is_empty() || name.contains(forbidden) {
            return None;
        }
        let decoded = text::decode(encoded)?;
        let (key_hash, bytes) = decoded.split_first_chunk()?;
        (!bytes.is_empty()).then(|| Self {
            name: name.to_owned(),
            key_hash: *key_hash,
            bytes: bytes.to_vec(),
        })
    }

    /// Two believed keys may share a hash of four bytes, so each that fits is tried.
    fn look(&self, text: &[u8], keys: &[PublicKey]) -> Looked {
        let mut result = Looked::NoKey;
        let named = |key: &&PublicKey| key_hash(&self.name, key) == self.key_hash;
        for key in keys.iter().filter(named) {
            let signature = self.bytes.as_slice().try_into();
            if signature.is_ok_and(|signature| key.verifies(text, signature)) {
                return Looked::Good(key.id());
            }
            result = Looked::Bad(key.id());
        }
        result
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [self.key_hash.as_slice(), &self.bytes].concat();
        write!(f, "{DASH}{} {}", self.name, text::encode(&bytes))
    }
}

/// A checkpoint for which believed keys vouch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attested {
    checkpoint: Checkpoint,
    signers: Vec<KeyId>,
}

impl Attested {
    /// What was signed.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Who signed, each key once; never empty.
    #[must_use]
    pub fn signers(&self) -> &[KeyId] {
        &self.signers
    }
}

/// Signs a text as a note under a key name. The text must end with a newline and must not begin like a checkpoint.
#[must_use]
pub fn sign_text(name: &Origin, text: &str, key: &SigningKey) -> String {
    let signature = Signature {
        name: name.to_string(),
        key_hash: key_hash(name.as_str(), &key.public()),
        bytes: key.sign(text.as_bytes()).to_vec(),
    };
    format!("{text}\n{signature}\n")
}

/// Returns the text of a note that a believed key signed under a key name.
#[must_use]
pub fn verified_text<'n>(note: &'n str, name: &Origin, keys: &[PublicKey]) -> Option<&'n str> {
    let end = note.rfind("\n\n")?;
    let (text, lines) = note.split_at_checked(end + 1)?;
    let mut lines = lines.lines().skip(1).take(MAX_SIGNATURES);
    let is_good = |line: &str| {
        let signature = Signature::parse(line).filter(|line| line.name == name.as_str());
        signature.is_some_and(|one| matches!(one.look(text.as_bytes(), keys), Looked::Good(_)))
    };
    lines.any(is_good).then_some(text)
}

/// The public key in the text form that tools for signed notes take: `<name>+<key hash, hex>+<base64 of: 1, key>`.
#[must_use]
pub fn verifier_key(origin: &Origin, key: &PublicKey) -> String {
    let hash = u32::from_be_bytes(key_hash(origin.as_str(), key));
    let typed = [&[ED25519], key.to_bytes().as_slice()].concat();
    format!("{origin}+{hash:08x}+{}", text::encode(&typed))
}

pub(super) fn key_hash(name: &str, key: &PublicKey) -> [u8; 4] {
    let digest: [u8; 32] = Sha256::new()
        .chain_update(name)
        .chain_update([b'\n', ED25519])
        .chain_update(key.to_bytes())
        .finalize()
        .into();
    let [a, b, c, d, ..] = digest;
    [a, b, c, d]
}

/// Why a text is not a signed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadNote {
    /// More than [`MAX_NOTE`] bytes.
    #[error("the note has {bytes} bytes, at most {MAX_NOTE} are read")]
    TooLong {
        /// How many there are.
        bytes: usize,
    },
    /// No empty line, or nothing after it.
    #[error("the note has no empty line with signatures after it")]
    NoSignatures,
    /// The last line is not complete.
    #[error("the note does not end with a newline")]
    NoNewline,
    /// More than [`MAX_SIGNATURES`] lines.
    #[error("the note has {count} signature lines, at most {MAX_SIGNATURES} are read")]
    TooManySignatures {
        /// How many there are.
        count: usize,
    },
    /// What was signed is something else.
    #[error("the note is not signed over a checkpoint")]
    Text(#[from] BadCheckpoint),
    /// A line that is not dash, name and base64.
    #[error("signature line {number} of the note cannot be read")]
    Signature {
        /// Which one, counted from 1.
        number: usize,
    },
}

/// Why a note is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unverified {
    /// Signed in the log's name, by keys that are not believed here.
    #[error("no key that is trusted here signed the checkpoint of `{origin}`")]
    UnknownKey {
        /// Which log.
        origin: Origin,
    },
    /// A believed key is named, and its signature does not fit the text.
    #[error("the signature by key `{key}` does not fit the checkpoint")]
    BadSignature {
        /// Which key.
        key: KeyId,
    },
    /// No line is signed in the log's name.
    #[error("nobody signed the checkpoint in the name of `{origin}`")]
    NothingVerified {
        /// Which log.
        origin: Origin,
    },
}
