//! A short run of `cargo xtask faults`: faults of a machine during the most important commands.

use std::path::Path;
use std::time::Duration;

use crate::workspace::ROLEOS;

#[test]
fn faults_lose_nothing_and_open_nothing() {
    let programs = Path::new(ROLEOS).parent().unwrap();
    for only in [
        "hook: gated call",
        "witness seal, third",
        "failing call: sessions seal",
        "crowd: specialist rollback",
        "upstream: floods",
    ] {
        let report = faults::run(
            &faults::Options {
                programs: programs.to_owned(),
                stride: 97,
                time: Duration::from_secs(12),
                only: Some(only.to_owned()),
            },
            |_| {},
        );
        let tried: u64 = report.rows.iter().map(|row| row.tried).sum();
        assert!(tried > 3, "{only} tried nothing\n{report}");
        assert!(report.is_clean(), "{report}");
    }
}
