//! A temporary PostgreSQL server for tests and measurements: created in a temporary directory, reached through a socket
//! in it, ended when dropped. It never runs as root.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::process;
use postgres::NoTls;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::address::{Address, AddressError};

/// Longest time for a server to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Durability of commits across a power cut; tests of logic are quicker without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// `fsync` and `synchronous_commit` on, as in production.
    Synced,
    /// Both off.
    Quick,
}

/// A temporary server.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    user: Option<(u32, u32)>,
    durability: Durability,
    child: Option<Child>,
    databases: AtomicU64,
}

impl Server {
    /// Creates a cluster and starts its server.
    ///
    /// # Errors
    /// PostgreSQL is not installed (`cargo xtask install` installs it), or does not start.
    pub fn start(durability: Durability) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pg-").tempdir_in("/tmp")?;
        let user = match geteuid().is_root() {
            true => Some(unprivileged()?),
            false => None,
        };
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid))?;
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let mut server = Self {
            folder,
            user,
            durability,
            child: None,
            databases: AtomicU64::default(),
        };
        server.initialise()?;
        server.resume()?;
        Ok(server)
    }

    fn command(&self, program: &str) -> io::Result<Command> {
        let mut command = Command::new(find(program)?);
        command.stdin(Stdio::null()).current_dir(self.folder.path());
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        Ok(command)
    }

    fn initialise(&self) -> io::Result<()> {
        let mut command = self.command("initdb")?;
        command.args(["--no-sync", "--no-instructions", "--auth=trust"]);
        command.args(["--username=roleos", "--encoding=UTF8", "--locale=C", "-D"]);
        let ran = process::output(command.arg(self.data()), &[], 1 << 20)?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "initdb failed: {}",
                String::from_utf8_lossy(&ran.stderr.bytes)
            ))),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the output of the server.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Starts the server again after [`Server::stop`] or [`Server::crash`].
    ///
    /// # Errors
    /// It does not start.
    pub fn resume(&mut self) -> io::Result<()> {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))?;
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.data());
        let synced = match self.durability {
            Durability::Synced => "on",
            Durability::Quick => "off",
        };
        for setting in [
            "listen_addresses=".to_owned(),
            format!("unix_socket_directories={}", self.folder.path().display()),
            format!("fsync={synced}"),
            format!("synchronous_commit={synced}"),
            "max_connections=100".to_owned(),
            "shared_buffers=64MB".to_owned(),
            "max_wal_size=1GB".to_owned(),
        ] {
            command.arg("-c").arg(setting);
        }
        self.child = Some(command.stdout(log.try_clone()?).stderr(log).spawn()?);
        let began = Instant::now();
        loop {
            let url = self.url("postgres");
            match url.parse::<postgres::Config>().map(|c| c.connect(NoTls)) {
                Ok(Ok(_)) => return Ok(()),
                _ if began.elapsed() > PATIENCE => break,
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
            let ended = match &mut self.child {
                Some(child) => child.try_wait()?.is_some(),
                None => true,
            };
            if ended {
                break;
            }
        }
        let log = self.log();
        Err(io::Error::other(format!("postgres did not start: {log}")))
    }

    /// Stops the server like an operator; open transactions are rolled back.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&mut self) -> io::Result<()> {
        self.end(Signal::INT)
    }

    /// Ends the server without a checkpoint, like a crash; it recovers at the next start.
    ///
    /// # Errors
    /// It does not end.
    pub fn crash(&mut self) -> io::Result<()> {
        self.end(Signal::QUIT)
    }

    fn end(&mut self, signal: Signal) -> io::Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        kill_process(Pid::from_child(&child), signal)?;
        let began = Instant::now();
        while child.try_wait()?.is_none() {
            if began.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other("postgres did not end"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Returns the folder of the server's socket.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the URL of a database on this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres://roleos@/{database}?host={folder}")
    }

    /// Creates an empty database and returns its URL.
    ///
    /// # Errors
    /// The server refuses.
    pub fn database(&self) -> io::Result<String> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        let mut client = self
            .url("postgres")
            .parse::<postgres::Config>()
            .and_then(|config| config.connect(NoTls))
            .map_err(io::Error::other)?;
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .map_err(io::Error::other)?;
        Ok(self.url(&name))
    }

    /// Creates an empty database and returns its address.
    ///
    /// # Errors
    /// The server refuses.
    pub fn address(&self) -> io::Result<Address> {
        let parsed: Result<Address, AddressError> = Address::parse(&self.database()?, None);
        parsed.map_err(io::Error::other)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The directory is about to be removed, so there is nothing to save.
        self.end(Signal::QUIT).ok();
    }
}

/// Finds a program of PostgreSQL: on `PATH`, or in Debian's folder of the newest version.
///
/// # Errors
/// It is not installed.
#[expect(
    clippy::disallowed_methods,
    reason = "a server of a test, found as a shell finds it"
)]
pub fn find(program: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let along = std::env::split_paths(&path).map(|folder| folder.join(program));
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    versions.sort_by_key(|path| version_of(path.file_name()));
    let debian = versions.into_iter().rev();
    let mut places = along.chain(debian.map(|path| path.join("bin").join(program)));
    places.find(|place| place.is_file()).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("`{program}` of PostgreSQL is not installed; run `cargo xtask install`"),
        )
    })
}

fn version_of(name: Option<&OsStr>) -> u32 {
    let name = name.and_then(OsStr::to_str);
    name.and_then(|name| name.parse().ok()).unwrap_or(0)
}

/// Returns the user and group of an account without valuable files.
fn unprivileged() -> io::Result<(u32, u32)> {
    let accounts = fs::read_to_string("/etc/passwd")?;
    let of = |name: &str| {
        let line = accounts
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2);
        Some((ids.next()?.parse().ok()?, ids.next()?.parse().ok()?))
    };
    of("postgres")
        .or_else(|| of("nobody"))
        .ok_or_else(|| io::Error::other("there is neither an account `postgres` nor `nobody`"))
}
