//! `.role-os/view.db`: the logs and bundles of a workspace as tables, so that lists with filters are fast for any
//! length of the history. A view, not a record: everything in it is read from the files, and deleting it loses
//! nothing.
//!
//! Reading order: [`View`] and [`Sources`], `log` (reading position in growing files), `lines` (indexing of log
//! lines), `bundles` (indexing of bundles), `audit` (check of the ledger), then [`list`] and [`rows`] (filters,
//! pages, rows) and [`add_up`] (scorecard and curve) and [`compare`] (comparison of the same tasks).
//!
//! One process at a time updates the view, by a lock beside the file; readers never wait.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::files::{self, FileError, Lock};
use base::keys::KeyError;
use evidence::scan;
use evidence::store::Store;
use rusqlite::{Connection, OpenFlags};

pub mod add_up;
mod audit;
mod bundles;
pub mod compare;
pub mod figures;
mod lines;
pub mod list;
mod log;
pub mod over_time;
pub mod rows;
pub mod traffic;

pub use bundles::title_of;

/// Definition of the tables. A view of another version is rebuilt.
const SCHEMA: &str = include_str!("schema.sql");
const VERSION: i64 = 5;
/// Time limit for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Limit of open connections for readers.
const MAX_READERS: usize = 8;

/// Error of the view, which can be deleted and is then rebuilt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    #[error("the view `view.db` cannot be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// A source file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The keys for verifying bundles cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Source files of the view.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Bundles and the keys for verifying them.
    pub store: Store,
    /// Directory of the keys.
    pub keys: PathBuf,
    /// Directory of the journals.
    pub sessions: PathBuf,
    /// Path of the run log.
    pub runs: PathBuf,
    /// Path of the specialists' events.
    pub events: PathBuf,
    /// Path of the specialists' probes.
    pub probes: PathBuf,
    /// Path of the field log; rotated ones have a number behind the name.
    pub field_log: PathBuf,
    /// Path of the gateway's log; rotated ones have a number behind the name.
    pub requests: PathBuf,
    /// Options for reading bundles.
    pub options: scan::Options,
}

/// Changes by a refresh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Number of bundles that were read.
    pub bundles: u64,
    /// Number of lines that were read.
    pub lines: u64,
    /// Largest id of a decision before and after.
    pub decisions: (i64, i64),
    /// Largest id of a specialist's event before and after.
    pub events: (i64, i64),
}

/// Progress of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of files that were read.
    pub done: u64,
    /// Number of files to read.
    pub total: u64,
}

/// View of one workspace.
#[derive(Debug)]
pub struct View {
    path: PathBuf,
    sources: Sources,
    writer: Mutex<Writer>,
    readers: Mutex<Vec<Connection>>,
    /// Counter of changes of bundles, so that sums are kept until the next change.
    generation: AtomicU64,
    sums: Mutex<add_up::Sums>,
    runs: Mutex<add_up::Runs>,
    /// Stamps of the ledger's files at the last comparison.
    ledger: Mutex<Vec<Option<log::Stamp>>>,
    /// Lock for one refresh at a time: an older comparison must not replace a newer one.
    turn: Mutex<()>,
}

#[derive(Debug)]
struct Writer {
    connection: Connection,
    seen: Seen,
}

/// Cached state of files, so that a refresh without changes needs only each file's metadata.
#[derive(Debug, Default)]
struct Seen {
    epoch: String,
    logs: std::collections::HashMap<PathBuf, log::Stamp>,
    /// Time of the last change of each directory of bundles, and its subdirectories.
    folders: std::collections::HashMap<PathBuf, (i128, Vec<PathBuf>)>,
}

impl View {
    /// Opens the view, or creates an empty one. A damaged one or one of another version is deleted.
    pub fn open(path: &Path, sources: Sources) -> Result<Self, ViewError> {
        let _alone = Lock::take_patiently(&path.with_added_extension("lock"))?;
        refuse_link(path)?;
        let connection = match prepared(path) {
            Ok(connection) => connection,
            Err(error) if is_damage(&error) => {
                discard(path);
                prepared(path)?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            path: path.to_owned(),
            sources,
            writer: Mutex::new(Writer {
                connection,
                seen: Seen::default(),
            }),
            readers: Mutex::default(),
            generation: AtomicU64::new(1),
            sums: Mutex::default(),
            runs: Mutex::default(),
            ledger: Mutex::default(),
            turn: Mutex::default(),
        })
    }

    /// Returns the source files.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Reads the additions to the files since the last refresh. `progress` is called with the progress.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or the database cannot be written. Rows that were read before stay.
    pub fn refresh(&self, progress: impl Fn(Progress) + Sync) -> Result<Changes, ViewError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let refreshed = self.refresh_alone(&progress);
        if refreshed.is_err() {
            // A comparison that failed is repeated at the next refresh.
            self.forget_ledger();
        }
        refreshed
    }

    fn refresh_alone(&self, progress: &(impl Fn(Progress) + Sync)) -> Result<Changes, ViewError> {
        let (mut changes, is_other) = self.read_files(progress)?;
        let is_ledger_other = self.is_ledger_other();
        if is_other || changes.bundles > 0 || is_ledger_other {
            let mut audit = self.compare_with_ledger()?;
            if !audit.problems.is_empty() {
                // A running seal looks like damage, so check again while no seal runs.
                let _pause = self.sources.store.pause_seals();
                let (more, _) = self.read_files(progress)?;
                changes.bundles += more.bundles;
                changes.lines += more.lines;
                changes.decisions.1 = more.decisions.1;
                changes.events.1 = more.events.1;
                audit = self.compare_with_ledger()?;
            }
            self.renew_sums(audit)?;
        }
        if is_other || changes.lines > 0 {
            self.renew_runs()?;
        }
        Ok(changes)
    }

    /// Returns the changes, and `true` if the view was replaced since the last refresh.
    fn read_files(
        &self,
        progress: &(impl Fn(Progress) + Sync),
    ) -> Result<(Changes, bool), ViewError> {
        let mut writer = self.writer();
        let _alone = Lock::take_patiently(&self.path.with_added_extension("lock"))?;
        let Writer { connection, seen } = &mut *writer;
        let epoch = meta(connection, "epoch")?.unwrap_or_default();
        let is_other = epoch != seen.epoch;
        if is_other {
            // Another process has rebuilt the view: the cached state is no longer valid.
            *seen = Seen {
                epoch,
                ..Seen::default()
            };
        }
        let (decisions, events) = (
            newest(connection, "decision")?,
            newest(connection, "event")?,
        );
        let bundles = bundles::refresh(connection, seen, &self.sources, progress)?;
        let lines = log::refresh(connection, seen, &self.sources)?;
        let changes = Changes {
            bundles,
            lines,
            decisions: (decisions, newest(connection, "decision")?),
            events: (events, newest(connection, "event")?),
        };
        Ok((changes, is_other))
    }

    /// Empties the view and reads everything again. Readers see the old one until the new one begins to fill.
    pub fn rebuild(&self, progress: impl Fn(Progress) + Sync) -> Result<Changes, ViewError> {
        {
            let mut writer = self.writer();
            let _alone = Lock::take_patiently(&self.path.with_added_extension("lock"))?;
            let change = writer.connection.transaction()?;
            change.execute_batch("DELETE FROM source; DELETE FROM task;")?;
            set_meta(&change, "epoch", &base::fresh_task_id().to_string())?;
            change.commit()?;
        }
        self.refresh(progress)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a query on a connection with one consistent state.
    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, ViewError> {
        let kept = self.readers().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => reader(&self.path)?,
        };
        let answer = {
            let snapshot = connection.unchecked_transaction()?;
            query(&snapshot)?
        };
        let mut readers = self.readers();
        if readers.len() < MAX_READERS {
            readers.push(connection);
        }
        Ok(answer)
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses a link, because the database would follow it.
fn refuse_link(path: &Path) -> Result<(), FileError> {
    match files::metadata(path) {
        Err(source) if files::is_link(&source) => Err(FileError {
            action: files::Action::Read,
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

fn prepared(path: &Path) -> Result<Connection, rusqlite::Error> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The view can be rebuilt, so a power failure may lose the newest rows.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let is_empty: bool =
        connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
            row.get(0)
        })?;
    if is_empty {
        let change = connection.transaction()?;
        change.execute_batch(SCHEMA)?;
        set_meta(&change, "epoch", &base::fresh_task_id().to_string())?;
        change.pragma_update(None, "user_version", VERSION)?;
        change.commit()?;
    } else if version != VERSION {
        return Err(rusqlite::Error::InvalidQuery);
    }
    Ok(connection)
}

/// Returns `true` if there is no database, or it is damaged or of another version; not for a full disk or a lock.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error {
        rusqlite::Error::InvalidQuery => true,
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, DatabaseCorrupt | NotADatabase)
        }
        _ => false,
    }
}

fn discard(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // A missing file need not be removed.
        files::remove_file(Path::new(&name)).ok();
    }
}

fn reader(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn newest(connection: &Connection, table: &str) -> Result<i64, rusqlite::Error> {
    let sql = format!("SELECT ifnull(max(id), 0) FROM {table}");
    connection
        .prepare_cached(&sql)?
        .query_row([], |row| row.get(0))
}

fn meta(connection: &Connection, key: &str) -> Result<Option<String>, rusqlite::Error> {
    use rusqlite::OptionalExtension as _;
    connection
        .query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
            row.get(0)
        })
        .optional()
}

fn set_meta(connection: &Connection, key: &str, value: &str) -> Result<(), rusqlite::Error> {
    connection
        .execute(
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
            [key, value],
        )
        .map(drop)
}

#[cfg(test)]
mod tests;
