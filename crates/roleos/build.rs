//! Tells the binary from which commit it was built, and links it so that it starts quickly.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

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

/// A hook is a new process for every tool call, and most of its time is the kernel's: pages that are relocated, libraries
/// that are found and mapped. At a fixed address and with its libraries inside, none of that happens.
/// Heap and stack keep their random places.
fn start_quickly() {
    if setting("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let is_native = setting("HOST") == setting("TARGET");
    if is_native && setting("CARGO_CFG_TARGET_ENV") == "gnu" {
        let directory = PathBuf::from(setting("OUT_DIR")).join("static");
        // Without static libraries, as some distributions ship them apart, it stays dynamic.
        if point_at_static_libraries(&directory).is_some() {
            println!("cargo::rustc-link-arg-bins=-static");
            println!("cargo::rustc-link-arg-bins=-L{}", directory.display());
        }
    }
}

/// `crt-static` cannot be set for one program alone, so the linker is shown static libraries under the names that the
/// compiler asks for.
fn point_at_static_libraries(directory: &Path) -> Option<()> {
    fs::create_dir_all(directory).ok()?;
    for (asked, given) in [("c", "c"), ("m", "m"), ("gcc_s", "gcc_eh")] {
        let file = format!("-print-file-name=lib{given}.a");
        let found = line_of(Command::new("cc").arg(file)).map(PathBuf::from)?;
        // The compiler repeats the bare name of what it does not have.
        found.is_absolute().then_some(())?;
        let script = format!("INPUT({})\n", found.display());
        #[expect(clippy::disallowed_methods, reason = "cargo owns the folder")]
        fs::write(directory.join(format!("lib{asked}.a")), script).ok()?;
    }
    Some(())
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
