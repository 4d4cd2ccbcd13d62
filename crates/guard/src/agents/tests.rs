//! Properties of every dialect with any input. The exact output of each is tested through the binary.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Returns the events by which each agent announces a tool call.
fn calls() -> Vec<(Agent, Value)> {
    let command = json!({"command": "git push"});
    vec![
        (
            Agent::Claude,
            json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": command}),
        ),
        (
            Agent::Codex,
            json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": command}),
        ),
        (
            Agent::Gemini,
            json!({"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "run_shell_command", "tool_input": command}),
        ),
        (
            Agent::Cursor,
            json!({"hook_event_name": "beforeShellExecution", "conversation_id": "s", "command": "git push"}),
        ),
        (
            Agent::Cursor,
            json!({"hook_event_name": "preToolUse", "conversation_id": "s", "tool_name": "Shell", "tool_input": command}),
        ),
        (
            Agent::Copilot,
            json!({"sessionId": "s", "toolName": "bash", "toolArgs": command}),
        ),
        (
            Agent::Copilot,
            json!({"sessionId": "s", "toolName": "bash", "toolArgs": command.to_string()}),
        ),
        (
            Agent::Copilot,
            json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "bash", "tool_input": command}),
        ),
    ]
}

#[test]
fn every_agent_names_itself() {
    for agent in Agent::ALL {
        assert_eq!(Agent::from_name(agent.name()), Some(agent));
    }
    assert_eq!(Agent::from_name("Claude"), None);
}

#[test]
fn a_call_reads_the_same_in_every_dialect() {
    for (agent, event) in calls() {
        let read = agent.dialect().read(&event, None).unwrap();
        assert_eq!(read.kind, Kind::BeforeTool, "{event}");
        assert_eq!(read.session.as_deref(), Some("s"), "{event}");
        let command = oversight::tools::shell_command(&read.tool, &read.input);
        assert_eq!(command.as_deref(), Some("git push"), "{event}");
    }
}

#[test]
fn a_refusal_blocks_by_the_agents_own_form_or_by_its_exit_code() {
    for (agent, event) in calls() {
        let dialect = agent.dialect();
        let read = dialect.read(&event, None).unwrap();
        let reply = dialect.reply(&read, &Answer::Deny("because".to_owned()));
        if agent == Agent::Claude {
            let said: Value = serde_json::from_str(&reply.stdout).unwrap();
            let said = &said["hookSpecificOutput"];
            assert_eq!(said["hookEventName"], "PreToolUse");
            assert_eq!(said["permissionDecision"], "deny");
            assert_eq!(said["permissionDecisionReason"], "because");
            assert_eq!((reply.code, reply.stderr.as_str()), (0, ""));
            assert_eq!(reply.otherwise.as_deref(), Some("because\n"));
        } else {
            assert_eq!((reply.code, reply.stderr.as_str()), (2, "because\n"));
            assert_eq!(reply.stdout.is_empty(), agent == Agent::Codex, "{event}");
        }
    }
}

#[test]
fn a_failure_blocks_by_its_exit_code_everywhere() {
    for (agent, event) in calls() {
        let dialect = agent.dialect();
        let read = dialect.read(&event, None).unwrap();
        let reply = dialect.reply(&read, &Answer::Block("because".to_owned()));
        assert_eq!((reply.code, reply.stderr.as_str()), (2, "because\n"));
        assert_eq!(reply.otherwise, None);
    }
}

#[test]
fn no_text_acts_on_a_terminal_or_holds_a_secret_in_any_dialect() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("a\u{1b}[2J\u{7}\u{9b}1m\u{202e}\u{200b} {token}");
    for (agent, event) in calls() {
        let dialect = agent.dialect();
        let read = dialect.read(&event, None).unwrap();
        for answer in [
            Answer::Advise(text.clone()),
            Answer::Tell(text.clone()),
            Answer::Ask(text.clone()),
            Answer::Deny(text.clone()),
            Answer::Block(text.clone()),
        ] {
            let reply = dialect.reply(&read, &answer);
            let all = format!("{}{}{:?}", reply.stdout, reply.stderr, reply.otherwise);
            let acts = |c: char| c.is_control() && c != '\n';
            assert!(!all.chars().any(acts), "{all:?}");
            for hidden in ["\\u001b", "\u{202e}", "\u{200b}", &token] {
                assert!(!all.contains(hidden), "{agent:?}: {all:?}");
            }
        }
    }
}

#[test]
fn a_call_that_may_proceed_is_left_to_the_agent_and_only_cursor_has_to_be_told() {
    for (agent, event) in calls() {
        let dialect = agent.dialect();
        let read = dialect.read(&event, None).unwrap();
        let reply = dialect.reply(&read, &Answer::Proceed);
        let expected = match agent {
            Agent::Cursor => Reply::json(&json!({ "permission": "allow" })),
            _ => Reply::default(),
        };
        assert_eq!(reply, expected, "{event}");
    }
    let dialect = Agent::Cursor.dialect();
    for (name, answer, expected) in [
        (
            "beforeSubmitPrompt",
            Answer::Proceed,
            "{\"continue\":true}\n",
        ),
        ("postToolUse", Answer::Proceed, "{}\n"),
        (
            "sessionStart",
            Answer::Tell("x".to_owned()),
            "{\"continue\":true,\"user_message\":\"x\"}\n",
        ),
    ] {
        let event = json!({ "hook_event_name": name, "tool_name": "Shell", "prompt": "p" });
        let read = dialect.read(&event, None).unwrap();
        assert_eq!(dialect.reply(&read, &answer).stdout, expected);
    }
}

#[test]
fn who_cannot_ask_is_never_asked_to() {
    for (agent, event) in calls() {
        let dialect = agent.dialect();
        let read = dialect.read(&event, None).unwrap();
        let reply = dialect.reply(&read, &Answer::Ask("really".to_owned()));
        if matches!(agent, Agent::Codex | Agent::Gemini) {
            assert!(!dialect.can_ask(&read));
            assert_eq!(reply.code, 2);
        }
        assert_eq!(reply.stdout.contains("\"ask\""), reply.code == 0, "{event}");
    }
}

#[test]
fn the_environment_tells_whether_a_person_is_there() {
    let check = |agent: Agent, variables: &[(&str, &str)], expected: bool| {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let told = agent.dialect().unattended(lookup);
        assert_eq!(told, expected, "{agent:?} {variables:?}");
    };
    check(Agent::Claude, &[], false);
    check(
        Agent::Claude,
        &[("CLAUDE_CODE_SESSION_ATTENDED", "0")],
        true,
    );
    check(
        Agent::Claude,
        &[("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")],
        true,
    );
    check(Agent::Claude, &[("CLAUDE_CODE_ENTRYPOINT", "cli")], false);
    let attended = [
        ("CLAUDE_CODE_SESSION_ATTENDED", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
    ];
    check(Agent::Claude, &attended, false);
    check(Agent::Copilot, &[("CI", "true")], true);
    check(Agent::Cursor, &[("CI", "false")], false);
}

#[test]
fn a_long_reason_is_cut_to_what_every_agent_takes() {
    let event = Event::default();
    let reply = Agent::Claude
        .dialect()
        .reply(&event, &Answer::Deny("ü".repeat(100_000)));
    assert!(reply.stderr.len() < 10_000);
}

#[test]
fn a_call_whose_tool_is_not_named_is_no_event() {
    for agent in [Agent::Claude, Agent::Codex] {
        let event = json!({"hook_event_name": "PreToolUse", "tool_name": 7});
        agent.dialect().read(&event, None).unwrap_err();
    }
    let event = json!({"hook_event_name": "beforeShellExecution", "command": ["git"]});
    Agent::Cursor.dialect().read(&event, None).unwrap_err();
    Agent::Copilot.dialect().read(&json!([]), None).unwrap_err();
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z_]{0,12}".prop_map(Value::from),
    ];
    let names = prop_oneof![
        Just("hook_event_name".to_owned()),
        Just("tool_name".to_owned()),
        Just("toolName".to_owned()),
        Just("tool_input".to_owned()),
        Just("session_id".to_owned()),
        Just("duration_ms".to_owned()),
        "[a-z]{1,6}",
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_event_is_read_or_refused_and_answered(event in any_json(), index in 0_usize..5) {
        let dialect = Agent::ALL[index].dialect();
        if let Ok(read) = dialect.read(&event, None) {
            let reply = dialect.reply(&read, &Answer::Deny("no".to_owned()));
            let denies = reply.stdout.contains("\"deny\"") && reply.otherwise.is_some();
            prop_assert!(reply.code == 2 || denies);
        }
    }
}
