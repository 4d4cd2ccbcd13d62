//! The opt-in second opinion of the hook: the conformance specialist is asked over the network, for a moment only.
//!
//! Nothing here runs unless `ROLEOS_CONFORMANCE_CONSULT` is on. The question is put by a thread of its own, so that
//! nothing in it (a name lookup, a lock that somebody holds, a defect) can keep the agent waiting longer than that.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use host::hook::Consultation;
use host::specialists::{Asked, Named, Paths, Settings, Specialists};
use server::backend::{Backends, Limits};
use server::blocking;
use server::consult::consult;
use specialist::conformance::{ROLE, Verdict};

use crate::command::specialist::now;

/// Longest that an agent waits for an opinion.
const TIME: Duration = Duration::from_millis(1500);

/// Kept free for the answer itself.
const RESERVE: Duration = Duration::from_millis(400);

/// Kept free for writing down what came of it.
const SETTLING: Duration = Duration::from_millis(100);

/// Asks before `end`; the version that objects, or nothing.
pub(super) fn ask(consultation: Consultation, end: Instant) -> Option<String> {
    let left = end.saturating_duration_since(Instant::now());
    let time = left.saturating_sub(RESERVE).min(TIME);
    let calling = time.checked_sub(SETTLING).filter(|time| !time.is_zero())?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || {
        // Nobody listens when the time is over.
        sender.send(objection(&consultation, calling)).ok();
    };
    thread::Builder::new().spawn(work).ok()?;
    receiver.recv_timeout(time).ok().flatten()
}

fn objection(consultation: &Consultation, time: Duration) -> Option<String> {
    let Consultation {
        workspace,
        config,
        environment,
        question,
    } = consultation;
    let settings = Settings::load(config, environment).ok()?;
    let paths = Paths::find(workspace, environment, &Named::default());
    let specialists = Specialists::new(paths, settings);
    // Without an entry nothing is counted and nothing is started.
    specialists.registry().ok()?.entry(ROLE)?;
    let backends = Backends::new(Limits::from(&config.specialist));
    let now = now();
    let trace_id = format!("conformance-{now}");
    let asked = Asked {
        role: ROLE,
        input: question,
        trace_id: &trace_id,
        now: &now,
    };
    let consulted = blocking::run(consult(&specialists, &backends, asked, time)).ok()?;
    match consulted.verdict {
        Verdict::Nonconformant => consulted.version,
        Verdict::Conformant | Verdict::Abstain => None,
    }
}
