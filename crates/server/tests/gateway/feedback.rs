//! Feedback of users on answers.

use std::fs;

use base::workspace::Workspace;
use routing::feedback;
use serde_json::{Value, json};

use crate::serving::{chat, general, registry, verify_adapter};
use crate::stage::{Stage, upstream};

fn lines(stage: &Stage) -> Vec<Value> {
    let text = fs::read_to_string(stage.folder.path().join(".role-os/feedback.jsonl"));
    let text = text.unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn feedback_is_tied_to_an_answer_linked_and_signed_with_its_sender() {
    let (adapter, model) = (verify_adapter(), general());
    let config = upstream("up", "openai", &model.url, "[\"m\"]");
    let stage = Stage::with(&config, |root| registry(root, &adapter.url, &json!({})));
    let ask = |model: &str| {
        let answer = stage.post("/v1/chat/completions", &chat(&json!({ "model": model })));
        answer.header("x-roleos-trace-id").unwrap().to_owned()
    };
    let (played, passed) = (ask("role:checker"), ask("m"));
    let say = |body: &Value| stage.post("/v1/feedback", &body.to_string());
    for (trace, said, acceptable) in [
        (
            &played,
            json!({ "score": 0.1, "comment": "wrong" }),
            json!(false),
        ),
        (
            &played,
            json!({ "target": { "label": "supported" } }),
            json!(true),
        ),
        (
            &played,
            json!({ "target": { "label": "refuted" } }),
            json!(false),
        ),
        (&played, json!({ "comment": "hm" }), Value::Null),
        (&passed, json!({ "score": 1 }), json!(true)),
    ] {
        let mut body = said.clone();
        body["trace_id"] = json!(trace);
        let answer = say(&body);
        assert_eq!(
            (answer.status(), &answer.json()["acceptable"]),
            (201, &acceptable),
            "{said}"
        );
    }
    let path = stage.folder.path().join(".role-os/feedback.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let more = json!({ "trace_id": passed, "score": 1 });
    for (name, text, status) in [
        ("changed", whole.replace("wrong", "right"), 409),
        (
            "a line is gone",
            whole.split_inclusive('\n').skip(1).collect(),
            409,
        ),
        ("torn by a crash", format!("{whole}{{\"ts\""), 201),
        ("whole", whole, 201),
    ] {
        fs::write(&path, text).unwrap();
        let answer = say(&more);
        assert_eq!(answer.status(), status, "{name}");
        if status == 409 {
            let error = answer.json();
            assert_eq!(error["code"], "feedback_broken", "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains("does not follow the one before it"),
                "{message}"
            );
        }
    }
    let mut lines = lines(&stage);
    lines.pop();
    assert_eq!(lines.len(), 5);
    let first = &lines[0];
    assert_eq!(
        (
            &first["role"],
            &first["version"],
            &first["model_id"],
            &first["sender"]
        ),
        (
            &json!("checker"),
            &json!("v1"),
            &json!("pin"),
            &json!("client at 127.0.0.1")
        )
    );
    assert!(first["features"].is_object() && first.get("answer").is_none());
    assert_eq!(
        (&lines[4]["role"], &lines[4]["version"]),
        (&Value::Null, &Value::Null)
    );
    let workspace = Workspace::at(stage.folder.path()).unwrap();
    assert_eq!(
        feedback::verify(
            &base::seals::Seals::of(&workspace),
            &feedback::path(&workspace)
        )
        .unwrap(),
        (6, vec![])
    );
    let metrics = stage.get("/metrics").text();
    assert!(
        metrics.contains("roleos_gateway_feedback_total 7"),
        "{metrics}"
    );
}

#[test]
fn feedback_that_cannot_be_used_is_refused_and_not_kept() {
    let adapter = verify_adapter();
    let stage = Stage::with("", |root| registry(root, &adapter.url, &json!({})));
    let answer = stage.post("/v1/chat/completions", &chat(&json!({})));
    let trace = answer.header("x-roleos-trace-id").unwrap();
    let long = "x".repeat(300_000);
    for (body, status, code) in [
        (
            json!({ "trace_id": "never", "score": 1 }),
            404,
            "unknown_trace",
        ),
        (json!({ "trace_id": trace }), 400, "bad_request"),
        (json!({ "trace_id": trace, "score": 2 }), 400, "bad_request"),
        (
            json!({ "trace_id": trace, "score": "good" }),
            400,
            "bad_request",
        ),
        (
            json!({ "trace_id": trace, "target": long }),
            400,
            "bad_request",
        ),
        (
            json!({ "trace_id": trace, "comment": long }),
            400,
            "bad_request",
        ),
        (
            json!({ "trace_id": trace, "score": 1, "certified_level": "L5" }),
            400,
            "bad_request",
        ),
        (json!([]), 400, "bad_request"),
    ] {
        let answer = stage.post("/v1/feedback", &body.to_string());
        let told = (
            answer.status(),
            answer.json()["code"].as_str().map(str::to_owned),
        );
        assert_eq!(told, (status, Some(code.to_owned())), "{body:.100}");
        assert!(
            !answer.json()["hint"]
                .as_str()
                .unwrap_or_default()
                .is_empty()
        );
    }
    assert_eq!(stage.get("/v1/feedback").header("allow"), Some("POST"));
    assert!(lines(&stage).is_empty());
}

#[test]
fn an_answer_of_an_earlier_process_is_found_in_the_logs() {
    let adapter = verify_adapter();
    let prepare = |root: &std::path::Path| registry(root, &adapter.url, &json!({}));
    let stage = Stage::with("", prepare);
    let answer = stage.post("/v1/chat/completions", &chat(&json!({})));
    let trace = answer.header("x-roleos-trace-id").unwrap().to_owned();
    let field_log = stage
        .folder
        .path()
        .join(".role-os/specialist-field-log.jsonl");
    let log = fs::read(&field_log).unwrap();
    let later = Stage::with("", |root| {
        prepare(root);
        fs::write(root.join(".role-os/specialist-field-log.jsonl"), log).unwrap();
    });
    let body = json!({ "trace_id": trace, "score": 0 }).to_string();
    assert_eq!(later.post("/v1/feedback", &body).status(), 201);
    assert_eq!(lines(&later)[0]["version"], "v1");
}
