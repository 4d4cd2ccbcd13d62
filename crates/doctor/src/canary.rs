//! Two test calls through the installed hook, started like by the agent: one that must be refused regardless of
//! grants, and a harmless one.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use base::clock;
use base::environment::Environment;
use base::git::LOCAL_VARIABLES;
use base::workspace::Workspace;
use evidence::journal::SessionId;
use evidence::journal::reached::JournalNotes;
use guard::agents::Agent;
use guard::install::registration::{Start, gate_event};
use guard::protected::Protected;

/// Command that reads a key of the workspace, which no grant allows while the gate is on.
pub const FORBIDDEN: &str = "cat .role-os/keys/canary.key";
/// Command that does nothing.
pub const HARMLESS: &str = "true";
/// Time limit of the hook; every agent waits longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answer of the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The call may run.
    Allowed,
    /// The call may not run, with the reason.
    Refused(String),
    /// The answer is not one that the agent would accept.
    Broken(String),
}

/// Sends one call and removes its entries from the journal.
#[must_use]
pub fn send(workspace: &Workspace, agent: Agent, start: &Start, command: &str) -> Answered {
    let session = format!("roleos-doctor-{}", base::fresh_uuid());
    let event = event(workspace, agent, &session, command).to_string();
    let output = run(workspace, agent, start, event.as_bytes());
    let journal = SessionId::new(&session).path_in(&workspace.sessions_dir());
    // No agent writes to the journal of a session that does not exist.
    if let Some(notes) = JournalNotes::existing(workspace) {
        notes.forget(&SessionId::new(&session));
    }
    for path in [journal.clone(), journal.with_extension("lock")] {
        fs::remove_file(path).ok();
    }
    let protected = Protected {
        workspace,
        environment: &Environment::default(),
        now_ns: clock::now_ns(),
    };
    // A call that stays open ends with this process.
    protected
        .end(&SessionId::new(&session).to_string(), None)
        .ok();
    match output {
        Ok(output) => answered(agent, &output),
        Err(why) => Answered::Broken(why),
    }
}

fn event(workspace: &Workspace, agent: Agent, session: &str, command: &str) -> Value {
    let root = workspace.root().to_string_lossy();
    let tool = match agent {
        Agent::Gemini => "run_shell_command",
        Agent::Cursor => "Shell",
        _ => "Bash",
    };
    json!({
        "hook_event_name": gate_event(agent),
        "session_id": session,
        "conversation_id": session,
        "cwd": root,
        "workspace_roots": [root],
        "permission_mode": "default",
        "tool_name": tool,
        "tool_input": { "command": command },
        "tool_use_id": "roleos-doctor",
    })
}

fn run(workspace: &Workspace, agent: Agent, start: &Start, event: &[u8]) -> Result<Output, String> {
    let mut command = match start {
        Start::Exec(program, words) => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        Start::Shell(line) => {
            let mut command = Command::new(if agent == Agent::Copilot {
                "bash"
            } else {
                "sh"
            });
            command.args(["-c", line]);
            command
        }
    };
    for variable in LOCAL_VARIABLES {
        command.env_remove(variable);
    }
    let mut child = command
        .current_dir(workspace.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read shows that by its answer.
        stdin.write_all(event).ok();
    }
    wait(child)
}

/// Waits for the answer, which is short, so that no pipe can fill up meanwhile.
fn wait(mut child: Child) -> Result<Output, String> {
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("no answer within {} seconds", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    let mut output = Output {
        status,
        stdout: Vec::new(),
        stderr: Vec::new(),
    };
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut output.stdout).ok();
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut output.stderr).ok();
    }
    Ok(output)
}

fn answered(agent: Agent, output: &Output) -> Answered {
    let stdout = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(2) if agent == Agent::Codex && stderr.is_empty() => Answered::Broken(
            "it refused without a reason, which Codex takes for a failure".to_owned(),
        ),
        Some(2) => Answered::Refused(if stderr.is_empty() { stdout } else { stderr }),
        Some(0) if agent == Agent::Cursor && stdout.is_empty() => {
            Answered::Broken("it said nothing, which Cursor takes for a failure".to_owned())
        }
        Some(0) => match serde_json::from_str::<Value>(&stdout) {
            _ if stdout.is_empty() => Answered::Allowed,
            Ok(answer) if says_deny(&answer) => {
                Answered::Refused(reason(&answer).unwrap_or(stdout))
            }
            Ok(_) => Answered::Allowed,
            Err(_) => Answered::Broken("it answered something that is no JSON".to_owned()),
        },
        Some(code) => {
            let said = stderr.lines().next().unwrap_or_default();
            Answered::Broken(format!("it ended with exit code {code}: {said}"))
        }
        None => Answered::Broken("it was ended by a signal".to_owned()),
    }
}

/// Returns the reason, if the agent's format has a field for it.
fn reason(answer: &Value) -> Option<String> {
    let specific = answer.get("hookSpecificOutput")?;
    let reason = specific.get("permissionDecisionReason")?.as_str()?;
    Some(reason.to_owned())
}

fn says_deny(answer: &Value) -> bool {
    let specific = answer.get("hookSpecificOutput").unwrap_or(answer);
    let fields = [
        specific.get("permissionDecision"),
        answer.get("decision"),
        answer.get("permission"),
    ];
    let refusals = ["deny", "block"];
    fields
        .into_iter()
        .flatten()
        .any(|field| field.as_str().is_some_and(|word| refusals.contains(&word)))
}
