//! Requests at the edges: compressed bodies, lists for the upstream, clients that are still sending when refused.

use std::io::Write as _;

use serde_json::json;

use crate::stage::{Message, Stage, Stub, read_message, upstream};

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

/// Sends a body of any bytes.
fn packed(stage: &Stage, encoding: &str, body: &[u8]) -> Message {
    let headers = [
        ("content-type", "application/json"),
        ("content-encoding", encoding),
    ];
    let head = stage.head("POST /v1/chat/completions", &headers, body.len());
    stage.raw(&[head.as_bytes(), body].concat())
}

#[test]
fn a_packed_body_is_looked_into_and_passed_on_packed() {
    let (first, second) = (Stub::json(&json!(1)), Stub::json(&json!(2)));
    let stage = Stage::new(
        &[
            upstream("first", "openai", &first.url, "[\"a\", \"c\"]"),
            upstream("second", "openai", &second.url, "[\"b\"]"),
        ]
        .concat(),
    );
    let body = gzip(r#"{"model":"b"}"#);
    assert_eq!(packed(&stage, "gzip", &body).json(), 2);
    assert_eq!(second.last().body, body);
    assert_eq!(second.last().header("content-encoding"), Some("gzip"));
    assert_eq!(stage.receipt()["model"], "b");
    // A changed body is sent uncompressed.
    let list = gzip(r#"{"models":["none","b"],"x":1}"#);
    assert_eq!(packed(&stage, "GZIP", &list).json(), 2);
    assert_eq!(second.last().text(), r#"{"model":"b","x":1}"#);
    assert_eq!(second.last().header("content-encoding"), None);
    // A body that cannot be decompressed is for the upstream.
    for encoding in ["zstd", "gzip"] {
        assert_eq!(packed(&stage, encoding, b"\x28\xb5\x2f\xfd").json(), 1);
        assert_eq!(first.last().body, b"\x28\xb5\x2f\xfd");
    }
    let nothing = packed(&stage, "gzip", &gzip("nonsense"));
    assert_eq!(nothing.status(), 400);
}

#[test]
fn a_list_of_models_elsewhere_is_the_upstreams() {
    let stub = Stub::json(&json!({}));
    let stage = Stage::new(&upstream("stub", "openai", &stub.url, "[\"*\"]"));
    let body = r#"{"model":"a","models":["b","c"], "x":1}"#;
    stage.post("/v1/evals", body);
    assert_eq!(stub.last().text(), body);
}

#[test]
fn a_model_in_the_path_chooses_the_upstream_and_so_does_the_missing_version() {
    let (anthropic, openai) = (Stub::json(&json!("a")), Stub::json(&json!("o")));
    let stage = Stage::new(
        &[
            upstream("anthropic", "anthropic", &anthropic.url, "[\"claude-*\"]"),
            upstream("openai", "openai", &openai.url, "[\"gpt-?\", \"x/*\"]"),
        ]
        .concat(),
    );
    for (path, who) in [
        ("/v1/models/gpt-5", "o"),
        ("/v1/models/x%2Fy", "o"),
        ("/v1/models/claude-1", "a"),
        // No upstream has it, and the request does not name Anthropic's version.
        ("/v1/models/gpt-55", "o"),
        ("/v1/files", "o"),
    ] {
        assert_eq!(stage.get(path).json(), who, "{path}");
    }
    let version = [("anthropic-version", "2023-06-01")];
    assert_eq!(stage.send("GET /v1/files", &version, "").json(), "a");
    assert_eq!(openai.seen()[1].first, "GET /v1/models/x%2Fy HTTP/1.1");
}

#[test]
fn what_came_before_in_a_list_leaves_no_trace_in_the_receipt() {
    let stub = Stub::json(&json!({}));
    let stage = Stage::new(&upstream("stub", "openai", &stub.url, "[\"m\"]"));
    let answer = stage.post(
        "/v1/chat/completions",
        r#"{"models":["role:nobody","m"],"messages":[]}"#,
    );
    assert_eq!(answer.header("x-roleos-route"), Some("fallback"));
    assert_eq!(answer.header("x-roleos-model"), Some("m"));
    let receipt = stage.receipt();
    assert_eq!(receipt["role"], json!(null));
    assert_eq!(
        receipt["tried"],
        json!([{ "model": "role:nobody", "why": "unknown_role" }])
    );
}

#[test]
fn whoever_sends_too_much_still_gets_to_read_why() {
    let stub = Stub::json(&json!({}));
    let one = upstream("stub", "openai", &stub.url, "[\"*\"]");
    let stage = Stage::new(&format!("[gateway]\nmax_body_mib = 1\n{one}"));
    let length = 64 << 20;
    let head = stage.head("POST /v1/chat/completions", &[], length);
    let mut stream = stage.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let piece = vec![b' '; 1 << 20];
    for _ in 0..(length >> 20) {
        stream.write_all(&piece).expect("it is read to its end");
    }
    let answer = read_message(&mut stream, false).unwrap();
    assert_eq!(answer.status(), 413);
    assert!(answer.text().contains("max_body_mib"));
}
