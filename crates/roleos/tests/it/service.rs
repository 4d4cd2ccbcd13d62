//! `roleos up` as a service: no terminal, and an operator who logs in nevertheless.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::operator::{get, post};
use crate::up::echo;
use crate::workspace::{ROLEOS, Ran, Workspace};

const TOO_LONG: Duration = Duration::from_secs(60);

/// Runs a command in a new session, without a terminal, as an orphan: neither the tester's terminal nor an agent that
/// started the tests is above it.
const ORPHAN: &str = r#"setsid sh -c 'echo $$ >"$DIR/pid"; "$@" >"$DIR/out" 2>"$DIR/err"; echo $? >"$DIR/code.part"; mv "$DIR/code.part" "$DIR/code"' sh "$@" </dev/null &"#;

/// A program without a terminal.
struct Orphan {
    folder: tempfile::TempDir,
}

impl Orphan {
    fn run(workspace: &Workspace, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let status = Command::new("sh")
            .args(["-c", ORPHAN, "sh"])
            .args(words)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", workspace.home())
            .env("DIR", folder.path())
            .envs(variables.iter().copied())
            .current_dir(workspace.root())
            .status()
            .unwrap();
        assert!(status.success());
        Self { folder }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn ends(&self) -> Ran {
        let since = Instant::now();
        while self.read("code").is_empty() {
            assert!(since.elapsed() < TOO_LONG, "{}", self.read("err"));
            std::thread::sleep(Duration::from_millis(10));
        }
        Ran {
            stdout: self.read("out"),
            stderr: self.read("err"),
            code: self.read("code").trim().parse().unwrap(),
        }
    }
}

/// A running service.
pub(crate) struct Service<'w> {
    workspace: &'w Workspace,
    process: Orphan,
    told: Value,
}

impl<'w> Service<'w> {
    pub(crate) fn start(
        workspace: &'w Workspace,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let words = [&[ROLEOS, "up", "--listen", "127.0.0.1:0"], words].concat();
        let process = Orphan::run(workspace, &words, variables);
        let file = workspace.path(".role-os/up.json");
        let since = Instant::now();
        while !file.exists() {
            assert!(process.read("code").is_empty(), "{}", process.read("err"));
            assert!(since.elapsed() < TOO_LONG, "{}", process.read("err"));
            std::thread::sleep(Duration::from_millis(10));
        }
        let told = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        Self {
            workspace,
            process,
            told,
        }
    }

    pub(crate) fn address(&self) -> &str {
        self.told["address"].as_str().unwrap()
    }

    fn login_code(&self, variables: &[(&str, &str)]) -> Ran {
        Orphan::run(self.workspace, &[ROLEOS, "login-code", "--json"], variables).ends()
    }

    /// Logs in and returns the `Set-Cookie` header.
    fn log_in(&self, code: &str) -> String {
        let answer = post(self.address(), "/api/login", "", &json!({ "code": code }));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let cookie = answer.lines().find(|line| line.starts_with("set-cookie: "));
        cookie.unwrap().to_owned()
    }

    pub(crate) fn end(self) -> Ran {
        let pid = i32::try_from(self.told["pid"].as_u64().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
        self.process.ends().exits(0)
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn the_code_file_holds_the_code_that_works_now() {
    let workspace = Workspace::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code");
    let named = file.to_str().unwrap();
    let service = Service::start(&workspace, &["--operator-code-file", named], &[]);
    let code = || fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_eq!(mode(&file), 0o600);
    let first = code();
    let cookie = service.log_in(&first);
    assert!(!cookie.contains("Secure"), "{cookie}");
    assert_ne!(code(), first, "a code works once");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(service.login_code(&[]).exits(0).json()["code"], code());
    let ended = service.end();
    assert!(!ended.stderr.contains(&first) && !ended.stdout.contains(&first));
    assert!(!file.exists());
}

#[test]
fn a_code_file_that_others_could_read_is_refused() {
    let workspace = Workspace::new();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::write(place("wide"), "").unwrap();
    fs::set_permissions(
        place("wide"),
        std::os::unix::fs::PermissionsExt::from_mode(0o640),
    )
    .unwrap();
    symlink(place("elsewhere"), place("link")).unwrap();
    fs::create_dir(place("folder")).unwrap();
    for (name, why) in [
        ("wide", "others may read or write it"),
        ("link", "it is a link"),
        ("folder", "it is not a file"),
    ] {
        let path: PathBuf = place(name);
        let words = [
            "up",
            "--listen",
            "127.0.0.1:0",
            "--operator-code-file",
            path.to_str().unwrap(),
        ];
        let ran = workspace.roleos(&words).exits(2);
        assert!(ran.stderr.contains(why), "{name}: {ran:#?}");
    }
    assert!(!place("elsewhere").exists());
}

/// Connects to the socket like any program.
const CONNECT: &str = "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die \"none: $!\"; print <$s>;";

#[test]
fn login_code_is_told_to_the_person_and_to_nobody_else() {
    let workspace = Workspace::new();
    let none = Orphan::run(&workspace, &[ROLEOS, "login-code"], &[])
        .ends()
        .exits(2);
    assert!(
        none.error().contains("`roleos up` does not run"),
        "{none:#?}"
    );
    let service = Service::start(&workspace, &[], &[]);
    let told = service.login_code(&[]).exits(0).json();
    assert_eq!(told["url"], format!("http://{}/login", service.address()));
    // An agent is refused, and so is a program of an agent that connects without our command.
    let refused = service.login_code(&[("CLAUDECODE", "1")]).exits(2);
    assert!(
        refused.stderr.contains("runs below Claude Code"),
        "{refused:#?}"
    );
    let socket = workspace.path(".role-os/keys/login.sock");
    assert_eq!(
        (mode(&socket), mode(socket.parent().unwrap())),
        (0o600, 0o700)
    );
    let socket = socket.to_str().unwrap();
    let connect = ["perl", "-e", CONNECT, socket];
    let code = told["code"].as_str().unwrap();
    assert!(
        Orphan::run(&workspace, &connect, &[])
            .ends()
            .stdout
            .contains(code)
    );
    let agent = Orphan::run(&workspace, &connect, &[("GEMINI_CLI", "1")]).ends();
    assert!(agent.stdout.contains("runs below Gemini CLI") && !agent.stdout.contains(code));
    if rustix::process::geteuid().is_root() {
        let other = [
            &["setpriv", "--reuid", "65534", "--clear-groups"][..],
            &connect,
        ]
        .concat();
        let other = Orphan::run(&workspace, &other, &[]).ends();
        assert!(
            other.stdout.is_empty() && other.stderr.contains("Permission denied"),
            "{other:#?}"
        );
    }
    service.log_in(code);
    service.end();
    assert!(!Path::new(socket).exists());
}

#[test]
fn a_terminal_keeps_its_code_to_itself_and_an_agent_gets_no_login_at_all() {
    let workspace = Workspace::new();
    let agent = [("CLAUDECODE", "1"), ("OPS", "a token of an operator")];
    workspace.write(
        ".role-os/config.toml",
        "[gateway]\noperator_token_env = \"OPS\"\n",
    );
    let service = Service::start(&workspace, &[], &agent);
    let refused = service.login_code(&[]).exits(2);
    assert!(
        refused
            .stderr
            .contains("read the login code on the terminal"),
        "{refused:#?}"
    );
    let bearer = "authorization: Bearer a token of an operator\r\n";
    assert!(get(service.address(), "/api/session", bearer).starts_with("HTTP/1.1 401 "));
    let ended = service.end();
    assert!(
        ended
            .stderr
            .contains("login is closed, because this runs below Claude Code")
    );
}

#[test]
fn the_operators_token_logs_in_and_goes_no_further() {
    let workspace = Workspace::new();
    let (url, seen) = echo();
    let config = format!(
        "[gateway]\noperator_token_env = \"OPS\"\n[[gateway.upstream]]\nname = \"u\"\nkind = \"openai\"\nbase_url = \"{url}\"\n"
    );
    workspace.write(".role-os/config.toml", &config);
    let service = Service::start(&workspace, &[], &[("OPS", "0123456789abcdef")]);
    let bearer = |token: &str| format!("authorization: Bearer {token}\r\n");
    let right = bearer("0123456789abcdef");
    let session = get(service.address(), "/api/session", &right);
    assert!(
        session.contains("\"operator\":\"operator token\""),
        "{session}"
    );
    for wrong in ["", &bearer("0123456789abcdeF")] {
        let refused = get(service.address(), "/api/session", wrong);
        assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    }
    assert!(get(service.address(), "/v1/files", &right).ends_with("{}"));
    let head = seen.join().unwrap();
    assert!(!head.contains("0123456789abcdef"), "{head}");
    service.end();
    let short = Orphan::run(&workspace, &[ROLEOS, "up"], &[("OPS", "short")])
        .ends()
        .exits(1);
    assert!(
        short.error().contains("has fewer than 16 characters"),
        "{short:#?}"
    );
}

#[test]
fn a_browser_without_the_token_is_led_to_the_login_and_a_program_told_so() {
    let workspace = Workspace::new();
    workspace.write(".role-os/config.toml", "[gateway]\ntoken_env = \"TOKEN\"\n");
    let service = Service::start(&workspace, &[], &[("TOKEN", "0123456789abcdef")]);
    let html = "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    for (path, headers, status, wanted) in [
        ("/", html, "303", "location: /login?next=%2F\r\n"),
        (
            "/tasks?outcome=failed",
            html,
            "303",
            "location: /login?next=%2Ftasks%3Foutcome%3Dfailed\r\n",
        ),
        (
            "/nowhere",
            html,
            "303",
            "location: /login?next=%2Fnowhere\r\n",
        ),
        ("/login?next=%2Ftasks", html, "200", "value=\"/tasks\""),
        (
            "/",
            "accept: application/json\r\n",
            "401",
            "{\"code\":\"bad_token\"",
        ),
        ("/api/status", "", "401", "{\"code\":\"bad_token\""),
        ("/v1/models", html, "303", "location: /login?next="),
        ("/v1/models", "", "401", "{\"error\":{"),
    ] {
        let answer = get(service.address(), path, headers);
        let right = answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(wanted);
        assert!(right, "{path} {headers}: {answer}");
    }
    service.end();
}
