//! Tells the binary from which commit it was built.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    // A source archive has no commit to speak of.
    let commit = commit.as_deref().map_or("unknown", str::trim);
    println!("cargo::rustc-env=ROLEOS_COMMIT={commit}");
    start_quickly();
}

/// A hook is a new process for every tool call. At a fixed address, and without libraries to find, nothing is relocated
/// at its start: a third of the pages that it would otherwise touch. Heap, stack and kernel pages keep their random places.
fn start_quickly() {
    let says = |variable: &str, word: &str| {
        std::env::var(variable).is_ok_and(|value| value.split(',').any(|one| one == word))
    };
    if !says("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    if says("CARGO_CFG_TARGET_FEATURE", "crt-static") {
        println!("cargo::rustc-link-arg-bins=-static");
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
}
