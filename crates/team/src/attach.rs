//! The settings file's store, opened once per process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ::routing::shared::{Shared, SharedError};
use ::routing::specialists::Specialists;
use base::config::store::Store;
use base::environment;
use base::workspace::Workspace;
use evidence::archive::Archive;
use evidence::archive::files::FilesArchive;

use crate::address::Address;
use crate::archive::DatabaseArchive;
use crate::pool::Team;
use crate::routing::Routing;

/// The file in the workspace with the lines that wait while the store is away.
const QUEUE: &str = "team-queue.jsonl";

/// How long a program waits before it tries again to join the ledger.
const AGAIN: Duration = Duration::from_secs(5);

/// Stores that are open, by URL and queue.
static OPEN: Mutex<BTreeMap<(String, std::path::PathBuf), Weak<Routing>>> =
    Mutex::new(BTreeMap::new());

/// Parses the address of the set store.
fn address(set: &Store) -> Result<Address, SharedError> {
    let failed = |detail: String| SharedError {
        detail,
        is_away: false,
    };
    let password = match set.password_env.as_str() {
        "" => None,
        name => Some(environment::secret(name).ok_or_else(|| {
            failed(format!(
                "`store.password_env` names `{name}`, which is not set"
            ))
        })?),
    };
    let password = password
        .as_ref()
        .map(|secret| secret.reveal().to_string_lossy());
    Address::parse(&set.url, password.as_deref()).map_err(|error| failed(error.to_string()))
}

/// Opens the set database; `None` if there is none. The tables are created or checked on first use.
///
/// # Errors
/// The settings cannot be used.
pub fn open(set: &Store) -> Result<Option<Team>, SharedError> {
    if set.url.is_empty() {
        return Ok(None);
    }
    Ok(Some(Team::new(address(set)?)?))
}

/// Opens the archive of evidence: in the store that is set, else in the files of the workspace.
///
/// # Errors
/// The settings cannot be used.
pub fn archive(
    workspace: &Workspace,
    set: &Store,
    max_bytes: u64,
) -> Result<Arc<dyn Archive>, SharedError> {
    Ok(match open(set)? {
        Some(team) => Arc::new(DatabaseArchive::new(team, workspace)),
        None => Arc::new(FilesArchive::of(workspace, max_bytes)),
    })
}

/// The same for a program that takes shipments: its key joins those of the ledger as soon as the store answers, so that a
/// machine that meets another program of the team first believes this one as well.
///
/// # Errors
/// The settings cannot be used.
pub fn serving_archive(
    workspace: &Workspace,
    set: &Store,
    max_bytes: u64,
) -> Result<Arc<dyn Archive>, SharedError> {
    let Some(team) = open(set)? else {
        return archive(workspace, set, max_bytes);
    };
    let archive = Arc::new(DatabaseArchive::new(team, workspace));
    let weak = Arc::downgrade(&archive);
    let join = move || {
        while let Some(archive) = weak.upgrade() {
            if archive.identity().is_ok() {
                return;
            }
            drop(archive);
            std::thread::park_timeout(AGAIN);
        }
    };
    let spawned = std::thread::Builder::new().spawn(join);
    spawned.map_err(|error| SharedError {
        detail: format!("cannot start a thread: {error}"),
        is_away: false,
    })?;
    Ok(archive)
}

/// Puts specialists into the store that is set; without one they stay in their files.
///
/// # Errors
/// The settings cannot be used.
pub fn attach(
    specialists: Specialists,
    workspace: &Workspace,
    set: &Store,
) -> Result<Specialists, SharedError> {
    let queue = workspace.role_os_dir().join(QUEUE);
    let Some(routing) = routing(set, &queue)? else {
        return Ok(specialists);
    };
    let shared: Arc<dyn Shared> = routing;
    Ok(specialists.with_shared(shared))
}

fn routing(set: &Store, queue: &Path) -> Result<Option<Arc<Routing>>, SharedError> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (set.url.clone(), queue.to_owned());
    if let Some(known) = open.get(&key).and_then(Weak::upgrade) {
        return Ok(Some(known));
    }
    let Some(team) = self::open(set)? else {
        return Ok(None);
    };
    let routing = Arc::new(Routing::new(team, queue)?);
    open.insert(key, Arc::downgrade(&routing));
    Ok(Some(routing))
}
