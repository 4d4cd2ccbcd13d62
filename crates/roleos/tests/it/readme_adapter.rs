//! README's commands for adapters, unchanged, in an empty folder with a fresh home: the adapter answers, also through
//! the official clients.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::workspace::{ROLEOS, ran};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Returns the commands of the section's first block, without their comments.
fn lines() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let section = text.split("## Route a role to your adapter").nth(1);
    let block = section.unwrap().split("```").nth(1).unwrap();
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands
        .map(|line| line.split(" # ").next().unwrap().trim_end().to_owned())
        .collect()
}

/// Returns the output of a command in the section, line by line; omitted parts are `…`.
fn shown(command: &str) -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let section = text
        .split("## Route a role to your adapter")
        .nth(1)
        .unwrap();
    let block = section.split("```").nth(3).unwrap();
    let mut lines = block
        .lines()
        .skip_while(|line| *line != format!("$ {command}"));
    lines.next().unwrap();
    let shown = lines.take_while(|line| !line.starts_with("$ "));
    shown.map(str::to_owned).collect()
}

/// Returns `true` if a line matches the document.
fn fits(shown: &str, line: &str) -> bool {
    let mut rest = line;
    for (at, piece) in shown.split('…').enumerate() {
        let found = match at {
            0 => rest.strip_prefix(piece),
            _ => rest.split_once(piece).map(|(_, behind)| behind),
        };
        let Some(behind) = found else {
            return false;
        };
        rest = behind;
    }
    rest.is_empty() || shown.ends_with('…')
}

/// Asserts that the adapter answers in one piece: a client that reads once has everything.
fn answers_at_once(port: u16) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = r#"{"adapter_id":"ticket-router-tiny","input":"My card was charged twice"}"#;
    let head = "POST /verify HTTP/1.1\r\nhost: adapter\r\ncontent-type: application/json";
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = vec![0; 65536];
    let read = stream.read(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
    assert!(text.contains("billing"), "{text}");
}

fn python() -> PathBuf {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    python.into()
}

/// Returns a typed line; the program under test and the interpreter are first on the path.
fn shell(line: &str, folder: &Path, home: &Path) -> Command {
    let own =
        [ROLEOS.as_ref(), python().as_path()].map(|program| program.parent().unwrap().to_owned());
    let rest = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(own.into_iter().chain(env::split_paths(&rest))).unwrap();
    // So that ending the shell ends a server.
    let word = if line.contains('|') { "" } else { "exec " };
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{word}{line}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", home)
        .env("NO_PROXY", "*")
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::null());
    command
}

/// Waits like a person until the server is up.
fn wait_for(port: u16) {
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody listens");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_lines_for_adapters_serve_the_adapter() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let lines = lines();
    assert!(lines.len() >= 8, "{lines:?}");
    let mut servers = Vec::new();
    for line in &lines {
        // Another port than that of a person who tries the same here.
        let line = line.replace("8011", &port.to_string());
        if line.starts_with("python3 ") {
            let mut server = shell(&line, folder.path(), home.path());
            servers.push(Running(server.spawn().unwrap()));
            wait_for(port);
            answers_at_once(port);
        } else if line == "roleos up" {
            let line = format!("{line} --json --listen 127.0.0.1:0");
            let mut up = shell(&line, folder.path(), home.path());
            let mut up = up.stdout(Stdio::piped()).spawn().unwrap();
            let said = up.stdout.take().unwrap();
            servers.push(Running(up));
            let first = BufReader::new(said).lines().next().unwrap().unwrap();
            let url = serde_json::from_str::<Value>(&first).unwrap()["url"].clone();
            through_the_clients(url.as_str().unwrap());
        } else {
            let said = ran(shell(&line, folder.path(), home.path())).exits(0);
            if line.contains(" certify ") {
                let expected = shown(&line);
                let printed: Vec<&str> = said.stdout.lines().collect();
                assert_eq!(printed.len(), expected.len(), "{}", said.stdout);
                for (shown, line) in expected.iter().zip(printed) {
                    assert!(fits(shown, line), "README: {shown}\nprinted: {line}");
                }
            }
            if line.contains("| roleos dispatch") {
                assert_eq!(
                    said.stdout.trim(),
                    "{\n  \"team\": \"billing\"\n}",
                    "{said:?}"
                );
                assert!(
                    said.stderr.contains("\"source\":\"specialist\""),
                    "{said:?}"
                );
            }
        }
    }
    assert_eq!(servers.len(), 2, "an adapter and `roleos up`: {lines:?}");
}

fn through_the_clients(url: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/readme_adapter.py");
    let mut command = Command::new(python());
    command.arg(script).arg(url).env("NO_PROXY", "*");
    ran(command).exits(0);
}
