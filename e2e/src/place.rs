//! A temporary place for one run: a home, a repository with a failing test, a bare repository to push to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::failure::{Failure, Result};

/// The bug that the agent must fix.
const BROKEN: &str = "pub fn add(a: u32, b: u32) -> u32 {\n    a - b\n}\n";
const TEST: &str = "#[test]\nfn adds() {\n    assert_eq!(place::add(2, 2), 4);\n}\n";
const MANIFEST: &str = "[package]\nname = \"place\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

/// A place, which is removed when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    whole: TempDir,
    /// Path of the `roleos` under test.
    pub(crate) roleos: PathBuf,
}

impl Place {
    /// Creates a place, with the first commit already pushed.
    pub(crate) fn new(roleos: &Path) -> Result<Self> {
        let whole = tempfile::Builder::new()
            .prefix("e2e-")
            .tempdir()
            .map_err(|error| Failure::of("cannot make a temporary directory", error))?;
        let place = Self {
            whole,
            roleos: roleos.to_owned(),
        };
        for directory in ["home", "repository/src", "repository/tests"] {
            make(&place.path(directory))?;
        }
        // Codex runs commands in a login shell, which sets its own path.
        let tools = std::env::home_dir().unwrap_or_default().join(".cargo/bin");
        let profile = format!("export PATH={}:$PATH\n", tools.display());
        put(&place.path("home/.bash_profile"), &profile)?;
        put(&place.repository().join("Cargo.toml"), MANIFEST)?;
        put(&place.repository().join("src/lib.rs"), BROKEN)?;
        put(&place.repository().join("tests/adds.rs"), TEST)?;
        put(
            &place.repository().join(".gitignore"),
            "target/\nCargo.lock\n",
        )?;
        let there = place.path("there.git");
        place.git(&[
            "init",
            "--quiet",
            "--bare",
            "--initial-branch=main",
            &there.to_string_lossy(),
        ])?;
        place.git(&["init", "--quiet", "--initial-branch=main"])?;
        place.git(&["config", "user.name", "Agent"])?;
        place.git(&["config", "user.email", "agent@example.org"])?;
        place.git(&["add", "--all"])?;
        place.git(&["commit", "--quiet", "--message=Start"])?;
        place.git(&["remote", "add", "origin", &there.to_string_lossy()])?;
        place.git(&["push", "--quiet", "--set-upstream", "origin", "main"])?;
        Ok(place)
    }

    /// Returns a path in the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.whole.path().join(name)
    }

    /// Returns the repository in which the agent works.
    pub(crate) fn repository(&self) -> PathBuf {
        self.path("repository")
    }

    /// Returns the number of commits that arrived in the repository to push to.
    pub(crate) fn arrived(&self) -> Result<usize> {
        let there = self.path("there.git");
        let count = self.git(&[
            "--git-dir",
            &there.to_string_lossy(),
            "rev-list",
            "--count",
            "main",
        ])?;
        count.trim().parse().map_err(|error| {
            Failure::of(format!("`git rev-list --count` printed `{count}`"), error)
        })
    }

    /// Returns a command in the repository, with the temporary home and without an agent's environment.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repository())
            .env("HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env_remove("CLAUDECODE")
            .env_remove("AI_AGENT")
            .env_remove("CLAUDE_CODE_ENTRYPOINT");
        // The temporary home would hide the user's toolchain.
        if let Some(home) = std::env::home_dir() {
            for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                command.env(variable, home.join(folder));
            }
        }
        command
    }

    /// Runs `roleos` in the repository; returns its standard output.
    pub(crate) fn roleos(&self, arguments: &[&str]) -> Result<String> {
        output(self.command(&self.roleos).args(arguments))
    }

    /// Runs git in the repository as its user; returns its standard output.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String> {
        output(self.command("git").args(arguments))
    }
}

/// Runs a command and returns its standard output; anything but success is a failure with the output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = format!("{command:?}");
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .map_err(|error| Failure::of(format!("cannot start {line}"), error))?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&stderr);
    Err(Failure::new(format!(
        "{line} failed ({status})\n{text}{errors}"
    )))
}

pub(crate) fn make(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .map_err(|error| Failure::of(format!("cannot make `{}`", path.display()), error))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a throw-away file; nobody reads it half-written"
)]
pub(crate) fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)
        .map_err(|error| Failure::of(format!("cannot write `{}`", path.display()), error))
}
