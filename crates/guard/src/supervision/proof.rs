//! Proof that the commands of a session are really supervised: based on observations of the supervisor, never assumed.
//!
//! The supervisor of a session's command reports when it sees the first program. A command that the hook allowed only
//! because it would be supervised is expected to report; one that ends without a report makes the proof void until the
//! next report.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use base::clock;
use base::files::{self, FileError, Lock, Privacy};
use base::starter;
use base::workspace::Workspace;
use evidence::journal::SessionId;

/// Folder below `.role-os/`.
const FOLDER: &str = "watch";
const MAX_FILE: u64 = 1024 * 1024;
/// Most commands that may run at once.
const MAX_WAITING: usize = 128;
/// A command in the background may report a moment after its tool has answered.
const PATIENCE: Duration = Duration::from_millis(20);
const TRIES: u32 = 15;

/// State of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Proof {
    /// Time of the last report.
    proved_ns: u64,
    /// Time of the last missing report.
    missed_ns: u64,
    /// Commands that must report.
    expected: Vec<Expected>,
}

/// A command that must report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Expected {
    call_id: String,
    command: String,
    reported: bool,
}

fn path(workspace: &Workspace, session: &SessionId) -> PathBuf {
    workspace
        .role_os_dir()
        .join(FOLDER)
        .join(format!("{session}.json"))
}

/// Returns the files that are stored for a session.
pub fn kept_files(workspace: &Workspace, session: &SessionId) -> [PathBuf; 3] {
    let path = path(workspace, session);
    let lock = path.with_extension("lock");
    let new = path.with_added_extension("new");
    [path, lock, new]
}

fn read(workspace: &Workspace, session: &SessionId) -> Result<Proof, FileError> {
    match files::read(&path(workspace, session), MAX_FILE) {
        // A damaged file proves nothing.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(Proof::default()),
        Err(error) => Err(error),
    }
}

fn change<T>(
    workspace: &Workspace,
    session: &SessionId,
    act: impl FnOnce(&mut Proof) -> T,
) -> Result<T, FileError> {
    starter::ensure_home(workspace)?;
    let path = path(workspace, session);
    files::make_directory(files::parent(&path), Privacy::Secret)?;
    let _alone = Lock::take(&path.with_extension("lock"))?;
    let before = read(workspace, session)?;
    let mut proof = before.clone();
    let result = act(&mut proof);
    if proof != before {
        let bytes = serde_json::to_vec(&proof).unwrap_or_default();
        files::write_quickly(&path, &bytes)?;
    }
    Ok(result)
}

/// Returns the same hash for equal commands.
fn hash(command: &str) -> String {
    hex::encode(base::digest(command.trim().as_bytes()))
}

/// Returns `true` if the session's last command has reported.
#[must_use]
pub fn holds(workspace: &Workspace, session: &SessionId) -> bool {
    let proof = read(workspace, session).unwrap_or_default();
    proof.proved_ns > proof.missed_ns
}

/// Reports that a command of the session is supervised; `command` is its text, if it is known.
///
/// # Errors
/// It cannot be recorded; the session then proves nothing.
pub fn report(
    workspace: &Workspace,
    session: &SessionId,
    command: Option<&str>,
) -> Result<(), FileError> {
    let known = read(workspace, session)?;
    if known.proved_ns > known.missed_ns && known.expected.iter().all(|one| one.reported) {
        return Ok(());
    }
    let command = command.map(hash);
    change(workspace, session, |proof| {
        proof.proved_ns = clock::now_ns();
        let waiting = proof.expected.iter_mut().filter(|one| !one.reported);
        let mut fits = waiting.filter(|one| command.as_ref().is_none_or(|own| *own == one.command));
        if let Some(one) = fits.next() {
            one.reported = true;
        }
    })
}

/// Records that a command must report.
///
/// # Errors
/// It cannot be recorded.
pub fn expect(
    workspace: &Workspace,
    session: &SessionId,
    call_id: &str,
    command: &str,
) -> Result<(), FileError> {
    change(workspace, session, |proof| {
        proof.expected.push(Expected {
            call_id: call_id.to_owned(),
            command: hash(command),
            reported: false,
        });
        let surplus = proof.expected.len().saturating_sub(MAX_WAITING);
        proof.expected.drain(..surplus);
    })
}

/// Records the end of a call; returns `true` if it had to report and did not.
///
/// # Errors
/// It cannot be looked up.
pub fn settle(
    workspace: &Workspace,
    session: &SessionId,
    call_id: &str,
) -> Result<bool, FileError> {
    let waiting = |proof: &Proof| {
        let own = proof.expected.iter().find(|one| one.call_id == call_id);
        own.map(|one| !one.reported)
    };
    for _ in 0..TRIES {
        match waiting(&read(workspace, session)?) {
            None => return Ok(false),
            Some(false) => break,
            Some(true) => thread::sleep(PATIENCE),
        }
    }
    change(workspace, session, |proof| {
        let missed = waiting(proof) == Some(true);
        proof.expected.retain(|one| one.call_id != call_id);
        if missed {
            proof.missed_ns = clock::now_ns();
        }
        missed
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_believed_until_a_command_does_not_report() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let session = SessionId::new("s");
        assert!(!holds(&workspace, &session));
        report(&workspace, &session, None).unwrap();
        assert!(holds(&workspace, &session));
        expect(&workspace, &session, "1", "make").unwrap();
        expect(&workspace, &session, "2", "make").unwrap();
        report(&workspace, &session, Some("make")).unwrap();
        assert!(!settle(&workspace, &session, "1").unwrap());
        assert!(holds(&workspace, &session));
        // The report of one command does not count for another.
        report(&workspace, &session, Some("ls")).unwrap();
        assert!(settle(&workspace, &session, "2").unwrap());
        assert!(!holds(&workspace, &session));
        report(&workspace, &session, Some("ls")).unwrap();
        assert!(holds(&workspace, &session));
        assert!(!settle(&workspace, &session, "never expected").unwrap());
    }
}
