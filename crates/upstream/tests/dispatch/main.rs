//! Backends and the general model against real servers on loopback: requests, valid answers, and costs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and writes files without ceremony"
)]

mod adapter;
mod again;
mod contest;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adapter::{Adapter, Reply, json as reply};
use base::chance::Chance;
use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use routing::specialists::{Asked, Named, Paths, Settings, Specialists};
use serde_json::{Value, json};
use specialist::classifier::Embedding;
use upstream::backend::{Backends, Limits, warning};
use upstream::blocking;
use upstream::dispatch::{Answer, Dispatcher};
use upstream::fallback::{Fallback, FallbackError, Prompt};

const ROLE: &str = "Checker";

/// A workspace whose one adapter is served at `url`, with these settings.
struct Place {
    folder: tempfile::TempDir,
    config: Config,
}

impl Place {
    fn new(url: &str, extra: Value, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut registry = json!({
            "schema": "roleos-specialist-registry/v1",
            "specialists": [{
                "role": ROLE, "backend_url": url, "fallback": "claude", "workload_quota": 1, "active_version": "v1",
                "versions": [{
                    "id": "v1", "adapter_id": "pin", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                    "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
                    "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
                }],
            }],
        });
        for (key, value) in extra.as_object().unwrap() {
            registry["specialists"][0][key] = value.clone();
        }
        std::fs::create_dir(folder.path().join(".role-os")).unwrap();
        std::fs::write(
            folder.path().join(".role-os/specialists.json"),
            registry.to_string(),
        )
        .unwrap();
        let config = Config::parse(Path::new("config.toml"), config).unwrap();
        Self { folder, config }
    }

    fn open(&self) -> Specialists {
        let workspace = Workspace::at(self.folder.path()).unwrap();
        let environment = Environment::default();
        let paths = Paths::find(&workspace, &environment, &Named::default());
        Specialists::new(paths, Settings::load(&self.config, &environment).unwrap())
    }

    fn backends(&self) -> Backends {
        Backends::new(Limits::from(&self.config.specialist))
    }

    fn fallback(&self) -> Option<Fallback> {
        Fallback::new(&self.config.fallback.claude, self.folder.path())
    }
}

fn input() -> Value {
    json!({ "embedding": [1.0, 0.0], "claim": "x" })
}

/// Executes one dispatch with fresh state.
fn dispatch(place: &Place) -> Answer {
    let (specialists, backends, fallback) = (place.open(), place.backends(), place.fallback());
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
    blocking::run(once(&dispatcher)).unwrap()
}

async fn once(dispatcher: &Dispatcher<'_>) -> Answer {
    ask_with(dispatcher, input()).await
}

async fn ask_with(dispatcher: &Dispatcher<'_>, input: Value) -> Answer {
    let asked = Asked {
        role: ROLE,
        input: &input,
        trace_id: "t-1",
        now: "2026-09-03T10:00:00Z",
    };
    dispatcher.dispatch(asked, None).await
}

/// Returns the error of the adapter's call, or `ok`.
fn called(answer: &Answer) -> String {
    match answer.receipt.call.as_ref().unwrap() {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.error.clone(),
    }
}

fn good() -> Value {
    json!({ "verdict": { "label": "supported" }, "score": 0.83, "adapter_id": "pin", "base_model": "Qwen/Qwen3-8B" })
}

/// A program as the general model.
const ECHO: &str =
    "[fallback.claude]\nkind = \"command\"\ncommand = [\"echo\", \"\\\"general\\\"\"]\n";

#[test]
fn served_by_the_adapter_with_exactly_this_request() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&format!("{}///", adapter.url), json!({}), ECHO);
    let answer = dispatch(&place);
    assert_eq!(answer.result.unwrap(), json!({ "label": "supported" }));
    let seen = adapter.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].line, "POST /verify HTTP/1.1");
    assert_eq!(
        seen[0].body.to_string(),
        "{\"adapter_id\":\"pin\",\"role\":\"Checker\",\"input\":{\"embedding\":[1.0,0.0],\"claim\":\"x\"},\"trace_id\":\"t-1\"}"
    );
    let headers = seen[0].headers.to_lowercase();
    assert!(headers.contains("content-type: application/json"));
    assert!(!headers.contains("authorization"));
    assert_eq!(answer.receipt.to_json()["source"], "specialist");
}

/// Returns a general model that counts its calls.
fn counted(answer: &'static str) -> (Adapter, String) {
    let general =
        Adapter::new(move |_| reply(&json!({ "choices": [{ "message": { "content": answer } }] })));
    let config = format!(
        "[fallback.claude]\nkind = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\n",
        general.url
    );
    (general, config)
}

#[test]
fn each_side_is_asked_only_when_it_is_its_turn() {
    let adapter = Adapter::new(|_| reply(&good()));
    let (general, config) = counted("general");
    let never = format!("[specialist]\nshadow_every = 1000000\n{config}");
    let place = Place::new(&adapter.url, json!({}), &never);
    let with = |input: Value| {
        let (specialists, backends, fallback) = (place.open(), place.backends(), place.fallback());
        let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
        blocking::run(ask_with(&dispatcher, input)).unwrap()
    };
    let asked = || (adapter.seen().len(), general.seen().len());
    assert_eq!(with(input()).receipt.decision.reason.name(), "ok");
    assert_eq!(asked(), (1, 0));
    let low = with(json!({ "embedding": [0.45, 0.893] }));
    let decision = &low.receipt.decision;
    assert_eq!(decision.reason.name(), "score_below_threshold");
    assert!((decision.score - 0.725).abs() < 1e-3, "{decision:?}");
    assert_eq!(low.result.unwrap(), "general");
    assert_eq!(asked(), (1, 1));
    assert_eq!(with(json!("text")).receipt.decision.reason.name(), "ood");
    assert_eq!(asked(), (1, 2));
}

#[test]
fn answers_are_probed_as_they_are_drawn_and_what_differs_disagrees() {
    let adapter = Adapter::new(|_| reply(&good()));
    let (general, config) = counted("general");
    let one_in_three = format!("[specialist]\nshadow_every = 3\n{config}");
    let place = Place::new(&adapter.url, json!({}), &one_in_three);
    // One of every three, here the first; nothing is drawn for the other two.
    let draws = Mutex::new(vec![9, 6]);
    let chance = Chance::new(move || draws.lock().unwrap().pop().unwrap());
    let (specialists, backends, fallback) = (
        place.open().with_chance(chance),
        place.backends(),
        place.fallback(),
    );
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
    let shadows = blocking::run(async {
        let mut shadows = Vec::new();
        for _ in 0..4 {
            shadows.push(once(&dispatcher).await.receipt.to_json()["shadow"].clone());
        }
        shadows
    });
    let shadows = shadows.unwrap();
    let counted = |counter: u64| json!({ "fired": false, "counter": counter });
    assert_eq!((&shadows[1], &shadows[2]), (&counted(1), &counted(2)));
    assert_eq!(
        (&shadows[0]["fired"], &shadows[3]["fired"]),
        (&json!(true), &json!(true))
    );
    let log = std::fs::read_to_string(&place.open().paths().probes).unwrap();
    let probes: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((probes.len(), general.seen().len()), (2, 2));
    for probe in probes {
        assert_eq!(probe["kind"], "shadow-probe");
        assert_eq!(probe["data"]["agreed"], false);
        assert_eq!(probe["data"]["version"], "v1");
        assert_eq!(probe["data"]["claude_summary"], "general");
    }
}

#[test]
fn five_disagreements_of_five_halt_once_by_the_window_rule() {
    let adapter = Adapter::new(|_| reply(&good()));
    let settings = "[specialist]\nshadow_every = 1\nshadow_window = 5\nshadow_tau = 0.4\nhalt_rule = \"window\"\n";
    let place = Place::new(&adapter.url, json!({}), &format!("{settings}{ECHO}"));
    let triggered: Vec<bool> = (0..5)
        .map(|_| dispatch(&place).receipt.to_json()["shadow"]["halt_triggered"] == true)
        .collect();
    assert_eq!(triggered, [false, false, false, false, true]);
    let events = place.open().events().unwrap().events;
    let halts: Vec<_> = events.iter().filter(|event| event.kind == "halt").collect();
    assert_eq!(halts.len(), 1);
    assert_eq!(
        (&halts[0].data["probes"], &halts[0].data["agreed"]),
        (&json!(5), &json!(0))
    );
    assert!(place.open().state().unwrap().halt(ROLE).is_some());
    let reason = dispatch(&place).receipt.decision.reason.name();
    assert_eq!(reason, "shadow_probe_halt");
    assert_eq!(adapter.seen().len(), 5, "a halted adapter is not asked");
}

#[test]
fn what_cannot_be_counted_is_not_served_and_what_cannot_be_logged_is() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&adapter.url, json!({}), ECHO);
    let in_the_way = |name: &str| {
        let path = place.folder.path().join(".role-os").join(name);
        std::fs::remove_file(&path).ok();
        std::fs::create_dir_all(path.join("full")).unwrap();
        path
    };
    let field_log = in_the_way("specialist-field-log.jsonl");
    let unlogged = dispatch(&place);
    assert_eq!(unlogged.result.unwrap(), good()["verdict"]);
    assert!(unlogged.not_logged.is_some());
    std::fs::remove_dir_all(field_log).unwrap();
    // The state is written under this name first.
    let state = in_the_way("specialist-state.json.new");
    let uncounted = dispatch(&place);
    assert_eq!(uncounted.result.unwrap(), "general");
    let receipt = uncounted.receipt.to_json();
    assert_eq!(receipt["decision"]["reason"], "state_unreadable");
    let told = receipt["persist_error"].as_str().unwrap();
    assert!(told.starts_with("STATE_PERSIST_ERROR: "), "{told}");
    assert_eq!(adapter.seen().len(), 1);
    std::fs::remove_dir_all(state).unwrap();
    assert_eq!(dispatch(&place).receipt.decision.reason.name(), "ok");
}

#[test]
fn every_kind_of_trouble_goes_to_the_general_model_under_its_name() {
    let with = |key: &str, value: Value| {
        let mut answer = good();
        answer[key] = value;
        reply(&answer)
    };
    let elsewhere = Adapter::new(|_| reply(&good()));
    let there: &'static str =
        Box::leak(format!("location: {}/verify\r\n", elsewhere.url).into_boxed_str());
    let long = Duration::from_secs(20);
    for (answer, expected) in [
        (Reply::Http(500, "", "oh".into()), "http_500"),
        (Reply::Http(307, there, String::new()), "http_307"),
        (Reply::Silence(long), "timeout"),
        (Reply::Stall(long), "malformed_response"),
        (with("adapter_id", json!("other")), "adapter_id_mismatch"),
        (
            with("base_model", json!("other/base")),
            "base_model_mismatch",
        ),
        (Reply::Http(200, "", "<html>".into()), "malformed_response"),
        (
            Reply::Http(200, "", "{\"adapter_id\":\"pin\"}".into()),
            "missing_verdict",
        ),
        (
            Reply::Http(
                200,
                "",
                format!("{{\"verdict\":\"{}\"}}", "x".repeat(2 << 20)),
            ),
            "malformed_response",
        ),
    ] {
        let adapter = Adapter::new(move |_| answer.clone());
        let place = Place::new(&adapter.url, json!({ "timeout_ms": 700 }), ECHO);
        let answer = dispatch(&place);
        assert_eq!(called(&answer), expected);
        assert_eq!(answer.result.unwrap(), "general");
        let receipt = answer.receipt.to_json();
        assert_eq!(
            (&receipt["route"], &receipt["source"]),
            (&json!("specialist"), &json!("claude"))
        );
        assert!(receipt.get("shadow").is_none());
    }
    assert_eq!(elsewhere.seen().len(), 0, "a redirect is not followed");
}

#[test]
fn a_closed_port_and_a_strange_address_are_no_backend() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let answer = dispatch(&Place::new(&closed, json!({}), ECHO));
    assert!(
        called(&answer).to_lowercase().contains("refused"),
        "{}",
        called(&answer)
    );
    assert_eq!(answer.result.unwrap(), "general");
    for url in ["file:///etc/passwd", "ftp://h", "not a url"] {
        let answer = dispatch(&Place::new(url, json!({}), ECHO));
        let reason = answer.receipt.decision.reason.name();
        assert_eq!(reason, "no_registry_entry", "{url}");
    }
    let answer = dispatch(&Place::new(
        &closed,
        json!({ "auth_env": "ROLEOS_TEST_NO_SUCH_TOKEN" }),
        ECHO,
    ));
    assert_eq!(called(&answer), "missing_auth");
}

#[test]
fn a_bearer_token_comes_from_its_variable() {
    let adapter = Adapter::new(|_| reply(&good()));
    let answer = dispatch(&Place::new(
        &adapter.url,
        json!({ "auth_env": "PATH" }),
        ECHO,
    ));
    assert_eq!(called(&answer), "ok");
    assert!(
        adapter.seen()[0]
            .headers
            .to_lowercase()
            .contains("authorization: bearer /")
    );
}

#[test]
fn an_openai_backend_is_asked_for_the_adapter_as_its_model() {
    let adapter = Adapter::new(|request| {
        reply(
            &json!({ "model": request.body["model"], "choices": [{ "message": { "content": "{\"label\":1}" } }] }),
        )
    });
    let answer = dispatch(&Place::new(
        &adapter.url,
        json!({ "contract": "openai" }),
        ECHO,
    ));
    assert_eq!(answer.result.unwrap(), json!({ "label": 1 }));
    assert_eq!(adapter.seen()[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(adapter.seen()[0].body["model"], "pin");
}

#[test]
fn without_a_general_model_nothing_is_invented() {
    let answer = dispatch(&Place::new(
        "http://127.0.0.1:1",
        json!({ "active_version": null }),
        "",
    ));
    assert!(matches!(answer.result, Err(FallbackError::NotConfigured)));
    let adapter = Adapter::new(|_| reply(&good()));
    let answer = dispatch(&Place::new(&adapter.url, json!({}), ""));
    assert_eq!(
        answer.receipt.to_json()["shadow"],
        json!({ "fired": false, "skipped": "no_fallback" })
    );
}

#[test]
fn connections_are_used_again_and_only_so_many_run_at_once() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let counters = (Arc::clone(&running), Arc::clone(&most));
    let adapter = Adapter::new(move |_| {
        let now = counters.0.fetch_add(1, Ordering::SeqCst) + 1;
        counters.1.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        counters.0.fetch_sub(1, Ordering::SeqCst);
        reply(&good())
    });
    let place = Place::new(
        &adapter.url,
        json!({}),
        &format!("[specialist]\nmax_concurrent = 3\n{ECHO}"),
    );
    let (specialists, backends, fallback) = (place.open(), place.backends(), place.fallback());
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
    let answers = blocking::run(async {
        let all = (0..12).map(|_| once(&dispatcher));
        futures_util::future::join_all(all).await
    });
    assert!(answers.unwrap().iter().all(|answer| called(answer) == "ok"));
    assert_eq!(most.load(Ordering::SeqCst), 3);
    let connections = adapter
        .seen()
        .iter()
        .map(|request| request.connection)
        .max()
        .unwrap()
        + 1;
    assert!(connections <= 3, "{connections}");
}

#[test]
fn a_backend_that_does_not_answer_is_left_alone_for_a_while() {
    let place = Place::new(
        "http://127.0.0.1:1",
        json!({}),
        &format!("[specialist]\nbreaker_failures = 3\nbreaker_seconds = 1\n{ECHO}"),
    );
    let (specialists, backends, fallback) = (place.open(), place.backends(), place.fallback());
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
    let reasons = blocking::run(async {
        let mut reasons = Vec::new();
        for _ in 0..5 {
            reasons.push(once(&dispatcher).await.receipt.decision.reason.name());
        }
        tokio::time::sleep(Duration::from_millis(1100)).await;
        reasons.push(once(&dispatcher).await.receipt.decision.reason.name());
        reasons.push(once(&dispatcher).await.receipt.decision.reason.name());
        reasons
    });
    assert_eq!(
        reasons.unwrap(),
        [
            "ok",
            "ok",
            "ok",
            "circuit_open",
            "circuit_open",
            "ok",
            "circuit_open"
        ]
    );
}

/// Returns the names of the results of so many dispatches, one after the other.
fn calls(place: &Place, count: usize) -> Vec<String> {
    let (specialists, backends, fallback) = (place.open(), place.backends(), place.fallback());
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
    let named = |answer: Answer| match &answer.receipt.call {
        Some(_) => called(&answer),
        None => answer.receipt.decision.reason.name().to_owned(),
    };
    let calls = blocking::run(async {
        let mut calls = Vec::new();
        for _ in 0..count {
            calls.push(named(once(&dispatcher).await));
        }
        calls
    });
    calls.unwrap()
}

#[test]
fn another_address_answers_where_one_fails() {
    for (answer, tried) in [
        (Reply::Http(500, "", "oh".into()), 3),
        (Reply::Http(404, "", String::new()), 1),
        (Reply::Http(429, "retry-after: 60\r\n", String::new()), 1),
        (reply(&json!({ "verdict": 1, "adapter_id": "other" })), 3),
    ] {
        let bad = Adapter::new(move |_| answer.clone());
        let good = Adapter::new(|_| reply(&good()));
        let extra = json!({ "backend_urls": [good.url, bad.url] });
        let config = format!("[specialist]\nbreaker_failures = 3\n{ECHO}");
        let place = Place::new(&bad.url, extra, &config);
        assert_eq!(calls(&place, 8), ["ok"; 8]);
        assert_eq!((bad.seen().len(), good.seen().len()), (tried, 8));
    }
    // An invalid request is invalid for every address.
    let strict = Adapter::new(|_| Reply::Http(400, "", "no".into()));
    let never = Adapter::new(|_| reply(&good()));
    let place = Place::new(&strict.url, json!({ "backend_urls": [never.url] }), ECHO);
    assert_eq!(calls(&place, 1), ["http_400"]);
    assert_eq!(never.seen().len(), 0);
}

#[test]
fn a_version_has_addresses_of_its_own() {
    let roles = Adapter::new(|_| reply(&good()));
    let own = Adapter::new(|_| reply(&good()));
    let closed = "http://127.0.0.1:1";
    let place = Place::new(&roles.url, json!({}), ECHO);
    let path = place.folder.path().join(".role-os/specialists.json");
    let mut registry: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    registry["specialists"][0]["versions"][0]["backend_urls"] = json!([closed, own.url]);
    std::fs::write(&path, registry.to_string()).unwrap();
    assert_eq!(calls(&place, 4), ["ok"; 4]);
    assert_eq!((roles.seen().len(), own.seen().len()), (0, 4));
    registry["specialists"][0]["versions"][0]["backend_urls"] = json!([1]);
    std::fs::write(&path, registry.to_string()).unwrap();
    let registry = place.open().registry().unwrap();
    let problem = registry.problems()[0].to_string();
    assert!(problem.contains("backend_urls must be"), "{problem}");
}

#[test]
fn errors_of_a_server_open_the_circuit_as_silence_does() {
    for status in [500, 503] {
        let adapter = Adapter::new(move |_| Reply::Http(status, "", String::new()));
        let config = format!("[specialist]\nbreaker_failures = 2\n{ECHO}");
        let place = Place::new(&adapter.url, json!({}), &config);
        let error = format!("http_{status}");
        assert_eq!(
            calls(&place, 4),
            [&error, &error, "circuit_open", "circuit_open"]
        );
    }
    let busy = Adapter::new(|_| Reply::Http(503, "retry-after: 60\r\n", String::new()));
    let place = Place::new(&busy.url, json!({}), ECHO);
    assert_eq!(calls(&place, 2), ["http_503", "circuit_open"]);
}

#[test]
fn a_disagreeing_adapter_is_halted_under_sixteen_at_once_and_resumes_after_clearing() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(
        &adapter.url,
        json!({}),
        &format!("[specialist]\nshadow_every = 1\n{ECHO}"),
    );
    let halts = || {
        place
            .open()
            .events()
            .unwrap()
            .events
            .iter()
            .filter(|event| event.kind == "halt")
            .count()
    };
    let crowd = || {
        let (specialists, backends, fallback) = (place.open(), place.backends(), place.fallback());
        let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
        let answers = blocking::run(async {
            let all = (0..16).map(|_| once(&dispatcher));
            futures_util::future::join_all(all).await
        });
        assert!(answers.unwrap().iter().all(|answer| answer.result.is_ok()));
    };
    crowd();
    assert_eq!(halts(), 1, "sixteen at once halt once");
    assert_eq!(
        dispatch(&place).receipt.decision.reason.name(),
        "shadow_probe_halt"
    );
    crowd();
    assert_eq!(halts(), 1);
    let operator = routing::specialists::Operator {
        name: "ana",
        reason: "",
        now: "2026-09-03T10:00:00Z",
    };
    let cleared = place.open().clear_halt(ROLE, None, operator).unwrap();
    assert_eq!(cleared.lifted.len(), 1);
    let first = dispatch(&place);
    assert_eq!(first.receipt.decision.reason.name(), "ok");
    let shadow = &first.receipt.to_json()["shadow"];
    assert_eq!(
        (&shadow["probes"], &shadow["halt_triggered"]),
        (&json!(1), &json!(false)),
        "the guard is fresh"
    );
}

fn ask(config: &str, folder: &Path) -> Result<Value, FallbackError> {
    let config = Config::parse(Path::new("config.toml"), config).unwrap();
    let fallback = Fallback::new(&config.fallback.claude, folder).unwrap();
    let input = json!("hello");
    let prompt = Prompt {
        role: ROLE,
        instructions: Some("check"),
        input: &input,
        trace_id: "t",
        beside: None,
    };
    let said = blocking::run(fallback.ask(prompt)).unwrap();
    said.map(|said| said.verdict)
}

#[test]
fn anthropic_and_openai_are_spoken_as_they_are_documented() {
    let folder = tempfile::tempdir().unwrap();
    let anthropic = Adapter::new(|_| {
        reply(
            &json!({ "content": [{ "type": "text", "text": "{\"a\":" }, { "type": "text", "text": "1}" }], "usage": { "input_tokens": 1, "output_tokens": 1 } }),
        )
    });
    let config = format!(
        "[fallback.claude]\nkind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"PATH\"\nbase_url = \"{}\"",
        anthropic.url
    );
    assert_eq!(ask(&config, folder.path()).unwrap(), json!({ "a": 1 }));
    let seen = &anthropic.seen()[0];
    assert_eq!(seen.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(
        seen.body,
        json!({ "model": "m", "max_tokens": 4096, "system": "check", "messages": [{ "role": "user", "content": "hello" }] })
    );
    let headers = seen.headers.to_lowercase();
    assert!(headers.contains("x-api-key: /") && headers.contains("anthropic-version: 2023-06-01"));

    let openai =
        Adapter::new(|_| reply(&json!({ "choices": [{ "message": { "content": "plain" } }] })));
    let config = format!(
        "[fallback.claude]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"{}/v1/\"",
        openai.url
    );
    assert_eq!(ask(&config, folder.path()).unwrap(), "plain");
    assert_eq!(openai.seen()[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(
        openai.seen()[0].body["messages"][0],
        json!({ "role": "system", "content": "check" })
    );
}

#[test]
fn too_many_and_broken_are_tried_again_as_long_as_the_server_asks() {
    let folder = tempfile::tempdir().unwrap();
    let answers = Mutex::new(vec![
        json_text("done"),
        Reply::Http(503, "retry-after: 1\r\n", String::new()),
        Reply::Http(429, "retry-after: 0\r\n", String::new()),
    ]);
    let server = Adapter::new(move |_| answers.lock().unwrap().pop().unwrap());
    let config = |retries: u32| {
        format!(
            "[fallback.claude]\nkind = \"openai\"\nmodel = \"m\"\nretries = {retries}\nbase_url = \"{}\"",
            server.url
        )
    };
    let started = Instant::now();
    assert_eq!(ask(&config(2), folder.path()).unwrap(), "done");
    assert!(started.elapsed() >= Duration::from_secs(1));
    let refuses = Adapter::new(|_| Reply::Http(401, "", String::new()));
    let config = format!(
        "[fallback.claude]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"{}\"",
        refuses.url
    );
    assert!(
        ask(&config, folder.path())
            .unwrap_err()
            .to_string()
            .contains("http_401")
    );
    assert_eq!(
        refuses.seen().len(),
        1,
        "what cannot get better is not tried again"
    );
}

fn json_text(text: &str) -> Reply {
    reply(
        &json!({ "choices": [{ "message": { "content": text } }], "usage": { "prompt_tokens": 10, "completion_tokens": 10 } }),
    )
}

#[test]
fn the_days_cap_is_kept_before_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let server = Adapter::new(|_| json_text("x"));
    let config = format!(
        "[fallback.claude]\nkind = \"openai\"\nmodel = \"m\"\nmax_tokens = 100\nbase_url = \"{}\"\ndaily_cap_usd = 0.001\n\
         usd_per_million_input = 1.0\nusd_per_million_output = 5.0",
        server.url
    );
    // A call is reserved with at most 100 output tokens and its bytes, and settled at 60 millionths.
    let paid = (0..30)
        .filter(|_| ask(&config, folder.path()).is_ok())
        .count();
    assert!((5..=16).contains(&paid), "{paid}");
    assert_eq!(server.seen().len(), paid, "what is not covered is not sent");
    let error = ask(&config, folder.path()).unwrap_err();
    assert!(
        error.is_retryable() && error.to_string().contains("spending cap"),
        "{error}"
    );
}

#[test]
fn settings_that_do_not_fit_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (config, expected) in [
        ("kind = \"command\"", "names no program"),
        ("kind = \"openai\"", "`model` is empty"),
        (
            "kind = \"openai\"\nmodel = \"m\"\nbase_url = \"ftp://x\"",
            "`base_url`",
        ),
        (
            "kind = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\napi_key_env = \"ROLEOS_TEST_NO_SUCH_KEY\"",
            "ROLEOS_TEST_NO_SUCH_KEY",
        ),
        ("kind = \"command\"\ncommand = [\"false\"]", "failed"),
        (
            "kind = \"command\"\ncommand = [\"true\"]",
            "printed nothing",
        ),
    ] {
        let error = ask(&format!("[fallback.claude]\n{config}"), folder.path()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn plain_http_to_another_machine_is_warned_about() {
    for (url, warns) in [
        ("http://127.0.0.1:8000", false),
        ("http://localhost", false),
        ("http://[::1]:1", false),
        ("https://host.example", false),
        ("http://host.example", true),
        ("http://10.0.0.7:8000", true),
        ("http://localhost.evil.example", true),
        ("ftp://x", true),
    ] {
        assert_eq!(warning(url).is_some(), warns, "{url}");
    }
}
