//! Cursor. Permission is `allow`, `deny` or `ask`; a question is honoured only before shell commands and MCP calls.
//!
//! The editor treats an empty answer as a failure, and blocks calls registered with `failClosed: true`; its command
//! line lets them pass. So every event is answered.

use serde_json::{Map, Value, json};

use super::fields::{BadEvent, Fields};
use super::{Answer, Dialect, Event, Kind, Reply, Then, WhenHook};

const CLOSED: Then = Then::Blocks("because it is registered with `failClosed: true`");

pub(super) static DIALECT: Dialect = Dialect {
    name: "cursor",
    label: "Cursor",
    when_hook: WhenHook {
        is_silent: Then::Blocks("in the editor; its command line goes on, so we always answer"),
        is_slow: CLOSED,
        crashes: CLOSED,
        is_missing: CLOSED,
    },
    holes: &[
        "the unit of its timeout differs between sources",
        "a call that we allow may run without Cursor's own question",
    ],
    tried: false,
    read,
    reply,
    can_ask: |event| ASKS.contains(&event.name.as_str()),
    unattended: |_| false,
};

/// Events at which `ask` is honoured.
const ASKS: &[&str] = &["beforeShellExecution", "beforeMCPExecution"];

const EVENTS: &[(&str, Kind)] = &[
    ("sessionStart", Kind::SessionStart),
    ("beforeSubmitPrompt", Kind::Prompt),
    ("preToolUse", Kind::BeforeTool),
    ("beforeShellExecution", Kind::BeforeTool),
    ("beforeMCPExecution", Kind::BeforeTool),
    ("beforeReadFile", Kind::BeforeTool),
    ("postToolUse", Kind::AfterTool),
    ("postToolUseFailure", Kind::ToolFailed),
    ("afterShellExecution", Kind::AfterTool),
    ("afterMCPExecution", Kind::AfterTool),
    ("stop", Kind::Stop),
    ("subagentStop", Kind::SubagentStop),
    ("sessionEnd", Kind::SessionEnd),
];

fn read(event: &Value, named: Option<&str>) -> Result<Event, BadEvent> {
    let fields = Fields::of(event)?;
    let name = fields.event_name(named)?;
    let mut read = fields.event(name, EVENTS);
    let kind = read.kind;
    if read.cwd.is_none() {
        let roots = fields.get("workspace_roots").and_then(Value::as_array);
        let first = roots.and_then(|roots| roots.first()?.as_str());
        read.cwd = first.map(str::to_owned);
    }
    match kind {
        Kind::BeforeTool | Kind::AfterTool | Kind::ToolFailed => tool(&fields, &mut read)?,
        Kind::Prompt => read.text = fields.text(&["prompt"]),
        Kind::Stop | Kind::SubagentStop => {
            read.text = fields.text(&["text", "last_assistant_message", "status"]);
        }
        _ => read.source = fields.text(&["source", "reason", "composer_mode"]),
    }
    Ok(read)
}

/// Extracts the tool: shell commands, MCP calls and file reads have their own events, without a tool's name.
fn tool(fields: &Fields<'_>, read: &mut Event) -> Result<(), BadEvent> {
    let only = |name: &str, value: Option<&Value>| {
        let value = value.cloned().unwrap_or_default();
        Value::Object(Map::from_iter([(name.to_owned(), value)]))
    };
    match read.name.as_str() {
        "beforeShellExecution" | "afterShellExecution" => {
            if fields.get("command").and_then(Value::as_str).is_none() {
                return Err(BadEvent::new("the event of a command has no `command`"));
            }
            "Shell".clone_into(&mut read.tool);
            read.input = only("command", fields.get("command"));
        }
        "beforeReadFile" => {
            if fields.get("file_path").and_then(Value::as_str).is_none() {
                return Err(BadEvent::new("the event of a file has no `file_path`"));
            }
            "Read".clone_into(&mut read.tool);
            read.input = only("file_path", fields.get("file_path"));
        }
        "beforeMCPExecution" | "afterMCPExecution" => {
            let tool = fields.tool(&["tool_name"])?;
            // Rules for MCP tools use the tool's name after that of a server, which this event does not contain.
            read.tool = if tool.starts_with("mcp__") {
                tool
            } else {
                format!("mcp__cursor__{tool}")
            };
            read.input = fields.input(&["tool_input"])?;
        }
        _ => {
            read.tool = fields.tool(&["tool_name"])?;
            read.input = fields.input(&["tool_input"])?;
        }
    }
    read.response = fields.response(&["tool_output", "output", "result_json"]);
    read.text = fields.text(&["error_message", "error"]);
    Ok(())
}

fn reply(event: &Event, answer: &Answer) -> Reply {
    let permission = |permission: &str, text: &str| json!({ "permission": permission, "user_message": text, "agent_message": text });
    match answer {
        Answer::Proceed if event.kind == Kind::BeforeTool => {
            Reply::json(&json!({ "permission": "allow" }))
        }
        Answer::Proceed if event.kind == Kind::Prompt => Reply::json(&json!({ "continue": true })),
        Answer::Proceed => Reply::json(&json!({})),
        Answer::Advise(text) if event.kind == Kind::BeforeTool => {
            Reply::json(&json!({ "permission": "allow", "agent_message": text }))
        }
        Answer::Advise(text) => Reply::json(&json!({ "additional_context": text })),
        Answer::Tell(text) => Reply::json(&json!({ "continue": true, "user_message": text })),
        Answer::Ask(reason) => Reply::question(&permission("ask", reason), reason),
        Answer::Deny(reason) | Answer::Block(reason) => {
            Reply::block_with(&permission("deny", reason), reason)
        }
    }
}
