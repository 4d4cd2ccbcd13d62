//! Errors of the store: the database is away, or it answered and refused.

use std::time::Duration;

use postgres::error::SqlState;

/// Something that the team's store could not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// The database cannot be reached, or the connection broke. An act that was under way may have happened.
    #[error("the store `{address}` cannot be reached: {detail}")]
    Away {
        /// Which one, without a password.
        address: String,
        /// The cause.
        detail: String,
    },
    /// Every connection is in use.
    #[error("no connection to the store `{address}` became free within {waited:?}")]
    Busy {
        /// Which one.
        address: String,
        /// The time that the caller waited.
        waited: Duration,
    },
    /// The database answered with an error.
    #[error("the store `{address}` refused: {detail}")]
    Refused {
        /// Which one.
        address: String,
        /// Its words.
        detail: String,
        /// Its code.
        code: String,
    },
    /// The tables belong to a newer program.
    #[error(
        "the store `{address}` has schema {found}, and this program knows {known}; install a newer roleos on this machine"
    )]
    NewerSchema {
        /// Which one.
        address: String,
        /// The schema that is there.
        found: i32,
        /// The newest that this program knows.
        known: i32,
    },
    /// A migration was applied with another text.
    #[error(
        "schema {number} of the store `{address}` was made by another build of roleos: its hash differs"
    )]
    OtherSchema {
        /// Which one.
        address: String,
        /// Which migration.
        number: i32,
    },
    /// A row holds what this program does not understand.
    #[error("the store `{address}` is damaged: {detail}")]
    Damaged {
        /// Which one.
        address: String,
        /// What is wrong.
        detail: String,
    },
    /// The connection cannot be protected.
    #[error("cannot prepare TLS for the store: {0}")]
    Tls(String),
}

impl TeamError {
    /// Sorts an error of the driver.
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

/// Returns `true` for what a server says when it stops, starts, or is full.
fn is_away(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    // 08: connection; 53: resources; 57P: shutdown; 57014: statement timeout; 55P03: lock timeout; 40: serialisation.
    matches!(class, "08" | "53" | "57" | "40") || *code == SqlState::LOCK_NOT_AVAILABLE
}

/// An error with its causes, in one line.
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
