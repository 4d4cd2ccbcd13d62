//! Forwarding: every byte in both directions, streams as they arrive, and ends on either side.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::{LONG, Stage, Stub, is_closed, nowhere, read_chunk, read_head, upstream, write};

fn stage(stub: &Stub) -> Stage {
    Stage::new(&upstream("stub", "openai", &stub.url, "[\"*\"]"))
}

#[test]
fn every_byte_of_request_and_answer_passes() {
    let stub = Stub::new(|_, stream| {
        let text = "HTTP/1.1 418 Odd\r\nX-Odd: a  b\r\nContent-Type: application/json\r\nX-Many: 1\r\nX-Many: 2\r\n\
                    Connection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: 27\r\n\r\n{\"error\":{\"odd\":[1, 2.50]}}";
        stream.write_all(text.as_bytes()).unwrap();
    });
    let stage = stage(&stub);
    let body = "{ \"unknown\" : [1.50, \"\\u00e9\u{e9}\", {}],\n\t\"model\":\"any\" , \"stream\":false }\r\n";
    let headers = [
        ("Anthropic-Version", "2023-06-01"),
        ("anthropic-beta", "a-1,b-2"),
        ("anthropic-beta", "c"),
        ("Authorization", "Bearer sk-client"),
        ("x-api-key", "k"),
        ("User-Agent", "Test/1.0 (x; y)"),
        ("Accept-Encoding", "gzip, br"),
        ("X-Stainless-Weird", "\u{fe}\u{ff}é"),
        ("content-type", "application/json"),
    ];
    let answer = stage.send("POST /v1/messages?beta=true&x=%2F", &headers, body);
    let seen = stub.last();
    assert_eq!(seen.first, "POST /v1/messages?beta=true&x=%2F HTTP/1.1");
    assert_eq!(seen.text(), body);
    let mut sent: Vec<(String, String)> = headers
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    sent.push(("content-length".to_owned(), body.len().to_string()));
    sent.sort();
    assert_eq!(seen.lasting(), sent);
    assert_eq!(seen.header("host"), stub.url.strip_prefix("http://"));
    assert_eq!(answer.status(), 418);
    assert_eq!(answer.text(), "{\"error\":{\"odd\":[1, 2.50]}}");
    let expected = [
        ("Content-Length", "27"),
        ("Content-Type", "application/json"),
        ("X-Many", "1"),
        ("X-Many", "2"),
        ("X-Odd", "a  b"),
        (
            "content-security-policy",
            "sandbox; default-src 'none'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
    ];
    let expected: Vec<_> = expected
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert_eq!(
        answer.lasting(),
        expected,
        "nothing is lost, and only what makes it inert for a browser is added"
    );
}

#[test]
fn trailers_pass_both_ways_where_the_client_reads_them() {
    let stub = Stub::new(|_, stream| {
        let text = "HTTP/1.1 200 OK\r\ntrailer: x-sum, x-more\r\ntransfer-encoding: chunked\r\n\r\n\
                    4\r\nbody\r\n0\r\nx-sum: 7\r\nx-stray: 1\r\nx-more: é\r\n\r\n";
        stream.write_all(text.as_bytes()).unwrap();
    });
    let stage = stage(&stub);
    let body = r#"{"model":"m"}"#;
    let line = "POST /v1/chat/completions";
    let answer = stage.send(line, &[("TE", "deflate, trailers")], body);
    assert_eq!(answer.text(), "body");
    assert_eq!(answer.trailers, ["x-sum: 7", "x-more: é"]);
    assert_eq!(answer.header("trailer"), Some("x-sum, x-more"));
    assert_eq!(stub.last().header("te"), Some("trailers"));
    let plain = stage.send(line, &[], body);
    assert_eq!((plain.text(), plain.trailers.len()), ("body".to_owned(), 0));
    assert_eq!(
        (plain.header("trailer"), stub.last().header("te")),
        (None, None)
    );
    assert_eq!(stage.receipts(2)[0]["outcome"], "complete");
    // An unread upload keeps its own trailers; a body that is read for its model is one piece.
    for (kind, trailers) in [("text/plain", &["x-sum: 9"][..]), ("application/json", &[])] {
        let headers = [
            ("content-type", kind),
            ("trailer", "x-sum"),
            ("transfer-encoding", "chunked"),
        ];
        let head = stage.head("POST /v1/files", &headers, 0);
        let chunk = format!("{:x}\r\n{body}\r\n0\r\nx-sum: 9\r\n\r\n", body.len());
        stage.raw(format!("{head}{chunk}").as_bytes());
        let seen = stub.last();
        assert_eq!(seen.text(), body);
        assert_eq!(seen.trailers, trailers, "{kind}");
        let announced = seen.header("trailer");
        assert_eq!(announced, (!trailers.is_empty()).then_some("x-sum"));
    }
}

#[test]
fn a_stream_is_passed_on_piece_by_piece() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let stub = Stub::new(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for event in [
            "event: ping\ndata: {}\n\n",
            "data: {\"a\":1}\n\n",
            "data: [DONE]\n\n",
        ] {
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            stream.write_all(chunk.as_bytes()).unwrap();
            // The next piece is sent only after the client has this one.
            wait.lock().unwrap().recv_timeout(LONG).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let stage = stage(&stub);
    let body = r#"{"model":"m","stream":true}"#;
    let mut stream = stage.connect();
    let head = stage.head("POST /v1/chat/completions", &[], body.len());
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let answer = read_head(&mut stream).unwrap();
    assert!(
        answer.contains("content-type: text/event-stream"),
        "{answer}"
    );
    let mut got = Vec::new();
    for expected in [
        "event: ping\ndata: {}\n\n",
        "data: {\"a\":1}\n\n",
        "data: [DONE]\n\n",
    ] {
        let before = got.len();
        assert!(read_chunk(&mut stream, &mut got).unwrap());
        assert_eq!(&got[before..], expected.as_bytes());
        go.send(()).unwrap();
    }
    assert!(!read_chunk(&mut stream, &mut got).unwrap());
    let receipt = stage.receipt();
    assert_eq!(
        (
            receipt["outcome"].as_str(),
            receipt["response_bytes"].as_u64()
        ),
        (Some("complete"), Some(got.len() as u64))
    );
}

/// Writes until the other side closes; returns `true` if it did.
fn flood(stream: &mut TcpStream) -> bool {
    let since = Instant::now();
    while since.elapsed() < LONG {
        if stream.write_all(b"4\r\nping\r\n").is_err() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

#[test]
fn a_client_that_goes_away_ends_the_upstreams_work() {
    let (told, gone) = mpsc::channel();
    let told = Mutex::new(told);
    let stub = Stub::new(move |message, stream| {
        if message.text().contains("silent") {
            // Before the head, the only sign is the end of the connection.
            let mut byte = [0];
            told.lock()
                .unwrap()
                .send(matches!(stream.read(&mut byte), Ok(0) | Err(_)))
                .unwrap();
            return;
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .unwrap();
        told.lock().unwrap().send(flood(stream)).unwrap();
    });
    let stage = stage(&stub);
    for (number, body) in [r#"{"model":"m","stream":true}"#, r#"{"model":"silent"}"#]
        .into_iter()
        .enumerate()
    {
        let mut stream = stage.connect();
        let head = stage.head("POST /v1/messages", &[], body.len());
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        if number == 0 {
            read_head(&mut stream).unwrap();
        } else {
            thread::sleep(Duration::from_millis(100));
        }
        drop(stream);
        assert!(gone.recv_timeout(LONG).unwrap(), "{body}");
    }
    for receipt in stage.receipts(2) {
        assert_eq!(receipt["outcome"], "client_gone");
    }
}

#[test]
fn an_upstream_that_breaks_off_breaks_the_answer_off() {
    let stub = Stub::new(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
            .unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let stage = stage(&stub);
    let body = r#"{"model":"m"}"#;
    let mut stream = stage.connect();
    let head = stage.head("POST /v1/messages", &[], body.len());
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    read_head(&mut stream).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).ok();
    assert_eq!(rest, b"half");
    assert_eq!(stage.receipt()["outcome"], "upstream_broke");
}

#[test]
fn connections_to_an_upstream_are_used_again() {
    let stub = Stub::json(&json!({}));
    let stage = stage(&stub);
    for _ in 0..5 {
        assert_eq!(
            stage.post("/v1/responses", r#"{"model":"m"}"#).status(),
            200
        );
    }
    let connections: Vec<usize> = stub
        .seen()
        .iter()
        .map(|message| message.connection)
        .collect();
    assert_eq!(connections, [0; 5]);
}

#[test]
fn an_upstream_that_comes_back_is_asked_again() {
    let url = nowhere();
    let stage = Stage::new(&upstream("late", "openai", &url, "[\"*\"]"));
    let answer = stage.post("/v1/chat/completions", r#"{"model":"m"}"#);
    assert_eq!(answer.status(), 502);
    assert_eq!(answer.json()["error"]["code"], "upstream_failed");
    let listener = std::net::TcpListener::bind(url.strip_prefix("http://").unwrap()).unwrap();
    let there = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_head(&mut stream).unwrap();
        write(&mut stream, 200, &[], "{}");
    });
    assert_eq!(
        stage
            .post("/v1/chat/completions", r#"{"model":"m"}"#)
            .status(),
        200
    );
    there.join().unwrap();
}

#[test]
fn the_model_and_the_protocol_choose_the_upstream() {
    let (openai, anthropic, mini) = (
        Stub::json(&json!("o")),
        Stub::json(&json!("a")),
        Stub::json(&json!("m")),
    );
    let stage = Stage::new(
        &[
            upstream("mini", "openai", &mini.url, "[\"*-mini\"]"),
            upstream(
                "openai",
                "openai",
                &format!("{}/v1/", openai.url),
                "[\"gpt-*\", \"claude-*\"]",
            ),
            upstream("anthropic", "anthropic", &anthropic.url, "[\"claude-*\"]"),
        ]
        .concat(),
    );
    let says = |path, model| {
        let answer = stage.post(path, &json!({ "x": 1, "model": model }).to_string());
        answer
            .json()
            .as_str()
            .map(str::to_owned)
            .unwrap_or_default()
    };
    assert_eq!(says("/v1/chat/completions", "gpt-5-mini"), "m");
    assert_eq!(says("/v1/chat/completions", "gpt-5"), "o");
    assert_eq!(says("/v1/chat/completions", "claude-x"), "o");
    assert_eq!(says("/v1/messages", "claude-x"), "a");
    assert_eq!(says("/v1/messages/count_tokens", "claude-x"), "a");
    assert_eq!(
        says("/v1/messages", "gpt-5"),
        "o",
        "nobody else has it, and its bytes are unchanged"
    );
    assert_eq!(openai.last().first, "POST /v1/messages HTTP/1.1");
    let missing = stage.post("/v1/messages", r#"{"model":"llama"}"#);
    assert_eq!(missing.status(), 404);
    assert_eq!(missing.json()["error"]["type"], "not_found_error");
    // Without a model, the protocol or the order decides.
    assert_eq!(stage.get("/v1/files/x?y").json(), "m");
    assert_eq!(
        stage
            .send("GET /v1/files", &[("anthropic-version", "1")], "")
            .json(),
        "a"
    );
    let file = stage.send(
        "POST /v1/files",
        &[("content-type", "multipart/form-data; boundary=x")],
        "--x--",
    );
    assert_eq!(
        (file.json(), mini.last().text().as_str()),
        (json!("m"), "--x--")
    );
}

#[test]
fn models_are_tried_in_order_and_the_receipt_names_all() {
    let busy = Stub::new(|_, stream| write(stream, 429, &[], "busy"));
    let good = Stub::json(&json!({ "ok": true }));
    let stage = Stage::new(
        &[
            upstream("gone", "openai", &nowhere(), "[\"a\"]"),
            upstream("busy", "openai", &busy.url, "[\"b\"]"),
            upstream("other", "anthropic", &good.url, "[\"c\"]"),
            upstream("good", "openai", &good.url, "[\"d\", \"e\"]"),
        ]
        .concat(),
    );
    let body = r#"{"models":["b","none","c","d","e"], "model":"a","x": 1.0}"#;
    let answer = stage.post("/v1/chat/completions", body);
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("x-roleos-route"), Some("fallback"));
    assert_eq!(answer.header("x-roleos-model"), Some("d"));
    assert_eq!(good.last().text(), r#"{ "model":"d","x": 1.0}"#);
    assert_eq!(good.last().header("content-length"), Some("23"));
    let receipt = stage.receipt();
    let tried: Vec<_> = receipt["tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["model"].as_str().unwrap(), one["why"].as_str().unwrap()))
        .collect();
    assert_eq!(
        tried,
        [
            ("a", "upstream_failed"),
            ("b", "http_429"),
            ("none", "model_not_found"),
            ("c", "other_protocol")
        ]
    );
    assert_eq!(
        (receipt["served"].as_str(), receipt["upstream"].as_str()),
        (Some("d"), Some("good"))
    );
    // The last one's answer is returned, whatever it is.
    let last = stage.post("/v1/chat/completions", r#"{"models":["a","b"]}"#);
    assert_eq!((last.status(), last.text().as_str()), (429, "busy"));
    assert_eq!(
        stage
            .post("/v1/chat/completions", r#"{"models":[]}"#)
            .status(),
        400
    );
}

#[test]
fn a_head_has_no_body_and_tells_its_length() {
    let stub = Stub::new(|message, stream| {
        assert_eq!(message.first, "HEAD /v1/x HTTP/1.1");
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")
            .unwrap();
    });
    let stage = stage(&stub);
    let answer = stage.send("HEAD /v1/x", &[], "");
    assert_eq!(answer.header("content-length"), Some("5"));
}

#[test]
fn a_slow_reader_slows_the_upstream_down() {
    let written = Arc::new(Mutex::new(0_usize));
    let count = Arc::clone(&written);
    let stub = Stub::new(move |_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .unwrap();
        let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x1_0000], b"\r\n"].concat();
        for _ in 0..2000 {
            if stream.write_all(&chunk).is_err() {
                return;
            }
            *count.lock().unwrap() += 0x1_0000;
        }
    });
    let stage = stage(&stub);
    let body = r#"{"model":"m"}"#;
    let mut stream = stage.connect();
    let head = stage.head("POST /v1/messages", &[], body.len());
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    read_head(&mut stream).unwrap();
    let so_far = || *written.lock().unwrap();
    // The data that fits into the buffers on the way is accepted, and then nothing more.
    let mut before = usize::MAX;
    let since = Instant::now();
    while before != so_far() && since.elapsed() < LONG {
        before = so_far();
        thread::sleep(Duration::from_millis(500));
    }
    // Half of what the upstream has; the buffers of the system grow to some dozens of megabytes.
    assert!(so_far() < 1000 * 0x1_0000, "{}", so_far());
}

#[test]
fn models_are_listed_for_both_clients() {
    let stub = Stub::json(
        &json!({ "data": [{ "id": "gpt-9", "created": 7, "owned_by": "them" }, { "id": "tts-1" }] }),
    );
    let stage = Stage::new(
        &[
            upstream("one", "openai", &stub.url, "[\"gpt-*\", \"named\"]"),
            upstream("gone", "openai", &nowhere(), "[\"far\"]"),
        ]
        .concat(),
    );
    let answer = stage.send("GET /v1/models", &[("authorization", "Bearer c")], "");
    let list = answer.json();
    let ids: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["named", "gpt-9", "far"]);
    assert_eq!(
        (&list["object"], &list["has_more"], &list["last_id"]),
        (&json!("list"), &json!(false), &json!("far"))
    );
    assert_eq!(
        (&list["data"][1]["created"], &list["data"][1]["type"]),
        (&json!(7), &json!("model"))
    );
    assert_eq!(stub.last().header("authorization"), Some("Bearer c"));
}

#[test]
fn it_ends_at_once_when_idle_and_lets_a_running_answer_end() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let stub = Stub::new(move |_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nha")
            .unwrap();
        wait.lock().unwrap().recv_timeout(LONG).unwrap();
        stream.write_all(b"lf").unwrap();
    });
    let mut stage = stage(&stub);
    let mut idle = stage.connect();
    let mut kept = stage.connect();
    kept.write_all(stage.head("GET /healthz", &[], 0).as_bytes())
        .unwrap();
    assert!(read_head(&mut kept).unwrap().starts_with("HTTP/1.1 200"));
    let mut running = stage.connect();
    let body = r#"{"model":"m"}"#;
    let head = stage.head("POST /v1/messages", &[], body.len());
    running
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    read_head(&mut running).unwrap();
    stage.stop();
    assert!(is_closed(&mut kept), "a connection between two requests");
    assert!(
        is_closed(&mut idle),
        "a connection before its first request"
    );
    assert!(
        TcpStream::connect(stage.address).is_err(),
        "nobody new comes in"
    );
    go.send(()).unwrap();
    let mut rest = Vec::new();
    running.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"half");
    stage.ended();
    assert_eq!(stage.receipt()["outcome"], "complete");
}

#[test]
fn what_was_counted_is_told() {
    let stub = Stub::json(&json!({}));
    let stage = stage(&stub);
    stage.post("/v1/messages", r#"{"model":"m"}"#);
    stage.receipt();
    let text = stage.get("/metrics").text();
    assert!(text.contains("roleos_gateway_requests_total{route=\"passthrough\",upstream=\"stub\",status=\"200\"} 1"), "{text}");
    assert!(
        text.contains("roleos_gateway_latency_overhead_seconds_count 1"),
        "{text}"
    );
    assert!(text.contains("roleos_gateway_open_answers 0"), "{text}");
    assert!(stage.get("/").text().starts_with("Role OS "));
    assert_eq!(stage.get("/readyz").status(), 200);
}

#[test]
fn only_what_makes_it_inert_is_added_to_an_answer() {
    let stub = Stub::new(|_, stream| write(stream, 200, &[("X-Own", "1")], "{}"));
    let stage = stage(&stub);
    for path in ["/v1/other", "/v1", "/v1?y=%2F"] {
        let answer = stage.get(path);
        let expected = [
            ("X-Own", "1"),
            ("content-length", "2"),
            (
                "content-security-policy",
                "sandbox; default-src 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(answer.lasting(), expected, "{path}");
    }
    let own =
        stage.raw(format!("OPTIONS * HTTP/1.1\r\nhost: {}\r\n\r\n", stage.address).as_bytes());
    assert_eq!(
        own.status(),
        404,
        "it asks this server, which has nothing there"
    );
    assert_eq!(stub.seen().len(), 3);
}

#[test]
fn an_answer_that_the_end_of_the_process_cuts_off_says_so() {
    let stub = Stub::new(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\na\r\ndata: {}\n\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        // Longer than the time for a running answer.
        thread::sleep(LONG);
    });
    let mut stage = stage(&stub);
    let mut running = stage.connect();
    running
        .write_all(stage.head("GET /v1/stream", &[], 0).as_bytes())
        .unwrap();
    read_head(&mut running).unwrap();
    stage.stop();
    stage.ended();
    assert_eq!(stage.receipt()["outcome"], "cut_off");
}
