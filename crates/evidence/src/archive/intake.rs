//! Accepts shipments: only enrolled machines may send, and every bundle must bear a valid signature of an enrolled key.
//!
//! Verification runs on the caller's thread and one beside it; storing goes through the [`Group`], so that many
//! requests share one commit.

use std::sync::Arc;
use std::thread;

use serde::de::IgnoredAny;
use witness::bundle::Strictness;
use witness::evidence::Verdict;
use witness::key::Keyring;
use witness::ledger::Leaf;
use witness::ledger::note::SignedCheckpoint;
use witness::ledger::proof::{ConsistencyProof, InclusionProof};

use super::facts::Facts;
use super::group::Group;
use super::shipment::{BadShipment, Frame, Shipment, Slice};
use super::{Archive, ArchiveError, Item, NewBundle, NewLine, Placed};
use crate::judged::Judged;

/// Smallest number of frames for which a second thread pays off.
const WORTH_A_THREAD: usize = 16;

/// Reason why a whole shipment is refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Its bytes are not a shipment.
    #[error(transparent)]
    Bad(#[from] BadShipment),
    /// Its sender is not enrolled.
    #[error("the key `{0}` of the sender is not enrolled here")]
    UnknownKey(String),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Result for one frame.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is stored, with a proof if it is a bundle.
    Kept {
        /// Set if it was stored before.
        is_known: bool,
        /// Proof that the ledger contains it.
        proof: Option<InclusionProof>,
    },
    /// It is not stored.
    Refused {
        /// Stable name of the reason.
        code: &'static str,
        /// The reason, as a sentence for people.
        why: String,
    },
}

/// Result for a shipment.
#[derive(Clone, Debug)]
pub struct Taken {
    /// For each frame, in order.
    pub answers: Vec<Answer>,
    /// The checkpoint to which the proofs lead.
    pub checkpoint: Option<Arc<SignedCheckpoint>>,
    /// Proof that the ledger continues the one that the sender has seen.
    pub growth: Option<ConsistencyProof>,
}

/// Entry point of shipments into an archive.
#[derive(Debug)]
pub struct Intake {
    archive: Arc<dyn Archive>,
    group: Group,
}

impl Intake {
    /// Creates the intake of an archive.
    #[must_use]
    pub fn of(archive: Arc<dyn Archive>) -> Self {
        Self {
            group: Group::of(Arc::clone(&archive)),
            archive,
        }
    }

    #[must_use]
    pub fn archive(&self) -> &Arc<dyn Archive> {
        &self.archive
    }

    /// Processes a shipment. Every item that is answered as kept is durable.
    ///
    /// # Errors
    /// The whole shipment is refused; nothing of it is acknowledged.
    pub fn take(&self, bytes: &Arc<[u8]>) -> Result<Taken, Refused> {
        let shipment = Shipment::parse(bytes)?;
        let enrolled = self.archive.enrolled()?;
        if !enrolled.iter().any(|one| one.key == shipment.sender) {
            return Err(Refused::UnknownKey(shipment.sender.id().to_string()));
        }
        let keys = enrolled.iter().map(|one| one.key).collect();
        let keyring = Keyring::known(Vec::new(), keys);
        let judged = judge_all(&shipment, &keyring);
        let items: Vec<Item> = judged.iter().flatten().cloned().collect();
        let committed = self.group.commit(items)?;
        let mut placed = committed.placed.into_iter();
        let answers = judged.into_iter().map(|judged| match judged {
            Err(refused) => refused,
            Ok(_) => placed.next().map_or_else(lost, answer),
        });
        let answers = answers.collect();
        let growth = match shipment.seen {
            0 => None,
            seen => self.archive.growth(seen)?,
        };
        Ok(Taken {
            answers,
            checkpoint: committed.checkpoint,
            growth,
        })
    }
}

/// Returns the answer for an item without a result, which cannot happen: every item has its place.
fn lost() -> Answer {
    Answer::Refused {
        code: "internal",
        why: "the archive did not say what became of it".to_owned(),
    }
}

fn answer((placed, proof): (Placed, Option<InclusionProof>)) -> Answer {
    match placed {
        Placed::Stored(_) | Placed::Known(_) => Answer::Kept {
            is_known: matches!(placed, Placed::Known(_)),
            proof,
        },
        Placed::Taken => Answer::Refused {
            code: "taken",
            why: "other bytes are kept under this task id or line number".to_owned(),
        },
    }
}

type Judgement = Result<Item, Answer>;

fn judge_all(shipment: &Shipment, keyring: &Keyring) -> Vec<Judgement> {
    let judge = |frames: &[Frame]| -> Vec<Judgement> {
        let judge = |frame| judge(frame, shipment, keyring);
        frames.iter().map(judge).collect()
    };
    let frames = shipment.frames.as_slice();
    if frames.len() < WORTH_A_THREAD {
        return judge(frames);
    }
    let (first, second) = frames.split_at(frames.len() / 2);
    thread::scope(|scope| {
        let beside = thread::Builder::new().spawn_scoped(scope, || judge(second));
        let mut judged = judge(first);
        judged.extend(match beside.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(others)) => others,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // If no thread can be spawned, this one does all the work.
            Err(_) => judge(second),
        });
        judged
    })
}

fn judge(frame: &Frame, shipment: &Shipment, keyring: &Keyring) -> Judgement {
    match frame {
        Frame::Bundle(bytes) => judge_bundle(bytes, keyring),
        Frame::Line { log, number, text } => {
            let parsed: Result<IgnoredAny, _> = serde_json::from_slice(text.bytes());
            let is_text = std::str::from_utf8(text.bytes()).is_ok();
            if parsed.is_err() || !is_text || text.bytes().first() != Some(&b'{') {
                return Err(refused(
                    "bad_line",
                    "the line is not a JSON object".to_owned(),
                ));
            }
            Ok(Item::Line(NewLine {
                writer: shipment.sender.id(),
                log: log.clone(),
                number: *number,
                text: text.clone(),
            }))
        }
    }
}

fn judge_bundle(bytes: &Slice, keyring: &Keyring) -> Judgement {
    let judged = Judged::of(bytes.bytes(), Strictness::Strict, keyring);
    let Judged::Evidence(evidence) = &judged else {
        let verdict = judged.verdict();
        return Err(match verdict {
            Verdict::Unchecked => refused(
                "unknown_key",
                "the bundle is signed by a key that is not enrolled here".to_owned(),
            ),
            verdict => refused(verdict.name(), verdict.explain()),
        });
    };
    if i64::try_from(Leaf::of(evidence).created_ns).is_err() {
        let why = "the bundle states a time after the year 2262".to_owned();
        return Err(refused("bad_time", why));
    }
    let Some(signer) = evidence.signers().ed25519 else {
        let why = "the bundle has no signature by an enrolled public key".to_owned();
        return Err(refused("unsigned", why));
    };
    if evidence.bytes().len() != bytes.bytes().len() {
        let why = "there are bytes behind the end of the bundle".to_owned();
        return Err(refused("malformed", why));
    }
    Ok(Item::Bundle(Box::new(NewBundle {
        leaf: Leaf::of(evidence),
        bytes: bytes.clone(),
        signer,
        facts: Facts::of(evidence.contents()),
    })))
}

fn refused(code: &'static str, why: String) -> Answer {
    Answer::Refused { code, why }
}
