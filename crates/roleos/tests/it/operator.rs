//! The operator's login at the terminal of `roleos up`, and the view in the API.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::workspace::Workspace;

/// Sends one request with a JSON body and returns the whole answer.
pub(crate) fn post(address: &str, path: &str, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    exchange(address, &request)
}

/// Does the same without a body.
pub(crate) fn get(address: &str, path: &str, headers: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}\r\n");
    exchange(address, &request)
}

fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_code_stands_on_the_terminal_and_nowhere_else() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::roleos(&workspace, &["up", "--listen", "127.0.0.1:0"]);
    terminal.expects("login code: ");
    terminal.expects("(works once)");
    let seen = terminal.seen().to_owned();
    let code = seen.split("login code: ").nth(1).unwrap();
    let code = code.split(' ').next().unwrap();
    let told = workspace.path(".role-os/up.json");
    while !told.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let told: Value = serde_json::from_slice(&fs::read(told).unwrap()).unwrap();
    let address = told["address"].as_str().unwrap();
    let halt = json!({ "reason": "r" });
    let refused = post(address, "/api/specialists/x/halt", "", &halt);
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    let granted = post(address, "/api/login", "", &json!({ "code": code }));
    assert!(granted.starts_with("HTTP/1.1 200 "), "{granted}");
    let cookie = granted.split("roleos_session=").nth(1).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let cookie = format!("cookie: roleos_session={cookie}\r\n");
    let unknown = post(address, "/api/specialists/x/halt", &cookie, &halt);
    assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
    // The next code is shown immediately.
    terminal.expects("login code: ");
    let pid = i32::try_from(told["pid"].as_u64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    let ended = terminal.ends().exits(0);
    assert!(!ended.stdout.contains(code), "{ended:#?}");
}

#[test]
fn reindex_reads_everything_again_and_says_how_much() {
    let workspace = Workspace::new();
    workspace.write(
        ".role-os/specialist-events.jsonl",
        "{\"kind\":\"halt\",\"role\":\"x\",\"ts\":\"2026-01-01T00:00:00Z\",\"data\":{}}\n",
    );
    let text = workspace.roleos(&["reindex"]).succeeds();
    assert_eq!(text, "OK  read 0 bundles and 1 line of the logs\n");
    fs::remove_file(workspace.path(".role-os/view.db")).unwrap();
    let told = workspace.roleos(&["--json", "reindex"]).exits(0).json();
    assert_eq!(told, json!({ "bundles": 0, "lines": 1 }));
    assert!(workspace.path(".role-os/view.db").is_file());
}
