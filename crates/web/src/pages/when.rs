//! A time on a page: in UTC, or in the reader's zone if scripts run.

use std::fmt;

use askama::filters::HtmlSafe;
use jiff::Timestamp;

/// A time, shown as `<time>`; the script of the pages writes it in the reader's zone.
#[derive(Clone, Debug)]
pub(super) struct When(Option<Timestamp>);

impl When {
    /// Parses an RFC 3339 time; any other text is shown as unknown.
    pub(super) fn of(text: &str) -> Self {
        Self(text.parse().ok())
    }

    pub(super) fn of_ns(ns: u64) -> Self {
        Self(Timestamp::from_nanosecond(i128::from(ns)).ok())
    }
}

impl HtmlSafe for When {}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("–"),
            Some(time) => write!(
                f,
                r#"<time datetime="{}">{} UTC</time>"#,
                time.strftime("%Y-%m-%dT%H:%M:%SZ"),
                time.strftime("%Y-%m-%d %H:%M:%S")
            ),
        }
    }
}
