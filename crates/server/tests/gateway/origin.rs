//! An upstream that tries to act in the operator's origin: its answers stay data.

use std::io::Write as _;

use crate::stage::{Message, Stage, Stub, upstream, write};

const SCRIPT: &str = "<script>fetch('/api/specialists/checker/halt',{method:'POST'})</script>";

/// Headers by which an answer could affect its apparent origin.
const HOSTILE: [(&str, &str); 21] = [
    ("content-type", "text/html; charset=utf-8"),
    ("Set-Cookie", "roleos_session=stolen; Path=/"),
    ("set-cookie", "other=1; Domain=127.0.0.1"),
    ("Access-Control-Allow-Origin", "*"),
    ("access-control-allow-credentials", "true"),
    ("access-control-expose-headers", "*"),
    ("X-RoleOS-Route", "specialist"),
    ("x-roleos-verified", "pass"),
    ("x-roleos-model", "checker/v9"),
    ("Clear-Site-Data", "\"*\""),
    ("Service-Worker-Allowed", "/"),
    ("Strict-Transport-Security", "max-age=99999999"),
    ("Refresh", "0; url=/oversight"),
    ("Alt-Svc", "h3=\"evil.example:443\""),
    ("Report-To", "{\"group\":\"x\"}"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Content-Security-Policy", "script-src * 'unsafe-inline'"),
    ("Link", "</evil.css>; rel=stylesheet"),
    ("Speculation-Rules", "\"/evil.json\""),
    ("Accept-CH", "sec-ch-ua-arch"),
    ("X-Request-Id", "kept"),
];

fn hostile() -> (Stub, Stage) {
    let stub = Stub::new(|_, stream| write(stream, 200, &HOSTILE, SCRIPT));
    let stage = Stage::new(&upstream("stub", "openai", &stub.url, "[\"*\"]"));
    (stub, stage)
}

#[track_caller]
fn is_inert(answer: &Message) {
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("sandbox; default-src 'none'"),
        "{answer:#?}"
    );
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let acting = |name: &str| {
        let name = name.to_lowercase();
        [
            "set-cookie",
            "access-control-",
            "clear-site",
            "service-w",
            "strict-",
            "refresh",
            "alt-svc",
            "link",
            "speculation-",
            "accept-ch",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    };
    let left: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| acting(name))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn only_paths_below_v1_reach_an_upstream() {
    let (stub, stage) = hostile();
    for path in [
        "/docs",
        "/nope",
        "/v1beta/models",
        "/V1/models",
        "//v1/x",
        "/index.html",
        "/v1/../docs",
        "/v1/%2e%2e/docs",
        "/v1/..%2fdocs",
        "/.well-known/x",
        "/sw.js",
    ] {
        for line in [format!("GET {path}"), format!("POST {path}")] {
            let answer = stage.send(&line, &[("accept", "text/html")], "");
            assert_eq!(answer.status(), 404, "{line}");
            assert_eq!(answer.json()["code"], "not_found", "{line}");
            is_inert(&answer);
        }
    }
    assert!(stub.seen().is_empty());
    assert_eq!(stage.get("/v1/docs").text(), SCRIPT);
}

#[test]
fn an_answer_is_data_and_nothing_of_it_acts_on_the_origin() {
    let (_stub, stage) = hostile();
    let asked = [
        stage.get("/v1/page"),
        stage.post("/v1/chat/completions", r#"{"model":"m"}"#),
        stage.post("/v1/chat/completions", r#"{"models":["m","n"]}"#),
        stage.send("HEAD /v1/page", &[], ""),
    ];
    for (index, answer) in asked.iter().enumerate() {
        is_inert(answer);
        assert_eq!(answer.header("x-request-id"), Some("kept"));
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(answer.header("x-roleos-verified"), None);
        let policies = answer.headers.iter();
        let policies =
            policies.filter(|(name, _)| name.eq_ignore_ascii_case("content-security-policy"));
        assert_eq!(policies.count(), 1);
        // Of our own headers, the list of models has those with true values.
        let ours = (index == 2).then_some(("passthrough", "m"));
        let said = answer
            .header("x-roleos-route")
            .zip(answer.header("x-roleos-model"));
        assert_eq!(said, ours, "{answer:#?}");
    }
    assert_eq!(
        asked[0].text(),
        SCRIPT,
        "the body is byte for byte the upstream's"
    );
}

#[test]
fn a_browser_is_shown_no_answer_of_an_upstream() {
    let (stub, stage) = hostile();
    for headers in [
        &[
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ][..],
        &[("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")],
        &[("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "object")],
        &[("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "embed")],
        &[("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script")],
        &[
            ("Sec-Fetch-Mode", "same-origin"),
            ("Sec-Fetch-Dest", "serviceworker"),
        ],
        &[("sec-fetch-mode", "navigate")],
        &[("sec-fetch-dest", "frame")],
    ] {
        for line in [
            "GET /v1/docs",
            "POST /v1/chat/completions",
            "GET /v1/models/x",
        ] {
            let headers = [&[("sec-fetch-site", "same-origin")], headers].concat();
            let answer = stage.send(line, &headers, "");
            assert_eq!(answer.status(), 403, "{line} {headers:?}");
            assert_eq!(answer.json()["error"]["code"], "not_a_page");
            is_inert(&answer);
        }
    }
    assert!(stub.seen().is_empty());
    // Node's `fetch` sends `cors`, and a script of our own pages may fetch data.
    let fetched = [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
    assert_eq!(stage.send("GET /v1/docs", &fetched, "").status(), 200);
    assert_eq!(stub.seen().len(), 1);
}

#[test]
fn trailers_and_upgrades_do_not_get_around_it() {
    let stub = Stub::new(|message, stream| {
        let text = match message.first.contains("socket") {
            true => "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
            false => {
                "HTTP/1.1 200 OK\r\ntrailer: x-sum, x-roleos-verified, set-cookie\r\n\
                 transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-sum: 7\r\n\
                 x-roleos-verified: pass\r\nset-cookie: a=b\r\n\r\n"
            }
        };
        stream.write_all(text.as_bytes()).unwrap();
    });
    let stage = Stage::new(&upstream("stub", "openai", &stub.url, "[\"*\"]"));
    let answer = stage.send("GET /v1/x", &[("TE", "trailers")], "");
    assert_eq!(answer.trailers, ["x-sum: 7"]);
    is_inert(&answer);
    let socket = [("connection", "upgrade"), ("upgrade", "websocket")];
    let answer = stage.send("GET /v1/socket", &socket, "");
    assert_eq!(answer.status(), 502, "{answer:#?}");
    is_inert(&answer);
}

#[test]
fn everything_of_ours_that_is_not_a_page_is_inert_too() {
    let (_stub, stage) = hostile();
    for path in [
        "/healthz",
        "/metrics",
        "/catalog/index.yaml",
        "/v1/models",
        "/api/x",
    ] {
        is_inert(&stage.get(path));
    }
    let foreign = stage.send("GET /docs", &[("origin", "http://evil.example")], "");
    assert_eq!(foreign.status(), 403);
    is_inert(&foreign);
}
