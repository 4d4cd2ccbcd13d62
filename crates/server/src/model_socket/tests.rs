//! A box's side of the socket, and a real server behind it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::thread;

use base::environment;

use super::*;

/// A variable that exists on every machine; its value stands for a key.
const KEY: &str = "HOME";
const ANSWER: &str =
    r#"{"content":[{"type":"text","text":"t1"}],"usage":{"input_tokens":9,"output_tokens":5}}"#;

/// Starts a model that answers every request alike; returns its address.
fn model(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut asked = Vec::new();
            let mut part = [0; 4096];
            while !asked.ends_with(b"}") {
                let count = client.read(&mut part).unwrap();
                asked.extend_from_slice(&part[..count]);
            }
            let text = String::from_utf8_lossy(&asked).to_ascii_lowercase();
            // The user's key replaces the one in the box.
            let key = environment::secret(KEY).unwrap();
            let key = key.reveal().to_str().unwrap().to_ascii_lowercase();
            let is_signed = text.contains(&format!("x-api-key: {key}"));
            assert!(is_signed && !text.contains("made-up"), "{text}");
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            client.write_all(head.as_bytes()).unwrap();
            client.write_all(body.as_bytes()).unwrap();
        }
    });
    format!("http://{address}")
}

fn sockets(base_url: &str) -> ModelSockets {
    let text = format!(
        "[[gateway.upstream]]\nname = \"m\"\nkind = \"anthropic\"\nbase_url = \"{base_url}\"\napi_key_env = \"{KEY}\"\n\
         [oversight.prices.priced]\ninput = 1000\noutput = 0\n"
    );
    let config = Config::parse(Path::new("config.toml"), &text).unwrap();
    ModelSockets::open(&config).unwrap().unwrap()
}

fn ask(socket: &Path, model: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let body = format!("{{\"model\":\"{model}\"}}");
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: made-up\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_budget_is_exceeded_by_one_request_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("model.sock");
    let sockets = sockets(&model("200 OK", ANSWER));
    let meter = sockets.listen(&socket, 10_000).unwrap();
    for _ in 0..2 {
        assert!(ask(&socket, "priced").contains("t1"));
    }
    let refused = ask(&socket, "priced");
    assert!(
        refused.starts_with("HTTP/1.1 429") && refused.contains("budget"),
        "{refused}"
    );
    let metered = meter.metered();
    assert_eq!((metered.requests, metered.cost), (2, Some(18_000)));
    assert_eq!((metered.usage.input, metered.usage.output), (18, 10));
    assert!(metered.is_exhausted);
    drop(meter);
}

#[test]
fn a_cost_that_is_not_known_is_not_zero() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("model.sock");
    let sockets = sockets(&model("200 OK", ANSWER));
    let meter = sockets.listen(&socket, 1).unwrap();
    ask(&socket, "other");
    ask(&socket, "priced");
    let metered = meter.metered();
    assert_eq!(
        (metered.requests, metered.cost, metered.failed),
        (2, None, None)
    );
}

#[test]
fn a_failing_provider_is_noticed() {
    for (status, expected) in [("529 Overloaded", 529), ("401 Unauthorized", 401)] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("model.sock");
        let sockets = sockets(&model(status, "{}"));
        let meter = sockets.listen(&socket, 1).unwrap();
        ask(&socket, "priced");
        assert_eq!(meter.metered().failed, Some(expected));
    }
}
