//! The key of a person: it signs approvals and receipts, and no other key does.
//!
//! Three levels. Same user: the private half lies beside the other keys. Passphrase: it is encrypted, and the person
//! types the passphrase. System: the public half lies in a directory that belongs to root, and no other is trusted.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use argon2::Argon2;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};
use zeroize::Zeroizing;

use crate::clock;
use crate::files::{self, Action, FileError, Privacy};
use crate::keys::{self, KeyError, MAX_KEY_FILE, secret_hex};
use crate::pins;
use crate::receipts::{Changing, Receipt, Subject};
use crate::sealed_files;
use crate::trust::{self, Trust};
use crate::workspace::Workspace;

/// Directory in which `init --system` stores the public half.
pub const SYSTEM_DIRECTORY: &str = "/etc/roleos";
/// File name of the public half, in either directory.
pub const PUBLIC_FILE: &str = "approval.pub";
/// File name of the private half.
pub const SECRET_FILE: &str = "approval.key";

const FORMAT: &str = "roleos-approval-key/v1";
/// Recommendation of RFC 9106 for limited memory: 64 MiB, three passes.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// Most memory that a key file may demand; more could exhaust this process.
const MAX_MEMORY_KIB: u32 = 512 * 1024;
const MAX_PASSES: u32 = 16;

/// Protection of the private half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every program of the user can sign.
    SameUser,
    /// Signing needs the passphrase.
    Passphrase,
    /// Root decides which key is trusted.
    System,
}

impl Level {
    /// Returns the name for people and programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameUser => "same user",
            Self::Passphrase => "passphrase",
            Self::System => "system",
        }
    }
}

/// Content of the private file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFile {
    format: String,
    id: String,
    created: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<Sealing>,
    /// The 32 bytes, or their encrypted form.
    #[serde(with = "secret_hex")]
    secret: Zeroizing<Vec<u8>>,
}

/// Encryption of the secret: Argon2id, then ChaCha20-Poly1305.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealing {
    method: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
    nonce: String,
}

const METHOD: &str = "argon2id+chacha20poly1305";

/// Location of the key, with the required owner of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
    owner: Option<u32>,
}

impl Place {
    /// Returns the machine's key, if root has installed one; else the workspace's.
    #[must_use]
    pub fn of(workspace: &Workspace) -> Self {
        Self::of_machine().unwrap_or_else(|| Self {
            directory: workspace.keys_dir().join("approval"),
            owner: None,
        })
    }

    /// Returns the machine's key, if root has installed one.
    #[must_use]
    pub fn of_machine() -> Option<Self> {
        let system = Self::owned(Path::new(SYSTEM_DIRECTORY), 0);
        // A location that cannot be checked counts as one with a key, which then cannot be read.
        let is_absent = matches!(system.public_path().try_exists(), Ok(false));
        (!is_absent).then_some(system)
    }

    /// Returns a directory that must belong to `owner`, with all its parents.
    #[must_use]
    pub fn owned(directory: &Path, owner: u32) -> Self {
        Self {
            directory: directory.to_owned(),
            owner: Some(owner),
        }
    }

    /// Returns the path of the public half.
    #[must_use]
    pub fn public_path(&self) -> PathBuf {
        self.directory.join(PUBLIC_FILE)
    }

    /// Returns the path of the private half.
    #[must_use]
    pub fn secret_path(&self) -> PathBuf {
        self.directory.join(SECRET_FILE)
    }

    /// Returns the trusted key; `None` if there is none yet.
    ///
    /// # Errors
    /// It is damaged, or other users than the owner could have changed it.
    pub fn verifying_key(&self) -> Result<Option<PublicKey>, KeyError> {
        let path = self.public_path();
        if !path.exists() {
            return Ok(None);
        }
        if let Some(owner) = self.owner {
            check_owner(&path, owner)?;
        }
        let bytes = files::read(&path, MAX_KEY_FILE)?;
        let text = String::from_utf8_lossy(&bytes);
        let key = keys::parse_public(text.trim());
        key.map(Some).ok_or_else(|| KeyError::NotAKey {
            path,
            why: "expected `roleos-ed25519 <64 hexadecimal digits> <key id>`".to_owned(),
        })
    }

    /// Returns the protection of the private half.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn level(&self) -> Result<Level, KeyError> {
        if self.owner.is_some() {
            return Ok(Level::System);
        }
        if !self.secret_path().exists() {
            return Ok(Level::SameUser);
        }
        let file = self.secret_file()?;
        Ok(match file.sealed {
            Some(_) => Level::Passphrase,
            None => Level::SameUser,
        })
    }

    /// Returns `true` if signing needs a passphrase.
    ///
    /// # Errors
    /// The private half cannot be read.
    pub fn is_sealed(&self) -> Result<bool, KeyError> {
        Ok(self.secret_path().exists() && self.secret_file()?.sealed.is_some())
    }

    fn secret_file(&self) -> Result<SecretFile, KeyError> {
        let path = self.secret_path();
        let bytes = Zeroizing::new(files::read(&path, MAX_KEY_FILE)?);
        let refuse = |why: String| KeyError::NotAKey {
            path: path.clone(),
            why,
        };
        let file: SecretFile =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        if file.format != FORMAT {
            return Err(refuse(format!("its format is not `{FORMAT}`")));
        }
        Ok(file)
    }

    /// Returns the private half; `passphrase` is the person's input, if one is needed.
    ///
    /// # Errors
    /// The file cannot be read, the passphrase is wrong, or the two halves do not belong together.
    pub fn signing_key(&self, passphrase: Option<&str>) -> Result<SigningKey, KeyError> {
        let path = self.secret_path();
        let file = self.secret_file()?;
        let refuse = |why: &str| KeyError::NotAKey {
            path: path.clone(),
            why: why.to_owned(),
        };
        let secret = match &file.sealed {
            None => file.secret,
            Some(sealing) => {
                let text = passphrase.unwrap_or_default();
                let key = stretch(text, sealing).map_err(refuse)?;
                open(&key, sealing, &file.id, &file.secret)
                    .ok_or_else(|| KeyError::WrongPassphrase { path: path.clone() })?
            }
        };
        let secret = secret.as_slice().try_into();
        let key = SigningKey::new(secret.map_err(|_| refuse("the secret has not 32 bytes"))?);
        if self.verifying_key()? != Some(key.public()) {
            return Err(refuse("it does not belong to `approval.pub`"));
        }
        Ok(key)
    }

    /// Creates a key in the place of the old one, encrypted if there is a passphrase.
    ///
    /// # Errors
    /// There is no randomness, or a file cannot be written.
    pub fn create(&self, passphrase: Option<&str>) -> Result<SigningKey, KeyError> {
        self.create_after(passphrase, |_, _| Ok(()))
    }

    /// Does the same, with a step before the files of both halves are written.
    fn create_after(
        &self,
        passphrase: Option<&str>,
        announce: impl FnOnce(&SigningKey, [&[u8]; 2]) -> Result<(), FileError>,
    ) -> Result<SigningKey, KeyError> {
        let secret = random::<32>()?;
        let key = SigningKey::new(&secret);
        let id = key.public().id().to_string();
        let (sealed, secret) = match passphrase {
            None => (None, Zeroizing::new(secret.to_vec())),
            Some(text) => {
                let (sealing, secret) = seal(text, &id, &secret, &self.secret_path())?;
                (Some(sealing), secret)
            }
        };
        let file = SecretFile {
            format: FORMAT.to_owned(),
            id,
            created: clock::text(clock::now_ns()),
            sealed,
            secret,
        };
        let mut text = Zeroizing::new(serde_json::to_vec_pretty(&file).unwrap_or_default());
        text.push(b'\n');
        // A folder of the machine does not belong to a workspace: we do not decide how git treats it.
        if self.owner.is_none() {
            keys::make_home(files::parent(&self.directory))?;
        }
        files::make_directory(&self.directory, Privacy::Secret)?;
        let secret = files::prepare(&self.secret_path(), &text, Privacy::Secret)?;
        let line = keys::public_line(&key.public());
        let public = files::prepare(&self.public_path(), line.as_bytes(), Privacy::Shared)?;
        announce(&key, [&text, line.as_bytes()])?;
        // A crash between the two leaves halves that do not match, which `signing_key` reports.
        secret.commit()?;
        public.commit()?;
        Ok(key)
    }
}

/// Returns the trusted key of this workspace: the machine's if there is one, else its own.
///
/// # Errors
/// It is damaged, others than root could have changed the machine's, or the workspace's was neither created here nor
/// confirmed.
pub fn verifying_key(workspace: &Workspace) -> Result<Option<PublicKey>, KeyError> {
    let place = Place::of(workspace);
    let key = place.verifying_key()?;
    if let (Some(key), None) = (&key, place.owner) {
        let path = place.public_path();
        let checked = Trust::of(workspace).check_approval_key(key, &path);
        checked.map_err(|doubt| KeyError::Unconfirmed { path, doubt })?;
    }
    Ok(key)
}

/// Returns the workspace's private half, created if missing. For commands of a person.
///
/// # Errors
/// The key cannot be read or created, or it needs a passphrase.
pub fn ensure(workspace: &Workspace, passphrase: Option<&str>) -> Result<SigningKey, KeyError> {
    let place = Place::of(workspace);
    if verifying_key(workspace)?.is_some() {
        return place.signing_key(passphrase);
    }
    let changing = Changing::begin(workspace)?;
    // Two processes may create the first key at the same time.
    if verifying_key(workspace)?.is_some() {
        return place.signing_key(passphrase);
    }
    make(&changing, workspace, None, None)
}

/// Creates a new key and writes the receipt, which the old one signs if it can still be opened.
///
/// # Errors
/// The key or the receipt cannot be written.
pub fn replace(
    workspace: &Workspace,
    old: Option<&SigningKey>,
    passphrase: Option<&str>,
) -> Result<SigningKey, KeyError> {
    make(&Changing::begin(workspace)?, workspace, old, passphrase)
}

fn make(
    changing: &Changing<'_>,
    workspace: &Workspace,
    old: Option<&SigningKey>,
    passphrase: Option<&str>,
) -> Result<SigningKey, KeyError> {
    let before = pins::key_mark(workspace);
    let place = Place::of(workspace);
    let key = place.create_after(passphrase, |key, [secret, public]| {
        let state = workspace.state();
        sealed_files::announce(state, &place.secret_path(), Some(secret))?;
        sealed_files::announce(state, &place.public_path(), Some(public))?;
        trust::record_approval_key(workspace, key, old)
    })?;
    let receipt = Receipt {
        place: 0,
        at: clock::text(clock::now_ns()),
        what: "key new --approval".to_owned(),
        subject: Subject::ApprovalKey,
        before,
        after: pins::key_mark_of(Some(&key.public())),
    };
    changing.record(&receipt, old.unwrap_or(&key))?;
    Ok(key)
}

/// Refuses a file that other users than `owner` could have changed or replaced.
fn check_owner(path: &Path, owner: u32) -> Result<(), KeyError> {
    let real = fs::canonicalize(path).map_err(|error| FileError::new(Action::Read, path, error))?;
    for part in real.ancestors() {
        let facts =
            fs::metadata(part).map_err(|error| FileError::new(Action::Read, part, error))?;
        let refuse = |why: String| KeyError::NotOwned {
            path: part.to_owned(),
            why,
        };
        if facts.uid() != owner && facts.uid() != 0 {
            return Err(refuse(format!("it belongs to user {}", facts.uid())));
        }
        // In a directory with the sticky bit, users cannot rename files of others.
        let is_guarded = facts.is_dir() && facts.mode() & 0o1000 != 0;
        if facts.mode() & 0o022 != 0 && !is_guarded {
            return Err(refuse("others may write to it".to_owned()));
        }
    }
    Ok(())
}

fn seal(
    passphrase: &str,
    id: &str,
    secret: &[u8; 32],
    path: &Path,
) -> Result<(Sealing, Zeroizing<Vec<u8>>), KeyError> {
    let sealing = Sealing {
        method: METHOD.to_owned(),
        memory_kib: MEMORY_KIB,
        passes: PASSES,
        salt: hex::encode(*random::<16>()?),
        nonce: hex::encode(*random::<12>()?),
    };
    let refuse = |why: &str| KeyError::NotAKey {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let key = stretch(passphrase, &sealing).map_err(refuse)?;
    let nonce = nonce(&sealing).ok_or_else(|| refuse("its nonce is damaged"))?;
    let payload = Payload {
        msg: secret,
        aad: id.as_bytes(),
    };
    let sealed = ChaCha20Poly1305::new(&Key::from(*key)).encrypt(&nonce, payload);
    let sealed = sealed.map_err(|_| refuse("it cannot be encrypted"))?;
    Ok((sealing, Zeroizing::new(sealed)))
}

fn open(key: &[u8; 32], sealing: &Sealing, id: &str, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let payload = Payload {
        msg: sealed,
        aad: id.as_bytes(),
    };
    let secret = ChaCha20Poly1305::new(&Key::from(*key)).decrypt(&nonce(sealing)?, payload);
    secret.ok().map(Zeroizing::new)
}

fn nonce(sealing: &Sealing) -> Option<Nonce> {
    let bytes: [u8; 12] = hex::decode(&sealing.nonce).ok()?.try_into().ok()?;
    Some(Nonce::from(bytes))
}

/// Derives the key that decrypts the secret from the passphrase.
fn stretch(passphrase: &str, sealing: &Sealing) -> Result<Zeroizing<[u8; 32]>, &'static str> {
    if sealing.method != METHOD {
        return Err("it was encrypted by a method that is not known here");
    }
    if sealing.memory_kib > MAX_MEMORY_KIB || sealing.passes > MAX_PASSES {
        return Err("it asks for more memory or passes than a key of ours does");
    }
    let salt = hex::decode(&sealing.salt).map_err(|_| "its salt is damaged")?;
    let parameters = argon2::Params::new(sealing.memory_kib, sealing.passes, 1, Some(32))
        .map_err(|_| "its memory or passes are out of range")?;
    let mut key = Zeroizing::new([0_u8; 32]);
    Argon2::new(
        argon2::Algorithm::Argon2id,
        argon2::Version::V0x13,
        parameters,
    )
    .hash_password_into(passphrase.as_bytes(), &salt, key.as_mut_slice())
    .map_err(|_| "its salt is damaged")?;
    Ok(key)
}

pub fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, KeyError> {
    let mut bytes = Zeroizing::new([0_u8; N]);
    getrandom::fill(bytes.as_mut_slice())
        .map_err(|error| KeyError::NoRandomness(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
