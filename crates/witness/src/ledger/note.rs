//! A signed checkpoint: a C2SP signed note.
//!
//! ```text
//! <origin>\n<size>\n<root>\n
//! \n
//! — <key name> <base64 of: 4-byte key hash, signature>\n          one or more; the dash is U+2014
//! ```
//!
//! The log signs with Ed25519 (type 1) over the text up to the empty line, under its origin as the key name; the key
//! hash is the start of SHA-256(name, newline, 1, public key). Lines of other names are witnesses' cosignatures: they
//! are preserved but not checked here. The name and the hash only identify the key to try.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::checkpoint::{BadCheckpoint, Checkpoint, Origin};
use super::text;
use crate::key::{KeyId, PublicKey, SigningKey};

/// Limit of bytes of a note.
pub const MAX_NOTE: usize = 64 * 1024;

/// Limit of signature lines of a note; C2SP requires every reader to accept this many.
pub const MAX_SIGNATURES: usize = 16;

/// The type byte of a plain Ed25519 signature.
const ED25519: u8 = 1;

const DASH: &str = "\u{2014} ";

/// A well-formed note, whose signatures are checked by [`SignedCheckpoint::verify`].
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

    /// Parses a note. Limits come first, then the form; signatures are not checked.
    ///
    /// # Errors
    /// Fails if the text is too large, not a note, or not the note of a checkpoint.
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

    /// Returns the note, byte for byte as it was read.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// Checks the log's signatures against the trusted keys.
    ///
    /// Any key may sign for any origin, so a caller who expects a certain log compares [`Checkpoint::origin`].
    ///
    /// # Errors
    /// Fails if no trusted key signed in the log's name, or the signature of one does not fit.
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

/// Result of the check of one signature line of the log.
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

    /// Checks one signature. Two trusted keys may share a hash of four bytes, so each that fits is tried.
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

/// A checkpoint signed by trusted keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attested {
    checkpoint: Checkpoint,
    signers: Vec<KeyId>,
}

impl Attested {
    /// Returns the signed checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Returns the signers, each key once; never empty.
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

/// Returns the text of a note that a trusted key signed under a key name.
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

/// Returns the public key in the text form for tools of signed notes: `<name>+<key hash, hex>+<base64 of: 1, key>`.
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

/// Reason that a text is not a signed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadNote {
    /// More than [`MAX_NOTE`] bytes.
    #[error("the note has {bytes} bytes, at most {MAX_NOTE} are read")]
    TooLong {
        /// Number of bytes.
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
        /// Number of lines.
        count: usize,
    },
    /// The signed text is not a checkpoint.
    #[error("the note is not signed over a checkpoint")]
    Text(#[from] BadCheckpoint),
    /// A line that is not dash, name and base64.
    #[error("signature line {number} of the note cannot be read")]
    Signature {
        /// Number of the line, counted from 1.
        number: usize,
    },
}

/// Reason that a note is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unverified {
    /// Signed in the log's name, by keys that are not trusted here.
    #[error("no key that is trusted here signed the checkpoint of `{origin}`")]
    UnknownKey {
        /// Name of the log.
        origin: Origin,
    },
    /// A trusted key is named, and its signature does not fit the text.
    #[error("the signature by key `{key}` does not fit the checkpoint")]
    BadSignature {
        /// The named key.
        key: KeyId,
    },
    /// No line is signed in the log's name.
    #[error("nobody signed the checkpoint in the name of `{origin}`")]
    NothingVerified {
        /// Name of the log.
        origin: Origin,
    },
}
