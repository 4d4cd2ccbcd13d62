//! A fresh folder in which the binary runs, and the results of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

/// Longer than any of our commands takes; one that takes longer hangs.
const TOO_LONG: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) const ROLEOS: &str = env!("CARGO_BIN_EXE_roleos");

/// The small program that agents and git execute.
pub(crate) const ROLEOS_HOOK: &str = env!("CARGO_BIN_EXE_roleos-hook");

/// Result of one run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Ran {
    /// Asserts this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Returns a hook's answer as its agent treats it: a refusal in JSON stops a call like exit code 2, and the agent
    /// reads its reason.
    pub(crate) fn seen_by_agent(self) -> Self {
        let answer: Option<Value> = serde_json::from_str(&self.stdout).ok();
        let specific = answer
            .as_ref()
            .and_then(|answer| answer.get("hookSpecificOutput"));
        match specific {
            Some(said) if self.code == 0 && said["permissionDecision"] == "deny" => Self {
                stdout: String::new(),
                stderr: format!("{}\n", said["permissionDecisionReason"].as_str().unwrap()),
                code: 2,
            },
            _ => self,
        }
    }

    /// Asserts success, and returns the output.
    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        self.exits(0).stdout
    }

    /// Returns the output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{self:#?}"))
    }

    /// Returns the output as one JSON value per line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:#?}"));
        self.stdout.lines().map(line).collect()
    }

    /// Returns the error for people: no output, one line, at most one hint, no trace of a panic.
    #[track_caller]
    pub(crate) fn error(&self) -> &str {
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(self.stdout.is_empty(), "{self:#?}");
        assert!(matches!(lines.len(), 1 | 2), "{self:#?}");
        assert!(lines[0].starts_with("error: "), "{self:#?}");
        let hints = lines.iter().skip(1).all(|line| line.starts_with("hint: "));
        assert!(hints, "{self:#?}");
        self.stderr.trim_end()
    }

    /// Returns the error for programs: one JSON line with exactly the documented keys.
    #[track_caller]
    pub(crate) fn json_error(&self) -> Value {
        assert!(self.stdout.is_empty(), "{self:#?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:#?}");
        let error: Value = serde_json::from_str(&self.stderr).unwrap();
        assert_eq!(keys(&error), ["code", "message", "hint", "retryable"]);
        error
    }
}

/// Returns the keys of an object, in order.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().expect("an object");
    fields.keys().map(String::as_str).collect()
}

/// A temporary folder, used as the root of a workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns a separate home, so that the tester's decisions and git settings have no effect.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Creates a workspace with settings.
    pub(crate) fn with_config(config: &str) -> Self {
        let workspace = Self::new();
        workspace.write(".role-os/config.toml", config);
        workspace
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the binary with these arguments, to be run in the folder; for those of a hook, the installed one.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let is_hook = matches!(arguments.first(), Some(&("hook" | "pre-push")));
        self.program(if is_hook { ROLEOS_HOOK } else { ROLEOS }, arguments)
    }

    /// Returns a program with these arguments, to be run in the folder.
    pub(crate) fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.root())
            .env("ROLEOS_ROOT", self.root())
            .env("HOME", self.home())
            .env_remove("ROLEOS_CONFIG")
            .env_remove("XDG_STATE_HOME")
            .env("NO_COLOR", "1");
        // The tests themselves may run below an agent.
        for mark in crate::init::MARKS {
            command.env_remove(mark);
        }
        command
    }

    /// Returns this command as a user who is subject to permissions: the current one, or `nobody` instead of root.
    pub(crate) fn unprivileged(&self, command: Command) -> Command {
        use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
        if !is_root() {
            return command;
        }
        // The build folder may be closed to other users, so the binary is copied to an accessible one.
        let copy = self.path("roleos");
        if !copy.exists() {
            fs::copy(ROLEOS, &copy).unwrap();
            fs::set_permissions(self.root(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut other = Command::new(copy);
        other.args(command.get_args()).current_dir(self.root());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        other.uid(65_534).gid(65_534);
        other
    }

    /// Runs the binary with these arguments.
    #[track_caller]
    pub(crate) fn roleos(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments))
    }

    /// Seals with these arguments and returns the JSON answer.
    #[track_caller]
    pub(crate) fn seal(&self, arguments: &[&str]) -> Value {
        let words = [&["--json", "witness", "seal"], arguments].concat();
        self.roleos(&words).exits(0).json()
    }

    /// Seals `count` empty bundles, and returns their files.
    pub(crate) fn seal_some(&self, count: usize) -> Vec<PathBuf> {
        let file = |sealed: Value| PathBuf::from(sealed["file"].as_str().unwrap());
        (0..count)
            .map(|_| file(self.seal(&["--outcome", "solved"])))
            .collect()
    }

    /// Returns the answer of `ledger verify`, and the kinds of the problems.
    #[track_caller]
    pub(crate) fn audit(&self, arguments: &[&str]) -> (Value, Vec<String>) {
        let words = [&["--json", "ledger", "verify"], arguments].concat();
        let ran = self.roleos(&words);
        let answer = ran.json();
        let problems = answer["problems"].as_array().unwrap();
        let kinds: Vec<String> = problems
            .iter()
            .map(|problem| problem["kind"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(answer["ok"], kinds.is_empty(), "{ran:#?}");
        assert_eq!(ran.code, i32::from(!kinds.is_empty()), "{ran:#?}");
        (answer, kinds)
    }

    /// Returns every file below the folder with its bytes, to check that nothing changed.
    pub(crate) fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(self.root(), &mut files);
        files.sort();
        files
    }
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            files.push((path, bytes));
        }
    }
}

/// Runs a command to its end, or fails the test if it hangs.
#[track_caller]
pub(crate) fn ran(command: Command) -> Ran {
    let output = assert_cmd::Command::from_std(command)
        .timeout(TOO_LONG)
        .output()
        .unwrap();
    Ran {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Returns `true` if the tests run as root, who is not subject to permissions.
pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}
