//! The machines in which commands run, each a process of `sandbox.py`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::workspace::ROLEOS;

/// A command, with its files.
#[derive(Debug, Serialize)]
struct Job<'c> {
    command: &'c str,
    files: &'c BTreeMap<String, String>,
    prefix: &'c [&'c str],
    seconds: u32,
}

/// Its result.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Ran {
    /// The exit code; a signal is its negative number.
    #[serde(default)]
    pub(super) exit: i32,
    /// Set if it had to be ended.
    #[serde(default)]
    pub(super) late: bool,
    /// The words of each recorder that ran.
    #[serde(default)]
    pub(super) log: Vec<Vec<String>>,
    /// Content that `roleos run --report` wrote.
    #[serde(default)]
    pub(super) report: String,
    #[serde(default)]
    pub(super) stdout: String,
    #[serde(default)]
    pub(super) stderr: String,
    /// Reason why there was no machine.
    pub(super) failed: Option<String>,
}

/// A process that creates a fresh machine for each command.
#[derive(Debug)]
pub(super) struct Machine {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Machine {
    /// Starts one. Needs Python and the right to create namespaces.
    pub(super) fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/supervised");
        let rust = Command::new("rustc").args(["--print", "sysroot"]).output();
        let rust = rust.map_or(String::new(), |shown| {
            String::from_utf8_lossy(&shown.stdout).trim().to_owned()
        });
        let mut child = Command::new("/usr/bin/python3")
            .arg(folder.join("sandbox.py"))
            .arg(folder.join("recorder.sh"))
            .args([ROLEOS, &rust])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut machine = Self {
            child,
            input,
            output,
        };
        let first = machine.line();
        assert!(
            first.contains("ready"),
            "a machine of its own for each command needs namespaces (mount, pid, user, net): {first}"
        );
        machine
    }

    /// Runs a command after the arguments of `prefix`.
    pub(super) fn run(
        &mut self,
        command: &str,
        files: &BTreeMap<String, String>,
        prefix: &[&str],
        seconds: u32,
    ) -> Ran {
        let job = Job {
            command,
            files,
            prefix,
            seconds,
        };
        let mut line = serde_json::to_string(&job).unwrap();
        line.push('\n');
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        let answer = self.line();
        let ran: Ran = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
        assert_eq!(ran.failed, None, "{command}");
        ran
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It ends at the end of its input.
        self.input = None;
        drop(self.child.wait());
    }
}
