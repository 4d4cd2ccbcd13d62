//! Spans as a collector receives them: real OTLP over HTTP, decoded from protobuf.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use reqwest::Method;

use crate::lists::{add, call};
use crate::place::Place;

/// Starts a collector; returns its address and the decoded requests with their paths.
fn collector() -> (String, Receiver<(String, ExportTraceServiceRequest)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (told, heard) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (path, body) = received(&stream);
            let request = ExportTraceServiceRequest::decode(&*body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
            if told.send((path, request)).is_err() {
                return;
            }
        }
    });
    (url, heard)
}

fn received(stream: &std::net::TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim_end().is_empty() {
            break;
        }
        head.push(line.trim_end().to_lowercase());
    }
    let has = |start: &str| {
        let mut lines = head.iter();
        lines
            .find_map(|line| line.strip_prefix(start))
            .map(str::to_owned)
    };
    assert_eq!(has("content-type: ").unwrap(), "application/x-protobuf");
    let mut body = vec![0; has("content-length: ").unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (has("post ").unwrap(), body)
}

/// Starts an upstream that answers every request alike.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            drop(stream.read(&mut buffer));
            let body = r#"{"usage":{"prompt_tokens":9,"completion_tokens":5}}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |one: &KeyValue| match one.value.clone().unwrap().value.unwrap() {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(flag) => flag.to_string(),
        other => format!("{other:?}"),
    };
    attributes
        .iter()
        .map(|one| (one.key.clone(), text(one)))
        .collect()
}

/// Waits for a number of spans; checks their common fields.
fn spans(heard: &Receiver<(String, ExportTraceServiceRequest)>, count: usize) -> Vec<Span> {
    let mut found = Vec::new();
    while found.len() < count {
        let (path, request) = heard.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(path, "/v1/traces http/1.1");
        for of_resource in request.resource_spans {
            let resource = texts(&of_resource.resource.unwrap().attributes);
            assert_eq!(resource["service.name"], "roleos");
            for of_scope in of_resource.scope_spans {
                assert_eq!(of_scope.scope.unwrap().name, "roleos");
                assert_eq!(
                    of_scope.schema_url,
                    "https://opentelemetry.io/schemas/1.37.0"
                );
                found.extend(of_scope.spans);
            }
        }
    }
    found
}

async fn exported(content: bool) -> Vec<Span> {
    let (url, heard) = collector();
    let upstream = upstream();
    let config = format!(
        "[telemetry]\notlp = \"{url}\"\ncontent = {content}\n\
         [[gateway.upstream]]\nname = \"u\"\nkind = \"openai\"\nbase_url = \"{upstream}\"\n"
    );
    let place = Place::with(|root| {
        std::fs::write(root.join(".role-os/config.toml"), config).unwrap();
    })
    .await;
    place.settled().await;
    let journal = place.root().join(".role-os/sessions/s1.jsonl");
    let end = "{\"seq\":2,\"prev\":\"\",\"time_ns\":1767225600000000009,\"agent\":\"claude\",\"calls\":2,\"kind\":\"end\",\"reason\":\"\"}\n";
    add(&journal, &(call(0, "allow") + &call(1, "deny") + end));
    let body = serde_json::json!({ "model": "m-1", "messages": [{ "role": "user", "content": "a private question" }] });
    let asked = place
        .request(Method::POST, "/v1/chat/completions")
        .header("x-claude-code-session-id", "s1")
        .json(&body);
    assert_eq!(asked.send().await.unwrap().status(), 200);
    tokio::task::spawn_blocking(move || spans(&heard, 4))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_decisions_are_spans_of_their_session_without_texts() {
    let found = exported(false).await;
    let span = |name: &str, key: &str, value: &str| {
        let is_it = |span: &&Span| {
            let attributes = texts(&span.attributes);
            span.name == name && attributes.get(key).is_some_and(|it| it == value)
        };
        found.iter().find(is_it).unwrap()
    };
    let chat = span("chat m-1", "gen_ai.operation.name", "chat");
    let attributes = texts(&chat.attributes);
    for (key, value) in [
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "m-1"),
        ("gen_ai.usage.input_tokens", "9"),
        ("gen_ai.usage.output_tokens", "5"),
        ("gen_ai.conversation.id", "s1"),
        ("http.response.status_code", "200"),
        ("roleos.route", "passthrough"),
    ] {
        assert_eq!(attributes[key], value, "{attributes:#?}");
    }
    assert!(chat.end_time_unix_nano >= chat.start_time_unix_nano && chat.start_time_unix_nano > 0);
    let denied = span("execute_tool Bash", "roleos.verdict", "deny");
    assert_eq!(texts(&denied.attributes)["error.type"], "denied");
    assert_eq!(denied.status.as_ref().unwrap().code, 2);
    let allowed = span("execute_tool Bash", "roleos.verdict", "allow");
    assert_ne!(denied.span_id, allowed.span_id);
    for other in [chat, allowed] {
        assert_eq!(other.trace_id, denied.trace_id, "one trace a session");
        assert_eq!(other.parent_span_id, denied.parent_span_id);
    }
    let session = span("invoke_agent claude", "roleos.denied", "1");
    assert_eq!(session.trace_id, denied.trace_id);
    assert_eq!(session.span_id, denied.parent_span_id);
    assert_eq!(session.parent_span_id, [0_u8; 0]);
    let all = format!("{found:?}");
    assert!(!all.contains("private question") && !all.contains("arguments"));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_in_spans_only_if_a_setting_says_so() {
    let found = exported(true).await;
    let told = found.iter().filter(|span| {
        let attributes = texts(&span.attributes);
        attributes.contains_key("gen_ai.tool.call.arguments")
    });
    assert_eq!(told.count(), 2);
    assert!(!format!("{found:?}").contains("private question"));
}
