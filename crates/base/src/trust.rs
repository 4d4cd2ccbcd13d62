//! Records and checks the user's confirmations of files in a workspace.
//!
//! In a workspace that the user initialised, a file that weakens the gate, runs a program or redirects traffic counts
//! only if `roleos` wrote it for the user or the user ran `roleos trust` for exactly this content. Whether git tracks
//! it does not matter there. In a workspace that was never initialised, a file that git does not track counts.
//!
//! The record lies in the [`TrustStore`], one file per workspace. Confirmations of grants and settings carry a signature
//! of the approval key, so that with a passphrase or a system key they cannot be forged by a program of the same user.

mod record;
pub mod review;
pub mod suites;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use witness::key::PublicKey;

use crate::approval_key;
use crate::files;
use crate::installed::Installed;
use crate::receipts::Mark;
use crate::repository::index;
use crate::starter;
use crate::trust_store::TrustStore;
use crate::workspace::Workspace;

use self::record::{Confirmation, Halts, Record, covers, place, record_name};
pub use self::record::{
    Confirming, HaltRecord, adopt_approval_key, confirm, confirm_next, forget, initialise,
    note_uses, record_approval_key, record_halts, record_keys, tell_once, uninitialise,
};

/// Result of checking a file's confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// The user wrote or confirmed it.
    Own,
    /// Another program may have written it.
    Unconfirmed(Doubt),
}

/// Reason why a file does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The workspace is not initialised, and git tracks the file.
    Tracked,
    /// This content was not written by `roleos`.
    NotConfirmed,
    /// The file was confirmed with another content.
    Changed,
    /// `roleos` wrote a newer one in its place.
    Older,
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
            Self::Older => "it is older than what `roleos` wrote last: it was put back",
            Self::NotSigned => "its confirmation is not signed by the approval key",
            Self::Moved => "the workspace was moved or replaced since `roleos init`",
            Self::Unreadable => "the trust store cannot be read",
        })
    }
}

/// Kind of check for a file's confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `config.toml`: needs a signature.
    Settings,
    /// `capabilities.json`: needs a signature; the remaining uses are compared separately.
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

/// Returns the path of a workspace's record below the trust store.
pub fn record_path(workspace: &Workspace) -> String {
    record_name(workspace)
}

/// The trust store's record of one workspace.
#[derive(Clone, Debug)]
pub struct Trust<'a> {
    workspace: &'a Workspace,
    /// `Err` if the store cannot be read.
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

    /// Returns `true` if the trust store has a record of the workspace.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        matches!(&self.record, Ok(Some(_)))
    }

    /// Returns the record if it is for this very folder. Device numbers may change after a restart.
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

    /// Checks if the file at `path` with this content counts.
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
    /// There is no such confirmation; the error is the reason.
    pub fn confirmed(&self, path: &Path, content: &[u8], kind: Kind) -> Result<(), Doubt> {
        if kind == Kind::Settings && content == starter::CONFIG.as_bytes() {
            // `roleos init` wrote it, regardless of who committed it.
            return Ok(());
        }
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

    /// Returns the last confirmed content of a file, if it was short enough to be stored and is validly signed.
    #[must_use]
    pub fn confirmed_text(&self, path: &Path, kind: Kind) -> Option<String> {
        let all = self.record().ok()?.files.get(&self.key(path))?;
        let texts = all.iter().rev().filter_map(|one| one.text.as_ref());
        let mut valid = texts.filter(|text| self.confirmed(path, text.as_bytes(), kind).is_ok());
        valid.next().cloned()
    }

    /// Returns the key whose signatures count: the machine's, else the recorded one.
    fn signer(&self) -> Option<PublicKey> {
        if let Some(machine) = approval_key::Place::of_machine() {
            return machine.verifying_key().ok().flatten();
        }
        crate::pins::public_key(self.record().ok()?.approval_key.as_ref()?)
    }

    /// Checks the workspace's approval key.
    ///
    /// # Errors
    /// It is not trusted; the error is the reason.
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

    /// Returns the halts in the trust store, by role.
    #[must_use]
    pub fn halts(&self) -> BTreeMap<String, Vec<HaltRecord>> {
        let many = |(role, halts): (&String, &Halts)| match halts {
            Halts::One(halt) => (role.clone(), vec![halt.clone()]),
            Halts::Many(halts) => (role.clone(), halts.clone()),
        };
        let record = self.record();
        record.map_or_else(
            |_| BTreeMap::new(),
            |record| record.halts.iter().map(many).collect(),
        )
    }

    /// Checks a key that signs or verifies evidence.
    ///
    /// # Errors
    /// It is not trusted; the error is the reason.
    pub fn check_key(&self, id: &str, path: &Path) -> Result<(), Doubt> {
        match self.record() {
            Ok(record) if record.keys.iter().any(|known| known == id) => Ok(()),
            _ if !self.is_initialised() && !index::is_tracked(path) => Ok(()),
            Ok(_) => Err(Doubt::NotConfirmed),
            Err(doubt) => Err(doubt),
        }
    }

    /// Returns the name of a file in the record.
    fn key(&self, path: &Path) -> String {
        let folder = files::parent(path);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let path = path
            .file_name()
            .map_or_else(|| folder.clone(), |name| folder.join(name));
        let shown = path.strip_prefix(self.workspace.root()).unwrap_or(&path);
        shown.to_string_lossy().into_owned()
    }

    /// Returns the signed data beside the content: this workspace and this file.
    fn scope(&self, key: &str) -> String {
        format!("{}\0{key}", self.workspace.root().display())
    }
}

#[cfg(test)]
mod tests;
