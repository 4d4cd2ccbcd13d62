//! The commands that coding agents and git execute: [`hook`], [`pre_push`] and [`watch`], and [`forward`] in a box.
//!
//! `roleos-hook` is only this library, so it starts quickly and contains no network code. `roleos` offers the same
//! commands. [`consult`] and sealing start the `roleos` beside the program.

pub mod exit;

pub mod forward;

pub mod hook;

pub mod pre_push;

pub mod watch;

mod consult;

use std::ffi::OsString;
use std::io::{self, Write as _};

use exit::Exit;

const USAGE: &str = "usage: roleos-hook hook AGENT [--root DIR] [--trust-store DIR] [--event NAME]\n       \
                     roleos-hook pre-push [--root DIR] [--trust-store DIR] -- REMOTE URL\n\
                     agents: claude, codex, gemini, cursor, copilot\n";

/// Runs `roleos-hook`, given its arguments with its own name first. A usage error refuses, because agents ignore every
/// other exit code but 0.
pub fn run(arguments: &[OsString], version: &str) -> Exit {
    watch::direct(arguments, version);
    silence_parser_panics();
    let exit = hook::direct(arguments, version)
        .or_else(|| pre_push::direct(arguments, version))
        .or_else(|| forward::direct(arguments));
    exit.unwrap_or_else(|| {
        if arguments.get(1).is_some_and(|word| word == "--version") {
            let text = format!("roleos-hook {version}\n");
            let printed = io::stdout().write_all(text.as_bytes());
            return Exit::of_check(printed.is_ok());
        }
        write_error(USAGE);
        Exit::Refused
    })
}

/// Suppresses panics of the shell parser on standard error. The caller treats such a command as unparsable.
pub fn silence_parser_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |place| place.file());
        if !file.contains("brush-parser") {
            usual(panic);
        }
    }));
}

/// Writes to standard error in one call, because a supervised command may write there too.
pub fn write_error(text: &str) {
    // The exit code reports the failure if standard error is closed.
    io::stderr().write_all(text.as_bytes()).ok();
}

/// Ends the process with a command's own exit code.
#[expect(clippy::exit, reason = "the exit code is the command's own")]
pub fn end(code: i32) -> ! {
    std::process::exit(code)
}
