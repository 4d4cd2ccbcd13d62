//! Converts errors of other crates into responses: the cause determines the status.

use std::error::Error;
use std::io;

use axum::http::StatusCode;
use base::config::ConfigError;
use base::files::{Action, FileError};
use base::grants::GrantError;
use base::keys::KeyError;
use base::said;
use evidence::ledger::LedgerError;
use evidence::store::StoreError;
use guard::approvals::ApprovalError;
use roles::installed_roles::RolesError;
use routing::specialists::{OperateError, Unreadable};
use specialist::pointer::Refusal;
use specialist::registry::{Registry, joined};

use crate::problem::Problem;
use index::ViewError;

fn internal(code: &'static str, error: &dyn Error) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, code, said(error))
}

/// Returns the problem of a workspace in the wrong state.
pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> Problem {
    Problem::new(StatusCode::CONFLICT, code, message)
}

/// Returns the problem of a well-formed but unusable value.
pub(super) fn unfit(code: &'static str, message: impl Into<String>) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        let (code, hint) = match (error.action, error.source.kind()) {
            _ if error.is_link() => (
                "link_in_the_way",
                "replace the link by a folder or file of your own; it may have come with a clone",
            ),
            (_, io::ErrorKind::TimedOut) => ("locked", "try again when that process has ended"),
            (_, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                ("no_space", "make room and try again")
            }
            (_, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => (
                "file_permission",
                "the process of `roleos up` may not do this",
            ),
            (Action::Read, _) => ("file_unreadable", "see whether the file is damaged"),
            _ => ("file", "try again"),
        };
        internal(code, &error).hint(hint)
    }
}

impl From<ViewError> for Problem {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::File(error) => error.into(),
            error => internal("view", &error)
                .hint("`roleos reindex` builds the view anew; nothing is lost by that"),
        }
    }
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::File(error) => error.into(),
            KeyError::WrongPassphrase { .. } => {
                Self::new(StatusCode::FORBIDDEN, "wrong_passphrase", said(&error))
            }
            KeyError::NotOwned { .. } => {
                Self::new(StatusCode::FORBIDDEN, "key_not_owned", said(&error))
            }
            error => conflict("key", said(&error)),
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::File(error) => error.into(),
            error => conflict("ledger_damaged", said(&error)).hint("run `roleos ledger verify`"),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::File(error) => error.into(),
            StoreError::Key(error) => error.into(),
            StoreError::Ledger(error) => error.into(),
            error => internal("store", &error),
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        conflict("bad_config", said(&error)).hint(error.hint())
    }
}

impl From<GrantError> for Problem {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::File(error) => error.into(),
            GrantError::Unconfirmed { .. } => conflict("grants_not_confirmed", said(&error))
                .hint("`roleos trust` shows them and asks"),
            GrantError::NotGranted { .. } => {
                Self::new(StatusCode::NOT_FOUND, "not_granted", said(&error))
                    .hint("`GET /api/grants` shows what is granted")
            }
            error => conflict("bad_grants", said(&error)).hint("correct the file"),
        }
    }
}

impl From<ApprovalError> for Problem {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::File(error) => error.into(),
            ApprovalError::Key(error) => error.into(),
            ApprovalError::Unknown(_) => {
                Self::new(StatusCode::NOT_FOUND, "unknown_act", said(&error))
                    .hint("`GET /api/approvals` lists what was refused and not used yet")
            }
            ApprovalError::Outdated(_) | ApprovalError::Expired(_) => {
                conflict("act_outdated", said(&error))
                    .hint("let the agent try again, and approve the id of the new refusal")
            }
            error => conflict("approvals_damaged", said(&error)),
        }
    }
}

impl From<RolesError> for Problem {
    fn from(error: RolesError) -> Self {
        match error {
            RolesError::File(error) => error.into(),
            error => unfit("bad_catalog", said(&error)),
        }
    }
}

/// Checks the registry; returns all its problems.
pub(super) fn valid(registry: &Registry) -> Result<(), Problem> {
    if registry.is_valid() {
        return Ok(());
    }
    Err(invalid(&joined(registry.problems())))
}

fn invalid(problems: &str) -> Problem {
    conflict(
        "registry_invalid",
        format!("the registry is not valid: {problems}"),
    )
    .hint("correct the file; nothing was changed")
}

/// Returns the problem of an unusable state.
pub(crate) fn unreadable(error: &Unreadable) -> Problem {
    conflict("state_unreadable", said(error)).hint(
        "nothing routes to a specialist; `roleos specialist repair` sets the file aside and rebuilds it from the logs",
    )
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        let message = said(&error);
        match &error {
            OperateError::Invalid { problems, .. } => invalid(&joined(problems)),
            OperateError::WouldBeInvalid(_) => {
                unfit("registry_invalid", message).hint("the registry is unchanged")
            }
            OperateError::UnknownRole(_) => {
                Self::new(StatusCode::NOT_FOUND, "unknown_role", message)
                    .hint("`GET /api/specialists` lists the roles")
            }
            OperateError::DuplicateVersion { .. } => conflict("duplicate_version", message)
                .hint("a version never changes; give the new one an id of its own"),
            OperateError::NoBackend(_) => {
                unfit("no_backend", message).hint("name it in `backend_url`")
            }
            OperateError::NotAVersion => unfit("bad_version", message),
            OperateError::NoReason => unfit("bad_reason", message),
            OperateError::Refused(refusal) => refused(refusal, message),
            OperateError::Unreadable { source, .. } => unreadable(source),
            _ => match error {
                OperateError::File(error) => error.into(),
                error => internal("specialist", &error),
            },
        }
    }
}

fn refused(refusal: &Refusal, message: String) -> Problem {
    let again = match refusal.can_be_forced() {
        true => "take the exam again, or set `force` and say why",
        false => "take the exam again",
    };
    match refusal {
        Refusal::UnknownVersion { .. } => {
            Problem::new(StatusCode::NOT_FOUND, "unknown_version", message)
        }
        Refusal::Withdrawn { .. } => {
            conflict("withdrawn", message).hint("choose another version; this one was taken out")
        }
        Refusal::Uncertified { .. } => {
            conflict("uncertified", message).hint("certify it first; a version serves from L1 on")
        }
        Refusal::AmbiguousVersion { .. } => unfit("ambiguous_version", message),
        Refusal::NotCompared { .. } => conflict("not_compared", message)
            .hint("run one audit on both versions and try again, or set `force` and say why"),
        Refusal::Worse { .. } => conflict("worse", message).hint("set `force` and say why"),
        Refusal::FailedExam { .. } => conflict("exam_failed", message).hint(again),
        Refusal::Barred { bar, .. } if bar.is_of_exams() => {
            conflict("halted_since_exam", message).hint(again)
        }
        Refusal::Barred { .. } => conflict("may_not_serve", message)
            .hint("lift its halt, or take the exam again and certify it"),
        Refusal::OwnCanary { .. } => conflict("own_canary", message).hint("name another version"),
        Refusal::NeverActive { .. } => conflict("never_active", message).hint("promote it"),
        Refusal::NothingActive(_) | Refusal::NothingBeside(_) => {
            conflict("nothing_active", message).hint("promote a version first")
        }
        Refusal::NothingBefore(_) => {
            conflict("nothing_before", message).hint("deactivate the role, or halt it")
        }
    }
}
