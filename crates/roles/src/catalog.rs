//! A catalog in a directory: its files with limits, its lock written so that a crash leaves the old one or the new
//! one.
//!
//! The `catalog` crate finds the problems of a catalog; this module only accesses the disk.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ::catalog::catalog::{Damaged, Draft, Records, Rigour};
use ::catalog::lock::{Lock, Refreshed};
use ::catalog::problem::{Place, Problem};
use ::catalog::source::{File, INDEX, LOCK, Sources, TOMBSTONES};
use ::catalog::tombstones::Tombstones;
use ::catalog::yaml::{Excerpt, MAX_BYTES, Position, Source};

use base::files::{self, Action, FileError, Privacy};

/// Limit of the size of a lock: a hundred thousand roles fit.
const MAX_LOCK: u64 = 16_000_000;
/// Directory of the language files.
const BUNDLES: &str = "bundles";
/// Limit of directories and files that are searched for an undeclared one.
const MAX_FOUND: usize = 20_000;
/// Limit of threads; more are not worth their start.
const MAX_THREADS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// A directory with a catalog, by its real path.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// Opens a directory. Links are followed once, so that the directory cannot move while it is read.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |source| FileError::new(Action::Read, path, source);
        let root = fs::canonicalize(path).map_err(fail)?;
        if !root.is_dir() {
            return Err(fail(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { root })
    }

    /// Creates the directory and opens it, for a new catalog.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        files::make_directory(path, Privacy::Shared)?;
        Self::open(path)
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads all YAML files with their text, for showing or editing them.
    #[must_use]
    pub fn draft(&self) -> Draft {
        self.read(|bytes| File::of(bytes.to_vec()))
    }

    /// Reads all YAML files without their text, for the check: most catalogs have no problem, so that no line is
    /// needed; see [`Directory::places`].
    fn values(&self) -> Draft {
        self.read(File::of_values)
    }

    /// Reads on as many threads as there are processors.
    fn read(&self, parse: fn(&[u8]) -> File) -> Draft {
        let mut sources = Sources::new(self.file(INDEX, parse, &mut Vec::new()));
        let wanted = sources.wanted();
        let next = AtomicUsize::new(0);
        let read = || {
            let mut files = Vec::new();
            let mut buffer = Vec::new();
            while let Some(path) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                files.push((path.clone(), self.file(path, parse, &mut buffer)));
            }
            files
        };
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = threads.min(MAX_THREADS);
        let helpers = threads.get().min(wanted.len()).saturating_sub(1);
        let files = thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(read)).collect();
            let mut files = read();
            for helper in helpers {
                // A thread that panicked left its file unread, which then counts as missing.
                files.extend(helper.join().unwrap_or_default());
            }
            files
        });
        for (path, file) in files {
            sources.add(path, file);
        }
        sources.note_found(self.found());
        Draft::read_on(sources, threads)
    }

    /// Lists directories and YAML files below `bundles/`, in order; hidden ones are not part of a catalog.
    fn found(&self) -> Vec<String> {
        let mut found = Vec::new();
        for bundle in names(&self.root.join(BUNDLES)) {
            let path = format!("{BUNDLES}/{bundle}");
            let files = names(&self.root.join(&path)).into_iter();
            let files = files.filter(|name| name.ends_with(".yaml") || name.ends_with(".yml"));
            let files: Vec<_> = files.map(|name| format!("{path}/{name}")).collect();
            found.push(path);
            found.extend(files);
            if found.len() > MAX_FOUND {
                break;
            }
        }
        found
    }

    /// Reads lock and tombstones. An unreadable file counts as damaged, never as absent.
    #[must_use]
    pub fn records(&self) -> Records {
        Records {
            lock: match self.record(LOCK) {
                Ok(bytes) => Lock::parse(bytes.as_deref()),
                Err(error) => Lock::damaged(error),
            },
            tombstones: match self.record(TOMBSTONES) {
                Ok(bytes) => Tombstones::parse(bytes.as_deref()),
                Err(error) => Tombstones::damaged(error),
            },
        }
    }

    fn record(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        match self.bytes(path, MAX_LOCK, &mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(Unread::Missing) => Ok(None),
            Err(Unread::Because(why)) => Err(why),
        }
    }

    fn file(&self, path: &str, parse: fn(&[u8]) -> File, buffer: &mut Vec<u8>) -> File {
        match self.bytes(path, MAX_BYTES as u64, buffer) {
            Ok(()) => parse(buffer),
            Err(Unread::Missing) => File::Missing,
            Err(Unread::Because(why)) => File::unreadable(&why),
        }
    }

    /// Reads a file. The parts of a path come from the catalog itself, so they must not lead out of the directory.
    fn bytes(&self, path: &str, limit: u64, buffer: &mut Vec<u8>) -> Result<(), Unread> {
        let parts = Path::new(path).components();
        let is_inside = parts
            .clone()
            .all(|part| matches!(part, Component::Normal(_)));
        let outside = || Unread::Because("the path leads out of the catalog".to_owned());
        if !is_inside {
            return Err(outside());
        }
        let real = fs::canonicalize(self.root.join(path)).map_err(|error| unread(&error))?;
        if !real.starts_with(&self.root) {
            return Err(outside());
        }
        // Opening a pipe would wait for a writer.
        if !real.is_file() {
            return Err(Unread::Because("it is not a file".to_owned()));
        }
        files::read_into(&real, limit, buffer).map_err(|error| unread(&error.source))
    }

    /// Returns a file as it is, for passing it on; `None` if there is none.
    pub fn raw(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        match self.bytes(path, MAX_BYTES as u64, &mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(Unread::Missing) => Ok(None),
            Err(Unread::Because(why)) => Err(why),
        }
    }

    /// Creates a finder of lines and columns in the current files.
    #[must_use]
    pub fn places(&self) -> Places<'_> {
        Places {
            directory: self,
            read: BTreeMap::new(),
        }
    }

    /// Replaces the lock, and before it the tombstones: a crash between the two loses nothing.
    pub fn write(&self, refreshed: &Refreshed) -> Result<(), FileError> {
        self.make_room()?;
        if let Some(tombstones) = &refreshed.tombstones {
            files::write(
                &self.root.join(TOMBSTONES),
                tombstones.as_bytes(),
                Privacy::Shared,
            )?;
        }
        files::write(
            &self.lock_path(),
            refreshed.text.as_bytes(),
            Privacy::Shared,
        )
    }

    /// Copies a lock that is not JSON beside itself before it is replaced, so that nothing is lost.
    pub fn set_lock_aside(&self) -> Result<PathBuf, FileError> {
        let path = self.lock_path();
        let copy = self.root.join(format!("{LOCK}.damaged"));
        fs::rename(&path, &copy).map_err(|source| FileError::new(Action::Name, &path, source))?;
        Ok(copy)
    }

    /// Returns the path of the lock.
    #[must_use]
    pub fn lock_path(&self) -> PathBuf {
        self.root.join(LOCK)
    }

    /// Creates the directory of the lock, which must not be a link to elsewhere.
    fn make_room(&self) -> Result<(), FileError> {
        let path = self.lock_path();
        let folder = files::parent(&path);
        files::make_directory(folder, Privacy::Shared)?;
        let fail = |source| FileError::new(Action::Write, folder, source);
        let real = fs::canonicalize(folder).map_err(fail)?;
        if real.starts_with(&self.root) {
            Ok(())
        } else {
            Err(fail(io::Error::other("it leads out of the catalog")))
        }
    }
}

/// Finder of line, column and text of a position, independent of the files' location.
pub type Locate<'a> = dyn FnMut(&Place) -> Option<(Position, Excerpt)> + 'a;

/// Finder that reads the needed files again, each once.
#[derive(Debug)]
pub struct Places<'d> {
    directory: &'d Directory,
    read: BTreeMap<String, Option<Source>>,
}

impl Places<'_> {
    /// Returns line, column and text of a position; `None` if its file has no text.
    pub fn locate(&mut self, place: &Place) -> Option<(Position, Excerpt)> {
        // The records are not edited by hand, so their names are enough.
        if !place.file.ends_with(".yaml") {
            return None;
        }
        let source = self.read.entry(place.file.clone()).or_insert_with(|| {
            let mut bytes = Vec::new();
            let read = self.directory.bytes(&place.file, MAX_LOCK, &mut bytes);
            let text = read
                .ok()
                .map(|()| String::from_utf8_lossy(&bytes).into_owned());
            text.filter(|text| !text.is_empty()).map(Source::new)
        });
        let source = source.as_ref()?;
        Some((source.position(place.offset), source.excerpt(place.offset)))
    }
}

/// Returns the names in a directory in order; empty if it cannot be listed.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.take(MAX_FOUND).map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Reason that there are no bytes.
enum Unread {
    Missing,
    Because(String),
}

fn unread(error: &io::Error) -> Unread {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unread::Missing,
        _ => Unread::Because(format!("the file cannot be read: {error}")),
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Strictness of the check.
    pub rigour: Rigour,
    /// Handling of a damaged lock, if the lock is rewritten after a check without problems; `None` to keep it.
    pub refresh: Option<Damaged>,
}

/// Result of a check.
#[derive(Debug)]
pub struct Outcome {
    /// The parsed catalog.
    pub draft: Draft,
    /// Set if the catalog is valid, and the lock was written if requested.
    pub passed: bool,
    /// Problems in the published order.
    pub problems: Vec<Problem>,
    /// The lock that was written.
    pub written: Option<Refreshed>,
    /// Path of the copy of a damaged lock.
    pub set_aside: Option<PathBuf>,
}

/// Checks a catalog, or refreshes its lock.
pub fn check(directory: &Directory, request: Request) -> Result<Outcome, FileError> {
    let (draft, records) = thread::scope(|scope| {
        let records = scope.spawn(|| directory.records());
        let draft = directory.values();
        let records = records.join().unwrap_or_else(|_| directory.records());
        (draft, records)
    });
    let mut outcome = Outcome {
        draft,
        passed: false,
        problems: Vec::new(),
        written: None,
        set_aside: None,
    };
    let Some(damaged) = request.refresh else {
        let report = outcome.draft.check(&records, request.rigour);
        outcome.passed = report.passed;
        outcome.problems = report.problems;
        return Ok(outcome);
    };
    match outcome.draft.refresh(&records, request.rigour, damaged) {
        Err(problems) => outcome.problems = problems,
        Ok(refreshed) => {
            if records.lock.is_damaged() {
                outcome.set_aside = Some(directory.set_lock_aside()?);
            }
            directory.write(&refreshed)?;
            outcome.passed = true;
            outcome.written = Some(refreshed);
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests;
