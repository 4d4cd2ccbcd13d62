//! What is known of the protected files of one workspace, in the user's trust store: how they were, copies of them, the
//! calls that are running, and what was undone.
//!
//! The record carries a keyed hash, so that a file that an archive or a copy brings into the store is not believed. The
//! key lies beside it: a program of the same user can read it, as it can read everything else here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::content::{Content, MAX_FILE};
use super::list::Kind;
use crate::files::{self, Action, FileError, Lock, Privacy};
use crate::journal::record::Process;
use crate::keyed_hash;
use crate::trust;
use crate::workspace::Workspace;

/// Longest record that is read.
const MAX_RECORD: u64 = 4 * 1024 * 1024;
/// How many undone changes are remembered.
const MAX_UNDONE: usize = 50;
/// Calls that are looked at.
const MAX_CALLS: usize = 256;
/// How long a call counts as running when its agent's process is not known.
const CALL_NS: u64 = 600_000_000_000;

/// How the protected files of a workspace were when they were last looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) root: String,
    pub(super) files: BTreeMap<String, Entry>,
    #[serde(default)]
    pub(super) undone: Vec<Undone>,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<String>,
    /// Set for paths that were found, and are not among the fixed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<Kind>,
}

/// A change that was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// Names it.
    pub id: String,
    /// When.
    pub at: String,
    /// The session in which it was noticed.
    pub session: String,
    /// The file.
    pub path: String,
    /// Where the changed content is kept; `None` where there was none, or it could not be kept.
    pub kept: Option<String>,
    /// Its permissions.
    pub mode: u32,
    /// Whether a later session was told.
    pub told: bool,
}

/// A tool call that was let through and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) session: String,
    pub(super) tool: String,
    /// The command of a shell.
    pub(super) command: String,
    /// The question that a person answers before it runs; empty when there is none.
    pub(super) question: String,
    pub(super) at_ns: u64,
    pub(super) process: Option<Process>,
}

/// Content that `roleos` is about to write.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    path: String,
    /// `None` for a file that is removed.
    sha256: Option<String>,
    at_ns: u64,
}

/// The folder of one workspace in the trust store.
#[derive(Debug)]
pub(super) struct Store {
    shared: PathBuf,
    home: PathBuf,
    key: Vec<u8>,
}

impl Store {
    /// Opens the store of this workspace, made when missing. `None` where the user has no trust store.
    pub(super) fn open(workspace: &Workspace) -> Result<Option<Self>, FileError> {
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
            shared,
        })
    }

    /// Keeps other processes from changing the record.
    pub(super) fn lock(&self) -> Result<Lock, FileError> {
        files::make_directory(&self.home, Privacy::Secret)?;
        Lock::take(&self.home.join(".lock"))
    }

    /// Reads the record; a missing one is `None`.
    pub(super) fn read(&self) -> Result<Option<Record>, FileError> {
        self.unseal(&self.home.join("record"))
    }

    /// Writes the record, and removes copies that it does not need.
    pub(super) fn write(&self, record: &mut Record) -> Result<(), FileError> {
        let surplus = record.undone.len().saturating_sub(MAX_UNDONE);
        for old in record.undone.drain(..surplus) {
            old.kept.map(fs::remove_file);
        }
        self.seal(&self.home.join("record"), record, true)?;
        let needed = record.files.values().filter_map(|one| one.content.sha256());
        let needed: BTreeSet<&str> = needed.collect();
        for entry in fs::read_dir(self.copies()).into_iter().flatten().flatten() {
            if !needed.contains(entry.file_name().to_string_lossy().as_ref()) {
                // The next write tries again.
                fs::remove_file(entry.path()).ok();
            }
        }
        Ok(())
    }

    fn copies(&self) -> PathBuf {
        self.home.join("copies")
    }

    /// Keeps a copy of a protected file.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.copies().join(hex::encode(crate::digest(bytes)));
        if path.exists() {
            return Ok(());
        }
        files::make_directory(&self.copies(), Privacy::Secret)?;
        files::write(&path, bytes, Privacy::Secret)
    }

    /// Returns the copy with this hash.
    pub(super) fn copy(&self, sha256: &str) -> Result<Vec<u8>, FileError> {
        let path = self.copies().join(sha256);
        let bytes = files::read(&path, MAX_FILE)?;
        if hex::encode(crate::digest(&bytes)) == sha256 {
            return Ok(bytes);
        }
        let source = io::Error::new(io::ErrorKind::InvalidData, "the copy was changed");
        Err(FileError::new(Action::Read, &path, source))
    }

    /// Keeps what stood in the place of a protected file, and returns where.
    pub(super) fn set_aside(&self, id: &str, path: &Path, bytes: &[u8]) -> Option<String> {
        let folder = self.home.join("undone");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kept = folder.join(format!("{id}-{name}"));
        files::make_directory(&folder, Privacy::Secret).ok()?;
        files::write(&kept, bytes, Privacy::Secret).ok()?;
        Some(kept.to_string_lossy().into_owned())
    }

    /// Notes that a call was let through. It survives the end of this process, and need not survive more.
    pub(super) fn begin(&self, call_id: &str, call: &Running) -> Result<(), FileError> {
        let folder = self.calls_dir();
        let bytes = serde_json::to_vec(call).unwrap_or_default();
        let path = folder.join(call_name(&call.session, call_id, &call.tool));
        files::write_plainly(&path, &bytes).or_else(|_| {
            files::make_directory(&folder, Privacy::Secret)?;
            files::write_plainly(&path, &bytes)
        })
    }

    /// Forgets a call that has ended.
    pub(super) fn end(&self, session: &str, call_id: &str, tool: &str) {
        // It may never have begun.
        fs::remove_file(self.calls_dir().join(call_name(session, call_id, tool))).ok();
    }

    /// Forgets all calls of a session.
    pub(super) fn end_all(&self, session: &str) {
        for path in self.call_files() {
            if read_call(&path).is_none_or(|call| call.session == session) {
                fs::remove_file(path).ok();
            }
        }
    }

    /// Returns the calls that are running in any session of this workspace, and forgets those whose agent is gone.
    pub(super) fn calls(&self, now_ns: u64) -> Vec<Running> {
        let mut running = Vec::new();
        for path in self.call_files() {
            match read_call(&path).filter(|call| call.is_running(now_ns)) {
                Some(call) => running.push(call),
                None => {
                    fs::remove_file(path).ok();
                }
            }
        }
        running
    }

    fn calls_dir(&self) -> PathBuf {
        self.home.join("calls")
    }

    fn call_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.calls_dir()).into_iter().flatten();
        let entries = entries.flatten().take(MAX_CALLS);
        entries.map(|entry| entry.path()).collect()
    }

    /// Notes that `roleos` is about to write this content.
    fn announce(&self, path: &Path, content: Option<&[u8]>, now_ns: u64) -> Result<(), FileError> {
        let folder = self.announced_dir();
        files::make_directory(&folder, Privacy::Secret)?;
        let announced = Announced {
            path: path.to_string_lossy().into_owned(),
            sha256: content.map(|bytes| hex::encode(crate::digest(bytes))),
            at_ns: now_ns,
        };
        self.seal(&folder.join(path_name(path)), &announced, false)
    }

    /// Returns `true` if `roleos` wrote this content at or after `since_ns`.
    pub(super) fn is_announced(&self, path: &Path, content: &Content, since_ns: u64) -> bool {
        let file = self.announced_dir().join(path_name(path));
        let Ok(Some(announced)) = self.unseal::<Announced>(&file) else {
            return false;
        };
        let is_same = match content {
            Content::Absent => announced.sha256.is_none(),
            Content::File { sha256, .. } => announced.sha256.as_ref() == Some(sha256),
            _ => false,
        };
        is_same && announced.at_ns >= since_ns && Path::new(&announced.path) == path
    }

    fn announced_dir(&self) -> PathBuf {
        self.shared.join("announced")
    }

    /// Returns a folder of this workspace.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Returns a value as the bytes of a file, with its keyed hash in front.
    pub(super) fn sealed<T: Serialize>(
        &self,
        path: &Path,
        value: &T,
    ) -> Result<Vec<u8>, FileError> {
        let body = serde_json::to_vec(value)
            .map_err(|error| FileError::new(Action::Write, path, error.into()))?;
        let mut bytes = self.mac(path, &body).into_bytes();
        bytes.push(b'\n');
        bytes.extend(body);
        Ok(bytes)
    }

    fn seal<T: Serialize>(&self, path: &Path, value: &T, durable: bool) -> Result<(), FileError> {
        let bytes = self.sealed(path, value)?;
        match durable {
            true => files::write(path, &bytes, Privacy::Secret),
            false => files::write_plainly(path, &bytes),
        }
    }

    /// Reads such a file; a missing one is `None`.
    pub(super) fn unseal<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, FileError> {
        let bytes = match files::read(path, MAX_RECORD) {
            Ok(bytes) => bytes,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = || {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it was not written by roleos");
            FileError::new(Action::Read, path, source)
        };
        let (mac, rest) = bytes.split_at_checked(64).ok_or_else(damaged)?;
        let body = rest.strip_prefix(b"\n").ok_or_else(damaged)?;
        if self.mac(path, body).as_bytes() != mac {
            return Err(damaged());
        }
        let value = serde_json::from_slice(body);
        value.map(Some).map_err(|_| damaged())
    }

    /// The name of the file is covered, so that one file cannot stand for another.
    fn mac(&self, path: &Path, body: &[u8]) -> String {
        let mut bytes = path.to_string_lossy().into_owned().into_bytes();
        bytes.push(0);
        bytes.extend_from_slice(body);
        keyed_hash(&self.key, &bytes).0
    }
}

impl Running {
    fn is_running(&self, now_ns: u64) -> bool {
        match self.process {
            Some(process) => crate::sealing::liveness::is_alive(process),
            None => now_ns.saturating_sub(self.at_ns) < CALL_NS,
        }
    }
}

/// Notes that `roleos` is about to write this content, or to remove the file, so that the change is not taken back.
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
    let store = Store::at(state, "")?;
    let now_ns = crate::clock::now_ns();
    store.announce(path, content, now_ns)?;
    match fs::canonicalize(path) {
        Ok(real) if real != path => store.announce(&real, content, now_ns),
        _ => Ok(()),
    }
}

fn read_call(path: &Path) -> Option<Running> {
    let bytes = files::read(path, MAX_FILE).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn call_name(session: &str, call_id: &str, tool: &str) -> String {
    let id = match call_id {
        "" => tool,
        id => id,
    };
    short(format!("{session}\0{id}").as_bytes())
}

fn path_name(path: &Path) -> String {
    short(path.as_os_str().as_encoded_bytes())
}

fn short(bytes: &[u8]) -> String {
    let name = hex::encode(crate::digest(bytes));
    name.get(..32).unwrap_or(&name).to_owned()
}

/// Reads the key of the store, made when missing.
fn key(state: &Path, shared: &Path) -> Result<Vec<u8>, FileError> {
    let path = shared.join("key");
    let missing = |error: &FileError| error.source.kind() == io::ErrorKind::NotFound;
    match files::read(&path, 64) {
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
    let mut secret = vec![0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| FileError::new(Action::Write, &path, io::Error::other(error)))?;
    files::write(&path, &secret, Privacy::Secret)?;
    Ok(secret)
}
