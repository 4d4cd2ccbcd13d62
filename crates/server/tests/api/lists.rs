//! Read access: lists, single entries, statistics, proofs, the stream.

use futures_util::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use witness::wire::Outcome;

use crate::place::{Place, eventually, is_error, seal};

/// Returns a journal's line for one call.
pub(crate) fn call(seq: u64, verdict: &str) -> String {
    let line = json!({
        "seq": seq, "prev": "", "time_ns": 1_767_225_600_000_000_000_u64 + seq, "agent": "claude", "calls": seq + 1,
        "kind": "call", "tool": "Bash", "input": { "command": "git push" }, "cwd": "/w", "gate": true,
        "verdict": verdict, "actions": ["git:push"], "reasons": ["it is irreversible"],
    });
    format!("{line}\n")
}

pub(crate) fn add(path: &std::path::Path, text: &str) {
    use std::io::Write as _;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[tokio::test]
async fn bundles_are_listed_filtered_and_paged() {
    let place = Place::with(|root| {
        for number in 1..8 {
            let outcome = [Outcome::Solved, Outcome::Failed][usize::from(number % 3 == 0)];
            seal(root, number, outcome);
        }
    })
    .await;
    place.settled().await;
    let all = place.ok("/api/witness").await;
    assert_eq!((&all["total"], &all["complete"]), (&json!(7), &json!(true)));
    assert_eq!(all["items"][0]["task_id"], "07".repeat(16));
    let solved = place
        .ok("/api/witness?outcome=solved&model=large&limit=2")
        .await;
    assert_eq!(solved["total"], 3);
    let next = solved["next"].as_str().unwrap();
    let rest = place
        .ok(&format!(
            "/api/witness?outcome=solved&model=large&limit=2&after={next}"
        ))
        .await;
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert_eq!(rest["next"], Value::Null);
    let week = place
        .ok("/api/witness?week=2026-W01&mode=autonomous&role=checker&verdict=valid")
        .await;
    assert_eq!(week["total"], 3);
    assert_eq!(place.ok("/api/witness?role=nobody").await["total"], 0);
}

#[tokio::test]
async fn one_bundle_is_read_from_its_file_and_checked_again() {
    let place = Place::new().await;
    let task = place.seal(5, Outcome::Solved);
    place.settled().await;
    let shown = place.ok(&format!("/api/witness/{task}")).await;
    assert_eq!(
        (&shown["verdict"], &shown["header"]["outcome_name"]),
        (&json!("valid"), &json!("solved"))
    );
    let verified = place.ok("/api/witness/0505/verify").await;
    assert_eq!(
        verified["ledger"],
        json!({ "logged": true, "index": 0, "size": 1 })
    );
    let replay = place.ok("/api/witness/0505/replay").await;
    assert_eq!(replay["contents"]["spec"], "task 5");
    // The view still reports it as valid, but the file is not.
    let file = shown["file"].as_str().unwrap();
    let path = place.root().join(".role-os/witness").join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    base::files::write(&path, &bytes, base::files::Privacy::Shared).unwrap();
    let verified = place.ok(&format!("/api/witness/{task}/verify")).await;
    assert_eq!(
        (&verified["verdict"], &verified["ledger"]["logged"]),
        (&json!("bad_signature"), &json!(false))
    );
    std::fs::remove_file(&path).unwrap();
    let (status, body) = place.get(&format!("/api/witness/{task}")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "bundle_not_found");
}

#[tokio::test]
async fn downloads_carry_the_bytes_and_a_name_of_digits() {
    let place = Place::new().await;
    let task = place.seal(5, Outcome::Solved);
    place.settled().await;
    for (format, kind, ending) in [
        ("bundle", "application/octet-stream", "rvww"),
        ("json", "application/json", "json"),
        ("in-toto", "application/json", "intoto.json"),
        ("html", "text/html; charset=utf-8", "html"),
    ] {
        let path = format!("/api/witness/0505/download?format={format}");
        let response = place.request(Method::GET, &path).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), kind);
        assert_eq!(
            header("content-disposition"),
            format!("attachment; filename=\"{task}.{ending}\"")
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        let bytes = response.bytes().await.unwrap();
        if format == "bundle" {
            let file = place.ok("/api/witness").await["items"][0]["file"].clone();
            let path = place
                .root()
                .join(".role-os/witness")
                .join(file.as_str().unwrap());
            assert_eq!(bytes, std::fs::read(path).unwrap());
        }
    }
}

#[tokio::test]
async fn scorecard_curve_and_ledger_say_what_the_bundles_say() {
    let place = Place::new().await;
    let (status, body) = place.get("/api/ledger").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "no_ledger");
    let first = place.seal(1, Outcome::Solved);
    place.seal(2, Outcome::Failed);
    place.settled().await;
    let card = place.ok("/api/scorecard?by=model").await;
    assert_eq!(
        (&card["solved"], &card["total_tasks"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(card["solve_rate_interval"]["n"], 2);
    assert!(card["solve_rate_interval"]["low"].as_f64().unwrap() > 0.0);
    assert_eq!(card["groups"].as_array().unwrap().len(), 2);
    let curve = place.ok("/api/curve?by=day&model=large").await;
    assert_eq!(curve["points"].as_array().unwrap().len(), 1);
    let ledger = place.ok("/api/ledger").await;
    assert_eq!(ledger["size"], 2);
    assert_eq!(place.ok("/api/ledger/verify").await["ok"], true);
    let proof = place.ok(&format!("/api/ledger/proof/{first}")).await;
    let proof = witness::ledger::proof::InclusionProof::parse(proof["proof"].as_str().unwrap());
    let store = evidence::store::Store::of(
        &base::workspace::Workspace::at(&place.root()).unwrap(),
        1 << 20,
    );
    let leaf = store.ledger().unwrap().unwrap().entries()[0].leaf;
    let keys = store.keys().unwrap().public_keys();
    assert_eq!(proof.unwrap().verify(&leaf, &keys).unwrap().index(), 0);
    assert!(place.ok("/api/ledger/consistency?from=1").await["proof"].is_string());
    let (status, _) = place.get("/api/ledger/consistency?from=9").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_bundle_that_is_gone_shows_everywhere() {
    let place = Place::new().await;
    place.seal(1, Outcome::Solved);
    let failed = place.seal(2, Outcome::Failed);
    place.settled().await;
    let codes = |card: &Value| -> Vec<String> {
        let reasons = card["reasons"].as_array().unwrap();
        reasons
            .iter()
            .map(|one| one["code"].as_str().unwrap().to_owned())
            .collect()
    };
    let metrics = async || {
        let response = place.request(Method::GET, "/metrics").send().await.unwrap();
        response.text().await.unwrap()
    };
    let card = place.ok("/api/scorecard").await;
    assert_eq!(codes(&card), ["tasks", "solve_rate"]);
    assert_eq!(
        (&card["accepted"], &card["tasks"]),
        (&json!(false), &json!(2))
    );
    assert_eq!(card["policy_hashes"], json!(["f9210ee4856ff1e0"]));
    assert_eq!(card["ledger"]["ok"], true);
    let text = metrics().await;
    assert!(text.contains("\nroleos_ledger_ok 1\n"), "{text}");
    assert!(text.contains("\nroleos_ledger_size 2\n"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");

    let bundle = place
        .root()
        .join(format!(".role-os/witness/2026/01/{failed}.rvww"));
    std::fs::remove_file(bundle).unwrap();
    place.settled().await;
    let card = place.ok("/api/scorecard").await;
    assert_eq!(codes(&card), ["tasks", "ledger"]);
    assert_eq!(card["ledger"]["problems"], "1 missing");
    assert_eq!(place.ok("/api/curve").await["ledger"]["ok"], false);
    let text = metrics().await;
    assert!(text.contains("\nroleos_ledger_ok 0\n"), "{text}");
    let response = place.request(Method::GET, "/").send().await.unwrap();
    let page = response.text().await.unwrap();
    assert!(page.contains("Not accepted"), "{page}");
    assert!(
        page.contains("the ledger does not hold: 1 missing"),
        "{page}"
    );
}

#[tokio::test]
async fn a_scorecard_is_over_what_is_asked_for() {
    let place = Place::new().await;
    for number in 1..5 {
        place.seal(number, Outcome::Solved);
    }
    place.settled().await;
    for (query, tasks) in [
        ("", 4),
        ("?model=large", 2),
        ("?since=2026-01-04", 2),
        ("?until=2026-01-04T00:00:00Z&model=small", 1),
        ("?suite=none", 0),
    ] {
        let card = place.ok(&format!("/api/scorecard{query}")).await;
        assert_eq!(card["tasks"], tasks, "{query}");
        let curve = place.ok(&format!("/api/curve{query}")).await;
        let points = curve["points"].as_array().unwrap();
        let sum: u64 = points
            .iter()
            .map(|one| one["tasks"].as_u64().unwrap())
            .sum();
        assert_eq!(sum, tasks, "{query}");
    }
}

#[tokio::test]
async fn verdicts_are_listed_and_new_ones_arrive_on_the_stream() {
    let place = Place::new().await;
    let journal = place.root().join(".role-os/sessions/s1.jsonl");
    add(&journal, &call(0, "allow"));
    eventually("the first verdict is listed", async || {
        place.ok("/api/decisions").await["total"] == 1
    })
    .await;
    let stream = place
        .request(Method::GET, "/api/events/stream")
        .send()
        .await
        .unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut stream = stream.bytes_stream();
    add(&journal, &call(1, "deny"));
    let mut text = String::new();
    // The event about a change may come before.
    while !text.contains("event: verdict") || !text.ends_with("\n\n") {
        let chunk = tokio::time::timeout(std::time::Duration::from_secs(30), stream.next()).await;
        text.push_str(&String::from_utf8_lossy(&chunk.unwrap().unwrap().unwrap()));
    }
    assert!(text.contains("event: verdict\ndata: {"), "{text}");
    assert!(text.contains("\"verdict\":\"deny\""), "{text}");
    let denied = place
        .ok("/api/decisions?verdict=deny&action=git:push&agent=claude&session=s1")
        .await;
    assert_eq!(
        (&denied["total"], &denied["items"][0]["text"]),
        (&json!(1), &json!("git push"))
    );
    let session = place.ok("/api/sessions/s1").await;
    assert_eq!(
        (&session["calls"], &session["denied"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(place.ok("/api/sessions").await["total"], 1);
}

#[tokio::test]
async fn a_command_is_explained_and_nothing_changes() {
    let place = Place::new().await;
    let (status, said) = place
        .post(
            "/api/explain",
            None,
            &json!({ "command": "env A=1 git push" }),
        )
        .await;
    assert_eq!(status, StatusCode::OK, "{said}");
    assert_eq!(
        (&said["verdict"], &said["actions"]),
        (&json!("deny"), &json!(["git:push"]))
    );
    assert!(!place.root().join(".role-os/approvals").exists());
    let body = json!({ "tool": "Read", "input": { "file_path": "/w/README.md" } });
    let (status, said) = place.post("/api/explain", None, &body).await;
    assert_eq!(
        (status, &said["verdict"]),
        (StatusCode::OK, &json!("allow"))
    );
}

#[tokio::test]
async fn runs_are_listed_by_contest_and_added_up() {
    let place = Place::new().await;
    let line = |model: &str, result: &str, reward: f64| {
        let record = json!({
            "timestamp": "2026-01-01T00:00:00Z", "prompt_hash": "0".repeat(64), "model_id": model,
            "metric_version": "metric_v1", "verifier_result": result, "q0": u8::from(result == "PASS"), "cost": 0.1,
            "refusal_penalty": 0.0, "reward": reward, "winner_model_id": "a", "run_id": "r 1/x", "role": "checker",
        });
        format!("{record}\n")
    };
    let log = place.root().join(".role-os/run_log.jsonl");
    add(&log, &(line("a", "PASS", 0.9) + &line("b", "FAIL", -0.1)));
    place.settled().await;
    assert_eq!(place.ok("/api/runs?won=true").await["total"], 1);
    let contest = place.ok("/api/runs/r%201%2Fx").await;
    assert_eq!(contest["candidates"][0]["record"]["model_id"], "a");
    assert_eq!(contest["candidates"].as_array().unwrap().len(), 2);
    let stats = place.ok("/api/runs/stats").await;
    assert_eq!(stats["models"][0]["pass"]["n"], 1);
    let (status, body) = place.get("/api/runs/none").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "unknown_run");
}
