//! The archive behind `/api/`, and the API tokens of people and programs, with their permissions.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evidence::archive::intake::Intake;
use evidence::archive::people::{Role, Token, hash_of, looks_like_token};
use evidence::archive::{Archive, ArchiveError};
use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::sync::Semaphore;

use upstream::shipper::TOKEN;

/// Time for which the list of tokens is cached: a revoked token ends within this time.
const BELIEVED: Duration = Duration::from_secs(2);
/// Shipments that are read and verified at once.
const AT_ONCE: usize = 3;

/// The archive of a process, with its access rules.
pub struct Gate {
    /// Intake of shipments.
    pub(crate) intake: Intake,
    /// Slots for shipments.
    pub(crate) places: Semaphore,
    known: Mutex<Option<(Instant, Arc<[Token]>)>>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("archive", self.intake.archive())
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// The name of the token.
    pub name: String,
    pub role: Role,
}

impl Gate {
    /// Opens the gate of an archive.
    #[must_use]
    pub fn of(archive: Arc<dyn Archive>) -> Self {
        Self {
            intake: Intake::of(archive),
            places: Semaphore::new(AT_ONCE),
            known: Mutex::new(None),
        }
    }

    #[must_use]
    pub fn archive(&self) -> &Arc<dyn Archive> {
        self.intake.archive()
    }

    /// Returns the valid token of a request. Reads the list again if it is old, so the caller must be allowed to block
    /// for one small read.
    pub fn bearer(&self, headers: &HeaderMap) -> Option<Bearer> {
        let secret = secret_of(headers)?;
        let hash = hash_of(secret);
        let tokens = self.tokens().ok()?;
        let found = tokens.iter().find(|token| token.is_opened_by(&hash))?;
        Some(Bearer {
            name: found.name.clone(),
            role: found.role,
        })
    }

    /// Returns `true` if `Authorization` contains a string in the form of our tokens.
    pub fn is_in_authorization(headers: &HeaderMap) -> bool {
        in_authorization(headers).is_some()
    }

    /// Clears the cache, after a change.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Arc<[Token]>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self) -> Result<Arc<[Token]>, ArchiveError> {
        let mut known = self.lock();
        if let Some((when, tokens)) = known.as_ref()
            && when.elapsed() < BELIEVED
        {
            return Ok(Arc::clone(tokens));
        }
        let tokens: Arc<[Token]> = self.archive().tokens()?.into();
        *known = Some((Instant::now(), Arc::clone(&tokens)));
        Ok(tokens)
    }
}

/// Returns `true` if a role permits a request: agents append, viewers read, operators and admins do everything.
pub fn lets_through(role: Role, method: &Method, path: &str) -> bool {
    let is_ship = path == "/api/ship" || path == "/api/ship/enroll";
    let reads = matches!(*method, Method::GET | Method::HEAD);
    if role.may_operate() || matches!(path, "/logout" | "/api/logout") {
        return true;
    }
    if is_ship && (reads || role.may_append()) {
        return true;
    }
    role.may_read() && reads && !path.starts_with("/v1")
}

fn secret_of(headers: &HeaderMap) -> Option<&str> {
    let named = headers.get(TOKEN).and_then(|value| value.to_str().ok());
    let named = named.filter(|text| looks_like_token(text));
    named.or_else(|| in_authorization(headers))
}

fn in_authorization(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(AUTHORIZATION).iter();
    let mut values = values.filter_map(|value: &HeaderValue| value.to_str().ok());
    values.find_map(|value| {
        let (scheme, token) = value.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && looks_like_token(token)).then_some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_gets_as_far_as_it_should() {
        let get = Method::GET;
        let post = Method::POST;
        let far = |role| {
            [
                (&post, "/api/ship"),
                (&get, "/api/ship"),
                (&get, "/api/witness"),
                (&get, "/v1/models"),
                (&post, "/api/tokens"),
                (&post, "/v1/messages"),
            ]
            .map(|(method, path)| lets_through(role, method, path))
        };
        assert_eq!(far(Role::Agent), [true, true, false, false, false, false]);
        assert_eq!(far(Role::Viewer), [false, true, true, false, false, false]);
        assert_eq!(far(Role::Operator), [true; 6]);
        assert_eq!(far(Role::Admin), [true; 6]);
    }
}
