//! The record of one workspace in the trust store, and everything that writes it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

use super::{Kind, Trust};
use crate::clock;
use crate::files::{self, FileError};
use crate::receipts::Mark;
use crate::trust_store::TrustStore;
use crate::workspace::Workspace;

/// Prefix of every signed message, so that the signature cannot be used for anything else.
const CONTEXT: &[u8] = b"roleos confirmed file ed25519 v1\n";
/// Longest content that is stored in the record, to show differences later.
const MAX_KEPT: usize = 64 * 1024;
/// Longest file that can be confirmed.
const MAX_PRESENT: u64 = 64 * 1024 * 1024;

/// The user's confirmations for one workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) root: String,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Time when `roleos init` ran here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) initialised: Option<String>,
    /// The public half of the approval key, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval_key: Option<String>,
    /// Ids of the keys that sign or verify evidence.
    #[serde(default)]
    pub(super) keys: Vec<String>,
    /// Confirmed contents by path: the current one and, during a replacement, the next one.
    #[serde(default)]
    pub(super) files: BTreeMap<String, Vec<Confirmation>>,
    /// Roles whose specialists are halted, so that a state and a log without these halts do not lift them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) halts: BTreeMap<String, Halts>,
    /// Set if the user was told that the workspace is not initialised.
    #[serde(default)]
    pub(super) told: bool,
}

/// The halts of a role; an older record has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Halts {
    One(HaltRecord),
    Many(Vec<HaltRecord>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaltRecord {
    /// The halted version; `None` for the whole role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub reason: String,
    /// Start of the halt.
    pub since: String,
}

/// One content of one file that the user confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confirmation {
    pub(super) mark: Mark,
    pub(super) at: String,
    /// The command that confirmed it.
    pub(super) what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<String>,
    /// The content itself, if it is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// Records that the user initialised this workspace.
///
/// # Errors
/// The trust store cannot be written.
pub fn initialise(workspace: &Workspace) -> Result<(), FileError> {
    update(workspace, |record| {
        let now = || clock::text(clock::now_ns());
        record.initialised.get_or_insert_with(now);
    })
}

/// Records that hooks were removed; the user's confirmations stay.
///
/// # Errors
/// The trust store cannot be written.
pub fn uninitialise(workspace: &Workspace) -> Result<(), FileError> {
    update(workspace, |record| record.initialised = None)
}

/// Returns `true` on the first call for a workspace.
#[must_use]
pub fn tell_once(workspace: &Workspace) -> bool {
    let mut first = false;
    let recorded = update(workspace, |record| {
        first = !record.told;
        record.told = true;
    });
    recorded.is_ok() && first
}

/// Confirms this content of a file, in place of every earlier one.
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

/// Confirms this content beside the present one, before the file is replaced. [`confirm`] finishes it afterwards.
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
    let present = match files::read(path, MAX_PRESENT) {
        Ok(bytes) => kind.mark(&bytes),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => kind.mark(b""),
        Err(error) => return Err(error),
    };
    update(workspace, |record| {
        let all = record.files.entry(key).or_default();
        // Of several next contents that a crash left, only the present one stays.
        all.retain(|one| covers(&one.mark, &present));
        all.push(confirmation);
    })
}

/// Records the halts, by role, in place of the earlier ones.
///
/// # Errors
/// The trust store cannot be written.
pub fn record_halts(
    workspace: &Workspace,
    halts: BTreeMap<String, Vec<HaltRecord>>,
) -> Result<(), FileError> {
    if Trust::of(workspace).halts() == halts {
        return Ok(());
    }
    let many = |(role, halts)| (role, Halts::Many(halts));
    update(workspace, |record| {
        record.halts = halts.into_iter().map(many).collect();
    })
}

/// Withdraws every confirmation of a file.
///
/// # Errors
/// The trust store cannot be written.
pub fn forget(workspace: &Workspace, path: &Path) -> Result<(), FileError> {
    let key = Trust::of(workspace).key(path);
    update(workspace, |record| {
        record.files.remove(&key);
    })
}

/// Records that the grants in the file at `path` have fewer remaining uses.
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

/// Records a new approval key; with the old one, its signatures are renewed.
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

/// Records keys of evidence that were created here or that the user confirmed.
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

/// A confirmation's command, and its signing key if there is one.
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
    /// Returns the signed message. The remaining uses are not signed: they decrease with every use.
    pub(super) fn message(&self, scope: &str) -> Vec<u8> {
        let mut message = CONTEXT.to_vec();
        for part in [scope, &self.mark.content, &self.at, &self.what] {
            message.extend_from_slice(part.as_bytes());
            message.push(0);
        }
        message
    }

    pub(super) fn is_signed_by(&self, key: &PublicKey, scope: &str) -> bool {
        let signature = self
            .signature
            .as_ref()
            .and_then(|hex| hex::decode(hex).ok());
        let signature: Option<[u8; 64]> = signature.and_then(|bytes| bytes.try_into().ok());
        signature.is_some_and(|signature| key.verifies(&self.message(scope), &signature))
    }
}

/// Returns `true` if `now` is the confirmed content with at most as many remaining uses.
pub(super) fn covers(confirmed: &Mark, now: &Mark) -> bool {
    let fewer = |(action, left): (&String, &u64)| {
        let known = confirmed.uses.get(action);
        known.is_some_and(|known| left <= known)
    };
    confirmed.content == now.content && now.uses.iter().all(fewer)
}

/// Changes the record. Does nothing if the user has no trust store.
fn update(workspace: &Workspace, change: impl FnOnce(&mut Record)) -> Result<(), FileError> {
    let Some(store) = workspace.state().map(TrustStore::at) else {
        return Ok(());
    };
    let (device, inode) = place(workspace.root());
    store.update(&record_name(workspace), |known: Option<Record>| {
        // If the folder was replaced, only the strictness applies to the new one.
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

pub(super) fn place(root: &Path) -> (u64, u64) {
    fs::metadata(root).map_or((0, 0), |facts| (facts.dev(), facts.ino()))
}

pub(super) fn record_name(workspace: &Workspace) -> String {
    let path = workspace.root().as_os_str();
    let name = hex::encode(crate::digest(path.as_encoded_bytes()));
    format!("workspaces/{}.json", name.get(..32).unwrap_or(&name))
}
