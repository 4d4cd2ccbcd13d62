//! Receipts: every change of grants, settings and approval key that a person made through us, as one signed line.
//!
//! A session pins these files when it begins ([`crate::pins`]); a change without a receipt was not made by a person
//! through us. The file is append-only and synced. Uses of a counted grant are lines without a signature: they can only
//! reduce.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

use crate::clock;
use crate::files::{self, FileError, Lock, Privacy};
use crate::sealed_files;
use crate::starter;
use crate::trust::{self, Confirming, Kind};
use crate::workspace::Workspace;

/// Prefix of the signed bytes, so that the signature cannot be used for anything else.
const CONTEXT: &[u8] = b"roleos receipt ed25519 v1\n";
/// Most bytes of the file that are read.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// `capabilities.json`.
    Grants,
    /// `config.toml`.
    Config,
    /// The key that signs approvals and receipts.
    ApprovalKey,
}

/// State of a file at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Identifies the content: a hash, a public key, or `absent`.
    pub content: String,
    /// Remaining uses of the counted grants; not part of the hash, because every use changes it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uses: BTreeMap<String, u64>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Its offset in the file, so that it cannot be replayed elsewhere. Set when written.
    #[serde(default)]
    pub place: u64,
    /// Time of the change.
    pub at: String,
    /// The command, for people: `grant git:push --uses 3`.
    pub what: String,
    /// The changed file.
    pub subject: Subject,
    /// State before.
    pub before: Mark,
    /// State after.
    pub after: Mark,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A change, with its unverified signature.
    Change(Box<Receipt>, Option<[u8; 64]>),
    /// A counted grant was used.
    Use(String),
    /// A line without meaning here: an approval, or damage.
    Other,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receipt: Option<Receipt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approved: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    denied: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dismissed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

/// A person's decision about a refused act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It may run once; the approval itself is signed elsewhere.
    Approved,
    /// It stays refused, without another question for a while.
    Denied,
    /// It was removed from the list.
    Dismissed,
}

/// Blocks every other change of grants, settings and keys in this workspace while it exists.
#[derive(Debug)]
pub struct Changing<'a> {
    workspace: &'a Workspace,
    _lock: Lock,
}

impl<'a> Changing<'a> {
    /// Waits until no other process makes changes.
    ///
    /// # Errors
    /// The lock cannot be taken.
    pub fn begin(workspace: &'a Workspace) -> Result<Self, FileError> {
        starter::ensure_home(workspace)?;
        let lock = Lock::take(&workspace.role_os_dir().join(".changes.lock"))?;
        Ok(Self {
            workspace,
            _lock: lock,
        })
    }

    /// Replaces a file and writes its receipt: first everything that needs space, then the receipt, then the rename.
    /// With `confirm`, the new content counts as confirmed by the user. Until the file has its new name the old content
    /// counts as well, so that a crash leaves the old state or the new one.
    ///
    /// # Errors
    /// The file has its old content, or the new one and its confirmation is not final.
    pub fn replace(
        &self,
        receipt: &Receipt,
        path: &Path,
        bytes: &[u8],
        key: &SigningKey,
        confirm: Option<Kind>,
    ) -> Result<(), FileError> {
        let by = Confirming {
            what: &receipt.what,
            key: Some(key),
        };
        files::make_directory(files::parent(path), Privacy::Shared)?;
        let prepared = files::prepare(path, bytes, Privacy::Secret)?;
        if let Some(kind) = confirm {
            trust::confirm_next(self.workspace, path, bytes, kind, &by)?;
        }
        self.record(receipt, key)?;
        sealed_files::announce(self.workspace.state(), path, Some(bytes))?;
        fail_for_a_test(path, bytes)?;
        prepared.commit()?;
        confirm.map_or(Ok(()), |kind| {
            trust::confirm(self.workspace, path, bytes, kind, &by)
        })
    }

    /// Writes a receipt.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn record(&self, receipt: &Receipt, key: &SigningKey) -> Result<(), FileError> {
        let mut receipt = receipt.clone();
        receipt.place = self.end();
        self.append(&Written {
            signature: Some(hex::encode(key.sign(&message(&receipt)))),
            receipt: Some(receipt),
            ..Written::default()
        })
    }

    /// Returns the offset of the next line.
    fn end(&self) -> u64 {
        let length = length(self.workspace);
        length + u64::from(self.is_torn())
    }

    /// Returns `true` if the last line is torn; it must not merge with the next one.
    fn is_torn(&self) -> bool {
        let bytes = files::read(&self.workspace.receipts_path(), MAX_FILE);
        bytes.is_ok_and(|bytes| !bytes.is_empty() && !bytes.ends_with(b"\n"))
    }

    /// Records the use of a counted grant.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn used(&self, action: &str) -> Result<(), FileError> {
        self.append(&Written {
            used: Some(action.to_owned()),
            at: Some(clock::text(clock::now_ns())),
            ..Written::default()
        })
    }

    /// Records a person's decision about a refused act.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn decided(&self, id: &str, decided: Decided) -> Result<(), FileError> {
        let mut line = Written {
            at: Some(clock::text(clock::now_ns())),
            ..Written::default()
        };
        let place = match decided {
            Decided::Approved => &mut line.approved,
            Decided::Denied => &mut line.denied,
            Decided::Dismissed => &mut line.dismissed,
        };
        *place = Some(id.to_owned());
        self.append(&line)
    }

    fn append(&self, line: &Written) -> Result<(), FileError> {
        let path = self.workspace.receipts_path();
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        if self.is_torn() {
            text.insert(0, b'\n');
        }
        text.push(b'\n');
        if !path.exists() {
            // Other users need not read the decisions.
            files::write(&path, b"", Privacy::Secret)?;
        }
        files::append(&path, &text)
    }
}

/// Fails a rename, for the tests. A release build does not know the name.
#[cfg(debug_assertions)]
fn fail_for_a_test(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    if memchr::memmem::find(bytes, b"roleos-test-rename").is_none() {
        return Ok(());
    }
    let source = std::io::Error::other("as the test asked");
    Err(FileError::new(files::Action::Write, path, source))
}

#[cfg(not(debug_assertions))]
fn fail_for_a_test(_: &Path, _: &[u8]) -> Result<(), FileError> {
    Ok(())
}

/// Returns the length of the file.
#[must_use]
pub fn length(workspace: &Workspace) -> u64 {
    files::metadata(&workspace.receipts_path()).map_or(0, |facts| facts.len())
}

/// Returns the lines after the first `skip` bytes.
///
/// # Errors
/// The file cannot be read, or is shorter than that, because it was truncated.
pub fn read_from(workspace: &Workspace, skip: u64) -> Result<Vec<Line>, String> {
    let path = workspace.receipts_path();
    let bytes = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if skip == 0 && error.source.kind() == std::io::ErrorKind::NotFound => {
            Vec::new()
        }
        Err(error) => {
            return Err(format!(
                "`{}` cannot be read: {}",
                path.display(),
                error.source
            ));
        }
    };
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let rest = bytes
        .get(skip..)
        .ok_or_else(|| format!("`{}` was cut", path.display()))?;
    let mut place = skip as u64;
    let mut lines = Vec::new();
    for line in rest.split(|&byte| byte == b'\n') {
        if !line.is_empty() {
            lines.push(parse(line, place));
        }
        place += line.len() as u64 + 1;
    }
    Ok(lines)
}

/// Returns when something was decided or used, and what, oldest first. Signatures are not checked: this is for people to
/// look at, and decides nothing.
///
/// # Errors
/// The file cannot be read.
pub fn history(workspace: &Workspace) -> Result<Vec<(String, String)>, FileError> {
    let bytes = match files::read(&workspace.receipts_path(), MAX_FILE) {
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes?,
    };
    let lines = bytes.split(|&byte| byte == b'\n');
    Ok(lines.filter_map(told).collect())
}

fn told(line: &[u8]) -> Option<(String, String)> {
    let written: Written = serde_json::from_slice(line).ok()?;
    if let Some(receipt) = written.receipt {
        return Some((receipt.at, receipt.what));
    }
    let decided = [
        ("approve", written.approved),
        ("deny", written.denied),
        ("dismiss", written.dismissed),
        ("use of the grant", written.used),
    ];
    let decided = decided.into_iter().find_map(|(what, id)| Some((what, id?)));
    let (what, id) = decided?;
    Some((written.at.unwrap_or_default(), format!("{what} {id}")))
}

fn parse(line: &[u8], place: u64) -> Line {
    let Ok(written) = serde_json::from_slice::<Written>(line) else {
        return Line::Other;
    };
    match (written.receipt, written.used) {
        (Some(receipt), None) if receipt.place == place => {
            let signature = written.signature.and_then(|text| hex::decode(text).ok());
            Line::Change(
                Box::new(receipt),
                signature.and_then(|bytes| bytes.try_into().ok()),
            )
        }
        (None, Some(action)) => Line::Use(action),
        _ => Line::Other,
    }
}

/// Returns `true` if the receipt was signed with the private half of `key`.
#[must_use]
pub fn is_signed_by(receipt: &Receipt, signature: Option<&[u8; 64]>, key: &PublicKey) -> bool {
    signature.is_some_and(|signature| key.verifies(&message(receipt), signature))
}

fn message(receipt: &Receipt) -> Vec<u8> {
    let mut bytes = CONTEXT.to_vec();
    bytes.extend(serde_json::to_vec(receipt).unwrap_or_default());
    bytes
}
