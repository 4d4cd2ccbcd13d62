//! GitHub Copilot, on the command line and in the cloud. Events come in two spellings; the older one does not name the
//! event, so the command line names it or it is recognised by its fields.

use serde_json::{Value, json};

use super::fields::{BadEvent, Fields};
use super::{Answer, Dialect, Event, Kind, Reply, Then, WhenHook};

pub(super) static DIALECT: Dialect = Dialect {
    name: "copilot",
    label: "GitHub Copilot",
    when_hook: WhenHook {
        is_silent: Then::Proceeds("under Copilot's own rules"),
        is_slow: Then::Proceeds("after its timeout, always; we answer long before it"),
        crashes: Then::Blocks("a non-zero exit code denies"),
        is_missing: Then::Blocks("a non-zero exit code denies"),
    },
    holes: &["the cloud agent turns a question into a refusal"],
    tried: false,
    read,
    reply,
    can_ask: |event| event.kind == Kind::BeforeTool,
    unattended: |_| false,
};

const EVENTS: &[(&str, Kind)] = &[
    ("sessionStart", Kind::SessionStart),
    ("userPromptSubmitted", Kind::Prompt),
    ("preToolUse", Kind::BeforeTool),
    ("postToolUse", Kind::AfterTool),
    ("postToolUseFailure", Kind::ToolFailed),
    ("agentStop", Kind::Stop),
    ("subagentStop", Kind::SubagentStop),
    ("sessionEnd", Kind::SessionEnd),
    ("SessionStart", Kind::SessionStart),
    ("UserPromptSubmit", Kind::Prompt),
    ("PreToolUse", Kind::BeforeTool),
    ("PostToolUse", Kind::AfterTool),
    ("PostToolUseFailure", Kind::ToolFailed),
    ("Stop", Kind::Stop),
    ("SubagentStop", Kind::SubagentStop),
    ("SessionEnd", Kind::SessionEnd),
];

fn read(event: &Value, named: Option<&str>) -> Result<Event, BadEvent> {
    let fields = Fields::of(event)?;
    let name = fields
        .text(&["hook_event_name", "hookEventName"])
        .or_else(|| named.map(str::to_owned))
        .or_else(|| recognised(&fields).map(str::to_owned))
        .ok_or_else(|| BadEvent::new("the event has no `hook_event_name` and no `toolName`"))?;
    let mut read = fields.event(name, EVENTS);
    let kind = read.kind;
    match kind {
        Kind::BeforeTool | Kind::AfterTool | Kind::ToolFailed => {
            read.tool = fields.tool(&["tool_name", "toolName"])?;
            read.input = fields.input(&["tool_input", "toolArgs"])?;
            read.response = fields.response(&["tool_response", "tool_result", "toolResult"]);
            read.text = fields.text(&["error"]);
        }
        Kind::Prompt => read.text = fields.text(&["prompt"]),
        _ => read.source = fields.text(&["source", "reason", "stopReason"]),
    }
    Ok(read)
}

/// Recognises an unnamed event by its fields. An event with a tool and without a result is a call to decide.
fn recognised(fields: &Fields<'_>) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().any(|name| fields.get(name).is_some());
    if has(&["toolName", "tool_name"]) {
        let over = has(&["toolResult", "tool_result", "tool_response"]);
        return Some(if over { "postToolUse" } else { "preToolUse" });
    }
    if has(&["prompt"]) {
        return Some("userPromptSubmitted");
    }
    if has(&["source", "initialPrompt"]) {
        return Some("sessionStart");
    }
    has(&["reason"]).then_some("sessionEnd")
}

fn reply(event: &Event, answer: &Answer) -> Reply {
    let decision = |decision: &str, reason: &str| json!({ "permissionDecision": decision, "permissionDecisionReason": reason });
    match answer {
        Answer::Proceed => Reply::proceed(),
        Answer::Advise(text) => Reply::json(&json!({ "additionalContext": text })),
        Answer::Tell(text) => Reply {
            stderr: format!("{text}\n"),
            ..Reply::default()
        },
        Answer::Ask(reason) if event.kind == Kind::BeforeTool => {
            Reply::question(&decision("ask", reason), reason)
        }
        Answer::Ask(reason) | Answer::Deny(reason) | Answer::Block(reason) => {
            Reply::block_with(&decision("deny", reason), reason)
        }
    }
}
