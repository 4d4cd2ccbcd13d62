//! `cargo xtask bench`: builds and runs the `bench` program as a user's build would be. Measures nothing itself.
//!
//! Installs the peers that are programs of their own, when rows of the gateway are wanted.

use std::ffi::OsString;

use crate::install;
use crate::project::Project;
use crate::shell::{self, Result};

/// Passes `arguments` on; the table or the JSON comes out on stdout.
pub(crate) fn run(project: &Project, arguments: &[OsString]) -> Result<()> {
    if wants_peers(arguments) {
        install::peers(project)?;
    }
    // The hook rows start the program itself.
    shell::run(&mut project.cargo(&["build", "--release", "--locked", "-p", "roleos"]))?;
    let mut command = project.cargo(&["run", "--release", "--locked", "-p", "bench", "--"]);
    shell::run(command.args(arguments))
}

/// Whether rows of the gateway may be among those that are wanted: all are, or a word could be part of such a name.
fn wants_peers(arguments: &[OsString]) -> bool {
    let words = arguments.iter().filter_map(|word| word.to_str());
    let mut words = words.filter(|word| !word.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|word| ROWS.iter().any(|row| row.contains(word)))
}

/// Names of rows that have such a peer.
const ROWS: [&str; 2] = [
    "gateway throughput against nginx",
    "gateway throughput against LiteLLM",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_installed_when_their_rows_are_measured() {
        for (words, wanted) in [
            (&["--json"][..], true),
            (&[], true),
            (&["gateway"], true),
            (&["hook", "nginx"], true),
            (&["hook", "--json"], false),
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(wants_peers(&words), wanted, "{words:?}");
        }
    }
}
