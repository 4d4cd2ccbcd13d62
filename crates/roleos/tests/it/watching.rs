//! Monitoring of a service: webhooks to a receiver that fails first, and metrics that Prometheus' own parser reads.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::operator::get;
use crate::refusals::wants;
use crate::service::Service;
use crate::specialist;
use crate::workspace::Workspace;

const TOO_LONG: Duration = Duration::from_secs(60);
const SECRET: &str = "a secret of the receiver";

/// One delivery.
struct Delivery {
    signature: String,
    id: String,
    text: String,
}

impl Delivery {
    fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// Checks a delivery like a receiver: the signature over time and body, and the time.
    fn is_genuine(&self) -> bool {
        let (time, mac) = self.signature.split_once(",v1=").unwrap();
        let time = time.strip_prefix("t=").unwrap();
        let mut wanted = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        wanted.update(format!("{time}.{}", self.text).as_bytes());
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let is_fresh = now.abs_diff(time.parse().unwrap()) < 60;
        is_fresh && wanted.verify_slice(&hex::decode(mac).unwrap()).is_ok()
    }
}

fn read(stream: &TcpStream) -> Delivery {
    let mut reader = BufReader::new(stream);
    let (mut length, mut signature, mut id) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("x-roleos-signature", value)) => signature = value.to_owned(),
            Some(("x-roleos-delivery", value)) => id = value.to_owned(),
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).unwrap();
    Delivery {
        signature,
        id,
        text: String::from_utf8(text).unwrap(),
    }
}

/// Starts a receiver that answers 503, then hangs up, then accepts everything; returns every delivery and `true` if it
/// was accepted.
fn receiver() -> (String, Receiver<(bool, Delivery)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (told, heard) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let delivery = read(&stream);
            let answer: &[u8] = match number {
                0 => b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                1 => b"",
                _ => b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
            };
            stream.write_all(answer).unwrap();
            if told.send((number > 1, delivery)).is_err() {
                return;
            }
        }
    });
    (url, heard)
}

/// Returns a workspace with a role, one solved task, the gate on, and a webhook.
fn watched(url: &str) -> Workspace {
    let workspace = specialist::workspace("http://127.0.0.1:1");
    workspace.write(
        ".role-os/config.toml",
        format!(
            "[oversight]\ncapability_gate = true\n\
             [acceptance]\nmin_tasks = 1\nmin_evidence_coverage = 0\n\
             [[notify]]\nurl = \"{url}\"\nsecret_env = \"HOOK_SECRET\"\n"
        ),
    );
    workspace.seal_some(1);
    workspace
}

fn settled(service: &Service<'_>) {
    let since = Instant::now();
    while !get(service.address(), "/api/status", "").contains("\"complete\":true") {
        assert!(since.elapsed() < TOO_LONG);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_webhook_that_fails_first_hears_everything_once_signed_and_the_metrics_say_so() {
    let (url, heard) = receiver();
    let workspace = watched(&url);
    let service = Service::start(&workspace, &[], &[("HOOK_SECRET", SECRET)]);
    settled(&service);
    wants(&workspace, "claude", "git push origin main");
    let mut taken = Vec::new();
    let mut tried = Vec::new();
    let mut hear = |wanted: usize, taken: &mut Vec<Value>| {
        while taken.len() < wanted {
            let (is_taken, delivery) = heard.recv_timeout(TOO_LONG).unwrap();
            assert!(delivery.is_genuine(), "{}", delivery.text);
            tried.push(delivery.id.clone());
            if is_taken {
                taken.push(delivery.body());
            }
        }
    };
    hear(2, &mut taken);
    let halt = ["specialist", "halt", "Checker", "--reason", "wrong labels"];
    workspace.roleos(&halt).succeeds();
    hear(3, &mut taken);
    workspace.seal(&["--outcome", "failed"]);
    workspace.seal(&["--outcome", "failed"]);
    hear(4, &mut taken);
    // Retries are the same message: the first was tried three times.
    assert!(tried[0] == tried[1] && tried[1] == tried[2], "{tried:?}");
    let events: Vec<&str> = taken
        .iter()
        .map(|one| one["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        events,
        ["denial", "waiting_approval", "halt", "failed_acceptance"]
    );
    assert_eq!(taken[0]["data"]["actions"], json!(["git:push"]));
    let approve = taken[1]["data"]["approve"].as_str().unwrap();
    assert!(approve.starts_with("roleos approve "), "{approve}");
    assert_eq!(taken[2]["data"]["role"], "Checker");
    assert!(taken[3]["data"]["reasons"][0].is_string());
    let told = Value::from(taken).to_string();
    assert!(!told.contains("origin main"), "{told}");
    // The receiver has the last message before the sender has its answer and counts it, and the view may be read later.
    let since = Instant::now();
    let metrics = loop {
        let metrics = get(service.address(), "/metrics", "");
        let is_counted = metrics.contains("roleos_notifications_total{outcome=\"delivered\"} 4");
        if is_counted && metrics.contains("\nroleos_ledger_size 3\n") {
            break metrics;
        }
        assert!(since.elapsed() < TOO_LONG, "{metrics}");
        thread::sleep(Duration::from_millis(20));
    };
    let (_, metrics) = metrics.split_once("\r\n\r\n").unwrap();
    let samples = parsed(metrics);
    for (sample, value) in [
        ("roleos_notifications_total{outcome=delivered}", 4.0),
        ("roleos_specialist_halted{role=Checker}", 1.0),
        (
            "roleos_specialist_events_total{kind=halt,role=Checker}",
            1.0,
        ),
        (
            "roleos_oversight_decisions_total{agent=claude,verdict=deny}",
            1.0,
        ),
        ("roleos_oversight_waiting_approvals{}", 1.0),
        ("roleos_task_sealed{model=,role=}", 3.0),
        ("roleos_task_solved{model=,role=}", 1.0),
        ("roleos_ledger_size{}", 3.0),
        ("roleos_ledger_ok{}", 1.0),
        ("roleos_logs_unread_lines{}", 0.0),
        ("roleos_gateway_receipts_lost_total{}", 0.0),
        (
            concat!("roleos_build_info{version=", env!("CARGO_PKG_VERSION"), "}"),
            1.0,
        ),
    ] {
        assert_eq!(samples[sample], value, "{sample} in {samples:#}");
    }
    service.end();
}

/// Parses the text with Prometheus' own parser: every sample with its labels, sorted, and its value.
fn parsed(text: &str) -> Value {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/metrics.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_program_that_makes_no_spans_says_so() {
    let config = "[telemetry]\notlp = \"http://127.0.0.1:4318\"\n";
    let workspace = Workspace::with_config(config);
    let ran = workspace
        .roleos(&["up", "--listen", "127.0.0.1:0"])
        .exits(1);
    assert!(
        ran.stderr.contains("built with `--features otlp`"),
        "{ran:#?}"
    );
}

#[cfg(not(feature = "oidc"))]
#[test]
fn a_program_that_knows_no_providers_says_so() {
    let config = "[oidc]\nissuer = \"https://login.example\"\nclient_id = \"x\"\n";
    let workspace = Workspace::with_config(config);
    let ran = workspace
        .roleos(&["up", "--listen", "127.0.0.1:0"])
        .exits(1);
    assert!(
        ran.stderr.contains("built with `--features oidc`"),
        "{ran:#?}"
    );
}

#[test]
fn webhooks_that_cannot_work_are_named_before_anything_listens() {
    for (set, wanted) in [
        (
            "url = \"ftp://x\"",
            "`url` of `[[notify]]` 1 cannot be used",
        ),
        (
            "url = \"http://127.0.0.1:1\"\nsecret_env = \"NOT_SET_ANYWHERE\"",
            "`NOT_SET_ANYWHERE`, which `notify.secret_env` names, is not set",
        ),
        (
            "url = \"http://127.0.0.1:1\"\nevents = [\"everything\"]",
            "key `notify[0].events[0]`",
        ),
    ] {
        let workspace = Workspace::with_config(&format!("[[notify]]\n{set}\n"));
        let ran = workspace
            .roleos(&["up", "--listen", "127.0.0.1:0"])
            .exits(1);
        assert!(ran.stderr.contains(wanted), "{ran:#?}");
    }
}
