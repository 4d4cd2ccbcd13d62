//! Errors of a remote catalog.
//!
//! A message names the host and no more of the address, repeats at most one line of a foreign reason, and never
//! contains a body, a password or a control character. There is no `source`: the library's own errors print addresses.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Longest foreign text in a message, in characters.
const MAX_SHOWN: usize = 200;

/// A failed fetch, with the remaining copy of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    situation: Situation,
    older: Option<Older>,
}

/// A copy from an earlier fetch; it is returned only on explicit request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Older {
    /// Time of its bytes, in nanoseconds since 1970.
    pub cached_at_ns: u64,
    pub age: Duration,
}

/// Kind of the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Situation {
    /// No address is configured.
    #[error("the remote catalog is unavailable: its source is not configured")]
    NotConfigured,
    /// The address cannot be that of a catalog.
    #[error("`{url}` is not the address of a catalog: {why}")]
    BadUrl {
        /// The address, without user info.
        url: String,
        /// Description of the error.
        why: &'static str,
    },
    /// A bundle id or a language that is not allowed in an address.
    #[error("`{segment}` cannot be the id of a bundle or a language in a remote catalog")]
    BadSegment {
        /// The segment, cleaned.
        segment: String,
    },
    /// There is no client for encrypted connections on this machine.
    #[error("cannot prepare encrypted connections: {reason}")]
    NoTls {
        /// One line.
        reason: String,
    },
    /// No connection, or not a valid one.
    #[error("the remote catalog at `{host}` is unavailable: {reason}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// One line.
        reason: String,
    },
    /// The connection ended before the answer did.
    #[error("the remote catalog at `{host}` broke off its answer: {reason}")]
    Interrupted {
        /// Host and port.
        host: String,
        /// One line.
        reason: String,
    },
    /// The time limit of the whole exchange is exceeded.
    #[error("the remote catalog at `{host}` did not finish its answer within {} ms", limit.as_millis())]
    Timeout {
        /// Host and port.
        host: String,
        limit: Duration,
    },
    /// It redirects, but an answer must not determine the server.
    #[error("the remote catalog at `{host}` answered with a redirect, which is not followed")]
    Redirect {
        /// Host and port.
        host: String,
    },
    /// It answered, but not with a file.
    #[error("the remote catalog at `{host}` returned status {status}")]
    Status {
        /// Host and port.
        host: String,
        /// The HTTP status.
        status: u16,
    },
    /// The file is too large, by its declared or actual length.
    #[error(
        "the remote catalog at `{host}` sent a file that is too large: the limit is {limit} bytes"
    )]
    TooLarge {
        /// Host and port.
        host: String,
        /// The limit, in decoded bytes.
        limit: usize,
    },
    /// All files together exceed a limit.
    #[error("the remote catalog at `{host}` is too large: {what}")]
    TooMuch {
        /// Host and port.
        host: String,
        /// The exceeded limit.
        what: String,
    },
    /// The settings require a signature, and there is no valid one.
    #[error("the remote catalog at `{host}` is not signed as `[catalog]` requires: {what}")]
    Unsigned {
        /// Host and port.
        host: String,
        /// Description of the error.
        what: String,
    },
    /// The body has an encoding that we did not request, or does not match its declared one.
    #[error("the remote catalog at `{host}` sent a body that cannot be decoded: {reason}")]
    BadEncoding {
        /// Host and port.
        host: String,
        /// One line.
        reason: String,
    },
}

impl RemoteError {
    /// Adds the remaining copy to an error.
    pub(super) fn with_older(situation: Situation, older: Option<Older>) -> Self {
        Self { situation, older }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn situation(&self) -> &Situation {
        &self.situation
    }

    /// Returns the remaining copy, if any.
    #[must_use]
    pub fn older(&self) -> Option<Older> {
        self.older
    }

    /// Returns `true` if the same request can succeed later without local changes.
    #[must_use]
    pub fn retryable(&self) -> bool {
        match self.situation {
            Situation::Unreachable { .. }
            | Situation::Interrupted { .. }
            | Situation::Timeout { .. } => true,
            Situation::Status { status, .. } => {
                matches!(status, 408 | 425 | 429) || (500..600).contains(&status)
            }
            _ => false,
        }
    }

    /// Returns the remedy for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.situation {
            Situation::NotConfigured => {
                "set `AI_AGENT_ROLES_CATALOG_URL` to the address of the folder that holds `index.yaml`"
            }
            Situation::BadUrl { .. } => {
                "give `AI_AGENT_ROLES_CATALOG_URL` an address like `https://catalog.example/roles`"
            }
            Situation::BadSegment { .. } => {
                "use lower-case letters `a` to `z`, digits and `-`, as in `pt-br`"
            }
            Situation::NoTls { .. } => {
                "install the certificates of the system's certificate authorities"
            }
            Situation::Unreachable { .. } => {
                "check the address and the network; proxies of the environment are not used"
            }
            Situation::Interrupted { .. } | Situation::Timeout { .. } => {
                "try again; if it stays so, ask those who run the catalog"
            }
            Situation::Redirect { .. } => {
                "set `AI_AGENT_ROLES_CATALOG_URL` to the address that the files really have"
            }
            Situation::Status {
                status: 401 | 403, ..
            } => "check the user name and password in `AI_AGENT_ROLES_CATALOG_URL`",
            Situation::Status {
                status: 404 | 410, ..
            } => "check the address: `index.yaml` and `bundles/` must lie directly below it",
            Situation::Status { .. } => {
                "try again later; if it stays so, ask those who run the catalog"
            }
            Situation::TooLarge { .. } => "ask those who run the catalog to split the bundle",
            Situation::TooMuch { .. } => "install from a smaller catalog, or from a copy on disk",
            Situation::Unsigned { .. } => {
                "ask those who run the catalog to run `roleos catalog sign`, and put their public key into `trusted_keys`"
            }
            Situation::BadEncoding { .. } => {
                "ask those who run the catalog to send gzip, or to send it plain"
            }
        }
    }
}

impl From<Situation> for RemoteError {
    fn from(situation: Situation) -> Self {
        Self::with_older(situation, None)
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.situation)?;
        match self.older {
            Some(older) => write!(f, "; a copy that is {older} is at hand"),
            None => Ok(()),
        }
    }
}

impl Error for RemoteError {}

/// Formats the age as `3 hours old`, in the largest unit that fits.
impl fmt::Display for Older {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.age.as_secs();
        let (count, unit) = match seconds {
            0..60 => (seconds, "second"),
            60..3_600 => (seconds / 60, "minute"),
            3_600..86_400 => (seconds / 3_600, "hour"),
            _ => (seconds / 86_400, "day"),
        };
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "{count} {unit}{plural} old")
    }
}

/// Returns the innermost cause in one harmless line; the outer ones contain internals of the library and addresses.
pub(crate) fn reason(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    shown(&innermost.to_string())
}

/// Returns the first line of a foreign text, cut to length, without control and bidirectional characters.
pub(super) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut harmless: String = line
        .chars()
        .take(MAX_SHOWN)
        .map(|c| {
            if c == ' ' || c.is_ascii_graphic() {
                c
            } else {
                '?'
            }
        })
        .collect();
    if line.chars().nth(MAX_SHOWN).is_some() {
        harmless.push('…');
    }
    harmless
}
