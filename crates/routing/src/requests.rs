//! The log of the gateway's requests, `.role-os/gateway.jsonl`: one line per request, appended before its answer ends.
//!
//! Only the `roleos up` that holds the workspace's lock writes it, see [`base::running`]; so the file stays open and a
//! line costs one system call. A log that has become too long is rotated.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base::files::{self, Action, FileError};

/// The open log.
#[derive(Debug)]
pub struct RequestLog {
    path: PathBuf,
    most: u64,
    keep: u64,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Whole lines that could not be written yet, in order.
    waiting: String,
}

/// Most bytes of waiting lines while the log cannot be written; further lines are lost.
const MOST_WAITING: usize = 4 * 1024 * 1024;

impl RequestLog {
    /// Opens the log; `most` is the length in bytes at which it is rotated, `keep` the number of rotated logs to keep.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, most: u64, keep: u64) -> Result<Self, FileError> {
        let file = open(path).map_err(|error| FileError::new(Action::Append, path, error))?;
        Ok(Self {
            path: path.to_owned(),
            most,
            keep,
            open: Mutex::new(Open {
                file,
                waiting: String::new(),
            }),
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, which must end in a line feed, in one system call. A failed line waits for the next call.
    ///
    /// # Errors
    /// The line cannot be added now.
    pub fn append(&self, line: &str) -> Result<(), FileError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let caught_up = self.catch_up(&mut open);
        let added = caught_up.and_then(|()| self.add(&mut open.file, line));
        if added.is_err() && open.waiting.len() + line.len() <= MOST_WAITING {
            open.waiting.push_str(line);
        }
        added.map_err(|error| FileError::new(Action::Append, &self.path, error))
    }

    /// Writes the waiting lines.
    ///
    /// # Errors
    /// They still cannot be written.
    pub fn flush(&self) -> Result<(), FileError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.catch_up(&mut open)
            .map_err(|error| FileError::new(Action::Append, &self.path, error))
    }

    fn catch_up(&self, open: &mut Open) -> io::Result<()> {
        if !open.waiting.is_empty() {
            self.add(&mut open.file, &open.waiting)?;
            open.waiting = String::new();
        }
        Ok(())
    }

    fn add(&self, file: &mut File, line: &str) -> io::Result<()> {
        let facts = file.metadata()?;
        let mut length = facts.len();
        let too_long = length >= self.most && length > 0;
        if too_long {
            self.set_aside();
        }
        // Another program may have removed it, and lines in a removed file are lost.
        if too_long || facts.nlink() == 0 {
            *file = open(&self.path)?;
            length = file.metadata()?.len();
        }
        file.write_all(line.as_bytes()).inspect_err(|_| {
            // A full disk may take only a part of the line.
            file.set_len(length).ok();
        })
    }

    fn set_aside(&self) {
        let aside = |number: u64| match number {
            0 => self.path.clone(),
            _ => self.path.with_added_extension(number.to_string()),
        };
        for number in (0..self.keep).rev() {
            // A missing one need not be moved.
            files::rename(&aside(number), &aside(number + 1)).ok();
        }
        if self.keep == 0 {
            files::remove_file(&self.path).ok();
        }
    }
}

/// Last attempt to write waiting lines.
impl Drop for RequestLog {
    fn drop(&mut self) {
        self.flush().ok();
    }
}

/// Opens the file, and ends a line that a crash cut off, so that it stays visible and spoils no other.
fn open(path: &Path) -> io::Result<File> {
    let mut file = files::open_log(path)?;
    if let Some(end) = file.metadata()?.len().checked_sub(1) {
        let mut last = [0];
        file.read_exact_at(&mut last, end)?;
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_torn_line_is_ended_and_a_removed_log_is_begun_anew() {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().join("log");
        File::create(&path).unwrap().write_all(b"{\"torn").unwrap();
        let log = RequestLog::open(&path, 1000, 1).unwrap();
        log.append("1\n").unwrap();
        assert_eq!(text(&path), "{\"torn\n1\n");
        fs::remove_file(&path).unwrap();
        log.append("2\n").unwrap();
        assert_eq!(text(&path), "2\n");
    }

    #[test]
    fn lines_that_cannot_be_written_wait_for_the_next_in_their_order() {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().join("log");
        let log = RequestLog::open(&path, 1000, 1).unwrap();
        log.append("1\n").unwrap();
        // A folder in its place, after the file is removed.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        log.append("2\n").unwrap_err();
        log.append("3\n").unwrap_err();
        log.flush().unwrap_err();
        fs::remove_dir(&path).unwrap();
        log.append("4\n").unwrap();
        assert_eq!(text(&path), "2\n3\n4\n");
        let line = format!("{}\n", "x".repeat(MOST_WAITING));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        log.append("5\n").unwrap_err();
        log.append(&line).unwrap_err();
        fs::remove_dir(&path).unwrap();
        drop(log);
        assert_eq!(
            text(&path),
            "5\n",
            "memory is bounded, and the end is a last chance"
        );
    }

    #[test]
    fn a_long_log_is_set_aside_and_the_oldest_forgotten() {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().join("log");
        let log = RequestLog::open(&path, 4, 2).unwrap();
        for line in ["aaa\n", "bbb\n", "ccc\n", "ddd\n"] {
            log.append(line).unwrap();
        }
        let aside = |number: &str| text(&path.with_added_extension(number));
        assert_eq!(
            (text(&path), aside("1"), aside("2"), aside("3")),
            (
                "ddd\n".into(),
                "ccc\n".into(),
                "bbb\n".into(),
                String::new()
            )
        );
    }
}
