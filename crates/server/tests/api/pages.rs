//! The pages over a real socket, as a browser without a script meets them.

use reqwest::{Method, StatusCode};
use serde_json::json;
use witness::wire::Outcome;

use crate::changes::{catalog, registry, write};
use crate::lists::{add, call};
use crate::place::{Cookie, Place, seal};

async fn page(place: &Place, path: &str, cookie: Option<&Cookie>) -> (StatusCode, String) {
    let mut request = place.request(Method::GET, path);
    if let Some(cookie) = cookie {
        request = request.header("cookie", cookie);
    }
    let response = request.send().await.unwrap();
    let status = response.status();
    (status, response.text().await.unwrap())
}

async fn submit(
    place: &Place,
    path: &str,
    cookie: Option<&Cookie>,
    form: &[(&str, &str)],
) -> (StatusCode, String, String) {
    let mut body = String::new();
    for (name, value) in form {
        let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        body.push_str(&format!("{name}={value}&"));
    }
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let url = format!("http://{}{path}", place.address);
    let mut request = client
        .post(url)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    if let Some(cookie) = cookie {
        request = request.header("cookie", cookie);
    }
    let response = request.send().await.unwrap();
    let status = response.status();
    let to = response
        .headers()
        .get("location")
        .map(|to| to.to_str().unwrap().to_owned());
    (
        status,
        to.unwrap_or_default(),
        response.text().await.unwrap(),
    )
}

fn furnish(root: &std::path::Path) {
    registry(root);
    catalog(root);
    seal(root, 1, Outcome::Solved);
    seal(root, 2, Outcome::Failed);
    add(
        &root.join(".role-os/sessions/s1.jsonl"),
        &(call(0, "allow") + &call(1, "deny")),
    );
    let run = json!({
        "timestamp": "2026-01-01T00:00:00Z", "prompt_hash": "0".repeat(64), "model_id": "<b>a", "metric_version": "metric_v1",
        "verifier_result": "PASS", "q0": 1, "cost": 0.1, "refusal_penalty": 0.0, "reward": 0.9, "winner_model_id": "<b>a",
        "run_id": "r1", "role": "checker",
    });
    write(root, ".role-os/run_log.jsonl", &format!("{run}\n"));
}

const PAGES: [&str; 14] = [
    "/",
    "/?role=checker&model=small",
    "/tasks",
    "/tasks?outcome=failed&week=2026-W01",
    "/tasks/compare?by=model&baseline=small&with=large",
    "/tasks/0101",
    "/specialists",
    "/specialists/Note%20Checker",
    "/runs",
    "/runs/r1",
    "/oversight?command=env%20A%3D1%20git%20push",
    "/catalog?lang=ru",
    "/catalog/roles/proofreader?lang=ru",
    "/login",
];

#[tokio::test]
async fn every_page_is_whole_light_and_closed_to_others() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let cookie = place.log_in().await;
    let mut assets = 0;
    for path in ["/assets/page.css", "/assets/replay.css", "/assets/live.js"] {
        let (status, text) = page(&place, path, None).await;
        assert_eq!(status, StatusCode::OK);
        assets += text.len();
    }
    for path in PAGES {
        for cookie in [None, Some(&cookie)] {
            let mut request = place.request(Method::GET, path);
            if let Some(cookie) = cookie {
                request = request.header("cookie", cookie);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            assert_eq!(header("content-type"), "text/html; charset=utf-8");
            assert!(header("content-security-policy").starts_with("default-src 'none'"));
            assert_eq!(header("cache-control"), "no-store");
            let text = response.text().await.unwrap();
            assert!(text.trim_end().ends_with("</html>"), "{path}");
            assert_eq!(text.matches("<main").count(), 1, "{path}");
            assert_eq!(text.matches("<h1").count(), 1, "{path}");
            // No request leaves the address, no script stands in the page, and a page weighs little.
            for foreign in ["http://", "https://", "onclick", "<script>"] {
                let found = text.replace("http://127.0.0.1", "").contains(foreign);
                assert!(!found, "{path}: {foreign}");
            }
            assert!(text.len() + assets < 200_000, "{path}: {}", text.len());
            // Only who is logged in sees forms that change something.
            if cookie.is_none() && path != "/login" {
                assert!(!text.contains("method=\"post\""), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn the_feed_marks_what_decided_and_an_act_is_undone_by_one_sentence() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let (_, text) = page(&place, "/oversight", None).await;
    let (_, feed) = text.split_once("id=\"feed\"").unwrap();
    assert_eq!(feed.matches("<mark>git push</mark>").count(), 2, "{feed}");
    let (_, text) = page(&place, "/oversight?command=env%20A%3D1%20git%20push", None).await;
    let undo = "git push --force-with-lease of the old tip";
    assert_eq!(text.matches(undo).count(), 1, "{text}");
}

#[tokio::test]
async fn a_workspace_without_anything_is_told_what_to_do() {
    let place = Place::new().await;
    place.settled().await;
    let (status, text) = page(&place, "/catalog", None).await;
    assert_eq!(status, StatusCode::OK);
    assert!(text.contains("No catalog here yet"), "{text}");
    assert!(text.contains("roleos catalog new bundle"), "{text}");
    assert!(text.contains("No role is installed."), "{text}");
    let (_, text) = page(&place, "/", None).await;
    assert!(text.contains("No verified task yet"), "{text}");
}

#[tokio::test]
async fn a_hook_that_was_never_heard_of_needs_a_look_until_it_is() {
    let entry = json!({ "matcher": "*", "hooks": [{
        "type": "command", "command": "/usr/bin/roleos", "args": ["hook", "claude", "--root", "/w"],
    }] });
    let settings = json!({ "hooks": { "PreToolUse": [entry] } });
    let place = Place::with(|root| {
        write(root, ".claude/settings.local.json", &settings.to_string());
    })
    .await;
    place.settled().await;
    let (_, text) = page(&place, "/", None).await;
    assert!(text.contains("no event of it was ever seen"), "{text}");
    let journal = place.root().join(".role-os/sessions/s1.jsonl");
    add(&journal, &call(0, "deny"));
    place.desk.refresh().unwrap();
    let (_, text) = page(&place, "/", None).await;
    assert!(!text.contains("no event of it was ever seen"), "{text}");
}

#[tokio::test]
async fn what_strangers_wrote_stays_text() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let (_, text) = page(&place, "/runs", None).await;
    assert!(
        text.contains("&#60;b&#62;a") && !text.contains("<b>a"),
        "{text}"
    );
    let (_, text) = page(
        &place,
        "/oversight?command=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        None,
    )
    .await;
    assert!(!text.contains("<script>alert"), "{text}");
    let (status, text) = page(&place, "/tasks/%3Cscript%3E", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        !text.contains("<script>") && text.contains("there is no bundle"),
        "{text}"
    );
}

#[tokio::test]
async fn a_person_logs_in_promotes_with_the_evidence_before_them_and_rolls_back() {
    let place = Place::with(|root| furnish(root)).await;
    let role = "/specialists/Note%20Checker";
    let promote = [("act", "promote"), ("version", "v2"), ("reason", "passed")];
    let (status, to, _) = submit(&place, role, None, &promote).await;
    assert_eq!(
        (status, to.as_str()),
        (
            StatusCode::SEE_OTHER,
            "/login?next=%2Fspecialists%2FNote%2520Checker"
        )
    );
    let code = place.code();
    let wrong = [("code", "nonsense"), ("next", "/tasks")];
    let (status, _, text) = submit(&place, "/login", None, &wrong).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(text.contains("that is not the code"), "{text}");
    let right = [
        ("code", code.as_str()),
        ("operator", "ada"),
        ("next", "//evil.example"),
    ];
    let (status, to, _) = submit(&place, "/login", None, &right).await;
    assert_eq!((status, to.as_str()), (StatusCode::SEE_OTHER, "/"));
    let cookie = place.log_in().await;
    let (status, _, text) = submit(&place, role, Some(&cookie), &promote).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        text.contains("Make version v2 active?") && text.contains("The evidence"),
        "{text}"
    );
    assert_eq!(
        place.ok("/api/specialists").await["roles"][0]["active_version"],
        "v1"
    );
    let sure = [
        ("act", "promote"),
        ("version", "v2"),
        ("reason", "passed"),
        ("sure", "yes"),
        ("force", "yes"),
    ];
    let (status, _, text) = submit(&place, role, Some(&cookie), &sure[..4]).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text.contains("took no exam together"), "{text}");
    let (status, to, _) = submit(&place, role, Some(&cookie), &sure).await;
    assert_eq!((status, to.as_str()), (StatusCode::SEE_OTHER, role));
    assert_eq!(
        place.ok("/api/specialists").await["roles"][0]["active_version"],
        "v2"
    );
    let back = [
        ("act", "rollback"),
        ("version", "v1"),
        ("reason", "slow"),
        ("sure", "yes"),
    ];
    submit(&place, role, Some(&cookie), &back).await;
    assert_eq!(
        place.ok("/api/specialists").await["roles"][0]["active_version"],
        "v1"
    );
    let (status, _, text) = submit(
        &place,
        role,
        Some(&cookie),
        &[("act", "halt"), ("reason", " ")],
    )
    .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(text.contains("must say why"), "{text}");
}

#[tokio::test]
async fn a_role_from_another_catalog_can_be_read() {
    let place = Place::new().await;
    let role = "source:\n  slug: poet\n  language: en\n  version: 3\nenabled: true\nname: Poet\ninstructions: In <verse>.\n";
    write(&place.root(), ".role-os/roles/poet.en.yaml", role);
    let (_, text) = page(&place, "/catalog", None).await;
    assert!(text.contains("/catalog/roles/poet?lang=en"), "{text}");
    let (status, text) = page(&place, "/catalog/roles/poet?lang=en", None).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        text.contains("In &#60;verse&#62;.") && text.contains("not in this catalog"),
        "{text}"
    );
    let (status, _) = page(&place, "/catalog/roles/poet?lang=ru", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_is_wrong_with_a_form_is_said_on_a_page() {
    let place = Place::with(|root| furnish(root)).await;
    let cookie = place.log_in().await;
    let long = "A".repeat(1 << 20);
    for (form, status) in [
        (vec![], StatusCode::UNPROCESSABLE_ENTITY),
        (vec![("act", long.as_str())], StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let (said, _, text) = submit(&place, "/specialists/x", Some(&cookie), &form).await;
        assert_eq!(said, status, "{text}");
        assert!(text.contains("<h1>That did not work</h1>"), "{text}");
    }
    let bundle = [("bundle", "\u{202e}x"), ("language", "en")];
    let (_, _, text) = submit(&place, "/catalog/import", Some(&cookie), &bundle).await;
    assert!(text.contains("\\u{202e}x"), "{text}");
}

#[tokio::test]
async fn a_login_leads_back_and_not_to_itself() {
    let place = Place::with(|root| furnish(root)).await;
    let (_, text) = page(&place, "/login?next=/tasks", None).await;
    assert!(!text.contains("/login?next="), "{text}");
    let (status, to, _) = submit(&place, "/logout", None, &[]).await;
    assert_eq!((status, to.as_str()), (StatusCode::SEE_OTHER, "/"));
}

#[tokio::test]
async fn a_grant_and_an_import_go_through_forms() {
    let place = Place::with(|root| furnish(root)).await;
    let cookie = place.log_in().await;
    let grant = [
        ("action", "git:push"),
        ("hours", "2"),
        ("uses", "1"),
        ("scope", ""),
        ("passphrase", ""),
    ];
    let (status, to, text) = submit(&place, "/oversight/grant", Some(&cookie), &grant).await;
    assert_eq!(
        (status, to.as_str()),
        (StatusCode::SEE_OTHER, "/oversight#grants"),
        "{text}"
    );
    assert_eq!(place.ok("/api/grants").await[0]["uses"], 1);
    let revoke = [("action", "git:push")];
    assert_eq!(
        submit(&place, "/oversight/revoke", None, &revoke).await.0,
        StatusCode::SEE_OTHER
    );
    assert_eq!(place.ok("/api/grants").await.as_array().unwrap().len(), 1);
    submit(&place, "/oversight/revoke", Some(&cookie), &revoke).await;
    assert_eq!(place.ok("/api/grants").await, json!([]));
    let import = [
        ("bundle", "editorial"),
        ("language", "ru"),
        ("slug", "proofreader"),
    ];
    let (status, _, text) = submit(&place, "/catalog/import", Some(&cookie), &import).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (_, text) = page(&place, "/catalog/roles/proofreader?lang=ru", Some(&cookie)).await;
    assert!(text.contains("The instructions are the same."), "{text}");
}

#[tokio::test]
async fn an_unknown_address_is_a_page_for_people_and_json_for_programs() {
    let place = Place::new().await;
    for path in [
        "/nope",
        "/docs/index.html",
        "/v1beta/x",
        "/<script>alert(1)</script>",
    ] {
        let request = place.request(Method::GET, path);
        let response = request.header("accept", "text/html,*/*;q=0.8").send().await;
        let response = response.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let policy = response.headers()["content-security-policy"].clone();
        assert!(policy.to_str().unwrap().contains("script-src 'self'"));
        let text = response.text().await.unwrap();
        assert!(text.contains("there is nothing at this path"), "{text}");
        assert!(text.contains("<nav"), "{text}");
        assert!(!text.contains("<script>alert"), "{text}");
    }
    let response = place.request(Method::GET, "/nope").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(response.headers()["content-type"], "application/json");
}
