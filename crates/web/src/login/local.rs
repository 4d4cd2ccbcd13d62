//! Access to the login code on the same machine without a terminal: a socket that only this user can reach.
//!
//! `roleos login-code` connects and receives the code. The folder of the socket has mode 0700 and the socket 0600; the
//! system reports the connecting user and process, so that other users, and programs below a coding agent, get nothing.

use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::agents_above;
use base::files::{self, Privacy};
use base::workspace::Workspace;
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};

use crate::api::Desk;

/// Longest answer that is read.
const MAX_ANSWER: u64 = 4096;
/// Longest time that either side waits.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns the path of a workspace's socket.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.keys_dir().join("login.sock")
}

/// The listening socket; dropping it removes its file.
#[derive(Debug)]
pub struct LocalDoor {
    listener: StdListener,
    path: PathBuf,
}

impl LocalDoor {
    /// Opens the socket of a workspace that this process has locked; a file left by a crash is replaced.
    pub fn open(workspace: &Workspace) -> io::Result<Self> {
        let path = path(workspace);
        files::make_directory(&workspace.keys_dir(), Privacy::Secret).map_err(io::Error::other)?;
        match files::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = StdListener::bind(&path)?;
        let door = Self { listener, path };
        std::fs::set_permissions(&door.path, std::fs::Permissions::from_mode(0o600))?;
        door.listener.set_nonblocking(true)?;
        Ok(door)
    }

    /// Sends the code to every permitted client, until it is dropped.
    pub async fn serve(self, desk: Arc<Desk>) {
        let listener = self.listener.try_clone().and_then(UnixListener::from_std);
        let Ok(listener) = listener else { return };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let answer = answer(&stream, &desk);
                    tokio::time::timeout(PATIENCE, tell(stream, answer))
                        .await
                        .ok();
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

impl Drop for LocalDoor {
    fn drop(&mut self) {
        files::remove_file(&self.path).ok();
    }
}

fn answer(stream: &UnixStream, desk: &Desk) -> Value {
    let refused = |why: String| json!({ "refused": why });
    let Ok(peer) = stream.peer_cred() else {
        return refused("the system does not tell who asks".to_owned());
    };
    let own = rustix::process::geteuid().as_raw();
    if peer.uid() != own && peer.uid() != 0 {
        return refused(format!("it is told to user {own} only"));
    }
    let process = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let Some(process) = process else {
        return refused("the system does not tell which process asks".to_owned());
    };
    match agents_above::find_above(process) {
        Ok(None) => {}
        Ok(Some(above)) => {
            return refused(format!(
                "process {process} runs below {}: {}",
                above.agent, above.shown_by
            ));
        }
        // An ended process may have passed the connection on.
        Err(why) => {
            return refused(format!(
                "it cannot be told what process {process} is: {why}"
            ));
        }
    }
    match desk.logins.code() {
        Some(code) => json!({ "code": *code }),
        None => refused("login is closed".to_owned()),
    }
}

/// Sends the answer. It fits into the socket's buffer, so one write is enough; a client that is gone needs none.
async fn tell(stream: UnixStream, answer: Value) {
    if stream.writable().await.is_ok() {
        stream.try_write(format!("{answer}\n").as_bytes()).ok();
    }
}

/// Requests the login code of the process that serves `workspace`; the inner error is its refusal.
pub fn ask(workspace: &Workspace) -> io::Result<Result<String, String>> {
    ask_at(&path(workspace))
}

fn ask_at(path: &Path) -> io::Result<Result<String, String>> {
    let stream = StdStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER).read_to_string(&mut answer)?;
    let answer: Value = serde_json::from_str(&answer)?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("code"), text("refused")) {
        (Some(code), _) => Ok(Ok(code)),
        (None, why) => Ok(Err(why.unwrap_or_default())),
    }
}
