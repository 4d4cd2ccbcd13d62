//! Starts the command line and turns its end into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    roleos::run(std::env::args_os().collect()).into()
}
