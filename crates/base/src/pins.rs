//! Pins the content of grants, settings and approval key at the start of a session. A change that a person did not make
//! through us voids the grants for that session.
//!
//! The pin is a value that the session's journal keeps. Checking it again reads three small files; the receipts only if
//! something is new.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use witness::key::PublicKey;

use crate::approval_key;
use crate::environment::Environment;
use crate::files;
use crate::grants;
use crate::receipts::{self, Line, Mark, Receipt, Subject};
use crate::trust::Trust;
use crate::workspace::Workspace;

/// Longest settings file that is hashed; a longer one is refused elsewhere.
const MAX_CONFIG: u64 = 1024 * 1024;
const ABSENT: &str = "absent";

/// State of the files at the start of a session. Stored in its journal as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    grants: Mark,
    config: Mark,
    approval_key: Mark,
    /// Length of the receipts: later ones were written in this session.
    receipts: u64,
}

/// Result of checking a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing changed, or a person changed it through us.
    Yes,
    /// Another program changed it; a sentence for the refusal.
    No(String),
}

/// Pins the present state. Must be called at the start of a session.
#[must_use]
pub fn pin(workspace: &Workspace, environment: &Environment) -> Pin {
    Pin {
        grants: grants_mark(workspace),
        config: config_mark(&workspace.settings_path(environment)),
        approval_key: key_mark(workspace),
        receipts: receipts::length(workspace),
    }
}

/// Checks that the grants may be trusted in the session that began with `pin`.
#[must_use]
pub fn check(pin: &Pin, workspace: &Workspace, environment: &Environment) -> Held {
    // In an initialised workspace, each of these files counts only with its confirmation.
    if Trust::of(workspace).is_initialised() {
        return Held::Yes;
    }
    let now = self::pin(workspace, environment);
    if now == *pin {
        return Held::Yes;
    }
    let known = match followed(pin, workspace) {
        Ok(known) => known,
        Err(why) => return changed(&why),
    };
    if now.approval_key != known.approval_key {
        return changed("the approval key is another one");
    }
    if now.config != known.config {
        return changed("the settings file was changed");
    }
    let more_uses = now.grants.uses.iter().any(|(action, left)| {
        let known = known.grants.uses.get(action);
        known.is_none_or(|known| left > known)
    });
    if now.grants.content != known.grants.content || more_uses {
        return changed("the grants in `capabilities.json` were changed");
    }
    Held::Yes
}

/// Returns `true` if the settings are unchanged since the start of the session, or a person changed them through us. A
/// stricter value counts without a confirmation, so replacing the file by a confirmed one is not enough.
#[must_use]
pub fn settings_hold(pin: &Pin, workspace: &Workspace, environment: &Environment) -> bool {
    let now = config_mark(&workspace.settings_path(environment));
    now == pin.config || followed(pin, workspace).is_ok_and(|known| now == known.config)
}

/// Returns the pin with every change that a person made through us since.
fn followed(pin: &Pin, workspace: &Workspace) -> Result<Pin, String> {
    let mut known = pin.clone();
    for line in receipts::read_from(workspace, pin.receipts)? {
        match line {
            Line::Use(action) => {
                if let Some(left) = known.grants.uses.get_mut(&action) {
                    *left = left.saturating_sub(1);
                }
            }
            Line::Change(receipt, signature) => follow(&mut known, &receipt, signature.as_ref()),
            Line::Other => {}
        }
    }
    Ok(known)
}

/// Applies a receipt if it continues the known state and was signed with the known key.
fn follow(known: &mut Pin, receipt: &Receipt, signature: Option<&[u8; 64]>) {
    // The very first key can only sign for itself.
    let signer = match (receipt.subject, known.approval_key.content.as_str()) {
        (Subject::ApprovalKey, ABSENT) => &receipt.after.content,
        (_, content) => content,
    };
    let Some(key) = public_key(signer) else {
        return;
    };
    if !receipts::is_signed_by(receipt, signature, &key) {
        return;
    }
    let mark = match receipt.subject {
        Subject::Grants => &mut known.grants,
        Subject::Config => &mut known.config,
        Subject::ApprovalKey => &mut known.approval_key,
    };
    let continues = mark.content == receipt.before.content
        && receipt
            .before
            .uses
            .iter()
            .all(|(action, left)| mark.uses.get(action).is_some_and(|known| left <= known));
    if continues {
        *mark = receipt.after.clone();
    }
}

fn changed(what: &str) -> Held {
    Held::No(format!(
        "{what} since this session began, and not by `roleos`; all grants and approvals are void in it, until a person \
         ends it and starts the agent anew"
    ))
}

pub(crate) fn public_key(content: &str) -> Option<PublicKey> {
    let bytes: [u8; 32] = hex::decode(content).ok()?.try_into().ok()?;
    PublicKey::parse(&bytes)
}

/// Returns the mark of the present grants.
pub(crate) fn grants_mark(workspace: &Workspace) -> Mark {
    match files::read(&workspace.grants_path(), grants::MAX_FILE) {
        Ok(bytes) => grants_mark_of(&bytes),
        Err(error) => unread(error.source.kind()),
    }
}

/// Returns the mark of grants. The hash covers everything but the remaining uses: those may decrease without a receipt,
/// never increase.
pub(crate) fn grants_mark_of(bytes: &[u8]) -> Mark {
    let mut uses = BTreeMap::new();
    let content = match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(mut entries)) => {
            for (action, entry) in &mut entries {
                let Some(left) = entry.get_mut("uses") else {
                    continue;
                };
                if let Some(number) = left.as_u64() {
                    uses.insert(action.clone(), number);
                    *left = Value::Bool(true);
                }
            }
            let sorted: BTreeMap<_, _> = entries.into_iter().collect();
            serde_json::to_vec(&sorted).unwrap_or_default()
        }
        _ => bytes.to_vec(),
    };
    Mark {
        content: hex::encode(crate::digest(&content)),
        uses,
    }
}

/// Returns the mark of the present settings.
pub(crate) fn config_mark(path: &Path) -> Mark {
    match files::read(path, MAX_CONFIG) {
        Ok(bytes) => content_mark(&bytes),
        Err(error) => unread(error.source.kind()),
    }
}

/// Returns the mark of a file with this content.
#[must_use]
pub fn content_mark(bytes: &[u8]) -> Mark {
    Mark {
        content: hex::encode(crate::digest(bytes)),
        ..Mark::default()
    }
}

/// Returns the mark of the present approval key.
pub(crate) fn key_mark(workspace: &Workspace) -> Mark {
    match approval_key::verifying_key(workspace) {
        Ok(key) => key_mark_of(key.as_ref()),
        Err(_) => Mark {
            content: "unreadable".to_owned(),
            ..Mark::default()
        },
    }
}

pub(crate) fn key_mark_of(key: Option<&PublicKey>) -> Mark {
    Mark {
        content: key.map_or_else(|| ABSENT.to_owned(), |key| hex::encode(key.to_bytes())),
        ..Mark::default()
    }
}

fn unread(kind: io::ErrorKind) -> Mark {
    let content = match kind {
        io::ErrorKind::NotFound => ABSENT.to_owned(),
        kind => format!("{kind:?}"),
    };
    Mark {
        content,
        ..Mark::default()
    }
}

#[cfg(test)]
mod tests;
