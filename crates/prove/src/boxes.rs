//! The boxes that agents, tests and setups run in: with the same paths in every slot.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base::process;
use sandbox::container::Container;
use sandbox::{Done, Job, Mount, Stopped, User};

use crate::task::Limits;

/// Path of the tree in a box.
pub const REPO: &str = "/w/repo";
/// Path of the environment in a box.
pub const ENV: &str = "/w/env";
/// Variables that are the same in every box.
pub(crate) const CONSTANT: [(&str, &str); 15] = [
    ("HOME", "/w/home"),
    ("TMPDIR", "/tmp"),
    ("TZ", "UTC"),
    ("LANG", "C.UTF-8"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONPATH", "/w/repo/src:/w/repo"),
    ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"),
    ("NO_COLOR", "1"),
    ("CI", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
    ("CARGO_NET_OFFLINE", "true"),
];
/// Most output of a command that is kept.
const MAX_OUTPUT: u64 = 64 << 20;
/// Most bytes of a fact about a toolchain.
const MAX_FACT: usize = 64 << 10;
/// Size of private folders.
const SCRATCH: u64 = 2 << 30;

/// Programs and their folders in boxes of this machine, beside the system's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Readable folders.
    pub roots: Vec<PathBuf>,
    /// Names and versions, for the key of an environment.
    pub facts: String,
    /// Container in place of bubblewrap; its image has the toolchains.
    pub container: Option<Container>,
}

impl Toolchains {
    /// Uses the toolchains of an image.
    #[must_use]
    pub fn of_image(container: Container) -> Self {
        Self {
            roots: Vec::new(),
            facts: format!("image {}\n{}", container.image, std::env::consts::ARCH),
            container: Some(container),
        }
    }

    /// Finds the toolchains on the user's search path.
    #[must_use]
    pub fn find() -> Self {
        let ask = |program: &str, arguments: &[&str]| -> Option<String> {
            let mut command = Command::new(program);
            let ran = process::output(command.args(arguments), &[], MAX_FACT).ok()?;
            let text = String::from_utf8_lossy(&ran.stdout.bytes).trim().to_owned();
            (ran.status.success() && !text.is_empty()).then_some(text)
        };
        let mut found = Self::default();
        let python = "import sys; print(sys.base_prefix)";
        let roots = [
            ask("rustc", &["--print", "sysroot"]),
            ask("python3", &["-c", python]),
        ];
        for root in roots.into_iter().flatten().map(PathBuf::from) {
            if root.is_dir() && !root.starts_with("/usr") {
                found.roots.push(root);
            }
        }
        for program in ["rustc", "python3", "node"] {
            let version = ask(program, &["--version"]).unwrap_or_default();
            found.facts.push_str(&format!("{program} {version}\n"));
        }
        found.facts.push_str(std::env::consts::ARCH);
        found
    }

    /// Returns the search path in a box.
    fn search_path(&self, first: &[PathBuf]) -> String {
        let first = first.iter().map(|folder| folder.display().to_string());
        let env = ["venv/bin", "node_modules/.bin", "bin"].map(|folder| format!("{ENV}/{folder}"));
        let own = self
            .roots
            .iter()
            .map(|root| root.join("bin").display().to_string());
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(str::to_owned);
        first
            .chain(env)
            .chain(own)
            .chain(system)
            .collect::<Vec<_>>()
            .join(":")
    }
}

/// A box before its command runs.
#[derive(Clone, Debug)]
pub struct Boxed<'a> {
    /// Its toolchains.
    pub tools: &'a Toolchains,
    /// The tree, writable at `/w/repo`.
    pub repo: &'a Path,
    /// Set if the tree is read-only.
    pub is_read_only: bool,
    /// The environment, read-only.
    pub env: Option<&'a Path>,
    /// Further mounts.
    pub mounts: Vec<Mount>,
    /// Further variables.
    pub variables: Vec<(String, String)>,
    /// File on standard input.
    pub input: &'a Path,
    /// Program that starts the box.
    pub launcher: Vec<OsString>,
    /// Program and arguments in front of the shell, inside the box.
    pub front: Vec<OsString>,
    /// Folders that come first on the search path.
    pub programs: Vec<PathBuf>,
    /// Time at which the task was solved, for tools that need a date.
    pub epoch: i64,
}

impl<'a> Boxed<'a> {
    /// Creates a box with only a tree.
    #[must_use]
    pub fn new(tools: &'a Toolchains, repo: &'a Path) -> Self {
        Self {
            tools,
            repo,
            is_read_only: false,
            env: None,
            mounts: Vec::new(),
            variables: Vec::new(),
            input: Path::new("/dev/null"),
            launcher: Vec::new(),
            front: Vec::new(),
            programs: Vec::new(),
            epoch: 0,
        }
    }

    /// Runs a command for the shell in the tree.
    pub fn run(
        &self,
        command: &str,
        limits: &sandbox::Limits,
        stop: &mut dyn FnMut() -> bool,
    ) -> (Vec<u8>, Result<Done, Stopped>) {
        sandbox::run_until(&self.job(command), limits, stop)
    }

    fn job(&self, command: &str) -> Job<'_> {
        let path = |text: &str| PathBuf::from(text);
        let mut mounts = vec![
            Mount::Scratch(path("/tmp"), SCRATCH),
            Mount::Scratch(path("/w/home"), SCRATCH),
            if self.is_read_only {
                Mount::Read(self.repo.to_owned(), path(REPO))
            } else {
                Mount::Write(self.repo.to_owned(), path(REPO))
            },
        ];
        for root in &self.tools.roots {
            mounts.push(Mount::Read(root.clone(), root.clone()));
        }
        if let Some(env) = self.env {
            mounts.push(Mount::Read(env.to_owned(), path(ENV)));
            let modules = env.join("node_modules");
            if modules.is_dir() {
                mounts.push(Mount::Read(modules, path(&format!("{REPO}/node_modules"))));
            }
        }
        mounts.extend(self.mounts.iter().cloned());
        Job {
            words: self
                .front
                .iter()
                .cloned()
                .chain(["sh", "-c", command].map(OsString::from))
                .collect(),
            mounts,
            environment: self.environment(),
            directory: path(REPO),
            input: self.input,
            network: false,
            user: User::Caller,
            launcher: self.launcher.clone(),
            container: self.tools.container.clone(),
        }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let epoch = self.epoch.to_string();
        let fixed = [
            ("PATH", self.tools.search_path(&self.programs)),
            ("SOURCE_DATE_EPOCH", epoch),
            ("CARGO_HOME", format!("{ENV}/cargo")),
        ];
        let plain = CONSTANT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value));
        let all = plain
            .into_iter()
            .chain(fixed)
            .chain(self.variables.iter().cloned());
        all.map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}

/// Returns the limits of a box, from those of a task.
#[must_use]
pub fn limits(limits: &Limits, seconds: u64) -> sandbox::Limits {
    sandbox::Limits {
        time: Duration::from_secs(seconds),
        memory: limits.memory_mb.saturating_mul(1 << 20),
        processes: limits.processes,
        output: MAX_OUTPUT,
        program: PathBuf::from("bwrap"),
    }
}

/// Runs a setup command with a network, in a box that may only write to `env`.
///
/// # Errors
/// It failed; the error is the end of its output.
pub fn run_setup(tools: &Toolchains, env: &Path, command: &str) -> Result<(), String> {
    let path = |text: &str| PathBuf::from(text);
    let mut boxed = Boxed::new(tools, env);
    // The user's own settings of package managers determine the sources of packages.
    boxed.variables = base::environment::all()
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_network_setting(name))
        .collect();
    boxed.variables.extend([
        ("CARGO_NET_OFFLINE".to_owned(), "false".to_owned()),
        ("CARGO_TARGET_DIR".to_owned(), format!("{ENV}/cache")),
        ("PYTHONPATH".to_owned(), String::new()),
    ]);
    let mut job = boxed.job(command);
    job.network = true;
    job.directory = path(ENV);
    job.mounts.push(Mount::Write(env.to_owned(), path(ENV)));
    let limits = limits(&Limits::default(), 1800);
    let (printed, ended) = sandbox::run_until(&job, &limits, &mut || false);
    let end = |printed: &[u8]| {
        let text = String::from_utf8_lossy(printed);
        let lines: Vec<&str> = text.trim().lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("; ")
    };
    match ended {
        Ok(done) if done.code == 0 => Ok(()),
        Ok(done) => Err(format!(
            "the setup command ended with {}: {}",
            done.code,
            end(&printed)
        )),
        Err(stopped) => Err(format!("{stopped}: {}", end(&printed))),
    }
}

fn is_network_setting(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_certificate = [
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    ];
    upper.ends_with("_PROXY")
        || is_certificate.contains(&upper.as_str())
        || matches!(
            upper.as_str(),
            "PIP_INDEX_URL"
                | "PIP_EXTRA_INDEX_URL"
                | "PIP_CERT"
                | "NPM_CONFIG_REGISTRY"
                | "UV_INDEX_URL"
        )
}
