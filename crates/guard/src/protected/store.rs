//! The state of one workspace's protected files in the user's trust store: their recorded contents, copies of them,
//! running calls, and reverted changes.
//!
//! The record carries a keyed hash, so that a file that an archive or a copy brings into the store is not trusted. The
//! key lies beside it: a program of the same user can read it, as it can read everything else here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::content::{Content, MAX_FILE};
use super::list::Kind;
use super::refs::Refs;
use base::files::{self, Action, FileError, Lock, Privacy};
use base::liveness::Process;
use base::sealed_files::{SealedFiles, short};
use base::second_copy::SecondCopy;
use base::workspace::Workspace;

/// Most reverted changes that are stored.
const MAX_UNDONE: usize = 50;
/// Most calls that are read.
const MAX_CALLS: usize = 256;
/// Time that a call counts as running if its agent's process is unknown.
const CALL_NS: u64 = 600_000_000_000;

/// The protected files of a workspace at the last check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) root: String,
    pub(super) files: BTreeMap<String, Entry>,
    #[serde(default)]
    pub(super) undone: Vec<Undone>,
    /// Set if the gate was on, or a mode was in force, at the last check.
    #[serde(default)]
    pub(super) is_guarded: bool,
    /// The snapshots of sessions in the workspace's repository.
    #[serde(default)]
    pub(super) refs: Refs,
}

/// A recorded path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<String>,
    /// Set for paths that were found by a search, and are not fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<Kind>,
}

/// A reverted change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    pub id: String,
    /// Its time.
    pub at: String,
    /// The session in which it was noticed.
    pub session: String,
    /// The file.
    pub path: String,
    /// Path of the saved content; `None` if there was none, or it could not be kept.
    pub kept: Option<String>,
    /// Its permissions.
    pub mode: u32,
    /// Set if it was reported to a later session.
    pub told: bool,
}

/// An allowed tool call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) session: String,
    pub(super) tool: String,
    /// The command of a shell.
    pub(super) command: String,
    /// The question to a person before it runs; empty if there is none.
    pub(super) question: String,
    pub(super) at_ns: u64,
    pub(super) process: Option<Process>,
}

/// The folder of one workspace in the trust store.
#[derive(Debug)]
pub(super) struct Store {
    sealed: SealedFiles,
}

impl Store {
    /// Opens the store of this workspace, creates it if missing. Returns `None` if the user has no trust store.
    pub(super) fn open(workspace: &Workspace) -> Result<Option<Self>, FileError> {
        let sealed = SealedFiles::open(workspace)?;
        Ok(sealed.map(|sealed| Self { sealed }))
    }

    /// Opens the store of this workspace if the user's trust store, or its copy, has been written.
    pub(super) fn existing(workspace: &Workspace) -> Result<Option<Self>, FileError> {
        match workspace.state().is_some_and(SealedFiles::has_key) {
            true => Self::open(workspace),
            false => Ok(None),
        }
    }

    /// Returns `true` if the record is missing, and the next reader will restore its copy.
    pub(super) fn is_lost(workspace: &Workspace) -> bool {
        let Some(state) = workspace.state() else {
            return false;
        };
        let copy = SecondCopy::of(state);
        let record = base::trust::record_path(workspace);
        let name = Path::new(&record).file_stem().unwrap_or_default();
        let files = state.join("protected").join(name).join("record");
        let key = state.join("protected/key");
        [key, files, state.join(record)]
            .iter()
            .any(|path| copy.is_lost(path))
    }

    /// Returns `true` if `roleos` wrote this content at or after `since_ns`.
    pub(super) fn is_announced(&self, path: &Path, content: &Content, since_ns: u64) -> bool {
        match content {
            Content::Absent => self.sealed.is_announced(path, None, since_ns),
            Content::File { sha256, .. } => self.sealed.is_announced(path, Some(sha256), since_ns),
            _ => false,
        }
    }

    /// Locks the record against other processes.
    pub(super) fn lock(&self) -> Result<Lock, FileError> {
        files::make_directory(&self.sealed.folder(""), Privacy::Secret)?;
        Lock::take(&self.sealed.folder(".lock"))
    }

    /// Reads the record; a missing one is `None`.
    pub(super) fn read(&self) -> Result<Option<Record>, FileError> {
        self.sealed.unseal(&self.sealed.folder("record"))
    }

    /// Restores a damaged record from its copy. Returns `false` if that is damaged as well.
    pub(super) fn recover(&self) -> bool {
        let record = self.sealed.folder("record");
        self.sealed.recover(&record) && self.read().is_ok()
    }

    /// Returns the error of a missing record that must exist.
    pub(super) fn missing(&self) -> FileError {
        let why = "it is gone, although this workspace was initialised; after a look at the files `roleos trust` accepts them";
        let source = io::Error::new(io::ErrorKind::NotFound, why);
        FileError::new(Action::Read, &self.sealed.folder("record"), source)
    }

    /// Writes the record, and removes unused copies.
    pub(super) fn write(&self, record: &mut Record) -> Result<(), FileError> {
        let surplus = record.undone.len().saturating_sub(MAX_UNDONE);
        for old in record.undone.drain(..surplus) {
            old.kept.map(fs::remove_file);
        }
        self.sealed
            .seal(&self.sealed.folder("record"), record, true)?;
        let needed = record.files.values().filter_map(|one| one.content.sha256());
        let needed: BTreeSet<&str> = needed.collect();
        for entry in fs::read_dir(self.copies()).into_iter().flatten().flatten() {
            if !needed.contains(entry.file_name().to_string_lossy().as_ref()) {
                // The next write tries again.
                self.sealed.copy().remove(&entry.path());
                fs::remove_file(entry.path()).ok();
            }
        }
        Ok(())
    }

    fn copies(&self) -> PathBuf {
        self.sealed.folder("copies")
    }

    /// Stores a copy of a protected file.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.copies().join(hex::encode(base::digest(bytes)));
        if path.exists() {
            return Ok(());
        }
        files::make_directory(&self.copies(), Privacy::Secret)?;
        files::write(&path, bytes, Privacy::Secret)?;
        self.sealed.copy().keep(&path, bytes);
        Ok(())
    }

    /// Returns the copy with this hash.
    pub(super) fn copy(&self, sha256: &str) -> Result<Vec<u8>, FileError> {
        let path = self.copies().join(sha256);
        let bytes = self.sealed.copy().read(&path, MAX_FILE)?;
        if hex::encode(base::digest(&bytes)) == sha256 {
            return Ok(bytes);
        }
        let source = io::Error::new(io::ErrorKind::InvalidData, "the copy was changed");
        Err(FileError::new(Action::Read, &path, source))
    }

    /// Saves the content of a changed protected file, and returns its path.
    pub(super) fn set_aside(&self, id: &str, path: &Path, bytes: &[u8]) -> Option<String> {
        let folder = self.sealed.folder("undone");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kept = folder.join(format!("{id}-{name}"));
        files::make_directory(&folder, Privacy::Secret).ok()?;
        files::write(&kept, bytes, Privacy::Secret).ok()?;
        Some(kept.to_string_lossy().into_owned())
    }

    /// Records that a call was allowed. The record survives this process, and need not survive more.
    pub(super) fn begin(&self, call_id: &str, call: &Running) -> Result<(), FileError> {
        let bytes = serde_json::to_vec(call).unwrap_or_default();
        let name = call_name(&call.session, call_id, &call.tool);
        files::write_plainly(&self.calls_dir().join(name), &bytes)
    }

    /// Forgets a call that has ended.
    pub(super) fn end(&self, session: &str, call_id: &str, tool: &str) {
        // It may not have begun.
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

    /// Returns the running calls of all sessions of this workspace, and forgets those whose agent is gone.
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
        self.sealed.folder("calls")
    }

    fn call_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.calls_dir()).into_iter().flatten();
        let entries = entries.flatten().take(MAX_CALLS);
        entries.map(|entry| entry.path()).collect()
    }
}

impl Running {
    fn is_running(&self, now_ns: u64) -> bool {
        match self.process {
            Some(process) => base::liveness::is_alive(process),
            None => now_ns.saturating_sub(self.at_ns) < CALL_NS,
        }
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
