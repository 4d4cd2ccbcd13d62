//! Chores of the project, one file each; `main` only dispatches.
//!
//! No part of the product is here, and no product crate may depend on this one.
#![expect(
    clippy::print_stderr,
    reason = "a chore talks to the person who runs it"
)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::project::Project;

mod actions_doc;
mod bench;
mod codegen;
mod dist;
mod e2e;
mod failure;
mod faults;
mod fuzz;
mod gate_report;
mod install;
mod manual;
mod project;
mod prove_accept;
mod reproducible;
mod screenshots;
mod shell;
mod simulate;
mod test;
mod tidy;

/// Chores of the Role OS project.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Install what the tests need and is missing.
    Install,
    /// Everything that must hold before a change goes in: tidy, format, clippy, all tests, doc tests.
    Test,
    /// Crate edges, module docs, file sizes, links, generated files.
    Tidy,
    /// Write the files that are generated from the code.
    Codegen {
        /// Write nothing; fail when a file is not up to date.
        #[arg(long)]
        check: bool,
    },
    /// Run the real agents offline against a scripted model, with the hook installed: `cargo xtask e2e [claude|codex|load]`.
    E2e {
        /// Passed on to the `e2e` program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the programs under failing calls, kills, full disks, damage, crowds and bad upstreams; print what was lost.
    Faults(faults::Args),
    /// Fuzz every parser of outside bytes: `cargo xtask fuzz [--minutes N] [--target T]`.
    Fuzz(fuzz::Args),
    /// Build the files of a release: programs, list of components, checksums, signature.
    Dist(dist::Args),
    /// Build the programs twice in different folders and compare their bytes.
    Reproducible(reproducible::Args),
    /// Write how often the gate errs, from the corpora: `docs/gate-error-rates.md`.
    GateReport,
    /// Mine the acceptance suite from local clones and run the built-in agents over it.
    ProveAccept(prove_accept::Args),
    /// Take the pictures of the pages in `docs/img/` with a real browser.
    Screenshots,
    /// Play the learning loop through the real program and write `docs/learning-loop.md`: `cargo xtask simulate [--seed N]…`.
    Simulate {
        /// Passed on to the `simulate` program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measure ours against peers, side by side: `cargo xtask bench [--quick] [--json] [--docs] [ROW…]`.
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nerror: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> shell::Result<()> {
    let project = Project::find()?;
    match chore {
        Chore::Install => install::run(&project).map(drop),
        Chore::ProveAccept(args) => prove_accept::run(&project, &args),
        Chore::Test => test::run(&project),
        Chore::Tidy => tidy::run(&project),
        Chore::Codegen { check: false } => codegen::write(&project),
        Chore::Codegen { check: true } => codegen::check(&project),
        Chore::E2e { arguments } => e2e::run(&project, &arguments),
        Chore::Faults(args) => faults::run(&project, &args),
        Chore::Fuzz(args) => fuzz::run(&project, &args),
        Chore::Dist(args) => dist::run(&project, &args),
        Chore::Reproducible(args) => reproducible::run(&project, &args),
        Chore::GateReport => gate_report::run(&project),
        Chore::Screenshots => screenshots::run(&project),
        Chore::Simulate { arguments } => simulate::run(&project, &arguments),
        Chore::Bench(args) => bench::run(&project, &args),
    }
}
