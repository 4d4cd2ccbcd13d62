//! Changes through the API, their authorisation, and their effects on disk.

use std::path::Path;

use base::workspace::Workspace;
use guard::approvals::{Act, refuse};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::place::{Place, is_error};

fn version(id: &str, level: &str) -> Value {
    json!({
        "id": id, "adapter_id": format!("{id}-adapter"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
        "certified_level": level, "exam_hash": "a11ce0de".repeat(8), "field_audit_window": 200,
        "created_at": "2026-09-02T09:00:00Z",
    })
}

/// Writes one role: `v1` active, `v2` certified, `v0` not.
pub(crate) fn registry(root: &Path) {
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Note Checker", "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": 0.6,
            "active_version": "v1", "versions": [version("v0", "L0"), version("v1", "L1"), version("v2", "L2")],
        }],
    });
    write(root, ".role-os/specialists.json", &registry.to_string());
}

pub(crate) fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    base::files::write(&path, text.as_bytes(), base::files::Privacy::Shared).unwrap();
}

/// Copies the shipped catalog.
pub(crate) fn catalog(root: &Path) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    for name in [
        "index.yaml",
        "bundles/editorial/en.yaml",
        "bundles/editorial/ru.yaml",
        "bundles/research/en.yaml",
        "bundles/research/ru.yaml",
        "scripts/content-hashes.json",
    ] {
        if let Ok(text) = std::fs::read_to_string(shipped.join(name)) {
            write(root, &format!("catalog/{name}"), &text);
        }
    }
}

const ROLE: &str = "/api/specialists/Note%20Checker";

#[tokio::test]
async fn an_operator_promotes_halts_clears_and_rolls_back() {
    let place = Place::with(|root| registry(root)).await;
    let cookie = place.log_in().await;
    let change = async |what: &str, body: Value| {
        place
            .post(&format!("{ROLE}/{what}"), Some(&cookie), &body)
            .await
    };
    let (status, body) = change("promote", json!({ "version": "v2", "reason": "passed" })).await;
    assert_eq!(status, StatusCode::CONFLICT);
    is_error(&body, "not_compared");
    let forced = json!({ "version": "v2", "reason": "passed", "force": true });
    let (status, moved) = change("promote", forced).await;
    assert_eq!(
        (status, &moved["from_version"], &moved["to_version"]),
        (StatusCode::OK, &json!("v1"), &json!("v2"))
    );
    let (status, halted) = change("halt", json!({ "reason": "drifts", "operator": "bob" })).await;
    assert_eq!(
        (status, &halted["was_halted"]),
        (StatusCode::OK, &json!(false))
    );
    let shown = place.ok(ROLE).await;
    assert_eq!(
        (&shown["active_version"], &shown["halt"]["halted"]),
        (&json!("v2"), &json!(true))
    );
    let (status, cleared) = change("clear-halt", json!({ "reason": "looked at it" })).await;
    assert_eq!(
        (status, &cleared["cleared"]),
        (StatusCode::OK, &json!(true))
    );
    let (status, _) = change("rollback", json!({ "version": "v1", "reason": "slow" })).await;
    assert_eq!(status, StatusCode::OK);
    let (status, body) = change("promote", json!({ "version": "v0", "reason": "hope" })).await;
    assert_eq!(status, StatusCode::CONFLICT);
    is_error(&body, "uncertified");
    let (status, body) = change("promote", json!({ "version": "v9", "reason": "hope" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "unknown_version");
    // Without an audit, nothing is earned or raised; the attempt is recorded.
    let (status, body) = change("certify", json!({ "version": "v0", "reason": "try" })).await;
    assert_eq!(
        (status, &body["raised"], &body["earned"]),
        (StatusCode::OK, &json!(false), &json!("L0")),
        "{body}"
    );
    place.settled().await;
    let events = place.ok(&format!("{ROLE}/events")).await;
    let items = events["items"].as_array().unwrap();
    let mut kinds: Vec<_> = items
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    // A clearing is recorded in both logs.
    assert_eq!(
        kinds,
        [
            "certification-attempt",
            "clear-halt",
            "clear-halt",
            "halt",
            "promote",
            "rollback"
        ]
    );
    let halt = items.iter().find(|one| one["kind"] == "halt").unwrap();
    assert_eq!(halt["data"]["operator"], "bob");
    assert!(items.iter().any(|one| one["data"]["operator"] == "ada"));
}

#[tokio::test]
async fn a_version_is_registered_or_nothing_is_changed() {
    let place = Place::with(|root| registry(root)).await;
    let cookie = place.log_in().await;
    let path = place.root().join(".role-os/specialists.json");
    let before = std::fs::read(&path).unwrap();
    let bad = [
        (
            json!({ "version": version("v1", "L0") }),
            StatusCode::CONFLICT,
            "duplicate_version",
        ),
        (
            json!({ "version": { "adapter_id": "x" } }),
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_version",
        ),
        (
            json!({ "version": 7 }),
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_version",
        ),
    ];
    for (body, status, code) in bad {
        let answer = place
            .post(&format!("{ROLE}/register"), Some(&cookie), &body)
            .await;
        assert_eq!(answer.0, status, "{}", answer.1);
        is_error(&answer.1, code);
    }
    let claude =
        json!({ "version": { "id": "c", "adapter_id": "x", "base_model": "claude-opus" } });
    let (status, body) = place
        .post(&format!("{ROLE}/register"), Some(&cookie), &claude)
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    is_error(&body, "registry_invalid");
    let (status, body) = place
        .post(
            "/api/specialists/New/register",
            Some(&cookie),
            &json!({ "version": version("a", "L0") }),
        )
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    is_error(&body, "no_backend");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let body = json!({ "version": version("a", "L0"), "backend_url": "http://127.0.0.1:1", "workload_quota": 0.2 });
    let (status, body) = place
        .post("/api/specialists/New/register", Some(&cookie), &body)
        .await;
    assert_eq!(
        (status, &body["certified_level"]),
        (StatusCode::OK, &json!("L0"))
    );
    assert_eq!(
        place.ok("/api/specialists").await["roles"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn roles_are_browsed_imported_and_updated() {
    let place = Place::with(|root| catalog(root)).await;
    let cookie = place.log_in().await;
    let listed = place.ok("/api/catalog?lang=ru").await;
    assert_eq!(listed["bundles"][0]["id"], "editorial");
    let card = place.ok("/api/catalog/roles/proofreader?lang=ru").await;
    assert_eq!(card["language"], "ru");
    let body = json!({ "bundle": "editorial", "language": "en", "slugs": ["proofreader"], "conflict": "skip" });
    let (status, done) = place
        .post("/api/catalog/import", Some(&cookie), &body)
        .await;
    assert_eq!(
        (status, &done["created"]),
        (StatusCode::OK, &json!(1)),
        "{done}"
    );
    assert!(
        place
            .root()
            .join(".role-os/roles/proofreader.en.yaml")
            .is_file()
    );
    assert_eq!(place.ok("/api/catalog/installed").await[0]["edited"], false);
    let (status, done) = place
        .post("/api/catalog/update", Some(&cookie), &json!({}))
        .await;
    assert_eq!(
        (status, &done[0]["updated"]),
        (StatusCode::OK, &json!(false)),
        "{done}"
    );
    let (status, body) = place
        .post(
            "/api/catalog/update",
            Some(&cookie),
            &json!({ "slug": "none" }),
        )
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "not_installed");
}

/// Records a refused act; returns its id.
pub(crate) fn refused(root: &Path) -> String {
    let workspace = Workspace::at(root).unwrap();
    let act = Act {
        tool: "Bash".to_owned(),
        command: "git push".to_owned(),
        facts: Vec::new(),
        actions: vec!["git:push".to_owned()],
        directory: "/w".to_owned(),
        repositories: Vec::new(),
    };
    let reasons = ["it is irreversible".to_owned()];
    let now = base::clock::now_ns();
    refuse(&workspace, &act, &reasons, now).unwrap().to_string()
}

#[tokio::test]
async fn a_yes_is_listed_with_its_time_and_taken_back_by_who_may() {
    let place = Place::new().await;
    let id = refused(&place.root());
    let (approve, dismiss) = (
        format!("/api/approvals/{id}"),
        format!("/api/approvals/{id}/dismiss"),
    );
    let (status, body) = place.post(&dismiss, None, &json!({})).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    is_error(&body, "login_needed");
    let cookie = place.log_in().await;
    let (status, _) = place.post(&approve, Some(&cookie), &json!({})).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(place.ok("/api/approvals").await, json!([]));
    let given = place.ok("/api/approvals?given=true").await;
    assert_eq!(given[0]["id"], id.as_str());
    assert!(given[0]["seconds_left"].as_u64().unwrap() > 500, "{given}");
    let (status, body) = place.post(&dismiss, Some(&cookie), &json!({})).await;
    assert_eq!((status, &body["dismissed"]), (StatusCode::OK, &json!(true)));
    assert_eq!(place.ok("/api/approvals?given=true").await, json!([]));
    let (status, body) = place.post(&dismiss, Some(&cookie), &json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "unknown_act");
}

#[tokio::test]
async fn a_refused_act_is_approved_once_by_who_may() {
    let place = Place::new().await;
    let id = refused(&place.root());
    let path = format!("/api/approvals/{id}");
    assert_eq!(place.ok("/api/approvals").await[0]["id"], id.as_str());
    assert_eq!(place.ok(&path).await["current"], true);
    let (status, body) = place.post(&path, None, &json!({})).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    is_error(&body, "login_needed");
    let signed = place
        .root()
        .join(format!(".role-os/approvals/{id}.approval"));
    assert!(!signed.exists());
    let cookie = place.log_in().await;
    let (status, body) = place.post(&path, Some(&cookie), &json!({})).await;
    assert_eq!(
        (status, &body["approved"]),
        (StatusCode::OK, &json!(true)),
        "{body}"
    );
    assert!(signed.exists());
    let (status, body) = place
        .post("/api/approvals/0123456789ab", Some(&cookie), &json!({}))
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&body, "unknown_act");
}

#[tokio::test]
async fn a_key_with_a_passphrase_signs_nothing_without_it() {
    let place = Place::with(|root| {
        let workspace = Workspace::at(root).unwrap();
        base::approval_key::replace(&workspace, None, Some("correct horse")).unwrap();
    })
    .await;
    let id = refused(&place.root());
    let path = format!("/api/approvals/{id}");
    let cookie = place.log_in().await;
    let signed = place
        .root()
        .join(format!(".role-os/approvals/{id}.approval"));
    for (body, code) in [
        (json!({}), "passphrase_needed"),
        (json!({ "passphrase": "wrong" }), "wrong_passphrase"),
    ] {
        let (status, answer) = place.post(&path, Some(&cookie), &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        is_error(&answer, code);
        let grant = json!({ "action": "git:push", "passphrase": body["passphrase"] });
        let (status, answer) = place.post("/api/grants", Some(&cookie), &grant).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        is_error(&answer, code);
    }
    assert!(!signed.exists());
    assert_eq!(place.ok("/api/grants").await, json!([]));
    let right = json!({ "passphrase": "correct horse" });
    let (status, answer) = place.post(&path, Some(&cookie), &right).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(signed.exists());
}

#[tokio::test]
async fn a_grant_is_written_within_its_limits_and_taken_back() {
    let place = Place::new().await;
    let cookie = place.log_in().await;
    let bad = [
        (json!({ "action": "git:fly" }), "unknown_action"),
        (json!({ "action": "git:push", "uses": 0 }), "bad_uses"),
        (json!({ "action": "git:push", "seconds": 0 }), "bad_time"),
        (
            json!({ "action": "git:push", "until": "2020-01-01T00:00:00Z" }),
            "bad_time",
        ),
        (json!({ "action": "git:push", "until": "soon" }), "bad_time"),
        (
            json!({ "action": "git:push", "enforce": true }),
            "bad_scope",
        ),
    ];
    for (body, code) in bad {
        let (status, answer) = place.post("/api/grants", Some(&cookie), &body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
        is_error(&answer, code);
    }
    assert_eq!(place.ok("/api/grants").await, json!([]));
    let body = json!({ "action": "git:push", "seconds": 60, "uses": 2, "scope": "origin main", "enforce": true });
    let (status, answer) = place.post("/api/grants", Some(&cookie), &body).await;
    assert_eq!(
        (status, &answer["replaced"]),
        (StatusCode::OK, &json!(false)),
        "{answer}"
    );
    let granted = place.ok("/api/grants").await;
    assert_eq!(
        (&granted[0]["granted"], &granted[0]["uses"]),
        (&json!(true), &json!(2))
    );
    let (status, _) = place
        .post("/api/grants/git:push/revoke", Some(&cookie), &json!({}))
        .await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(place.ok("/api/grants").await, json!([]));
    let (status, answer) = place
        .post("/api/grants/git:push/revoke", Some(&cookie), &json!({}))
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    is_error(&answer, "not_granted");
}
