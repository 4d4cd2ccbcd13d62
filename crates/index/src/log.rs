//! Follows growing files: reads whole lines from the last position. A file that was truncated, replaced or changed
//! before that position is read again from its beginning; the rows of a deleted one are removed. An incomplete last
//! line waits for its end.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use base::files::{self, Action, FileError};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Seen, Sources, ViewError, lines};

/// Limit of a line, in bytes; longer lines are skipped, and ours are all shorter.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// Number of bytes before the last position that are compared.
const MARK: u64 = 1024;

/// Metadata that identifies an unchanged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    changed_ns: i128,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let facts = files::metadata(path).ok()?;
        facts.is_file().then(|| Self {
            inode: facts.ino(),
            length: facts.len(),
            changed_ns: changed_ns(&facts),
        })
    }
}

/// Returns the time of the last change of a file or directory.
pub(super) fn changed_ns(facts: &fs::Metadata) -> i128 {
    i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec())
}

/// Content of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Journal,
    Runs,
    Events,
    Dispatches,
    Leaves,
    Requests,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Runs => "runs",
            Self::Events => "events",
            Self::Dispatches => "dispatches",
            Self::Leaves => "leaves",
            Self::Requests => "requests",
        }
    }
}

/// Reads the additions to all logs. Returns the number of lines.
pub(super) fn refresh(
    connection: &mut Connection,
    seen: &mut Seen,
    sources: &Sources,
) -> Result<u64, ViewError> {
    let logs = present(sources)?;
    forget_missing(connection, seen, &logs)?;
    let mut count = 0;
    for (kind, path, stamp) in logs {
        if seen.logs.get(&path) == Some(&stamp) {
            continue;
        }
        let change = connection.transaction()?;
        count += follow(&change, kind, &path)?;
        change.commit()?;
        seen.logs.insert(path, stamp);
    }
    Ok(count)
}

/// Returns the existing logs, with their metadata from before reading.
fn present(sources: &Sources) -> Result<Vec<(Kind, PathBuf, Stamp)>, FileError> {
    let mut paths: Vec<(Kind, PathBuf)> = Vec::new();
    let journals = evidence::journal::read::journals(&sources.sessions)?;
    paths.extend(journals.into_iter().map(|(_, path)| (Kind::Journal, path)));
    paths.push((Kind::Runs, sources.runs.clone()));
    paths.push((Kind::Events, sources.events.clone()));
    paths.push((Kind::Events, sources.probes.clone()));
    paths.push((Kind::Leaves, sources.store.leaves_path()));
    paths.extend(with_aside(Kind::Dispatches, &sources.field_log));
    paths.extend(with_aside(Kind::Requests, &sources.requests));
    let found = paths.into_iter();
    Ok(found
        .filter_map(|(kind, path)| Some((kind, path.clone(), Stamp::of(&path)?)))
        .collect())
}

/// Returns a log with its rotated files, oldest first, so that ids grow with time.
fn with_aside(kind: Kind, log: &Path) -> Vec<(Kind, PathBuf)> {
    let aside = (1..)
        .map(|number: u64| log.with_added_extension(number.to_string()))
        .take_while(|path| path.exists());
    let mut paths: Vec<_> = aside.map(|path| (kind, path)).collect();
    paths.reverse();
    paths.push((kind, log.to_owned()));
    paths
}

fn forget_missing(
    connection: &mut Connection,
    seen: &mut Seen,
    logs: &[(Kind, PathBuf, Stamp)],
) -> Result<(), rusqlite::Error> {
    let is_there = |path: &Path| logs.iter().any(|(_, known, _)| known == path);
    // The database is queried once; afterwards the cached state is enough.
    let mut known: Vec<String> = Vec::new();
    if seen.logs.is_empty() {
        let mut query = connection.prepare("SELECT path FROM source")?;
        let rows = query.query_map([], |row| row.get(0))?;
        known = rows.collect::<Result<_, _>>()?;
    }
    let seen_paths = seen.logs.keys().map(|path| text(path));
    known.extend(seen_paths);
    for path in known.iter().filter(|path| !is_there(Path::new(path))) {
        connection.execute("DELETE FROM source WHERE path = ?1", [path])?;
        seen.logs.remove(Path::new(path));
    }
    Ok(())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Last reading position.
struct Place {
    id: i64,
    offset: u64,
    line: u64,
}

fn follow(change: &Connection, kind: Kind, path: &Path) -> Result<u64, ViewError> {
    let fail = |source: io::Error| FileError {
        action: Action::Read,
        path: path.to_owned(),
        source,
    };
    let mut file = match files::open(path) {
        // Removed meanwhile; the next refresh drops its rows.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file.map_err(fail)?,
    };
    let inode = file.metadata().map_err(fail)?.ino();
    let mut place = stopped_at(change, kind, path, &file, inode)?;
    file.seek(SeekFrom::Start(place.offset)).map_err(fail)?;
    let mut reader = BufReader::with_capacity(1 << 16, &file);
    let mut line = Vec::new();
    let (mut count, mut damaged) = (0, 0);
    while let Some(read) = next_line(&mut reader, &mut line).map_err(fail)? {
        place.offset += read;
        place.line += 1;
        count += 1;
        let is_ours = lines::take(change, kind, place.id, place.line, path, &line)?;
        damaged += i64::from(!is_ours);
    }
    let mark = mark(&file, place.offset).map_err(fail)?;
    change.execute(
        "UPDATE source SET offset = ?2, line = ?3, mark = ?4, damaged = damaged + ?5 WHERE id = ?1",
        params![
            place.id,
            number(place.offset),
            number(place.line),
            mark,
            damaged
        ],
    )?;
    Ok(count)
}

/// Returns the last position in a file that is still the same; the beginning of any other.
fn stopped_at(
    change: &Connection,
    kind: Kind,
    path: &Path,
    file: &File,
    inode: u64,
) -> Result<Place, ViewError> {
    let known: Option<(i64, i64, i64, i64, Vec<u8>)> = change
        .query_row(
            "SELECT id, inode, offset, line, mark FROM source WHERE path = ?1",
            [text(path)],
            |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                ))
            },
        )
        .optional()?;
    if let Some((id, known_inode, offset, line, known_mark)) = known {
        let offset = offset.cast_unsigned();
        let is_same = known_inode == inode.cast_signed()
            && mark(file, offset).is_ok_and(|mark| mark == known_mark);
        if is_same {
            let line = line.cast_unsigned();
            return Ok(Place { id, offset, line });
        }
        change.execute("DELETE FROM source WHERE id = ?1", [id])?;
    }
    let mark = mark(file, 0).unwrap_or_default();
    change.execute(
        "INSERT INTO source (path, kind, inode, offset, line, mark) VALUES (?1, ?2, ?3, 0, 0, ?4)",
        params![text(path), kind.name(), inode.cast_signed(), mark],
    )?;
    Ok(Place {
        id: change.last_insert_rowid(),
        offset: 0,
        line: 0,
    })
}

/// Returns a hash of the last bytes before a position; an error if the file is shorter.
fn mark(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let length = offset.min(MARK);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut bytes, offset - length)?;
    Ok(base::digest(&bytes).to_vec())
}

/// Reads the next whole line without its end, and returns its length in bytes. A line that is too long is returned
/// empty.
fn next_line(reader: &mut impl io::BufRead, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
    line.clear();
    let mut read = reader.take(MAX_LINE).read_until(b'\n', line)? as u64;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(read));
    }
    if read < MAX_LINE {
        return Ok(None);
    }
    line.clear();
    let mut rest = Vec::new();
    loop {
        rest.clear();
        let more = reader.take(MAX_LINE).read_until(b'\n', &mut rest)? as u64;
        read += more;
        if rest.last() == Some(&b'\n') {
            return Ok(Some(read));
        }
        if more < MAX_LINE {
            return Ok(None);
        }
    }
}

/// Converts a number for SQLite, whose numbers are signed; ours are never that large.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
