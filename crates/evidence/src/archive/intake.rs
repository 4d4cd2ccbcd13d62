//! Takes shipments in: only enrolled machines may send, and every bundle must bear a good signature of an enrolled key.
//!
//! Judging runs on the caller's thread and one beside it; keeping goes through the [`Group`], so that many requests share
//! one commit.

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

/// From so many frames on a second thread helps.
const WORTH_A_THREAD: usize = 16;

/// Why a whole shipment is not taken.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Its bytes are not a shipment.
    #[error(transparent)]
    Bad(#[from] BadShipment),
    /// Its sender is not enrolled.
    #[error("the key `{0}` of the sender is not enrolled here")]
    UnknownKey(String),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// What became of one frame.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is kept, with a proof where it is a bundle.
    Kept {
        /// It was there before.
        is_known: bool,
        /// Shows that the ledger has it.
        proof: Option<InclusionProof>,
    },
    /// It is not kept.
    Refused {
        /// Stable name of the reason.
        code: &'static str,
        /// The reason in words for people.
        why: String,
    },
}

/// What became of a shipment.
#[derive(Clone, Debug)]
pub struct Taken {
    /// For each frame, in order.
    pub answers: Vec<Answer>,
    /// The checkpoint to which the proofs lead.
    pub checkpoint: Option<Arc<SignedCheckpoint>>,
    /// Shows that the ledger continues the one that the sender has seen.
    pub growth: Option<ConsistencyProof>,
}

/// The way into an archive.
#[derive(Debug)]
pub struct Intake {
    archive: Arc<dyn Archive>,
    group: Group,
}

impl Intake {
    /// Opens the way into an archive.
    #[must_use]
    pub fn of(archive: Arc<dyn Archive>) -> Self {
        Self {
            group: Group::of(Arc::clone(&archive)),
            archive,
        }
    }

    /// The archive.
    #[must_use]
    pub fn archive(&self) -> &Arc<dyn Archive> {
        &self.archive
    }

    /// Takes a shipment in. Everything that is answered as kept is durable.
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

/// Never met: every item has its place.
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
            // Where no thread can be had, this one does all of it.
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
            if parsed.is_err() || text.bytes().first() != Some(&b'{') {
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
