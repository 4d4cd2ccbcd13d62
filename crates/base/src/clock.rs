//! The only place that reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns nanoseconds since 1970; 0 if the clock is before that.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock that everybody else is given"
)]
pub fn now_ns() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0);
    now.saturating_sub(behind_ns())
}

/// Returns the offset by which trials set the clock back. A release build does not know the variable.
#[cfg(debug_assertions)]
fn behind_ns() -> u64 {
    let seconds = crate::environment::agent_mark("ROLEOS_TEST_CLOCK_BEHIND");
    let seconds = seconds.and_then(|seconds| seconds.to_str()?.parse::<u64>().ok());
    seconds.unwrap_or(0).saturating_mul(1_000_000_000)
}

#[cfg(not(debug_assertions))]
fn behind_ns() -> u64 {
    0
}

/// Formats a time as `2026-02-15T09:30:00Z`, with as many decimals as it has.
#[must_use]
pub fn text(created_ns: u64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(created_ns))
        .map_or_else(|_| created_ns.to_string(), |time| time.to_string())
}

/// Parses a day such as `2026-02-15`, or a moment; without an offset it is UTC. `None` for anything else, and for times
/// before 1970.
#[must_use]
pub fn parse_day_or_moment(text: &str) -> Option<u64> {
    let utc = |time: jiff::civil::DateTime| {
        let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        u64::try_from(zoned.timestamp().as_nanosecond()).ok()
    };
    parse(text).or_else(|| utc(text.parse().ok()?))
}

/// Parses a time; `None` if it is not a moment since 1970.
#[must_use]
pub fn parse(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}
