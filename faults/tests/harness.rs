//! The trials detect faults: programs that are broken on purpose are reported, each in its column.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be prepared has failed"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use faults::{Options, Report};
use tempfile::TempDir;

/// Program that reads a number, waits, and writes it back incremented: two at once lose one.
const RACES: &str = "#!/bin/sh
count=\"$ROLEOS_ROOT/.role-os/count\"
case \"$*\" in
  *list*)
    seen=$(cat \"$count\" 2>/dev/null || echo 0)
    printf '['; i=0
    while [ $i -lt $seen ]; do [ $i -gt 0 ] && printf ,; printf 1; i=$((i+1)); done
    printf ']' ;;
  *rotate*)
    seen=$(cat \"$count\" 2>/dev/null || echo 0)
    sleep 0.1
    echo $((seen+1)) > \"$count\" ;;
esac
";

/// Program that records the call and allows it.
const LETS_RUN: &str = "#!/bin/sh
mkdir -p \"$ROLEOS_ROOT/.role-os/sessions\"
echo '{\"kind\":\"call\"}' >> \"$ROLEOS_ROOT/.role-os/sessions/s1.jsonl\"
";

/// Program that reports a failure although it has succeeded.
const COMPLAINS: &str = "#!/bin/sh
echo x >> \"$ROLEOS_ROOT/.claude-settings\"
mkdir -p \"$ROLEOS_ROOT/.claude\"
count=$(wc -l < \"$ROLEOS_ROOT/.claude-settings\")
echo \"$count\" > \"$ROLEOS_ROOT/.claude/settings.local.json\"
[ -z \"$ROLEOS_TEST_CLOCK_BEHIND\" ] || exit 1
";

fn trial(roleos: &str, hook: &str, only: &str) -> Report {
    let programs = TempDir::new().unwrap();
    for (name, script) in [("roleos", roleos), ("roleos-hook", hook)] {
        program(&programs.path().join(name), script);
    }
    let options = Options {
        programs: programs.path().to_owned(),
        stride: 41,
        time: Duration::from_secs(5),
        only: Some(only.to_owned()),
    };
    faults::run(&options, |_| {})
}

fn program(path: &Path, script: &str) {
    let mut file = File::create(path).unwrap();
    file.write_all(script.as_bytes()).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_writer_that_loses_updates_is_reported() {
    let report = trial(RACES, LETS_RUN, "crowd: key rotate");
    assert_eq!(
        report.rows.iter().map(|row| row.lost).sum::<u64>(),
        1,
        "{report}"
    );
    assert!(!report.is_clean());
}

#[test]
fn a_hook_that_lets_a_gated_call_run_is_reported() {
    let report = trial(RACES, LETS_RUN, "clock going back: hook: gated call");
    let open: u64 = report.rows.iter().map(|row| row.failed_open).sum();
    // Both rows of gated calls, three clocks each.
    assert_eq!(open, 6, "{report}");
}

#[test]
fn an_error_for_something_that_was_done_is_reported() {
    let report = trial(COMPLAINS, LETS_RUN, "clock going back: init");
    let wrong: u64 = report.rows.iter().map(|row| row.misreported).sum();
    assert_eq!(wrong, 3, "{report}");
}
