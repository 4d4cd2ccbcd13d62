//! `roleos completions`: prints the completion script of a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::ui::Ui;
use crate::{Exit, Failure};

/// Words of `completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roleos completions bash > ~/.local/share/bash-completion/completions/roleos"
)]
pub struct Args {
    /// For which shell.
    shell: Shell,
}

/// Prints the script.
pub fn run(ui: &Ui, args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "roleos", &mut script);
    let mut out = ui.out();
    std::io::Write::write_all(&mut out, &script)?;
    std::io::Write::flush(&mut out)?;
    Ok(Exit::Done)
}
