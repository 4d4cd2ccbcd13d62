//! Sandbox by Docker or Podman, for machines without user namespaces: the same mounts, no network, no capabilities.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base::process;

use super::{Job, Limits, Mount};

/// Time limit for an answer of the daemon.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a list of containers that are read.
const MAX_LIST: usize = 1 << 20;

/// A container engine and the image of its containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Path of `docker` or `podman`.
    pub program: PathBuf,
    /// Name of the image.
    pub image: String,
    /// Label that identifies the containers of a run.
    pub label: String,
}

impl Container {
    /// Checks that the engine answers.
    ///
    /// # Errors
    /// Fails with the reason as text.
    pub fn check(&self) -> Result<(), String> {
        let name = self.program.display();
        let mut command = Command::new(&self.program);
        command
            .args(["version", "--format", "{{.Server.Version}}"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|error| format!("`{name}` cannot be started: {error}"))?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(_)) | Err(_) => return Err(format!("no daemon of `{name}` answers here")),
                Ok(None) => thread::sleep(Duration::from_millis(20)),
            }
        }
        child.kill().ok();
        child.wait().ok();
        Err(format!("no daemon of `{name}` answers within 2 seconds"))
    }

    /// Removes the containers of earlier sandboxes with the same label.
    pub fn remove_left(&self) {
        let filter = format!("label={}", self.label);
        let mut list = Command::new(&self.program);
        list.args(["ps", "--all", "--quiet", "--filter", &filter]);
        let Ok(listed) = process::output(&mut list, &[], MAX_LIST) else {
            return;
        };
        String::from_utf8_lossy(&listed.stdout.bytes)
            .lines()
            .for_each(|id| self.remove(id));
    }

    pub(super) fn remove(&self, name: &str) {
        Command::new(&self.program)
            .args(["rm", "--force", name])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok();
    }

    /// Returns the arguments that create a container, up to the command in it.
    #[must_use]
    pub fn words(&self, job: &Job<'_>, limits: &Limits, name: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = [
            "run",
            "--rm",
            "--interactive",
            "--read-only",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
        ]
        .map(OsString::from)
        .to_vec();
        let network = if job.network { "bridge" } else { "none" };
        let pairs = [
            ("--network", network.to_owned()),
            ("--pids-limit", limits.processes.to_string()),
            ("--memory", limits.memory.to_string()),
            ("--label", self.label.clone()),
            ("--name", name.to_owned()),
        ];
        for (option, value) in pairs {
            words.extend([option.into(), value.into()]);
        }
        for mount in &job.mounts {
            let bind = |outside: &PathBuf, inside: &PathBuf, ending: &str| {
                let mut text = OsString::from("type=bind,source=");
                text.push(outside);
                text.push(",target=");
                text.push(inside);
                text.push(ending);
                text
            };
            let [option, value] = match mount {
                Mount::Read(outside, inside) => {
                    ["--mount".into(), bind(outside, inside, ",readonly")]
                }
                Mount::Write(outside, inside) => ["--mount".into(), bind(outside, inside, "")],
                Mount::Scratch(inside, size) => {
                    let mut text = inside.clone().into_os_string();
                    text.push(format!(":rw,exec,mode=1777,size={size}"));
                    ["--tmpfs".into(), text]
                }
            };
            words.extend([option, value]);
        }
        for (name, value) in &job.environment {
            let mut text = name.clone();
            text.push("=");
            text.push(value);
            words.extend(["--env".into(), text]);
        }
        words.extend([
            "--workdir".into(),
            job.directory.clone().into(),
            self.image.clone().into(),
        ]);
        words
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::User;

    fn container(program: &str) -> Container {
        Container {
            program: program.into(),
            image: "python:3.12".to_owned(),
            label: "roleos.run=r1".to_owned(),
        }
    }

    #[test]
    fn a_container_has_no_rights_no_network_and_the_same_mounts() {
        let job = Job {
            words: Vec::new(),
            mounts: vec![
                Mount::Scratch("/tmp".into(), 1024),
                Mount::Write("/slot/wt".into(), "/w/repo".into()),
                Mount::Read("/slot/issue.md".into(), "/w/issue.md".into()),
            ],
            environment: vec![("A".into(), "b c".into())],
            directory: "/w/repo".into(),
            input: Path::new("/dev/null"),
            network: false,
            user: User::Caller,
            launcher: Vec::new(),
            container: None,
        };
        let limits = Limits {
            time: Duration::from_secs(1),
            memory: 4096,
            processes: 7,
            output: 1,
            program: PathBuf::new(),
        };
        let words = container("docker").words(&job, &limits, "n1");
        let text: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let expected = "run|--rm|--interactive|--read-only|--cap-drop|ALL|--security-opt|no-new-privileges|--network|none|--pids-limit|7|\
            --memory|4096|--label|roleos.run=r1|--name|n1|--tmpfs|/tmp:rw,exec,mode=1777,size=1024|\
            --mount|type=bind,source=/slot/wt,target=/w/repo|--mount|type=bind,source=/slot/issue.md,target=/w/issue.md,readonly|\
            --env|A=b c|--workdir|/w/repo|python:3.12";
        assert_eq!(text.join("|"), expected);
    }

    #[test]
    fn an_engine_that_does_not_answer_is_named() {
        let missing = container("/does/not/exist").check().unwrap_err();
        assert!(missing.contains("cannot be started"), "{missing}");
        let failing = container("false").check().unwrap_err();
        assert!(
            failing.contains("no daemon of `false` answers"),
            "{failing}"
        );
        container("true").check().unwrap();
    }
}
