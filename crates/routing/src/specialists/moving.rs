//! All data of specialists as one value, to move it from files to a store that machines share, and back.

use std::io;

use ::specialist::quota::Window;
use ::specialist::state::State;
use ::specialist::state::rows::FLEET;

use super::{MAX_LOG, Specialists, Unreadable, held, lock};
use crate::shared::{Line, Log, REGISTRY};
use base::files::{self, Action, FileError, Privacy};

/// All data to move.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    /// The registry's text.
    pub registry: Option<String>,
    /// Quota windows, probes, halts.
    pub state: State,
    /// The logs, complete.
    pub logs: Vec<(Log, String)>,
}

/// Error of moving the data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// A file or the store failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] Unreadable),
    /// The destination is in use.
    #[error("the destination has `{0}` already, and nothing is overwritten")]
    Taken(String),
    /// A log is not text, or its last line was torn.
    #[error("`{0}` is not whole lines of UTF-8; `roleos specialist repair` mends it")]
    NotText(&'static str),
    /// The written data differs from the data that was read.
    #[error("the copy of `{0}` differs from the original")]
    Differs(&'static str),
}

impl Moving {
    /// Returns the number of lines in the logs.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.logs.iter().map(|(_, text)| text.lines().count()).sum()
    }
}

impl Specialists {
    /// Reads everything.
    ///
    /// # Errors
    /// It cannot be read, or a log is damaged.
    pub fn pack(&self) -> Result<Moving, MoveError> {
        let text =
            |bytes: Vec<u8>, name| String::from_utf8(bytes).map_err(|_| MoveError::NotText(name));
        let registry = match &self.shared {
            Some(shared) => {
                let document = shared.document(REGISTRY).map_err(FileError::from)?;
                document.map(|document| document.body.to_string())
            }
            None => held::registry_bytes(self)?
                .map(|bytes| text(bytes, REGISTRY))
                .transpose()?,
        };
        let mut logs = Vec::new();
        for log in Log::ALL {
            let bytes = match log {
                Log::Field => self.field_log()?,
                _ => self.bytes_of(log, None)?,
            };
            let text = text(bytes, log.name())?;
            if !text.is_empty() && !text.ends_with('\n') {
                return Err(MoveError::NotText(log.name()));
            }
            logs.push((log, text));
        }
        let mut state = self.state()?;
        if state.fleet.dispatched() == u64::MAX {
            // A store that counts by role has no window of all roles.
            state.fleet = Window::default();
        }
        Ok(Moving {
            registry,
            state,
            logs,
        })
    }

    /// Writes everything to an empty destination, reads it again and compares.
    ///
    /// # Errors
    /// The destination is not empty, cannot be written, or differs after writing.
    pub fn unpack(&self, moving: &Moving) -> Result<(), MoveError> {
        match self.shared {
            Some(_) => self.unpack_to_store(moving)?,
            None => self.unpack_to_files(moving)?,
        }
        let copy = self.pack()?;
        let differs = |what: &'static str| Err(MoveError::Differs(what));
        if copy.registry != moving.registry {
            return differs(REGISTRY);
        }
        if copy.state.roles().ne(moving.state.roles()) || copy.state.fleet != moving.state.fleet {
            return differs("specialist-state.json");
        }
        let mut pairs = copy.logs.iter().zip(&moving.logs);
        match pairs.find(|(copy, original)| copy != original) {
            Some((_, (log, _))) => differs(log.name()),
            None => Ok(()),
        }
    }

    fn unpack_to_store(&self, moving: &Moving) -> Result<(), MoveError> {
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let registry = shared.hold_document(REGISTRY).map_err(FileError::from)?;
        if registry.now().is_some() {
            return Err(MoveError::Taken(REGISTRY.to_owned()));
        }
        for log in Log::ALL {
            let mut has_lines = false;
            let look = shared.lines(log, None, &mut |_| has_lines = true);
            look.map_err(FileError::from)?;
            if has_lines {
                return Err(MoveError::Taken(log.name().to_owned()));
            }
        }
        // No role is served until the registry is written, so that the parts need not be written at once.
        let roles = moving.state.roles().map(|(role, _)| role);
        for role in roles.chain([FLEET]) {
            let turn = shared.hold_state(role, true).map_err(FileError::from)?;
            turn.commit(moving.state.clone(), Vec::new())
                .map_err(FileError::from)?;
        }
        let lines = moving.logs.iter().flat_map(|(log, text)| {
            text.lines()
                .map(|line| Line::new(*log, &role_of(line), line))
        });
        let lines: Vec<Line> = lines.collect();
        let written = match &moving.registry {
            Some(text) => registry.replace(text, lines),
            None if lines.is_empty() => Ok(()),
            None => {
                drop(registry);
                shared.append(lines)
            }
        };
        Ok(written.map_err(FileError::from)?)
    }

    fn unpack_to_files(&self, moving: &Moving) -> Result<(), MoveError> {
        let paths = self.paths();
        let files = [
            &paths.registry,
            &paths.state,
            &paths.events,
            &paths.probes,
            &paths.field_log,
        ];
        if let Some(taken) = files.into_iter().find(|path| path.exists()) {
            return Err(MoveError::Taken(taken.display().to_string()));
        }
        files::make_directory(files::parent(&paths.registry), Privacy::Shared)?;
        for (log, text) in moving.logs.iter().filter(|(_, text)| !text.is_empty()) {
            let path = self.path_of(*log);
            if text.len() as u64 > MAX_LOG {
                let long = io::Error::from(io::ErrorKind::FileTooLarge);
                return Err(FileError::new(Action::Write, path, long).into());
            }
            files::write(path, text.as_bytes(), Privacy::Shared)?;
        }
        let alone = self.lock_state()?;
        self.save_probes(&mut moving.state.clone(), true)?;
        drop(alone);
        if let Some(text) = &moving.registry {
            let _alone = lock(&paths.registry)?;
            files::write(&paths.registry, text.as_bytes(), Privacy::Shared)?;
            self.confirm(text, "migrate")?;
        }
        Ok(())
    }
}

/// Returns the role in a line.
fn role_of(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    let role = value.get("role").and_then(serde_json::Value::as_str);
    role.unwrap_or_default().to_owned()
}
