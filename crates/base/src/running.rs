//! The one `roleos up` of a workspace: it holds a lock while it runs, and `.role-os/up.json` has its address.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::clock;
use crate::files::{self, Action, FileError, Privacy};

/// Largest file that is read back.
const MAX_FILE: u64 = 64 * 1024;

/// Lock that is held while the process serves, visible to others.
#[derive(Debug)]
pub struct Running {
    path: PathBuf,
    _lock: File,
}

/// Reason why a second one does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunningError {
    /// Another process is running.
    #[error("`roleos up` already runs for this workspace{}", .0.as_deref().map(|url| format!(" at {url}")).unwrap_or_default())]
    Already(Option<String>),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Running {
    /// Locks the workspace for this process. Nothing is announced yet.
    ///
    /// # Errors
    /// Another process has it, or the lock cannot be taken.
    pub fn begin(role_os: &Path) -> Result<Self, RunningError> {
        let beside = role_os.join("up.lock");
        let fail = |source| FileError::new(Action::Lock, &beside, source);
        let lock = files::lock::open(&beside).map_err(fail)?;
        let path = role_os.join("up.json");
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(RunningError::Already(url(&path))),
            Err(fs::TryLockError::Error(error)) => Err(fail(error).into()),
        }
    }

    /// Announces the address of the process; `url` begins with the scheme.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn announce(&self, url: &str) -> Result<(), FileError> {
        let address = url.split_once("://").map_or(url, |(_, address)| address);
        let mut text = json!({
            "address": address,
            "url": url,
            "pid": std::process::id(),
            "started": clock::text(clock::now_ns()),
            "version": env!("CARGO_PKG_VERSION"),
        })
        .to_string();
        text.push('\n');
        files::write(&self.path, text.as_bytes(), Privacy::Shared)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A remaining file names an ended process; only the lock counts.
        files::remove_file(&self.path).ok();
    }
}

/// Returns the address of the running `roleos up`, if there is one.
///
/// # Errors
/// The lock cannot be checked.
pub fn running_at(role_os: &Path) -> io::Result<Option<String>> {
    let lock = match files::open(&role_os.join("up.lock")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(fs::TryLockError::WouldBlock) => Ok(url(&role_os.join("up.json"))),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn url(path: &Path) -> Option<String> {
    let bytes = files::read(path, MAX_FILE).ok()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    Some(value.get("url")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_runs_and_the_others_learn_where() {
        let guard = tempfile::tempdir().unwrap();
        assert_eq!(running_at(guard.path()).unwrap(), None);
        let first = Running::begin(guard.path()).unwrap();
        first.announce("http://127.0.0.1:7420").unwrap();
        let second = Running::begin(guard.path()).unwrap_err();
        assert_eq!(
            second.to_string(),
            "`roleos up` already runs for this workspace at http://127.0.0.1:7420"
        );
        let at = running_at(guard.path()).unwrap();
        assert_eq!(at.as_deref(), Some("http://127.0.0.1:7420"));
        drop(first);
        assert!(!guard.path().join("up.json").exists());
        assert_eq!(running_at(guard.path()).unwrap(), None);
        Running::begin(guard.path()).unwrap();
    }
}
