//! Roles as their callers expect them: no outage by a damaged file, no wait for a probe, tokens, and the client's
//! complete input.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::stage::{LONG, Message, Stage, Stub, upstream, write};

pub(crate) const CLAIM: &str = r#"{"embedding":[1.0,0.0],"claim":"x"}"#;

/// Writes a registry with one role; `extra` are further keys of its entry.
pub(crate) fn registry(root: &Path, url: &str, extra: &Value) {
    let mut registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "checker", "backend_url": url, "fallback": "claude", "workload_quota": 1, "active_version": "v1",
            "versions": [{
                "id": "v1", "adapter_id": "pin", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            }],
        }],
    });
    for (key, value) in extra.as_object().unwrap() {
        registry["specialists"][0][key] = value.clone();
    }
    fs::write(root.join(".role-os/specialists.json"), registry.to_string()).unwrap();
}

pub(crate) fn fallback(kind: &str, url: &str) -> String {
    format!(
        "[fallback.claude]\nkind = \"{kind}\"\nmodel = \"general-1\"\nbase_url = \"{url}\"\nretries = 0\n"
    )
}

/// Starts an adapter with chat completions that reports its tokens.
fn chat_adapter() -> Stub {
    Stub::json(&json!({
        "model": "pin",
        "choices": [{ "message": { "content": "{\"label\":\"supported\"}" } }],
        "usage": { "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14 },
    }))
}

pub(crate) fn verify_adapter() -> Stub {
    Stub::json(&json!({ "verdict": { "label": "supported" }, "adapter_id": "pin" }))
}

pub(crate) fn general() -> Stub {
    Stub::json(&json!({
        "choices": [{ "message": { "role": "assistant", "content": "by the general model" } }],
        "usage": { "prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25 },
    }))
}

pub(crate) fn chat(extra: &Value) -> String {
    let mut body =
        json!({ "model": "role:checker", "messages": [{ "role": "user", "content": CLAIM }] });
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.to_string()
}

fn route(answer: &Message) -> (u16, Option<&str>, Option<&str>) {
    (
        answer.status(),
        answer.header("x-roleos-route"),
        answer.header("x-roleos-reason"),
    )
}

#[test]
fn a_damaged_registry_or_role_file_leaves_the_role_to_the_general_model() {
    let (adapter, general) = (verify_adapter(), general());
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        registry(root, &adapter.url, &json!({}));
    });
    let root = stage.folder.path();
    let path = root.join(".role-os/specialists.json");
    let whole = fs::read_to_string(&path).unwrap();
    let ask = || stage.post("/v1/chat/completions", &chat(&json!({})));
    assert_eq!(route(&ask()), (200, Some("specialist"), Some("ok")));
    let open = (200, Some("general"), Some("no_registry_entry"));
    let unreadable = |text: &str| fs::write(&path, text).unwrap();
    // Refused by rule R1, then by R6, torn, not even text, and missing.
    unreadable(&whole.replace("Qwen/Qwen3-8B", "claude-3"));
    assert_eq!(route(&ask()), open);
    unreadable(&whole.replace("\"workload_quota\":1", "\"workload_quota\":7"));
    assert_eq!(route(&ask()), open);
    let damaged = (200, Some("general"), Some("registry_damaged"));
    unreadable(whole.split_at(whole.len() / 2).0);
    assert_eq!(route(&ask()), damaged);
    unreadable("\u{0}");
    assert_eq!(route(&ask()), damaged);
    fs::remove_file(&path).unwrap();
    assert_eq!(route(&ask()), open);
    let native = stage.post("/v1/dispatch", r#"{"role":"checker","input":"x"}"#);
    assert_eq!(native.json()["result"], "by the general model");
    unreadable(&whole);
    assert_eq!(route(&ask()), (200, Some("specialist"), Some("ok")));
    // An unreadable role file still names its role.
    let roles = root.join(".role-os/roles");
    fs::create_dir_all(&roles).unwrap();
    fs::write(roles.join("scribe.en.yaml"), "name: [\n").unwrap();
    for (model, status) in [("role:scribe", 200), ("role:nobody", 404)] {
        let body = chat(&json!({ "model": model }));
        assert_eq!(
            stage.post("/v1/chat/completions", &body).status(),
            status,
            "{model}"
        );
    }
}

#[test]
fn a_role_of_an_earlier_process_is_still_known_when_its_registry_is_gone() {
    let (adapter, general) = (verify_adapter(), general());
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        let state = json!({ "schema": "roleos-specialist-state/v3", "dispatched": 0, "dispatches": "", "roles": {
            "checker": { "dispatched": 0, "dispatches": "", "probe_counter": 0, "halt": null },
        } });
        fs::write(
            root.join(".role-os/specialist-state.json"),
            state.to_string(),
        )
        .unwrap();
        registry(root, &adapter.url, &json!({}));
        fs::remove_file(root.join(".role-os/specialists.json")).unwrap();
    });
    let answer = stage.post("/v1/chat/completions", &chat(&json!({})));
    assert_eq!(
        route(&answer),
        (200, Some("general"), Some("no_registry_entry"))
    );
}

/// Starts a general model that answers only on command.
fn held_general() -> (Stub, Receiver<()>, Sender<()>) {
    let (asked, was_asked) = channel();
    let (go, may_go) = channel::<()>();
    let (asked, may_go) = (Mutex::new(asked), Arc::new(Mutex::new(may_go)));
    let stub = Stub::new(move |_, stream| {
        asked.lock().unwrap().send(()).ok();
        if may_go.lock().unwrap().recv().is_ok() {
            let said = json!({ "choices": [{ "message": { "content": "other" } }] });
            write(
                stream,
                200,
                &[("content-type", "application/json")],
                &said.to_string(),
            );
        }
    });
    (stub, was_asked, go)
}

fn probes(root: &Path) -> Vec<Value> {
    let log = root.join(".role-os/specialist-shadow-probes.jsonl");
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn wait_for(what: impl Fn() -> bool) {
    let since = std::time::Instant::now();
    while !what() && since.elapsed() < LONG {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(what());
}

#[test]
fn the_caller_has_its_answer_before_the_probe_has_its_own() {
    let adapter = verify_adapter();
    let (general, was_asked, go) = held_general();
    let config = format!(
        "[specialist]\nshadow_every = 1\n{}",
        fallback("openai", &general.url)
    );
    let stage = Stage::with(&config, |root| registry(root, &adapter.url, &json!({})));
    let input: Value = serde_json::from_str(CLAIM).unwrap();
    let body = json!({ "role": "checker", "input": input }).to_string();
    // The general model does not answer yet.
    let native = stage.post("/v1/dispatch", &body);
    assert_eq!(native.json()["result"]["label"], "supported");
    let shadow = &native.json()["receipt"]["shadow"];
    assert_eq!(*shadow, json!({ "fired": true, "pending": true }));
    let chat = stage.post("/v1/chat/completions", &chat(&json!({})));
    assert_eq!(route(&chat), (200, Some("specialist"), Some("ok")));
    assert_eq!(probes(stage.folder.path()), [json!(null); 0]);
    was_asked.recv_timeout(LONG).unwrap();
    go.send(()).unwrap();
    go.send(()).unwrap();
    wait_for(|| probes(stage.folder.path()).len() == 2);
    for probe in probes(stage.folder.path()) {
        assert_eq!(
            (&probe["data"]["agreed"], &probe["data"]["version"]),
            (&json!(false), &json!("v1"))
        );
    }
    let metrics = stage.get("/metrics").text();
    assert!(
        metrics.contains("probes_total{outcome=\"disagreed\"} 2"),
        "{metrics}"
    );
}

#[test]
fn a_server_that_ends_says_which_probes_it_did_not_make() {
    let adapter = verify_adapter();
    let (general, was_asked, _go) = held_general();
    let config = format!(
        "[specialist]\nshadow_every = 1\n{}",
        fallback("openai", &general.url)
    );
    let mut stage = Stage::with(&config, |root| registry(root, &adapter.url, &json!({})));
    // More than run at a time.
    for _ in 0..7 {
        stage.post("/v1/chat/completions", &chat(&json!({})));
    }
    was_asked.recv_timeout(LONG).unwrap();
    stage.stop();
    stage.ended();
    let probes = probes(stage.folder.path());
    let dropped: Vec<_> = probes
        .iter()
        .filter(|probe| probe["kind"] == "shadow-probe-dropped")
        .collect();
    assert_eq!((probes.len(), dropped.len()), (7, 7), "{probes:?}");
    assert!(
        dropped
            .iter()
            .all(|probe| probe["data"]["why"] == "shutdown")
    );
}

#[test]
fn tokens_of_an_adapter_reach_every_client_the_log_and_the_metrics() {
    let adapter = chat_adapter();
    let extra = json!({ "contract": "openai" });
    let stage = Stage::with("", |root| registry(root, &adapter.url, &extra));
    let whole = stage.post("/v1/chat/completions", &chat(&json!({})));
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14 });
    assert_eq!(whole.json()["usage"], usage);
    let options = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let streamed = stage.post("/v1/chat/completions", &chat(&options));
    assert!(
        streamed.text().contains(&format!("\"usage\":{usage}")),
        "{}",
        streamed.text()
    );
    let message = stage.post("/v1/messages", &chat(&json!({ "max_tokens": 8 })));
    assert_eq!(
        message.json()["usage"],
        json!({ "input_tokens": 9, "output_tokens": 5 })
    );
    let input = json!({ "model": "role:checker", "input": CLAIM }).to_string();
    let response = stage.post("/v1/responses", &input).json();
    assert_eq!(
        response["output"][0]["content"][0]["text"],
        "{\"label\":\"supported\"}"
    );
    assert_eq!(
        (
            &response["usage"]["input_tokens"],
            &response["usage"]["output_tokens"],
            &response["usage"]["total_tokens"]
        ),
        (&json!(9), &json!(5), &json!(14))
    );
    for receipt in stage.receipts(4) {
        let tokens = (
            &receipt["input_tokens"],
            &receipt["output_tokens"],
            &receipt["usage"],
        );
        assert_eq!(tokens, (&json!(9), &json!(5), &Value::Null), "{receipt}");
    }
    let metrics = stage.get("/metrics").text();
    let line = "roleos_gateway_tokens_total{route=\"specialist\",direction=\"output\",role=\"checker\",model=\"pin\"} 20";
    assert!(metrics.contains(line), "{metrics}");
    // For an adapter that reports none, tokens are estimated, and marked as such.
    let silent = verify_adapter();
    registry(stage.folder.path(), &silent.url, &json!({}));
    let estimated = stage.post("/v1/chat/completions", &chat(&json!({})));
    assert_eq!(estimated.header("x-roleos-usage"), Some("estimated"));
    assert_eq!(estimated.json()["usage"]["completion_tokens"], 6);
}

#[test]
fn tokens_of_models_that_pass_through_are_counted_too() {
    let (model, general) = (general(), general());
    let config = format!(
        "{}{}",
        upstream("up", "openai", &model.url, "[\"m\"]"),
        fallback("openai", &general.url)
    );
    let stage = Stage::new(&config);
    let body = chat(&json!({ "model": "m" }));
    let passed = stage.post("/v1/chat/completions", &body);
    assert_eq!(passed.json()["usage"]["prompt_tokens"], 21);
    let receipt = stage.receipt();
    assert_eq!(
        (&receipt["input_tokens"], &receipt["output_tokens"]),
        (&json!(21), &json!(4))
    );
}

#[test]
fn what_an_adapter_cannot_be_told_goes_to_the_general_model_under_its_name() {
    let (adapter, general) = (verify_adapter(), general());
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        registry(root, &adapter.url, &json!({}));
    });
    let system =
        json!([{ "role": "system", "content": "In verse." }, { "role": "user", "content": CLAIM }]);
    let format = json!({ "type": "json_object" });
    for (extra, reason) in [
        (json!({ "messages": system }), "system_text"),
        (json!({ "response_format": format }), "response_format"),
        (json!({ "tools": [{ "type": "function" }] }), "tools"),
    ] {
        let body = chat(&extra);
        let answer = stage.post("/v1/chat/completions", &body);
        assert_eq!(
            route(&answer),
            (200, Some("general"), Some(reason)),
            "{extra}"
        );
        let asked = general.last().text();
        assert_eq!(
            asked,
            body.replace("role:checker", "general-1"),
            "byte for byte"
        );
    }
    assert_eq!(adapter.seen().len(), 0);
    // Chat completions support all of it but tools.
    let adapter = chat_adapter();
    registry(
        stage.folder.path(),
        &adapter.url,
        &json!({ "contract": "openai" }),
    );
    let extra =
        json!({ "messages": system, "response_format": format, "max_completion_tokens": 7 });
    let answer = stage.post("/v1/chat/completions", &chat(&extra));
    assert_eq!(route(&answer), (200, Some("specialist"), Some("ok")));
    let asked = adapter.last().json();
    assert_eq!(
        asked["messages"],
        json!([system[0], { "role": "user", "content": input_text() }])
    );
    assert_eq!(
        (&asked["response_format"], &asked["max_tokens"]),
        (&format, &json!(7))
    );
    let body = chat(&json!({ "tools": [{ "type": "function" }] }));
    let answer = stage.post("/v1/chat/completions", &body);
    assert_eq!(route(&answer), (200, Some("general"), Some("tools")));
}

/// Returns the claim as an adapter behind chat completions receives it.
fn input_text() -> String {
    let claim: Value = serde_json::from_str(CLAIM).unwrap();
    claim.to_string()
}

#[test]
fn a_role_answers_on_the_responses_api_and_counts_tokens() {
    let (adapter, general) = (verify_adapter(), general());
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        registry(root, &adapter.url, &json!({}));
        let folder = root.join(".role-os/roles");
        fs::create_dir_all(&folder).unwrap();
        let text = "source:\n  slug: writer\n  language: en\n  version: 1\nenabled: true\nname: W\ninstructions: Be a writer.\n";
        fs::write(folder.join("writer.en.yaml"), text).unwrap();
    });
    let streamed = json!({ "model": "role:checker", "input": CLAIM, "stream": true }).to_string();
    let answer = stage.post("/v1/responses", &streamed);
    assert!(
        answer.text().starts_with("event: response.created\n"),
        "{}",
        answer.text()
    );
    assert!(answer.text().contains("event: response.completed\n"));
    // A general model with the same API gets the client's own bytes beside the role's instructions.
    let body = r#"{ "model": "role:writer", "instructions": "Brief.", "input": "hi" }"#;
    let answer = stage.post("/v1/responses", body);
    assert_eq!(
        route(&answer),
        (200, Some("general"), Some("no_registry_entry"))
    );
    assert_eq!(general.last().first, "POST /v1/responses HTTP/1.1");
    assert_eq!(
        general.last().text(),
        r#"{ "model": "general-1", "instructions": "Be a writer.\n\nBrief.", "input": "hi" }"#
    );
    let count = |model: &str| {
        let body = json!({ "model": model, "system": "s", "messages": [{ "role": "user", "content": "x".repeat(400) }] });
        stage.post("/v1/messages/count_tokens", &body.to_string())
    };
    let counted = count("role:writer");
    assert_eq!(
        (counted.status(), counted.header("x-roleos-usage")),
        (200, Some("estimated"))
    );
    assert!((100..120).contains(&counted.json()["input_tokens"].as_u64().unwrap()));
    assert_eq!(count("role:nobody").status(), 404);
}

#[test]
fn a_server_without_the_responses_api_is_asked_through_chat_completions() {
    let general = Stub::new(|message, stream| {
        let is_chat = message.first.contains("/chat/completions");
        let said = json!({ "choices": [{ "message": { "content": "plain" } }], "usage": { "prompt_tokens": 2, "completion_tokens": 1 } });
        let (status, body) = if is_chat {
            (200, said.to_string())
        } else {
            (404, "{}".to_owned())
        };
        write(
            stream,
            status,
            &[("content-type", "application/json")],
            &body,
        );
    });
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        registry(
            root,
            "http://127.0.0.1:1",
            &json!({ "active_version": null }),
        );
    });
    let body = json!({ "model": "role:checker", "input": "hi" }).to_string();
    let answer = stage.post("/v1/responses", &body);
    assert_eq!(answer.json()["output"][0]["content"][0]["text"], "plain");
    assert_eq!(answer.json()["usage"]["input_tokens"], 2);
    assert_eq!(
        answer.header("x-roleos-crossed"),
        Some("responses to openai")
    );
}

#[test]
fn every_answer_names_its_trace() {
    let (model, adapter) = (general(), verify_adapter());
    let config = upstream("up", "openai", &model.url, "[\"m\"]");
    let stage = Stage::with(&config, |root| registry(root, &adapter.url, &json!({})));
    let answers = [
        stage.post("/v1/chat/completions", &chat(&json!({ "model": "m" }))),
        stage.post("/v1/chat/completions", &chat(&json!({}))),
        stage.post("/v1/chat/completions", "{"),
        stage.post("/v1/dispatch", "{"),
        stage.get("/v1/models"),
    ];
    let receipts = stage.receipts(answers.len());
    for (answer, receipt) in answers.iter().zip(&receipts) {
        assert_eq!(
            answer.header("x-roleos-trace-id"),
            receipt["trace"].as_str(),
            "{receipt}"
        );
    }
}

#[test]
fn refusals_tell_their_cause_and_when_to_come_back() {
    let adapter = verify_adapter();
    let inactive = json!({ "active_version": null });
    let stage = Stage::with("", |root| registry(root, &adapter.url, &inactive));
    let refused = stage.post("/v1/chat/completions", &chat(&json!({})));
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.header("x-roleos-reason"), Some("no_active_version"));
    let said = refused.json()["error"]["message"].clone();
    let said = said.as_str().unwrap();
    assert!(
        said.contains("no adapter answered: no_active_version"),
        "{said}"
    );
    let busy = Stub::new(|_, stream| write(stream, 429, &[("Retry-After", "7")], "{}"));
    let stage = Stage::with(&fallback("openai", &busy.url), |root| {
        registry(root, &adapter.url, &inactive);
    });
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let answer = stage.post(path, &chat(&json!({ "max_tokens": 9 })));
        assert_eq!(answer.status(), 429, "{path}");
        assert_eq!(answer.header("retry-after"), Some("7"), "{path}");
    }
}

#[test]
fn a_name_with_spaces_is_found_by_its_slug() {
    let (adapter, general) = (verify_adapter(), general());
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        registry(root, &adapter.url, &json!({ "role": "Fact Checker" }));
    });
    for model in ["role:fact-checker", "role:Fact Checker"] {
        let answer = stage.post("/v1/chat/completions", &chat(&json!({ "model": model })));
        assert_eq!(
            route(&answer),
            (200, Some("specialist"), Some("ok")),
            "{model}"
        );
    }
}
