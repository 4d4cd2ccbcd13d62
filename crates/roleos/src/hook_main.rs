//! The main function of `roleos-hook`, and of `roleos-watch`, which is a link to it.

use std::process::ExitCode;

/// Version and the commit it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ROLEOS_COMMIT"), ")");

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    roleos_hook::run(&arguments, VERSION).into()
}
