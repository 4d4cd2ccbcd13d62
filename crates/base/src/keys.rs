//! The workspace's keys: one file a key under `.role-os/keys/`, mode 0600, secrets wiped after use.
//!
//! The newest key of an algorithm signs; all of them, and every `*.pub` beside them that the user confirmed, are believed.

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

/// Whom to believe about a ledger.
#[derive(Clone, Debug, Default)]
pub struct Signatories {
    /// Keys whose checkpoints count.
    pub trusted: Vec<PublicKey>,
    /// Those of them that are not our own, so that their bundles came by import.
    pub others: Vec<KeyId>,
}

/// No key file is larger.
pub(crate) const MAX_KEY_FILE: u64 = 16 * 1024;
const FORMAT: &str = "roleos-key/v1";
/// First word of a file that holds a public key.
const PUBLIC_WORD: &str = "roleos-ed25519";

/// What a key is good for.
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
    /// Both, in the order in which they are made.
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

/// Why a key could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content.
    #[error("`{}` is not a key file: {why}", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Text that should be hexadecimal. It may be a secret, so it is not repeated.
    #[error("the key is not hexadecimal: {0}")]
    NotHex(String),
    /// A key of the whole machine that somebody else could have put there.
    #[error("the approval key `{}` cannot be trusted: {why}", path.display())]
    NotOwned {
        /// The file, or a directory above it.
        path: PathBuf,
        /// Who could change it.
        why: String,
    },
    /// The passphrase does not open the key.
    #[error("the passphrase does not open `{}`", path.display())]
    WrongPassphrase {
        /// The key file.
        path: PathBuf,
    },
    /// The key was neither made here nor confirmed.
    #[error("the approval key `{}` does not count: {doubt}", path.display())]
    Unconfirmed {
        /// The file of its public half.
        path: PathBuf,
        /// Why.
        doubt: Doubt,
    },
    /// The new keys are written down, and not all of them have their files.
    #[error("the new keys are not all in their places yet")]
    Unfinished(#[source] Box<Self>),
    /// The system gave no random bytes.
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

/// One key, as it may be shown.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// Its name.
    pub id: KeyId,
    /// What it is good for.
    pub algorithm: Algorithm,
    /// When it was made; empty for a public key of somebody else.
    pub created: String,
    /// The public half of an Ed25519 key.
    pub public: Option<PublicKey>,
    /// Whether new bundles are signed with it.
    pub signs: bool,
}

/// All keys of a workspace, read once.
#[derive(Debug, Default)]
pub struct KeyStore {
    hmac: Vec<(Timestamp, HmacKey)>,
    signing: Vec<(Timestamp, SigningKey)>,
    others: Vec<PublicKey>,
    /// Files of keys that were neither made here nor confirmed.
    refused: Vec<(PathBuf, Doubt)>,
}

impl KeyStore {
    /// Reads the keys of a workspace; a missing folder is an empty store. A key that was neither made here nor confirmed
    /// is passed over, see [`KeyStore::refused`].
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

    /// Returns the files of keys that are not used, and why.
    #[must_use]
    pub fn refused(&self) -> &[(PathBuf, Doubt)] {
        &self.refused
    }

    /// The key that puts the HMAC on new bundles.
    #[must_use]
    pub fn hmac(&self) -> Option<&HmacKey> {
        self.hmac.last().map(|(_, key)| key)
    }

    /// The key that signs new bundles and checkpoints.
    #[must_use]
    pub fn signing(&self) -> Option<&SigningKey> {
        self.signing.last().map(|(_, key)| key)
    }

    /// The algorithms for which there is no key to sign with.
    fn missing(&self) -> Vec<Algorithm> {
        let is_missing = |algorithm: &Algorithm| match algorithm {
            Algorithm::Hmac => self.hmac.is_empty(),
            Algorithm::Ed25519 => self.signing.is_empty(),
        };
        Algorithm::ALL.into_iter().filter(is_missing).collect()
    }

    /// Everything that is believed here.
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

    /// Whom to believe about the ledger of this workspace.
    #[must_use]
    pub fn signatories(&self) -> Signatories {
        Signatories {
            trusted: self.public_keys(),
            others: self.others.iter().map(PublicKey::id).collect(),
        }
    }

    /// Public keys that are believed here: our own, old ones included, and those of others.
    #[must_use]
    pub fn public_keys(&self) -> Vec<PublicKey> {
        let own = self.signing.iter().map(|(_, key)| key.public());
        own.chain(self.others.iter().copied()).collect()
    }

    /// What may be shown of each key, oldest first.
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

/// The text of a `.pub` file, which may be given to others.
#[must_use]
pub fn public_line(key: &PublicKey) -> String {
    format!(
        "{PUBLIC_WORD} {} {}\n",
        hex::encode(key.to_bytes()),
        key.id()
    )
}

/// The keyring for a key that the user typed as hexadecimal text; empty text is the empty key.
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

/// The keyring for a key file: one of ours, a `.pub`, hexadecimal text, or the raw bytes of an HMAC key.
///
/// # Errors
/// The file cannot be read, is empty, or is a damaged key file of ours.
pub fn keyring_from_file(path: &Path) -> Result<Keyring, KeyError> {
    let bytes = Zeroizing::new(files::read(path, MAX_KEY_FILE)?);
    if bytes.is_empty() {
        // A failed download must not become the key that everybody knows.
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

/// Returns the files of keys in a folder, each with the id of its key. A damaged one is named by whatever needs a key.
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
    // Compared as times, because as texts `…29.5Z` comes after `…29.51Z`.
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
/// A secret for a header: 32 random bytes as hexadecimal digits.
///
/// # Errors
/// The machine has no randomness.
pub fn random_token() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(hex::encode(bytes))
}
