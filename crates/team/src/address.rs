//! The URL of a database, checked once. It is displayed without its password.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use postgres::Config;
use postgres::config::{Host, SslMode};

/// Protection of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// None: this machine, or the user's explicit choice.
    Plain,
    /// TLS; the server's certificate and name are checked against these roots, or the system's.
    Verified(Option<PathBuf>),
}

/// A database and the way to connect to it.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) mode: Mode,
}

/// A URL that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The scheme is not PostgreSQL's.
    #[error("the store `{0}` is not a PostgreSQL URL; write `postgres://USER@HOST/DATABASE`")]
    Scheme(String),
    /// The URL cannot be parsed. It may contain a password and is not repeated.
    #[error("the store's URL cannot be parsed: {0}")]
    Parse(String),
    /// The mode could silently send data unencrypted.
    #[error(
        "`sslmode={0}` of the store's URL is not supported; use `verify-full`, or `disable` for a connection without TLS"
    )]
    SslMode(String),
    /// There is no host.
    #[error("the store's URL names no host; write `postgres://USER@HOST/DATABASE`")]
    NoHost,
}

impl Address {
    /// Parses a URL. A password from elsewhere replaces the one in the URL.
    ///
    /// TLS with a verified certificate is the default except on this machine. `sslmode=disable` switches it off;
    /// `require`, `verify-ca` and `verify-full` all verify the certificate and the name; `prefer` and `allow` are
    /// refused.
    ///
    /// # Errors
    /// The URL cannot be used.
    pub fn parse(url: &str, password: Option<&str>) -> Result<Self, AddressError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            let scheme = url.split("://").next().unwrap_or_default();
            return Err(AddressError::Scheme(format!("{scheme}://…")));
        }
        let (url, sslmode, roots) = without_tls_settings(url);
        let mut config =
            Config::from_str(&url).map_err(|error| AddressError::Parse(error.to_string()))?;
        if let Some(password) = password {
            config.password(password);
        }
        if config.get_hosts().is_empty() {
            return Err(AddressError::NoHost);
        }
        let mode = match sslmode.as_deref() {
            Some("disable") => Mode::Plain,
            Some("require" | "verify-ca" | "verify-full") => Mode::Verified(roots),
            None if config.get_hosts().iter().all(is_this_machine) => Mode::Plain,
            None => Mode::Verified(roots),
            Some(other) => return Err(AddressError::SslMode(other.to_owned())),
        };
        config.ssl_mode(match mode {
            Mode::Plain => SslMode::Disable,
            Mode::Verified(_) => SslMode::Require,
        });
        Ok(Self { config, mode })
    }

    /// Returns the protection of connections.
    #[must_use]
    pub fn mode(&self) -> &Mode {
        &self.mode
    }
}

/// Removes the settings that the driver does not know.
fn without_tls_settings(url: &str) -> (String, Option<String>, Option<PathBuf>) {
    let Some((before, query)) = url.split_once('?') else {
        return (url.to_owned(), None, None);
    };
    let (mut sslmode, mut roots, mut rest) = (None, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => sslmode = Some(mode.to_owned()),
            Some(("sslrootcert", path)) if path != "system" => roots = Some(PathBuf::from(path)),
            Some(("sslrootcert", _)) => roots = None,
            _ => rest.push(pair),
        }
    }
    let query = rest.join("&");
    let url = match query.is_empty() {
        true => before.to_owned(),
        false => format!("{before}?{query}"),
    };
    (url, sslmode, roots)
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || IpAddr::from_str(name).is_ok_and(|address| address.is_loopback())
        }
    }
}

/// Prints `HOST:PORT/DATABASE`, never a password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let database = self.config.get_dbname().unwrap_or("postgres");
        write!(f, "{host}:{port}/{database}")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self}, {:?})", self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &str) {
        let said = match Address::parse(url, None) {
            Ok(address) => format!("{address} {:?}", address.mode),
            Err(error) => error.to_string(),
        };
        assert!(
            said.contains(expected),
            "{url}: {said}, expected {expected}"
        );
        assert!(!said.contains("secret"), "{said}");
    }

    #[test]
    fn tls_is_verified_but_on_this_machine() {
        check(
            "postgres://u:secret@localhost/db",
            "localhost:5432/db Plain",
        );
        check("postgres://u@127.0.0.1:6000/db", "127.0.0.1:6000/db Plain");
        check("postgres://u@/db?host=/run/pg", "/run/pg:5432/db Plain");
        check("postgres://u:secret@db.example/db", "Verified(None)");
        check(
            "postgres://u@localhost/db?sslmode=verify-full",
            "Verified(None)",
        );
        check(
            "postgresql://u@db.example/db?sslmode=require&sslrootcert=/ca.pem",
            "Verified(Some(\"/ca.pem\"))",
        );
        check("postgres://u@db.example/db?sslmode=disable", "Plain");
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_its_password() {
        check(
            "postgres://u:secret@db/x?sslmode=prefer",
            "`sslmode=prefer`",
        );
        check(
            "mysql://u:secret@db/x",
            "`mysql://…` is not a PostgreSQL URL",
        );
        check("postgres://u:secret@db/x?port=abc", "cannot be parsed");
        check("postgres:///x", "names no host");
    }
}
