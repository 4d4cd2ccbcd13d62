//! Gemini CLI. Hooks can refuse and cannot ask; exit 2 refuses and takes the reason from standard error.

use serde_json::{Value, json};

use super::fields::{BadEvent, Fields};
use super::{Answer, Dialect, Event, Kind, Reply, Then, WhenHook};

const WARNS: Then = Then::Proceeds("with a warning");

pub(super) static DIALECT: Dialect = Dialect {
    name: "gemini",
    label: "Gemini CLI",
    when_hook: WhenHook {
        is_silent: Then::Proceeds("under Gemini's own policy"),
        is_slow: WARNS,
        crashes: WARNS,
        is_missing: WARNS,
    },
    holes: &["extensions and another settings file can take the hook out"],
    tried: false,
    read,
    reply,
    can_ask: |_| false,
    unattended: |_| false,
};

const EVENTS: &[(&str, Kind)] = &[
    ("SessionStart", Kind::SessionStart),
    ("BeforeAgent", Kind::Prompt),
    ("BeforeTool", Kind::BeforeTool),
    ("AfterTool", Kind::AfterTool),
    ("AfterAgent", Kind::Stop),
    ("SessionEnd", Kind::SessionEnd),
];

fn read(event: &Value, named: Option<&str>) -> Result<Event, BadEvent> {
    let fields = Fields::of(event)?;
    let name = fields.event_name(named)?;
    let mut read = fields.event(name, EVENTS);
    let kind = read.kind;
    match kind {
        Kind::BeforeTool | Kind::AfterTool => {
            read.tool = canonical(&fields)?;
            read.input = fields.input(&["tool_input"])?;
            read.response = fields.response(&["tool_response"]);
        }
        Kind::Prompt => read.text = fields.text(&["prompt"]),
        Kind::Stop => read.text = fields.text(&["prompt_response"]),
        _ => read.source = fields.text(&["source", "reason", "trigger"]),
    }
    Ok(read)
}

/// Returns the name of a tool. Those of MCP servers have the server's name in another field; other agents put it in
/// front of the tool's.
fn canonical(fields: &Fields<'_>) -> Result<String, BadEvent> {
    let tool = fields.tool(&["tool_name"])?;
    let context = fields.get("mcp_context").and_then(Value::as_object);
    let text = |name: &str| context?.get(name)?.as_str();
    Ok(match (text("server_name"), text("tool_name")) {
        (Some(server), Some(tool)) => format!("mcp__{server}__{tool}"),
        _ => tool,
    })
}

fn reply(event: &Event, answer: &Answer) -> Reply {
    match answer {
        Answer::Proceed => Reply::proceed(),
        // Before a tool there is no field for the model, so the person gets the note.
        Answer::Advise(text) if event.kind == Kind::BeforeTool => {
            Reply::json(&json!({ "systemMessage": text }))
        }
        Answer::Advise(text) => Reply::json(&json!({
            "hookSpecificOutput": { "hookEventName": event.name, "additionalContext": text },
        })),
        Answer::Tell(text) => Reply::json(&json!({ "systemMessage": text })),
        Answer::Ask(reason) | Answer::Deny(reason) | Answer::Block(reason) => {
            Reply::block_with(&json!({ "decision": "deny", "reason": reason }), reason)
        }
    }
}
