//! The commits that a mining run has tried, on disk, so that a killed run resumes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::files;
use serde::{Deserialize, Serialize};

use super::{Plan, Tried};
use crate::suite::{self, Suite};

/// Largest list of dropped commits.
const MAX_LIST: u64 = 256 << 20;

/// A commit that was dropped.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    commit: String,
    reason: String,
    detail: String,
}

/// Files of a mining run.
#[derive(Clone, Debug)]
pub struct Progress {
    folder: PathBuf,
}

impl Progress {
    /// Opens the progress of a plan below a folder. Without `goes_on`, or with another plan, it starts over.
    ///
    /// # Errors
    /// A file cannot be written, or the progress is that of another plan.
    pub fn open(folder: &Path, plan: &Plan, goes_on: bool) -> io::Result<Self> {
        // The numbers of tasks and threads may change.
        let same = Plan {
            limit: 0,
            jobs: 0,
            ..plan.clone()
        };
        let plan = hex::encode(base::digest(format!("{same:?}").as_bytes()));
        let known = fs::read_to_string(folder.join("plan")).ok();
        if !goes_on || known.is_none() {
            fs::remove_dir_all(folder).ok();
        } else if known.as_deref() != Some(plan.as_str()) {
            return Err(io::Error::other(
                "other commands or options were mined before; leave `--resume` out to start anew",
            ));
        }
        fs::create_dir_all(folder)?;
        files::write_plainly(&folder.join("plan"), plan.as_bytes())
            .map_err(|error| error.source)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Returns the commits that were tried.
    #[must_use]
    pub fn tried(&self) -> BTreeMap<String, Tried> {
        let bytes = files::read(&self.folder.join("dropped.jsonl"), MAX_LIST).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let dropped = lines.map(|line| (line.commit, Err((Cow::Owned(line.reason), line.detail))));
        let entries = fs::read_dir(self.folder.join("found"))
            .into_iter()
            .flatten()
            .flatten();
        // A truncated task is tried again.
        let suites = entries.filter_map(|entry| Suite::read(&entry.path()).ok());
        let whole = suites.filter(|suite| suite.changed().is_empty());
        let found = whole.flat_map(|suite| suite.members);
        dropped
            .chain(found.map(|member| (member.task.fix_commit.clone(), Ok(member))))
            .collect()
    }

    /// Stores a tried commit. A commit that cannot be stored is tried again.
    pub fn keep(&self, commit: &str, tried: &Tried) {
        match tried {
            Ok(member) => {
                let folder = self.folder.join("found").join(commit);
                fs::remove_dir_all(&folder).ok();
                suite::write(&folder, "one", "", std::slice::from_ref(member)).ok();
            }
            Err((reason, detail)) => {
                let line =
                    serde_json::json!({"commit": commit, "reason": reason, "detail": detail});
                let path = self.folder.join("dropped.jsonl");
                files::append_line(&path, &format!("{line}\n"), false).ok();
            }
        }
    }
}
