//! The same interface where there is no supervision.

use std::convert::Infallible;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;

use crate::{Command, Error, FileState, Judge, Outcome};

/// A program that is about to be executed; there is none here.
#[derive(Debug)]
pub struct Exec<'a> {
    never: Infallible,
    life: PhantomData<&'a ()>,
}

impl Exec<'_> {
    /// The process.
    #[must_use]
    pub fn process(&self) -> u32 {
        match self.never {}
    }

    /// The first of the program's words.
    #[must_use]
    pub fn name(&self) -> Option<&std::ffi::OsStr> {
        match self.never {}
    }

    /// The program's words.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        match self.never {}
    }

    /// The file as it was named.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        match self.never {}
    }

    /// Where the name leads, if it is a symbolic link.
    #[must_use]
    pub fn target(&self) -> Option<&std::path::Path> {
        match self.never {}
    }

    /// The file and its state.
    #[must_use]
    pub fn state(&self) -> Option<FileState> {
        match self.never {}
    }

    /// Where the supervisor can open a file that the program names.
    #[must_use]
    pub fn place_of(&self, _: &std::path::Path) -> PathBuf {
        match self.never {}
    }

    /// Where the supervisor can open the file.
    #[must_use]
    pub fn place(&self) -> &std::path::Path {
        match self.never {}
    }

    /// Whether the program is stopped before its first instruction.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        match self.never {}
    }

    /// The working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        match self.never {}
    }

    /// The environment, as `NAME=value`.
    #[must_use]
    pub fn environment(&self) -> Option<&[OsString]> {
        match self.never {}
    }
}

/// A connection to a local socket; there is none here.
#[derive(Debug)]
pub struct Connect<'a> {
    never: Infallible,
    life: PhantomData<&'a ()>,
}

impl Connect<'_> {
    /// The process.
    #[must_use]
    pub fn process(&self) -> u32 {
        match self.never {}
    }

    /// The socket's name; one without a file begins with `@`.
    #[must_use]
    pub fn socket(&self) -> &std::path::Path {
        match self.never {}
    }

    /// The program that connects.
    #[must_use]
    pub fn program(&self) -> Option<PathBuf> {
        match self.never {}
    }

    /// The words of that program.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        match self.never {}
    }

    /// Its working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        match self.never {}
    }
}

/// Runs nothing.
///
/// # Errors
/// Always [`Error::Platform`].
pub fn run(_: &Command, _: &mut dyn Judge, _: &mut dyn FnMut(&[u8])) -> Result<Outcome, Error> {
    Err(Error::Platform)
}

/// Replaces this process by the command, without supervision. Returns the reason why it could not.
#[must_use]
pub fn start_unsupervised(command: &Command) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    let mut started = std::process::Command::new(&command.program);
    started.args(&command.arguments).env_clear();
    started.envs(
        command
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    started.exec()
}

/// Returns `false`.
#[must_use]
pub fn is_supervised(_: &[(OsString, OsString)]) -> bool {
    false
}

/// Ends this process as the signal would, as far as an exit code tells.
#[expect(clippy::exit, reason = "ending the process is what it is for")]
pub fn end_by_signal(signal: i32) -> ! {
    std::process::exit(128 + signal)
}
