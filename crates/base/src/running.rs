//! The one `roleos up` of a workspace: it holds a lock for as long as it runs, and `.role-os/up.json` says where it is.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::clock;
use crate::files::{self, Action, FileError, Privacy};

/// Largest file that is read back.
const MAX_FILE: u64 = 64 * 1024;

/// Held while the process serves; others see that it does.
#[derive(Debug)]
pub struct Running {
    path: PathBuf,
    _lock: File,
}

/// Why a second one does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunningError {
    /// There is one already.
    #[error("`roleos up` already runs for this workspace{}", .0.as_deref().map(|url| format!(" at {url}")).unwrap_or_default())]
    Already(Option<String>),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Running {
    /// Takes the workspace's place. Nothing is announced yet.
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

    /// Says where the process listens; `url` begins with the scheme.
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
        // A file that stays behind names a process that is gone; the lock is what counts.
        files::remove_file(&self.path).ok();
    }
}

/// The address of the `roleos up` that runs now, when one does.
///
/// # Errors
/// The lock cannot be looked at.
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
