//! Prepares the evidence of a workspace for the archive of a team and processes the answers. No network; the caller
//! posts.
//!
//! There is no second copy of anything: a durable [`cursor`] records how far the ledger, the journals and the run log
//! were acknowledged. A shipment that was sent and not acknowledged is sent again, and the archive stores everything
//! once. The proofs of the archive are checked against its pinned key and kept in `.role-os/ship/`.

pub mod cursor;
mod due;

use std::path::{Path, PathBuf};

use base::files::{self, FileError, Lock, Privacy};
use base::workspace::Workspace;
use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};
use witness::ledger::Leaf;
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::SignedCheckpoint;
use witness::ledger::proof::{ConsistencyProof, InclusionProof};

use crate::ledger::LedgerError;
use crate::store::Store;
use cursor::{Cursor, Refusal, Server};

pub use due::Batch;

/// Most refused items that are remembered; beyond that, the oldest are forgotten.
const MAX_REFUSED: usize = 10_000;

/// Identity of the archive, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityAnswer {
    /// Name of its ledger.
    pub origin: String,
    /// The public keys that sign its checkpoints, in hexadecimal digits, newest first.
    pub keys: Vec<String>,
    /// Number of leaves.
    pub size: u64,
}

/// Result for a shipment, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShipAnswer {
    /// The signed checkpoint to which the proofs lead.
    pub checkpoint: Option<String>,
    /// Proof that the ledger continues the one that the sender has seen.
    pub growth: Option<String>,
    /// For each frame, in order.
    pub items: Vec<ItemAnswer>,
}

/// Result for one frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemAnswer {
    /// `stored`, `known` or `refused`.
    pub status: String,
    /// Reason of a refusal, as a stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Reason of a refusal, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The proof of a bundle up to the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// Reason why nothing can be sent, or an answer is not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShipError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The cursor cannot be read.
    #[error("`{}` cannot be read: {why}", path.display())]
    Cursor {
        path: PathBuf,
        /// Error of reading it.
        why: String,
    },
    /// The archive has another name or key than before.
    #[error("the archive is not the one that was known: {0}")]
    OtherServer(String),
    /// The archive's answer proves nothing.
    #[error("the answer of the archive is not believed: {0}")]
    NotBelieved(String),
}

/// Counts of the shipping so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shipped {
    /// Bundles that the archive has now.
    pub bundles: u64,
    /// Lines that it has now.
    pub lines: u64,
    /// Number of these that it had before.
    pub known: u64,
    /// Items that it refuses.
    pub refused: u64,
}

/// One line of the receipts.
#[derive(Debug, Serialize)]
struct Receipt<'a> {
    task_id: String,
    sha256: String,
    origin: &'a str,
    proof: String,
}

/// The shipping of one workspace to one archive, locked.
#[derive(Debug)]
pub struct Shipping {
    workspace: Workspace,
    store: Store,
    folder: PathBuf,
    path: PathBuf,
    /// Position reached.
    pub cursor: Cursor,
    _lock: Lock,
}

impl Shipping {
    /// Locks the shipping of a workspace, so that two processes do not send the same data; waits for a running one.
    ///
    /// # Errors
    /// The cursor cannot be read or locked.
    pub fn open(workspace: &Workspace, store: &Store, url: &str) -> Result<Self, ShipError> {
        let folder = workspace.role_os_dir().join("ship");
        files::make_directory(&folder, Privacy::Secret)?;
        let lock = Lock::take_patiently(&folder.join(".lock"))?;
        let hash = hex::encode(base::digest(url.as_bytes()));
        let name = hash.get(..16).unwrap_or_default();
        let path = folder.join(format!("{name}.json"));
        Ok(Self {
            cursor: Cursor::read(&path, url)?,
            workspace: workspace.clone(),
            store: store.clone(),
            folder,
            path,
            _lock: lock,
        })
    }

    /// Returns the state without locking, for a report.
    ///
    /// # Errors
    /// The cursor cannot be read.
    pub fn look(workspace: &Workspace, url: &str) -> Result<Cursor, ShipError> {
        let hash = hex::encode(base::digest(url.as_bytes()));
        let name = format!("ship/{}.json", hash.get(..16).unwrap_or_default());
        Cursor::read(&workspace.role_os_dir().join(name), url)
    }

    /// Pins the archive at the first contact, and compares it later; with `again`, pins the new one.
    ///
    /// # Errors
    /// The archive is not the pinned one, or its identity is malformed.
    pub fn meet(&mut self, answer: &IdentityAnswer, again: bool) -> Result<(), ShipError> {
        let keys: Vec<&String> = answer.keys.iter().take(16).collect();
        if Origin::parse(&answer.origin).is_err()
            || keys
                .iter()
                .filter_map(|key| parse_key(key))
                .next()
                .is_none()
        {
            let why = "it does not say under which name and key it signs".to_owned();
            return Err(ShipError::NotBelieved(why));
        }
        let server = Server {
            origin: answer.origin.clone(),
            keys: keys.into_iter().cloned().collect(),
        };
        match &self.cursor.server {
            Some(known) if !again && known.origin != server.origin => {
                let why = format!(
                    "its ledger is `{}`, it was `{}`",
                    server.origin, known.origin
                );
                return Err(ShipError::OtherServer(why));
            }
            Some(known) if !again && !server.keys.iter().any(|key| known.keys.contains(key)) => {
                let why = "none of its keys is one that it had".to_owned();
                return Err(ShipError::OtherServer(why));
            }
            // A further key counts if a pinned key vouches for the ledger as well; `again` pins it.
            Some(_) if !again => return Ok(()),
            _ => {}
        }
        if again {
            self.cursor = Cursor::of(&self.cursor.url);
        }
        self.cursor.server = Some(server);
        self.save()
    }

    /// Returns the next shipment, signed; `None` if everything is sent.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn next(&mut self, key: &SigningKey) -> Result<Option<(Batch, Vec<u8>)>, ShipError> {
        let next = due::next(&self.workspace, &self.store, &mut self.cursor, key)?;
        if next.is_none() {
            self.save()?;
        }
        Ok(next)
    }

    /// Accepts an answer after checking its proofs, stores them, and advances the cursor.
    ///
    /// # Errors
    /// The answer is not accepted, and everything will be sent again; or a file cannot be written.
    pub fn settle(&mut self, batch: Batch, answer: &ShipAnswer) -> Result<Shipped, ShipError> {
        let doubt = |why: String| ShipError::NotBelieved(why);
        if answer.items.len() != batch.sent.len() {
            let why = format!(
                "it answers {} of {} items",
                answer.items.len(),
                batch.sent.len()
            );
            return Err(doubt(why));
        }
        let keys = self.pinned()?;
        let checkpoint = self.checked(answer, &keys)?;
        let mut receipts = String::new();
        let mut shipped = Shipped::default();
        let mut refused = Vec::new();
        for (sent, item) in batch.sent.iter().zip(&answer.items) {
            let is_known = match item.status.as_str() {
                "stored" => false,
                "known" => true,
                "refused" => {
                    shipped.refused += 1;
                    refused.push(Refusal::of(sent, item));
                    continue;
                }
                other => return Err(doubt(format!("an item is `{other}`"))),
            };
            shipped.known += u64::from(is_known);
            let due::Sent::Bundle { leaf, .. } = sent else {
                shipped.lines += 1;
                continue;
            };
            shipped.bundles += 1;
            let (text, origin) = proved(leaf, item, checkpoint.as_ref(), &keys).map_err(doubt)?;
            let receipt = Receipt {
                task_id: leaf.task_id.to_string(),
                sha256: hex::encode(leaf.bundle_sha256),
                origin: &origin,
                proof: text,
            };
            receipts.push_str(&serde_json::to_string(&receipt).unwrap_or_default());
            receipts.push('\n');
        }
        if !receipts.is_empty() {
            let path = self.folder.join("receipts.jsonl");
            if !path.exists() {
                files::write(&path, b"", Privacy::Secret)?;
            }
            files::append(&path, receipts.as_bytes())?;
        }
        self.cursor.advance(batch, refused, MAX_REFUSED);
        if let Some((signed, size)) = checkpoint {
            self.cursor.checkpoint = Some(signed.to_text());
            self.cursor.seen = size;
        }
        self.cursor.failures = 0;
        self.cursor.next_try_ns = 0;
        self.save()?;
        Ok(shipped)
    }

    /// Notes that the archive could not be reached, so that the next background attempt waits.
    ///
    /// # Errors
    /// The cursor cannot be written.
    pub fn postpone(&mut self, asked: std::time::Duration) -> Result<(), ShipError> {
        self.cursor.postpone(base::clock::now_ns(), asked);
        self.save()
    }

    /// Marks refused items to be sent once more.
    pub fn retry_refused(&mut self) {
        self.cursor.retry_refused();
    }

    fn save(&self) -> Result<(), ShipError> {
        Ok(self.cursor.write(&self.path)?)
    }

    fn pinned(&self) -> Result<Vec<PublicKey>, ShipError> {
        let server = self.cursor.server.as_ref();
        let keys = server.map(|server| server.keys.iter().filter_map(|key| parse_key(key)));
        let keys: Vec<PublicKey> = keys.into_iter().flatten().collect();
        if keys.is_empty() {
            return Err(ShipError::NotBelieved("no key of it is pinned".to_owned()));
        }
        Ok(keys)
    }

    /// Checks the checkpoint of an answer: signed by a pinned key, of the pinned ledger, and not older than the last.
    fn checked(
        &self,
        answer: &ShipAnswer,
        keys: &[PublicKey],
    ) -> Result<Option<(SignedCheckpoint, u64)>, ShipError> {
        let doubt = |why: &dyn std::fmt::Display| ShipError::NotBelieved(why.to_string());
        let Some(text) = &answer.checkpoint else {
            return match self.cursor.seen {
                0 => Ok(None),
                _ => Err(doubt(&"its ledger is empty, and was not")),
            };
        };
        let signed = SignedCheckpoint::parse(text).map_err(|error| doubt(&error))?;
        let attested = signed.verify(keys).map_err(|error| doubt(&error))?;
        let later = attested.checkpoint();
        let pinned = self.cursor.server.as_ref().map(|server| &server.origin);
        if pinned.is_none_or(|origin| later.origin().as_str() != origin) {
            return Err(doubt(&"the checkpoint is one of another ledger"));
        }
        let known = self
            .cursor
            .checkpoint
            .as_deref()
            .map(SignedCheckpoint::parse);
        let known = known.transpose().map_err(|error| doubt(&error))?;
        let known = known.map(|known| known.verify(keys)).transpose();
        if let Some(known) = known.map_err(|error| doubt(&error))? {
            let earlier = known.checkpoint();
            if earlier.size() > later.size() {
                return Err(doubt(&"its ledger became shorter"));
            }
            let is_same = earlier == later;
            let growth = answer.growth.as_deref().map(ConsistencyProof::parse);
            match growth.transpose().map_err(|error| doubt(&error))? {
                _ if is_same => {}
                Some(proof) => {
                    let grown = proof.verify(earlier, keys).map_err(|error| doubt(&error))?;
                    if grown.checkpoint().size() < later.size() && grown.checkpoint() != later {
                        return Err(doubt(&"the proof of growth ends before the checkpoint"));
                    }
                }
                None => return Err(doubt(&"it does not prove that its ledger only grew")),
            }
        }
        let size = later.size();
        Ok(Some((signed, size)))
    }
}

fn parse_key(digits: &str) -> Option<PublicKey> {
    let bytes: [u8; 32] = hex::decode(digits).ok()?.try_into().ok()?;
    PublicKey::parse(&bytes)
}

/// Checks the proof of one bundle and returns it complete, with the name of the ledger.
fn proved(
    leaf: &Leaf,
    item: &ItemAnswer,
    checkpoint: Option<&(SignedCheckpoint, u64)>,
    keys: &[PublicKey],
) -> Result<(String, String), String> {
    let (Some(head), Some((signed, _))) = (&item.proof, checkpoint) else {
        return Err(format!(
            "it does not prove that it has task {}",
            leaf.task_id
        ));
    };
    let text = format!("{head}\n{signed}");
    let proof = InclusionProof::parse(&text).map_err(|error| error.to_string())?;
    let included = proof
        .verify(leaf, keys)
        .map_err(|error| error.to_string())?;
    let origin = included
        .attested()
        .checkpoint()
        .origin()
        .as_str()
        .to_owned();
    Ok((text, origin))
}

/// Returns the part of a proof before its checkpoint, as an answer carries it.
#[must_use]
pub fn proof_head(proof: &InclusionProof) -> String {
    let text = proof.to_text();
    let head = text
        .split_once("\n\n")
        .map_or(text.as_str(), |(head, _)| head);
    format!("{head}\n")
}

/// Returns the proof that an archive gave for a task, from the receipts of a workspace.
#[must_use]
pub fn receipt_of(workspace: &Workspace, task: &str) -> Option<String> {
    let path: &Path = &workspace.role_os_dir().join("ship/receipts.jsonl");
    let bytes = files::read(path, 1 << 30).ok()?;
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let mut found = lines.filter_map(|line| {
        let value: serde_json::Value = serde_json::from_slice(line).ok()?;
        let is_it = value.get("task_id")?.as_str()? == task;
        is_it.then(|| Some(value.get("proof")?.as_str()?.to_owned()))?
    });
    found.next()
}
