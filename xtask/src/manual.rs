//! Man pages and completion scripts of `roleos`, generated from its command line.

use std::fs;
use std::path::Path;

use clap::{CommandFactory as _, ValueEnum as _};
use clap_complete::Shell;
use roleos::cli::Cli;

use crate::shell::{Failure, Result};

/// Writes `man/man1/` and `completions/` below the directory.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let fail = |error| {
        Failure::of(
            format!("cannot write the manual to `{}`", folder.display()),
            error,
        )
    };
    let (pages, scripts) = (folder.join("man/man1"), folder.join("completions"));
    fs::create_dir_all(&pages).map_err(fail)?;
    fs::create_dir_all(&scripts).map_err(fail)?;
    clap_mangen::generate_to(Cli::command(), &pages).map_err(fail)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut Cli::command(), "roleos", &scripts)
            .map_err(fail)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_a_script() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for page in ["roleos.1", "roleos-config-set.1", "roleos-witness-seal.1"] {
            let text = fs::read_to_string(folder.path().join("man/man1").join(page)).unwrap();
            assert!(
                text.contains(".SH NAME") && text.contains("roleos"),
                "{text}"
            );
        }
        for script in ["roleos.bash", "_roleos", "roleos.fish"] {
            assert!(
                folder.path().join("completions").join(script).exists(),
                "{script}"
            );
        }
    }
}
