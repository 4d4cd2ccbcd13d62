//! Requests to a backend, and the validity of its answers.

use serde_json::{Value, json};
use specialist::contract::{Call, Usage, Wire, judge, precheck, to_json};
use specialist::registry::Contract;

fn call(contract: Contract) -> Call {
    let mut entry = super::entry();
    entry.contract = contract;
    let version = entry.versions[0].clone();
    Call::new(&entry, &version, &json!({ "claim": "x" }), "run-1")
}

fn answer(status: u16, body: &str) -> Wire {
    Wire::Answer {
        status,
        body: body.as_bytes().to_vec(),
    }
}

/// Judges a response and returns the error, or `ok`.
fn told(contract: Contract, wire: &Wire) -> String {
    match judge(&call(contract), wire, 5.0) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.error,
    }
}

#[test]
fn the_request_has_these_keys_in_this_order() {
    assert_eq!(
        call(Contract::Verify).body.to_string(),
        "{\"adapter_id\":\"v1-adapter\",\"role\":\"Checker\",\"input\":{\"claim\":\"x\"},\"trace_id\":\"run-1\"}"
    );
}

#[test]
fn slashes_at_the_end_of_the_address_are_not_doubled() {
    let mut call = call(Contract::Verify);
    for (base, url) in [
        ("http://h:8000///", "http://h:8000/verify"),
        ("http://h:8000/a", "http://h:8000/a/verify"),
    ] {
        call.backend_url = base.to_owned();
        assert_eq!(call.url(&call.backend_url), url);
    }
    call.contract = Contract::OpenAi;
    for (base, url) in [
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h", "http://h/v1/chat/completions"),
    ] {
        call.backend_url = base.to_owned();
        assert_eq!(call.url(&call.backend_url), url);
    }
}

#[test]
fn the_checks_have_an_order() {
    let good = "{\"verdict\":null,\"adapter_id\":\"v1-adapter\"}";
    for (wire, expected) in [
        (answer(200, good), "ok"),
        (answer(204, good), "ok"),
        (answer(500, good), "http_500"),
        (answer(302, good), "http_302"),
        (answer(404, ""), "http_404"),
        (Wire::Timeout, "timeout"),
        (
            Wire::Failed("connection refused".into()),
            "connection refused",
        ),
        (Wire::Failed(String::new()), "transport_error"),
        (
            Wire::Broken {
                status: 200,
                why: "too long".into(),
            },
            "malformed_response",
        ),
        (
            Wire::Broken {
                status: 503,
                why: "too long".into(),
            },
            "http_503",
        ),
        (answer(200, "hello"), "malformed_response"),
        (answer(200, "7"), "malformed_response"),
        (answer(200, "null"), "malformed_response"),
        (answer(200, ""), "malformed_response"),
        (answer(200, "[]"), "missing_verdict"),
        (answer(200, "{\"adapter_id\":\"other\"}"), "missing_verdict"),
        (answer(200, "{\"verdict\":1}"), "adapter_id_mismatch"),
        (
            answer(200, "{\"verdict\":1,\"adapter_id\":7}"),
            "adapter_id_mismatch",
        ),
        (
            answer(
                200,
                "{\"verdict\":1,\"adapter_id\":\"V1-adapter\",\"base_model\":\"x\"}",
            ),
            "adapter_id_mismatch",
        ),
        (
            answer(
                200,
                "{\"verdict\":1,\"adapter_id\":\"v1-adapter\",\"base_model\":\"other/base\"}",
            ),
            "base_model_mismatch",
        ),
        (
            answer(
                200,
                "{\"verdict\":1,\"adapter_id\":\"v1-adapter\",\"base_model\":\"Qwen/Qwen3-8B\"}",
            ),
            "ok",
        ),
        (
            answer(
                200,
                "{\"verdict\":1,\"adapter_id\":\"v1-adapter\",\"base_model\":7}",
            ),
            "ok",
        ),
    ] {
        assert_eq!(told(Contract::Verify, &wire), expected, "{wire:?}");
    }
}

#[test]
fn a_wrong_echo_names_both() {
    let wire = answer(200, "{\"verdict\":1,\"adapter_id\":\"other\"}");
    let error = judge(&call(Contract::Verify), &wire, 5.0).unwrap_err();
    assert_eq!(
        error.detail,
        "pinned adapter \"v1-adapter\", the backend echoed \"other\""
    );
    assert_eq!(
        to_json(&Err(error)).to_string(),
        "{\"ok\":false,\"error\":\"adapter_id_mismatch\",\"detail\":\"pinned adapter \\\"v1-adapter\\\", the backend echoed \\\"other\\\"\",\"status\":200}"
    );
}

#[test]
fn what_an_answer_leaves() {
    let body = "{\"verdict\":{\"label\":\"supported\"},\"score\":0.83,\"adapter_id\":\"v1-adapter\",\"base_model\":\"Qwen/Qwen3-8B\",\"duration_ms\":412}";
    let good = judge(&call(Contract::Verify), &answer(200, body), 5.0);
    assert_eq!(
        good.as_ref().unwrap().verdict,
        json!({ "label": "supported" })
    );
    assert_eq!(
        to_json(&good).to_string(),
        "{\"ok\":true,\"score\":0.83,\"adapter_id\":\"v1-adapter\",\"base_model\":\"Qwen/Qwen3-8B\",\"duration_ms\":412}"
    );
    let bare =
        "{\"verdict\":1,\"score\":\"high\",\"adapter_id\":\"v1-adapter\",\"duration_ms\":\"long\"}";
    let bare = judge(&call(Contract::Verify), &answer(200, bare), 5.25).unwrap();
    assert_eq!((bare.score, bare.duration_ms), (None, 5.25));
    for (score, expected) in [("7", None), ("-0.1", None), ("1", Some(1.0))] {
        let body = format!("{{\"verdict\":1,\"score\":{score},\"adapter_id\":\"v1-adapter\"}}");
        let told = judge(&call(Contract::Verify), &answer(200, &body), 1.0).unwrap();
        assert_eq!(told.score, expected, "{score}");
    }
}

#[test]
fn nothing_is_sent_without_address_and_pin() {
    let mut call = call(Contract::Verify);
    assert_eq!(precheck(&call), Ok(()));
    call.adapter_id.clear();
    assert_eq!(precheck(&call).unwrap_err().error, "no_adapter_id");
    call.backend_url = "//".to_owned();
    assert_eq!(precheck(&call).unwrap_err().error, "no_backend_url");
}

#[test]
fn tokens_that_no_model_takes_are_not_told_on() {
    let read = |usage: Value| Usage::read(&usage).map(|usage| (usage.input, usage.output));
    let told = |input: Value, output: Value| {
        read(json!({ "input_tokens": input, "output_tokens": output }))
    };
    assert_eq!(told(json!(9), json!(5)), Some((9, 5)));
    for (input, output) in [
        (json!(u64::MAX), json!(5)),
        (json!(9), json!(1e300)),
        (json!(-9), json!(5)),
        (json!("9"), json!(5)),
    ] {
        assert_eq!(told(input, output), None);
    }
    assert_eq!(read(json!("lots")), None);
}

#[test]
fn an_openai_backend_answers_by_content_or_tool() {
    let body = call(Contract::OpenAi).body;
    assert_eq!(body["model"], "v1-adapter");
    assert_eq!(body["messages"][0]["content"], "{\"claim\":\"x\"}");
    let reply = |message: Value, model: &str| {
        answer(
            200,
            &json!({ "model": model, "choices": [{ "message": message }] }).to_string(),
        )
    };
    let verdict = |wire: &Wire| judge(&call(Contract::OpenAi), wire, 1.0).map(|good| good.verdict);
    assert_eq!(
        verdict(&reply(json!({ "content": "{\"a\": 1}" }), "v1-adapter")),
        Ok(json!({ "a": 1 }))
    );
    assert_eq!(
        verdict(&reply(json!({ "content": "plain" }), "v1-adapter")),
        Ok(json!("plain"))
    );
    let tool = json!({ "content": null, "tool_calls": [{ "function": { "name": "f", "arguments": "{\"b\":2}" } }] });
    assert_eq!(verdict(&reply(tool, "v1-adapter")), Ok(json!({ "b": 2 })));
    assert_eq!(
        told(Contract::OpenAi, &reply(json!({ "content": "x" }), "base")),
        "adapter_id_mismatch"
    );
    assert_eq!(
        told(Contract::OpenAi, &reply(json!({}), "v1-adapter")),
        "missing_verdict"
    );
    assert_eq!(
        told(Contract::OpenAi, &answer(200, "{\"choices\":[]}")),
        "missing_verdict"
    );
}
