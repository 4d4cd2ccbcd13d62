//! The run log on disk: appended under a lock, each line linked to the one before it; read line by line, at any length.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use selection::metric::Metric;
use selection::run_log::check::{Bad, Checker};
use selection::run_log::{FIRST, MAX_LINE, Record, link};

use base::files::{self, Action, FileError, Lock, Tail};
use base::seals::Seals;
use base::trust::Doubt;
use base::workspace::Workspace;

mod head;
mod stats;

pub(crate) use head::set_torn_aside;
pub use stats::{Stats, Tally, stats};

/// Returns the path of the log.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("run_log.jsonl")
}

/// Appends the lines of one contest, linked to the last line. A contest that a crash tore is set aside first, and the
/// result reports it; so are lines of other programs, if only sealed ones count. Written lines survive the end of this
/// process.
///
/// # Errors
/// The log cannot be locked, read or written.
pub fn append(seals: &Seals, path: &Path, mut records: Vec<Record>) -> Result<Tail, FileError> {
    let _alone = Lock::beside(path)?;
    let tail = head::repair(seals, path)?;
    let mut prev = last_line(path, MAX_LINE)?.map_or_else(|| FIRST.to_owned(), |line| link(&line));
    let mut lines = String::new();
    for record in &mut records {
        record.more.prev = Some(prev);
        let line = record.to_line();
        prev = link(line.as_bytes());
        lines.push_str(&line);
        lines.push('\n');
    }
    head::write(seals, path, lines.len() as u64, &prev)?;
    files::append_line(path, &lines, false)?;
    head::write(seals, path, 0, &prev)?;
    Ok(tail)
}

/// Returns an error that reports a torn contest, for callers that report losses to the user.
///
/// # Errors
/// A contest was torn and set aside.
pub fn report(path: &Path, tail: Tail) -> Result<(), FileError> {
    match tail {
        Tail::Whole => Ok(()),
        Tail::Torn => {
            let aside = head::torn(path);
            let why = format!(
                "a crash had torn its last contest, or something else than roleos had written to it; that was set aside as `{}`; the new lines are kept",
                aside.display()
            );
            Err(FileError::new(Action::Append, path, io::Error::other(why)))
        }
    }
}

/// Reads the last line, whole or torn, from the end, so that a long log costs no more than a short one.
pub(crate) fn last_line(path: &Path, most: usize) -> Result<Option<Vec<u8>>, FileError> {
    let room = u64::try_from(most).unwrap_or(u64::MAX).saturating_mul(2);
    let tail = match tail(path, room) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        tail => tail?,
    };
    let whole = tail.strip_suffix(b"\n").unwrap_or(&tail);
    let line = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or(whole);
    Ok((!line.is_empty()).then(|| line.to_vec()))
}

/// Passes every line to `take`, without its end. A line that is too long is cut, and cannot be parsed then.
///
/// # Errors
/// The file cannot be read.
pub fn lines(path: &Path, take: impl FnMut(&[u8])) -> Result<(), FileError> {
    lines_up_to(path, MAX_LINE, take)
}

/// Does the same for a log with another limit of line length.
///
/// # Errors
/// The file cannot be read.
pub fn lines_up_to(path: &Path, most: usize, take: impl FnMut(&[u8])) -> Result<(), FileError> {
    lines_of(path, most, 0..u64::MAX, take)
        .map_err(|source| FileError::new(Action::Read, path, source))
}

/// Reads the lines that begin in a range of the file.
fn lines_of(
    path: &Path,
    most: usize,
    stretch: Range<u64>,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut file = files::open(path)?;
    let mut at = stretch.start.saturating_sub(1);
    file.seek(SeekFrom::Start(at))?;
    let mut reader = BufReader::with_capacity(1 << 18, file);
    if stretch.start > 0 {
        // The line of this byte began before.
        at += skip_line(&mut reader)?;
    }
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(2);
    let mut line = Vec::new();
    while at < stretch.end {
        line.clear();
        let count = (&mut reader).take(limit).read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(());
        }
        at += count as u64;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > most {
            at += skip_line(&mut reader)?;
        }
        take(&line);
    }
    Ok(())
}

/// Skips to after the next line end, and returns the number of skipped bytes.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(skipped);
        }
        if let Some(end) = available.iter().position(|byte| *byte == b'\n') {
            reader.consume(end + 1);
            return Ok(skipped + end as u64 + 1);
        }
        let length = available.len();
        reader.consume(length);
        skipped += length as u64;
    }
}

/// Length of the log's end that is a generation: older lines do not count as trials any more.
const GENERATION: u64 = 8 * 1024 * 1024;

/// Returns the number of trials of each version of a role in learning runs of this generation, by id. No log means no
/// trials.
///
/// # Errors
/// The log exists and cannot be read.
pub fn trials(path: &Path, role: &str) -> Result<BTreeMap<String, u64>, FileError> {
    let mut trials = BTreeMap::new();
    for record in generation(path, role)? {
        let learning = record.more.mode.as_deref() == Some("learn");
        if let (true, Some(version)) = (learning, record.more.version) {
            *trials.entry(version).or_insert(0) += 1;
        }
    }
    Ok(trials)
}

/// Returns the number of contests in this generation in which a version's answer has a label. No log means none.
///
/// # Errors
/// The log exists and cannot be read.
pub fn labelled(path: &Path, role: &str, version: &str) -> Result<u64, FileError> {
    let is_labelled = |record: &Record| {
        record.more.version.as_deref() == Some(version)
            && (record.q1.is_some() || record.more.agreement.is_some())
    };
    let records = generation(path, role)?.into_iter();
    Ok(records.filter(is_labelled).count() as u64)
}

/// Returns the executions of a role in this generation.
fn generation(path: &Path, role: &str) -> Result<Vec<Record>, FileError> {
    let tail = match tail(path, GENERATION) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        tail => tail?,
    };
    // The first line may be cut; it is one trial of thousands.
    let records = tail.split(|byte| *byte == b'\n').map(Record::parse);
    let own = records.filter_map(Result::ok);
    Ok(own
        .filter(|record| record.more.role.as_deref() == Some(role))
        .collect())
}

/// Reads the last `most` bytes of a file.
fn tail(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let failed = |source: io::Error| FileError::new(Action::Read, path, source);
    let mut file = files::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))
        .map_err(failed)?;
    let mut tail = Vec::new();
    file.take(most).read_to_end(&mut tail).map_err(failed)?;
    Ok(tail)
}

/// Recomputes a log. If that fails, it is read again while no writer is in the middle of a line.
///
/// # Errors
/// The file cannot be read.
pub fn verify(
    seals: &Seals,
    path: &Path,
    metrics: Vec<Metric>,
) -> Result<(u64, Vec<Bad>), FileError> {
    let found = computed(seals, path, metrics.clone())?;
    if found.1.is_empty() {
        return Ok(found);
    }
    match Lock::beside(path) {
        Ok(_alone) => computed(seals, path, metrics),
        Err(_) => Ok(found),
    }
}

fn computed(
    seals: &Seals,
    path: &Path,
    metrics: Vec<Metric>,
) -> Result<(u64, Vec<Bad>), FileError> {
    let mut checker = Checker::new(metrics);
    let head = head::read(path)?;
    let (mut reached, mut last) = (head.is_none(), FIRST.to_owned());
    lines(path, |line| {
        last = link(line);
        reached = reached || head.as_ref().is_some_and(|head| head.ends_at(&last));
        checker.line(line);
    })?;
    let (lines, mut bad) = checker.finish();
    let ended = head.as_ref().is_some_and(|head| head.ends_at(&last));
    let sealed = || {
        head.as_ref()
            .map_or(Err(Doubt::NotConfirmed), |head| head.check(seals))
    };
    let reason = if !reached && !ended {
        Some("the log ends before the last line that was written to it: lines were taken off its end or changed".to_owned())
    } else if lines > 0 && seals.is_enforced() {
        let doubt = sealed().err().or((!ended).then_some(Doubt::Changed));
        doubt.map(|doubt| {
            format!(
                "the log does not count: {doubt}; the next contest sets it aside beside itself and begins a new one"
            )
        })
    } else {
        None
    };
    bad.extend(reason.map(|reason| Bad {
        line: lines + 1,
        reason,
    }));
    Ok((lines, bad))
}

/// Reads the metrics that a log of this workspace may name: the published one and those in `.role-os/metrics/`.
///
/// # Errors
/// A file there cannot be read or is not a metric.
pub fn metrics(workspace: &Workspace) -> Result<Vec<Metric>, FileError> {
    let mut metrics = vec![Metric::v1()];
    let folder = workspace.role_os_dir().join("metrics");
    let entries = match files::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(metrics),
        Err(error) => return Err(FileError::new(Action::Read, &folder, error)),
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| !path.ends_with(crate::metrics::CURRENT))
        .collect();
    paths.sort();
    for path in paths {
        let bytes = files::read(&path, 1 << 20)?;
        let bad = |problem: String| {
            FileError::new(
                Action::Read,
                &path,
                io::Error::new(io::ErrorKind::InvalidData, problem),
            )
        };
        let value = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let metric = Metric::parse(&value).map_err(|error| bad(error.to_string()))?;
        metrics.retain(|known| known.metric_version != metric.metric_version);
        metrics.push(metric);
    }
    Ok(metrics)
}

/// Returns the last matching lines of a log, oldest first.
///
/// # Errors
/// The file cannot be read.
pub fn last(
    path: &Path,
    most: usize,
    wanted: impl Fn(&Record) -> bool,
) -> Result<Vec<Record>, FileError> {
    let mut kept = VecDeque::new();
    lines(path, |line| {
        let Ok(record) = Record::parse(line) else {
            return;
        };
        if wanted(&record) {
            if kept.len() == most {
                kept.pop_front();
            }
            if most > 0 {
                kept.push_back(record);
            }
        }
    })?;
    Ok(kept.into())
}

#[cfg(test)]
mod tests;
