//! Keeps the view current while the process runs, and notifies listeners of new entries.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Desk;
use index::{Changes, Progress, ViewError};

/// Interval of checks of the files. A check without news costs one system call per growing file.
const PAUSE: Duration = Duration::from_millis(250);
/// Duration of a round after which the person at the terminal is told, repeatedly.
const LONG: Duration = Duration::from_secs(2);

impl Desk {
    /// Updates the view and notifies listeners of new entries. Must be called repeatedly, on a thread that may block.
    pub fn refresh(&self) -> Result<Changes, ViewError> {
        let told = Mutex::new(Instant::now());
        let changes = self.view.refresh(|Progress { done, total }| {
            self.done.store(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.elapsed() >= LONG {
                *told = Instant::now();
                self.notice
                    .tell(&format!("reading bundles into the view: {done} of {total}"));
            }
        })?;
        let was_current = self.current.swap(true, Ordering::Relaxed);
        // Entries from before the start of the process are not new.
        if was_current {
            self.tell_news(&changes)?;
        } else {
            self.begin_news()?;
        }
        self.announce(&changes);
        Ok(changes)
    }

    /// Notifies open pages of changes. Approvals change without a line in a log.
    fn announce(&self, changes: &Changes) {
        if self.changed.receiver_count() == 0 {
            return;
        }
        let now = base::clock::now_ns();
        let pending = guard::approvals::pending(&self.workspace, now).map_or(0, |list| list.len());
        let given = guard::approvals::given(&self.workspace, now).map_or(0, |list| list.len());
        let open = (pending << 32 | given) as u64;
        let is_other = self.open_approvals.swap(open, Ordering::Relaxed) != open;
        if is_other || changes.bundles > 0 || changes.lines > 0 {
            self.changed
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Returns `true` if the view has been read once, and the progress.
    #[must_use]
    pub fn progress(&self) -> (bool, Progress) {
        let progress = Progress {
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        };
        (self.current.load(Ordering::Relaxed), progress)
    }

    /// Refreshes the view until the process ends.
    pub async fn follow(self: Arc<Self>) {
        let mut closing = self.closing.subscribe();
        let mut said = String::new();
        loop {
            let desk = Arc::clone(&self);
            let round = tokio::task::spawn_blocking(move || desk.refresh());
            let failed = match round.await {
                Ok(Ok(_)) => String::new(),
                Ok(Err(error)) => base::said(&error),
                Err(_) => "our own code failed".to_owned(),
            };
            // An error is reported once, not four times per second.
            if failed != said && !failed.is_empty() {
                self.notice
                    .tell(&format!("warning: the view is not current: {failed}"));
            }
            said = failed;
            let ended = closing.wait_for(|closing| *closing);
            if tokio::time::timeout(PAUSE, ended).await.is_ok() {
                return;
            }
        }
    }
}
