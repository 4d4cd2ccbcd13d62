//! Tests of the conversion of requests to inputs of a role, and of answers, for each API.

use super::reply::{chunks, message_events, named_events, response_events};
use super::*;
use specialist::contract::Usage;

fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

#[test]
fn one_user_message_of_text_is_an_input() {
    use Dialect::{Chat, Messages, Responses};
    let image = json!([{ "type": "text", "text": "x" }, { "type": "image" }]);
    let block = json!([{ "type": "text", "text": "{\"a\":1}" }]);
    let part = json!([{ "type": "input_text", "text": "hi" }]);
    let said = json!({ "role": "assistant", "content": "b" });
    let hi = user(&json!("hi"));
    for (dialect, body, expected) in [
        (
            Chat,
            json!({ "messages": [{ "role": "system", "content": "s" }, hi] }),
            Ok(json!("hi")),
        ),
        (
            Messages,
            json!({ "messages": [user(&block)], "tools": [{}] }),
            Ok(json!({ "a": 1 })),
        ),
        (
            Messages,
            json!({ "messages": [user(&image)] }),
            Err("not_text"),
        ),
        (
            Chat,
            json!({ "messages": [hi, said, hi] }),
            Err("conversation"),
        ),
        (Chat, json!({ "messages": [said] }), Err("conversation")),
        (Chat, json!({ "messages": [] }), Err("no_messages")),
        (Chat, json!({}), Err("no_messages")),
        (
            Chat,
            json!({ "messages": [hi], "tool_choice": "required" }),
            Err("tool_call_wanted"),
        ),
        (
            Messages,
            json!({ "messages": [hi], "tool_choice": { "type": "any" } }),
            Err("tool_call_wanted"),
        ),
        (
            Chat,
            json!({ "messages": [hi], "n": 2 }),
            Err("several_answers_wanted"),
        ),
        (Responses, json!({ "input": "hi" }), Ok(json!("hi"))),
        (
            Responses,
            json!({ "input": [{ "role": "developer", "content": "s" }, user(&part)] }),
            Ok(json!("hi")),
        ),
        (
            Responses,
            json!({ "input": "hi", "previous_response_id": "resp_1" }),
            Err("conversation"),
        ),
        (Responses, json!({ "messages": [hi] }), Err("no_messages")),
    ] {
        assert_eq!(input(dialect, &body), expected, "{dialect:?} {body}");
    }
}

#[test]
fn what_an_adapter_cannot_be_told_is_named() {
    use Dialect::{Chat, Messages, Responses};
    let schema = json!({ "name": "n", "schema": { "type": "object" }, "strict": true });
    let chat_format = json!({ "type": "json_schema", "json_schema": schema });
    let mut response_format = schema;
    response_format["type"] = json!("json_schema");
    for (dialect, body, by_verify, by_chat) in [
        (Chat, json!({ "messages": [] }), vec![], vec![]),
        (
            Chat,
            json!({ "messages": [{ "role": "system", "content": "s" }], "response_format": { "type": "text" } }),
            vec!["system_text"],
            vec![],
        ),
        (
            Chat,
            json!({ "response_format": chat_format, "tools": [{}] }),
            vec!["tools", "response_format"],
            vec!["tools"],
        ),
        (
            Chat,
            json!({ "tools": [{}], "tool_choice": "none" }),
            vec![],
            vec![],
        ),
        (
            Messages,
            json!({ "system": "s", "tools": [] }),
            vec!["system_text"],
            vec![],
        ),
        (
            Responses,
            json!({ "instructions": "s", "text": { "format": response_format } }),
            vec!["system_text", "response_format"],
            vec![],
        ),
    ] {
        assert_eq!(left_out(dialect, &body, false), Ok(by_verify), "{body}");
        assert_eq!(left_out(dialect, &body, true), Ok(by_chat), "{body}");
    }
    let body = json!({ "text": { "format": response_format }, "max_output_tokens": 9, "temperature": null });
    let told = json!({ "max_tokens": 9, "response_format": chat_format });
    assert_eq!(Value::Object(settings(&body)), told);
}

#[test]
fn a_field_that_no_adapter_is_told_of_counts_as_a_tool() {
    for (body, is_left_out) in [
        (json!({ "functions": [{ "name": "f" }] }), true),
        (
            json!({ "functions": [{}], "function_call": { "name": "f" } }),
            true,
        ),
        (json!({ "functions": [{}], "function_call": "none" }), false),
        (json!({ "functions": [] }), false),
        (
            json!({ "output_config": { "format": { "type": "json_schema" } } }),
            true,
        ),
        (json!({ "output_config": { "effort": "low" } }), false),
        (json!({ "output_format": { "type": "json_schema" } }), true),
        (json!({ "mcp_servers": [{ "url": "u" }] }), true),
        (json!({ "web_search_options": {} }), true),
        (
            json!({ "modalities": ["text", "audio"], "audio": { "voice": "v" } }),
            true,
        ),
        (json!({ "modalities": ["text"] }), false),
        (json!({ "logprobs": true, "top_logprobs": 2 }), true),
        (json!({ "logprobs": false, "include": [] }), false),
        (json!({ "what_comes_next_year": 1 }), true),
        (
            json!({ "user": "u", "metadata": { "a": "b" }, "stream": true, "temperature": 1 }),
            false,
        ),
    ] {
        for is_chat in [false, true] {
            let found = left_out(Dialect::Chat, &body, is_chat).unwrap();
            assert_eq!(found == ["tools"], is_left_out, "{body}");
            assert_eq!(found.is_empty(), !is_left_out, "{body}");
        }
    }
}

#[test]
fn a_stream_has_the_whole_text_in_whole_characters_and_its_tokens() {
    let answer = json!("é".repeat(100));
    let reply = Reply {
        trace: "t",
        model: "m",
        answer: &answer,
        usage: Usage {
            input: 9,
            output: 5,
        },
    };
    let text = "é".repeat(100);
    let joined = |stream: &str, at: &dyn Fn(&Value) -> Option<String>| -> String {
        let data = stream
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| at(&serde_json::from_str::<Value>(data).ok()?))
            .collect()
    };
    let openai = chunks(reply, &text, true);
    assert_eq!(
        joined(&openai, &|chunk| Some(
            chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()
        )),
        text
    );
    assert!(
        openai.ends_with("\"total_tokens\":14}}\n\ndata: [DONE]\n\n"),
        "{openai}"
    );
    let anthropic = named_events(&message_events(reply, &text));
    assert_eq!(
        joined(&anthropic, &|event| Some(
            event["delta"]["text"].as_str()?.to_owned()
        )),
        text
    );
    assert!(
        anthropic.starts_with("event: message_start\n")
            && anthropic.ends_with("{\"type\":\"message_stop\"}\n\n")
            && anthropic.contains("\"usage\":{\"output_tokens\":5}")
            && anthropic.contains("\"input_tokens\":9"),
        "{anthropic}"
    );
    let responses = named_events(&response_events(reply, &text));
    assert_eq!(
        streamed_text(Dialect::Responses, responses.as_bytes()).as_ref(),
        Ok(&text)
    );
    assert!(responses.contains("\"total_tokens\":14"), "{responses}");
}
