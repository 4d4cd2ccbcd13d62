//! What went wrong, as a person reads it and as a program does. Whose fault it is decides the exit code.

use std::error::Error;
use std::io;

use host::config::ConfigError;
use host::files::FileError;
use host::keys::KeyError;
use host::ledger::LedgerError;
use host::rerun::RerunError;
use host::store::StoreError;
use host::trace_input::BadLine;
use host::workspace::FindError;
use serde::Serialize;

use crate::exit::Exit;

/// One error, said once.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// Stable name for programs.
    pub code: &'static str,
    /// What was attempted and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Whether the same command can succeed later.
    pub retryable: bool,
    #[serde(skip)]
    pub(crate) exit: Exit,
}

impl Failure {
    /// The user's input is wrong.
    pub fn input(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            retryable: false,
            exit: Exit::Failed,
        }
    }

    /// We could not do it, or would not.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Refused,
            ..Self::input(code, message)
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The reader went away, as `| head` does; nobody is left to tell.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.code == CLOSED_PIPE
    }
}

const CLOSED_PIPE: &str = "closed_pipe";

/// An error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Writing to the terminal or a pipe.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                exit: Exit::Done,
                ..Self::input(CLOSED_PIPE, "the reader went away")
            };
        }
        Self::refused("output", format!("cannot write the output: {error}"))
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let message = chain(&error);
        match error.source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Self::input("file_not_found", message).hint("check the path")
            }
            io::ErrorKind::FileTooLarge => Self::input("file_too_large", message)
                .hint("raise `max_bundle_mib` under `[witness]` in `.role-os/config.toml` if it is a bundle"),
            io::ErrorKind::IsADirectory => {
                Self::input("not_a_file", message).hint("name the files in it")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::refused("file_permission", message).hint("check who may read and write there")
            }
            _ => Self {
                retryable: true,
                ..Self::refused("file", message)
            },
        }
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::File(error) => error.into(),
            KeyError::NotAKey { .. } => Self::input("bad_key_file", chain(&error))
                .hint("move it out of the keys directory if it does not belong there"),
            KeyError::NotHex(_) => Self::input("bad_key", chain(&error)),
            _ => Self::refused("key", chain(&error)),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::File(error) => error.into(),
            _ => Self::input("ledger_damaged", chain(&error))
                .hint("restore the file from a backup; the bundles themselves are untouched"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::File(error) => error.into(),
            StoreError::Key(error) => error.into(),
            StoreError::Ledger(error) => error.into(),
            StoreError::Refused(_) => Self::input("does_not_fit", chain(&error)),
            StoreError::AlreadySealed(_) => Self::input("already_sealed", chain(&error))
                .hint("leave out `--task-id` to get a fresh one"),
            _ => Self::refused("seal", chain(&error)),
        }
    }
}

impl From<RerunError> for Failure {
    fn from(error: RerunError) -> Self {
        Self::refused("rerun", chain(&error))
            .hint("name a repository that has the base commit with `--repo`")
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::input("bad_config", chain(&error)).hint(error.hint())
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        Self::input("bad_root", chain(&error)).hint(error.hint())
    }
}

impl From<BadLine> for Failure {
    fn from(error: BadLine) -> Self {
        Self::input("bad_trace", chain(&error)).hint(
            r#"each line is an object like {"action":"Bash","args":"cargo test","latency_ms":1200}"#,
        )
    }
}
