//! Claude Code. A refusal, a question and advice are JSON with exit 0; a failure is exit 2 with the reason on standard
//! error, and so is a refusal that could not be written or that answers another event than a tool call.
//!
//! `permissionDecision: "deny"` stops a call as exit 2 does: it outranks every other hook's answer, and needs no newer
//! client than the registration does. Exit 2 is shown as a failed hook.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::fields::{BadEvent, Fields};
use super::{Answer, Dialect, Event, Kind, Reply, Then, WhenHook};

const SINCE: &str = "because it is registered with `onFailure: \"block\"` (2.1.295 or newer)";

pub(super) static DIALECT: Dialect = Dialect {
    name: "claude",
    label: "Claude Code",
    when_hook: WhenHook {
        is_silent: Then::Proceeds("under Claude Code's own permission rules"),
        is_slow: Then::Blocks(SINCE),
        crashes: Then::Blocks(SINCE),
        is_missing: Then::Blocks(SINCE),
    },
    holes: &[
        "`@file` mentions read files without a tool call",
        "`--bare` and `--safe-mode` load no hooks",
        "in-process mods can approve a call inside the client",
        "older clients than 2.1.295 let a call run when the hook fails",
    ],
    tried: true,
    read,
    reply,
    can_ask: |event| event.kind == Kind::BeforeTool,
    unattended,
};

/// Events by name; others proceed.
const EVENTS: &[(&str, Kind)] = &[
    ("SessionStart", Kind::SessionStart),
    ("UserPromptSubmit", Kind::Prompt),
    ("PreToolUse", Kind::BeforeTool),
    ("PostToolUse", Kind::AfterTool),
    ("PostToolUseFailure", Kind::ToolFailed),
    ("Stop", Kind::Stop),
    ("SubagentStop", Kind::SubagentStop),
    ("SessionEnd", Kind::SessionEnd),
    ("ConfigChange", Kind::ConfigChange),
    ("PostModelSwitch", Kind::ModelSwitch),
];

pub(super) fn read(event: &Value, named: Option<&str>) -> Result<Event, BadEvent> {
    let fields = Fields::of(event)?;
    let name = fields.event_name(named)?;
    let mut read = fields.event(name, EVENTS);
    let kind = read.kind;
    match kind {
        Kind::BeforeTool | Kind::AfterTool | Kind::ToolFailed => {
            read.tool = fields.tool(&["tool_name"])?;
            read.input = fields.input(&["tool_input"])?;
            read.response = fields.response(&["tool_response", "tool_output"]);
            read.text = fields.text(&["error"]);
        }
        Kind::Prompt => read.text = fields.text(&["prompt"]),
        Kind::Stop | Kind::SubagentStop => read.text = fields.text(&["last_assistant_message"]),
        Kind::ModelSwitch => {
            read.from_model = fields.text(&["from_model", "previous_model", "old_model"]);
            read.model = fields.text(&["to_model", "new_model", "model"]);
        }
        Kind::SessionStart | Kind::SessionEnd | Kind::ConfigChange | Kind::Other => {
            read.source = fields.text(&["source", "reason"]);
            read.file = fields.text(&["file_path"]);
        }
    }
    Ok(read)
}

pub(super) fn reply(event: &Event, answer: &Answer) -> Reply {
    let specific = |key: &str, text: &str| {
        let mut output = json!({ "hookEventName": event.name });
        if let Some(output) = output.as_object_mut() {
            output.insert(key.to_owned(), text.into());
        }
        output
    };
    let decision = |decision: &str, reason: &str| {
        json!({
            "hookSpecificOutput": {
                "hookEventName": event.name,
                "permissionDecision": decision,
                "permissionDecisionReason": reason,
            },
        })
    };
    match answer {
        Answer::Proceed => Reply::proceed(),
        Answer::Advise(text) => Reply::json(&json!({
            "hookSpecificOutput": specific("additionalContext", text),
        })),
        Answer::Tell(text) => Reply::json(&json!({ "systemMessage": text })),
        Answer::Ask(reason) => Reply::question(&decision("ask", reason), reason),
        Answer::Deny(reason) if event.kind == Kind::BeforeTool => {
            Reply::deny(&decision("deny", reason), reason)
        }
        Answer::Deny(reason) | Answer::Block(reason) => Reply::block(reason),
    }
}

/// Returns `true` for `claude -p` and the SDK, which run without a person; the event does not show it, but the
/// environment does.
fn unattended(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    match variable("CLAUDE_CODE_SESSION_ATTENDED") {
        Some(attended) => attended == "0" || attended == "false",
        None => variable("CLAUDE_CODE_ENTRYPOINT")
            .is_some_and(|entry| entry.to_string_lossy().starts_with("sdk-")),
    }
}
