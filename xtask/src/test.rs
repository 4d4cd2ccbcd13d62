//! `cargo xtask test`: everything that must hold, in order, stopping at the first failure. Skips nothing.

use std::process::Command;

use crate::install::{self, Tools};
use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};
use crate::tidy;

/// The variable by which tests find the interpreter that has their Python packages.
const TEST_PYTHON: &str = "ROLEOS_TEST_PYTHON";

/// The variable by which tests find the script of axe-core.
const TEST_AXE: &str = "ROLEOS_TEST_AXE";

struct Step {
    name: &'static str,
    command: Command,
    hint: &'static str,
}

/// Installs, then runs all steps.
pub(crate) fn run(project: &Project) -> Result<()> {
    headline("what tests need");
    let tools = install::run(project)?;
    // The quickest first: who is told after the tests has waited in vain.
    headline("tidy");
    tidy::run(project)?;
    for Step {
        name,
        mut command,
        hint,
    } in steps(project, &tools)
    {
        headline(name);
        shell::run(&mut command).map_err(|failure| explained(name, &failure, hint))?;
    }
    headline("all checks passed");
    Ok(())
}

fn explained(name: &str, failure: &Failure, hint: &str) -> Failure {
    Failure::new(format!("step \"{name}\": {failure}\nhint: {hint}"))
}

fn steps(project: &Project, tools: &Tools) -> Vec<Step> {
    vec![
        Step {
            name: "format",
            command: project.cargo(&["fmt", "--all", "--", "--check"]),
            hint: "`cargo fmt --all` writes what is wanted",
        },
        Step {
            name: "clippy",
            command: project.cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ]),
            hint: "a lint that is wrong here takes `#[expect(lint, reason = \"…\")]`, never `allow`",
        },
        Step {
            name: "tests",
            command: tests(project, tools),
            hint: "the failing tests are listed above; CONTRIBUTING.md says how to accept a changed snapshot",
        },
        Step {
            name: "doc tests",
            command: project.cargo(&["test", "--doc", "--workspace", "--locked"]),
            hint: "the examples in doc comments are tests",
        },
    ]
}

/// nextest is faster and reads better, but nobody has to install it.
fn tests(project: &Project, tools: &Tools) -> Command {
    let arguments: &[&str] = if shell::succeeds(&mut project.cargo(&["nextest", "--version"])) {
        &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--run-ignored",
            "all",
        ]
    } else {
        &[
            "test",
            "--workspace",
            "--locked",
            "--lib",
            "--bins",
            "--tests",
            "--",
            "--include-ignored",
        ]
    };
    let mut command = project.cargo(arguments);
    command
        .env(TEST_PYTHON, &tools.python)
        .env(TEST_AXE, &tools.axe);
    command
}
