//! Refused acts that a person can decide about now, and approvals that wait for the agent. All counts and lists of
//! approvals come from here, so that they agree.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ApprovalError, Id, MAX_FILE, Refused, approval, approval_path, denied_path, files_ending, find,
    home, refused_files, refused_path, signed, used,
};
use base::approval_key;
use base::files::{self, Lock, Privacy};
use base::receipts::{Changing, Decided};
use base::repository::State;
use base::workspace::Workspace;

/// Time that a refused act waits for a person.
pub const WAITS: Duration = Duration::from_secs(24 * 3600);

/// An act that a person has approved and the agent has not executed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub id: Id,
    pub refused: Refused,
    /// End of the approval, in nanoseconds since 1970.
    pub expires_ns: u64,
}

impl Given {
    /// Returns the remaining seconds of the approval.
    #[must_use]
    pub fn seconds_left(&self, now_ns: u64) -> u64 {
        self.expires_ns.saturating_sub(now_ns) / 1_000_000_000
    }

    /// Returns the remaining minutes, rounded up.
    #[must_use]
    pub fn minutes_left(&self, now_ns: u64) -> u64 {
        self.seconds_left(now_ns).div_ceil(60)
    }
}

/// Returns the refused acts that a person can approve now, newest first: not approved yet, not too old, and with
/// unchanged repositories. Changes nothing; damaged files are skipped.
///
/// # Errors
/// The approval key or the list of used approvals cannot be read.
pub fn pending(workspace: &Workspace, now_ns: u64) -> Result<Vec<(Id, Refused)>, ApprovalError> {
    let mut states = States::default();
    let all = all(workspace, now_ns)?.into_iter();
    let waiting = all.filter(|(_, refused, expires)| {
        expires.is_none() && is_in_time(refused, now_ns) && states.are_current(refused)
    });
    let waiting = waiting.filter(|(id, ..)| !is_denied(workspace, id, now_ns));
    Ok(waiting.map(|(id, refused, _)| (id, refused)).collect())
}

/// Returns the approvals that are neither used nor expired, newest refusal first.
///
/// # Errors
/// The approval key or the list of used approvals cannot be read.
pub fn given(workspace: &Workspace, now_ns: u64) -> Result<Vec<Given>, ApprovalError> {
    let all = all(workspace, now_ns)?.into_iter();
    let given = all.filter_map(|(id, refused, expires)| {
        Some(Given {
            id,
            refused,
            expires_ns: expires?,
        })
    });
    Ok(given.collect())
}

/// Returns a refused act that can be approved now.
///
/// # Errors
/// There is none with that id, its file is damaged, it is too old, or its repository has changed.
pub fn find_open(workspace: &Workspace, id: &Id, now_ns: u64) -> Result<Refused, ApprovalError> {
    let refused = find(workspace, id)?;
    if !is_in_time(&refused, now_ns) {
        return Err(ApprovalError::Expired(id.clone()));
    }
    if !refused.act.is_current() {
        return Err(ApprovalError::Outdated(id.clone()));
    }
    Ok(refused)
}

/// Dismisses a refused act, and revokes its approval if there is one. The agent may try again, which is another
/// refusal.
///
/// # Errors
/// There is none with that id, or it cannot be removed.
pub fn dismiss(workspace: &Workspace, id: &Id, now_ns: u64) -> Result<(), ApprovalError> {
    decline(workspace, id, now_ns, Decided::Dismissed)
}

/// Denies a refused act, and revokes its approval if there is one. As long as refused acts wait, the same act is
/// refused again without another question.
///
/// # Errors
/// There is none with that id, or it cannot be written.
pub fn deny(workspace: &Workspace, id: &Id, now_ns: u64) -> Result<(), ApprovalError> {
    decline(workspace, id, now_ns, Decided::Denied)
}

fn decline(
    workspace: &Workspace,
    id: &Id,
    now_ns: u64,
    decided: Decided,
) -> Result<(), ApprovalError> {
    let directory = home(workspace)?;
    let changing = Changing::begin(workspace)?;
    let _alone = Lock::take(&directory.join(".lock"))?;
    let path = refused_path(&directory, id);
    if !path.exists() {
        return Err(ApprovalError::Unknown(id.to_string()));
    }
    let signed = approval_path(&directory, id);
    // A copy of the file must not revive the approval.
    if let Some(key) = approval_key::verifying_key(workspace)?
        && let Ok(bytes) = files::read(&signed, MAX_FILE)
        && let Ok(approval) = signed::Approval::verify(&bytes, &key)
    {
        let mut used = used::Used::read(&directory)?;
        used.add(&approval, now_ns);
        used.write(&directory)?;
    }
    if decided == Decided::Denied {
        let denied = Denied {
            at_ns: now_ns,
            refused: find(workspace, id)?,
        };
        let bytes = serde_json::to_vec(&denied).unwrap_or_default();
        files::write(&denied_path(&directory, id), &bytes, Privacy::Secret)?;
    }
    changing.decided(&id.to_string(), decided)?;
    files::remove_file(&signed).ok();
    files::remove_file(&path)
        .map_err(|source| files::FileError::new(files::Action::Write, &path, source))?;
    Ok(())
}

/// Answer to the agent when it tries a denied act again.
pub const DENIED: &str = "a person denied exactly this; talk to them before you try it again";

/// An act that a person denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denied {
    /// Time of the denial, in nanoseconds since 1970.
    pub at_ns: u64,
    pub refused: Refused,
}

/// Returns `true` if a person denied this act recently.
#[must_use]
pub fn is_denied(workspace: &Workspace, id: &Id, now_ns: u64) -> bool {
    read_denied(&denied_path(&workspace.approvals_dir(), id), now_ns).is_some()
}

/// Returns the acts that a person denied recently, newest first. Damaged files are skipped.
#[must_use]
pub fn denied(workspace: &Workspace, now_ns: u64) -> Vec<(Id, Denied)> {
    let paths = files_ending(&workspace.approvals_dir(), "denied").into_iter();
    let mut found: Vec<_> = paths
        .filter_map(|path| {
            let id = Id::parse(path.file_stem()?.to_str()?)?;
            Some((id, read_denied(&path, now_ns)?))
        })
        .collect();
    found.sort_by_key(|(_, denied)| std::cmp::Reverse(denied.at_ns));
    found
}

fn read_denied(path: &std::path::Path, now_ns: u64) -> Option<Denied> {
    let bytes = files::read(path, MAX_FILE).ok()?;
    let denied: Denied = serde_json::from_slice(&bytes).ok()?;
    (u128::from(now_ns.saturating_sub(denied.at_ns)) < WAITS.as_nanos()).then_some(denied)
}

/// Lists the refused acts, newest first, with the end of a valid approval.
fn all(
    workspace: &Workspace,
    now_ns: u64,
) -> Result<Vec<(Id, Refused, Option<u64>)>, ApprovalError> {
    let directory = workspace.approvals_dir();
    let key = approval_key::verifying_key(workspace)?;
    let mut found = Vec::new();
    for path in refused_files(&directory) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(id) = stem.and_then(Id::parse) else {
            continue;
        };
        let Ok(refused) = find(workspace, &id) else {
            continue;
        };
        let approval = match (&key, refused.digest()) {
            (Some(key), Some(digest)) => approval(&directory, &digest, key, now_ns)?,
            _ => None,
        };
        // A rejected approval does not count.
        let expires = approval
            .and_then(Result::ok)
            .map(|approval| approval.expires_ns);
        found.push((id, refused, expires));
    }
    found.sort_by_key(|(_, refused, _)| std::cmp::Reverse(refused.at_ns));
    Ok(found)
}

fn is_in_time(refused: &Refused, now_ns: u64) -> bool {
    u128::from(now_ns.saturating_sub(refused.at_ns)) < WAITS.as_nanos()
}

/// Repositories that were compared before: refusals of one session share them.
#[derive(Default)]
struct States(Vec<(State, bool)>);

impl States {
    fn are_current(&mut self, refused: &Refused) -> bool {
        let mut states = refused.act.repositories.iter();
        states.all(|state| self.is_current(state))
    }

    fn is_current(&mut self, state: &State) -> bool {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| known == state) {
            return *known;
        }
        let current = state.is_current();
        self.0.push((state.clone(), current));
        current
    }
}
