//! `roleos up` without memory, connections or disk space.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::up::Up;

/// Sends text and returns the connection.
fn send(up: &Up, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", up.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(up: &Up, length: usize, body: &str) -> TcpStream {
    begin(up, length, "", body)
}

/// Sends a head with these further lines, and this part of its body.
fn begin(up: &Up, length: usize, more: &str, body: &str) -> TcpStream {
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\
         content-type: application/json\r\n{more}content-length: {length}\r\n\r\n{body}",
        up.port()
    );
    send(up, &head)
}

fn start(config: &str) -> (tempfile::TempDir, Up) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".role-os")).unwrap();
    fs::write(folder.path().join(".role-os/config.toml"), config).unwrap();
    let up = Up::start(folder.path(), &["--listen", "127.0.0.1:0"], &[]);
    (folder, up)
}

#[test]
fn connections_that_send_nothing_shut_nobody_out() {
    let (_folder, up) = start("[gateway]\nmax_connections = 3\nheader_timeout_seconds = 600\n");
    // More than the available slots, some of them after an answer.
    let mut idle: Vec<TcpStream> = (0..6).map(|_| send(&up, "")).collect();
    for _ in 0..4 {
        let head = format!(
            "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n",
            up.port()
        );
        let mut kept = send(&up, &head);
        let mut first = [0; 15];
        kept.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        idle.push(kept);
    }
    assert!(up.get("/healthz", "").contains("200 OK"));
}

#[test]
fn bodies_share_one_budget_and_give_it_back() {
    let (_folder, up) = start("[gateway]\nmax_bodies_mib = 1\n");
    let kib = 1024;
    // A body is requested once it has its memory: before that, the next one could be first.
    let mut begun = begin(&up, 900 * kib, "expect: 100-continue\r\n", "");
    let mut asked = [0; 21];
    begun.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue");
    let other = || answer(post(&up, 500 * kib, &" ".repeat(500 * kib)));
    let refused = other();
    assert!(refused.contains("503 Service Unavailable") && refused.contains("bodies_full"));
    drop(begun);
    // The end of sending is not detected immediately.
    let passed = (0..50).map(|_| other()).find(|answer| {
        std::thread::sleep(Duration::from_millis(20));
        !answer.contains("bodies_full")
    });
    assert!(passed.is_some_and(|answer| answer.contains("bad_json")));
}

#[test]
fn receipts_that_cannot_be_written_are_said_kept_and_where_required_refuse() {
    for (setting, status) in [("best-effort", "404"), ("required", "503")] {
        let (folder, up) = start(&format!("[gateway]\nreceipts = \"{setting}\"\n"));
        let log = folder.path().join(".role-os/gateway.jsonl");
        let body = "{\"model\":\"nothing\"}";
        let ask = || answer(post(&up, body.len(), body));
        assert!(ask().contains(" 404 "), "no upstream has the model");
        assert!(up.get("/readyz", "").contains("200 OK"));
        // A folder in the log's place acts like a full disk.
        fs::remove_file(&log).unwrap();
        fs::create_dir(&log).unwrap();
        ask();
        assert!(ask().contains(&format!(" {status} ")), "{setting}");
        let ready = up.get("/readyz", "");
        assert!(
            ready.contains("503") && ready.contains("receipts cannot be written"),
            "{ready}"
        );
        fs::remove_dir(&log).unwrap();
        assert!(up.get("/readyz", "").contains("200 OK"));
        let kept = fs::read_to_string(&log).unwrap().lines().count();
        assert_eq!(kept, if setting == "required" { 1 } else { 2 }, "{setting}");
    }
}
