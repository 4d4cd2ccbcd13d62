//! Runs other programs, and writes files. Independent of chores.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) use crate::failure::{Failure, Result};

/// Prints a headline on stderr, so that stdout is left to the programs.
pub(crate) fn headline(text: &str) {
    eprintln!("\n== {text}");
}

/// Writes a file that can be regenerated, and creates its directory.
#[expect(
    clippy::disallowed_methods,
    reason = "what is written here is made again or found by a check when it is torn"
)]
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| Failure::of(format!("cannot write `{}`", path.display()), error))
}

/// Runs a program visibly; anything but success is a failure.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command
        .status()
        .map_err(|error| Failure::of(format!("cannot start `{line}`"), error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{line}` failed ({status})")))
    }
}

/// Runs a program and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = shown(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::of(format!("cannot start `{line}`"), error))?;
    if !output.status.success() {
        let status = output.status;
        return Err(Failure::new(format!("`{line}` failed ({status})")));
    }
    String::from_utf8(output.stdout)
        .map_err(|error| Failure::of(format!("cannot read the output of `{line}`"), error))
}

/// Returns `true` if a program exists and succeeds; it runs without terminal input and output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the command line as a user would type it, without quoting.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_its_exit() {
        let failure = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "`sh -c exit 3` failed (exit status: 3)"
        );
    }

    #[test]
    fn a_missing_program_is_no_success() {
        assert!(!succeeds(&mut Command::new("no-such-program-here")));
        let failure = output(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(failure.to_string().starts_with("cannot start `no-such"));
    }
}
