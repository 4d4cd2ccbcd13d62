//! Repeats exams that have become too old while the process runs: one after the other, one case at a time, on a
//! separate thread that nothing waits for. A failure is reported once and tried again at the next check.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use base::clock;
use upstream::audit::again::Round;

use crate::up::App;

/// Time before the first check, so that the start is not slowed down.
const FIRST: Duration = Duration::from_secs(1);
/// Time between two checks.
const LOOK: Duration = Duration::from_secs(3600);

/// The thread; dropping this ends it after its current case.
#[derive(Debug)]
pub(crate) struct Again {
    stop: Arc<AtomicBool>,
    _wake: mpsc::Sender<()>,
}

impl Drop for Again {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Starts the thread, if exams ever become too old.
pub(crate) fn start(app: &Arc<App>) -> Option<Again> {
    app.config.selection.audit_max_age()?;
    let (stop, app) = (Arc::new(AtomicBool::new(false)), Arc::clone(app));
    let (wake, asleep) = mpsc::channel();
    let stopped = Arc::clone(&stop);
    let work = move || {
        let mut said = BTreeSet::new();
        let mut pause = FIRST;
        // The other end is dropped when the process ends.
        while asleep.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
            look(&app, &stopped, &mut said);
            pause = LOOK;
        }
    };
    let thread = thread::Builder::new().name("audits".to_owned()).spawn(work);
    thread.ok().map(|_| Again { stop, _wake: wake })
}

fn look(app: &App, stop: &AtomicBool, said: &mut BTreeSet<String>) {
    let round = Round {
        workspace: &app.workspace,
        config: &app.config,
        specialists: &app.specialists,
        now_ns: clock::now_ns(),
        stop,
    };
    let tell = |line: &str| {
        if let Some(desk) = &app.desk {
            desk.tell(line);
        }
    };
    let old = round.old().unwrap_or_else(|error| {
        let line = format!("warning: old exams cannot be looked for: {error}");
        if said.insert(line.clone()) {
            tell(&line);
        }
        Vec::new()
    });
    let mut left = i64::try_from(old.len()).unwrap_or(i64::MAX);
    app.metrics.old_audits.set(left);
    for one in &old {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let subject = format!("{}/{}", one.record.role, one.record.version);
        match round.again(one) {
            Ok(taken) => {
                let record = &taken.record;
                let outcome = if record.ok { "passed" } else { "not passed" };
                app.metrics.audited(outcome);
                left -= 1;
                app.metrics.old_audits.set(left);
                tell(&format!(
                    "the exam of `{subject}` from {} was taken again: {outcome}, {} of {} cases",
                    one.record.finished_at, record.passed, record.cases
                ));
            }
            Err(why) => {
                app.metrics.audited("not taken");
                let line = format!(
                    "warning: the exam of `{subject}` from {} is too old and cannot be taken again: {why}",
                    one.record.finished_at
                );
                if said.insert(line.clone()) {
                    tell(&line);
                }
            }
        }
    }
}
