//! The address of the remote catalog: the base, and the names that are allowed below it.
//!
//! A string becomes a [`Source`] or a [`Segment`] once, here, before any address is built. Nothing is fetched here, and
//! user info is never shown.

use std::ffi::OsStr;
use std::fmt;

use catalog::source::{INDEX, NOTE};

use super::error::{RemoteError, Situation, shown};
use crate::web_address::WebAddress;

/// Longest base address, in bytes; far more than a real one has.
const MAX_URL: usize = 2048;

/// Longest segment, in bytes; an address of one base and two of these still fits every server.
const MAX_SEGMENT: usize = 128;

/// The base address of a catalog: http or https, with neither query nor fragment.
///
/// The host is trusted configuration, so private addresses are fine; its answers are not trusted.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    base: WebAddress,
}

impl Source {
    /// Parses the value of `AI_AGENT_ROLES_CATALOG_URL` from the environment.
    pub fn configured(value: Option<&OsStr>) -> Result<Self, RemoteError> {
        let value = value.unwrap_or_default();
        match value.to_str() {
            Some(text) => Self::parse(text),
            None => Err(bad(&value.to_string_lossy(), "it is not UTF-8")),
        }
    }

    /// Parses a base address; surrounding white space and trailing slashes are ignored.
    pub fn parse(url: &str) -> Result<Self, RemoteError> {
        let text = url.trim();
        if text.is_empty() {
            return Err(Situation::NotConfigured.into());
        }
        if text.len() > MAX_URL {
            return Err(bad(text, "it is too long"));
        }
        if !begins_with_http(text) {
            return Err(bad(text, "it must begin with http:// or https://"));
        }
        // Programs disagree on the server of such an address.
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(bad(text, "it holds white space or a backslash"));
        }
        if text.contains(['?', '#']) {
            return Err(bad(text, "it must have neither `?` nor `#`"));
        }
        let base = WebAddress::parse(text).map_err(|_| bad(text, "it is not a valid URL"))?;
        Ok(Self { base })
    }

    /// Returns `true` if the connection is encrypted.
    pub(super) fn is_https(&self) -> bool {
        self.base.is_https()
    }

    /// Returns host and port: the only parts of the address in error messages.
    pub(super) fn host(&self) -> String {
        self.base.host().to_owned()
    }

    /// Returns the full address of a file.
    pub(super) fn address(&self, wanted: Wanted<'_>) -> Address {
        let base = self.base.path().trim_end_matches('/');
        let path = match wanted {
            Wanted::Index => format!("{base}/{INDEX}"),
            Wanted::Note => format!("{base}/{NOTE}"),
            Wanted::Bundle { id, language } => format!("{base}/bundles/{id}/{language}.yaml"),
        };
        Address {
            host: self.host(),
            url: self.base.with_path(path),
        }
    }
}

fn begins_with_http(text: &str) -> bool {
    let begins_with = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    begins_with("http://") || begins_with("https://")
}

fn bad(text: &str, why: &'static str) -> RemoteError {
    RemoteError::from(Situation::BadUrl {
        url: shown(&without_secrets(text)),
        why,
    })
}

/// Returns the displayable part of an invalid address: it cannot be parsed, so everything after an `@` is removed as
/// well.
fn without_secrets(text: &str) -> String {
    if text.contains('@') {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        return match scheme {
            Some(scheme) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
                format!("{scheme}://***")
            }
            _ => "***".to_owned(),
        };
    }
    text.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Prints without user info and trailing slashes.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.to_string().trim_end_matches('/'))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({self})")
    }
}

/// A bundle id or a language that is allowed in an address: `a` to `z`, digits and `-`, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment(String);

impl Segment {
    /// Checks the string; the only constructor of a segment, so that no address can leave its base.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if (1..=MAX_SEGMENT).contains(&text.len()) && text.bytes().all(good) {
            Ok(Self(text.to_owned()))
        } else {
            Err(RemoteError::from(Situation::BadSegment {
                segment: shown(&text.escape_default().to_string()),
            }))
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One file of a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// `index.yaml`.
    Index,
    /// `index.yaml.note`.
    Note,
    /// `bundles/<id>/<language>.yaml`.
    Bundle {
        /// The bundle.
        id: &'a Segment,
        language: &'a Segment,
    },
}

/// The address of one file; it may contain a password, so it has no `Debug`.
pub(super) struct Address {
    /// For requests, never displayed.
    pub(super) url: WebAddress,
    /// For display.
    pub(super) host: String,
}

impl Address {
    /// Returns the address without user info, for the label of a cache entry.
    pub(super) fn masked(&self) -> String {
        self.url.to_string()
    }
}

#[cfg(test)]
mod tests;
