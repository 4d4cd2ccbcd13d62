//! `roleos up` for a person: one line when it is ready, one process per workspace, a clean end.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::workspace::{ROLEOS, Workspace};

/// A running gateway.
pub(crate) struct Up {
    child: Child,
    address: String,
    line: String,
}

impl Up {
    pub(crate) fn start(
        root: &std::path::Path,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::of(Command::new(ROLEOS), root, words, variables)
    }

    fn of(
        mut command: Command,
        root: &std::path::Path,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut child = command
            .arg("--root")
            .arg(root)
            .arg("up")
            .args(words)
            .env("HOME", root)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .rsplit("http://")
            .next()
            .unwrap()
            .trim_end_matches(['"', '}', '\n'])
            .to_owned();
        Self {
            child,
            address,
            line,
        }
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        let port = self.port();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Requests its end, and returns its exit code, the duration and its output for people.
    fn end(mut self, signal: Signal) -> (Option<i32>, Duration, String) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let since = Instant::now();
        kill_process(pid, signal).unwrap();
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (status.code(), since.elapsed(), said)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn it_makes_what_is_missing_says_where_it_is_and_ends_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let up = Up::start(folder.path(), &["--listen", "127.0.0.1:0"], &[]);
    assert_eq!(up.line, format!("roleos is up at http://{}\n", up.address));
    let role_os = folder.path().join(".role-os");
    let told: Value = serde_json::from_slice(&fs::read(role_os.join("up.json")).unwrap()).unwrap();
    assert_eq!(
        (told["address"].as_str(), told["pid"].as_u64()),
        (Some(up.address.as_str()), Some(u64::from(up.child.id())))
    );
    let config = fs::read_to_string(role_os.join("config.toml")).unwrap();
    assert!(
        config.contains("base_url = \"https://api.anthropic.com\""),
        "{config}"
    );
    assert!(up.get("/healthz", "").starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(
        up.get("/", "")
            .contains("<title>Overview · Role OS</title>")
    );
    // An idle connection does not delay the end.
    let _idle = TcpStream::connect(&up.address).unwrap();
    let (code, took, said) = up.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(!role_os.join("up.json").exists());
}

#[test]
fn a_closed_terminal_ends_it_unless_it_was_started_to_stay() {
    let folder = tempfile::tempdir().unwrap();
    let listen = ["--listen", "127.0.0.1:0"];
    let up = Up::start(folder.path(), &listen, &[]);
    let (code, _, said) = up.end(Signal::HUP);
    assert_eq!(code, Some(0), "{said}");
    assert!(!folder.path().join(".role-os/up.json").exists());
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", ROLEOS]);
    let up = Up::of(command, folder.path(), &listen, &[]);
    let pid = Pid::from_raw(i32::try_from(up.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert!(up.get("/healthz", "").starts_with("HTTP/1.1 200"));
    assert_eq!(up.end(Signal::TERM).0, Some(0));
}

#[test]
fn a_second_one_is_told_where_the_first_is() {
    let workspace = Workspace::new();
    let up = Up::start(
        workspace.root(),
        &["--listen", "127.0.0.1:0", "--json"],
        &[],
    );
    assert!(
        up.line.starts_with("{\"address\":\"127.0.0.1:"),
        "{}",
        up.line
    );
    let ran = workspace
        .roleos(&["up", "--listen", "127.0.0.1:0"])
        .exits(2);
    assert!(
        ran.stderr.contains(&format!(
            "already runs for this workspace at http://{}",
            up.address
        )),
        "{}",
        ran.stderr
    );
    let (code, ..) = up.end(Signal::INT);
    assert_eq!(code, Some(0));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = workspace.roleos(&["up", "--listen", &address]).exits(2);
    assert!(
        ran.stderr
            .contains(&format!("cannot listen at `{address}`")),
        "{}",
        ran.stderr
    );
    let ran = workspace.roleos(&["up", "--listen", "nonsense"]).exits(1);
    assert!(
        ran.stderr.contains("`nonsense` is no address"),
        "{}",
        ran.stderr
    );
}

#[test]
fn others_need_the_token_that_lies_in_the_keys_folder() {
    let folder = tempfile::tempdir().unwrap();
    let up = Up::start(folder.path(), &["--listen", "0.0.0.0:0"], &[]);
    let path = folder.path().join(".role-os/keys/gateway.token");
    let token = fs::read_to_string(&path).unwrap();
    assert!(up.get("/v1/models", "").starts_with("HTTP/1.1 401 "));
    let with = format!("x-roleos-token: {}\r\n", token.trim());
    assert!(up.get("/metrics", &with).starts_with("HTTP/1.1 200 "));
    let (_, _, said) = up.end(Signal::TERM);
    assert!(
        said.contains("gateway.token") && !said.contains(token.trim()),
        "{said}"
    );
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

/// Answers one request and returns its head.
pub(crate) fn echo() -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            .unwrap();
        String::from_utf8(head).unwrap()
    });
    (url, seen)
}

#[test]
fn our_key_takes_the_place_of_the_clients_and_only_when_the_settings_are_ours() {
    let workspace = Workspace::new();
    let (url, seen) = echo();
    let config = format!(
        "[[gateway.upstream]]\nname = \"own\"\nkind = \"anthropic\"\nbase_url = \"{url}\"\napi_key_env = \"OWN_KEY\"\n"
    );
    workspace.write(".role-os/config.toml", &config);
    let up = Up::start(
        workspace.root(),
        &["--listen", "127.0.0.1:0"],
        &[("OWN_KEY", "ours")],
    );
    let headers = "authorization: Bearer theirs\r\nx-api-key: theirs\r\nanthropic-version: 1\r\n";
    assert!(up.get("/v1/files", headers).ends_with("\r\n\r\n{}"));
    let head = seen.join().unwrap();
    assert!(
        head.contains("x-api-key: ours") && !head.contains("theirs"),
        "{head}"
    );
    up.end(Signal::TERM);
    // The same file, from a clone, sends nothing anywhere.
    let git = |words: &[&str]| {
        let done = Command::new("git")
            .arg("-C")
            .arg(workspace.root())
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-f", ".role-os/config.toml"]);
    let up = Up::start(
        workspace.root(),
        &["--listen", "127.0.0.1:0"],
        &[("OWN_KEY", "ours")],
    );
    assert!(up.get("/v1/files", headers).starts_with("HTTP/1.1 404 "));
    let (_, _, said) = up.end(Signal::TERM);
    assert!(said.contains("ignored `gateway.upstream`"), "{said}");
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let workspace = Workspace::new();
    let start = |config: &str| {
        workspace.write(".role-os/config.toml", config);
        workspace
            .roleos(&["up", "--listen", "127.0.0.1:0"])
            .exits(1)
            .stderr
    };
    let upstream = |url: &str| {
        format!("[[gateway.upstream]]\nname = \"u\"\nkind = \"openai\"\nbase_url = \"{url}\"\n")
    };
    assert!(start(&upstream("ftp://x")).contains("`base_url` of the upstream `u` cannot be used"));
    assert!(start("[gateway]\ntoken_env = \"NOT_SET_ANYWHERE\"\n").contains("`NOT_SET_ANYWHERE`"));
    let unknown = start(&upstream("http://x").replace("openai", "gemini"));
    assert!(
        unknown.contains("line 3, key `gateway.upstream[0].kind`"),
        "{unknown}"
    );
}
