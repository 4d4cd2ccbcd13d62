//! The logs of the machines on disk: one file per writer and log, one JSON object per line with the number and the text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::files::{self, FileError, Privacy};
use serde::{Deserialize, Serialize};
use witness::key::KeyId;

use super::super::{ArchiveError, LogName, NewLine, Placed};

/// Largest log of one machine that is read.
const MAX_LOG: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    number: u64,
    #[serde(borrow)]
    text: std::borrow::Cow<'a, str>,
}

fn folder_of(folder: &Path) -> PathBuf {
    folder.join("logs")
}

fn path_of(folder: &Path, writer: KeyId, log: &LogName) -> PathBuf {
    let name = format!("{}.jsonl", log.as_str());
    folder_of(folder).join(writer.to_string()).join(name)
}

/// Appends lines to their logs, each once. The caller holds the lock of the folder.
pub(super) fn append(folder: &Path, lines: &[&NewLine]) -> Result<Vec<Placed>, ArchiveError> {
    let mut logs: BTreeMap<PathBuf, Log> = BTreeMap::new();
    let mut placed = Vec::new();
    for line in lines {
        let path = path_of(folder, line.writer, &line.log);
        let log = match logs.entry(path) {
            std::collections::btree_map::Entry::Occupied(log) => log.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let log = Log::read(place.key())?;
                place.insert(log)
            }
        };
        placed.push(log.add(line));
    }
    for (path, log) in logs {
        log.write(&path)?;
    }
    Ok(placed)
}

/// Hashes of the stored lines, and texts of the new ones.
#[derive(Default)]
struct Log {
    known: BTreeMap<u64, [u8; 32]>,
    /// Length of the whole lines, if a crash cut off the last line.
    whole: Option<u64>,
    new: String,
}

impl Log {
    fn read(path: &Path) -> Result<Self, ArchiveError> {
        let bytes = read(path)?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let whole = bytes.get(..end).unwrap_or_default();
        let mut log = Self {
            whole: (end < bytes.len()).then_some(end as u64),
            ..Self::default()
        };
        for line in lines_of(path, whole) {
            let (number, text) = line?;
            log.known.insert(number, base::digest(text.as_bytes()));
        }
        Ok(log)
    }

    fn add(&mut self, line: &NewLine) -> Placed {
        let text = String::from_utf8_lossy(line.text.bytes());
        let hash = base::digest(text.as_bytes());
        match self.known.get(&line.number) {
            Some(known) if *known == hash => Placed::Known(None),
            Some(_) => Placed::Taken,
            None => {
                self.known.insert(line.number, hash);
                let kept = Line {
                    number: line.number,
                    text,
                };
                self.new
                    .push_str(&serde_json::to_string(&kept).unwrap_or_default());
                self.new.push('\n');
                Placed::Stored(None)
            }
        }
    }

    fn write(self, path: &Path) -> Result<(), FileError> {
        if self.new.is_empty() {
            return Ok(());
        }
        files::make_directory(files::parent(path), Privacy::Secret)?;
        if let Some(length) = self.whole {
            files::truncate(path, length)?;
        }
        if !path.exists() {
            files::write(path, b"", Privacy::Secret)?;
        }
        files::append(path, self.new.as_bytes())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    match files::read(path, MAX_LOG) {
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

fn lines_of<'a>(
    path: &'a Path,
    bytes: &'a [u8],
) -> impl Iterator<Item = Result<(u64, String), ArchiveError>> + 'a {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty()).map(move |line| {
        let line: Line<'_> = serde_json::from_slice(line).map_err(|error| {
            ArchiveError::Damaged(format!("`{}` cannot be read: {error}", path.display()))
        })?;
        Ok((line.number, line.text.into_owned()))
    })
}

/// Passes every line of every log to the callback, by writer, log and number.
pub(super) fn each(
    folder: &Path,
    each: &mut dyn FnMut(KeyId, LogName, u64, Vec<u8>) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let root = folder_of(folder);
    let mut paths = Vec::new();
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() => paths.push(entry.into_path()),
            Ok(_) => {}
            Err(error) if !root.exists() => drop(error),
            Err(error) => return Err(ArchiveError::failed(&error)),
        }
    }
    for path in paths {
        let Some((writer, log)) = named(&root, &path) else {
            continue;
        };
        let bytes = read(&path)?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let lines = lines_of(&path, bytes.get(..end).unwrap_or_default());
        let mut lines = lines.collect::<Result<Vec<_>, _>>()?;
        lines.sort_by_key(|(number, _)| *number);
        for (number, text) in lines {
            each(writer, log.clone(), number, text.into_bytes())?;
        }
    }
    Ok(())
}

fn named(root: &Path, path: &Path) -> Option<(KeyId, LogName)> {
    let rest = path.strip_prefix(root).ok()?.with_extension("");
    let (writer, log) = rest.to_str()?.split_once('/')?;
    let id: [u8; 8] = hex::decode(writer).ok()?.try_into().ok()?;
    Some((KeyId(id), LogName::parse(log)?))
}
