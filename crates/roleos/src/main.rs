//! Runs the command line and converts its result into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    roleos::run(&arguments).into()
}
