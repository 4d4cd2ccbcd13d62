//! Lines that wait on this machine while the database is away: synced, bounded, delivered in order, each once.

use std::io;
use std::path::{Path, PathBuf};

use ::routing::shared::{Line, Log, SharedError};
use base::files::{self, FileError, Lock};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Numbered;

/// Most bytes of waiting lines.
const MOST: u64 = 64 * 1024 * 1024;

/// Most lines per delivery.
const BATCH: usize = 2000;

/// The queue's file.
#[derive(Debug)]
pub(super) struct Queue {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Written {
    id: String,
    log: String,
    role: String,
    text: String,
}

impl Queue {
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Returns the bytes of the waiting lines.
    pub(super) fn bytes(&self) -> u64 {
        files::metadata(&self.path).map_or(0, |facts| facts.len())
    }

    /// Stores lines; on return they survive a power cut.
    pub(super) fn add(&self, lines: &[Numbered]) -> Result<(), SharedError> {
        let written = |one: &Numbered| Written {
            id: one.id.to_string(),
            log: one.line.log.name().to_owned(),
            role: one.line.role.clone(),
            text: one.line.text.clone(),
        };
        let mut text = String::new();
        for line in lines {
            text.push_str(&serde_json::to_string(&written(line)).unwrap_or_default());
            text.push('\n');
        }
        let _alone = Lock::beside(&self.path).map_err(|error| failed(&error))?;
        if self.bytes().saturating_add(text.len() as u64) > MOST {
            return Err(SharedError {
                detail: format!(
                    "the store is away, and `{}` is full; the line is not kept",
                    self.path.display()
                ),
                is_away: true,
            });
        }
        files::append_line(&self.path, &text, true)
            .map(drop)
            .map_err(|error| failed(&error))
    }

    /// Passes all waiting lines to `send`, and removes them if that succeeds.
    pub(super) fn deliver(
        &self,
        mut send: impl FnMut(&[Numbered]) -> Result<(), SharedError>,
    ) -> Result<usize, SharedError> {
        if self.bytes() == 0 {
            return Ok(0);
        }
        let _alone = Lock::beside(&self.path).map_err(|error| failed(&error))?;
        let bytes = match files::read(&self.path, MOST) {
            Ok(bytes) => bytes,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(failed(&error)),
        };
        let lines: Vec<Numbered> = bytes
            .split(|byte| *byte == b'\n')
            // A line that a crash tore was not acknowledged.
            .filter_map(read)
            .collect();
        for batch in lines.chunks(BATCH) {
            send(batch)?;
        }
        // After a crash here they are sent again, and their ids prevent duplicates.
        files::remove_file(&self.path).map_err(|error| SharedError {
            detail: format!("cannot remove `{}`: {error}", self.path.display()),
            is_away: false,
        })?;
        Ok(lines.len())
    }
}

fn read(line: &[u8]) -> Option<Numbered> {
    let written: Written = serde_json::from_slice(line).ok()?;
    let log = Log::ALL.into_iter().find(|log| log.name() == written.log)?;
    Some(Numbered {
        id: Uuid::parse_str(&written.id).ok()?,
        line: Line::new(log, &written.role, &written.text),
    })
}

fn failed(error: &FileError) -> SharedError {
    SharedError {
        detail: format!("{error}: {}", error.source),
        is_away: false,
    }
}
