//! The workspace's keys: one file per key under `.role-os/keys/`, mode 0600, secrets wiped after use.
//!
//! The newest key of an algorithm signs; all of them, and every `*.pub` beside them that the user confirmed, are
//! trusted.

mod making;
pub(crate) mod secret_hex;

pub use making::{create, create_missing, make_home, rotate};

use std::fmt;
use std::path::{Path, PathBuf};

use hex::FromHexError;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use witness::evidence::Signers;
use witness::key::{HmacKey, KeyId, Keyring, PublicKey, SigningKey};
use zeroize::Zeroizing;

use crate::files::{self, Action, FileError};
use crate::trust::{Doubt, Trust};
use crate::workspace::Workspace;

/// Trusted keys of a ledger.
#[derive(Clone, Debug, Default)]
pub struct Signatories {
    /// Keys whose checkpoints count.
    pub trusted: Vec<PublicKey>,
    /// Those that are not our own, so that their bundles were imported.
    pub others: Vec<KeyId>,
}

/// Largest key file.
pub(crate) const MAX_KEY_FILE: u64 = 16 * 1024;
const FORMAT: &str = "roleos-key/v1";
/// First word of a file that holds a public key.
const PUBLIC_WORD: &str = "roleos-ed25519";

/// Algorithm of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Algorithm {
    /// Shared secret.
    #[serde(rename = "hmac-sha256")]
    Hmac,
    /// Private and public half.
    #[serde(rename = "ed25519")]
    Ed25519,
}

impl Algorithm {
    /// Both, in the order of creation.
    pub const ALL: [Self; 2] = [Self::Hmac, Self::Ed25519];
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hmac => "hmac-sha256",
            Self::Ed25519 => "ed25519",
        })
    }
}

/// Error of using a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content is not a key.
    #[error("`{}` is not a key file: {why}", path.display())]
    NotAKey {
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// A string that should be hexadecimal. It may be a secret, so it is not repeated.
    #[error("the key is not hexadecimal: {0}")]
    NotHex(String),
    /// Another user could have installed a key of the machine.
    #[error("the approval key `{}` cannot be trusted: {why}", path.display())]
    NotOwned {
        path: PathBuf,
        /// The user that could change it.
        why: String,
    },
    /// The passphrase does not open the key.
    #[error("the passphrase does not open `{}`", path.display())]
    WrongPassphrase {
        /// The key file.
        path: PathBuf,
    },
    /// The key was neither created here nor confirmed.
    #[error("the approval key `{}` does not count: {doubt}", path.display())]
    Unconfirmed {
        /// The file of its public half.
        path: PathBuf,
        /// Reason.
        doubt: Doubt,
    },
    /// The new keys are recorded, and not all of them have their files.
    #[error("the new keys are not all in their places yet")]
    Unfinished(#[source] Box<Self>),
    /// The system has no randomness.
    #[error("cannot get random bytes from the system: {0}")]
    NoRandomness(String),
}

/// Content of a key file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    format: String,
    id: String,
    algorithm: Algorithm,
    created: String,
    #[serde(with = "secret_hex")]
    secret: Zeroizing<Vec<u8>>,
}

/// The public facts of one key.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    pub id: KeyId,
    pub algorithm: Algorithm,
    /// Time of creation; empty for a foreign public key.
    pub created: String,
    /// The public half of an Ed25519 key.
    pub public: Option<PublicKey>,
    /// Set if new bundles are signed with it.
    pub signs: bool,
}

/// All keys of a workspace, read once.
#[derive(Debug, Default)]
pub struct KeyStore {
    hmac: Vec<(Timestamp, HmacKey)>,
    signing: Vec<(Timestamp, SigningKey)>,
    others: Vec<PublicKey>,
    /// Files of keys that were neither created here nor confirmed.
    refused: Vec<(PathBuf, Doubt)>,
}

impl KeyStore {
    /// Reads the keys of a workspace; a missing folder is an empty store. A key that was neither created here nor
    /// confirmed is skipped, see [`KeyStore::refused`].
    ///
    /// # Errors
    /// A key file cannot be read or is damaged.
    pub fn open(workspace: &Workspace) -> Result<Self, KeyError> {
        let mut store = Self::default();
        let trust = Trust::of(workspace);
        for path in key_paths(&workspace.keys_dir())? {
            let key = read_key(&path)?;
            match trust.check_key(&key.id().to_string(), &path) {
                Ok(()) => store.take(key),
                Err(doubt) => store.refused.push((path, doubt)),
            }
        }
        store
            .hmac
            .sort_by_key(|(created, key)| (*created, key.id()));
        store
            .signing
            .sort_by_key(|(created, key)| (*created, key.public().id()));
        let own: Vec<PublicKey> = store.signing.iter().map(|(_, key)| key.public()).collect();
        store.others.retain(|key| !own.contains(key));
        Ok(store)
    }

    fn take(&mut self, key: AnyKey) {
        match key {
            AnyKey::Hmac(created, key) => self.hmac.push((created, key)),
            AnyKey::Signing(created, key) => self.signing.push((created, key)),
            AnyKey::Public(key) => self.others.push(key),
        }
    }

    /// Returns the files of unused keys, with reasons.
    #[must_use]
    pub fn refused(&self) -> &[(PathBuf, Doubt)] {
        &self.refused
    }

    /// Returns the key for the HMAC of new bundles.
    #[must_use]
    pub fn hmac(&self) -> Option<&HmacKey> {
        self.hmac.last().map(|(_, key)| key)
    }

    /// Returns the key that signs new bundles and checkpoints.
    #[must_use]
    pub fn signing(&self) -> Option<&SigningKey> {
        self.signing.last().map(|(_, key)| key)
    }

    /// Returns the algorithms without a signing key.
    fn missing(&self) -> Vec<Algorithm> {
        let is_missing = |algorithm: &Algorithm| match algorithm {
            Algorithm::Hmac => self.hmac.is_empty(),
            Algorithm::Ed25519 => self.signing.is_empty(),
        };
        Algorithm::ALL.into_iter().filter(is_missing).collect()
    }

    /// Returns the keyring of all trusted keys.
    #[must_use]
    pub fn keyring(&self) -> Keyring {
        let hmac = self.hmac.iter().map(|(_, key)| key.clone()).collect();
        Keyring::known(hmac, self.public_keys())
    }

    /// Returns `true` if one of our own keys signed, old ones included.
    #[must_use]
    pub fn owns(&self, signers: Signers) -> bool {
        let is_other = |id: KeyId| self.others.iter().any(|key| key.id() == id);
        signers.hmac.is_some() || signers.ed25519.is_some_and(|id| !is_other(id))
    }

    /// Returns the trusted keys for the ledger of this workspace.
    #[must_use]
    pub fn signatories(&self) -> Signatories {
        Signatories {
            trusted: self.public_keys(),
            others: self.others.iter().map(PublicKey::id).collect(),
        }
    }

    /// Returns the trusted public keys: our own, old ones included, and foreign ones.
    #[must_use]
    pub fn public_keys(&self) -> Vec<PublicKey> {
        let own = self.signing.iter().map(|(_, key)| key.public());
        own.chain(self.others.iter().copied()).collect()
    }

    /// Returns the public facts of each key, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<KeyInfo> {
        let hmac = self.hmac.iter().map(|(created, key)| KeyInfo {
            id: key.id(),
            algorithm: Algorithm::Hmac,
            created: created.to_string(),
            public: None,
            signs: self.hmac().is_some_and(|last| last.id() == key.id()),
        });
        let signing = self.signing.iter().map(|(created, key)| KeyInfo {
            id: key.public().id(),
            algorithm: Algorithm::Ed25519,
            created: created.to_string(),
            public: Some(key.public()),
            signs: self
                .signing()
                .is_some_and(|last| last.public() == key.public()),
        });
        let others = self.others.iter().map(|key| KeyInfo {
            id: key.id(),
            algorithm: Algorithm::Ed25519,
            created: String::new(),
            public: Some(*key),
            signs: false,
        });
        hmac.chain(signing).chain(others).collect()
    }
}

/// Returns the text of a `.pub` file, which may be published.
#[must_use]
pub fn public_line(key: &PublicKey) -> String {
    format!(
        "{PUBLIC_WORD} {} {}\n",
        hex::encode(key.to_bytes()),
        key.id()
    )
}

/// Returns the keyring for a key typed as hexadecimal text; an empty string is the empty key.
///
/// # Errors
/// The text is not hexadecimal.
pub fn keyring_from_hex(text: &str) -> Result<Keyring, KeyError> {
    let secret = Zeroizing::new(hex::decode(text).map_err(|error| not_hex(text, error))?);
    Ok(Keyring::hmac(HmacKey::new(&secret)))
}

fn not_hex(text: &str, error: FromHexError) -> KeyError {
    KeyError::NotHex(match error {
        FromHexError::InvalidHexCharacter { index, .. } => {
            format!("character {} is not one of 0-9 and a-f", index + 1)
        }
        _ => format!("it has {} digits, an odd number", text.len()),
    })
}

/// Returns the keyring for a key file: our format, a `.pub`, hexadecimal text, or the raw bytes of an HMAC key.
///
/// # Errors
/// The file cannot be read, is empty, or is a damaged file of our format.
pub fn keyring_from_file(path: &Path) -> Result<Keyring, KeyError> {
    let bytes = Zeroizing::new(files::read(path, MAX_KEY_FILE)?);
    if bytes.is_empty() {
        // A failed download must not become a key that everyone knows.
        return Err(KeyError::NotAKey {
            path: path.to_owned(),
            why: "it is empty".to_owned(),
        });
    }
    let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    if text.starts_with('{') || text.starts_with(PUBLIC_WORD) {
        return Ok(match parse_key(path, text)? {
            AnyKey::Hmac(_, key) => Keyring::hmac(key),
            AnyKey::Signing(_, key) => Keyring::public(key.public()),
            AnyKey::Public(key) => Keyring::public(key),
        });
    }
    if !text.is_empty()
        && let Ok(keyring) = keyring_from_hex(text)
    {
        return Ok(keyring);
    }
    Ok(Keyring::hmac(HmacKey::new(&bytes)))
}

enum AnyKey {
    Hmac(Timestamp, HmacKey),
    Signing(Timestamp, SigningKey),
    Public(PublicKey),
}

impl AnyKey {
    fn id(&self) -> KeyId {
        match self {
            Self::Hmac(_, key) => key.id(),
            Self::Signing(_, key) => key.public().id(),
            Self::Public(key) => key.id(),
        }
    }
}

fn key_paths(directory: &Path) -> Result<Vec<PathBuf>, KeyError> {
    let entries = match files::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FileError::new(Action::Read, directory, error).into()),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| FileError::new(Action::Read, directory, error))?
            .path();
        let known = path
            .extension()
            .is_some_and(|end| end == "key" || end == "pub");
        if known {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the files of keys in a folder, each with the id of its key. A damaged one is reported when a key is needed.
pub(crate) fn files_in(directory: &Path) -> Vec<(PathBuf, String)> {
    let paths = key_paths(directory).unwrap_or_default().into_iter();
    paths
        .filter_map(|path| {
            let id = read_key(&path).ok()?.id().to_string();
            Some((path, id))
        })
        .collect()
}

fn read_key(path: &Path) -> Result<AnyKey, KeyError> {
    let bytes = Zeroizing::new(files::read(path, MAX_KEY_FILE)?);
    let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    parse_key(path, text)
}

fn parse_key(path: &Path, text: &str) -> Result<AnyKey, KeyError> {
    let refuse = |why: &str| KeyError::NotAKey {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    if text.starts_with(PUBLIC_WORD) {
        return parse_public(text)
            .map(AnyKey::Public)
            .ok_or_else(|| refuse("expected `roleos-ed25519 <64 hexadecimal digits> <key id>`"));
    }
    let file: KeyFile = serde_json::from_str(text).map_err(|error| refuse(&error.to_string()))?;
    if file.format != FORMAT {
        return Err(refuse("its format is not `roleos-key/v1`"));
    }
    // Compared as times, because the string `…29.5Z` sorts after `…29.51Z`.
    let created: Timestamp = file
        .created
        .parse()
        .map_err(|_| refuse("its `created` is not a time"))?;
    let (id, key) = match file.algorithm {
        Algorithm::Hmac => {
            let key = HmacKey::new(&file.secret);
            (key.id(), AnyKey::Hmac(created, key))
        }
        Algorithm::Ed25519 => {
            let secret = file.secret.as_slice().try_into();
            let key = SigningKey::new(secret.map_err(|_| refuse("the secret has not 32 bytes"))?);
            (key.public().id(), AnyKey::Signing(created, key))
        }
    };
    if id.to_string() != file.id {
        return Err(refuse("its id does not belong to its secret"));
    }
    Ok(key)
}

pub(crate) fn parse_public(text: &str) -> Option<PublicKey> {
    let mut words = text.split_ascii_whitespace();
    let (word, key, id) = (words.next()?, words.next()?, words.next()?);
    let bytes: [u8; 32] = hex::decode(key).ok()?.try_into().ok()?;
    let key = PublicKey::parse(&bytes)?;
    (word == PUBLIC_WORD && id == key.id().to_string() && words.next().is_none()).then_some(key)
}
/// Returns a secret for a header: 32 random bytes in hexadecimal digits.
///
/// # Errors
/// The machine has no randomness.
pub fn random_token() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(hex::encode(bytes))
}
