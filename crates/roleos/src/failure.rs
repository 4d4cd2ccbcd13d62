//! Errors for people and for programs. The cause determines the exit code.

use std::error::Error;
use std::io;

use base::config::ConfigError;
use base::files::{Action, FileError};
use base::grants::GrantError;
use base::keys::KeyError;
use base::settings_edit::EditError;
use base::workspace::FindError;
use evidence::ledger::LedgerError;
use evidence::rerun::RerunError;
use evidence::store::StoreError;
use guard::approvals::ApprovalError;
use guard::contracts::CorpusError;
use guard::install::InstallError;
use serde::Serialize;
use upstream::catalog_remote::{RemoteError, Situation};

use crate::exit::Exit;

/// An error.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// Stable name for programs.
    pub code: &'static str,
    /// Attempted action, with the reason of the failure.
    pub message: String,
    /// Next step for the user.
    pub hint: Option<String>,
    /// Set if the same command can succeed later.
    pub retryable: bool,
    #[serde(skip)]
    pub(crate) exit: Exit,
    /// All problems, if there are several: one line each for people, a part of the message for programs.
    #[serde(skip)]
    pub(crate) details: Vec<String>,
}

impl Failure {
    /// Creates a failure for invalid input of the user.
    pub fn input(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            retryable: false,
            exit: Exit::Failed,
            details: Vec::new(),
        }
    }

    /// Creates a failure for an action that is impossible or not allowed.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Refused,
            ..Self::input(code, message)
        }
    }

    /// Creates a failure of a later step, after the change is done and recorded.
    pub fn unfinished(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Unfinished,
            ..Self::input(code, message)
        }
    }

    /// Sets the hint about the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the list of problems.
    #[must_use]
    pub fn details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// Marks the failure of a command whose change is done, if only its output could not be written.
    #[must_use]
    pub(crate) fn of_change(self) -> Self {
        match self.code {
            OUTPUT => Self {
                exit: Exit::Unfinished,
                ..self
            }
            .hint("do not repeat it: it is done, and only the answer is missing"),
            _ => self,
        }
    }

    /// Says of a command that recorded what it was started for that it is done, whatever failed behind that.
    #[must_use]
    pub(crate) fn of_record(self) -> Self {
        if !matches!(self.exit, Exit::Failed | Exit::Refused) {
            return self;
        }
        let done = "do not repeat it: it is recorded, and only what followed failed";
        let hint = match &self.hint {
            Some(hint) => format!("{done}; {hint}"),
            None => done.to_owned(),
        };
        Self {
            exit: Exit::Unfinished,
            ..self
        }
        .hint(hint)
    }

    /// The reader went away, as `| head` does; nobody is left to tell.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.code == CLOSED_PIPE
    }
}

const CLOSED_PIPE: &str = "closed_pipe";

/// The result could not be printed.
const OUTPUT: &str = "output";

/// Formats an error and its causes in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = said(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&said(error));
        cause = error.source();
    }
    text
}

/// Returns the text of an error. System messages start with a capital letter and end with a number, which ours do not.
fn said(error: &dyn Error) -> String {
    let text = error.to_string();
    let Some((words, _)) = text.split_once(" (os error ") else {
        return text;
    };
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Writing to the terminal or a pipe failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                exit: Exit::Done,
                ..Self::input(CLOSED_PIPE, "the reader went away")
            };
        }
        Self::refused(OUTPUT, format!("cannot write the output: {}", said(&error)))
    }
}

/// An unreadable file is invalid input; an unwritable one is not the user's fault, unless the path is.
impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let message = chain(&error);
        if error.is_link() {
            return Self::refused("link_in_the_way", message).hint(
                "replace the link by a folder or file of your own; it may have come with a clone",
            );
        }
        if error.action == Action::Finish {
            return Self::unfinished("unfinished", message).hint(
                "do not repeat it: it is recorded, and the next `roleos` command that writes there finishes it",
            );
        }
        let kind = error.source.kind();
        match kind {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                return Self::input("file_not_found", message).hint("check the path");
            }
            io::ErrorKind::IsADirectory => {
                return Self::input("not_a_file", message).hint("name a file in it");
            }
            _ => {}
        }
        if error.action == Action::Read {
            let is_bundle = error.path.extension().is_some_and(|name| name == "rvww");
            return unreadable(kind, message, is_bundle);
        }
        let (code, hint, retryable) = match kind {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ("file_permission", "check who may write there", false)
            }
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => ("no_space", "make room and try again", true),
            io::ErrorKind::AlreadyExists => (
                "file_in_the_way",
                "something of another kind has this name; move it away",
                false,
            ),
            io::ErrorKind::InvalidInput => (
                "not_a_file",
                "move it away; a regular file belongs there",
                false,
            ),
            io::ErrorKind::TimedOut => ("locked", "try again when that process has ended", true),
            _ => ("file", "try again", true),
        };
        Self {
            retryable,
            ..Self::refused(code, message).hint(hint)
        }
    }
}

fn unreadable(kind: io::ErrorKind, message: String, is_bundle: bool) -> Failure {
    let (code, hint) = match kind {
        io::ErrorKind::FileTooLarge if is_bundle => (
            "file_too_large",
            "raise `max_bundle_mib` under `[witness]` in `.role-os/config.toml`",
        ),
        io::ErrorKind::FileTooLarge => ("file_too_large", "name a smaller file"),
        io::ErrorKind::PermissionDenied => ("file_permission", "check who may read it"),
        io::ErrorKind::InvalidInput => ("not_a_file", "name a file or a pipe"),
        io::ErrorKind::UnexpectedEof => (
            "empty_pipe",
            "see whether the program at the other end ran and did not fail",
        ),
        _ => ("file_unreadable", "check the file"),
    };
    Failure::input(code, message).hint(hint)
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::File(error) => error.into(),
            KeyError::NotAKey { .. } => Self::input("bad_key_file", chain(&error))
                .hint("restore it from a backup, or move it elsewhere if it is no key of ours"),
            KeyError::NotOwned { .. } => Self::refused("key_not_owned", chain(&error))
                .hint("the machine's approval key must belong to root, and nobody else may write where it lies"),
            KeyError::Unconfirmed { .. } => Self::refused("key_not_confirmed", chain(&error))
                .hint("`roleos trust` shows it and asks; `roleos key new --approval --lost` makes a new one"),
            KeyError::WrongPassphrase { .. } => Self::refused("wrong_passphrase", chain(&error))
                .hint("try again; a forgotten one means a new key, `roleos key new --approval --lost`"),
            KeyError::NotHex(_) => Self::input("bad_key", chain(&error))
                .hint("give a key in another form as a file, with `--key-file`"),
            KeyError::Unfinished(_) => Self::unfinished("keys_unfinished", chain(&error))
                .hint("run `roleos key rotate` again, which finishes them"),
            _ => Self::refused("key", chain(&error)),
        }
    }
}

impl From<ApprovalError> for Failure {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::File(error) => error.into(),
            ApprovalError::Key(error) => error.into(),
            ApprovalError::Unknown(_) => Self::input("unknown_act", chain(&error))
                .hint("`roleos approve` without an id lists what was refused and not used yet"),
            ApprovalError::Ambiguous(_) => Self::input("ambiguous_act", chain(&error))
                .hint("give more of its digits; `roleos approve` lists them"),
            ApprovalError::Outdated(_) | ApprovalError::Expired(_) => {
                Self::refused("act_outdated", chain(&error))
                    .hint("let the agent try again, and approve the id of the new refusal")
            }
            ApprovalError::UsedDamaged(_) => Self::refused("approvals_damaged", chain(&error))
                .hint("restore it from a backup; nothing is allowed by approval until then"),
            _ => Self::refused("act_damaged", chain(&error))
                .hint("let the agent try again; the new refusal replaces the file"),
        }
    }
}

impl From<GrantError> for Failure {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::File(error) => error.into(),
            GrantError::Unconfirmed { .. } => Self::refused("grants_not_confirmed", chain(&error))
                .hint("`roleos trust` shows them and asks; `roleos revoke <action>` takes one out"),
            GrantError::NotGranted { .. } => {
                Self::input("not_granted", chain(&error)).hint("`roleos grants` shows what is")
            }
            _ => Self::input("bad_grants", chain(&error))
                .hint("repair or remove the file; until then nothing is granted"),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        match error {
            EditError::File(error) => error.into(),
            EditError::Config(error) => error.into(),
            _ => Self::input("settings", chain(&error))
                .hint("`roleos help config` shows a file with every default"),
        }
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::File(error) => error.into(),
            InstallError::Key(error) => error.into(),
            InstallError::Settings { .. } => Self::input("bad_settings", chain(&error)).hint(
                "nothing was written; correct that place or move the file away, then try again",
            ),
            InstallError::NotRoot => Self::refused("not_root", chain(&error))
                .hint("`sudo roleos init --system`, in the workspace whose rules are to hold"),
            InstallError::NotOwned { .. } => Self::refused("not_owned", chain(&error))
                .hint("whoever can write there can replace the gate; let root own it"),
            _ => Self::refused("install", chain(&error)),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::File(error) => error.into(),
            LedgerError::Tampered(_) => Self::refused("ledger_tampered", chain(&error)).hint(
                "`roleos ledger verify` shows more; restore `.role-os/ledger` from a backup; if it came with the repository, put its author's `.pub` into `.role-os/keys` and run `roleos trust`; nothing is sealed until then",
            ),
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
            StoreError::TooLarge { .. } => Self::input("does_not_fit", chain(&error)).hint(
                "leave something out, or raise `max_bundle_mib` under `[witness]` in `.role-os/config.toml`",
            ),
            StoreError::Contradiction { .. } => Self::input("contradiction", chain(&error)).hint(
                "run the tests again, or seal it with `--outcome failed`",
            ),
            StoreError::Unfinished { ref source, .. } => {
                let mut failure = Self::unfinished("seal_unfinished", error.to_string())
                    .hint("do not seal it again: the next seal finishes it");
                if let LedgerError::File(file) = &**source {
                    failure.message.push_str(&format!(": {}", file.source));
                }
                failure
            }
            StoreError::AlreadySealed(_) => Self::input("already_sealed", chain(&error))
                .hint("leave out `--task-id` to get a fresh one"),
            _ => Self::refused("seal", chain(&error)),
        }
    }
}

impl From<CorpusError> for Failure {
    fn from(error: CorpusError) -> Self {
        match error {
            CorpusError::File(error) => error.into(),
            _ => Self::input("bad_line", chain(&error))
                .hint(r#"each line is an object like {"tool":"Bash","input":{"command":"ls"}}"#),
        }
    }
}

impl From<RerunError> for Failure {
    fn from(error: RerunError) -> Self {
        Self::refused("rerun", chain(&error))
            .hint("name a repository that has the base commit with `--repo`")
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        let (code, exit) = match error.situation() {
            Situation::NotConfigured => ("remote_not_configured", Exit::Failed),
            Situation::BadUrl { .. } => ("bad_remote", Exit::Failed),
            _ => ("remote", Exit::Refused),
        };
        Self {
            retryable: error.retryable(),
            exit,
            ..Self::input(code, chain(&error))
        }
        .hint(error.hint())
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
