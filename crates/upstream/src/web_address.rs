//! The address of a server: http or https, a host, and a path. User info is never shown.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::Authority;
use percent_encoding::percent_decode_str;

/// A parsed address. Host names outside ASCII must be in punycode.
#[derive(Clone, PartialEq, Eq)]
pub struct WebAddress {
    is_https: bool,
    /// `name:password`, percent-encoded as written.
    user: Option<String>,
    /// Host and port, in lower case.
    host: String,
    /// Path with the query; begins with `/`.
    path: String,
}

impl WebAddress {
    /// Parses an address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or("it does not begin with http:// or https://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            other => return Err(format!("its scheme `{other}` is neither http nor https")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        let host = host.to_ascii_lowercase();
        let parsed: Authority = host.parse().map_err(|_| "its host is not valid")?;
        let port = host.get(parsed.host().len()..).unwrap_or_default();
        if parsed.host().is_empty() || !(port.is_empty() || parsed.port_u16().is_some()) {
            return Err("its host or port is not valid".to_owned());
        }
        let default = if is_https { ":443" } else { ":80" };
        let address = Self {
            is_https,
            user,
            host: host.strip_suffix(default).unwrap_or(&host).to_owned(),
            path: if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("/{path}")
            },
        };
        match address.uri() {
            Some(_) => Ok(address),
            None => Err("its path is not valid".to_owned()),
        }
    }

    /// Returns `true` for https.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the host, with the port if it is not the default.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns `true` if the host is this machine by its name or address.
    pub fn is_loopback(&self) -> bool {
        let parsed = self.host.parse::<Authority>();
        let host = parsed.as_ref().map_or("", |parsed| parsed.host());
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let is_local = |address: std::net::IpAddr| address.is_loopback();
        host == "localhost" || address.parse().is_ok_and(is_local)
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.host)
    }

    /// Returns path and query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the same server with another path.
    pub fn with_path(&self, path: String) -> Self {
        Self {
            path,
            ..self.clone()
        }
    }

    /// Returns the URI of a request, without user info.
    pub fn uri(&self) -> Option<Uri> {
        let Self { host, path, .. } = self;
        format!("{}://{host}{path}", self.scheme()).parse().ok()
    }

    /// Returns the header that carries the user info.
    pub fn authorization(&self) -> Option<HeaderValue> {
        let (name, password) = {
            let user = self.user.as_deref()?;
            user.split_once(':').unwrap_or((user, ""))
        };
        let mut plain: Vec<u8> = percent_decode_str(name).collect();
        plain.push(b':');
        plain.extend(percent_decode_str(password));
        let mut value =
            HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(&plain))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns the whole address, user info included: for the name of a cached copy, never displayed.
    pub fn secret_text(&self) -> String {
        match &self.user {
            Some(user) => self.text(&format!("{user}@")),
            None => self.text(""),
        }
    }

    fn text(&self, user: &str) -> String {
        let Self { host, path, .. } = self;
        format!("{}://{user}{host}{path}", self.scheme())
    }

    fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }
}

/// Prints `***` in place of user info.
impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = if self.user.is_some() { "***@" } else { "" };
        f.write_str(&self.text(user))
    }
}

impl fmt::Debug for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_addresses_are_normalised() {
        for (text, uri, host) in [
            ("http://host", "http://host/", "host"),
            ("HTTPS://Host:443/A?b=C#d", "https://host/A?b=C", "host"),
            ("http://host:443?x", "http://host:443/?x", "host:443"),
            ("http://[::1]:80/a%20b", "http://[::1]/a%20b", "[::1]"),
            ("http://a:b@c/", "http://c/", "c"),
            ("http://a@b@c/", "http://c/", "c"),
        ] {
            let address = WebAddress::parse(text).unwrap();
            assert_eq!(address.uri().unwrap().to_string(), uri, "{text}");
            assert_eq!(address.host(), host, "{text}");
        }
    }

    #[test]
    fn bad_addresses_are_refused() {
        for text in [
            "",
            "host",
            "ftp://host",
            "http://",
            "http:///x",
            "http://:80",
            "http://host:99999",
            "http://host:",
            "http://host:x",
            "http://[::1",
            "http://h\u{e9}",
            "http://ho st",
            "http://host/a b",
        ] {
            assert!(WebAddress::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn user_info_is_sent_and_not_shown() {
        let address = WebAddress::parse("http://me:p%40ss@host/x").unwrap();
        // "me:p@ss"
        assert_eq!(address.authorization().unwrap(), "Basic bWU6cEBzcw==");
        assert!(address.authorization().unwrap().is_sensitive());
        assert_eq!(format!("{address:?}"), "WebAddress(http://***@host/x)");
        assert_eq!(address.secret_text(), "http://me:p%40ss@host/x");
        let without = WebAddress::parse("http://host/x").unwrap();
        assert_eq!(without.authorization(), None);
    }

    #[test]
    fn this_machine_is_recognised() {
        for (text, expected) in [
            ("http://localhost:8000/v1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:3", true),
            ("http://localhost.example", false),
            ("http://10.0.0.1", false),
        ] {
            let address = WebAddress::parse(text).unwrap();
            assert_eq!(address.is_loopback(), expected, "{text}");
        }
    }
}
