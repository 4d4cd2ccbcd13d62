//! Approvals: a person can approve a refused act, which is then allowed exactly once within a short time.
//!
//! Files under `.role-os/approvals/`: `<id>.refused` is the act without its secrets and the hash of the exact one,
//! `<id>.approval` the signed approval, `<id>.denied` a person's denial, `used.json` the used approvals. The id is the
//! beginning of a hash over both, so the same act has the same id, and an approval applies to exactly the act that the
//! person was shown. An approval is used under a lock, and the use is on disk before the answer: a crash can waste an
//! approval, never double it.
//!
//! [`act`] is the approved act, [`waiting`] lists the acts that await a person's decision.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oversight::decide::Call;
use redact::Known;
use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

use base::approval_key;
use base::files::{self, FileError, Lock, Privacy};
use base::keys::{self, KeyError};
use base::receipts::{Changing, Decided};
use base::workspace::Workspace;

mod act;
mod signed;
mod used;
mod waiting;

pub use act::Act;
pub use signed::Flaw;
pub use waiting::{
    DENIED, Denied, Given, WAITS, denied, deny, dismiss, find_open, given, is_denied, pending,
};

/// Longest file that is read here; a tool call can be long.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Most refused acts that are stored.
const MAX_REFUSED: usize = 500;

/// The approvals of a workspace, which [`oversight::decide`] queries while it decides one call.
#[derive(Debug)]
pub struct AtHand<'a> {
    workspace: &'a Workspace,
    call: Call<'a>,
    now_ns: u64,
    said: RefCell<Option<String>>,
}

impl<'a> AtHand<'a> {
    /// Creates the approvals for one call.
    #[must_use]
    pub fn new(workspace: &'a Workspace, call: Call<'a>, now_ns: u64) -> Self {
        Self {
            workspace,
            call,
            now_ns,
            said: RefCell::new(None),
        }
    }

    /// Returns why an existing approval was rejected, for the refusal.
    #[must_use]
    pub fn said(&self) -> Option<String> {
        self.said.borrow().clone()
    }
}

impl oversight::act::Approvals for AtHand<'_> {
    /// Uses up the approval, if there is one.
    fn covers(&self, found: &oversight::act::Act) -> bool {
        // Reading repositories is expensive; without any approval there is nothing to compare.
        if !has_approvals(&self.workspace.approvals_dir()) {
            return false;
        }
        let act = Act::of(&self.call, found);
        let (covered, said) = match take(self.workspace, &act, self.now_ns) {
            Ok(Taken::Yes(_)) => (true, None),
            Ok(Taken::No) => (false, None),
            Ok(Taken::Refused(flaw)) => (false, Some(flaw.to_string())),
            Err(error) => (false, Some(format!("approvals cannot be used: {error}"))),
        };
        *self.said.borrow_mut() = said;
        covered
    }
}

fn has_approvals(directory: &Path) -> bool {
    let entries = files::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        entry
            .path()
            .extension()
            .is_some_and(|end| end == "approval")
    })
}

/// Id of a refused act.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// Number of its digits.
    pub const LENGTH: usize = 12;

    /// Parses an id that a person typed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == Self::LENGTH && text.bytes().all(is_hex)).then(|| Self(text.to_owned()))
    }

    /// Returns the id from an act's hash.
    fn of(digest: &[u8; 32]) -> Self {
        let mut digits = hex::encode(digest);
        digits.truncate(Self::LENGTH);
        Self(digits)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A refused act as it is stored until a person approves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// Reasons of the gate. Not part of the hash: only for people.
    pub reasons: Vec<String>,
    /// The act, without its secrets.
    pub act: Act,
    /// Hash of the exact act, in hexadecimal digits.
    exact: String,
}

impl Refused {
    /// Creates the stored form of the act, without secrets of known shapes.
    #[must_use]
    pub fn new(act: &Act, reasons: &[String], at_ns: u64) -> Self {
        let known = Known::of(&act.command);
        Self {
            at_ns,
            reasons: reasons.iter().map(|reason| known.out_of(reason)).collect(),
            act: act.shown(),
            exact: hex::encode(act.exact()),
        }
    }

    /// Returns the hash that its approval binds; `None` if the file is damaged.
    fn digest(&self) -> Option<[u8; 32]> {
        let exact = hex::decode(&self.exact).ok()?.try_into().ok()?;
        Some(act::bind(&self.act, &exact))
    }
}

/// Result of looking for an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A person approved exactly this, and the approval is used up now.
    Yes(Id),
    /// There is no approval.
    No,
    /// There is an approval that must not be accepted.
    Refused(Flaw),
}

/// Error of reading or writing approvals.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The approval key failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No such act was refused in this workspace.
    #[error("no act with the id `{0}` was refused here")]
    Unknown(String),
    /// Several refused acts begin with these digits.
    #[error("more than one refused act begins with `{0}`")]
    Ambiguous(String),
    /// The act's file is damaged, or holds another act.
    #[error("`{}` is not the refused act that its name says", .0.display())]
    Damaged(PathBuf),
    /// The repository has changed.
    #[error("the repository is no longer as it was when `{0}` was refused")]
    Outdated(Id),
    /// It waited too long.
    #[error("`{0}` was refused more than {hours} hours ago", hours = WAITS.as_secs() / 3600)]
    Expired(Id),
    /// The list of used approvals is damaged, so that used ones cannot be recognised.
    #[error("`{}` is damaged, so approvals cannot be told from used ones", .0.display())]
    UsedDamaged(PathBuf),
}

/// Stores a refused act, so that `roleos approve` can show it. Returns the id for the refusal.
///
/// # Errors
/// It cannot be written; there is then no id to approve.
pub fn refuse(
    workspace: &Workspace,
    act: &Act,
    reasons: &[String],
    now_ns: u64,
) -> Result<Id, ApprovalError> {
    let directory = home(workspace)?;
    let id = act.id();
    let refused = Refused::new(act, reasons, now_ns);
    let bytes = serde_json::to_vec(&refused).unwrap_or_default();
    let path = refused_path(&directory, &id);
    let _alone = Lock::take(&directory.join(".lock"))?;
    if !path.exists() {
        forget_old(&directory);
    }
    files::write(&path, &bytes, Privacy::Secret)?;
    Ok(id)
}

/// Returns the id of the one refused act that begins with these digits.
///
/// # Errors
/// There is none, or more than one.
pub fn named(workspace: &Workspace, digits: &str) -> Result<Id, ApprovalError> {
    let files = refused_files(&workspace.approvals_dir());
    let ids = files
        .iter()
        .filter_map(|path| Id::parse(path.file_stem()?.to_str()?));
    let mut fitting = ids.filter(|id| id.0.starts_with(digits));
    match (fitting.next(), fitting.next()) {
        (Some(id), None) => Ok(id),
        (None, _) => Err(ApprovalError::Unknown(digits.to_owned())),
        (Some(_), Some(_)) => Err(ApprovalError::Ambiguous(digits.to_owned())),
    }
}

/// Reads one refused act.
///
/// # Errors
/// There is none with that id, or its file is damaged.
pub fn find(workspace: &Workspace, id: &Id) -> Result<Refused, ApprovalError> {
    let path = refused_path(&workspace.approvals_dir(), id);
    let bytes = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            return Err(ApprovalError::Unknown(id.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let refused = serde_json::from_slice::<Refused>(&bytes).ok();
    refused
        .filter(|refused| {
            refused
                .digest()
                .is_some_and(|digest| Id::of(&digest) == *id)
        })
        .ok_or(ApprovalError::Damaged(path))
}

/// Signs the approval of exactly this act, for a limited time. Returns its end, in nanoseconds since 1970.
///
/// # Errors
/// It cannot be written.
pub fn approve(
    workspace: &Workspace,
    refused: &Refused,
    key: &SigningKey,
    lifetime: Duration,
    now_ns: u64,
) -> Result<u64, ApprovalError> {
    let directory = home(workspace)?;
    let damaged = || ApprovalError::Damaged(directory.clone());
    let digest = refused.digest().ok_or_else(damaged)?;
    let id = Id::of(&digest);
    let changing = Changing::begin(workspace)?;
    let _alone = Lock::take(&directory.join(".lock"))?;
    let lifetime = u64::try_from(lifetime.as_nanos()).unwrap_or(u64::MAX);
    let approval = signed::Approval {
        act: hex::encode(digest),
        nonce: hex::encode(*approval_key::random::<16>()?),
        issued_ns: now_ns,
        expires_ns: now_ns.saturating_add(lifetime),
    };
    changing.decided(&id.to_string(), Decided::Approved)?;
    files::remove_file(&denied_path(&directory, &id)).ok();
    let path = approval_path(&directory, &id);
    files::write(&path, &approval.sign(key), Privacy::Secret)?;
    Ok(approval.expires_ns)
}

/// Uses up the approval of exactly this act, if there is one. Of many concurrent processes, one gets it.
///
/// # Errors
/// The files cannot be read or written; the act must not be allowed then.
pub fn take(workspace: &Workspace, act: &Act, now_ns: u64) -> Result<Taken, ApprovalError> {
    let directory = workspace.approvals_dir();
    let digest = act.digest();
    if !approval_path(&directory, &Id::of(&digest)).exists() {
        return Ok(Taken::No);
    }
    let Some(key) = approval_key::verifying_key(workspace)? else {
        return Ok(Taken::Refused(Flaw::NoKey));
    };
    let _alone = Lock::take(&directory.join(".lock"))?;
    take_alone(&directory, &digest, &key, now_ns)
}

/// Reads the approval of an act, if there is one, and checks that it is valid now.
fn approval(
    directory: &Path,
    digest: &[u8; 32],
    key: &PublicKey,
    now_ns: u64,
) -> Result<Option<Result<signed::Approval, Flaw>>, ApprovalError> {
    let bytes = match files::read(&approval_path(directory, &Id::of(digest)), MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let checked = signed::Approval::verify(&bytes, key)
        .and_then(|approval| approval.holds_for(digest, now_ns));
    let approval = match checked {
        Ok(approval) => approval,
        Err(flaw) => return Ok(Some(Err(flaw))),
    };
    if used::Used::read(directory)?.holds(&approval.nonce) {
        return Ok(Some(Err(Flaw::Replayed)));
    }
    Ok(Some(Ok(approval)))
}

fn take_alone(
    directory: &Path,
    digest: &[u8; 32],
    key: &PublicKey,
    now_ns: u64,
) -> Result<Taken, ApprovalError> {
    let id = Id::of(digest);
    let approval = match approval(directory, digest, key, now_ns)? {
        Some(Ok(approval)) => approval,
        Some(Err(flaw)) => return Ok(Taken::Refused(flaw)),
        // Another process was faster.
        None => return Ok(Taken::No),
    };
    let mut used = used::Used::read(directory)?;
    used.add(&approval, now_ns);
    used.write(directory)?;
    // From here on it counts as used. A file that a crash leaves is refused as used.
    files::remove_file(&approval_path(directory, &id)).ok();
    files::remove_file(&refused_path(directory, &id)).ok();
    Ok(Taken::Yes(id))
}

fn home(workspace: &Workspace) -> Result<PathBuf, FileError> {
    let directory = workspace.approvals_dir();
    keys::make_home(&directory)?;
    Ok(directory)
}

fn refused_path(directory: &Path, id: &Id) -> PathBuf {
    directory.join(format!("{id}.refused"))
}

fn approval_path(directory: &Path, id: &Id) -> PathBuf {
    directory.join(format!("{id}.approval"))
}

/// Returns the path of a person's denial, which stays when the agent tries again.
fn denied_path(directory: &Path, id: &Id) -> PathBuf {
    directory.join(format!("{id}.denied"))
}

fn refused_files(directory: &Path) -> Vec<PathBuf> {
    files_ending(directory, "refused")
}

fn files_ending(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = files::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == ending))
        .collect()
}

/// Removes acts that waited too long, and the oldest ones if there are too many.
fn forget_old(directory: &Path) {
    let denied = files_ending(directory, "denied").into_iter();
    let mut files: Vec<_> = refused_files(directory)
        .into_iter()
        .chain(denied)
        // An approved act waits for the agent until the approval ends.
        .filter(|path| !path.with_extension("approval").exists())
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    files.sort();
    let surplus = match files.len() {
        many if many >= MAX_REFUSED => many / 2,
        _ => 0,
    };
    for (index, (written, path)) in files.iter().enumerate() {
        let is_late = written.elapsed().is_ok_and(|age| age > WAITS);
        if index < surplus || is_late {
            files::remove_file(path).ok();
        }
    }
}

#[cfg(test)]
mod tests;
