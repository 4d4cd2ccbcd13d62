//! Refusals, in the client's own format and before anything is forwarded.

use std::fs;
use std::io::Write as _;

use serde_json::json;

use crate::stage::{Stage, Stub, read_message, upstream};

fn stage(stub: &Stub, settings: &str) -> Stage {
    Stage::new(&format!(
        "[gateway]\n{settings}\n{}",
        upstream("stub", "openai", &stub.url, "[\"*\"]")
    ))
}

#[test]
fn another_name_or_another_page_reaches_nobody() {
    let stub = Stub::json(&json!({}));
    let stage = stage(&stub, "");
    let body = r#"{"model":"m"}"#;
    let head = |headers: &str| {
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let own = format!("host: {}\r\n", stage.address);
    for (headers, status, code) in [
        ("host: evil.example\r\n".to_owned(), 403, "foreign_host"),
        (
            "host: evil.example:7420\r\n".to_owned(),
            403,
            "foreign_host",
        ),
        (String::new(), 400, "bad_host"),
        (
            format!("{own}origin: https://evil.example\r\n"),
            403,
            "foreign_origin",
        ),
        (format!("{own}origin: null\r\n"), 403, "foreign_origin"),
        (
            format!("{own}sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n"),
            403,
            "foreign_origin",
        ),
    ] {
        let answer = stage.raw(head(&headers).as_bytes());
        assert_eq!(
            (answer.status(), answer.json()["error"]["code"].as_str()),
            (status, Some(code)),
            "{headers}"
        );
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    for path in ["/api", "/api/hello", "/catalog/x", "/favicon.ico"] {
        assert_eq!(stage.get(path).json()["code"], "not_found", "{path}");
    }
    assert_eq!(stub.seen().len(), 0);
    let absolute = format!("GET http://evil.example/v1/models HTTP/1.1\r\n{own}\r\n");
    assert_eq!(stage.raw(absolute.as_bytes()).status(), 400);
}

#[test]
fn a_token_is_asked_for_and_never_passed_on() {
    let stub = Stub::json(&json!({}));
    // `PATH` is a variable that every test has.
    let stage = stage(&stub, "token_env = \"PATH\"");
    let body = r#"{"model":"m"}"#;
    let answer = stage.post("/v1/messages", body);
    assert_eq!(
        (answer.status(), answer.json()["error"]["type"].as_str()),
        (401, Some("authentication_error"))
    );
    assert_eq!(stage.get("/metrics").json()["code"], "bad_token");
    assert_eq!(stage.get("/healthz").status(), 200);
    let token = std::env::var("PATH").unwrap();
    let headers = [
        ("X-Roleos-Token", token.as_str()),
        ("authorization", "Bearer mine"),
    ];
    let answer = stage.send("POST /v1/messages", &headers, body);
    assert_eq!(answer.status(), 200);
    assert_eq!(stub.last().header("x-roleos-token"), None);
    assert_eq!(stub.last().header("authorization"), Some("Bearer mine"));
}

#[test]
fn a_body_that_is_too_large_too_slow_or_no_json_is_refused() {
    let stub = Stub::json(&json!({}));
    let stage = stage(
        &stub,
        "max_body_mib = 1\nbody_timeout_seconds = 1\nheader_timeout_seconds = 1",
    );
    let code = |answer: &crate::stage::Message| {
        answer.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let announced = stage.head("POST /v1/chat/completions", &[], 2 << 20);
    let answer = stage.raw(announced.as_bytes());
    assert_eq!(
        (answer.status(), code(&answer).as_str()),
        (413, "body_too_large")
    );
    let chunked = stage.head(
        "POST /v1/chat/completions",
        &[("transfer-encoding", "chunked")],
        0,
    );
    let mut stream = stage.connect();
    stream.write_all(chunked.as_bytes()).unwrap();
    let chunk = [b"40000\r\n".as_slice(), &[b' '; 0x4_0000], b"\r\n"].concat();
    for _ in 0..5 {
        // It may stop reading before the last chunk.
        stream.write_all(&chunk).ok();
    }
    let answer = read_message(&mut stream, false).unwrap();
    assert_eq!(answer.status(), 413);
    let slow = stage.head("POST /v1/messages", &[], 100);
    let answer = stage.raw(format!("{slow}{{\"model\":").as_bytes());
    assert_eq!(answer.status(), 408);
    assert_eq!(answer.json()["type"], "error");
    let mut silent = stage.connect();
    silent
        .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: 127")
        .unwrap();
    assert!(
        crate::stage::is_closed(&mut silent),
        "a head that does not come"
    );
    for body in ["{", "[]", "\"model\"", "{\"model\":\"m\"", "nonsense", ""] {
        let answer = stage.post("/v1/chat/completions", body);
        assert_eq!(
            (answer.status(), code(&answer).as_str()),
            (400, "bad_json"),
            "{body}"
        );
    }
    assert_eq!(stub.seen().len(), 0);
    assert!(
        stage
            .receipts(9)
            .iter()
            .all(|receipt| receipt["route"] == "refused")
    );
}

#[test]
fn an_upload_that_stops_is_given_up_and_one_that_goes_on_is_not() {
    let stub = Stub::json(&json!({}));
    let stage = stage(&stub, "body_timeout_seconds = 1\n");
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let stopped = stage.head("POST /v1/files", &kind, 100);
    let answer = stage.raw(format!("{stopped}--x").as_bytes());
    assert_eq!(answer.status(), 408, "{}", answer.text());
    let mut slow = stage.connect();
    slow.write_all(stage.head("POST /v1/files", &kind, 4).as_bytes())
        .unwrap();
    for byte in b"abcd" {
        std::thread::sleep(std::time::Duration::from_millis(400));
        slow.write_all(&[*byte]).unwrap();
    }
    let answer = read_message(&mut slow, false).unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(stub.last().body, b"abcd");
    let receipts = stage.receipts(2);
    assert_eq!(receipts[0]["reason"], "slow_body");
}

#[test]
fn no_secret_is_written_down() {
    let stub = Stub::json(&json!({ "answer": "topsecret-answer" }));
    let stage = stage(&stub, "");
    let headers = [
        ("authorization", "Bearer topsecret-key"),
        ("x-api-key", "topsecret-key"),
        ("cookie", "topsecret=1"),
    ];
    let body = r#"{"model":"m","messages":[{"role":"user","content":"topsecret-text"}]}"#;
    stage.send("POST /v1/messages?key=topsecret-query", &headers, body);
    stage.receipt();
    let folder = stage.folder.path().join(".role-os");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(!text.contains("topsecret"), "{}", path.display());
    }
    assert!(!stage.get("/metrics").text().contains("topsecret"));
}

#[test]
fn only_the_catalogs_own_files_are_handed_out() {
    let stage = Stage::with("", |root| {
        let bundles = root.join("catalog/bundles/editorial");
        fs::create_dir_all(&bundles).unwrap();
        fs::write(root.join("catalog/index.yaml"), "schemaVersion: 1\n").unwrap();
        fs::write(bundles.join("en.yaml"), "language: en\n").unwrap();
        fs::write(root.join("catalog/secret.yaml"), "topsecret").unwrap();
        fs::write(root.join("secret.yaml"), "topsecret").unwrap();
        std::os::unix::fs::symlink(root.join("secret.yaml"), bundles.join("xx.yaml")).unwrap();
    });
    let index = stage.get("/catalog/index.yaml");
    assert_eq!(
        (index.status(), index.text().as_str()),
        (200, "schemaVersion: 1\n")
    );
    let tag = index.header("etag").unwrap().to_owned();
    let again = stage.send("GET /catalog/index.yaml", &[("if-none-match", &tag)], "");
    assert_eq!(again.status(), 304);
    assert_eq!(
        stage.get("/catalog/bundles/editorial/en.yaml").text(),
        "language: en\n"
    );
    for path in [
        "/catalog/bundles/../secret.yaml",
        "/catalog/bundles/%2e%2e/secret.yaml",
        "/catalog/bundles/..%2f..%2f/secret.yaml",
        "/catalog/bundles/editorial/..%2f..%2f..%2fsecret.yaml",
        "/catalog/bundles/editorial/%2e%2e%2f%2e%2e%2fsecret.yaml",
        "/catalog/bundles/editorial/xx.yaml",
        "/catalog/bundles/editorial/en.yaml%00",
        "/catalog/bundles/editorial/en",
        "/catalog/secret.yaml",
        "/catalog/",
    ] {
        let answer = stage.get(path);
        assert!(
            matches!(answer.status(), 404 | 500),
            "{path}: {}",
            answer.status()
        );
        assert!(!answer.text().contains("topsecret"), "{path}");
    }
}
