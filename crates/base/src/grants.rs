//! The grants on disk, `.claude/role-os/capabilities.json`: read, changed one entry at a time, counted down.
//!
//! [`oversight::grants`] decides about the effect of a grant. Other entries and unknown keys stay as they are.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use oversight::grants::{Grants, Standing, parse_entries, use_once};
use serde_json::{Map, Value};
use witness::key::SigningKey;

use crate::clock;
use crate::files::{self, FileError, Privacy};
use crate::pins;
use crate::receipts::{Changing, Receipt, Subject};
use crate::sealed_files;
use crate::trust::{self, Belief, Doubt, Kind, Trust};
use crate::workspace::Workspace;

/// Largest list of grants.
pub const MAX_FILE: u64 = 1024 * 1024;

/// Error of changing the grants.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file has other content.
    #[error("`{}` is no list of grants: {why}", path.display())]
    NotGrants {
        path: PathBuf,
        /// Description of the error.
        why: String,
    },
    /// It contains grants that the user has not confirmed.
    #[error("the grants in `{}` are not confirmed: {doubt}", path.display())]
    Unconfirmed {
        path: PathBuf,
        /// Reason.
        doubt: Doubt,
    },
    /// There is nothing to revoke.
    #[error("`{action}` is not granted")]
    NotGranted {
        /// The action, as the user named it.
        action: String,
    },
}

/// One grant in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The action's id.
    pub action: String,
    /// Its validity, with the reason if it is not valid.
    pub standing: Standing,
    /// End of its validity, as written.
    pub expires: Option<String>,
    /// Remaining uses.
    pub uses: Option<u64>,
    pub scope: Option<String>,
    /// Set if the scope is enforced.
    pub enforce: bool,
}

#[derive(Clone, Debug, Default)]
pub struct NewGrant {
    /// The action's id.
    pub action: String,
    /// End of its validity.
    pub expires: Option<Timestamp>,
    /// Allowed uses.
    pub uses: Option<u64>,
    pub scope: Option<String>,
    /// Set if the scope is enforced.
    pub enforce: bool,
}

/// Result of counting the use of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Counted; with the remaining uses of counted grants.
    Yes(Vec<(String, u64)>),
    /// Another process took the last use, or the grant was revoked, since the decision: a clause that follows "is
    /// irreversible and".
    No(String, String),
}

/// Loads the grants for the gate. A missing file grants nothing; an unreadable one is reported in every answer.
#[must_use]
pub fn load(workspace: &Workspace) -> Grants {
    match files::read(&workspace.grants_path(), MAX_FILE) {
        Ok(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => match belief(workspace, &bytes) {
                Belief::Own => Grants::parse(text),
                Belief::Unconfirmed(doubt) => Grants::parse(text).unconfirmed(&doubt.to_string()),
            },
            Err(_) => Grants::unreadable("it is no UTF-8 text"),
        },
        Err(error) if is_missing(&error) => Grants::none(),
        Err(error) => Grants::unreadable(&error.source.to_string()),
    }
}

/// Returns the user's confirmation of this content.
fn belief(workspace: &Workspace, bytes: &[u8]) -> Belief {
    Trust::of(workspace).belief(&workspace.grants_path(), bytes, Kind::Grants)
}

/// Lists every entry, by name.
///
/// # Errors
/// The file cannot be read, or is not a list of grants.
pub fn list(workspace: &Workspace, now: Timestamp) -> Result<Vec<Entry>, GrantError> {
    let entries = read(workspace)?;
    let grants = load(workspace);
    let mut list: Vec<Entry> = entries
        .iter()
        .map(|(action, entry)| Entry {
            standing: grants.standing(action, now),
            action: action.clone(),
            expires: entry.get("expires").map(text),
            uses: entry.get("uses").and_then(Value::as_u64),
            scope: entry.get("scope").map(text),
            enforce: !matches!(entry.get("enforce"), None | Some(Value::Bool(false))),
        })
        .collect();
    list.sort_by(|one, other| one.action.cmp(&other.action));
    Ok(list)
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Writes one grant; an earlier one for the same action is replaced. Returns `true` if there was one.
///
/// # Errors
/// The file cannot be read or written, or is not a list of grants.
pub fn grant(workspace: &Workspace, new: &NewGrant, key: &SigningKey) -> Result<bool, GrantError> {
    let changing = Changing::begin(workspace)?;
    let mut entries = read(workspace)?;
    if let (false, Belief::Unconfirmed(doubt)) = (entries.is_empty(), present(workspace)?) {
        // Writing the file would also confirm the other entries.
        let path = workspace.grants_path();
        return Err(GrantError::Unconfirmed { path, doubt });
    }
    let mut entry = Map::new();
    entry.insert("granted".to_owned(), true.into());
    if let Some(expires) = new.expires {
        entry.insert("expires".to_owned(), expires.to_string().into());
    }
    if let Some(uses) = new.uses {
        entry.insert("uses".to_owned(), uses.into());
    }
    if let Some(scope) = &new.scope {
        entry.insert("scope".to_owned(), scope.as_str().into());
    }
    if new.enforce {
        entry.insert("enforce".to_owned(), true.into());
    }
    let replaced = entries
        .insert(new.action.clone(), Value::Object(entry))
        .is_some();
    let what = format!("grant {}", new.action);
    write(&changing, workspace, &entries, &what, key, true)?;
    Ok(replaced)
}

/// Removes one grant.
///
/// # Errors
/// There is none, or the file cannot be read or written.
pub fn revoke(workspace: &Workspace, action: &str, key: &SigningKey) -> Result<(), GrantError> {
    let changing = Changing::begin(workspace)?;
    let mut entries = read(workspace)?;
    if entries.shift_remove(action).is_none() {
        return Err(GrantError::NotGranted {
            action: action.to_owned(),
        });
    }
    let confirm = entries.is_empty() || present(workspace)? == Belief::Own;
    if !confirm {
        // The last confirmed file contains the revoked grant.
        trust::forget(workspace, &workspace.grants_path())?;
    }
    let what = format!("revoke {action}");
    write(&changing, workspace, &entries, &what, key, confirm)
}

/// Returns the user's confirmation of the present grants; a missing file contains none.
fn present(workspace: &Workspace) -> Result<Belief, GrantError> {
    match files::read(&workspace.grants_path(), MAX_FILE) {
        Ok(bytes) => Ok(belief(workspace, &bytes)),
        Err(error) if is_missing(&error) => Ok(Belief::Own),
        Err(error) => Err(error.into()),
    }
}

fn write(
    changing: &Changing<'_>,
    workspace: &Workspace,
    entries: &Map<String, Value>,
    what: &str,
    key: &SigningKey,
    confirm: bool,
) -> Result<(), GrantError> {
    let path = workspace.grants_path();
    let bytes = pretty(entries);
    let receipt = Receipt {
        place: 0,
        at: clock::text(clock::now_ns()),
        what: what.to_owned(),
        subject: Subject::Grants,
        before: pins::grants_mark(workspace),
        after: pins::grants_mark_of(&bytes),
    };
    let confirm = confirm.then_some(Kind::Grants);
    Ok(changing.replace(&receipt, &path, &bytes, key, confirm)?)
}

/// Counts one use of each of the actions, all or none. Must be called between the decision and the answer: of many
/// concurrent processes, only as many succeed as there are uses left.
///
/// # Errors
/// The file cannot be read or written; nothing may be allowed then.
pub fn count_use(
    workspace: &Workspace,
    actions: &[String],
    now: Timestamp,
) -> Result<Counted, GrantError> {
    let grants = load(workspace);
    if let Some(refused) = refused(&grants, actions, now) {
        return Ok(refused);
    }
    if !actions.iter().any(|action| grants.is_countable(action)) {
        return Ok(Counted::Yes(Vec::new()));
    }
    let changing = Changing::begin(workspace)?;
    let entries = read(workspace)?;
    let grants = load(workspace);
    if let Some(refused) = refused(&grants, actions, now) {
        return Ok(refused);
    }
    let mut counted = Vec::new();
    let mut left = Vec::new();
    for action in actions {
        if grants.is_countable(action) {
            let uses = entries.get(action).and_then(|entry| entry.get("uses"));
            let uses = uses.and_then(Value::as_u64).unwrap_or(0);
            counted.push(action.clone());
            left.push((action.clone(), uses.saturating_sub(1)));
        }
    }
    let path = workspace.grants_path();
    let text = files::read(&path, MAX_FILE)?;
    let text = use_once(&String::from_utf8_lossy(&text), &counted).map_err(|error| {
        GrantError::NotGrants {
            path: path.clone(),
            why: error.to_string(),
        }
    })?;
    // First the file, then the line: a crash between the two loses a use, and never adds one.
    sealed_files::announce(workspace.state(), &path, Some(text.as_bytes()))?;
    files::write(&path, text.as_bytes(), Privacy::Secret)?;
    trust::note_uses(workspace, &path, &left)?;
    for (action, _) in &left {
        changing.used(action)?;
    }
    Ok(Counted::Yes(left))
}

/// Returns the first of the actions that is not granted any more: its entry may have been removed since the decision.
fn refused(grants: &Grants, actions: &[String], now: Timestamp) -> Option<Counted> {
    actions
        .iter()
        .find_map(|action| match grants.standing(action, now) {
            Standing::Granted => None,
            Standing::Unconfirmed(why) | Standing::Refused(why) => {
                Some(Counted::No(action.clone(), why))
            }
        })
}

fn pretty(entries: &Map<String, Value>) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(entries).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn read(workspace: &Workspace) -> Result<Map<String, Value>, GrantError> {
    let path = workspace.grants_path();
    let bytes = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if is_missing(&error) => return Ok(Map::new()),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&bytes);
    parse_entries(&text).map_err(|why| GrantError::NotGrants { path, why })
}

fn is_missing(error: &FileError) -> bool {
    error.source.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests;
