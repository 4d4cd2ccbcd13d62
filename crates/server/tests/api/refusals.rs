//! Refusals: no login, another origin, another host, invalid input of every kind, paths that lead elsewhere.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use web::login::waits::Client;

use crate::changes::{catalog, registry};
use crate::place::{Place, is_error, read};

/// Returns every call that makes changes, with a valid body.
fn changes() -> Vec<(&'static str, Value)> {
    let who = json!({ "reason": "r" });
    let point = json!({ "version": "v2", "reason": "r" });
    vec![
        ("/api/logout", json!({})),
        (
            "/api/catalog/import",
            json!({ "bundle": "editorial", "language": "en", "conflict": "skip" }),
        ),
        ("/api/catalog/update", json!({})),
        ("/api/approvals/0123456789ab/dismiss", json!({})),
        (
            "/api/specialists/Note%20Checker/register",
            json!({ "version": { "id": "x" } }),
        ),
        ("/api/specialists/Note%20Checker/promote", point.clone()),
        ("/api/specialists/Note%20Checker/certify", point.clone()),
        ("/api/specialists/Note%20Checker/rollback", point),
        ("/api/specialists/Note%20Checker/halt", who.clone()),
        ("/api/specialists/Note%20Checker/clear-halt", who),
        ("/api/approvals/0123456789ab", json!({})),
        ("/api/grants", json!({ "action": "git:push" })),
        ("/api/grants/git:push/revoke", json!({})),
        (
            "/api/machines",
            json!({ "name": "m", "key": "k", "why": "w" }),
        ),
        ("/api/machines/0123456789ab/dismiss", json!({ "why": "w" })),
        (
            "/api/tokens",
            json!({ "name": "laptop", "role": "admin", "why": "w" }),
        ),
        ("/api/tokens/laptop/revoke", json!({ "why": "w" })),
    ]
}

/// Returns every file below the workspace except views and locks, with its bytes.
fn files(place: &Place) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![place.root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !name.starts_with("view.db") && !name.ends_with("lock") {
                found.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn nothing_is_changed_without_a_login() {
    let place = Place::with(|root| {
        registry(root);
        catalog(root);
    })
    .await;
    place.settled().await;
    let before = files(&place);
    for (path, body) in changes() {
        for cookie in [
            None,
            Some("roleos_session=".to_owned()),
            Some(format!("roleos_session={}", "0".repeat(64))),
        ] {
            let (status, answer) = place.post(path, cookie.as_ref(), &body).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
            is_error(&answer, "login_needed");
        }
    }
    assert_eq!(files(&place), before);
}

#[tokio::test]
async fn the_document_asks_for_a_login_exactly_where_the_server_does() {
    let document = web::api::document();
    let mut needing: Vec<String> = Vec::new();
    for (path, item) in &document.paths.paths {
        if let Some(post) = item.post.as_ref().filter(|post| post.security.is_some()) {
            assert!(post.responses.responses.contains_key("401"));
            needing.push(path.clone());
        }
    }
    let mut checked: Vec<String> = changes()
        .iter()
        .map(|(path, _)| {
            path.replace("Note%20Checker", "{role}")
                .replace("0123456789ab", "{id}")
                .replace("git:push", "{action}")
                .replace("laptop", "{name}")
        })
        .collect();
    needing.sort();
    checked.sort();
    assert_eq!(needing, checked);
}

#[tokio::test]
async fn a_page_of_another_origin_and_another_name_are_refused() {
    let place = Place::with(|root| registry(root)).await;
    let cookie = place.log_in().await;
    let before = files(&place);
    for (path, body) in changes() {
        for (name, value, code) in [
            ("origin", "http://evil.example", "foreign_origin"),
            ("origin", "null", "foreign_origin"),
            ("sec-fetch-site", "cross-site", "foreign_origin"),
            ("host", "evil.example", "foreign_host"),
        ] {
            let request = place.request(Method::POST, path).json(&body);
            let request = request.header("cookie", &cookie).header(name, value);
            let (status, answer) = read(request.send().await.unwrap()).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{path} {name}");
            is_error(&answer, code);
        }
    }
    assert_eq!(files(&place), before);
    let own = format!("http://{}", place.address);
    let request = place
        .request(Method::POST, "/api/logout")
        .header("origin", own);
    let response = request.header("cookie", &cookie).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    let (status, _) = place.post("/api/logout", Some(&cookie), &json!({})).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

/// Sends a request as a client at this address.
async fn from(place: &Place, client: &str, request: Request<Body>) -> (StatusCode, String) {
    let mut request = request;
    let client = Client(client.parse().unwrap());
    request.extensions_mut().insert(client);
    let router = server::up::router(Arc::clone(&place.app));
    let response = router.oneshot(request).await.unwrap();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn codes_work_once_and_a_program_here_cannot_keep_the_operator_out() {
    let place = Place::new().await;
    let code = place.code();
    place.log_in().await;
    let log_in = async |code: &str| {
        place
            .post("/api/login", None, &json!({ "code": code }))
            .await
    };
    let (status, answer) = log_in(&code).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    is_error(&answer, "wrong_code");
    let code = place.code();
    for _ in 0..50 {
        assert_eq!(log_in("guess").await.0, StatusCode::FORBIDDEN);
    }
    assert_eq!(
        place.code(),
        code,
        "nobody can change it under the operator"
    );
    assert_eq!(log_in(&code).await.0, StatusCode::OK);
    // The last two look like names that are given to a token, and to a person of a provider.
    for name in ["a\nb", "token ci", "ada (login.example)"] {
        let login = json!({ "code": "x", "operator": name });
        let (status, answer) = place.post("/api/login", None, &login).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{name}");
        is_error(&answer, "bad_operator");
    }
}

#[tokio::test]
async fn another_machine_waits_after_five_guesses_and_nobody_else_does() {
    let place = Place::new().await;
    let log_in = async |client: &str, code: &str| {
        let request = Request::post("/api/login").header("content-type", "application/json");
        let body = json!({ "code": code }).to_string();
        from(&place, client, request.body(Body::from(body)).unwrap()).await
    };
    for _ in 0..5 {
        let (status, body) = log_in("192.0.2.7", "guess").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    }
    let (status, body) = log_in("192.0.2.7", &place.code()).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    is_error(&serde_json::from_str(&body).unwrap(), "login_paused");
    let page = Request::post("/login").header("content-type", "application/x-www-form-urlencoded");
    let page = page.body(Body::from("code=guess")).unwrap();
    let (status, _) = from(&place, "192.0.2.7", page).await;
    assert_eq!(
        status,
        StatusCode::TOO_MANY_REQUESTS,
        "the page is no second way"
    );
    let (status, _) = log_in("192.0.2.8", &place.code()).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn who_runs_the_process_is_told_on_this_machine_only() {
    let place = Place::new().await;
    let user = base::environment::user().unwrap();
    let shown = format!("value=\"{user}\"");
    let see = async |client: &str, host: &str| {
        let request = Request::get("/login").header("host", host);
        let (status, body) = from(&place, client, request.body(Body::empty()).unwrap()).await;
        assert_eq!(status, StatusCode::OK);
        body.contains(&shown)
    };
    assert!(see("127.0.0.1", "127.0.0.1:7420").await);
    assert!(see("::1", "localhost:7420").await);
    assert!(!see("192.0.2.7", "192.0.2.1:7420").await);
    assert!(!see("192.0.2.7", "localhost").await);
    assert!(!see("127.0.0.1", "roleos.example").await, "a proxy");
}

#[tokio::test]
async fn bad_bodies_get_their_status_and_change_nothing() {
    let place = Place::with(|root| registry(root)).await;
    let cookie = place.log_in().await;
    let before = files(&place);
    let long = format!("{{\"reason\":\"{}\"}}", "x".repeat(1 << 20));
    let many = format!("{{\"reason\":\"{}\"}}", "x".repeat(2001));
    let deep = "[".repeat(100_000);
    let json_type = "application/json";
    let cases: [(&str, &str, u16, &str); 12] = [
        (json_type, "", 400, "bad_json"),
        (json_type, "{", 400, "bad_json"),
        (json_type, &deep, 400, "bad_json"),
        (json_type, "{\"reason\":\"r\"} x", 400, "bad_json"),
        (json_type, "{\"reason\":\"\\ud800\"}", 400, "bad_json"),
        (json_type, "[]", 422, "bad_field"),
        (json_type, "{}", 422, "bad_field"),
        (json_type, "{\"reason\":7}", 422, "bad_field"),
        (
            json_type,
            "{\"reason\":\"r\",\"raeson\":\"\"}",
            422,
            "bad_field",
        ),
        (json_type, "{\"reason\":\" \"}", 422, "bad_reason"),
        (json_type, &many, 422, "bad_reason"),
        (json_type, &long, 413, "body_too_large"),
    ];
    for (kind, body, status, code) in cases {
        let request = place.request(Method::POST, "/api/specialists/Note%20Checker/halt");
        let request = request
            .header("cookie", &cookie)
            .header("content-type", kind);
        let (found, answer) = read(request.body(body.to_owned()).send().await.unwrap()).await;
        assert_eq!(found.as_u16(), status, "{answer}");
        is_error(&answer, code);
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let request = place.request(Method::POST, "/api/specialists/Note%20Checker/halt");
        let request = request
            .header("cookie", &cookie)
            .header("content-type", kind);
        let (found, answer) = read(request.body("{\"reason\":\"r\"}").send().await.unwrap()).await;
        assert_eq!(found, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        is_error(&answer, "not_json");
    }
    assert_eq!(files(&place), before);
}

#[tokio::test]
async fn bad_questions_get_their_status() {
    let place = Place::with(|root| registry(root)).await;
    for (path, status, code) in [
        ("/api/witness?limit=0", 400, "bad_query"),
        ("/api/witness?limit=201", 400, "bad_query"),
        ("/api/witness?limit=x", 400, "bad_query"),
        ("/api/witness?after=nonsense", 400, "bad_query"),
        ("/api/witness?outcom=solved", 400, "bad_query"),
        ("/api/witness?outcome=a&outcome=b", 400, "bad_query"),
        ("/api/scorecard?by=moon", 400, "bad_query"),
        ("/api/scorecard?since=moon", 400, "bad_query"),
        ("/api/curve?until=2026-13-01", 400, "bad_query"),
        ("/api/witness/zz", 404, "bundle_not_found"),
        ("/api/witness/0000/download?format=exe", 400, "bad_query"),
        ("/api/specialists/Nobody", 404, "unknown_role"),
        ("/api/specialists/%FF", 400, "bad_path"),
        ("/api/sessions/none", 404, "unknown_session"),
        ("/api/approvals/zzz", 404, "unknown_act"),
        ("/api/catalog", 404, "no_catalog"),
        ("/api/nothing/here", 404, "unknown_path"),
    ] {
        let (found, answer) = place.get(path).await;
        assert_eq!(found.as_u16(), status, "{path}: {answer}");
        is_error(&answer, code);
    }
    let response = place
        .request(Method::DELETE, "/api/grants")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()["allow"], "GET,HEAD,POST");
    is_error(&response.json().await.unwrap(), "method_not_allowed");
}

/// Content of a file beside the workspace's own that must not be revealed.
const SECRET: &str = "the secret of the keys";

#[tokio::test]
async fn no_path_leads_out_of_its_folder() {
    let place = Place::with(|root| {
        catalog(root);
        crate::changes::write(root, ".role-os/keys/secret.yaml", SECRET);
        crate::changes::write(root, ".role-os/secret.jsonl", SECRET);
        crate::changes::write(root, ".role-os/secret.rvww", SECRET);
    })
    .await;
    let cookie = place.log_in().await;
    let names = [
        "..%2Fsecret",
        "..%2F..%2F.role-os%2Fkeys%2Fsecret",
        "%2Fetc%2Fpasswd",
        "..",
        "%2e%2e",
        "a%00b",
        "..%5Csecret",
    ];
    for name in names {
        for path in [
            "/api/catalog/roles/{}",
            "/api/catalog/roles/proofreader?lang={}",
            "/api/witness/{}",
            "/api/witness/{}/download",
            "/api/sessions/{}",
            "/api/approvals/{}",
            "/api/runs/{}",
            "/api/specialists/{}",
            "/api/ledger/proof/{}",
        ] {
            let (_, answer) = place.get(&path.replace("{}", name)).await;
            assert!(!answer.to_string().contains(SECRET), "{path} {name}");
        }
    }
    // The audit log names what was tried.
    let but_audit = || {
        let mut found = files(&place);
        found.retain(|(path, _)| !path.ends_with("team/audit.jsonl"));
        found
    };
    let before = but_audit();
    for part in ["../../.role-os/keys", "..", "/etc", "a/b", "a\u{0}b", "A"] {
        for body in [
            json!({ "bundle": part, "language": "en", "conflict": "skip" }),
            json!({ "bundle": "editorial", "language": part, "conflict": "skip" }),
        ] {
            let (status, answer) = place
                .post("/api/catalog/import", Some(&cookie), &body)
                .await;
            assert!(status.is_client_error(), "{part:?}: {status} {answer}");
        }
    }
    assert_eq!(but_audit(), before);
}

#[tokio::test]
async fn nothing_from_a_request_gets_into_a_header() {
    let place = Place::new().await;
    let task = place.seal(5, witness::wire::Outcome::Solved);
    place.settled().await;
    for name in [
        format!("{task}%0d%0ax-evil:%201"),
        "0505%22;x=%22".to_owned(),
        "0505%0aSet-Cookie:a=b".to_owned(),
    ] {
        let path = format!("/api/witness/{name}/download");
        let response = place.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert!(response.headers().get("x-evil").is_none());
        assert!(response.headers().get("set-cookie").is_none());
        assert!(response.headers().get("content-disposition").is_none());
    }
}
