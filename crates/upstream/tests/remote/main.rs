//! The remote catalog against real servers on loopback: requests, accepted answers, limits and copies.
//!
//! [`site`] answers like an ordinary web server; [`wire`] writes bytes that no web server should send.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod answers;
mod asking;
mod copies;
mod costs;
mod site;
mod wire;

use std::path::Path;
use std::time::Duration;

use upstream::blocking;
use upstream::catalog_remote::{Fetched, Limits, Remote, RemoteError, Situation, Source};

/// Enough for an answer on a busy machine.
const PATIENT: Duration = Duration::from_secs(20);

/// Too short for any answer, for tests of the limit itself.
const IMPATIENT: Duration = Duration::from_millis(300);

fn limits(time: Duration) -> Limits {
    Limits {
        time,
        ..Limits::default()
    }
}

fn remote(base: &str, copies: Option<&Path>) -> Remote {
    let source = Source::parse(base).unwrap();
    Remote::new(source, copies.map(Path::to_owned), limits(PATIENT)).unwrap()
}

/// Fetches the index like the command line.
fn index(remote: &Remote) -> Result<Fetched, RemoteError> {
    blocking::run(remote.index()).unwrap()
}

/// Fetches the index of a base once, without copies.
fn fetch(base: &str, time: Duration) -> Result<Vec<u8>, RemoteError> {
    let source = Source::parse(base).unwrap();
    let remote = Remote::new(source, None, limits(time)).unwrap();
    index(&remote).map(|fetched| fetched.bytes)
}

/// Returns the situation's name, which most tests check.
fn name(error: &RemoteError) -> &'static str {
    match error.situation() {
        Situation::NotConfigured => "not configured",
        Situation::BadUrl { .. } => "bad url",
        Situation::BadSegment { .. } => "bad segment",
        Situation::NoTls { .. } => "no tls",
        Situation::Unreachable { .. } => "unreachable",
        Situation::Interrupted { .. } => "interrupted",
        Situation::Timeout { .. } => "timeout",
        Situation::Redirect { .. } => "redirect",
        Situation::Status { .. } => "status",
        Situation::TooLarge { .. } => "too large",
        Situation::BadEncoding { .. } => "bad encoding",
        _ => "unknown",
    }
}

/// Returns `fresh: <text>`, or the situation's name.
fn told(result: Result<Vec<u8>, RemoteError>) -> String {
    match result {
        Ok(bytes) => format!("fresh: {}", String::from_utf8_lossy(&bytes)),
        Err(error) => {
            check_manners(&error);
            name(&error).to_owned()
        }
    }
}

/// Checks the properties of every error message.
fn check_manners(error: &RemoteError) {
    let message = error.to_string();
    assert!(message.chars().count() <= 400, "{message}");
    assert!(!message.contains(".yaml"), "no address: {message}");
    assert!(!message.contains("secret"), "no password: {message}");
    assert!(message.chars().all(|c| !c.is_control()), "{message:?}");
    assert!(!error.hint().is_empty());
}
