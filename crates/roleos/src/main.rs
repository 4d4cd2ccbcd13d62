//! Starts the command line and turns its end into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    roleos::run(&arguments).into()
}
