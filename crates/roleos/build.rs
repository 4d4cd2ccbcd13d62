//! Tells the binary from which commit it was built, and links it so that it starts quickly.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let commit = line_of(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]));
    // A source archive has no commit to speak of.
    let commit = commit.as_deref().unwrap_or("unknown");
    println!("cargo::rustc-env=ROLEOS_COMMIT={commit}");
    start_quickly();
}

/// A hook is a new process for every tool call, and most of its time goes into pages that are touched for the first time.
/// At a fixed address nothing of the program is relocated at its start, which is a third of them.
/// Libraries, heap and stack keep their random places.
fn start_quickly() {
    if setting("CARGO_CFG_TARGET_OS") == "linux" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script by variables what it builds"
)]
fn setting(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// What a command prints, when it succeeds.
fn line_of(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|it| it.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
