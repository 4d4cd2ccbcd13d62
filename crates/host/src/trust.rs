//! Records and checks which files of a workspace the user confirmed.
//!
//! In a workspace that the user initialised, a file that weakens the gate, runs a program or redirects traffic counts
//! only when `roleos` wrote it for the user or the user ran `roleos trust` for exactly this content. Whether git tracks it
//! does not matter there. In a workspace that was never initialised, a file that git does not track counts.
//!
//! The record lies in the [`TrustStore`], one file per workspace. Confirmations of grants and settings carry a signature
//! of the approval key, so that with a passphrase or a system key they cannot be forged by a program of the same user.

pub mod review;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

use crate::approval_key;
use crate::clock;
use crate::files::{self, FileError};
use crate::install::record::Installed;
use crate::receipts::Mark;
use crate::repository::index;
use crate::trust_store::TrustStore;
use crate::workspace::Workspace;

/// Precedes every signed message, so that a signature can mean nothing else.
const CONTEXT: &[u8] = b"roleos confirmed file ed25519 v1\n";
/// Longest content that is kept in the record, for showing the difference later.
const MAX_KEPT: usize = 64 * 1024;

/// What the user confirmed of one workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    root: String,
    device: u64,
    inode: u64,
    /// When `roleos init` ran here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initialised: Option<String>,
    /// The public half of the approval key, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval_key: Option<String>,
    /// Ids of the keys that sign or verify evidence.
    #[serde(default)]
    keys: Vec<String>,
    /// By path: the confirmed content and, while it is being replaced, the next one.
    #[serde(default)]
    files: BTreeMap<String, Vec<Confirmation>>,
    /// Whether the user was told that the workspace is not initialised.
    #[serde(default)]
    told: bool,
}

/// One content of one file that the user confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Confirmation {
    mark: Mark,
    at: String,
    /// The command that confirmed it.
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    /// The content itself where it is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Whether a file counts, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// The user wrote or confirmed it.
    Own,
    /// Something else may have written it.
    Unconfirmed(Doubt),
}

/// Why a file does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The workspace is not initialised, and git tracks the file.
    Tracked,
    /// This content was not written by `roleos`.
    NotConfirmed,
    /// The file was confirmed with another content.
    Changed,
    /// The confirmation has no valid signature of the approval key.
    NotSigned,
    /// The workspace is not the one that the user initialised.
    Moved,
    /// The trust store cannot be read.
    Unreadable,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tracked => "it came with the repository: git tracks it",
            Self::NotConfirmed => "it was not written by `roleos` and not confirmed",
            Self::Changed => "it was changed outside of `roleos`",
            Self::NotSigned => "its confirmation is not signed by the approval key",
            Self::Moved => "the workspace was moved or replaced since `roleos init`",
            Self::Unreadable => "the trust store cannot be read",
        })
    }
}

/// How a confirmation of a file is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `config.toml`: needs a signature.
    Settings,
    /// `capabilities.json`: needs a signature; the number of uses left is compared apart.
    Grants,
    /// Any other file: the entry in the store is enough.
    Plain,
}

impl Kind {
    fn mark(self, content: &[u8]) -> Mark {
        match self {
            Self::Grants => crate::pins::grants_mark_of(content),
            Self::Settings | Self::Plain => crate::pins::content_mark(content),
        }
    }

    fn needs_signature(self) -> bool {
        self != Self::Plain
    }
}

/// What the trust store says about one workspace.
#[derive(Clone, Debug)]
pub struct Trust<'a> {
    workspace: &'a Workspace,
    /// `Err` where the store cannot be read.
    record: Result<Option<Record>, ()>,
    installed: bool,
}

impl<'a> Trust<'a> {
    /// Reads the record of the workspace.
    #[must_use]
    pub fn of(workspace: &'a Workspace) -> Self {
        let store = workspace.state().map(TrustStore::at);
        let record = store.map_or(Ok(None), |store| {
            store.read(&record_name(workspace)).map_err(|_| ())
        });
        Self {
            workspace,
            record,
            installed: Installed::exists(workspace),
        }
    }

    /// Returns `true` if the user ran `roleos init` here, or if that cannot be excluded.
    #[must_use]
    pub fn is_initialised(&self) -> bool {
        let recorded = match &self.record {
            Ok(record) => record
                .as_ref()
                .is_some_and(|record| record.initialised.is_some()),
            Err(()) => true,
        };
        recorded || self.installed
    }

    /// Returns the record if it is of this very folder. Devices may be numbered otherwise after a restart.
    fn record(&self) -> Result<&Record, Doubt> {
        let record = match &self.record {
            Ok(Some(record)) => record,
            Ok(None) => return Err(Doubt::NotConfirmed),
            Err(()) => return Err(Doubt::Unreadable),
        };
        let (_, inode) = place(self.workspace.root());
        if record.inode == inode {
            Ok(record)
        } else {
            Err(Doubt::Moved)
        }
    }

    /// Decides whether the file at `path` with this content counts.
    #[must_use]
    pub fn belief(&self, path: &Path, content: &[u8], kind: Kind) -> Belief {
        match self.confirmed(path, content, kind) {
            Ok(()) => Belief::Own,
            Err(doubt) if self.is_initialised() => Belief::Unconfirmed(doubt),
            Err(_) if index::is_tracked(path) => Belief::Unconfirmed(Doubt::Tracked),
            Err(_) => Belief::Own,
        }
    }

    /// Checks that the user confirmed exactly this content.
    ///
    /// # Errors
    /// Why there is no such confirmation.
    pub fn confirmed(&self, path: &Path, content: &[u8], kind: Kind) -> Result<(), Doubt> {
        let key = self.key(path);
        let all = self.record()?.files.get(&key).ok_or(Doubt::NotConfirmed)?;
        let mark = kind.mark(content);
        let mut fitting = all.iter().filter(|one| covers(&one.mark, &mark)).peekable();
        if fitting.peek().is_none() {
            return Err(Doubt::Changed);
        }
        let signer = self.signer();
        let is_valid = |one: &Confirmation| {
            !kind.needs_signature()
                || signer.is_some_and(|signer| one.is_signed_by(&signer, &self.scope(&key)))
        };
        if fitting.any(is_valid) {
            Ok(())
        } else {
            Err(Doubt::NotSigned)
        }
    }

    /// Returns the last confirmed content of a file, where it was short enough to be kept and is validly signed.
    #[must_use]
    pub fn confirmed_text(&self, path: &Path, kind: Kind) -> Option<String> {
        let all = self.record().ok()?.files.get(&self.key(path))?;
        let texts = all.iter().rev().filter_map(|one| one.text.as_ref());
        let mut valid = texts.filter(|text| self.confirmed(path, text.as_bytes(), kind).is_ok());
        valid.next().cloned()
    }

    /// Returns the key whose signatures count: the machine's, else the one that was recorded.
    fn signer(&self) -> Option<PublicKey> {
        if let Some(machine) = approval_key::Place::of_machine() {
            return machine.verifying_key().ok().flatten();
        }
        let recorded = self.record().ok()?.approval_key.as_ref()?;
        let bytes: [u8; 32] = hex::decode(recorded).ok()?.try_into().ok()?;
        PublicKey::parse(&bytes)
    }

    /// Checks the workspace's approval key.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn check_approval_key(&self, public: &PublicKey, path: &Path) -> Result<(), Doubt> {
        let known = self.record().map(|record| &record.approval_key);
        match known {
            Ok(Some(known)) if *known == hex::encode(public.to_bytes()) => Ok(()),
            Ok(Some(_)) => Err(Doubt::Changed),
            Ok(None) | Err(_) if !self.is_initialised() && !index::is_tracked(path) => Ok(()),
            Ok(None) => Err(Doubt::NotConfirmed),
            Err(doubt) => Err(doubt),
        }
    }

    /// Checks a key that signs or verifies evidence.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn check_key(&self, id: &str, path: &Path) -> Result<(), Doubt> {
        match self.record() {
            Ok(record) if record.keys.iter().any(|known| known == id) => Ok(()),
            _ if !self.is_initialised() && !index::is_tracked(path) => Ok(()),
            Ok(_) => Err(Doubt::NotConfirmed),
            Err(doubt) => Err(doubt),
        }
    }

    /// The name of a file in the record.
    fn key(&self, path: &Path) -> String {
        let folder = files::parent(path);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let path = path
            .file_name()
            .map_or_else(|| folder.clone(), |name| folder.join(name));
        let shown = path.strip_prefix(self.workspace.root()).unwrap_or(&path);
        shown.to_string_lossy().into_owned()
    }

    /// What a signature covers beside the content: this workspace and this file.
    fn scope(&self, key: &str) -> String {
        format!("{}\0{key}", self.workspace.root().display())
    }
}

/// Records that the user initialised this workspace.
///
/// # Errors
/// The trust store cannot be written.
pub fn initialise(workspace: &Workspace) -> Result<(), FileError> {
    update(workspace, |record| {
        record.initialised = Some(clock::text(clock::now_ns()));
    })
}

/// Records that hooks were taken out; what the user confirmed stays.
///
/// # Errors
/// The trust store cannot be written.
pub fn uninitialise(workspace: &Workspace) -> Result<(), FileError> {
    update(workspace, |record| record.initialised = None)
}

/// Returns `true` the first time that it is called for a workspace.
#[must_use]
pub fn tell_once(workspace: &Workspace) -> bool {
    let mut first = false;
    let recorded = update(workspace, |record| {
        first = !record.told;
        record.told = true;
    });
    recorded.is_ok() && first
}

/// Confirms this content of a file, in the place of every earlier one.
///
/// # Errors
/// The trust store cannot be written.
pub fn confirm(
    workspace: &Workspace,
    path: &Path,
    content: &[u8],
    kind: Kind,
    by: &Confirming<'_>,
) -> Result<(), FileError> {
    let (key, confirmation) = by.sign(workspace, path, content, kind);
    update(workspace, |record| {
        record.files.insert(key, vec![confirmation]);
    })
}

/// Confirms this content beside the present one, before the file is replaced. [`confirm`] settles it afterwards.
///
/// # Errors
/// The trust store cannot be written.
pub fn confirm_next(
    workspace: &Workspace,
    path: &Path,
    content: &[u8],
    kind: Kind,
    by: &Confirming<'_>,
) -> Result<(), FileError> {
    let (key, confirmation) = by.sign(workspace, path, content, kind);
    let present = files::read(path, MAX_KEPT as u64).unwrap_or_default();
    let present = kind.mark(&present);
    update(workspace, |record| {
        let all = record.files.entry(key).or_default();
        // Of several that a crash left, only the one that is there stays.
        all.retain(|one| covers(&one.mark, &present));
        all.push(confirmation);
    })
}

/// Notes that fewer uses are left of the grants in the file at `path`.
///
/// # Errors
/// The trust store cannot be written.
pub fn note_uses(
    workspace: &Workspace,
    path: &Path,
    left: &[(String, u64)],
) -> Result<(), FileError> {
    let key = Trust::of(workspace).key(path);
    update(workspace, |record| {
        for one in record.files.get_mut(&key).into_iter().flatten() {
            for (action, left) in left {
                if let Some(known) = one.mark.uses.get_mut(action) {
                    *known = (*known).min(*left);
                }
            }
        }
    })
}

/// Records a new approval key; with the old one in hand, what that had signed is signed again.
///
/// # Errors
/// The trust store cannot be written.
pub fn record_approval_key(
    workspace: &Workspace,
    new: &SigningKey,
    old: Option<&SigningKey>,
) -> Result<(), FileError> {
    let root = workspace.root().display().to_string();
    update(workspace, |record| {
        record.approval_key = Some(hex::encode(new.public().to_bytes()));
        let Some(old) = old.map(SigningKey::public) else {
            return;
        };
        for (key, all) in &mut record.files {
            let scope = format!("{root}\0{key}");
            for one in all.iter_mut().filter(|one| one.is_signed_by(&old, &scope)) {
                one.signature = Some(hex::encode(new.sign(&one.message(&scope))));
            }
        }
    })
}

/// Records an approval key that the user confirmed.
///
/// # Errors
/// The trust store cannot be written.
pub fn adopt_approval_key(workspace: &Workspace, public: &PublicKey) -> Result<(), FileError> {
    update(workspace, |record| {
        record.approval_key = Some(hex::encode(public.to_bytes()));
    })
}

/// Records keys of evidence that were made here or that the user confirmed.
///
/// # Errors
/// The trust store cannot be written.
pub fn record_keys(workspace: &Workspace, ids: &[String]) -> Result<(), FileError> {
    update(workspace, |record| {
        let new = ids.iter().filter(|id| !record.keys.contains(id)).cloned();
        let new: Vec<String> = new.collect();
        record.keys.extend(new);
    })
}

/// Who confirms: the command, and the key that signs where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Confirming<'a> {
    /// The command, for people: `grant git:push`.
    pub what: &'a str,
    /// The approval key.
    pub key: Option<&'a SigningKey>,
}

impl Confirming<'_> {
    fn sign(
        &self,
        workspace: &Workspace,
        path: &Path,
        content: &[u8],
        kind: Kind,
    ) -> (String, Confirmation) {
        let trust = Trust::of(workspace);
        let key = trust.key(path);
        let mut confirmation = Confirmation {
            mark: kind.mark(content),
            at: clock::text(clock::now_ns()),
            what: self.what.to_owned(),
            signature: None,
            text: (content.len() <= MAX_KEPT)
                .then(|| String::from_utf8(content.to_vec()).ok())
                .flatten(),
        };
        let message = confirmation.message(&trust.scope(&key));
        confirmation.signature = self.key.map(|key| hex::encode(key.sign(&message)));
        (key, confirmation)
    }
}

impl Confirmation {
    /// The number of uses is not signed: it becomes smaller with every use.
    fn message(&self, scope: &str) -> Vec<u8> {
        let mut message = CONTEXT.to_vec();
        for part in [scope, &self.mark.content, &self.at, &self.what] {
            message.extend_from_slice(part.as_bytes());
            message.push(0);
        }
        message
    }

    fn is_signed_by(&self, key: &PublicKey, scope: &str) -> bool {
        let signature = self
            .signature
            .as_ref()
            .and_then(|hex| hex::decode(hex).ok());
        let signature: Option<[u8; 64]> = signature.and_then(|bytes| bytes.try_into().ok());
        signature.is_some_and(|signature| key.verifies(&self.message(scope), &signature))
    }
}

/// Returns `true` if `now` is the confirmed content with at most as many uses left.
fn covers(confirmed: &Mark, now: &Mark) -> bool {
    let fewer = |(action, left): (&String, &u64)| {
        let known = confirmed.uses.get(action);
        known.is_some_and(|known| left <= known)
    };
    confirmed.content == now.content && now.uses.iter().all(fewer)
}

/// Changes the record. Where the user has no trust store there is nothing to record.
fn update(workspace: &Workspace, change: impl FnOnce(&mut Record)) -> Result<(), FileError> {
    let Some(store) = workspace.state().map(TrustStore::at) else {
        return Ok(());
    };
    let (device, inode) = place(workspace.root());
    store.update(&record_name(workspace), |known: Option<Record>| {
        // Of a folder that is gone, only the strictness passes on to the one that is there now.
        let mut record = match known {
            Some(record) if record.inode == inode => record,
            other => Record {
                initialised: other.and_then(|record| record.initialised),
                ..Record::default()
            },
        };
        record.root = workspace.root().to_string_lossy().into_owned();
        (record.device, record.inode) = (device, inode);
        change(&mut record);
        record
    })
}

fn place(root: &Path) -> (u64, u64) {
    fs::metadata(root).map_or((0, 0), |facts| (facts.dev(), facts.ino()))
}

fn record_name(workspace: &Workspace) -> String {
    let path: PathBuf = workspace.root().to_owned();
    let name = hex::encode(crate::digest(path.as_os_str().as_encoded_bytes()));
    format!("workspaces/{}.json", name.get(..32).unwrap_or(&name))
}

#[cfg(test)]
mod tests;
