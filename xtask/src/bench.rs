//! `cargo xtask bench`: builds and runs the `bench` program as a user's build would be. Measures nothing itself.
//!
//! Installs the peers that are separate programs, if rows that need them are requested.

use crate::install;
use crate::project::Project;
use crate::shell::{self, Result};

/// How much is measured, and what comes out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print a JSON array instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure less of everything: smaller sizes, fewer turns.
    #[arg(long)]
    quick: bool,
    /// Write docs/benchmarks.md and its plots as well.
    #[arg(long)]
    docs: bool,
    /// Only rows whose name contains one of these words.
    #[arg(value_name = "WORD")]
    only: Vec<String>,
}

/// Measures, and prints the table or the JSON to stdout.
pub(crate) fn run(project: &Project, args: &Args) -> Result<()> {
    if wants_peers(&args.only) {
        install::peers(project)?;
    }
    // The hook rows start the program itself.
    let build = [
        "build",
        "--release",
        "--locked",
        "-p",
        "roleos",
        "-p",
        "bench",
    ];
    shell::run(&mut project.cargo(&build))?;
    let mut command = project.command_at(&project.target().join("release/bench"));
    for (wanted, option) in [(args.json, "--json"), (args.quick, "--quick")] {
        if wanted {
            command.arg(option);
        }
    }
    if args.docs {
        command.arg("--docs").arg(project.root().join("docs"));
    }
    shell::run(command.args(&args.only))
}

/// Returns `true` if rows with such a peer may be among the requested ones.
fn wants_peers(words: &[String]) -> bool {
    let is_row = |word: &String| ROWS.iter().any(|row| row.contains(word.as_str()));
    words.is_empty() || words.iter().any(is_row)
}

/// Names of rows that have such a peer.
const ROWS: [&str; 6] = [
    "gateway throughput against nginx",
    "gateway throughput against LiteLLM",
    "gateway throughput against Portkey",
    "hook call against cc-safety-net",
    "hook call against nah",
    "hook call against dcg",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_installed_when_their_rows_are_measured() {
        for (words, wanted) in [
            (&[][..], true),
            (&["gateway"], true),
            (&["shell", "nginx"], true),
            (&["nah"], true),
            (&["catalog"], false),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(wants_peers(&words), wanted, "{words:?}");
        }
    }
}
