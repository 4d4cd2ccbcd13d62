//! The protocol's five events on disk, `.role-os/events.jsonl`: one envelope per line, for other programs to follow.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use selection::event::{Envelope, Event};

use crate::runs;
use base::clock;
use base::files::{self, FileError, Lock, Tail};
use base::workspace::Workspace;

/// Default source of an event.
pub const SOURCE: &str = "roleos";

/// Bytes that a follower reads at a time.
const READ_AT_ONCE: u64 = 16 * 1024 * 1024;

/// Longest line that is read.
const MAX_LINE: usize = 1024 * 1024;

/// Returns the path of the events.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("events.jsonl")
}

/// Puts events into envelopes with fresh ids and the time, and appends them in one step. Returns the state of the last
/// line; a torn one stays visible. Written lines survive the end of this process.
///
/// # Errors
/// The file cannot be locked or written.
pub fn emit(path: &Path, events: &[Event]) -> Result<Tail, FileError> {
    let now = clock::text(clock::now_ns());
    let mut lines = String::new();
    for event in events {
        let envelope = event.envelope(base::fresh_uuid().to_string(), now.clone(), SOURCE);
        lines.push_str(&serde_json::to_string(&envelope).unwrap_or_default());
        lines.push('\n');
    }
    let _alone = Lock::beside(path)?;
    files::append_line(path, &lines, false)
}

/// Passes every event to `take`; returns the number of other lines. No file means no events.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path, mut take: impl FnMut(Envelope)) -> Result<u64, FileError> {
    let mut unreadable = 0;
    let read = runs::lines_up_to(path, MAX_LINE, |line| match serde_json::from_slice(line) {
        Ok(envelope) => take(envelope),
        Err(_) => unreadable += 1,
    });
    match read {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(0),
        read => read.map(|()| unreadable),
    }
}

/// Follower of the events while they are written.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    at: u64,
    rest: Vec<u8>,
}

impl Follower {
    /// Starts at the beginning of the file, which need not exist yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            at: 0,
            rest: Vec::new(),
        }
    }

    /// Returns the events since the last call; an unfinished line is returned later. A file that became shorter is read
    /// from its beginning.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn news(&mut self) -> Result<Vec<Envelope>, FileError> {
        let failed = |source| FileError::new(files::Action::Read, &self.path, source);
        let mut file = match files::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        if file.metadata().map_err(failed)?.len() < self.at {
            self.at = 0;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.at)).map_err(failed)?;
        let mut buffer = Vec::new();
        let read = file.take(READ_AT_ONCE).read_to_end(&mut buffer);
        self.at += read.map_err(failed)? as u64;
        self.rest.append(&mut buffer);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n');
        let whole: Vec<u8> = self.rest.drain(..end.map_or(0, |end| end + 1)).collect();
        if self.rest.len() > MAX_LINE {
            self.rest.clear();
        }
        let lines = whole.split(|byte| *byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use selection::event::NAMES;
    use serde_json::json;

    use super::*;

    #[test]
    fn events_come_back_in_order_and_a_torn_line_spoils_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/events.jsonl");
        assert_eq!(read(&path, |_| panic!("there is nothing")).unwrap(), 0);
        let change = |epoch: u64| Event::EvalMetricChange(json!({ "epoch": epoch }));
        emit(&path, &[change(1), change(2)]).unwrap();
        let mut torn = fs::read(&path).unwrap();
        torn.extend(b"{\"event\":\"INF");
        #[expect(clippy::disallowed_methods, reason = "plays a crash")]
        fs::write(&path, torn).unwrap();
        assert_eq!(emit(&path, &[change(3)]).unwrap(), Tail::Torn);
        let mut epochs = Vec::new();
        let unreadable = read(&path, |envelope| {
            assert!(NAMES.contains(&envelope.event.as_str()));
            epochs.push(envelope.payload["epoch"].as_u64().unwrap());
        });
        assert_eq!(unreadable.unwrap(), 1);
        assert_eq!(epochs, [1, 2, 3]);
    }

    #[test]
    fn a_follower_sees_each_event_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut follower = Follower::new(path.clone());
        assert_eq!(follower.news().unwrap(), []);
        let change = |epoch: u64| Event::EvalMetricChange(json!({ "epoch": epoch }));
        for epoch in 1..4 {
            emit(&path, &[change(epoch)]).unwrap();
            let news = follower.news().unwrap();
            assert_eq!(news.len(), 1);
            assert_eq!(news[0].payload["epoch"], epoch);
            assert_eq!(follower.news().unwrap(), []);
        }
    }
}
