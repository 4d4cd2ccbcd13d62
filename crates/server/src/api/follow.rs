//! Keeps the view current while the process runs, and tells those who listen what is new.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Desk;
use crate::view::{Changes, Progress, ViewError};

/// Between two looks at the files. A look without news costs one question to the system for each file that grows.
const PAUSE: Duration = Duration::from_millis(250);
/// The person at the terminal hears of a round that takes longer than this, and then every time as long.
const LONG: Duration = Duration::from_secs(2);

impl Desk {
    /// Brings the view up to date and tells those who listen what is new. To be called again and again, on a thread
    /// that may wait.
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
        let (before, after) = changes.decisions;
        // What was there when the process started is no news.
        if was_current && after > before && self.news.receiver_count() > 0 {
            for decision in self.view.decisions_between(before, after)? {
                // Nobody has to listen.
                self.news.send(Arc::new(decision)).ok();
            }
        }
        Ok(changes)
    }

    /// Whether the view has been read once, and how far that is.
    #[must_use]
    pub fn progress(&self) -> (bool, Progress) {
        let progress = Progress {
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        };
        (self.current.load(Ordering::Relaxed), progress)
    }

    /// Looks again and again until the process ends.
    pub(crate) async fn follow(self: Arc<Self>) {
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
            // What is wrong is said once, not four times a second.
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
