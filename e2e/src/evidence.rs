//! What the session must leave behind: a valid bundle that tells the whole story.

use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::place::Place;

/// Sealing goes on after the agent has ended; this long is waited for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the replay must show, whichever agent it was.
const STORY: &[&str] = &[
    "The test fails. Mend it, commit and push.",
    "cargo test",
    "git push origin main",
    "git:push",
    "-    a - b",
    "+    a + b",
    "test result: ok",
    "The outcome agrees with the test log",
];

/// Waits for the bundle, verifies it, and holds its replay against the story; returns the replay.
pub(crate) fn check(place: &Place, agent: &str) -> Result<String> {
    wait_for_bundle(place)?;
    place.roleos(&["witness", "verify", "latest"])?;
    let replay = place.roleos(&["witness", "replay", "latest"])?;
    for part in STORY.iter().chain([&agent]) {
        if !replay.contains(part) {
            return Err(Failure::new(format!(
                "the replay does not show `{part}`:\n{replay}"
            )));
        }
    }
    Ok(replay)
}

fn wait_for_bundle(place: &Place) -> Result<()> {
    let begun = Instant::now();
    loop {
        let list = place.roleos(&["witness", "list", "--json"])?;
        if list.contains("\"task_id\"") {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            let sessions = place.roleos(&["sessions", "list"]).unwrap_or_default();
            return Err(Failure::new(format!(
                "the session was not sealed within {PATIENCE:?}\n{sessions}"
            )));
        }
        thread::sleep(Duration::from_millis(200));
    }
}
