//! Detects if the agent of a session still runs: identifies its process, even if its number is reused.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files;

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Start time, as the system counts; 0 if unknown.
    pub started: u64,
}

/// Programs between an agent and its hook that end with the hook.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "env"];

/// Largest number of processes between the hook and the agent.
const MAX_STEPS: usize = 8;

/// Longest line about a process.
const MAX_STAT: u64 = 4096;

/// Returns the process that started this one, without shells between them. `None` if the system does not report it.
#[must_use]
pub fn agent_process() -> Option<Process> {
    above(Path::new("/proc"), std::os::unix::process::parent_id())
}

/// Returns `true` if the process runs. Without `/proc`, it counts as alive as long as a process with that number
/// exists.
#[must_use]
pub fn is_alive(process: Process) -> bool {
    let proc = Path::new("/proc");
    match Stat::read(proc, process.id) {
        Some(stat) => stat.started == process.started && !stat.is_dead,
        None => !proc.join("self").exists() && exists(process.id),
    }
}

fn exists(id: u32) -> bool {
    let id = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process(id).is_ok())
}

fn above(proc: &Path, first: u32) -> Option<Process> {
    let mut id = first;
    for _ in 0..MAX_STEPS {
        let stat = Stat::read(proc, id)?;
        if !SHELLS.contains(&stat.name.as_str()) {
            // The first process is never an agent: the program that started us has ended.
            return (id > 1 || first == 1).then_some(Process {
                id,
                started: stat.started,
            });
        }
        id = stat.parent;
    }
    None
}

/// Returns a process, with the number of its parent.
pub fn of_process(id: u32) -> Option<(Process, u32)> {
    let Stat {
        parent, started, ..
    } = Stat::read(Path::new("/proc"), id)?;
    Some((Process { id, started }, parent))
}

/// The system's record of a process.
struct Stat {
    name: String,
    parent: u32,
    started: u64,
    is_dead: bool,
}

impl Stat {
    /// Parses `pid (name) state ppid … starttime …`; the name may contain blanks and brackets.
    fn read(proc: &Path, id: u32) -> Option<Self> {
        let bytes = files::read(&proc.join(id.to_string()).join("stat"), MAX_STAT).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let mut fields = after.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // The twenty-second field of the line, of which two are before the bracket and two are taken.
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self {
            name: name.to_owned(),
            parent,
            started,
            is_dead: matches!(state, "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn process(id: u32) -> Process {
        let stat = Stat::read(Path::new("/proc"), id).unwrap();
        Process {
            id,
            started: stat.started,
        }
    }

    #[test]
    fn a_process_lives_until_it_ends_and_is_no_later_one() {
        let own = process(std::process::id());
        assert!(is_alive(own));
        let later = Process {
            started: own.started + 1,
            ..own
        };
        assert!(!is_alive(later));
        let mut child = Command::new("sleep")
            .arg("60")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let child_process = process(child.id());
        assert!(is_alive(child_process));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(child_process));
    }

    #[test]
    fn shells_are_passed_over() {
        let proc = tempfile::tempdir().unwrap();
        let put = |id: u32, name: &str, parent: u32, started: u64| {
            let folder = proc.path().join(id.to_string());
            files::make_directory(&folder, files::Privacy::Shared).unwrap();
            let zeros = "0 ".repeat(17);
            let line = format!("{id} ({name}) S {parent} {zeros}{started} 0\n");
            files::write(
                &folder.join("stat"),
                line.as_bytes(),
                files::Privacy::Shared,
            )
            .unwrap();
        };
        put(1, "init", 0, 1);
        put(10, "claude (x) y", 1, 500);
        put(11, "bash", 10, 600);
        put(12, "sh", 11, 700);
        put(20, "sh", 1, 800);
        let found = above(proc.path(), 12).unwrap();
        assert_eq!((found.id, found.started), (10, 500));
        assert_eq!(above(proc.path(), 20), None);
        assert_eq!(above(proc.path(), 99), None);
    }

    #[test]
    fn the_one_above_us_is_found() {
        let found = agent_process();
        assert!(found.is_none_or(is_alive));
    }
}
