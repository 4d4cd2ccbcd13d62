//! The forms of values in a registry: hashes, times, addresses.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

/// Returns `true` if the text is a SHA-256 in lower-case hexadecimal digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns `true` if the text is an ISO 8601 date or time.
pub(super) fn is_time(text: &str) -> bool {
    text.parse::<Timestamp>().is_ok()
        || text.parse::<DateTime>().is_ok()
        || text.parse::<Date>().is_ok()
}

/// Returns `true` if the text is an HTTP address with a host.
pub(super) fn is_address(text: &str) -> bool {
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| !host.is_empty() && !host.starts_with(':'))
        && !text.contains(|char: char| char.is_whitespace() || char.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for time in [
            "2026-09-02T09:00:00Z",
            "2026-09-02T09:00:00.123+02:00",
            "2026-09-02T09:00:00",
            "2026-09-02",
        ] {
            assert!(is_time(time), "{time}");
        }
        for none in ["yesterday", "2026-13-40", "1", "t"] {
            assert!(!is_time(none), "{none}");
        }
        for address in [
            "http://127.0.0.1:8000",
            "https://h/path/",
            "http://[::1]:1",
            "http://h:1",
        ] {
            assert!(is_address(address), "{address}");
        }
        for none in [" ", "ftp://x", "http://", "http://:80", "http://a b", "h:1"] {
            assert!(!is_address(none), "{none}");
        }
        assert!(is_sha256(&"0a".repeat(32)));
        assert!(!is_sha256("zzz") && !is_sha256(&"A".repeat(64)));
    }
}
