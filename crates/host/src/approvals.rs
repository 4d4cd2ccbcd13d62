//! "Yes, this once": an act that was refused can be approved by a person, is then allowed exactly once, and soon expires.
//!
//! Files under `.role-os/approvals/`: `<id>.refused` is the act as the hook saw it, `<id>.approval` the signed yes,
//! `used.json` the approvals that were taken. The id is the beginning of the act's hash, so the same act has the same
//! id. Taking happens under a lock and is on disk before it is answered: a crash can waste an approval, never double it.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oversight::decide::Call;
use oversight::tools;
use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

use crate::approval_key;
use crate::files::{self, FileError, Lock, Privacy};
use crate::journal::capture;
use crate::keys::{self, KeyError};
use crate::receipts::Changing;
use crate::repository::State;
use crate::workspace::Workspace;

mod signed;
mod used;

pub use signed::Flaw;

/// Digits of an id.
const ID_LENGTH: usize = 12;
/// What an act's hash covers is preceded by this text, so that it can mean nothing else.
const CONTEXT: &[u8] = b"roleos act v1\n";
/// Longest file here that is read; a tool call can be long.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// So many refused acts are remembered.
const MAX_REFUSED: usize = 500;

/// Everything that makes an act this act and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The tool, by the agent's name for it.
    pub tool: String,
    /// The command, or the arguments of another tool as JSON.
    pub command: String,
    /// What it comes down to, as [`oversight::act::Act::lines`] says it: each action, its program, its words after
    /// everything was resolved, and its directory.
    pub facts: Vec<String>,
    /// Ids of the gated actions, sorted.
    pub actions: Vec<String>,
    /// Where it would run.
    pub directory: String,
    /// The repositories of all these directories, in order.
    pub repositories: Vec<State>,
}

impl Act {
    /// The act of a call, with the state of every repository in which something of it would happen.
    ///
    /// The whole text binds beside the facts: `git commit -a && git push` comes down to the same push as `git push`, and
    /// sends something else.
    #[must_use]
    pub fn of(call: &Call<'_>, found: &oversight::act::Act) -> Self {
        let command = tools::shell_command(call.tool, call.input);
        let mut directories: Vec<&str> = vec![call.place.directory];
        directories.extend(found.facts.iter().map(|fact| fact.directory.as_str()));
        directories.sort_unstable();
        directories.dedup();
        let mut repositories: Vec<State> = directories
            .into_iter()
            .filter_map(|directory| State::read(Path::new(directory)))
            .collect();
        repositories.dedup();
        let mut actions: Vec<String> = found
            .facts
            .iter()
            .map(|fact| fact.action.clone())
            .filter(|action| action != "call")
            .collect();
        actions.sort();
        actions.dedup();
        Self {
            tool: call.tool.to_owned(),
            command: command.unwrap_or_else(|| capture::canonical(call.input)),
            facts: found.lines(),
            actions,
            directory: call.place.directory.to_owned(),
            repositories,
        }
    }

    /// Whether the repositories are as they were, so that an approval would still fit.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.repositories.iter().all(State::is_current)
    }

    /// The hash that names it.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut bytes = CONTEXT.to_vec();
        bytes.extend(serde_json::to_vec(self).unwrap_or_default());
        crate::digest(&bytes)
    }

    /// The short name, for people.
    #[must_use]
    pub fn id(&self) -> Id {
        let mut digits = hex::encode(self.digest());
        digits.truncate(ID_LENGTH);
        Id(digits)
    }
}

/// The approvals of a workspace, as [`oversight::decide`] asks for them while it decides about one call.
#[derive(Debug)]
pub struct AtHand<'a> {
    workspace: &'a Workspace,
    call: Call<'a>,
    now_ns: u64,
    said: RefCell<Option<String>>,
}

impl<'a> AtHand<'a> {
    /// For one call.
    #[must_use]
    pub fn new(workspace: &'a Workspace, call: Call<'a>, now_ns: u64) -> Self {
        Self {
            workspace,
            call,
            now_ns,
            said: RefCell::new(None),
        }
    }

    /// Why an approval that is there was not believed, for the refusal.
    #[must_use]
    pub fn said(&self) -> Option<String> {
        self.said.borrow().clone()
    }
}

impl oversight::act::Approvals for AtHand<'_> {
    /// Takes the approval: what this covers is used up.
    fn covers(&self, found: &oversight::act::Act) -> bool {
        // Reading repositories costs; without any approval there is nothing to compare.
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

/// The name of a refused act.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// Takes what a person typed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == ID_LENGTH && text.bytes().all(is_hex)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A refused act as it is kept until somebody approves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// What the gate said. Not part of the hash: only for people.
    pub reasons: Vec<String>,
    /// What is approved.
    pub act: Act,
}

/// What came of asking for an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A person approved exactly this, and it was taken just now.
    Yes(Id),
    /// Nobody approved it.
    No,
    /// There is an approval that must not be believed, and why.
    Refused(Flaw),
}

/// Why approvals could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The approval key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No such act was refused here.
    #[error("no act with the id `{0}` was refused here")]
    Unknown(Id),
    /// The act's file is damaged, or holds another act.
    #[error("`{}` is not the refused act that its name says", .0.display())]
    Damaged(PathBuf),
    /// The list of taken approvals is damaged, so that nobody can tell which were.
    #[error("`{}` is damaged, so approvals cannot be told from used ones", .0.display())]
    UsedDamaged(PathBuf),
}

/// Remembers a refused act, so that `roleos approve` can show it. Returns the id for the refusal.
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
    let refused = Refused {
        at_ns: now_ns,
        reasons: reasons.to_vec(),
        act: act.clone(),
    };
    let bytes = serde_json::to_vec(&refused).unwrap_or_default();
    let path = refused_path(&directory, &id);
    if !path.exists() {
        forget_old(&directory);
    }
    files::write(&path, &bytes, Privacy::Secret)?;
    Ok(id)
}

/// The refused acts that wait for a person, newest first. Damaged files are left out, and so is what a person has approved
/// and the agent has not done yet: there is nothing left to say to it until the approval ends.
///
/// # Errors
/// The approval key or the list of used approvals cannot be read.
pub fn pending(workspace: &Workspace, now_ns: u64) -> Result<Vec<(Id, Refused)>, ApprovalError> {
    let directory = workspace.approvals_dir();
    let key = approval_key::verifying_key(workspace)?;
    let mut found = Vec::new();
    for path in refused_files(&directory) {
        let id = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .and_then(Id::parse);
        let Some(id) = id else { continue };
        let Ok(refused) = find(workspace, &id) else {
            continue;
        };
        let approval = match &key {
            Some(key) => approval(&directory, &refused.act, key, now_ns)?,
            None => None,
        };
        // An approval that would not be believed is none.
        if !matches!(approval, Some(Ok(_))) {
            found.push((id, refused));
        }
    }
    found.sort_by_key(|(_, refused)| std::cmp::Reverse(refused.at_ns));
    Ok(found)
}

/// One refused act.
///
/// # Errors
/// There is none with that id, or its file is damaged.
pub fn find(workspace: &Workspace, id: &Id) -> Result<Refused, ApprovalError> {
    let path = refused_path(&workspace.approvals_dir(), id);
    let bytes = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            return Err(ApprovalError::Unknown(id.clone()));
        }
        Err(error) => return Err(error.into()),
    };
    let refused = serde_json::from_slice::<Refused>(&bytes).ok();
    refused
        .filter(|refused| refused.act.id() == *id)
        .ok_or(ApprovalError::Damaged(path))
}

/// Signs the yes to exactly this act, for so long. Returns when it ends, in nanoseconds since 1970.
///
/// # Errors
/// It cannot be written.
pub fn approve(
    workspace: &Workspace,
    act: &Act,
    key: &SigningKey,
    lifetime: Duration,
    now_ns: u64,
) -> Result<u64, ApprovalError> {
    let directory = home(workspace)?;
    let changing = Changing::begin(workspace)?;
    let _alone = Lock::take(&directory.join(".lock"))?;
    let lifetime = u64::try_from(lifetime.as_nanos()).unwrap_or(u64::MAX);
    let approval = signed::Approval {
        act: hex::encode(act.digest()),
        nonce: hex::encode(*approval_key::random::<16>()?),
        issued_ns: now_ns,
        expires_ns: now_ns.saturating_add(lifetime),
    };
    changing.approved(&act.id().to_string())?;
    let path = approval_path(&directory, &act.id());
    files::write(&path, &approval.sign(key), Privacy::Secret)?;
    Ok(approval.expires_ns)
}

/// Takes the approval of exactly this act, if there is one. Of many processes that ask at once, one is told yes.
///
/// # Errors
/// The files cannot be read or written; the act must not be allowed then.
pub fn take(workspace: &Workspace, act: &Act, now_ns: u64) -> Result<Taken, ApprovalError> {
    let directory = workspace.approvals_dir();
    let path = approval_path(&directory, &act.id());
    if !path.exists() {
        return Ok(Taken::No);
    }
    let Some(key) = approval_key::verifying_key(workspace)? else {
        return Ok(Taken::Refused(Flaw::NoKey));
    };
    let _alone = Lock::take(&directory.join(".lock"))?;
    take_alone(&directory, act, &key, now_ns)
}

/// The approval of an act, if there is one, and whether it holds now.
fn approval(
    directory: &Path,
    act: &Act,
    key: &PublicKey,
    now_ns: u64,
) -> Result<Option<Result<signed::Approval, Flaw>>, ApprovalError> {
    let bytes = match files::read(&approval_path(directory, &act.id()), MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let checked = signed::Approval::verify(&bytes, key)
        .and_then(|approval| approval.holds_for(&act.digest(), now_ns));
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
    act: &Act,
    key: &PublicKey,
    now_ns: u64,
) -> Result<Taken, ApprovalError> {
    let approval = match approval(directory, act, key, now_ns)? {
        Some(Ok(approval)) => approval,
        Some(Err(flaw)) => return Ok(Taken::Refused(flaw)),
        // Another process was faster.
        None => return Ok(Taken::No),
    };
    let mut used = used::Used::read(directory)?;
    used.add(&approval, now_ns);
    used.write(directory)?;
    // From here on it counts as taken. What stays behind after a crash is refused as used.
    files::remove_file(&approval_path(directory, &act.id())).ok();
    files::remove_file(&refused_path(directory, &act.id())).ok();
    Ok(Taken::Yes(act.id()))
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

fn refused_files(directory: &Path) -> Vec<PathBuf> {
    let entries = files::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "refused"))
        .collect()
}

/// Makes room when an agent was refused very often.
fn forget_old(directory: &Path) {
    let mut files: Vec<_> = refused_files(directory)
        .into_iter()
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    if files.len() < MAX_REFUSED {
        return;
    }
    files.sort();
    for (_, path) in files.iter().take(files.len() / 2) {
        files::remove_file(path).ok();
    }
}

#[cfg(test)]
mod tests;
