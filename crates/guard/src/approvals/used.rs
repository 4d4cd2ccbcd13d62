//! The used approvals. An entry outlives its approval by a week, so that a clock that is set back does not revive one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{ApprovalError, signed::Approval};
use base::files::{self, Privacy};

const MAX_FILE: u64 = 16 * 1024 * 1024;
const KEEP_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;

/// Nonces, with the end of their approval.
#[derive(Debug, Default)]
pub(super) struct Used(BTreeMap<String, u64>);

impl Used {
    pub(super) fn read(directory: &Path) -> Result<Self, ApprovalError> {
        let path = path(directory);
        match files::read(&path, MAX_FILE) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Self)
                .map_err(|_| ApprovalError::UsedDamaged(path)),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn holds(&self, nonce: &str) -> bool {
        self.0.contains_key(nonce)
    }

    pub(super) fn add(&mut self, approval: &Approval, now_ns: u64) {
        self.0
            .retain(|_, expires| expires.saturating_add(KEEP_NS) > now_ns);
        self.0.insert(approval.nonce.clone(), approval.expires_ns);
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), ApprovalError> {
        let bytes = serde_json::to_vec(&self.0).unwrap_or_default();
        Ok(files::write(&path(directory), &bytes, Privacy::Secret)?)
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join("used.json")
}
