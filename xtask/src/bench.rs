//! `cargo xtask bench`: builds and runs the `bench` program as a user's build would be. Measures nothing itself.

use std::ffi::OsString;

use crate::project::Project;
use crate::shell::{self, Result};

/// Passes `arguments` on; the table or the JSON comes out on stdout.
pub(crate) fn run(project: &Project, arguments: &[OsString]) -> Result<()> {
    // The hook rows start the program itself.
    shell::run(&mut project.cargo(&["build", "--release", "--locked", "-p", "roleos"]))?;
    let mut command = project.cargo(&["run", "--release", "--locked", "-p", "bench", "--"]);
    shell::run(command.args(arguments))
}
