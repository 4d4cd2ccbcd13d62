//! Access of people and programs to the archive: tokens with a role, one-time codes for machines, and the audit log.
//!
//! Secrets are 32 random bytes, so a plain SHA-256 is enough at rest: there is no password to guess.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Prefix of tokens, so that secret scanners find them.
const PREFIX: &str = "roleos_";

/// Longest name, reason or machine.
pub const MAX_NAME: usize = 100;

/// Permissions of a token. From [`Role::Viewer`] on, each role includes the one before it; [`Role::Agent`] may only
/// append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May append evidence, and nothing else: no reading.
    Agent,
    /// May read.
    Viewer,
    /// May read, append and act.
    Operator,
    /// May do everything, tokens included.
    Admin,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Agent, Self::Viewer, Self::Operator, Self::Admin];

    /// Returns the stored name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Parses the name of a role.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == text)
    }

    /// Returns `true` if the role may read.
    #[must_use]
    pub fn may_read(self) -> bool {
        self != Self::Agent
    }

    /// Returns `true` if the role may send evidence.
    #[must_use]
    pub fn may_append(self) -> bool {
        self != Self::Viewer
    }

    /// Returns `true` if the role may change the data that others see.
    #[must_use]
    pub fn may_operate(self) -> bool {
        self >= Self::Operator
    }

    /// Returns `true` if the role may hand out tokens.
    #[must_use]
    pub fn may_administer(self) -> bool {
        self == Self::Admin
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A token as it is stored: never its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its name, which the audit log uses.
    pub name: String,
    /// Its permissions.
    pub role: Role,
    /// SHA-256 of the secret, in hexadecimal digits.
    pub hash: String,
    /// When it was made, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Actor that made it.
    pub by: String,
    /// When it was revoked; `None` while it is in force.
    pub revoked_ns: Option<u64>,
}

impl Token {
    /// Makes a token; the secret is shown once and stored nowhere.
    ///
    /// # Errors
    /// The machine has no randomness.
    pub fn create(name: &str, role: Role, act: &Act) -> std::io::Result<(Self, String)> {
        let secret = format!("{PREFIX}{}", base::keys::random_token()?);
        let token = Self {
            name: name.to_owned(),
            role,
            hash: hash_of(&secret),
            at_ns: act.at_ns,
            by: act.who.clone(),
            revoked_ns: None,
        };
        Ok((token, secret))
    }

    /// Returns `true` if the token is in force and the hash is that of its secret.
    #[must_use]
    pub fn is_opened_by(&self, hash: &str) -> bool {
        let is_same: bool = self.hash.as_bytes().ct_eq(hash.as_bytes()).into();
        is_same && self.revoked_ns.is_none()
    }
}

/// Returns the hash under which a secret is stored.
#[must_use]
pub fn hash_of(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// Returns `true` if the text has the form of our tokens.
#[must_use]
pub fn looks_like_token(text: &str) -> bool {
    text.starts_with(PREFIX) && text.len() == PREFIX.len() + 64
}

/// Returns `true` if the text fits on one line of a log.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.trim().is_empty()
        && text.chars().count() <= MAX_NAME
        && !text.chars().any(char::is_control)
}

/// Hash of a code with which one machine may enrol its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeHash(pub String);

/// Returns the bytes that a machine signs with its key to enrol it by a one-time code.
#[must_use]
pub fn enrolment(code: &str) -> Vec<u8> {
    format!("roleos enroll ed25519 v1\n{code}").into_bytes()
}

impl CodeHash {
    /// Makes a code; the text is shown once and stored nowhere.
    ///
    /// # Errors
    /// The machine has no randomness.
    pub fn create() -> std::io::Result<(Self, String)> {
        let random = base::keys::random_token()?;
        let digits = random.as_bytes().get(..24).unwrap_or_default();
        let parts: Vec<&str> = digits
            .chunks(6)
            .filter_map(|part| std::str::from_utf8(part).ok())
            .collect();
        let code = parts.join("-");
        Ok((Self::of(&code), code))
    }

    /// Returns the hash of a code as a person typed it.
    #[must_use]
    pub fn of(code: &str) -> Self {
        let digits: String = code.chars().filter(char::is_ascii_hexdigit).collect();
        Self(hash_of(&digits.to_lowercase()))
    }
}

/// A privileged act: who did what, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// Actor.
    pub who: String,
    /// Kind of the act, such as `key.enroll`.
    pub what: String,
    /// Object of the act.
    pub subject: String,
    /// Reason that the actor gave.
    pub why: String,
}

impl Act {
    /// Creates an act with the current time.
    #[must_use]
    pub fn now(who: &str, what: &str, subject: &str, why: &str) -> Self {
        Self {
            at_ns: base::clock::now_ns(),
            who: who.to_owned(),
            what: what.to_owned(),
            subject: subject.to_owned(),
            why: why.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_opened_by_its_own_secret_until_it_is_revoked() {
        let act = Act::now("anna", "token.create", "ci", "nightly");
        let (mut token, secret) = Token::create("ci", Role::Agent, &act).unwrap();
        assert!(looks_like_token(&secret));
        assert!(token.is_opened_by(&hash_of(&secret)));
        assert!(!token.is_opened_by(&hash_of("roleos_x")));
        assert!(!serde_json::to_string(&token).unwrap().contains(&secret));
        token.revoked_ns = Some(1);
        assert!(!token.is_opened_by(&hash_of(&secret)));
    }

    #[test]
    fn a_code_may_be_typed_with_or_without_dashes() {
        let (hash, code) = CodeHash::create().unwrap();
        assert_eq!(code.len(), 27);
        assert_eq!(CodeHash::of(&code.replace('-', "").to_uppercase()), hash);
        assert_ne!(CodeHash::of("aaaa"), hash);
    }

    #[test]
    fn what_each_role_may_do() {
        let allowed = |role: Role| {
            (
                role.may_read(),
                role.may_append(),
                role.may_operate(),
                role.may_administer(),
            )
        };
        assert_eq!(allowed(Role::Agent), (false, true, false, false));
        assert_eq!(allowed(Role::Viewer), (true, false, false, false));
        assert_eq!(allowed(Role::Operator), (true, true, true, false));
        assert_eq!(allowed(Role::Admin), (true, true, true, true));
    }
}
