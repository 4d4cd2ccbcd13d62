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
}
