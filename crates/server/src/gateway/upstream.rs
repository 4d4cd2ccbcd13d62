//! Upstreams: addresses, patterns of model names, and keys, from `[[gateway.upstream]]`.

use std::fmt;

use base::config::gateway::{self as set, Protocol};
use base::environment;
use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use upstream::exchange;
use upstream::web_address::WebAddress;

/// One upstream, ready for requests.
#[derive(Debug)]
pub struct Upstream {
    /// Name in receipts.
    pub name: String,
    /// Its API.
    pub kind: Protocol,
    /// Its origin, such as `https://host:port`.
    origin: String,
    /// Path of its address, without a slash at the end.
    prefix: String,
    models: Vec<String>,
    key: Key,
}

/// Credentials for requests.
enum Key {
    /// The client's.
    Client,
    /// Ours.
    Own(HeaderName, HeaderValue),
    /// Ours, but the variable with this name is not set.
    Missing(String),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client's",
            Self::Own(..) => "***",
            Self::Missing(_) => "missing",
        })
    }
}

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

impl Upstream {
    /// Checks the address and reads the key.
    pub fn new(set: &set::Upstream) -> Result<Self, String> {
        let bad = |why: &str| {
            format!(
                "`base_url` of the upstream `{}` cannot be used: `{}` {why}",
                set.name, set.base_url
            )
        };
        let url = WebAddress::parse(&set.base_url).map_err(|why| bad(&format!("— {why}")))?;
        if url.authorization().is_some() {
            return Err(bad(
                "holds credentials; name their variable in `api_key_env`",
            ));
        }
        if set.base_url.contains(['?', '#']) {
            return Err(bad("has more than a path"));
        }
        Ok(Self {
            name: set.name.clone(),
            kind: set.kind,
            origin: url.origin(),
            prefix: url.path().trim_end_matches('/').to_owned(),
            models: set.models.clone(),
            key: key(set.kind, &set.api_key_env),
        })
    }

    /// Returns `true` if it has this model.
    #[must_use]
    pub fn has(&self, model: &str) -> bool {
        self.models.iter().any(|pattern| fits(pattern, model))
    }

    /// Returns the models with complete names.
    pub fn named_models(&self) -> impl Iterator<Item = &str> {
        let named = self.models.iter().filter(|name| !name.contains(['*', '?']));
        named.map(String::as_str)
    }

    /// Returns `true` if it is reached over TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.origin.starts_with("https:")
    }

    /// Returns its address for a received path and query, unchanged. A `/v1` is not doubled.
    pub fn uri(&self, path_and_query: &str) -> Result<Uri, hyper::http::uri::InvalidUri> {
        let has_version = path_and_query
            .strip_prefix("/v1")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        let prefix = match self.prefix.strip_suffix("/v1") {
            Some(shorter) if has_version => shorter,
            _ => &self.prefix,
        };
        format!("{}{prefix}{path_and_query}", self.origin).parse()
    }

    /// Replaces the client's key by ours, if there is one.
    pub fn sign(&self, headers: &mut HeaderMap) -> Result<(), String> {
        match &self.key {
            Key::Client => Ok(()),
            Key::Missing(name) => Err(name.clone()),
            Key::Own(name, value) => {
                headers.remove(AUTHORIZATION);
                headers.remove(API_KEY);
                headers.insert(name, value.clone());
                Ok(())
            }
        }
    }

    /// Returns the variable of a missing key.
    #[must_use]
    pub fn missing_key(&self) -> Option<&str> {
        match &self.key {
            Key::Missing(name) => Some(name),
            _ => None,
        }
    }
}

fn key(kind: Protocol, variable: &str) -> Key {
    if variable.is_empty() {
        return Key::Client;
    }
    let secret = environment::secret(variable);
    let text = secret.as_ref().and_then(|secret| secret.reveal().to_str());
    let header = text.and_then(|text| match kind {
        Protocol::Anthropic => exchange::secret(API_KEY, text),
        Protocol::OpenAi => exchange::bearer(text),
    });
    match header {
        Some((name, value)) => Key::Own(name, value),
        None => Key::Missing(variable.to_owned()),
    }
}

/// Returns `true` if a name matches a pattern, in which `*` is any text and `?` one character.
fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Position after the last `*`, and the current end of the text that it matches.
    let mut star = None;
    loop {
        let (mut wanted, mut given) = (pattern.clone(), name.clone());
        let fits = match (wanted.next(), given.next()) {
            (Some('*'), _) => {
                star = Some((wanted.clone(), name.clone()));
                pattern = wanted;
                continue;
            }
            (None, None) => return true,
            (Some(wanted), Some(given)) => wanted == '?' || wanted == given,
            _ => false,
        };
        if fits {
            (pattern, name) = (wanted, given);
            continue;
        }
        // The last `*` matches one more character, as long as there is one.
        let Some((behind, end)) = &mut star else {
            return false;
        };
        if end.next().is_none() {
            return false;
        }
        (pattern, name) = (behind.clone(), end.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(base_url: &str) -> Result<Upstream, String> {
        Upstream::new(&set::Upstream {
            name: "u".to_owned(),
            kind: Protocol::OpenAi,
            base_url: base_url.to_owned(),
            models: vec!["*".to_owned()],
            api_key_env: String::new(),
        })
    }

    #[test]
    fn a_pattern_is_plain_text_with_stars() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "x"),
            ("gpt-*", "gpt-5"),
            ("a*c*e", "abcde"),
            ("a**b", "ab"),
            ("x", "x"),
            ("*-mini", "o-mini-mini"),
            ("gpt-?", "gpt-5"),
            ("?", "é"),
            ("*a?b*", "xaab-acb"),
            ("*/llama-*", "meta/llama-4"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "x"),
            ("gpt-*", "GPT-5"),
            ("a*a", "a"),
            ("x", "xy"),
            ("a*c*e", "abde"),
            ("a.c", "abc"),
            ("gpt-?", "gpt-"),
            ("gpt-?", "gpt-55"),
            ("*ab", "aba"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_version_is_not_doubled_and_the_rest_is_as_received() {
        for (base, path, expected) in [
            ("http://h:1", "/v1/x?a=%2F&b", "http://h:1/v1/x?a=%2F&b"),
            ("http://h:1/", "/v1/x", "http://h:1/v1/x"),
            ("http://h:1/v1", "/v1/x", "http://h:1/v1/x"),
            ("http://h:1/v1/", "/v1?q", "http://h:1/v1?q"),
            ("http://h:1/a/v1", "/v1/x", "http://h:1/a/v1/x"),
            ("http://h:1/v1", "/v12/x", "http://h:1/v1/v12/x"),
            ("http://h:1/v1", "/other", "http://h:1/v1/other"),
            ("http://h:1/a", "/v1/../x//y", "http://h:1/a/v1/../x//y"),
        ] {
            let uri = upstream(base).unwrap().uri(path).unwrap();
            assert_eq!(uri.to_string(), expected);
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_named() {
        for base in [
            "",
            "h:1",
            "ftp://h",
            "http://u:p@h",
            "http://h?x",
            "http://h#x",
        ] {
            let why = upstream(base).unwrap_err();
            assert!(
                why.starts_with("`base_url` of the upstream `u` cannot be used"),
                "{why}"
            );
        }
    }
}
