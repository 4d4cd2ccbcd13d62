//! `cargo xtask simulate`: plays the learning loop through the built program and writes `docs/learning-loop.md`.

use std::ffi::OsString;
use std::process::Command;

use crate::project::Project;
use crate::shell::{self, Result, headline};

/// Builds, then runs the simulation; `arguments` are passed on.
pub(crate) fn run(project: &Project, arguments: &[OsString]) -> Result<()> {
    headline("the product");
    shell::run(&mut project.cargo(&["build", "--locked", "-p", "roleos", "-p", "simulate"]))?;
    headline("the learning loop");
    let built = project.target().join("debug");
    shell::run(
        Command::new(built.join("simulate"))
            .arg("--roleos")
            .arg(built.join("roleos"))
            .arg("--docs")
            .arg(project.root().join("docs"))
            .args(arguments),
    )
}
