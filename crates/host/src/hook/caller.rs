//! The process of the agent that called the hook, so that a later start can tell whether the session can still go on.

use std::os::unix::process::parent_id;
use std::path::Path;

use crate::files;
use crate::journal::record::Process;

/// Programs between an agent and its hook that end with the hook.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "env"];

/// How many of them are passed by.
const MAX_STEPS: usize = 4;

/// The nearest process above us that is no shell. Without `/proc` its start is not known.
pub(super) fn of_agent() -> Option<Process> {
    let mut id = parent_id();
    for _ in 0..MAX_STEPS {
        let Some(stat) = Stat::read(id) else {
            return (id > 0).then_some(Process { id, started: 0 });
        };
        if !SHELLS.contains(&stat.name.as_str()) {
            return Some(Process {
                id,
                started: stat.started,
            });
        }
        id = stat.parent;
    }
    None
}

struct Stat {
    name: String,
    parent: u32,
    started: u64,
}

impl Stat {
    /// The name stands in brackets and may itself hold any; the parent is the second field behind it, the start the
    /// twentieth.
    fn read(id: u32) -> Option<Self> {
        let path = Path::new("/proc").join(id.to_string()).join("stat");
        let text = String::from_utf8(files::read(&path, 4096).ok()?).ok()?;
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let fields: Vec<&str> = after.split_ascii_whitespace().collect();
        Some(Self {
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}
