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
    // A hook is a new process for every tool call. At a fixed address nothing is relocated at its start: half of the
    // pages that it would otherwise touch. Libraries, heap and stack keep their random places.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
