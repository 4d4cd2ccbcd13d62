//! `cargo xtask faults`: builds the programs and runs the faults of the crate `faults` on them. Decides nothing
//! itself.

use std::time::Duration;

use faults::Options;

use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};

/// How much is tried.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Try a part of everything, in a few minutes.
    #[arg(long)]
    quick: bool,
    /// Walk over failing calls for so many minutes; what was not tried is said.
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u64,
    /// Print the rows as JSON.
    #[arg(long)]
    json: bool,
    /// Only rows whose name contains this, such as `full disk` or `witness seal`.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// Prints the table; any column other than zero is a failure.
#[expect(
    clippy::print_stdout,
    reason = "the table or the JSON is what the chore is started for"
)]
pub(crate) fn run(project: &Project, args: &Args) -> Result<()> {
    // A debug build: the faults dominate the time, and assertions and overflow checks should be active.
    shell::run(&mut project.cargo(&["build", "--locked", "-p", "roleos"]))?;
    let options = Options {
        programs: project.target().join("debug"),
        stride: if args.quick { 41 } else { 1 },
        time: match args.quick {
            true => Duration::from_secs(90),
            false => Duration::from_secs(60 * args.minutes),
        },
        only: args.only.clone(),
    };
    headline("faults");
    let report = faults::run(&options, |row| eprintln!("{row}"));
    if args.json {
        let text = serde_json::to_string_pretty(&report);
        println!("{}", text.map_err(|error| Failure::of("JSON", error))?);
    } else {
        println!("{report}");
    }
    match report.is_clean() {
        true => Ok(()),
        false => Err(Failure::new(
            "a column is not zero; the findings are listed above",
        )),
    }
}
