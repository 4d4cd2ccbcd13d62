//! Commands that the demo runs: the repository's tests and git.

use std::path::Path;
use std::time::{Duration, Instant};

use base::process::{self, Ended, Limits};

use super::interrupted;
use crate::failure::Failure;

/// Limits beyond the needs of all of them.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(60),
    memory: 1 << 30,
    output: 1 << 20,
};

/// Result of a command.
pub(super) struct Ran {
    pub(super) ok: bool,
    pub(super) output: Vec<u8>,
    pub(super) took_ms: u32,
}

impl Ran {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    pub(super) fn succeeds(self, what: &str) -> Result<Self, Failure> {
        if self.ok {
            return Ok(self);
        }
        let said = self.text();
        let message = format!("cannot {what}: {}", said.trim());
        Err(Failure::refused("demo_command", message).hint("the demo needs `git` and `sh`"))
    }
}

/// Runs a shell command line.
pub(super) fn sh(line: &str, directory: &Path) -> Result<Ran, Failure> {
    let began = Instant::now();
    let finished = process::run(line, directory, LIMITS)?;
    let took_ms = u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX);
    match finished.ended {
        Ended::Interrupted => Err(interrupted()),
        ended => Ok(Ran {
            ok: ended == Ended::Exit(0),
            output: finished.output,
            took_ms,
        }),
    }
}
