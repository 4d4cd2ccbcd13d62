//! `.role-os/view.db`: the logs and bundles of a workspace as tables, so that lists with filters are quick however long
//! the history is. A view and no record: everything in it is read from the files, deleting it loses nothing.
//!
//! Reading order: [`View`] and [`Sources`], `log` (how far a growing file was read), `lines` (what a line becomes),
//! `bundles` (what a bundle becomes), `audit` (whether the ledger holds), then [`list`] and [`rows`] (filters, pages, what a row tells) and [`add_up`]
//! (scorecard and curve) and [`compare`] (the same tasks twice).
//!
//! One process at a time brings the view up to date, by a lock beside the file; readers never wait.

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

/// What the tables look like. A view of another version is made anew.
const SCHEMA: &str = include_str!("schema.sql");
const VERSION: i64 = 5;
/// Another process may be writing.
const PATIENCE: Duration = Duration::from_secs(30);
/// Readers that are kept open.
const MAX_READERS: usize = 8;

/// Why the view could not be used. It can be deleted and is then built again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    #[error("the view `view.db` cannot be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// A file that it is read from.
    #[error(transparent)]
    File(#[from] FileError),
    /// The keys that bundles are checked with.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The files that are shown.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Bundles and the keys to check them with.
    pub store: Store,
    /// Where the keys lie.
    pub keys: PathBuf,
    /// Journals.
    pub sessions: PathBuf,
    /// The run log.
    pub runs: PathBuf,
    /// Specialists' events.
    pub events: PathBuf,
    /// Specialists' probes.
    pub probes: PathBuf,
    /// The field log; those that were set aside have a number behind its name.
    pub field_log: PathBuf,
    /// The gateway's log; those that were set aside have a number behind its name.
    pub requests: PathBuf,
    /// How bundles are read.
    pub options: scan::Options,
}

/// What a refresh brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Bundles that were read.
    pub bundles: u64,
    /// Lines that were read.
    pub lines: u64,
    /// Largest id of a decision before and after.
    pub decisions: (i64, i64),
    /// Largest id of a specialist's event before and after.
    pub events: (i64, i64),
}

/// How far a refresh is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files read.
    pub done: u64,
    /// Files to read.
    pub total: u64,
}

/// The view of one workspace.
#[derive(Debug)]
pub struct View {
    path: PathBuf,
    sources: Sources,
    writer: Mutex<Writer>,
    readers: Mutex<Vec<Connection>>,
    /// Counts changes of bundles, so that sums are kept until the next ones are made.
    generation: AtomicU64,
    sums: Mutex<add_up::Sums>,
    runs: Mutex<add_up::Runs>,
    /// The ledger's files as they were when it was last compared.
    ledger: Mutex<Vec<Option<log::Stamp>>>,
    /// One refresh at a time: an older comparison must not replace a newer one.
    turn: Mutex<()>,
}

#[derive(Debug)]
struct Writer {
    connection: Connection,
    seen: Seen,
}

/// What is known of files without asking the database, so that a refresh without news costs a look at each file's facts.
#[derive(Debug, Default)]
struct Seen {
    epoch: String,
    logs: std::collections::HashMap<PathBuf, log::Stamp>,
    /// When each folder of bundles was changed, and the folders in it.
    folders: std::collections::HashMap<PathBuf, (i128, Vec<PathBuf>)>,
}

impl View {
    /// Opens the view, or makes an empty one. One that is damaged or of another version is thrown away.
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

    /// The files that are shown.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Reads what was added to the files since the last time. `progress` hears how far it is.
    ///
    /// # Errors
    /// A file cannot be read, or the database cannot be written. What was read before stays.
    pub fn refresh(&self, progress: impl Fn(Progress) + Sync) -> Result<Changes, ViewError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let refreshed = self.refresh_alone(&progress);
        if refreshed.is_err() {
            // What was not compared is compared the next time.
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
                // A seal that is under way looks like damage, so look again while no seal runs.
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

    /// What was read, and whether the view is another one than the last time.
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
            // Another process has built the view anew: what we remember of it is no longer true.
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

    /// Lends a connection that reads one consistent state.
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

/// The database follows links by itself.
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
    // It can be built again, so that a power cut may cost the newest rows.
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

/// No database, a damaged one, or one of another version; not a full disk or a lock.
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
        // One that is not there need not go.
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
