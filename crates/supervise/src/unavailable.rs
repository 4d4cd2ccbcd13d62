//! The same interface for systems without supervision.

use std::convert::Infallible;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;

use crate::{Command, Error, FileState, Judge, Outcome};

/// A program that is about to be executed, which does not exist here.
#[derive(Debug)]
pub struct Exec<'a> {
    never: Infallible,
    life: PhantomData<&'a ()>,
}

impl Exec<'_> {
    /// Returns the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        match self.never {}
    }

    /// Returns the first argument of the program.
    #[must_use]
    pub fn name(&self) -> Option<&std::ffi::OsStr> {
        match self.never {}
    }

    /// Returns the arguments of the program.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        match self.never {}
    }

    /// Returns the file as it was named.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        match self.never {}
    }

    /// Returns the target of the name, if it is a symbolic link.
    #[must_use]
    pub fn target(&self) -> Option<&std::path::Path> {
        match self.never {}
    }

    /// Returns the file and its state.
    #[must_use]
    pub fn state(&self) -> Option<FileState> {
        match self.never {}
    }

    /// Returns the path by which the supervisor can open a file that the program names.
    #[must_use]
    pub fn place_of(&self, _: &std::path::Path) -> PathBuf {
        match self.never {}
    }

    /// Returns the path by which the supervisor can open the file.
    #[must_use]
    pub fn place(&self) -> &std::path::Path {
        match self.never {}
    }

    /// Returns `true` if the program is stopped before its first instruction.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        match self.never {}
    }

    /// Returns the working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        match self.never {}
    }

    /// Returns the environment, as `NAME=value`.
    #[must_use]
    pub fn environment(&self) -> Option<&[OsString]> {
        match self.never {}
    }
}

/// A connection to a local socket, which does not exist here.
#[derive(Debug)]
pub struct Connect<'a> {
    never: Infallible,
    life: PhantomData<&'a ()>,
}

impl Connect<'_> {
    /// Returns the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        match self.never {}
    }

    /// Returns the socket's name; one without a file begins with `@`.
    #[must_use]
    pub fn socket(&self) -> &std::path::Path {
        match self.never {}
    }

    /// Returns the program that connects.
    #[must_use]
    pub fn program(&self) -> Option<PathBuf> {
        match self.never {}
    }

    /// Returns the arguments of that program.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        match self.never {}
    }

    /// Returns its working directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        match self.never {}
    }
}

/// Runs nothing.
///
/// # Errors
/// Always fails with [`Error::Platform`].
pub fn run(_: &Command, _: &mut dyn Judge, _: &mut dyn FnMut(&[u8])) -> Result<Outcome, Error> {
    Err(Error::Platform)
}

/// Replaces this process by the command, without supervision. Returns the error if that fails.
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

/// Ends this process with the exit code of the signal.
#[expect(clippy::exit, reason = "ending the process is what it is for")]
pub fn end_by_signal(signal: i32) -> ! {
    std::process::exit(128 + signal)
}
