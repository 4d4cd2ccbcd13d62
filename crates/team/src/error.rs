//! Errors of the store: the database is away, or it answered and refused.

use std::time::Duration;

use postgres::error::SqlState;

/// Error of the team's store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// The database cannot be reached, or the connection broke. An operation in progress may have happened.
    #[error("the store `{address}` cannot be reached: {detail}")]
    Away {
        /// The database, without a password.
        address: String,
        /// The cause.
        detail: String,
    },
    /// Every connection is in use.
    #[error("no connection to the store `{address}` became free within {waited:?}")]
    Busy {
        /// The database.
        address: String,
        /// Time that the caller waited.
        waited: Duration,
    },
    /// The database answered with an error.
    #[error("the store `{address}` refused: {detail}")]
    Refused {
        /// The database.
        address: String,
        /// Its message.
        detail: String,
        code: String,
    },
    /// The tables belong to a newer program.
    #[error(
        "the store `{address}` has schema {found}, and this program knows {known}; install a newer roleos on this machine"
    )]
    NewerSchema {
        /// The database.
        address: String,
        /// The schema found.
        found: i32,
        /// The newest schema that this program supports.
        known: i32,
    },
    /// A migration was applied with different content.
    #[error(
        "schema {number} of the store `{address}` was made by another build of roleos: its hash differs"
    )]
    OtherSchema {
        /// The database.
        address: String,
        /// Number of the migration.
        number: i32,
    },
    /// A row cannot be parsed.
    #[error("the store `{address}` is damaged: {detail}")]
    Damaged {
        /// The database.
        address: String,
        /// Description of the error.
        detail: String,
    },
    /// The connection cannot be protected.
    #[error("cannot prepare TLS for the store: {0}")]
    Tls(String),
}

impl TeamError {
    /// Converts an error of the driver.
    pub(crate) fn of(address: String, error: &postgres::Error) -> Self {
        let detail = said(error);
        match error.code() {
            Some(code) if !is_away(code) => Self::Refused {
                address,
                detail,
                code: code.code().to_owned(),
            },
            _ => Self::Away { address, detail },
        }
    }

    /// Returns `true` if the same call may succeed later without a change by a person.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::Busy { .. })
    }
}

/// Returns `true` for error codes of a server that stops, starts, or is full.
fn is_away(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    // 08: connection; 53: resources; 57P: shutdown; 57014: statement timeout; 55P03: lock timeout; 40: serialisation.
    matches!(class, "08" | "53" | "57" | "40") || *code == SqlState::LOCK_NOT_AVAILABLE
}

/// Formats an error with its causes, in one line.
fn said(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
