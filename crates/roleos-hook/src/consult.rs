//! The opt-in second opinion on a call that broke no rule of its contract.
//!
//! Nothing here runs unless `ROLEOS_CONFORMANCE_CONSULT` is on. The specialist is on the network, so the `roleos`
//! beside this program calls it; it gets little time and is ended if it takes longer.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use base::programs;
use guard::hook::Consultation;
use routing::specialists::{Named, Paths, Settings, Specialists};
use specialist::conformance::ROLE;

/// Longest time that an agent waits for an opinion.
const TIME: Duration = Duration::from_millis(1500);

/// Time reserved for the answer itself.
const RESERVE: Duration = Duration::from_millis(400);

/// Time reserved for logging the result.
const SETTLING: Duration = Duration::from_millis(100);

/// Longest name of a version that is read.
const MAX_VERSION: u64 = 1024;

/// Requests an opinion before `end` and returns the version that objects, or `None`.
pub(crate) fn ask(consultation: &Consultation, end: Instant) -> Option<String> {
    let left = end.saturating_duration_since(Instant::now());
    let time = left.saturating_sub(RESERVE).min(TIME);
    let calling = time.checked_sub(SETTLING).filter(|time| !time.is_zero())?;
    // Without an entry, nothing is counted or started.
    is_registered(consultation).then_some(())?;
    let mut child = start(consultation, calling)?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let mut input = child.stdin.take()?;
    let mut output = child.stdout.take()?.take(MAX_VERSION);
    let question = consultation.question.to_string();
    let exchange = move || {
        let written = input.write_all(question.as_bytes());
        drop(input);
        let mut version = String::new();
        let read = output.read_to_string(&mut version);
        // There is no receiver after the time limit.
        sender
            .send((written.is_ok() && read.is_ok()).then_some(version))
            .ok();
    };
    let spawned = thread::Builder::new().spawn(exchange);
    let version = spawned.ok().and_then(|_| receiver.recv_timeout(time).ok());
    stop(&mut child);
    version.flatten().filter(|version| !version.is_empty())
}

fn is_registered(consultation: &Consultation) -> bool {
    let Consultation {
        workspace,
        config,
        environment,
        ..
    } = consultation;
    let Ok(settings) = Settings::load(config, environment) else {
        return false;
    };
    let paths = Paths::find(workspace, environment, &Named::default());
    let specialists = Specialists::new(paths, settings);
    let registry = specialists.registry();
    registry.is_ok_and(|registry| registry.entry(ROLE).is_some())
}

fn start(consultation: &Consultation, time: Duration) -> Option<Child> {
    let program = programs::main(&programs::running().ok()?)?;
    let mut command = Command::new(program);
    command
        .args(["consult", "--within-ms"])
        .arg(time.as_millis().to_string())
        .arg("--root")
        .arg(consultation.workspace.root());
    if let Some(state) = consultation.workspace.state() {
        command.arg("--trust-store").arg(state);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Ends a late child; an ended one is only waited for.
fn stop(child: &mut Child) {
    child.kill().ok();
    child.wait().ok();
}
