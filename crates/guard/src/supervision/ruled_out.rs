//! Files that are not known programs. The result is stored across commands, so that a file is compared once, and again
//! when it or a folder of programs has changed.

use std::collections::HashSet;
use std::path::PathBuf;

use base::files;
use supervise::FileState;

/// Most files that are stored across commands; the last ones are kept.
const MAX_KEPT: usize = 1024;
/// Length of a line: a digest in hexadecimal digits.
const LINE: usize = 33;

/// The ruled out files, as one command sees them.
#[derive(Debug)]
pub(super) struct RuledOut {
    /// Their path; `None` while a further change of a folder would not be noticed.
    path: Option<PathBuf>,
    /// The states of the folders of programs.
    folders: String,
    lines: Vec<String>,
    known: HashSet<String>,
    is_new: bool,
}

impl RuledOut {
    /// Reads the files stored at `path`. `folders` are those in which programs were searched.
    pub(super) fn read(path: Option<PathBuf>, folders: &[PathBuf]) -> Self {
        let states: Vec<_> = folders.iter().map(|one| FileState::of(one)).collect();
        let is_settled = !states.iter().flatten().any(FileState::is_fresh);
        let path = path.filter(|_| is_settled);
        let most = u64::try_from(MAX_KEPT * LINE).unwrap_or(0);
        let bytes = path.as_ref().and_then(|path| files::read(path, most).ok());
        // An incomplete line after a crash is not a digest, and has no effect.
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let key = |state: &Option<FileState>| state.as_ref().map(FileState::key);
        let states: Vec<String> = states.iter().filter_map(key).collect();
        Self {
            path,
            folders: states.join(" "),
            known: lines.iter().cloned().collect(),
            lines,
            is_new: false,
        }
    }

    fn line(&self, state: &FileState) -> String {
        let text = format!("{} {}", self.folders, state.key());
        let digest = base::digest(text.as_bytes());
        hex::encode(digest.get(..LINE / 2).unwrap_or_default())
    }

    /// Returns `true` if a file in this state is not a known program, and `false` if it has to be compared.
    pub(super) fn holds(&self, state: &FileState) -> bool {
        !self.known.is_empty() && self.known.contains(&self.line(state))
    }

    /// Adds a file.
    pub(super) fn add(&mut self, state: &FileState) {
        if self.path.is_none() {
            return;
        }
        let line = self.line(state);
        if self.known.insert(line.clone()) {
            self.lines.push(line);
            self.is_new = true;
        }
    }

    /// Stores the added files, if lists of programs are stored. Others are compared again.
    pub(super) fn keep(&mut self) {
        let Some(path) = self.path.as_ref().filter(|_| self.is_new) else {
            return;
        };
        self.is_new = false;
        let old = self.lines.len().saturating_sub(MAX_KEPT);
        let lines: Vec<&str> = self.lines.iter().skip(old).map(String::as_str).collect();
        let text = lines.join("\n") + "\n";
        files::write_plainly(path, text.as_bytes()).ok();
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files that another would make"
)]
mod tests {
    use std::fs;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_is_ruled_out_until_it_or_a_folder_changes() {
        let place = tempfile::tempdir().unwrap();
        let (bin, kept) = (place.path().join("bin"), place.path().join("kept"));
        let (one, other) = (place.path().join("one"), place.path().join("other"));
        fs::create_dir(&bin).unwrap();
        fs::write(&one, "one").unwrap();
        fs::write(&other, "other").unwrap();
        let state = FileState::of(&one).unwrap();
        let folders = [bin.clone(), place.path().join("none")];
        let read = || RuledOut::read(Some(kept.clone()), &folders);
        let old = || thread::sleep(Duration::from_millis(80));
        // A folder that has just changed may change again in a moment.
        let mut ruled_out = read();
        ruled_out.add(&state);
        ruled_out.keep();
        assert!(!kept.exists());
        old();

        let mut ruled_out = read();
        assert!(!ruled_out.holds(&state));
        ruled_out.add(&state);
        ruled_out.keep();
        assert!(read().holds(&state));
        assert!(!read().holds(&FileState::of(&other).unwrap()));

        // The file is overwritten.
        fs::write(&one, "two").unwrap();
        let state = FileState::of(&one).unwrap();
        assert!(!read().holds(&state));
        let mut ruled_out = read();
        ruled_out.add(&state);
        ruled_out.keep();
        assert!(read().holds(&state));

        // A program is installed.
        fs::write(bin.join("git"), "git").unwrap();
        old();
        assert!(!read().holds(&state));

        // The latest are remembered.
        let mut ruled_out = read();
        for number in 0..MAX_KEPT {
            ruled_out.lines.push(format!("{number:032x}"));
        }
        ruled_out.add(&state);
        ruled_out.keep();
        assert_eq!(fs::metadata(&kept).unwrap().len(), (MAX_KEPT * LINE) as u64);
        assert!(read().holds(&state));

        // A damaged file has no effect.
        fs::write(&kept, b"\xff").unwrap();
        assert!(!read().holds(&state));
    }
}
