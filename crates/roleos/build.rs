//! Tells the binary from which commit it was built, and links it so that it starts quickly.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// What the compiler asks the linker for, and what holds it when it is to be inside of the program. The C library and
/// that of the C compiler need each other.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("gcc_s", &["gcc_eh", "gcc", "c"]),
    ("util", &["util"]),
    ("rt", &["rt"]),
    ("pthread", &["pthread"]),
    ("m", &["m"]),
    ("dl", &["dl"]),
    ("c", &["c", "gcc_eh", "gcc"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=hook.ld");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let commit = line_of(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]));
    // A source archive has no commit to speak of.
    let commit = commit.as_deref().unwrap_or("unknown");
    println!("cargo::rustc-env=ROLEOS_COMMIT={commit}");
    start_quickly();
}

/// A hook is a new process for every tool call, and most of its time is the kernel's: libraries that are found, mapped
/// and relocated, and pages that are touched for the first time. At a fixed address, with its libraries inside, and with
/// the code of the hook side by side, little of that is left. Heap, stack and kernel's pages keep their random places.
///
/// Where one of these cannot be had, or somebody has chosen another linker, the program is linked without it.
fn start_quickly() {
    if setting("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    link_with(&["-no-pie".to_owned()]);
    let own_linker =
        !setting("RUSTC_LINKER").is_empty() || setting("CARGO_ENCODED_RUSTFLAGS").contains("link");
    let is_plain = setting("HOST") == setting("TARGET")
        && setting("CARGO_CFG_TARGET_ENV") == "gnu"
        && !setting("CARGO_CFG_TARGET_FEATURE").contains("crt-static");
    if setting("PROFILE") != "release" || own_linker || !is_plain {
        return;
    }
    let folder = PathBuf::from(setting("OUT_DIR"));
    if let Some(words) = libraries_inside(&folder.join("static"))
        && links(&folder, &words)
    {
        link_with(&words);
    }
    let order = Path::new(&setting("CARGO_MANIFEST_DIR")).join("hook.ld");
    let order = format!("-Wl,-T,{}", order.display());
    if let Some(mut linker) = linker_of_rust() {
        linker.push(order.clone());
        if links(&folder, &linker) {
            link_with(&[order]);
        }
    }
}

/// `crt-static` cannot be set for one program alone, so the linker is shown static libraries under the names that the
/// compiler asks for. Some distributions ship them apart.
fn libraries_inside(folder: &Path) -> Option<Vec<String>> {
    fs::create_dir_all(folder).ok()?;
    for (asked, given) in LIBRARIES {
        let mut files = Vec::new();
        for name in *given {
            let file = format!("-print-file-name=lib{name}.a");
            let found = line_of(Command::new("cc").arg(file))?;
            // The compiler repeats the bare name of what it does not have.
            Path::new(&found).is_absolute().then_some(())?;
            files.push(found);
        }
        let script = format!("GROUP({})\n", files.join(" "));
        #[expect(clippy::disallowed_methods, reason = "cargo owns the folder")]
        fs::write(folder.join(format!("lib{asked}.a")), script).ok()?;
    }
    Some(vec![
        "-static".to_owned(),
        format!("-L{}", folder.display()),
    ])
}

/// How the compiler calls the linker that it brings along, where it uses that by itself. Others do not know our script.
fn linker_of_rust() -> Option<Vec<String>> {
    let target = setting("TARGET");
    if target != "x86_64-unknown-linux-gnu" {
        return None;
    }
    let sysroot = line_of(Command::new(setting("RUSTC")).args(["--print", "sysroot"]))?;
    let folder = Path::new(&sysroot).join(format!("lib/rustlib/{target}/bin/gcc-ld"));
    let is_there = folder.join("ld.lld").is_file();
    is_there.then(|| vec![format!("-B{}", folder.display()), "-fuse-ld=lld".to_owned()])
}

/// Whether a program that is linked like ours, with these words, can be made and runs.
fn links(folder: &Path, words: &[String]) -> bool {
    let program = folder.join("probe");
    let asked = LIBRARIES.iter().map(|(asked, _)| format!("-l{asked}"));
    let child = Command::new("cc")
        .args(["-x", "c", "-", "-x", "none", "-o"])
        .arg(&program)
        .args(["-nodefaultlibs", "-no-pie", "-Wl,-Bdynamic"])
        .args(asked)
        .args(words)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    // What it did not read, it cannot link.
    if let Some(mut source) = child.stdin.take() {
        source.write_all(b"int main(void) { return 0; }\n").ok();
    }
    let is_made = child.wait().is_ok_and(|status| status.success());
    is_made
        && Command::new(&program)
            .status()
            .is_ok_and(|status| status.success())
}

fn link_with(words: &[String]) {
    for word in words {
        println!("cargo::rustc-link-arg-bins={word}");
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
