//! Reading the logs: events, probes and the field log, as a whole or from the end as far as needed.

use std::io;
use std::path::Path;

use ::specialist::event::{Event, Kind, Log};
use ::specialist::pointer::Refusal;
use ::specialist::registry::Entry;

use super::{MAX_LOG, OperateError, Specialists, read_or_nothing};
use crate::shared::Log as Kept;
use base::files::{self, FileError};

/// Bytes of the end of a long log that are read first.
const FIRST_LOOK: u64 = 1 << 20;

impl Specialists {
    /// Reads the events log.
    ///
    /// # Errors
    /// It exists and cannot be read.
    pub fn events(&self) -> Result<Log, FileError> {
        Ok(Log::parse(&self.bytes_of(Kept::Events, None)?))
    }

    /// Returns the version that was active before the active one, to which `rollback` goes.
    ///
    /// # Errors
    /// There is none, or a file cannot be read.
    pub fn version_before(&self, role: &str) -> Result<String, OperateError> {
        let registry = self.registry()?;
        let entry = registry
            .entry(role)
            .ok_or_else(|| OperateError::UnknownRole(role.to_owned()))?;
        self.before(entry)
    }

    pub(super) fn before(&self, entry: &Entry) -> Result<String, OperateError> {
        let role = &entry.role;
        let active = entry.active_version.clone();
        let active = active.ok_or_else(|| Refusal::NothingActive(role.to_owned()))?;
        let events = self.events()?;
        let moves: Vec<&Event> = events.of(role, &[Kind::Promote, Kind::Rollback]).collect();
        let id = |event: &Event, key: &str| event.data.get(key)?.as_str().map(str::to_owned);
        let into = |event: &&&Event| id(event, "to_version").as_ref() == Some(&active);
        let before = moves
            .iter()
            .rfind(into)
            .and_then(|event| id(event, "from_version"));
        Ok(before.ok_or_else(|| Refusal::NothingBefore(role.to_owned()))?)
    }

    /// The logs in which shadow probes stand: their own, and the events of older ones.
    ///
    /// # Errors
    /// One exists and cannot be read.
    pub fn probes(&self) -> Result<[Log; 2], FileError> {
        let probes = self.bytes_of(Kept::Probes, None)?;
        Ok([Log::parse(&probes), self.events()?])
    }

    /// Reads the current field log and the one before it, oldest first.
    ///
    /// # Errors
    /// It exists and cannot be read.
    pub fn field_log(&self) -> Result<Vec<u8>, FileError> {
        if self.shared.is_some() {
            return self.bytes_of(Kept::Field, None);
        }
        let before = self.paths.field_log.with_added_extension("1");
        let mut bytes = read_or_nothing(&before, MAX_LOG)?.unwrap_or_default();
        bytes.extend(read_or_nothing(&self.paths.field_log, MAX_LOG)?.unwrap_or_default());
        Ok(bytes)
    }

    /// Reads the end of the field log with the last `rows` rows of a role, so that a page about one role does not wait
    /// for a long log. A log that another program wrote in another format is read as a whole.
    ///
    /// # Errors
    /// It exists and cannot be read.
    pub fn field_log_of(&self, role: &str, rows: u64) -> Result<Vec<u8>, FileError> {
        if self.shared.is_some() {
            return self.bytes_of(Kept::Field, Some(role));
        }
        let mark = format!("\"role\":{}", serde_json::Value::from(role));
        let path = &self.paths.field_log;
        let length = files::metadata(path).map_or(0, |facts| facts.len());
        let mut wanted = FIRST_LOOK;
        while wanted < length {
            let tail = match files::read_tail(path, wanted) {
                // It was rotated at this moment.
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => break,
                tail => tail?,
            };
            let found = memchr::memmem::find_iter(&tail, mark.as_bytes()).count() as u64;
            if found >= rows {
                return Ok(tail);
            }
            wanted = wanted.saturating_mul(4);
        }
        self.field_log()
    }

    /// Reads the probes of a role, like [`Specialists::probes`].
    ///
    /// # Errors
    /// One exists and cannot be read.
    pub fn probes_of(&self, role: &str) -> Result<[Log; 2], FileError> {
        if self.shared.is_some() {
            let of_role = |log| Ok::<_, FileError>(Log::parse(&self.bytes_of(log, Some(role))?));
            return Ok([of_role(Kept::Probes)?, of_role(Kept::Events)?]);
        }
        let name = serde_json::Value::from(role).to_string();
        // A name with other characters may be written in more than one way; some programs write `\/` for a slash.
        if !role
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" -_.".contains(&byte))
        {
            return self.probes();
        }
        let of_role = |path: &Path| {
            let bytes = read_or_nothing(path, MAX_LOG)?.unwrap_or_default();
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            let own = lines.filter(|line| memchr::memmem::find(line, name.as_bytes()).is_some());
            Ok::<_, FileError>(Log::parse(&own.collect::<Vec<_>>().concat()))
        };
        Ok([of_role(&self.paths.probes)?, of_role(&self.paths.events)?])
    }
}

pub(super) fn read_log(path: &Path) -> Result<Log, FileError> {
    let bytes = read_or_nothing(path, MAX_LOG)?;
    Ok(bytes.map_or_else(Log::default, |bytes| Log::parse(&bytes)))
}
