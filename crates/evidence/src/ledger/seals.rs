//! Traces of seals in a workspace, apart from the ledger itself. Read only if there is no ledger.
//!
//! To make a ledger disappear without a trace, a program would have to remove the trust store with its copy, the bundles,
//! the journals, the record of the installation and the receipts.

use std::fs;
use std::path::Path;

use base::installed::Installed;
use base::trust::Trust;
use base::workspace::Workspace;

use crate::journal::read::{Session, journals};
use crate::journal::record::Record;

/// Knowledge about seals in a workspace without a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seals {
    /// Nothing was sealed, and the workspace was not initialised.
    None,
    /// The workspace was initialised, and its record agrees that nothing was sealed since.
    NotYet,
    /// Something was sealed, or nothing is left that could rule it out; as a sentence for people.
    Missed(String),
}

impl Seals {
    /// Looks at all traces that a seal leaves, if there is no ledger in `directory`.
    #[must_use]
    pub fn without_ledger(directory: &Path, workspace: &Workspace) -> Self {
        if super::is_named(directory) {
            return Self::None;
        }
        let trust = Trust::of(workspace);
        let is_installed = Installed::exists(workspace);
        if Installed::read(workspace).has_sealed() {
            return Self::Missed(
                "the record of the installation says that bundles were sealed".to_owned(),
            );
        }
        if let Some(session) = sealed_session(workspace) {
            return Self::Missed(format!(
                "the journal of session `{session}` says that it was sealed"
            ));
        }
        let has_receipts = fs::symlink_metadata(workspace.receipts_path()).is_ok();
        match (trust.is_initialised() || is_installed, trust.is_recorded()) {
            (true, true) => Self::NotYet,
            (true, false) if is_installed => Self::NotYet,
            // Without a home directory there is no trust store that could have a record.
            (false, false) if has_receipts && workspace.state().is_some() => Self::Missed(
                "this workspace has receipts, and the records that would show that nothing was sealed are gone"
                    .to_owned(),
            ),
            _ => Self::None,
        }
    }
}

/// Returns a session whose journal records a sealed bundle.
fn sealed_session(workspace: &Workspace) -> Option<String> {
    let found = journals(&workspace.sessions_dir()).unwrap_or_default();
    let is_sealed =
        |record: &Record| matches!(record, Record::Sealed(sealed) if !sealed.sha256.is_empty());
    let mut sealed = found.into_iter().filter(|(_, path)| {
        let session = Session::read(path).unwrap_or_default();
        session.lines.iter().any(|line| is_sealed(&line.record))
    });
    sealed.next().map(|(session, _)| session.to_string())
}
