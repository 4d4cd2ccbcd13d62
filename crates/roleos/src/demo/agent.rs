//! A scripted agent on the demo's repository: every step is an event of Claude Code for the real hook, and is executed
//! only if the hook allows it. Its `git push` is refused; the demo then acts as the person and approves it, once.

use std::path::PathBuf;

use base::approval_key;
use base::clock;
use base::files::{self, Privacy};
use demo_models::{MODEL, repairs, tokens};
use evidence::journal::SessionId;
use evidence::journal::read::Session;
use evidence::journal::record::Record;
use evidence::sealing::{Done, Sealer};
use guard::agents::{Agent, Reply};
use guard::approvals;
use guard::hook::{self, Progress, Request};
use serde_json::{Value, json};

use super::shell::sh;
use super::weeks::{AGENTS_OWN, FILE, TESTS, break_it};
use super::{Stage, interrupted};
use crate::cli::VERSION;
use crate::failure::Failure;

/// Its session; an interrupted one is followed by another with a number.
const SESSION: &str = "demo-agent";

/// Most interrupted sessions.
const MOST_SESSIONS: usize = 1000;

/// Tokens of the initial instructions of a conversation, and of each new turn; earlier content is read from the cache.
const PROMPT_TOKENS: u64 = 400;
const NEW_TOKENS: u64 = 50;

/// Command that needs an approval.
const PUSH: &str = "git push origin main";

/// Returns the session with the complete story, or the name for the next one.
pub(super) fn session(stage: &Stage<'_>) -> Result<String, Failure> {
    let sessions = stage.context.workspace.sessions_dir();
    let mut name = SESSION.to_owned();
    for number in 2..MOST_SESSIONS {
        let journal = SessionId::new(&name).path_in(&sessions);
        if !journal.exists() {
            break;
        }
        let lines = Session::read(&journal)?.lines;
        if lines
            .iter()
            .any(|line| matches!(line.record, Record::End(_)))
        {
            break;
        }
        name = format!("{SESSION}-{number}");
    }
    Ok(name)
}

/// Plays the story for the hook, unless that was done.
pub(super) fn play(stage: &Stage<'_>) -> Result<bool, Failure> {
    let name = session(stage)?;
    let session = SessionId::new(&name);
    let context = stage.context;
    let sealer = Sealer {
        workspace: &context.workspace,
        config: &context.config,
        store: &context.store,
    };
    let journal = session.path_in(&context.workspace.sessions_dir());
    if journal.exists() {
        return Ok(sealer.seal(&session)? != Done::Already);
    }
    let told = tell(stage, &name);
    if stage.backstage.is_interrupted() {
        return Err(interrupted());
    }
    told?;
    sealer.seal(&session)?;
    Ok(true)
}

fn tell(stage: &Stage<'_>, session: &str) -> Result<(), Failure> {
    let repair = repairs::repair(AGENTS_OWN)
        .ok_or_else(|| Failure::refused("demo", "there is no repair for the agent"))?;
    break_it(stage, &repair)?;
    let agent = Scripted {
        stage,
        session,
        tree: stage.place.repository(),
    };
    agent.say(
        "SessionStart",
        json!({ "source": "startup", "model": MODEL }),
    )?;
    let prompt = format!(
        "{} Mend it, run the tests, commit and push.",
        repair.issue.trim()
    );
    agent.say("UserPromptSubmit", json!({ "prompt": prompt }))?;
    agent.run("1", TESTS)?;
    let mended = repairs::with_body(repair.function, repairs::proposal(AGENTS_OWN, PATIENT));
    agent.edit("2", &repair.file, &mended)?;
    agent.run("3", TESTS)?;
    agent.run(
        "4",
        "git add text.sh && git commit -q -m 'Repair extension'",
    )?;
    if agent.try_run("5", PUSH)? {
        return Err(unexpected(
            "the hook let a push through that nobody had allowed",
        ));
    }
    approve(stage)?;
    agent.run("6", PUSH)?;
    if agent.try_run("7", PUSH)? {
        return Err(unexpected("an approval for one push held for a second"));
    }
    agent.note(&json!({ "type": "text", "text": "It is mended and pushed." }))?;
    agent.say(
        "Stop",
        json!({ "last_assistant_message": "It is mended and pushed." }),
    )?;
    agent.say("SessionEnd", json!({ "reason": "exit" }))?;
    Ok(())
}

/// Attempt at which the scripted model is correct.
const PATIENT: usize = 9;

/// Acts as the person: signs the approval that `roleos approve` would sign after a `y` on a terminal. This works
/// because the demo owns this workspace and its keys.
fn approve(stage: &Stage<'_>) -> Result<(), Failure> {
    let workspace = &stage.context.workspace;
    let pending = approvals::pending(workspace, clock::now_ns())?;
    let refused = pending
        .into_iter()
        .find(|(_, refused)| refused.act.command == PUSH);
    let (_, refused) =
        refused.ok_or_else(|| unexpected("the refused push left nothing to approve"))?;
    let key = approval_key::ensure(workspace, None)?;
    let lifetime = stage.context.config.oversight.approval_lifetime();
    approvals::approve(workspace, &refused, &key, lifetime, clock::now_ns())?;
    Ok(())
}

fn unexpected(what: &str) -> Failure {
    Failure::refused("demo_hook", what).hint("this is a defect; please report it")
}

struct Scripted<'a> {
    stage: &'a Stage<'a>,
    session: &'a str,
    tree: PathBuf,
}

impl Scripted<'_> {
    /// Sends one event to the hook.
    fn say(&self, name: &str, more: Value) -> Result<Reply, Failure> {
        self.stage.goes_on()?;
        let mut event = json!({
            "session_id": self.session, "cwd": self.tree, "hook_event_name": name,
            "transcript_path": self.stage.place.transcript(self.session),
        });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        let event = event.to_string();
        let request = Request {
            agent: Agent::Claude,
            event: event.as_bytes(),
            named: None,
            root: Some(self.stage.context.workspace.root()),
            environment: &self.stage.context.environment,
            version: VERSION,
        };
        Ok(hook::answer(&request, &Progress::default(), None))
    }

    /// Appends the model's answer to the agent's record, like Claude Code: the requested action, and the tokens of the
    /// conversation and the answer.
    fn note(&self, content: &Value) -> Result<(), Failure> {
        let path = self.stage.place.transcript(self.session);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let number = before.lines().count();
        let line = json!({
            "type": "assistant", "timestamp": clock::text(clock::now_ns()), "sessionId": self.session,
            "message": {
                "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": MODEL,
                "content": [content],
                "usage": {
                    "input_tokens": NEW_TOKENS, "cache_read_input_tokens": PROMPT_TOKENS + tokens(&before),
                    "output_tokens": tokens(&content.to_string()),
                },
            },
        });
        files::append(&path, format!("{line}\n").as_bytes())?;
        Ok(())
    }

    /// Calls the hook before and after an action, like the agent. Returns the reply if the action was not allowed.
    fn call(
        &self,
        mut call: Value,
        act: impl FnOnce() -> Result<Value, Failure>,
    ) -> Result<Result<(), Reply>, Failure> {
        self.note(&json!({
            "type": "tool_use", "id": call.get("tool_use_id"), "name": call.get("tool_name"),
            "input": call.get("tool_input"),
        }))?;
        let reply = self.say("PreToolUse", call.clone())?;
        // A question counts as a refusal, because no person is there to answer it.
        if reply.code != 0 || reply.stdout.contains("\"ask\"") || reply.stdout.contains("\"deny\"")
        {
            return Ok(Err(reply));
        }
        let response = act()?;
        if let Some(call) = call.as_object_mut() {
            call.insert("tool_response".to_owned(), response);
        }
        self.say("PostToolUse", call)?;
        Ok(Ok(()))
    }

    fn bash(&self, id: &str, command: &str) -> Result<Result<(), Reply>, Failure> {
        let call = json!({
            "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": format!("toolu_{id}"),
        });
        self.call(call, || {
            let ran = sh(command, &self.tree)?;
            Ok(json!({ "stdout": ran.text(), "stderr": "", "interrupted": false }))
        })
    }

    fn run(&self, id: &str, command: &str) -> Result<(), Failure> {
        self.bash(id, command)?.map_err(|reply| {
            let said = format!("{}{}", reply.stderr, reply.stdout);
            unexpected(&format!("the hook stopped `{command}`: {}", said.trim()))
        })
    }

    fn try_run(&self, id: &str, command: &str) -> Result<bool, Failure> {
        Ok(self.bash(id, command)?.is_ok())
    }

    fn edit(&self, id: &str, before: &str, after: &str) -> Result<(), Failure> {
        let path = self.tree.join(FILE);
        let (old, new) = changed_lines(before, after);
        let call = json!({
            "tool_name": "Edit", "tool_use_id": format!("toolu_{id}"),
            "tool_input": { "file_path": path, "old_string": old, "new_string": new },
        });
        let edited = self.call(call, || {
            files::write(&path, after.as_bytes(), Privacy::Shared)?;
            Ok(json!({ "filePath": path, "success": true }))
        })?;
        edited.map_err(|_| unexpected("the hook stopped an edit"))
    }
}

/// Returns the lines between the first and the last difference, as an agent would name them.
fn changed_lines(before: &str, after: &str) -> (String, String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        before.split_inclusive('\n').collect(),
        after.split_inclusive('\n').collect(),
    );
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other);
    let start = same.count();
    let rest = old.len().min(new.len()) - start;
    let ends = old.iter().rev().zip(new.iter().rev()).take(rest);
    let end = ends.take_while(|(one, other)| one == other).count();
    let middle = |lines: &[&str]| lines.get(start..lines.len() - end).unwrap_or(&[]).concat();
    (middle(&old), middle(&new))
}
