//! Work after a response: probes of adapters, and learning from requests.
//!
//! A few run at a time and some more wait; the rest is dropped and counted, so that a busy server never delays a
//! response. At its end, a server drops waiting work immediately and gives running work the remaining time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use routing::specialists::Asked;
use specialist::shadow::Shadow;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

use super::learn;
use super::roles::Running;
use super::roles::play::{Stage, dispatcher};
use crate::up::App;
use upstream::dispatch::Due;

/// Most tasks that run at a time.
const AT_ONCE: usize = 4;

/// Most tasks that wait.
const WAITING: usize = 256;

/// Running and waiting tasks.
#[derive(Debug)]
pub(super) struct Background {
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    running: Running,
    /// Set when no new task may begin.
    closing: AtomicBool,
    /// Aborts running tasks.
    cut: Arc<Notify>,
    is_cut: AtomicBool,
}

impl Default for Background {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: Arc::default(),
            running: Running::default(),
            closing: AtomicBool::new(false),
            cut: Arc::default(),
            is_cut: AtomicBool::new(false),
        }
    }
}

impl Background {
    /// Stops new tasks.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.places.close();
    }

    /// Aborts running tasks.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        self.cut.notify_waiters();
    }

    /// Waits until no task runs or waits.
    pub(super) async fn over(&self) {
        self.running.over().await;
    }

    /// Resolves when running tasks are aborted.
    async fn is_cut(&self) {
        let notified = self.cut.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.is_cut.load(Ordering::SeqCst) {
            notified.await;
        }
    }
}

/// Runs a task on a separate thread once there is a slot. `dropped` is called with the reason if it does not run, or
/// not to its end.
pub(super) fn spawn(
    app: &Arc<App>,
    work: impl AsyncFnOnce(&Arc<App>) + Send + 'static,
    dropped: impl FnOnce(&App, &'static str) + Send + 'static,
) {
    let background = &app.gateway.background;
    if background.closing.load(Ordering::SeqCst) {
        return dropped(app, "shutdown");
    }
    if background.waiting.fetch_add(1, Ordering::SeqCst) >= WAITING {
        background.waiting.fetch_sub(1, Ordering::SeqCst);
        return dropped(app, "too_many");
    }
    let running = background.running.begin();
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let places = Arc::clone(&app.gateway.background.places);
        let place = places.acquire_owned().await;
        app.gateway
            .background
            .waiting
            .fetch_sub(1, Ordering::SeqCst);
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            let _running = running;
            // The slots are closed when the server ends.
            let Ok(_place) = place else {
                return dropped(&app, "shutdown");
            };
            runtime.block_on(async {
                tokio::select! {
                    () = work(&app) => {}
                    () = app.gateway.background.is_cut() => dropped(&app, "shutdown"),
                }
            });
        });
        // A panic in it does not affect others, and the thread's end releases its slot.
        done.await.ok();
    });
}

/// Compares an adapter's answer with the general model's.
pub(super) fn probe(app: &Arc<App>, due: Due) {
    let lost = due.clone();
    let is_made = Arc::new(AtomicBool::new(false));
    let was_made = Arc::clone(&is_made);
    let work = async move |app: &Arc<App>| {
        let stage = Stage {
            instructions: None,
            beside: None,
            elsewhere: false,
        };
        let probe = dispatcher(app, stage).probe(&due).await;
        is_made.store(true, Ordering::SeqCst);
        app.metrics.probed(outcome(&probe.shadow));
        if let Some(said) = &probe.said {
            learn::note_probe(app, &due, said).await;
        }
        if let (Some(why), Some(desk)) = (&probe.persist_error, &app.desk) {
            desk.tell(&format!(
                "warning: a probe of `{}` was not kept: {why}",
                due.role
            ));
        }
    };
    let dropped = move |app: &App, why: &'static str| {
        if was_made.load(Ordering::SeqCst) {
            return;
        }
        app.metrics.probed("dropped");
        let asked: Asked<'_> = lost.asked();
        // If even this cannot be written, only the count remains.
        app.specialists
            .drop_probe(asked, lost.version.as_deref().unwrap_or_default(), why)
            .ok();
    };
    spawn(app, work, dropped);
}

/// Returns the result for the counter.
fn outcome(shadow: &Shadow) -> &'static str {
    match shadow {
        Shadow::Fired { agreed: true, .. } => "agreed",
        Shadow::Fired { agreed: false, .. } => "disagreed",
        Shadow::Skipped {
            why: "incomparable",
            ..
        } => "incomparable",
        _ => "failed",
    }
}
