//! Answers the hook of an agent in a box. `roleos-hook` decides every event in a separate box, with the same tree at
//! the same path, and with the journal of the trial, which is hidden from the agent.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base::files::{self, Privacy};
use evidence::journal::read::{Session, journals};
use evidence::journal::record::Record;
use sandbox::Mount;
use serde::{Deserialize, Serialize};
use witness::wire::Mode;

use super::Rules;
use crate::boxes::{self, Boxed, Toolchains};
use crate::task::Limits;

/// Socket of the hook inside a box.
pub const SOCKET: &str = "/w/sock/hook.sock";
/// Longest event and longest answer.
const MAX_EVENT: u64 = 32 << 20;
/// Time to wait for the event of an agent.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most calls that are kept.
const MAX_CALLS: usize = 65_000;

/// One tool call of an agent, from the journal outside the box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// The agent's id for it.
    pub id: String,
    pub tool: String,
    /// `allowed`, `denied` or `confirmed`.
    pub recorded: String,
    /// Gated actions that were found in it.
    pub actions: Vec<String>,
    /// The arguments, redacted and capped.
    pub input: String,
    /// SHA-256 of the arguments.
    pub input_sha256: String,
    /// SHA-256 of the result.
    pub result_sha256: String,
    /// Its duration.
    pub took_ms: u64,
    /// Rules of the mode that it broke.
    pub violations: Vec<String>,
}

/// Server of decisions about events.
#[derive(Clone, Debug)]
pub(super) struct Answerer {
    pub(super) tools: Toolchains,
    pub(super) tree: PathBuf,
    pub(super) home: PathBuf,
    /// Folder for events and answers.
    pub(super) work: PathBuf,
    /// Workspace with the settings and the journal of the trial.
    pub(super) state: PathBuf,
    /// `roleos-hook`.
    pub(super) program: PathBuf,
    /// The agent whose protocol is used.
    pub(super) agent: &'static str,
}

/// An answer to an event.
#[derive(Debug)]
struct Reply {
    code: u8,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Answerer {
    /// Writes the settings of the trial: gated actions are refused. An unanalysable command is left to the supervisor,
    /// which decides about every program in the box, or refused without one.
    pub(super) fn prepare(&self, rules: &Rules) -> io::Result<()> {
        // The lists of the autonomous mode are empty, and the harness enforces its budgets and rolls back.
        let mode = match rules.mode {
            Mode::Restricted => "restricted",
            Mode::Approved if !rules.confirms => "approved",
            _ => "off",
        };
        let opaque = if rules.supervised_in.is_some() {
            "allow"
        } else {
            "deny"
        };
        let text =
            crate::policy::settings(&rules.policy, mode, opaque).map_err(io::Error::other)?;
        let folder = self.state.join(".role-os");
        files::make_directory(&folder, Privacy::Secret).map_err(|error| error.source)?;
        files::write_quickly(&folder.join("config.toml"), text.as_bytes())
            .map_err(|error| error.source)
    }

    /// Checks that a gated call is refused and a harmless one is not, before the agent starts.
    pub(super) fn check(&self) -> Result<(), String> {
        let event = |command: &str| {
            serde_json::json!({"session_id": "canary", "cwd": boxes::REPO, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                "tool_use_id": "canary", "tool_input": {"command": command}})
        };
        let mut refused = Vec::new();
        for command in ["git push origin main", "ls"] {
            let reply = self.answer(event(command).to_string().as_bytes());
            let reply = reply.map_err(|error| format!("the hook cannot be answered: {error}"))?;
            let out = String::from_utf8_lossy(&reply.out);
            refused.push(reply.code != 0 || out.contains("\"deny\""));
            if reply.code != 0 && command == "ls" {
                return Err(format!(
                    "the hook refuses a harmless call: {}",
                    String::from_utf8_lossy(&reply.err)
                ));
            }
        }
        fs::remove_dir_all(self.state.join(".role-os/sessions")).ok();
        if refused.first() == Some(&true) {
            Ok(())
        } else {
            Err("the hook does not refuse a gated call".to_owned())
        }
    }

    fn answer(&self, event: &[u8]) -> io::Result<Reply> {
        let folder = tempfile::Builder::new()
            .prefix("event-")
            .tempdir_in(&self.work)?;
        crate::tree::put(&folder.path().join("event"), event)?;
        let path = |text: &str| PathBuf::from(text);
        let mut boxed = Boxed::new(&self.tools, &self.tree);
        boxed.is_read_only = true;
        boxed.mounts = vec![
            Mount::Read(self.home.clone(), path("/w/home")),
            Mount::Write(self.state.clone(), path("/w/trial")),
            Mount::Write(folder.path().to_owned(), path("/w/answer")),
            Mount::Read(self.program.clone(), path("/w/bin/roleos-hook")),
        ];
        let command = format!(
            "exec /w/bin/roleos-hook hook {} --root /w/trial --trust-store /w/trial/trust </w/answer/event >/w/answer/out 2>/w/answer/err",
            self.agent
        );
        let limits = boxes::limits(&Limits::default(), PATIENCE.as_secs());
        let (_, ended) = boxed.run(&command, &limits, &mut || false);
        let done = ended.map_err(io::Error::other)?;
        let read =
            |name: &str| files::read(&folder.path().join(name), MAX_EVENT).unwrap_or_default();
        Ok(Reply {
            code: u8::try_from(done.code).unwrap_or(2),
            out: read("out"),
            err: read("err"),
        })
    }

    fn serve(&self, mut client: UnixStream) -> io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length));
        let mut event = Vec::new();
        (&mut client)
            .take(length.min(MAX_EVENT))
            .read_to_end(&mut event)?;
        // A truncated event is not JSON, and the hook refuses it.
        let reply = self.answer(&event)?;
        client.write_all(&[reply.code])?;
        for text in [&reply.out, &reply.err] {
            let length = u32::try_from(text.len()).map_err(io::Error::other)?;
            client.write_all(&length.to_be_bytes())?;
            client.write_all(text)?;
        }
        Ok(())
    }
}

/// A served socket; dropping it ends it after the events in progress.
#[derive(Debug)]
pub(super) struct Hooks {
    folder: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hooks {
    /// Listens in a folder.
    pub(super) fn listen(folder: &Path, answerer: Answerer) -> io::Result<Self> {
        let listener = in_folder(folder, "hook.sock", |path| UnixListener::bind(path))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            thread::scope(|scope| {
                for client in listener.incoming() {
                    if seen.load(Ordering::SeqCst) {
                        break;
                    }
                    let Ok(client) = client else { continue };
                    // A client without an answer refuses the call.
                    let answerer = &answerer;
                    scope.spawn(move || answerer.serve(client));
                }
            });
        });
        Ok(Self {
            folder: folder.to_owned(),
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let woken = in_folder(&self.folder, "hook.sock", |path| UnixStream::connect(path));
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            thread.join().ok();
        }
    }
}

/// Uses a socket in a folder by a path that is short enough for a socket address, at any depth of the folder.
pub(super) fn in_folder<T>(
    folder: &Path,
    name: &str,
    act: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let opened = fs::File::open(folder)?;
    act(&Path::new("/proc/self/fd")
        .join(opened.as_raw_fd().to_string())
        .join(name))
}

/// Reads the calls of a trial from its journals.
pub(super) fn calls(state: &Path) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    let found = journals(&state.join(".role-os/sessions")).unwrap_or_default();
    for (_, path) in found {
        let Ok(session) = Session::read(&path) else {
            continue;
        };
        for line in session.lines {
            match line.record {
                Record::Call(call) if calls.len() < MAX_CALLS => calls.push(ToolCall {
                    id: call.call_id.clone(),
                    tool: call.tool.clone(),
                    // A question without a person is a refusal.
                    recorded: if call.verdict == "ask" {
                        "denied".to_owned()
                    } else {
                        call.recorded.clone()
                    },
                    actions: call.actions.clone(),
                    input: call.input.to_string().chars().take(2000).collect(),
                    input_sha256: call.input_sha256.clone(),
                    violations: call.violations.clone(),
                    ..ToolCall::default()
                }),
                Record::Result(outcome) | Record::Failure(outcome) => {
                    let call = calls
                        .iter_mut()
                        .rev()
                        .find(|call| call.id == outcome.call_id);
                    if let Some(call) = call {
                        call.result_sha256.clone_from(&outcome.sha256);
                        call.took_ms = outcome.duration_ms.unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
    }
    calls
}
