//! The logs of a workspace as one stream, by time: sessions, gateway, adapters, events and decisions of people.
//!
//! Every log is JSON, one object per line, with its time under one of a few keys. Lines are read as they are and not
//! checked; the commands of each log do that.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::environment::Environment;
use crate::files;
use crate::specialist_paths::{Named, Paths};
use crate::workspace::Workspace;

/// Most bytes of one log that are read at a time; of a longer one, only the end is read.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// Keys of a line's time.
const TIMES: [&str; 7] = [
    "/time_ns",
    "/at",
    "/ts",
    "/time",
    "/timestamp",
    "/receipt/at",
    "/created_at",
];

/// One line of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Time of the line.
    pub time: Timestamp,
    /// The log: `session`, `gateway`, `adapter`, `probe`, `field`, `event`, `run`, `feedback` or `decision`.
    pub log: &'static str,
    /// The line.
    pub record: Value,
}

/// Reader of a workspace's logs that continues where it stopped.
#[derive(Debug)]
pub struct Logs {
    files: Vec<(&'static str, PathBuf)>,
    sessions: PathBuf,
    read: std::collections::BTreeMap<PathBuf, u64>,
}

impl Logs {
    /// Collects the logs; missing ones are read when they appear.
    #[must_use]
    pub fn of(workspace: &Workspace, environment: &Environment) -> Self {
        let folder = workspace.role_os_dir();
        let specialists = Paths::find(workspace, environment, &Named::default());
        Self {
            files: vec![
                ("gateway", folder.join("gateway.jsonl")),
                ("adapter", specialists.events),
                ("probe", specialists.probes),
                ("field", specialists.field_log),
                ("event", folder.join("events.jsonl")),
                ("run", folder.join("run_log.jsonl")),
                ("feedback", folder.join("feedback.jsonl")),
                ("decision", workspace.receipts_path()),
            ],
            sessions: workspace.sessions_dir(),
            read: std::collections::BTreeMap::new(),
        }
    }

    /// Returns the lines that were added since the last call, by time. Lines without a time are skipped.
    pub fn news(&mut self) -> Vec<Entry> {
        let journals = files::read_dir(&self.sessions).into_iter().flatten();
        let journals = journals.flatten().map(|entry| entry.path());
        let journals = journals.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
        let all = self.files.iter().cloned();
        let all: Vec<_> = all.chain(journals.map(|path| ("session", path))).collect();
        let mut entries = Vec::new();
        for (log, path) in all {
            let start = self.read.get(&path).copied().unwrap_or(0);
            let Ok((text, end)) = read_lines(&path, start) else {
                continue;
            };
            entries.extend(text.split(|byte| *byte == b'\n').filter_map(|line| {
                let record: Value = serde_json::from_slice(line).ok()?;
                let time = time_of(&record)?;
                Some(Entry { time, log, record })
            }));
            self.read.insert(path, end);
        }
        entries.sort_by_key(|entry| entry.time);
        entries
    }
}

/// Reads the whole lines behind `start`, and returns where they end. A file that became shorter is read from its
/// beginning: it was rotated.
fn read_lines(path: &Path, start: u64) -> io::Result<(Vec<u8>, u64)> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let start = if start > length { 0 } else { start };
    let from = start.max(length.saturating_sub(MAX_READ));
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(MAX_READ).read_to_end(&mut text)?;
    let whole = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
    text.truncate(whole);
    Ok((text, from + whole as u64))
}

fn time_of(record: &Value) -> Option<Timestamp> {
    TIMES.iter().find_map(|key| match record.pointer(key)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => {
            let number = i128::from(number.as_u64()?);
            // Seconds, milliseconds or nanoseconds, distinguished by their size.
            let unit = match number {
                0..=99_999_999_999 => 1_000_000_000,
                100_000_000_000..=99_999_999_999_999 => 1_000_000,
                _ => 1,
            };
            Timestamp::from_nanosecond(number.checked_mul(unit)?).ok()
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_logs_come_by_time_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let put = |name: &str, text: &str| {
            let path = workspace.role_os_dir().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            files::write(&path, text.as_bytes(), files::Privacy::Shared).unwrap();
        };
        put(
            "gateway.jsonl",
            "{\"ts\":\"2026-01-01T00:00:02Z\"}\nnot JSON\n{\"ts\":\"2026-01-01T00:00:09Z\"",
        );
        put(
            "sessions/s.jsonl",
            "{\"time_ns\":1767225601000000000,\"kind\":\"call\"}\n",
        );
        put(
            "receipts.jsonl",
            "{\"receipt\":{\"at\":\"2026-01-01T00:00:03Z\"}}\n{\"denied\":\"x\"}\n",
        );
        let mut logs = Logs::of(&workspace, &Environment::default());
        let seen = |entries: Vec<Entry>| -> Vec<(String, &'static str)> {
            let shown = |entry: Entry| (entry.time.to_string(), entry.log);
            entries.into_iter().map(shown).collect()
        };
        let at = |second: u8, log| (format!("2026-01-01T00:00:0{second}Z"), log);
        assert_eq!(
            seen(logs.news()),
            [at(1, "session"), at(2, "gateway"), at(3, "decision")]
        );
        assert_eq!(seen(logs.news()), []);
        // The cut line is completed, and the file is rotated after that.
        put(
            "gateway.jsonl",
            "{\"ts\":\"2026-01-01T00:00:02Z\"}\nnot JSON\n{\"ts\":\"2026-01-01T00:00:09Z\"}\n",
        );
        assert_eq!(seen(logs.news()), [at(9, "gateway")]);
        put("gateway.jsonl", "{\"ts\":1767225605}\n");
        assert_eq!(seen(logs.news()), [at(5, "gateway")]);
    }
}
