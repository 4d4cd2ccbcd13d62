//! Proxies before the upstream, each as a separate process: ours, nginx, the LiteLLM proxy and Portkey.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::measure::tools;

/// A proxy process, which ends when dropped.
pub(super) struct Peer {
    child: Child,
    pub(super) address: SocketAddr,
    folder: TempDir,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // nginx and LiteLLM have workers, which would outlive them.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process_group(group, Signal::KILL).ok();
        }
        self.child.wait().ok();
    }
}

#[expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a bench that cannot be set up has nothing to say; its files are thrown away"
)]
impl Peer {
    fn start(folder: TempDir, address: SocketAddr, command: &mut Command) -> Self {
        let program = command.get_program().to_string_lossy().into_owned();
        let log = File::create(folder.path().join("stderr")).expect("room");
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let child = child.unwrap_or_else(|error| {
            panic!("cannot start `{program}`: {error}; `cargo xtask bench` installs it")
        });
        let mut peer = Self {
            child,
            address,
            folder,
        };
        let since = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = peer.child.try_wait().expect("a process of ours");
            let said = || fs::read_to_string(peer.folder.path().join("stderr")).unwrap_or_default();
            assert!(
                ended.is_none() && since.elapsed() < Duration::from_secs(120),
                "`{program}` does not listen ({ended:?}):\n{}",
                said()
            );
            thread::sleep(Duration::from_millis(10));
        }
        peer
    }

    /// Starts our gateway, with receipts.
    pub(super) fn roleos(upstream: SocketAddr) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = std::env::current_exe()
            .expect("a program")
            .with_file_name("roleos");
        assert!(
            program.exists(),
            "build it first: `cargo build --release -p roleos`; `cargo xtask bench` does"
        );
        fs::create_dir(folder.path().join(".role-os")).expect("room");
        let config = format!(
            "[[gateway.upstream]]\nname = \"stub\"\nkind = \"openai\"\nbase_url = \"http://{upstream}\"\n"
        );
        fs::write(folder.path().join(".role-os/config.toml"), config).expect("room");
        let address = free();
        let mut command = Command::new(program);
        command
            .arg("--root")
            .arg(folder.path())
            .args(["up", "--listen", &address.to_string()]);
        Self::start(folder, address, &mut command)
    }

    /// Starts nginx as a reverse proxy that keeps its connections and writes no log.
    pub(super) fn nginx(upstream: SocketAddr) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let address = free();
        let config = format!(
            "daemon off;\nworker_processes 2;\npid {0}/pid;\nerror_log {0}/error.log;\nevents {{ worker_connections 4096; }}\n\
             http {{\n access_log off;\n client_body_temp_path {0}/a;\n proxy_temp_path {0}/b;\n fastcgi_temp_path {0}/c;\n\
             uwsgi_temp_path {0}/d;\n scgi_temp_path {0}/e;\n upstream stub {{ server {upstream}; keepalive 64; }}\n\
             server {{ listen {address}; keepalive_requests 1000000000;\n location / {{ proxy_pass http://stub; proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\"; proxy_buffering off; }} }} }}\n",
            folder.path().display()
        );
        let path = folder.path().join("nginx.conf");
        fs::write(&path, config).expect("room");
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path()).arg("-c").arg(&path);
        Self::start(folder, address, &mut command)
    }

    /// Starts the LiteLLM proxy with two workers, from its virtual environment below the target directory.
    pub(super) fn litellm(upstream: SocketAddr) -> Self {
        let program = tools().join("litellm/bin/litellm");
        let folder = tempfile::tempdir().expect("a folder");
        let address = free();
        let config = format!(
            "model_list:\n  - model_name: gpt-bench\n    litellm_params:\n      model: openai/gpt-bench\n      api_base: http://{upstream}/v1\n      api_key: bench\n"
        );
        let path = folder.path().join("config.yaml");
        fs::write(&path, config).expect("room");
        let mut command = Command::new(program);
        command
            .arg("--config")
            .arg(&path)
            .args(["--host", "127.0.0.1", "--num_workers", "2"])
            // On a busy machine, two of them import for longer than its default time limit.
            .args(["--timeout_worker_healthcheck", "120", "--port"])
            .arg(address.port().to_string())
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            // It requires no key, like ours on loopback; that is its fastest mode.
            .env(
                "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY",
                "true",
            )
            .current_dir(folder.path());
        Self::start(folder, address, &mut command)
    }

    /// Starts Portkey's gateway in one process of Node, like its package does. Requests name their upstream.
    pub(super) fn portkey() -> Self {
        let program = tools().join("guards/node_modules/@portkey-ai/gateway/build/start-server.js");
        let folder = tempfile::tempdir().expect("a folder");
        let address = free();
        let mut command = Command::new("node");
        command
            .arg(program)
            .args(["--headless", &format!("--port={}", address.port())])
            .env("NODE_ENV", "production")
            .current_dir(folder.path());
        Self::start(folder, address, &mut command)
    }

    /// Returns its current memory, in megabytes.
    pub(super) fn megabytes(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("Linux");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            resident.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kilobytes.expect("a size") / 1e3
    }
}

#[expect(
    clippy::expect_used,
    reason = "a machine without ports measures nothing"
)]
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}
