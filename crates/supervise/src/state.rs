//! Identity and state of a file.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Time within which successive changes can have the same timestamp: the kernel counts in ticks.
const TICK_NS: i128 = 50_000_000;

/// State of a file at the time of reading: a change is visible, unless it [is fresh](Self::is_fresh).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    /// Time of the last change, in nanoseconds since 1970. Programs cannot set this time.
    changed: i128,
}

impl FileState {
    /// Reads the state of the file that a name leads to.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// Returns device and inode.
    #[must_use]
    pub fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Returns a text that is equal for equal states.
    #[must_use]
    pub fn key(&self) -> String {
        let Self {
            device,
            inode,
            size,
            changed,
        } = self;
        format!("{device}:{inode}:{size}:{changed}")
    }

    /// Returns `true` if the file was changed so recently that a further change may not be visible.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the crate knows no other of ours, and the time of a file is compared with the clock that gave it"
    )]
    pub fn is_fresh(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now
            .ok()
            .and_then(|now| i128::try_from(now.as_nanos()).ok())
            .unwrap_or(0);
        now - self.changed < TICK_NS
    }
}

impl From<&Metadata> for FileState {
    fn from(facts: &Metadata) -> Self {
        Self {
            device: facts.dev(),
            inode: facts.ino(),
            size: facts.size(),
            changed: i128::from(facts.ctime()) * 1_000_000_000 + i128::from(facts.ctime_nsec()),
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files that another would make"
)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_that_was_just_written_is_fresh() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "a").unwrap();
        let state = FileState::of(&path).unwrap();
        let later = FileState {
            changed: state.changed + 1_000_000_000_000,
            ..state
        };
        assert!(later.is_fresh(), "a clock that is behind");
        std::thread::sleep(Duration::from_millis(80));
        assert!(!state.is_fresh());
        fs::write(&path, "b").unwrap();
        assert_ne!(FileState::of(&path).unwrap(), state);
        assert_eq!(FileState::of(&path).unwrap().file(), state.file());
    }
}
