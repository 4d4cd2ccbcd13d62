//! Positions that an archive acknowledged for a workspace: one small file that is replaced as a whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use base::files::{self, FileError, Privacy};
use serde::{Deserialize, Serialize};

use super::due::{Batch, Sent};
use super::{ItemAnswer, ShipError};

/// Largest cursor that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// The first pause after a failure; every further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// The archive as it was pinned at the first contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Name of its ledger.
    pub origin: String,
    /// Its public keys, in hexadecimal digits.
    pub keys: Vec<String>,
}

/// Position that was sent of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reached {
    /// Length of the whole lines sent.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u64,
}

/// An item that the archive refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Index of the bundle in our ledger, or number of the line.
    pub number: u64,
    /// The log of a line; `None` for a bundle.
    pub log: Option<String>,
    /// The task of a bundle.
    pub task_id: Option<String>,
    /// Reason, as a stable name.
    pub code: String,
    /// Reason, as a sentence.
    pub why: String,
}

impl Refusal {
    pub(super) fn of(sent: &Sent, item: &ItemAnswer) -> Self {
        let code = item.code.clone().unwrap_or_else(|| "refused".to_owned());
        let why = item.why.clone().unwrap_or_default();
        match sent {
            Sent::Bundle { index, leaf } => Self {
                number: *index,
                log: None,
                task_id: Some(leaf.task_id.to_string()),
                code,
                why,
            },
            Sent::Line { log, number } => Self {
                number: *number,
                log: Some(log.as_str().to_owned()),
                task_id: None,
                code,
                why,
            },
        }
    }
}

/// Positions that were sent to one archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The archive's address.
    pub url: String,
    /// The pinned archive.
    pub server: Option<Server>,
    /// Its newest checkpoint.
    pub checkpoint: Option<String>,
    /// Number of leaves in that checkpoint.
    pub seen: u64,
    /// Number of our ledger's leaves that were answered.
    pub bundles: u64,
    /// Lines that were answered, by log.
    pub logs: BTreeMap<String, Reached>,
    /// Items that it refuses.
    pub refused: Vec<Refusal>,
    /// Bundles to be sent once more, by their index.
    pub again: Vec<u64>,
    /// Attempts that failed one after another.
    pub failures: u32,
    /// Earliest time of the next background attempt.
    pub next_try_ns: u64,
}

impl Cursor {
    /// Creates the cursor of an archive, at the beginning.
    #[must_use]
    pub fn of(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            server: None,
            checkpoint: None,
            seen: 0,
            bundles: 0,
            logs: BTreeMap::new(),
            refused: Vec::new(),
            again: Vec::new(),
            failures: 0,
            next_try_ns: 0,
        }
    }

    pub(super) fn read(path: &Path, url: &str) -> Result<Self, ShipError> {
        let bytes = match files::read(path, MAX_FILE) {
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::of(url));
            }
            read => read?,
        };
        serde_json::from_slice(&bytes).map_err(|error| ShipError::Cursor {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), FileError> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        files::write(path, &text, Privacy::Secret)
    }

    pub(super) fn advance(&mut self, batch: Batch, refused: Vec<Refusal>, most: usize) {
        self.bundles = batch.bundles;
        self.logs = batch.logs;
        self.again.retain(|index| !batch.again.contains(index));
        self.refused.extend(refused);
        let over = self.refused.len().saturating_sub(most);
        self.refused.drain(..over);
    }

    pub(super) fn postpone(&mut self, now_ns: u64, asked: Duration) {
        let factor = 1_u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX);
        let pause = FIRST_PAUSE
            .saturating_mul(factor)
            .max(asked)
            .min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        let pause = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        self.next_try_ns = now_ns.saturating_add(pause);
    }

    /// Returns `true` if a background attempt should wait. A clock that was set back does not stop it for ever.
    #[must_use]
    pub fn waits(&self, now_ns: u64) -> bool {
        let longest = u64::try_from(LONGEST_PAUSE.as_nanos()).unwrap_or(u64::MAX);
        now_ns < self.next_try_ns && self.next_try_ns - now_ns <= longest
    }

    pub(super) fn retry_refused(&mut self) {
        let bundles = self.refused.iter().filter(|one| one.log.is_none());
        let can_change = bundles.filter(|one| one.code == "unknown_key" || one.code == "too_large");
        self.again.extend(can_change.map(|one| one.number));
        self.again.sort_unstable();
        self.again.dedup();
        let again = &self.again;
        self.refused
            .retain(|one| one.log.is_some() || !again.contains(&one.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_and_a_clock_set_back_does_not_stop_shipping() {
        let mut cursor = Cursor::of("http://x");
        let mut pauses = Vec::new();
        for _ in 0..12 {
            cursor.postpone(1_000, Duration::ZERO);
            pauses.push((cursor.next_try_ns - 1_000) / 1_000_000_000);
        }
        assert_eq!(pauses[..4], [5, 10, 20, 40]);
        assert_eq!(pauses[11], 900);
        assert!(cursor.waits(2_000));
        cursor.next_try_ns = u64::MAX;
        assert!(!cursor.waits(2_000));
    }
}
