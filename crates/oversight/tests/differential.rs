//! Generated commands, run by the real bash with programs that only record their arguments: the analysis must have
//! found every gated program that ran.
//!
//! `ROLEOS_DIFFERENTIAL=50000` runs that many; `ROLEOS_DIFFERENTIAL_SEED=7` sets another seed. A failure prints the
//! seed and every command that was missed.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot run says so, its figures are read by people, and it writes throwaway files"
)]

mod generate;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use oversight::grants::Grants;
use oversight::lookup::Nothing;
use oversight::verdict::{Decision, Place, Policy, Verdict, decide_command};

use generate::{Generator, is_gated};

/// Programs that are replaced by recorders.
const RECORDED: &[&str] = &[
    "git", "gh", "npm", "pnpm", "yarn", "bun", "twine", "uv", "poetry", "gh-pages", "wrangler",
];

/// Launchers that may be missing on this machine: they start their arguments.
const EMULATED: &[&str] = &["sudo", "doas", "ionice", "npx", "unbuffer", "chronic"];

/// System programs that the commands use.
const REAL: &[&str] = &[
    "sh", "bash", "dash", "cat", "tr", "rev", "base64", "sed", "head", "tail", "cut", "sort",
    "env", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "find", "seq", "tee", "cp",
    "ln", "mv", "rm", "mkdir", "chmod", "touch", "awk", "paste", "printf", "echo", "true", "false",
    "tac", "flock", "mktemp", "xxd", "fold", "perl", "make", "dd",
];

/// Default number of commands.
const COMMANDS: usize = 1500;

fn number(variable: &str, otherwise: usize) -> usize {
    let text = std::env::var(variable).unwrap_or_default();
    text.parse().unwrap_or(otherwise)
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Creates the directory of programs that the commands find.
fn programs(root: &Path) -> PathBuf {
    let place = root.join("bin");
    fs::create_dir_all(&place).expect("a directory");
    for name in RECORDED {
        let text = format!(
            "#!/bin/sh\n{{ printf '%s' {name}; [ $# = 0 ] || printf '\\037%s' \"$@\"; echo; }} >> \"$RECORD\"\n"
        );
        executable(&place.join(name), &text);
    }
    for name in EMULATED {
        executable(&place.join(name), "#!/bin/sh\nexec \"$@\"\n");
    }
    for name in REAL {
        let found = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        if let Some(path) = found.iter().find(|path| path.exists()) {
            symlink(path, place.join(name)).expect("a link");
        }
    }
    place
}

/// Runs a command and returns `true` if a gated act happened.
///
/// Each command has its own record, so that the act of an earlier one that is still running does not count for it.
fn acts(command: &str, index: usize, programs: &Path, place: &Path) -> bool {
    drop(fs::remove_dir_all(place));
    fs::create_dir_all(place).expect("a directory");
    let record = place.with_extension(format!("record-{index}"));
    let status = Command::new("timeout")
        .args(["-k", "1", "5", "bash", "-c", command])
        .env_clear()
        .env("PATH", programs)
        .env("HOME", place)
        .env("RECORD", &record)
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect("bash starts");
    let text = fs::read_to_string(&record).unwrap_or_default();
    drop(fs::remove_file(&record));
    text.lines().any(|line| {
        let words: Vec<&str> = line.split('\u{1f}').collect();
        is_gated(&words)
    })
}

fn decide(command: &str) -> Decision {
    let place = Place {
        directory: "/home/dev",
        home: "/home/dev",
    };
    let now = Timestamp::UNIX_EPOCH;
    decide_command(
        &Policy::default(),
        command,
        place,
        &Nothing,
        &Grants::none(),
        now,
    )
}

#[test]
fn what_bash_runs_was_seen() {
    let seed = number("ROLEOS_DIFFERENTIAL_SEED", 1);
    let count = number("ROLEOS_DIFFERENTIAL", COMMANDS);
    let root = std::env::temp_dir().join(format!("roleos-differential-{}", std::process::id()));
    let programs = programs(&root);
    let next = AtomicUsize::new(0);
    let (ran, named) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut missed: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let (next, ran, named, programs, root) = (&next, &ran, &named, &programs, &root);
                scope.spawn(move || {
                    let mut missed = Vec::new();
                    let place = root.join(format!("place-{worker}"));
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= count {
                            return missed;
                        }
                        let command = Generator::new(seed, index).command();
                        if !acts(&command, index, programs, &place) {
                            continue;
                        }
                        ran.fetch_add(1, Ordering::Relaxed);
                        let decision = decide(&command);
                        if !decision.actions.is_empty() {
                            named.fetch_add(1, Ordering::Relaxed);
                        }
                        if decision.verdict < Verdict::Ask {
                            missed.push(format!("#{index}: {command}"));
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            missed.extend(worker.join().expect("a worker ends"));
        }
    });
    drop(fs::remove_dir_all(&root));
    let (ran, named) = (ran.into_inner(), named.into_inner());
    println!(
        "{count} commands, {ran} acted, {named} of these named, {} missed (seed {seed})",
        missed.len()
    );
    assert!(
        ran * 2 > count,
        "only {ran} of {count} commands acted: the generator is broken"
    );
    assert!(
        missed.is_empty(),
        "seed {seed}, {} missed:\n{}",
        missed.len(),
        missed.join("\n---\n")
    );
}
