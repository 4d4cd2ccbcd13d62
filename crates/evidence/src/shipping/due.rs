//! The next shipment: bundles in the order of the ledger, then decisions of each session, then the run log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use base::files::{self, Action, FileError};
use base::workspace::Workspace;
use serde::Deserialize;
use witness::key::SigningKey;
use witness::ledger::Leaf;

use super::ShipError;
use super::cursor::{Cursor, Reached, Refusal};
use crate::archive::LogName;
use crate::archive::shipment::{MAX_BUNDLE, MAX_LINE, Packer};
use crate::journal::read::journals;
use crate::store::Store;

/// Bytes at which a shipment is closed.
const ENOUGH: usize = 4 * 1024 * 1024;
/// Frames at which a shipment is closed.
const ENOUGH_FRAMES: usize = 1024;

/// Content of one frame of a shipment.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    Bundle { index: u64, leaf: Leaf },
    Line { log: LogName, number: u64 },
}

/// Content of a shipment, and the position after it is acknowledged.
#[derive(Clone, Debug)]
pub struct Batch {
    pub(super) sent: Vec<Sent>,
    pub(super) bundles: u64,
    pub(super) logs: BTreeMap<String, Reached>,
    pub(super) again: Vec<u64>,
}

pub(super) fn next(
    workspace: &Workspace,
    store: &Store,
    cursor: &mut Cursor,
    key: &SigningKey,
) -> Result<Option<(Batch, Vec<u8>)>, ShipError> {
    let mut packing = Packing {
        packer: Packer::new(cursor.seen),
        batch: Batch {
            sent: Vec::new(),
            bundles: cursor.bundles,
            logs: cursor.logs.clone(),
            again: Vec::new(),
        },
    };
    packing.bundles(store, cursor)?;
    packing.decisions(workspace)?;
    packing.runs(workspace)?;
    let Packing { packer, batch } = packing;
    if packer.is_empty() {
        // Nothing to send, but lines that are not decisions were passed.
        cursor.bundles = batch.bundles;
        cursor.logs = batch.logs;
        return Ok(None);
    }
    Ok(Some((batch, packer.sign(key))))
}

struct Packing {
    packer: Packer,
    batch: Batch,
}

/// The part of a journal line that shows if it is a decision.
#[derive(Deserialize)]
struct Kind {
    seq: u64,
    kind: String,
}

impl Packing {
    fn is_full(&self) -> bool {
        self.packer.len() >= ENOUGH || self.packer.frames() >= ENOUGH_FRAMES
    }

    fn bundles(&mut self, store: &Store, cursor: &mut Cursor) -> Result<(), ShipError> {
        let Some(ledger) = store.ledger()? else {
            return Ok(());
        };
        let entries = ledger.entries();
        let again = cursor.again.clone();
        let new = cursor.bundles..entries.len() as u64;
        for (index, is_again) in again
            .into_iter()
            .map(|index| (index, true))
            .chain(new.map(|index| (index, false)))
        {
            if self.is_full() {
                return Ok(());
            }
            let place = usize::try_from(index).unwrap_or(usize::MAX);
            let Some(entry) = entries.get(place) else {
                continue;
            };
            let path = store.witness_dir().join(&entry.file);
            match files::read(&path, MAX_BUNDLE as u64) {
                Ok(bytes) if self.packer.bundle(&bytes) => {
                    let leaf = entry.leaf;
                    self.batch.sent.push(Sent::Bundle { index, leaf });
                }
                // The next shipment begins with it.
                Ok(_) => return Ok(()),
                // A bundle that a person deleted is not sent; its leaf proves that it existed.
                Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => cursor.refused.push(Refusal {
                    number: index,
                    log: None,
                    task_id: Some(entry.leaf.task_id.to_string()),
                    code: "too_large".to_owned(),
                    why: base::said(&error),
                }),
            }
            if is_again {
                self.batch.again.push(index);
            } else {
                self.batch.bundles = index + 1;
            }
        }
        Ok(())
    }

    fn decisions(&mut self, workspace: &Workspace) -> Result<(), ShipError> {
        let found = journals(&workspace.sessions_dir())?;
        let names = |(session, path)| Some((LogName::decisions(&session)?, path));
        let found: Vec<_> = found.into_iter().filter_map(names).collect();
        // The position in a journal is dropped with the journal.
        self.batch.logs.retain(|name, _| {
            name == LogName::RUNS || found.iter().any(|(log, _)| log.as_str() == name)
        });
        for (log, path) in found {
            self.lines(&log, &path, |text, _| {
                let kind: Kind = serde_json::from_slice(text).ok()?;
                (kind.kind == "call").then_some(kind.seq)
            })?;
        }
        Ok(())
    }

    fn runs(&mut self, workspace: &Workspace) -> Result<(), ShipError> {
        let path = workspace.role_os_dir().join("run_log.jsonl");
        let is_object = |text: &[u8]| serde_json::from_slice::<serde_json::Map<_, _>>(text).is_ok();
        self.lines(&LogName::runs(), &path, |text, line| {
            is_object(text).then_some(line)
        })
    }

    /// Adds the unsent lines of a log to which `number` assigns a number.
    fn lines(
        &mut self,
        log: &LogName,
        path: &Path,
        number: impl Fn(&[u8], u64) -> Option<u64>,
    ) -> Result<(), ShipError> {
        if self.is_full() {
            return Ok(());
        }
        let mut reached = self
            .batch
            .logs
            .get(log.as_str())
            .copied()
            .unwrap_or_default();
        let fail = |source| FileError::new(Action::Read, path, source);
        let mut file = match files::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(fail)?,
        };
        let length = file.metadata().map_err(fail)?.len();
        if length < reached.bytes {
            // The file was begun again. Line numbers go on, so that no line is mistaken for an earlier one.
            reached.bytes = 0;
        }
        file.seek(SeekFrom::Start(reached.bytes)).map_err(fail)?;
        let mut reader = BufReader::new(file);
        let mut text = Vec::new();
        while !self.is_full() && read_line(&mut reader, &mut text).map_err(fail)? {
            let line = text.strip_suffix(b"\n").unwrap_or(&text);
            if let Some(number) = number(line, reached.lines).filter(|_| line.len() <= MAX_LINE) {
                if !self.packer.line(log, number, line) {
                    break;
                }
                let log = log.clone();
                self.batch.sent.push(Sent::Line { log, number });
            }
            reached.bytes += text.len() as u64;
            reached.lines += 1;
        }
        self.batch.logs.insert(log.as_str().to_owned(), reached);
        Ok(())
    }
}

/// Reads one whole line; returns `false` if there is none yet.
fn read_line(reader: &mut BufReader<File>, text: &mut Vec<u8>) -> std::io::Result<bool> {
    text.clear();
    let limit = 4 * MAX_LINE as u64;
    reader.by_ref().take(limit).read_until(b'\n', text)?;
    if text.len() as u64 >= limit && !text.ends_with(b"\n") {
        let why = "it has a line that is longer than any of ours";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
    }
    Ok(text.ends_with(b"\n"))
}
