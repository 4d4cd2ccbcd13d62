//! Reads many bundle files on all cores, one buffer per thread, so that memory does not grow with their number.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base::files::{self, Action, FileError};

/// Extension of bundle files.
pub const EXTENSION: &str = "rvww";
/// Files that a thread claims at once; large enough that the counter is not contended.
const BATCH: usize = 64;

/// Lists every bundle file under the given files and directories, sorted, each once.
///
/// A file that is named directly is listed regardless of its extension.
///
/// # Errors
/// A path does not exist or a directory cannot be read.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FileError> {
    let mut found = Vec::new();
    for path in paths {
        let kind =
            files::metadata(path).map_err(|error| FileError::new(Action::Read, path, error))?;
        if !kind.is_dir() {
            found.push(path.clone());
            continue;
        }
        for entry in walkdir::WalkDir::new(path) {
            let entry = entry.map_err(|error| {
                let place = error.path().unwrap_or(path).to_owned();
                FileError::new(Action::Read, &place, io::Error::from(error))
            })?;
            let is_bundle = entry.path().extension().is_some_and(|end| end == EXTENSION);
            if is_bundle && entry.file_type().is_file() {
                found.push(entry.into_path());
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// One file, handed to the visitor.
#[derive(Debug)]
pub struct Visit<'a> {
    /// Index of the path.
    pub index: usize,
    /// Path of the file.
    pub path: &'a Path,
    /// Its bytes, or the error of reading them.
    pub bytes: Result<&'a [u8], FileError>,
}

/// Options of a scan.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Files that are read at once.
    pub threads: NonZeroUsize,
    /// Largest file that is read.
    pub max_bytes: u64,
}

impl Options {
    /// Returns options with one thread per core.
    #[must_use]
    pub fn all_cores(max_bytes: u64) -> Self {
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { threads, max_bytes }
    }
}

/// Passes every file to one of several visitors and returns the visitors, in no particular order.
///
/// `progress` is called with the number of files done, from any thread.
pub fn scan<V: Send>(
    paths: &[PathBuf],
    options: Options,
    new_visitor: impl Fn() -> V + Sync,
    visit: impl Fn(&mut V, Visit<'_>) + Sync,
    progress: impl Fn(usize) + Sync,
) -> Vec<V> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut visitor = new_visitor();
        let mut buffer = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let batch = paths.iter().enumerate().skip(start).take(BATCH);
            if batch.len() == 0 {
                return visitor;
            }
            for (index, path) in batch {
                let read = files::read_into(path, options.max_bytes, &mut buffer);
                let bytes = read.map(|()| buffer.as_slice());
                visit(&mut visitor, Visit { index, path, bytes });
            }
            progress((start + BATCH).min(paths.len()));
        }
    };
    let threads = options
        .threads
        .get()
        .min(paths.len().div_ceil(BATCH))
        .max(1);
    thread::scope(|scope| {
        // If no thread can be spawned, this one does all the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut visitors = vec![work()];
        for other in others {
            match other.join() {
                Ok(visitor) => visitors.push(visitor),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        visitors
    })
}
