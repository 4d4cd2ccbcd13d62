//! Codex CLI. It cannot ask: with `ask`, or with any unknown field, it lets the call run. So its structured refusal is
//! less safe than exit 2, and it gets refusals by exit code with a reason, notes for the model, and nothing else.

use serde_json::json;

use super::{Answer, Dialect, Event, Kind, Reply, Then, WhenHook, claude};

pub(super) static DIALECT: Dialect = Dialect {
    name: "codex",
    label: "Codex CLI",
    when_hook: WhenHook {
        is_silent: Then::Proceeds("under Codex's own approval policy and sandbox"),
        is_slow: Then::Proceeds("after its timeout; we answer long before it"),
        crashes: Then::Proceeds("Codex lets the call run"),
        is_missing: Then::Proceeds("Codex lets the call run"),
    },
    holes: &[
        "a hook whose trust was not persisted is skipped without a word",
        "another `CODEX_HOME` has no hooks",
        "input typed into a running command (`write_stdin`) is not checked again",
    ],
    tried: true,
    read: claude::read,
    reply,
    can_ask: |_| false,
    unattended: |_| false,
};

/// Events whose output may carry a note for the model.
const TAKES_CONTEXT: &[Kind] = &[
    Kind::SessionStart,
    Kind::Prompt,
    Kind::BeforeTool,
    Kind::AfterTool,
];

fn reply(event: &Event, answer: &Answer) -> Reply {
    match answer {
        Answer::Advise(text) if TAKES_CONTEXT.contains(&event.kind) => Reply::json(&json!({
            "hookSpecificOutput": { "hookEventName": event.name, "additionalContext": text },
        })),
        Answer::Tell(text) => Reply::json(&json!({ "systemMessage": text })),
        Answer::Proceed | Answer::Advise(_) => Reply::proceed(),
        Answer::Ask(reason) | Answer::Deny(reason) | Answer::Block(reason) => Reply::block(reason),
    }
}
