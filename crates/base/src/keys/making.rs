//! Creates keys: one, the missing ones, or a new set in the place of the old one.
//!
//! A new set is recorded as a whole before the first of its keys gets its file. The next rotation finishes an
//! interrupted one, so that repeating it creates one set and not two.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witness::key::{HmacKey, KeyId, SigningKey};
use zeroize::Zeroizing;

use super::{Algorithm, FORMAT, KeyError, KeyFile, KeyInfo, KeyStore, public_line};
use crate::clock;
use crate::files::{self, Action, FileError, Lock, Privacy};
use crate::sealed_files;
use crate::trust;
use crate::workspace::Workspace;

/// File of the set in creation, beside the keys.
const ROTATION: &str = ".rotation";
/// Largest record of a set, which has two keys.
const MAX_ROTATION: u64 = 2 * super::MAX_KEY_FILE;

/// A set of keys without files.
#[derive(Serialize, Deserialize)]
struct Rotation {
    keys: Vec<KeyFile>,
}

/// Creates a key of 32 random bytes; from then on it signs, and the older ones still verify.
///
/// # Errors
/// There is no randomness, or the file cannot be written.
pub fn create(workspace: &Workspace, algorithm: Algorithm) -> Result<KeyInfo, KeyError> {
    make_home(&workspace.keys_dir())?;
    place(workspace, &random(algorithm)?)
}

/// Creates the missing keys, and returns their algorithms. Two concurrent processes create them once.
///
/// # Errors
/// A key cannot be read or created.
pub fn create_missing(workspace: &Workspace) -> Result<(KeyStore, Vec<Algorithm>), KeyError> {
    let store = KeyStore::open(workspace)?;
    if store.missing().is_empty() {
        return Ok((store, Vec::new()));
    }
    let _alone = lock(workspace)?;
    let missing = KeyStore::open(workspace)?.missing();
    for algorithm in &missing {
        create(workspace, *algorithm)?;
    }
    Ok((KeyStore::open(workspace)?, missing))
}

/// Creates a new set of keys; the old ones still verify. An interrupted set is finished instead.
///
/// # Errors
/// There is no randomness, or a file cannot be written. [`KeyError::Unfinished`] means that a part of the new set signs
/// already, and that the next rotation finishes it.
pub fn rotate(workspace: &Workspace, algorithms: &[Algorithm]) -> Result<Vec<KeyInfo>, KeyError> {
    let _alone = lock(workspace)?;
    let path = workspace.keys_dir().join(ROTATION);
    let rotation = match interrupted(&path)? {
        Some(rotation) => rotation,
        None => {
            let keys: Result<Vec<KeyFile>, KeyError> =
                algorithms.iter().map(|one| random(*one)).collect();
            let rotation = Rotation { keys: keys? };
            let text = Zeroizing::new(serde_json::to_vec(&rotation).unwrap_or_default());
            files::write(&path, &text, Privacy::Secret)?;
            rotation
        }
    };
    finish(workspace, &rotation, &path).map_err(|error| {
        match take_back(&workspace.keys_dir(), &rotation) {
            true => error,
            false => KeyError::Unfinished(Box::new(error)),
        }
    })
}

/// Forgets a set of which no key signs yet; `false` when one does, or that cannot be told.
fn take_back(directory: &Path, rotation: &Rotation) -> bool {
    let Ok(names) = rotation
        .keys
        .iter()
        .map(|key| Ok(halves(directory, key)?.0))
        .collect::<Result<Vec<KeyId>, KeyError>>()
    else {
        return false;
    };
    let is_absent = |id: &KeyId| {
        let facts = files::metadata(&directory.join(format!("{id}.key")));
        facts.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    if !names.iter().all(is_absent) || files::remove_file(&directory.join(ROTATION)).is_err() {
        return false;
    }
    for id in &names {
        // A public half alone signs nothing.
        files::remove_file(&directory.join(format!("{id}.pub"))).ok();
    }
    true
}

fn finish(
    workspace: &Workspace,
    rotation: &Rotation,
    path: &Path,
) -> Result<Vec<KeyInfo>, KeyError> {
    let keys = rotation.keys.iter().map(|key| place(workspace, key));
    let made: Vec<KeyInfo> = keys.collect::<Result<_, _>>()?;
    files::remove_file(path).map_err(|error| FileError::new(Action::Finish, path, error))?;
    Ok(made)
}

/// Returns an interrupted set; an unreadable record was never complete, and no key of it has a file.
fn interrupted(path: &Path) -> Result<Option<Rotation>, KeyError> {
    match files::read(path, MAX_ROTATION) {
        Ok(bytes) => Ok(serde_json::from_slice(&Zeroizing::new(bytes)).ok()),
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn lock(workspace: &Workspace) -> Result<Lock, KeyError> {
    let directory = workspace.keys_dir();
    make_home(&directory)?;
    Ok(Lock::take(&directory.join(".lock"))?)
}

/// Creates a random key without a file.
fn random(algorithm: Algorithm) -> Result<KeyFile, KeyError> {
    let mut secret = Zeroizing::new([0_u8; 32]);
    getrandom::fill(secret.as_mut_slice())
        .map_err(|error| KeyError::NoRandomness(error.to_string()))?;
    let id = match algorithm {
        Algorithm::Ed25519 => SigningKey::new(&secret).public().id(),
        Algorithm::Hmac => HmacKey::new(secret.as_slice()).id(),
    };
    Ok(KeyFile {
        format: FORMAT.to_owned(),
        id: id.to_string(),
        algorithm,
        created: clock::text(clock::now_ns()),
        secret: Zeroizing::new(secret.to_vec()),
    })
}

/// Writes the files of a key, also existing ones.
fn place(workspace: &Workspace, file: &KeyFile) -> Result<KeyInfo, KeyError> {
    let directory = &workspace.keys_dir();
    let (id, public) = halves(directory, file)?;
    let mut text = Zeroizing::new(serde_json::to_vec_pretty(file).unwrap_or_default());
    text.push(b'\n');
    trust::record_keys(workspace, &[id.to_string()])?;
    if let Some(public) = public {
        let path = directory.join(format!("{id}.pub"));
        let line = public_line(&public);
        sealed_files::announce(workspace.state(), &path, Some(line.as_bytes()))?;
        files::write(&path, line.as_bytes(), Privacy::Shared)?;
    }
    let path = directory.join(format!("{id}.key"));
    sealed_files::announce(workspace.state(), &path, Some(&text))?;
    files::write(&path, &text, Privacy::Secret)?;
    Ok(KeyInfo {
        id,
        algorithm: file.algorithm,
        created: file.created.clone(),
        public,
        signs: true,
    })
}

/// Returns the id of a key, from its secret and not from its file, and its public half.
fn halves(
    directory: &Path,
    file: &KeyFile,
) -> Result<(KeyId, Option<witness::key::PublicKey>), KeyError> {
    if file.algorithm == Algorithm::Hmac {
        return Ok((HmacKey::new(&file.secret).id(), None));
    }
    let secret = <&[u8; 32]>::try_from(file.secret.as_slice());
    let secret = secret.map_err(|_| KeyError::NotAKey {
        path: PathBuf::from(directory).join(ROTATION),
        why: "an Ed25519 key has 32 bytes".to_owned(),
    })?;
    let public = SigningKey::new(secret).public();
    Ok((public.id(), Some(public)))
}

/// Creates the directory of the keys: closed to other users, and ignored by git, so that `git add` adds no secret.
pub fn make_home(directory: &Path) -> Result<(), FileError> {
    files::make_directory(directory, Privacy::Secret)?;
    let ignore = directory.join(".gitignore");
    if ignore.exists() {
        return Ok(());
    }
    files::write(&ignore, b"*\n", Privacy::Shared)
}
