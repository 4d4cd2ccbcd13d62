//! The pages over a real socket, as a browser without scripts sees them.

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
    let requests: String = (0..20).map(request).collect();
    write(root, ".role-os/gateway.jsonl", &requests);
}

/// Returns a line of the gateway's log: every tenth is an error, each slower than the one before.
fn request(number: u32) -> String {
    let model = if number == 0 { "large" } else { "small" };
    let line = json!({
        "ts": format!("2026-01-01T00:00:{number:02}Z"), "trace": format!("trace-{number}"), "method": "POST",
        "path": "/v1/messages", "route": "passthrough", "model": model,
        "upstream": "up", "status": if number % 10 == 9 { 502 } else { 200 }, "outcome": "complete",
        "ms": f64::from(number), "overhead_us": 70, "input_tokens": 3, "output_tokens": 2, "session": "s1",
    });
    format!("{line}\n")
}

const PAGES: [&str; 34] = [
    "/",
    "/?by=day",
    "/history",
    "/help/sessions",
    "/?role=checker&model=small",
    "/tasks",
    "/tasks?outcome=failed&week=2026-W01",
    "/tasks/compare?by=model&baseline=small&with=large",
    "/tasks/0101",
    "/specialists",
    "/specialists/Note%20Checker",
    "/runs",
    "/prove",
    "/runs/r1",
    "/oversight?command=env%20A%3D1%20git%20push",
    "/catalog?lang=ru",
    "/catalog/roles/proofreader?lang=ru",
    "/login",
    "/tasks?outcome=failed&outcome=solved&q=task&from=2026-01-01&to=2026-12-31&sort=-cost",
    "/sessions",
    "/sessions?agent=claude&sort=calls",
    "/sessions/s1",
    "/oversight?verdict=deny&verdict=ask&q=push&sort=agent",
    "/runs?role=checker&verifier=pass&won=yes&sort=reward",
    "/search",
    "/search?q=push",
    "/traffic",
    "/traffic?model=small&status=200&span=all&sort=ms",
    "/exams",
    "/ledger",
    "/settings",
    "/settings?all=yes",
    "/keys",
    "/help",
];

#[tokio::test]
async fn every_page_is_whole_light_and_closed_to_others() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let cookie = place.log_in().await;
    let mut assets = 0;
    for path in ["/assets/page.css", "/assets/replay.css", "/assets/page.js"] {
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
            // No request leaves the address, the page contains no script, and it is small.
            for foreign in ["http://", "https://", "onclick", "<script>"] {
                let found = text.replace("http://127.0.0.1", "").contains(foreign);
                assert!(!found, "{path}: {foreign}");
            }
            assert!(text.len() + assets < 200_000, "{path}: {}", text.len());
            // Only logged-in persons see forms that make changes. The check of a digest is a form without changes.
            if cookie.is_none() && path != "/login" {
                let text = text.replace("method=\"post\" action=\"/ledger", "");
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

/// Returns the rows of a table in a page, as text without tags.
fn rows(text: &str, id: &str) -> Vec<String> {
    let table = text.split(&format!("id=\"{id}\"")).nth(1).unwrap();
    let table = table.split("</table>").next().unwrap();
    let body = table.split_once("<tbody").map_or(table, |(_, body)| body);
    let rows = body.split("<tr>").skip(1);
    rows.map(|row| {
        let mut plain = String::new();
        for part in row.split('<') {
            let (_, text) = part.split_once('>').unwrap_or(("", part));
            plain.push_str(text);
            plain.push(' ');
        }
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    })
    .collect()
}

#[tokio::test]
async fn lists_are_filtered_searched_ranged_and_sorted_by_their_address() {
    let place = Place::with(|root| {
        furnish(root);
        seal(root, 3, Outcome::Skipped);
    })
    .await;
    place.settled().await;
    // Address, table, number of rows, and the beginning or a part of the first.
    let cases = [
        ("/tasks", "rows", 3, "task 3"),
        ("/tasks?outcome=solved&outcome=failed", "rows", 2, "task 2"),
        ("/tasks?q=TASK%201", "rows", 1, "task 1"),
        ("/tasks?q=nothing", "rows", 1, "No task matches"),
        ("/tasks?from=2026-01-03&to=2026-01-03", "rows", 1, "task 2"),
        ("/tasks?to=2026-01-02", "rows", 1, "task 1"),
        ("/tasks?sort=-title", "rows", 3, "task 1"),
        ("/tasks?sort=created", "rows", 3, "task 3"),
        ("/tasks?sort=-created", "rows", 3, "task 1"),
        (
            "/tasks?model=small&model=large&sort=-model",
            "rows",
            3,
            "task 1",
        ),
        (
            "/oversight?verdict=deny",
            "feed",
            1,
            "2026-01-01 00:00:00 UTC deny",
        ),
        (
            "/oversight?verdict=deny&verdict=allow&sort=verdict",
            "feed",
            2,
            "2026-01-01 00:00:00 UTC deny",
        ),
        ("/oversight?q=irreversible%20push", "feed", 2, "2026-01-01"),
        ("/oversight?agent=codex", "feed", 1, "No call matches"),
        ("/sessions?agent=claude", "rows", 1, "No prompt s1"),
        ("/runs?won=no", "rows", 1, "No candidate matches"),
        ("/runs?verifier=pass&won=yes", "rows", 1, "r1"),
        (
            "/traffic?span=all",
            "sums",
            2,
            "– small 19 2 (11 %) 10 ms 19 ms",
        ),
        (
            "/traffic?status=502",
            "rows",
            2,
            "2026-01-01 00:00:19 UTC small passthrough up 502",
        ),
        (
            "/traffic?sort=-ms",
            "rows",
            20,
            "2026-01-01 00:00:00 UTC large",
        ),
        ("/traffic?q=trace-7", "rows", 1, "2026-01-01 00:00:07 UTC"),
    ];
    for (path, table, count, first) in cases {
        let (status, text) = page(&place, path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let rows = rows(&text, table);
        assert_eq!(rows.len(), count, "{path}: {rows:#?}");
        assert!(rows[0].contains(first), "{path}: {rows:#?}");
    }
    for path in [
        "/tasks?sort=policy",
        "/tasks?from=yesterday",
        "/runs?after=x",
    ] {
        let (status, _) = page(&place, path, None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
    }
}

#[tokio::test]
async fn a_list_is_a_file_with_every_row_that_its_filters_let_through() {
    let place = Place::with(|root| {
        furnish(root);
        let requests: String = (0..430).map(|number| request(number % 7)).collect();
        write(root, ".role-os/gateway.jsonl", &requests);
    })
    .await;
    place.settled().await;
    for (path, count, head, first) in [
        ("/traffic", 430, "\"ts\",\"trace\"", "trace-6"),
        ("/traffic?model=large&sort=-ms", 62, "\"ts\"", "trace-0"),
        ("/tasks?outcome=failed", 1, "\"task_id\"", "02020202"),
        ("/oversight?verdict=deny", 1, "\"session\"", "deny"),
        ("/sessions", 1, "\"id\"", "s1"),
        ("/runs", 1, "\"run_id\"", "r1"),
        ("/runs?won=no", 0, "", ""),
    ] {
        let sign = if path.contains('?') { '&' } else { '?' };
        let response = place.request(Method::GET, &format!("{path}{sign}format=csv"));
        let response = response.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/csv; charset=utf-8");
        assert!(header("content-disposition").starts_with("attachment; "));
        let text = response.text().await.unwrap();
        let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
        assert!(lines.next().unwrap_or_default().starts_with(head), "{path}");
        let rows: Vec<&str> = lines.collect();
        assert_eq!(rows.len(), count, "{path}");
        assert!(
            rows.first().is_none_or(|row| row.contains(first)),
            "{path}: {rows:?}"
        );
        let (_, page) = page(&place, path, None).await;
        assert_eq!(page.contains("format=csv"), count > 0, "{path}");
    }
    let wrong = format!("/tasks?sort=policy&format={}", "csv");
    assert_eq!(page(&place, &wrong, None).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_happened_over_time_is_a_picture_and_a_table() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let (_, text) = page(&place, "/oversight", None).await;
    assert_eq!(rows(&text, "days"), ["2026-01-01 2 0 1"]);
    let words = "<title>2026-01-01: 1 refused, 0 asked about, of 2 calls</title>";
    assert!(text.contains(words), "{text}");
    let (_, text) = page(&place, "/traffic?span=all", None).await;
    assert_eq!(rows(&text, "latencies"), ["2026-01-01 20 9.0 ms 18 ms"]);
    let words = "<title>2026-01-01: 20 requests, median 9.0 ms, 95 % within 18 ms</title>";
    assert!(text.contains(words), "{text}");
    let (_, text) = page(&place, "/?by=day", None).await;
    assert!(text.contains("/tasks?from=2026-01-0"), "{text}");
    assert!(
        text.contains("/curve.svg?role=&#38;model=&#38;by=day"),
        "{text}"
    );
}

#[tokio::test]
async fn a_run_shows_its_input_where_texts_are_kept() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let (_, text) = page(&place, "/runs/r1", None).await;
    assert!(text.contains("keep_inputs"), "{text}");
    let texts = json!({ "run_id": "r1", "input": "what is <due>?", "output": { "day": "Friday" } });
    write(
        &place.root(),
        ".role-os/contest-texts.jsonl",
        &format!("{texts}\n"),
    );
    let (_, text) = page(&place, "/runs/r1", None).await;
    assert!(text.contains("what is &#60;due&#62;?"), "{text}");
    assert!(
        text.contains("Friday") && !text.contains("keep_inputs"),
        "{text}"
    );
}

#[tokio::test]
async fn decisions_of_people_and_events_of_specialists_are_one_history() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let cookie = place.log_in().await;
    let grant = [("action", "git:push"), ("hours", "2")];
    let (status, ..) = submit(&place, "/oversight/grant", Some(&cookie), &grant).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let halt = [("act", "halt"), ("reason", "too slow"), ("sure", "yes")];
    submit(&place, "/specialists/Note%20Checker", Some(&cookie), &halt).await;
    place.desk.refresh().unwrap();
    let (_, text) = page(&place, "/history", None).await;
    let rows = rows(&text, "rows");
    assert!(
        rows.iter().any(|row| row.contains("gate grant git:push")),
        "{rows:#?}"
    );
    let is_halt =
        |row: &String| row.contains("specialist halt Note Checker") && row.contains("too slow");
    assert!(rows.iter().any(is_halt), "{rows:#?}");
}

#[tokio::test]
async fn every_room_leads_to_its_document() {
    let place = Place::new().await;
    place.settled().await;
    let (_, text) = page(&place, "/help", None).await;
    let topics: Vec<&str> = text.split("href=\"/help/").skip(1).collect();
    assert!(topics.len() > 20, "{topics:?}");
    for topic in topics {
        let address = format!("/help/{}", topic.split('"').next().unwrap());
        let (status, text) = page(&place, &address, None).await;
        assert_eq!(status, StatusCode::OK, "{address}");
        assert_eq!(text.matches("<h1").count(), 1, "{address}");
    }
    let (_, text) = page(&place, "/ledger", None).await;
    assert!(text.contains("href=\"/help/witness\""), "{text}");
    let (status, _) = page(&place, "/help/nothing", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn pages_of_a_sorted_list_hold_every_row_once() {
    let place = Place::with(|root| {
        let requests: String = (0..120).map(|number| request(number % 7)).collect();
        write(root, ".role-os/gateway.jsonl", &requests);
    })
    .await;
    place.settled().await;
    for sort in ["", "ms", "-ms", "model", "-status"] {
        let mut path = format!("/traffic?sort={sort}");
        let mut seen = 0;
        let mut last = String::new();
        for number in 1..=3 {
            let (_, text) = page(&place, &path, None).await;
            assert!(text.contains(&format!("Page {number} of 3")), "{path}");
            let rows = rows(&text, "rows");
            assert_ne!(rows.last(), Some(&last), "{path}");
            last = rows.last().unwrap().clone();
            seen += rows.len();
            let next = text.split("\" rel=\"next\"").next().unwrap();
            let next = next.rsplit("href=\"").next().unwrap();
            path = next.replace("&#38;", "&").replace("&amp;", "&");
        }
        assert_eq!(seen, 120, "{sort}");
    }
}

#[tokio::test]
async fn a_pasted_digest_or_id_leads_to_its_page() {
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let task = "01".repeat(16);
    let listed = place.ok("/api/witness?outcome=solved").await;
    let digest = listed["items"][0]["sha256"].as_str().unwrap().to_owned();
    assert_eq!(listed["items"][0]["title"], "task 1");
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    for (query, to) in [
        (digest.clone(), format!("/tasks/{task}")),
        (
            format!("sha256:{}", digest.to_uppercase()),
            format!("/tasks/{task}"),
        ),
        (task.clone(), format!("/tasks/{task}")),
        ("s1".to_owned(), "/sessions/s1".to_owned()),
    ] {
        let url = format!("http://{}/search?q={query}", place.address);
        let response = client.get(url).send().await.unwrap();
        let location = response.headers()["location"].to_str().unwrap();
        assert_eq!(location, to, "{query}");
    }
    // A prefix is found as well.
    let (_, text) = page(
        &place,
        &format!("/search?q={}", digest.get(..20).unwrap()),
        None,
    )
    .await;
    assert!(
        text.contains(&format!("/tasks/{task}")) && text.contains("1 found"),
        "{text}"
    );
}

#[tokio::test]
async fn the_ledger_page_checks_digests_ids_and_bundles() {
    use base64::Engine as _;
    let place = Place::with(|root| furnish(root)).await;
    place.settled().await;
    let listed = place.ok("/api/witness?outcome=solved").await;
    let digest = listed["items"][0]["sha256"].as_str().unwrap().to_owned();
    let file = listed["items"][0]["file"].as_str().unwrap();
    let folder = place.root().join(".role-os/witness");
    let bundle = std::fs::read(folder.join(file)).unwrap();
    let mut changed = bundle.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let cases = [
        (
            digest,
            "A valid bundle of this workspace, and in its ledger",
        ),
        (
            "01".repeat(16),
            "A valid bundle of this workspace, and in its ledger",
        ),
        ("ab".repeat(32), "No bundle here has this digest"),
        (base64(&bundle), "Valid, and in the ledger"),
        (base64(&changed), "Not valid"),
        (
            "what is this?".to_owned(),
            "This is neither a digest nor a bundle",
        ),
    ];
    for (pasted, wanted) in &cases {
        let (status, _, text) = submit(&place, "/ledger", None, &[("check", pasted)]).await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains(wanted), "{wanted}: {pasted}\n{text}");
    }
    // In the ledger, but not on disk.
    std::fs::remove_file(folder.join(file)).unwrap();
    let missing = "The ledger has this bundle, but its file is gone";
    for _ in 0..100 {
        let (_, _, text) = submit(&place, "/ledger", None, &[("check", &cases[0].0)]).await;
        if text.contains(missing) && text.contains("The ledger does not hold") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{missing}");
}

/// Returns every address of a page that a browser would follow.
fn addresses(text: &str) -> Vec<&str> {
    let names = [" href=\"", " action=\"", " src=\"", " data=\""];
    let parts = names.iter().flat_map(|name| text.split(name).skip(1));
    let all = parts.map(|part| part.split('"').next().unwrap());
    all.filter(|address| address.starts_with('/')).collect()
}

#[tokio::test]
async fn a_further_workspace_stays_below_its_prefix_and_shares_the_login() {
    let prepare = |root: &std::path::PathBuf| {
        seal(root, 1, Outcome::Solved);
        let other = root.join("Other One");
        std::fs::create_dir_all(other.join(".role-os")).unwrap();
        furnish(&other);
        seal(&other, 3, Outcome::Failed);
    };
    let place = Place::with_others(prepare, &["Other One"]).await;
    place.settled().await;
    let base = "/w/other-one";
    for _ in 0..200 {
        let (_, text) = page(&place, &format!("{base}/tasks"), None).await;
        if text.contains("3 bundles") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let cookie = place.log_in().await;
    for path in PAGES {
        let path = format!(
            "{base}{}",
            path.strip_prefix("/?")
                .map_or(path.to_owned(), |query| format!("?{query}"))
        );
        let path = path.strip_suffix('/').unwrap_or(&path);
        let (status, text) = page(&place, path, Some(&cookie)).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let found = addresses(&text);
        assert!(found.len() > 12, "{path}");
        for address in found {
            assert!(
                address.starts_with(base) && address != "/w/other-one/",
                "{path}: {address}"
            );
        }
        // The link to the other workspace, which the login does not tell strangers, and the stream of this one.
        let is_login = path == "/w/other-one/login";
        assert_eq!(text.contains("<a href='/'>"), !is_login, "{path}");
        assert!(text.contains(&format!("data-base=\"{base}\"")), "{path}");
        assert!(is_login || text.contains("<span>ada</span>"), "{path}");
    }
    // Both have their own data, and the addresses of the first one are unchanged.
    let (_, first) = page(&place, "/tasks", None).await;
    assert!(
        first.contains("1 bundle ") && first.contains("<a href='/w/other-one'>"),
        "{first}"
    );
    assert_eq!(place.ok("/api/witness").await["total"], 1);
    assert_eq!(place.ok(&format!("{base}/api/witness")).await["total"], 3);
    let (status, to, _) = submit(
        &place,
        &format!("{base}/oversight/approve/0123456789ab"),
        None,
        &[],
    )
    .await;
    assert_eq!(
        (status, to.as_str()),
        (
            StatusCode::SEE_OTHER,
            "/w/other-one/login?next=%2Foversight"
        )
    );
}

/// Writes a run of an agent whose first task was solved and whose second could not be.
fn proved(root: &std::path::Path) {
    let folder = root.join(".role-os/prove/20260101000000-solver-1");
    let mut facts =
        "tasks = [\"a__b-1\", \"a__b-2\"]\nattempts = 1\nharness_check = false\n".to_owned();
    for (name, value) in [
        ("run", "20260101000000-solver-1"),
        ("suite", "/suite"),
        ("suite_name", "issues <of> many"),
        ("suite_digest", ""),
        ("agent", "solve"),
        ("agent_name", "solver"),
        ("mode", "autonomous"),
        ("policy", ""),
        ("tool", ""),
        ("sandbox", "bwrap"),
        ("governance", "exec"),
        ("created", "2026-01-01T00:00:00Z"),
    ] {
        facts.push_str(&format!("{name} = \"{value}\"\n"));
    }
    put(&folder.join("run.toml"), &facts);
    for (task, outcome) in [("a__b-1", "solved"), ("a__b-2", "failed")] {
        let record = json!({
            "task": task, "attempt": 1, "digest": "d", "outcome": outcome,
            "cause": (outcome == "failed").then_some("tests"),
            "failing": [["a test <b>", "FAILED"]], "notes": [], "passed": 1, "test_ms": 1, "test_runs": 1,
            "overhead_ms": 1, "created_ns": 1, "agent": {"cost": 250_000},
        });
        let place = folder.join("trials").join(task).join("result.json");
        put(&place, &record.to_string());
    }
}

fn put(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    base::files::write_plainly(path, text.as_bytes()).unwrap();
}

#[tokio::test]
async fn runs_of_suites_have_a_curve_and_a_page_each() {
    let place = Place::with(|root| proved(root)).await;
    let cookie = place.log_in().await;
    let (status, list) = page(&place, "/prove", Some(&cookie)).await;
    assert_eq!(status, StatusCode::OK);
    for part in [
        "/prove/20260101000000-solver-1",
        "1 of 2 solved; 1 failed, 0 skipped, 0 errors",
        "not finished",
        "issues &#60;of&#62; many",
        "$0.50 per solve",
        "class=\"solves\"",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let (status, one) = page(&place, "/prove/20260101000000-solver-1", Some(&cookie)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(one.contains("FAILED a test &#60;b&#62;"), "{one}");
    for missing in ["nothing", "..%2F..%2Fx"] {
        let (status, _) = page(&place, &format!("/prove/{missing}"), Some(&cookie)).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{missing}");
    }
}
