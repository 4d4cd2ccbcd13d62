//! Answers for a role: from the adapter in the client's format, or from the general model with the client's own bytes.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::stage::{Message, Stage, Stub, upstream, write};

const ROLE: &str = "checker";

/// A user message that the gate routes to the adapter.
const CLAIM: &str = r#"{"embedding":[1.0,0.0],"claim":"x"}"#;

fn registry(root: &Path, url: &str) {
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": ROLE, "backend_url": url, "fallback": "claude", "workload_quota": 1, "active_version": "v1",
            "versions": [{
                "id": "v1", "adapter_id": "pin", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            }],
        }],
    });
    fs::write(root.join(".role-os/specialists.json"), registry.to_string()).unwrap();
}

fn role_file(root: &Path, slug: &str, enabled: bool) {
    let folder = root.join(".role-os/roles");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "source:\n  slug: {slug}\n  language: en\n  version: 1\nenabled: {enabled}\nname: The {slug}\ninstructions: Be a {slug}.\n"
    );
    fs::write(folder.join(format!("{slug}.en.yaml")), text).unwrap();
}

fn adapter() -> Stub {
    Stub::json(
        &json!({ "verdict": { "label": "supported" }, "adapter_id": "pin", "base_model": "Qwen/Qwen3-8B" }),
    )
}

fn fallback(kind: &str, url: &str) -> String {
    format!(
        "[fallback.claude]\nkind = \"{kind}\"\nmodel = \"general-1\"\nbase_url = \"{url}\"\nretries = 0\n"
    )
}

fn stage(config: &str, adapter: &Stub) -> Stage {
    Stage::with(config, |root| {
        registry(root, &adapter.url);
        role_file(root, "writer", true);
        role_file(root, "gone", false);
    })
}

fn chat(model: &str, content: &str, extra: &Value) -> String {
    let mut body = json!({ "model": model, "max_tokens": 10, "messages": [{ "role": "user", "content": content }] });
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.to_string()
}

fn receipt_of(answer: &Message) -> [Option<&str>; 3] {
    ["x-roleos-route", "x-roleos-reason", "x-roleos-model"].map(|name| answer.header(name))
}

#[test]
fn the_adapter_answers_in_each_clients_format() {
    let adapter = adapter();
    let stage = stage("", &adapter);
    let verdict = r#"{"label":"supported"}"#;
    let body = chat("role:checker", CLAIM, &json!({}));
    let openai = stage.post("/v1/chat/completions", &body);
    assert_eq!(
        receipt_of(&openai),
        [Some("specialist"), Some("ok"), Some("pin")]
    );
    assert_eq!(openai.json()["choices"][0]["message"]["content"], verdict);
    assert_eq!(openai.json()["model"], "pin");
    let anthropic = stage.post("/v1/messages", &body);
    assert_eq!(anthropic.json()["content"][0]["text"], verdict);
    let trace = anthropic.header("x-roleos-trace").unwrap().to_owned();
    assert_eq!(adapter.last().json()["trace_id"], trace);
    let streamed = chat("role:checker", CLAIM, &json!({ "stream": true }));
    let openai = stage.post("/v1/chat/completions", &streamed);
    assert_eq!(
        openai.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert!(openai.text().ends_with("data: [DONE]\n\n"));
    let anthropic = stage.post("/v1/messages", &streamed);
    assert!(
        anthropic.text().starts_with("event: message_start\n"),
        "{}",
        anthropic.text()
    );
    let receipts = stage.receipts(4);
    assert_eq!(
        (receipts[1]["trace"].as_str(), receipts[1]["role"].as_str()),
        (Some(trace.as_str()), Some(ROLE))
    );
    let field = fs::read_to_string(
        stage
            .folder
            .path()
            .join(".role-os/specialist-field-log.jsonl"),
    )
    .unwrap();
    assert_eq!(field.lines().count(), 4, "{field}");
}

#[test]
fn failing_open_leaves_the_clients_bytes_alone() {
    let general =
        Stub::new(|_, stream| write(stream, 200, &[("X-Own", "1")], "{\"from\": \"general\"}"));
    for (kind, path) in [
        ("anthropic", "/v1/messages"),
        ("openai", "/v1/chat/completions"),
    ] {
        let stage = stage(&fallback(kind, &general.url), &adapter());
        // Not for the adapter: no embedding, so the gate sends it to the general model.
        let body = "{ \"model\" : \"role:checker\", \"messages\":[{\"role\":\"user\",\"content\":\"plain\"}], \"x\":1.50, \"tools\":[{\"odd\":null}] }";
        let answer = stage.post(path, body);
        assert_eq!(answer.text(), "{\"from\": \"general\"}");
        assert_eq!(
            receipt_of(&answer),
            [Some("general"), Some("tools"), Some("general-1")]
        );
        assert_eq!(
            general.last().text(),
            body.replace("role:checker", "general-1")
        );
        assert_eq!(stage.receipt()["crossed"], Value::Null);
    }
}

#[test]
fn an_installed_roles_instructions_stand_beside_the_clients() {
    let general = Stub::json(&json!({}));
    let stage = stage(&fallback("anthropic", &general.url), &adapter());
    let body = chat(
        "role:writer",
        "hi",
        &json!({ "system": [{ "type": "text", "text": "own" }] }),
    );
    let answer = stage.post("/v1/messages?beta=true", &body);
    assert_eq!(
        receipt_of(&answer),
        [
            Some("general"),
            Some("no_registry_entry"),
            Some("general-1")
        ]
    );
    assert_eq!(
        general.last().json()["system"],
        json!([{ "type": "text", "text": "own" }, { "type": "text", "text": "Be a writer." }])
    );
    assert_eq!(general.last().first, "POST /v1/messages?beta=true HTTP/1.1");
}

#[test]
fn another_api_gets_a_plain_question_and_everybody_is_told() {
    let general = Stub::json(&json!({ "choices": [{ "message": { "content": "translated" } }] }));
    let stage = stage(&fallback("openai", &general.url), &adapter());
    let answer = stage.post("/v1/messages", &chat("role:writer", "hi", &json!({})));
    assert_eq!(answer.json()["content"][0]["text"], "translated");
    assert_eq!(
        answer.header("x-roleos-crossed"),
        Some("anthropic to openai")
    );
    assert_eq!(
        general.last().json()["messages"][0]["content"],
        "Be a writer."
    );
    assert_eq!(stage.receipt()["crossed"], "anthropic to openai");
    // The client's text beside its question, and common settings, are not lost; others are named.
    let extra =
        json!({ "system": "In verse.", "stop_sequences": ["x"], "thinking": {}, "stream": true });
    let answer = stage.post("/v1/messages", &chat("role:writer", "hi", &extra));
    let told = "anthropic to openai, without `thinking`";
    assert_eq!(answer.header("x-roleos-crossed"), Some(told));
    let asked = general.last().json();
    assert_eq!(asked["messages"][0]["content"], "Be a writer.\n\nIn verse.");
    assert_eq!(
        (&asked["max_tokens"], &asked["stop"]),
        (&json!(10), &json!(["x"]))
    );
    // Content that would be lost is refused.
    for extra in [json!({ "tools": [{}] }), json!({ "messages": [] })] {
        let answer = stage.post("/v1/messages", &chat("role:writer", "hi", &extra));
        assert_eq!(answer.status(), 422);
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    }
}

#[test]
fn a_role_that_only_lies_in_the_catalog_is_listed_and_played_in_english() {
    let general = Stub::json(&json!({ "choices": [{ "message": { "content": "x" } }] }));
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    let stage = Stage::with(&fallback("openai", &general.url), |root| {
        for file in [
            "index.yaml",
            "bundles/editorial/ru.yaml",
            "bundles/editorial/en.yaml",
        ] {
            let copy = root.join("catalog").join(file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(shipped.join(file), copy).unwrap();
        }
        role_file(root, "narrator", false);
    });
    let list = stage.get("/v1/models").json();
    let models = list["data"].as_array().unwrap();
    let has = |slug: &str| {
        models
            .iter()
            .any(|model| model["id"] == format!("role:{slug}"))
    };
    assert!(has("proofreader") && has("fact-checker"), "{list:#}");
    assert!(!has("narrator"), "it is switched off here");
    let answer = stage.post(
        "/v1/chat/completions",
        &chat("role:proofreader", "hi", &json!({})),
    );
    assert_eq!(answer.status(), 200);
    let said = general.last().json();
    let instructions = said["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(instructions.contains("proofread") && !instructions.contains('и'));
}

#[test]
fn a_busy_general_model_of_another_api_is_a_busy_one_here() {
    let general = Stub::new(|_, stream| write(stream, 429, &[], "{}"));
    let stage = stage(&fallback("openai", &general.url), &adapter());
    let answer = stage.post("/v1/messages", &chat("role:writer", "hi", &json!({})));
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
}

#[test]
fn nobody_is_invented() {
    let stage = stage("", &adapter());
    for (model, status, code) in [
        ("role:nobody", 404, "unknown_role"),
        ("role:", 404, "unknown_role"),
        ("role:gone", 403, "role_disabled"),
        ("role:writer", 503, "no_general_model"),
        ("role:a\r\nx-evil: 1", 404, "unknown_role"),
    ] {
        let answer = stage.post("/v1/chat/completions", &chat(model, "hi", &json!({})));
        assert_eq!(
            (answer.status(), answer.json()["error"]["code"].as_str()),
            (status, Some(code)),
            "{model}"
        );
        assert_eq!(answer.header("x-evil"), None);
    }
    let elsewhere = stage.post("/v1/embeddings", &chat("role:writer", "hi", &json!({})));
    assert_eq!(elsewhere.json()["error"]["code"], "no_role_here");
}

#[test]
fn a_broken_adapter_a_halt_and_a_promotion_hold_for_the_next_request() {
    let general = Stub::json(&json!({}));
    let broken = Stub::new(|_, stream| write(stream, 500, &[], "oh"));
    let stage = stage(&fallback("anthropic", &general.url), &broken);
    let ask = || stage.post("/v1/messages", &chat("role:checker", CLAIM, &json!({})));
    assert_eq!(
        receipt_of(&ask()),
        [Some("general"), Some("http_500"), Some("general-1")]
    );
    let adapter = adapter();
    registry(stage.folder.path(), &adapter.url);
    assert_eq!(
        receipt_of(&ask()),
        [Some("specialist"), Some("ok"), Some("pin")]
    );
    let state = json!({ "schema": "roleos-specialist-state/v1", "quota_window": [], "shadow": { ROLE: { "counter": 0, "window": [], "halted": true, "halt_reason": "no", "halted_at": "2026-09-03T10:00:00Z" } } });
    let path = stage.folder.path().join(".role-os/specialist-state.json");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, state.to_string()).unwrap();
    let halted = ask();
    assert_eq!(halted.header("x-roleos-route"), Some("general"), "{before}");
}

#[test]
fn a_mapped_agent_is_played_and_else_its_request_goes_on_as_it_came() {
    let adapter = adapter();
    let up = Stub::json(&json!({ "from": "upstream" }));
    let config = format!(
        "[gateway.agents]\nverifier = \"checker\"\nlost = \"nobody\"\n{}",
        upstream("up", "anthropic", &up.url, "[\"*\"]")
    );
    let stage = stage(&config, &adapter);
    let headers = |agent| {
        [
            ("x-claude-code-agent-id", agent),
            ("x-claude-code-session-id", "s-1"),
            ("x-claude-code-parent-agent-id", "p-1"),
        ]
    };
    let ask = |agent, content| {
        stage.send(
            "POST /v1/messages",
            &headers(agent),
            &chat("claude-x", content, &json!({ "tools": [{}] })),
        )
    };
    let played = ask("verifier", CLAIM);
    assert_eq!(
        receipt_of(&played),
        [Some("specialist"), Some("ok"), Some("pin")]
    );
    for (agent, content, reason) in [
        ("verifier", "plain", Some("not_trained")),
        ("lost", CLAIM, Some("unknown_role")),
        ("other", CLAIM, None),
    ] {
        let answer = ask(agent, content);
        assert_eq!(answer.json()["from"], "upstream");
        assert_eq!(
            up.last().text(),
            chat("claude-x", content, &json!({ "tools": [{}] }))
        );
        assert_eq!(answer.header("x-roleos-reason"), reason, "{agent}");
    }
    let receipts = stage.receipts(4);
    assert_eq!(
        (
            &receipts[3]["session"],
            &receipts[3]["agent"],
            &receipts[3]["parent_agent"]
        ),
        (&json!("s-1"), &json!("other"), &json!("p-1"))
    );
}

#[test]
fn a_role_in_a_list_gives_way_to_the_next_model() {
    let up = Stub::json(&json!({ "from": "upstream" }));
    let stage = stage(&upstream("up", "openai", &up.url, "[\"m\"]"), &adapter());
    let body = |content: &str| {
        json!({ "models": ["role:checker", "m"], "messages": [{ "role": "user", "content": content }] }).to_string()
    };
    let played = stage.post("/v1/chat/completions", &body(CLAIM));
    assert_eq!(
        receipt_of(&played),
        [Some("specialist"), Some("ok"), Some("pin")]
    );
    let next = stage.post("/v1/chat/completions", &body("plain"));
    assert_eq!(
        receipt_of(&next),
        [Some("fallback"), Some("models"), Some("m")]
    );
}

#[test]
fn a_dispatch_of_our_own() {
    let adapter = adapter();
    let config =
        "[fallback.claude]\nkind = \"command\"\ncommand = [\"echo\", \"\\\"general\\\"\"]\n";
    let stage = stage(config, &adapter);
    let ask = |body: &str| stage.post("/v1/dispatch", body);
    let input: Value = serde_json::from_str(CLAIM).unwrap();
    let answer = ask(&json!({ "role": ROLE, "input": input, "trace_id": "mine" }).to_string());
    assert_eq!(answer.json()["result"], json!({ "label": "supported" }));
    assert_eq!(
        (
            &answer.json()["receipt"]["trace_id"],
            answer.header("x-roleos-trace")
        ),
        (&json!("mine"), Some("mine"))
    );
    assert_eq!(answer.header("x-roleos-model"), Some("pin"));
    let general = ask(r#"{"role":"writer","input":"hi"}"#);
    assert_eq!(general.header("x-roleos-model"), Some("command"));
    assert_eq!(
        (
            general.json()["result"].as_str(),
            general.header("x-roleos-route")
        ),
        (Some("general"), Some("general"))
    );
    for (body, status, code) in [
        ("{", 400, "bad_request"),
        ("[]", 400, "bad_request"),
        (r#"["writer", 1]"#, 400, "bad_request"),
        (r#"{"role":1,"input":2}"#, 400, "bad_request"),
        (r#"{"role":"writer"}"#, 400, "bad_request"),
        (
            r#"{"role":"writer","input":1,"typo":2}"#,
            400,
            "bad_request",
        ),
        (r#"{"role":"nobody","input":1}"#, 404, "unknown_role"),
    ] {
        let answer = ask(body);
        assert_eq!(
            (answer.status(), answer.json()["code"].as_str()),
            (status, Some(code)),
            "{body}"
        );
    }
    assert_eq!(stage.get("/v1/dispatch").header("allow"), Some("POST"));
    let list = stage.get("/v1/models").json();
    let ids: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["role:checker", "role:writer"]);
    for (path, status) in [
        ("/v1/models/role:writer", 200),
        ("/v1/models/role%3Awriter", 200),
        ("/v1/models/role:nobody", 404),
    ] {
        assert_eq!(stage.get(path).status(), status, "{path}");
    }
}

/// Writes the adapter's version with a verifier that requires a label.
fn with_verifier(root: &Path, url: &str) {
    registry(root, url);
    let path = root.join(".role-os/specialists.json");
    let mut registry: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let version = &mut registry["specialists"][0]["versions"][0];
    version["io_contract"] = json!({ "output": { "format": "json" } });
    version["verifier"] = json!({
        "type": "json_schema", "pass_condition": "schema_valid == true",
        "config": { "schema": { "type": "object", "required": ["label"] } },
    });
    fs::write(&path, registry.to_string()).unwrap();
}

#[test]
fn the_general_models_answer_is_held_against_the_roles_verifier_and_left_as_it_is() {
    let answer = |text: &str| json!({ "choices": [{ "message": { "content": text } }] });
    let good = answer(r#"{"label":"x"}"#).to_string();
    let bad = answer("I think so.").to_string();
    let tools =
        json!({ "choices": [{ "message": { "content": null, "tool_calls": [{}] } }] }).to_string();
    for (body, verdict) in [
        (good, "pass"),
        (bad, "fail: "),
        (tools, "unchecked: it calls a tool"),
        ("no JSON".to_owned(), "unchecked: it is no JSON"),
    ] {
        let sent = body.clone();
        let general = Stub::new(move |_, stream| write(stream, 200, &[], &sent));
        let stage = Stage::with(&fallback("openai", &general.url), |root| {
            with_verifier(root, &adapter().url);
        });
        let asked = chat("role:checker", "plain", &json!({}));
        let found = stage.post("/v1/chat/completions", &asked);
        assert_eq!((found.status(), found.text()), (200, body));
        let said = found.header("x-roleos-verified").unwrap();
        assert!(said.starts_with(verdict), "{said}");
        let receipt = stage.receipt();
        assert!(receipt["verified"].as_str().unwrap().starts_with(verdict));
        assert_eq!(receipt["outcome"], "complete");
    }
}

#[test]
fn a_stream_of_the_general_model_is_held_against_the_roles_verifier_at_its_end() {
    let openai = |text: &str| {
        let delta = json!({ "choices": [{ "delta": { "content": text } }] });
        format!("data: {delta}\n\n")
    };
    let anthropic = |text: &str| {
        let delta = json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": text } });
        format!("event: content_block_delta\ndata: {delta}\n\n")
    };
    let whole = [
        openai("{\"label\""),
        openai(":1}"),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let torn = openai("{\"label\":1}");
    let message = [
        anthropic("{\"label\":"),
        ": ping\n\n".to_owned(),
        anthropic("1"),
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".to_owned(),
    ]
    .concat();
    for (kind, path, body, verdict) in [
        ("openai", "/v1/chat/completions", whole, "pass"),
        (
            "openai",
            "/v1/chat/completions",
            torn,
            "unchecked: it did not",
        ),
        ("anthropic", "/v1/messages", message, "fail: "),
    ] {
        let sent = body.clone();
        let general = Stub::new(move |_, stream| {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let length = sent.len();
            let text = format!("{head}{length:x}\r\n{sent}\r\n0\r\n\r\n");
            stream.write_all(text.as_bytes()).unwrap();
        });
        let stage = Stage::with(&fallback(kind, &general.url), |root| {
            with_verifier(root, &adapter().url);
        });
        let asked = chat("role:checker", "plain", &json!({ "stream": true }));
        let found = stage.post(path, &asked);
        assert_eq!((found.status(), found.text()), (200, body.clone()));
        assert_eq!(found.header("x-roleos-route"), Some("general"));
        assert_eq!(found.header("x-roleos-verified"), None);
        assert!(found.trailers.is_empty(), "{:?}", found.trailers);
        let receipt = stage.receipt();
        let said = receipt["verified"].as_str().unwrap();
        assert!(said.starts_with(verdict), "{said}");
        assert_eq!(receipt["outcome"], "complete");
        // A client that reads trailers gets the verdict after the stream.
        let line = format!("POST {path}");
        let found = stage.send(&line, &[("te", "trailers")], &asked);
        assert_eq!(found.text(), body);
        assert_eq!(found.header("trailer"), Some("x-roleos-verified"));
        let [trailer] = &*found.trailers else {
            panic!("{:?}", found.trailers)
        };
        assert!(
            trailer.starts_with(&format!("x-roleos-verified: {verdict}")),
            "{trailer}"
        );
        assert_eq!(stage.receipts(2)[1]["verified"], said);
    }
}

#[test]
fn what_a_mapped_agent_is_told_is_held_against_the_roles_verifier_too() {
    for (text, verdict) in [(r#"{"label":"x"}"#, "pass"), ("I think so.", "fail: ")] {
        let body = json!({ "content": [{ "type": "text", "text": text }] });
        let up = Stub::json(&body);
        let config = format!(
            "[gateway.agents]\nverifier = \"checker\"\n{}",
            upstream("up", "anthropic", &up.url, "[\"*\"]")
        );
        let stage = Stage::with(&config, |root| with_verifier(root, &adapter().url));
        let asked = chat("claude-x", "plain", &json!({}));
        let agent = [("x-claude-code-agent-id", "verifier")];
        let found = stage.send("POST /v1/messages", &agent, &asked);
        assert_eq!((found.json(), up.last().text()), (body, asked.clone()));
        assert_eq!(
            receipt_of(&found),
            [Some("general"), Some("not_trained"), Some("claude-x")]
        );
        let said = found.header("x-roleos-verified").unwrap();
        assert!(said.starts_with(verdict), "{said}");
        assert_eq!(stage.receipt()["verified"], said);
        // Without the mapping, it belongs to no role.
        let found = stage.send("POST /v1/messages", &[], &asked);
        assert_eq!(found.header("x-roleos-verified"), None);
    }
}

#[test]
fn an_answer_that_does_not_pass_its_verifier_is_not_served() {
    let general = Stub::json(&json!({ "from": "general" }));
    let stage = stage(&fallback("anthropic", &general.url), &adapter());
    let path = stage.folder.path().join(".role-os/specialists.json");
    let ask = |wanted: &str| {
        let mut registry: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let version = &mut registry["specialists"][0]["versions"][0];
        version["verifier"] = json!({
            "type": "json_schema", "pass_condition": "schema_valid == true",
            "config": { "schema": { "type": "object", "required": [wanted] } },
        });
        version["io_contract"] = json!({ "output": { "format": "json" } });
        fs::write(&path, registry.to_string()).unwrap();
        stage.post("/v1/messages", &chat("role:checker", CLAIM, &json!({})))
    };
    let passed = ask("label");
    assert_eq!(
        receipt_of(&passed),
        [Some("specialist"), Some("ok"), Some("pin")]
    );
    let failed = ask("missing");
    assert_eq!(
        receipt_of(&failed),
        [Some("general"), Some("not_verified"), Some("general-1")]
    );
    assert_eq!(failed.json()["from"], "general");
    let runs = fs::read_to_string(stage.folder.path().join(".role-os/run_log.jsonl")).unwrap();
    assert_eq!(runs.lines().count(), 2, "{runs}");
    // Regression: an answer without a model was logged as the general model's.
    let mut registry: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    registry["specialists"][0]["versions"][0]["routing"] = json!({ "fallback": "unsure" });
    fs::write(&path, registry.to_string()).unwrap();
    let claim: Value = serde_json::from_str(CLAIM).unwrap();
    let asked = json!({ "role": "checker", "input": claim }).to_string();
    let unsure = stage.post("/v1/dispatch", &asked);
    assert_eq!(unsure.json()["result"]["status"], "UNSURE");
    assert_eq!(
        receipt_of(&unsure),
        [Some("refused"), Some("not_verified"), Some("unsure")]
    );
}
