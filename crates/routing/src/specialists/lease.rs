//! Tracks running dispatches, so that no place in the quota outlives its dispatch.
//!
//! A process that dispatches holds the lock of its own file, which the system releases at any end of the process. So
//! any other process recognises the places of a dead one, without process numbers, which are reused and differ between
//! containers. Within a process, a dispatch that is dropped without an answer is recognised by its [`Ticket`].
//!
//! Files are created and removed only under the lock of the state.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ::specialist::state::Reservation;

use crate::shared::Shared;

use base::files::{self, Privacy};
use base::keys;

/// The dispatches of this process, and detection of those of others.
#[derive(Debug)]
pub(super) struct Leases {
    folder: PathBuf,
    own: Mutex<Option<Lease>>,
    open: Open,
    next: AtomicU64,
    shared: Option<Arc<dyn Shared>>,
}

/// Tickets of running dispatches.
type Open = Arc<Mutex<BTreeSet<u64>>>;

/// The lock that this process holds while it lives.
#[derive(Debug)]
struct Lease {
    holder: String,
    /// `None` if a shared store detects living processes.
    file: Option<(PathBuf, File)>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((path, _lock)) = &self.file {
            // A remaining file is removed by the next process that takes a lease.
            files::remove_file(path).ok();
        }
    }
}

/// A running dispatch, until it is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) holder: String,
    pub(super) number: u64,
    open: Open,
}

impl Ticket {
    /// Keeps the place taken although the dispatch has ended, because its end could not be recorded.
    pub(super) fn keep(self: &Arc<Self>) {
        std::mem::forget(Arc::clone(self));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.number);
    }
}

impl Leases {
    /// Stores the files in a folder beside the state.
    pub(super) fn beside(state: &Path) -> Self {
        Self {
            folder: state.with_added_extension("leases"),
            own: Mutex::default(),
            open: Open::default(),
            next: AtomicU64::default(),
            shared: None,
        }
    }

    /// Leaves the detection of living processes to a shared store.
    pub(super) fn shared(shared: Arc<dyn Shared>) -> Self {
        let own = Lease {
            holder: shared.holder().to_owned(),
            file: None,
        };
        Self {
            folder: PathBuf::new(),
            own: Mutex::new(Some(own)),
            open: Open::default(),
            next: AtomicU64::default(),
            shared: Some(shared),
        }
    }

    /// Begins a dispatch. The caller holds the lock of the state.
    ///
    /// # Errors
    /// This process has no lease yet, and its file cannot be created or locked.
    pub(super) fn begin(&self) -> io::Result<Arc<Ticket>> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = match own.take() {
            Some(lease) => lease,
            None => self.take()?,
        };
        let ticket = Ticket {
            holder: lease.holder.clone(),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            open: Arc::clone(&self.open),
        };
        *own = Some(lease);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(ticket.number);
        drop(open);
        Ok(Arc::new(ticket))
    }

    fn take(&self) -> io::Result<Lease> {
        files::make_directory(&self.folder, Privacy::Secret).map_err(|error| error.source)?;
        self.sweep();
        let holder = keys::random_token()?;
        let path = self.path(&holder).ok_or(io::ErrorKind::InvalidFilename)?;
        let lock = files::lock::open(&path)?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(Lease {
            holder,
            file: Some((path, lock)),
        })
    }

    /// Removes the files of processes that died.
    fn sweep(&self) {
        let entries = files::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten();
        for path in entries.map(|entry| entry.path()) {
            if is_free(&path) {
                files::remove_file(&path).ok();
            }
        }
    }

    /// Returns `true` if the dispatch that holds a place can no longer be answered. In doubt, the place is kept.
    pub(super) fn is_abandoned(&self, reservation: &Reservation) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own
            .as_ref()
            .is_some_and(|own| own.holder == reservation.holder)
        {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            return !open.contains(&reservation.ticket);
        }
        drop(own);
        if let Some(shared) = &self.shared {
            return shared.is_gone(&reservation.holder);
        }
        self.path(&reservation.holder)
            .is_some_and(|path| is_free(&path))
    }

    /// Returns the file of a holder. Names of holders come from the state's file, which any program may have written.
    fn path(&self, holder: &str) -> Option<PathBuf> {
        let is_token =
            !holder.is_empty() && holder.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_token.then(|| self.folder.join(holder).with_added_extension("lock"))
    }
}

/// Returns `true` if no process holds the lock of a file, or the file is missing.
fn is_free(path: &Path) -> bool {
    match files::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
