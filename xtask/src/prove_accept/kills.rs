//! A run that is killed again and again: it must end as one that was not, and leave nothing behind.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Accept, expect};
use crate::shell::{Failure, Result, headline};

/// How often the run is killed.
const KILLS: u32 = 50;
/// Tasks of the run.
const TASKS: &str = "20";
/// What two runs of the same tasks have in common.
const SAME: [&str; 12] = [
    "tasks",
    "trials",
    "solved",
    "failed",
    "skipped",
    "errors",
    "policy_violations",
    "refused",
    "with_evidence",
    "rollbacks",
    "causes",
    "parts",
];

/// Kills a run at random times, resumes it each time, and compares it with one that was let alone.
pub(super) fn check(accept: &Accept) -> Result<()> {
    headline("kills");
    let words = ["prove", "suite", "--agent", "reference", "--limit", TASKS];
    let started = Instant::now();
    let (whole, _) = accept.roleos(&words)?;
    let took = started.elapsed();
    // How long it took in nanoseconds differs from run to run.
    let mut seed = u64::try_from(took.as_nanos()).unwrap_or(1);
    eprintln!("the run takes {:.0} s; seed {seed}", took.as_secs_f64());
    for kill in 0..KILLS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // A run that is killed later each time would be over soon; one that is killed early never begins a task.
        let share = f64::from((seed >> 40) as u32) / f64::from(1_u32 << 24);
        let after = took.mul_f64(share / 8.0);
        kill_after(accept, &words, kill > 0, after)?;
    }
    let (killed, _) = accept.roleos(&resumed(&words))?;
    for name in SAME {
        let wanted = whole.get(name).unwrap_or(&Value::Null);
        expect(name, killed.get(name), wanted)?;
    }
    let run = killed.pointer("/run/run").and_then(Value::as_str);
    let run = run.ok_or_else(|| Failure::new("the report names no run"))?;
    nothing_is_left(accept, run)?;
    let (ledger, is_whole) = accept.roleos(&["ledger", "verify"])?;
    expect("ledger", Some(&is_whole.into()), &true.into())
        .map_err(|failure| Failure::new(format!("{failure}\n{ledger:#}")))?;
    eprintln!(
        "{KILLS} kills: the same report, no process, no slot and no socket left, ledger whole"
    );
    Ok(())
}

fn resumed<'w>(words: &[&'w str]) -> Vec<&'w str> {
    words.iter().copied().chain(["--resume"]).collect()
}

fn kill_after(accept: &Accept, words: &[&str], goes_on: bool, after: Duration) -> Result<()> {
    let words = if goes_on {
        resumed(words)
    } else {
        words.to_vec()
    };
    let spawned = Command::new(&accept.roleos)
        .args(words)
        .current_dir(&accept.work)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let failed = |error| Failure::of("cannot start `roleos`", error);
    let mut child = spawned.map_err(failed)?;
    thread::sleep(after);
    child.kill().and_then(|()| child.wait()).map_err(failed)?;
    Ok(())
}

/// Makes sure that no slot and no process of the run are there. The kernel ends the processes of a box by itself, and
/// takes its time on a busy machine.
fn nothing_is_left(accept: &Accept, run: &str) -> Result<()> {
    let folder = accept.work.join(".role-os/prove").join(run);
    if folder.join("slots").exists() {
        return Err(Failure::new("a slot of the run is left"));
    }
    let mark = folder.to_string_lossy().into_owned();
    let started = Instant::now();
    while let Some(line) = process_with(&mark) {
        if started.elapsed() > Duration::from_secs(30) {
            return Err(Failure::new(format!(
                "a process of the run is left: {line}"
            )));
        }
        thread::sleep(Duration::from_millis(100));
    }
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    match sockets.lines().find(|line| line.contains(&mark)) {
        Some(line) => Err(Failure::new(format!("a socket of the run is left: {line}"))),
        None => Ok(()),
    }
}

/// The command of a process whose words name a folder; those of a box name its mounts.
fn process_with(mark: &str) -> Option<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let line = |folder: &Path| {
        let words = fs::read(folder.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ")
    };
    entries
        .map(|entry| line(&entry.path()))
        .find(|line| line.contains(mark))
}
