//! Evidence that the session must leave: a valid bundle with the whole story.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::place::Place;

/// Time limit for sealing, which continues after the agent has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// Texts that the replay must contain, for any agent.
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

/// Waits for the bundle, verifies it, and compares its replay with the story; returns the replay.
pub(crate) fn check(place: &Place, agent: &str) -> Result<String> {
    let file = wait_for_bundle(place)?;
    place.roleos(&["witness", "verify", &file])?;
    place.roleos(&["ledger", "verify"])?;
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

/// Returns the file of the newest bundle, once there is one.
fn wait_for_bundle(place: &Place) -> Result<String> {
    let begun = Instant::now();
    loop {
        let list = place.roleos(&["witness", "list", "--json"])?;
        let bundles: Value = serde_json::from_str(&list)
            .map_err(|error| Failure::of("`witness list` printed no JSON", error))?;
        if let Some(file) = bundles.pointer("/0/file").and_then(Value::as_str) {
            return Ok(file.to_owned());
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
