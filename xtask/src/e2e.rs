//! `cargo xtask e2e`: installs the real agents at their pinned versions and plays the story of the `e2e` program.
//!
//! Needs Node with npm, Python with pip, and `script` of util-linux for a person's terminal. The agents stay in the
//! target directory.

use std::ffi::OsString;
use std::process::Command;

use crate::install;
use crate::project::Project;
use crate::shell::{self, Result, headline};

/// The agents by their npm names. A newer one is tested by changing its number here.
const AGENTS: &[&str] = &["@anthropic-ai/claude-code@2.1.325", "@openai/codex@0.166.0"];

/// The agent without hooks by its PyPI name, with a dependency that it does not declare.
const MINI: &[&str] = &["mini-swe-agent==2.4.6", "mcp"];

/// Builds, installs and runs the story.
pub(crate) fn run(project: &Project, arguments: &[OsString]) -> Result<()> {
    let tools = project.target().join("tools");
    let (home, mini) = (tools.join("agents"), tools.join("mini"));
    // The load on the gateway needs no agent.
    if arguments.iter().all(|word| word != "load") {
        headline("the agents");
        install::packages_of_npm(&home, AGENTS)?;
        install::program_of_python(&mini, "mini", MINI)?;
    }
    headline("the product");
    shell::run(&mut project.cargo(&["build", "--locked", "-p", "roleos", "-p", "e2e"]))?;
    headline("the story");
    let built = project.target().join("debug");
    shell::run(
        Command::new(built.join("e2e"))
            .arg("--roleos")
            .arg(built.join("roleos"))
            .arg("--programs")
            .arg(home.join("node_modules/.bin"))
            .arg("--mini")
            .arg(mini.join("bin/mini"))
            .args(arguments),
    )
}
