//! The cost of a running session so far: its budget is checked before every call.
//!
//! An agent's record only grows, so the count is stored beside the journal, and the next call reads on from there. If
//! the record was replaced or is shorter than before, it is counted from its beginning.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use oversight::governance::Spent;
use serde::{Deserialize, Serialize};

use super::transcript::{self, Message, Standing};
use crate::journal::SessionId;
use base::digest;
use base::files;
use base::prices::{Prices, Usage};

/// Bytes of transcript read per call; the next call reads the rest.
const MAX_STEP: u64 = 64 * 1024 * 1024;

/// Most answers that may grow at once: an answer is written several times while it grows, by several agents at once.
const GROWING: usize = 256;

/// Bytes in front of the reading position that identify the record.
const MARK: u64 = 256;

/// Largest memory file.
const MAX_MEMORY: u64 = 16 * 1024 * 1024;

/// Cost and tokens so far, and the models whose tokens have no price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Cost and tokens; the tokens of models without a price cost nothing here.
    pub spent: Spent,
    /// Models without a price.
    pub unpriced: Vec<String>,
}

/// Counts cost and tokens from the agent's own record. The caller holds the session's journal.
///
/// # Errors
/// Records of this agent are not supported, or cannot be read; the sentence says why.
pub fn so_far(
    agent: &str,
    record: &Path,
    prices: Prices<'_>,
    memory: &Path,
) -> Result<SoFar, String> {
    let before = Counted::remembered(memory);
    let records = transcript::records(agent, record).map_err(|why| why.to_string())?;
    let mut counted = if before.fits(agent, &records) {
        before.clone()
    } else {
        Counted {
            noted: before.noted.clone(),
            ..Counted::of(agent)
        }
    };
    counted
        .read_on(&records)
        .map_err(|why| format!("`{}` cannot be read: {why}", record.display()))?;
    if counted != before {
        counted.remember(memory);
    }
    Ok(counted.so_far(prices))
}

/// Returns `true` the first time a note is made in a session. The caller holds the session's journal.
#[must_use]
pub fn is_first_note(memory: &Path, note: &str) -> bool {
    let mut counted = Counted::remembered(memory);
    let is_first = !counted.noted.iter().any(|noted| noted == note);
    if is_first && counted.noted.len() < MAX_NOTES {
        counted.noted.push(note.to_owned());
        counted.remember(memory);
    }
    is_first
}

/// Most different notes that are remembered.
const MAX_NOTES: usize = 64;

/// Returns the path of a session's stored count, beside its journal.
#[must_use]
pub fn memory_in(sessions: &Path, session: &SessionId) -> PathBuf {
    session.path_in(sessions).with_extension("spent")
}

/// Forgets the count of a session whose journal is removed.
pub fn forget(memory: &Path) {
    files::forget_older(memory).ok();
    files::remove_file(memory).ok();
}

/// The count, and the position reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    agent: String,
    places: BTreeMap<PathBuf, Place>,
    standing: Standing,
    /// By model, so that a new price applies to tokens that were counted before.
    models: BTreeMap<String, Usage>,
    /// Answers that may still grow, oldest first. One that returns later is counted twice: too much, never too little.
    growing: VecDeque<Growing>,
    /// Notes that the session has received.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    noted: Vec<String>,
}

/// Position reached in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    inode: u64,
    end: u64,
    /// Hash of the bytes in front of the end.
    mark: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Growing {
    id: String,
    model: String,
    usage: Usage,
}

impl Place {
    fn of(path: &Path, end: u64) -> io::Result<Self> {
        // Opening a pipe would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = File::open(path)?;
        let length = end.min(MARK);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact_at(&mut bytes, end - length)?;
        Ok(Self {
            inode: file.metadata()?.ino(),
            end,
            mark: hex::encode(digest(&bytes)),
        })
    }

    /// Returns `true` if the record still holds the bytes that were read.
    fn holds(&self, path: &Path) -> bool {
        Self::of(path, self.end).is_ok_and(|now| now == *self)
    }
}

impl Counted {
    fn remembered(memory: &Path) -> Self {
        let bytes = files::read(memory, MAX_MEMORY).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn remember(&self, memory: &Path) {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        // A lost count is repeated.
        files::write_quickly(memory, &bytes).ok();
    }

    fn of(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            ..Self::default()
        }
    }

    /// Returns `true` if everything counted is in these records.
    fn fits(&self, agent: &str, records: &[PathBuf]) -> bool {
        let mut places = self.places.iter();
        self.agent == agent && places.all(|(path, at)| records.contains(path) && at.holds(path))
    }

    fn read_on(&mut self, records: &[PathBuf]) -> io::Result<()> {
        let mut left = MAX_STEP;
        for path in records {
            let from = self.places.get(path).map_or(0, |place| place.end);
            let step = transcript::read_on(&self.agent, path, from, left, &mut self.standing)?;
            left = left.saturating_sub(step.end - from);
            for message in step.messages {
                self.add(message);
            }
            if step.end > from {
                self.places.insert(path.clone(), Place::of(path, step.end)?);
            }
        }
        Ok(())
    }

    fn add(&mut self, message: Message) {
        let total = self.models.entry(message.model.clone()).or_default();
        let known = self
            .growing
            .iter_mut()
            .find(|one| !one.id.is_empty() && one.id == message.id && one.model == message.model);
        if let Some(known) = known {
            let grown = known.usage.grown(message.usage);
            total.add(grown.less(known.usage));
            known.usage = grown;
            return;
        }
        total.add(message.usage);
        if message.id.is_empty() {
            return;
        }
        self.growing.push_back(Growing {
            id: message.id,
            model: message.model,
            usage: message.usage,
        });
        if self.growing.len() > GROWING {
            self.growing.pop_front();
        }
    }

    fn so_far(&self, prices: Prices<'_>) -> SoFar {
        let mut so_far = SoFar::default();
        let spent = &mut so_far.spent;
        for (model, usage) in &self.models {
            let cost = prices.cost(model, *usage);
            if cost.is_none() && usage.tokens() > 0 {
                so_far.unpriced.push(model.clone());
            }
            spent.cost_microdollars = spent.cost_microdollars.saturating_add(cost.unwrap_or(0));
            spent.tokens = spent.tokens.saturating_add(usage.tokens());
        }
        so_far
    }
}

#[cfg(test)]
mod tests;
