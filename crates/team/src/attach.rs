//! The settings file's store, opened once per process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ::routing::shared::{Shared, SharedError};
use ::routing::specialists::Specialists;
use base::config::store::Store;
use base::environment;
use base::workspace::Workspace;

use crate::address::Address;
use crate::pool::Team;
use crate::routing::Routing;

/// The file in the workspace with the lines that wait while the store is away.
const QUEUE: &str = "team-queue.jsonl";

/// Open stores, by URL and queue.
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

/// Connects specialists to the set store; without one they stay in their files.
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
