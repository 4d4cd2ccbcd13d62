//! A directory in which the programs run: created once per writer, saved, and restored before each trial. Decides
//! nothing.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Time after which a command counts as hung.
const TOO_LONG: Duration = Duration::from_secs(40);

/// Result type with a text for the user.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// Adds the attempt to an error of the system.
pub(crate) fn failed<T>(attempt: &str, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| format!("{attempt}: {error}"))
}

/// One run of a program.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// Exit code; `None` after a signal or a hang.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or(Value::Null)
    }

    /// Returns `true` if a hook's answer stops the call, in the agent's interpretation.
    pub(crate) fn is_denied(&self) -> bool {
        let decision = self.json();
        let decision = decision.pointer("/hookSpecificOutput/permissionDecision");
        self.code == Some(2) || decision.is_some_and(|decision| decision == "deny")
    }

    /// Returns `true` if the program panicked, was aborted or hung, but not if the trial killed it.
    pub(crate) fn is_crash(&self) -> bool {
        self.code == Some(101) || (self.code.is_none() && self.signal != Some(9))
    }

    /// Returns the end of the error output, in one line.
    pub(crate) fn complaint(&self) -> String {
        let line = self.stderr.lines().rev().find(|line| !line.is_empty());
        let line: String = line.unwrap_or_default().chars().take(160).collect();
        match self.code {
            Some(code) => format!("exit {code}: {line}"),
            None => format!("signal {:?}: {line}", self.signal),
        }
    }
}

/// A workspace and a home beside it.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    saved: TempDir,
    programs: PathBuf,
    _owned: TempDir,
}

impl Place {
    /// Creates an empty place; `programs` contains `roleos` and `roleos-hook`.
    pub(crate) fn new(programs: &Path) -> Result<Self> {
        let folder = failed("cannot make a folder", TempDir::new())?;
        Self::at(programs, folder)
    }

    /// Creates an empty place in this directory.
    pub(crate) fn at(programs: &Path, owned: TempDir) -> Result<Self> {
        let place = Self {
            folder: owned.path().to_owned(),
            saved: failed("cannot make a folder", TempDir::new())?,
            programs: programs.to_owned(),
            _owned: owned,
        };
        for folder in [place.root().join(".role-os"), place.home()] {
            failed("cannot make a folder", fs::create_dir_all(folder))?;
        }
        Ok(place)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("work")
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file of the workspace and creates its parent directories.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(name);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folder.and_then(|()| File::create(&path)?.write_all(bytes));
        failed(&format!("cannot write `{}`", path.display()), written)
    }

    /// Reads a file of the workspace; one that is missing or not text is empty.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read(self.path(name)).map_or_else(
            |_| String::new(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Saves the current state for [`Place::restore`].
    pub(crate) fn save(&self) -> Result<()> {
        let kept = copy(&self.folder, self.saved.path());
        failed("cannot keep the workspace", kept)
    }

    /// Restores the state of the last [`Place::save`].
    pub(crate) fn restore(&self) -> Result<()> {
        let restored = empty(&self.folder).and_then(|()| copy(self.saved.path(), &self.folder));
        failed("cannot put the workspace back", restored)
    }

    /// Returns the files below `.role-os/` and `.claude/`, by their paths in the workspace.
    pub(crate) fn own_files(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in [".role-os", ".claude"] {
            list(&self.path(folder), &mut found);
        }
        let root = self.root();
        let below = |path: &PathBuf| Some(path.strip_prefix(&root).ok()?.to_str()?.to_owned());
        let mut names: Vec<String> = found.iter().filter_map(below).collect();
        names.sort();
        names
    }

    /// Returns the program of these arguments: agents start `roleos-hook`.
    pub(crate) fn program(&self, words: &[&str]) -> PathBuf {
        let is_hook = words.first() == Some(&"hook");
        self.programs
            .join(if is_hook { "roleos-hook" } else { "roleos" })
    }

    /// Returns a command in this workspace, independent of the user's settings and variables.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home())
            .env("ROLEOS_ROOT", self.root())
            .env("NO_COLOR", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.root());
        command
    }

    /// Runs the program of these arguments to its end.
    pub(crate) fn roleos(&self, words: &[&str], input: &str) -> Result<Ran> {
        let mut command = self.command(&self.program(words));
        command.args(words);
        self.run(command, input)
    }

    /// Runs a command to its end, or kills it if it hangs.
    pub(crate) fn run(&self, command: Command, input: &str) -> Result<Ran> {
        Started::new(command, input)?.wait(TOO_LONG)
    }
}

/// A running program, with its output in files so that no pipe can block it.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    stdout: File,
    stderr: File,
}

impl Started {
    pub(crate) fn new(mut command: Command, input: &str) -> Result<Self> {
        let file = || failed("cannot make a file", tempfile::tempfile());
        let same = |file: &File| failed("cannot share a file", file.try_clone());
        let (mut stdin, stdout, stderr) = (file()?, file()?, file()?);
        let fed = stdin.write_all(input.as_bytes());
        failed("cannot write the input", fed.and_then(|()| stdin.rewind()))?;
        let child = command
            .stdin(stdin)
            .stdout(Stdio::from(same(&stdout)?))
            .stderr(Stdio::from(same(&stderr)?))
            .spawn();
        let name = command.get_program().to_string_lossy().into_owned();
        Ok(Self {
            child: failed(&format!("cannot start `{name}`"), child)?,
            stdout,
            stderr,
        })
    }

    /// Waits for the end, up to a time limit.
    pub(crate) fn wait(mut self, most: Duration) -> Result<Ran> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match failed("cannot wait", self.child.try_wait())? {
                Some(status) => break Some(status),
                None if started.elapsed() > most => break None,
                None => thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        if status.is_none() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
        Ok(Ran {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status: ExitStatus| status.signal()),
            stdout: text(&mut self.stdout)?,
            stderr: text(&mut self.stderr)?,
        })
    }
}

fn text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    failed("cannot read the output", read)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn list(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => list(&path, found),
            false => found.push(path),
        }
    }
}

/// Removes everything in a directory; the directory itself may be a mount and stays.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Copies the content of one directory into another existing one.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mode = fs::metadata(from)?.permissions().mode();
    fs::set_permissions(to, fs::Permissions::from_mode(mode | 0o700))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy(&path, &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&path)?, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
