//! Files of the user's trust store that carry a keyed hash, and announcements of writes by `roleos` itself.
//!
//! Because of the hash, a file that an archive or a copy brings into the store is not trusted. The key lies beside it:
//! a program of the same user can read it, as it can read everything else here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files::{self, Action, FileError, Lock, Privacy};
use crate::keyed_hash;
use crate::second_copy::{HeldCopies, SecondCopy};
use crate::trust;
use crate::workspace::Workspace;

/// Longest record that is read.
const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// Length of the key in bytes.
const KEY_LENGTH: usize = 32;

/// Content that `roleos` is about to write.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    path: String,
    /// Its hash; `None` for a file that is removed.
    sha256: Option<String>,
    at_ns: u64,
}

/// The folder of one workspace in the trust store.
#[derive(Debug)]
pub struct SealedFiles {
    shared: PathBuf,
    home: PathBuf,
    key: Vec<u8>,
    copy: SecondCopy,
}

impl SealedFiles {
    /// Opens the store of this workspace, creates it if missing. Returns `None` if the user has no trust store.
    pub fn open(workspace: &Workspace) -> Result<Option<Self>, FileError> {
        let Some(state) = workspace.state() else {
            return Ok(None);
        };
        let record = trust::record_path(workspace);
        let name = Path::new(&record).file_stem().unwrap_or_default();
        Self::at(state, &name.to_string_lossy()).map(Some)
    }

    fn at(state: &Path, name: &str) -> Result<Self, FileError> {
        let shared = state.join("protected");
        Ok(Self {
            home: shared.join(name),
            key: key(state, &shared)?,
            copy: SecondCopy::of(state),
            shared,
        })
    }

    /// Holds copies of a workspace's records in memory. `None` if there are none.
    #[must_use]
    pub fn hold(workspace: &Workspace, more: Option<String>) -> Option<HeldCopies> {
        let state = workspace.state()?;
        let record = trust::record_path(workspace);
        let name = Path::new(&record).file_stem().unwrap_or_default();
        let home = state.join("protected").join(name);
        let vital = [
            state.join("protected/key"),
            home.join("record"),
            state.join(&record),
        ];
        let vital: Vec<PathBuf> = vital
            .into_iter()
            .chain(more.map(|name| state.join(name)))
            .collect();
        Some(SecondCopy::of(state).hold(&vital, &home))
    }

    /// Records that `roleos` is about to write this content.
    fn announce(&self, path: &Path, content: Option<&[u8]>, now_ns: u64) -> Result<(), FileError> {
        let announced = Announced {
            path: path.to_string_lossy().into_owned(),
            sha256: content.map(|bytes| hex::encode(crate::digest(bytes))),
            at_ns: now_ns,
        };
        let note = self.announced_dir().join(path_name(path));
        self.seal(&note, &announced, false)
    }

    /// Returns `true` if `roleos` wrote this content at or after `since_ns`.
    pub fn is_announced(&self, path: &Path, sha256: Option<&str>, since_ns: u64) -> bool {
        let file = self.announced_dir().join(path_name(path));
        let Ok(Some(announced)) = self.unseal::<Announced>(&file) else {
            return false;
        };
        let is_same = announced.sha256.as_deref() == sha256;
        is_same && announced.at_ns >= since_ns && Path::new(&announced.path) == path
    }

    fn announced_dir(&self) -> PathBuf {
        self.shared.join("announced")
    }

    /// Returns the second copy of the store.
    #[must_use]
    pub fn copy(&self) -> &SecondCopy {
        &self.copy
    }

    /// Returns `true` if the trust store, or its copy, contains anything written by this module.
    #[must_use]
    pub fn has_key(state: &Path) -> bool {
        let key = state.join("protected/key");
        key.exists() || SecondCopy::of(state).is_lost(&key)
    }

    /// Restores a file from its copy, if `roleos` wrote it.
    pub fn recover(&self, path: &Path) -> bool {
        let copy = self.copy.path(path);
        let bytes = copy.and_then(|copy| files::read(&copy, MAX_RECORD).ok());
        let is_ours = |bytes: &Vec<u8>| self.body(path, bytes).is_some();
        bytes
            .filter(is_ours)
            .is_some_and(|bytes| files::write(path, &bytes, Privacy::Secret).is_ok())
    }

    /// Returns the content after the keyed hash, if the hash is correct.
    fn body<'b>(&self, path: &Path, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let (mac, rest) = bytes.split_at_checked(64)?;
        let body = rest.strip_prefix(b"\n")?;
        (self.mac(path, body).as_bytes() == mac).then_some(body)
    }

    /// Returns a folder of this workspace.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Serialises a value for a file, with its keyed hash in front.
    pub fn sealed<T: Serialize>(&self, path: &Path, value: &T) -> Result<Vec<u8>, FileError> {
        let body = serde_json::to_vec(value)
            .map_err(|error| FileError::new(Action::Write, path, error.into()))?;
        let mut bytes = self.mac(path, &body).into_bytes();
        bytes.push(b'\n');
        bytes.extend(body);
        Ok(bytes)
    }

    pub fn seal<T: Serialize>(
        &self,
        path: &Path,
        value: &T,
        durable: bool,
    ) -> Result<(), FileError> {
        let bytes = self.sealed(path, value)?;
        match durable {
            true => {
                files::write(path, &bytes, Privacy::Secret)?;
                self.copy.keep(path, &bytes);
                Ok(())
            }
            false => files::write_plainly(path, &bytes),
        }
    }

    /// Reads such a file; `None` if it is missing.
    pub fn unseal<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, FileError> {
        let bytes = match self.copy.read(path, MAX_RECORD) {
            Ok(bytes) => bytes,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = || {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it was not written by roleos");
            FileError::new(Action::Read, path, source)
        };
        let body = self.body(path, &bytes).ok_or_else(damaged)?;
        let value = serde_json::from_slice(body);
        value.map(Some).map_err(|_| damaged())
    }

    /// Computes the keyed hash. It covers the name of the file, so that one file cannot replace another.
    pub(crate) fn mac(&self, path: &Path, body: &[u8]) -> String {
        let mut bytes = path.to_string_lossy().into_owned().into_bytes();
        bytes.push(0);
        bytes.extend_from_slice(body);
        keyed_hash(&self.key, &bytes).0
    }
}

/// Records that `roleos` is about to write this content, or to remove the file, so that the change is not reverted.
///
/// # Errors
/// The trust store cannot be written.
pub fn announce(
    state: Option<&Path>,
    path: &Path,
    content: Option<&[u8]>,
) -> Result<(), FileError> {
    let Some(state) = state else {
        return Ok(());
    };
    let store = SealedFiles::at(state, "")?;
    let now_ns = crate::clock::now_ns();
    store.announce(path, content, now_ns)?;
    match fs::canonicalize(path) {
        Ok(real) if real != path => store.announce(&real, content, now_ns),
        _ => Ok(()),
    }
}

fn path_name(path: &Path) -> String {
    short(path.as_os_str().as_encoded_bytes())
}

/// Returns a file name for any bytes.
pub fn short(bytes: &[u8]) -> String {
    let name = hex::encode(crate::digest(bytes));
    name.get(..32).unwrap_or(&name).to_owned()
}

/// Reads the key of the store, created if missing.
fn key(state: &Path, shared: &Path) -> Result<Vec<u8>, FileError> {
    let path = shared.join("key");
    let missing = |error: &FileError| error.source.kind() == io::ErrorKind::NotFound;
    let copy = SecondCopy::of(state);
    let mut read = copy.read(&path, 64);
    if read.as_ref().is_ok_and(|key| key.len() < KEY_LENGTH)
        && copy.path(&path).is_some_and(|copy| copy.is_file())
    {
        // It was truncated.
        fs::remove_file(&path).ok();
        read = copy.read(&path, 64);
    }
    match read {
        Err(error) if missing(&error) => {}
        read => return read,
    }
    files::make_directory(state, Privacy::Secret)?;
    files::make_directory(shared, Privacy::Secret)?;
    let _alone = Lock::take(&shared.join(".lock"))?;
    match files::read(&path, 64) {
        Err(error) if missing(&error) => {}
        read => return read,
    }
    let mut secret = vec![0; KEY_LENGTH];
    getrandom::fill(&mut secret)
        .map_err(|error| FileError::new(Action::Write, &path, io::Error::other(error)))?;
    files::write(&path, &secret, Privacy::Secret)?;
    copy.keep(&path, &secret);
    Ok(secret)
}
