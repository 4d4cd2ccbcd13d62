//! Numbers for people: amounts, money, shares, sizes, durations, times. Exact unless stated otherwise.

use jiff::Timestamp;

/// Formats `12,345`.
#[must_use]
pub fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats `1 line`, `2 lines`.
#[must_use]
pub fn counted(number: impl Into<u64>, what: &str) -> String {
    let number = number.into();
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// Formats millionths of a dollar as `$0.015`: at least two decimals, and no more than the amount has.
#[must_use]
pub fn dollars(microdollars: impl Into<u64>) -> String {
    let microdollars = microdollars.into();
    let decimals = format!("{:06}", microdollars % 1_000_000);
    let decimals = decimals.trim_end_matches('0');
    format!("${}.{decimals:0<2}", grouped(microdollars / 1_000_000))
}

/// Formats like [`dollars`], with all six decimals, for columns.
#[must_use]
pub fn dollars_in_full(microdollars: impl Into<u64>) -> String {
    let microdollars = microdollars.into();
    let decimals = microdollars % 1_000_000;
    format!("${}.{decimals:06}", grouped(microdollars / 1_000_000))
}

/// Text for an unknown value.
const UNKNOWN: &str = "unknown";

/// Formats the cost of a solved task; `unknown` without a solved task of a known cost.
#[must_use]
pub fn cost_per_solve(microdollars: Option<impl Into<u64>>) -> String {
    microdollars.map_or_else(|| UNKNOWN.to_owned(), dollars)
}

/// Formats the cost of a task, which may be unknown or partly known: `$0.015`, `unknown`, `≥ $0.015`.
#[must_use]
pub fn cost(microdollars: impl Into<u64>, known: bool) -> String {
    match (known, microdollars.into()) {
        (true, cost) => dollars(cost),
        (false, 0) => UNKNOWN.to_owned(),
        (false, cost) => format!("≥ {}", dollars(cost)),
    }
}

/// Formats the cost of one call of a task, for columns. If the task's cost is unknown, zero may also mean a missing
/// price.
#[must_use]
pub fn call_cost(microdollars: u32, known: bool) -> String {
    match (known, microdollars) {
        (false, 0) => "–".to_owned(),
        (_, cost) => dollars_in_full(cost),
    }
}

/// Returns a note that figures exclude the cost of some tasks, with a remedy.
#[must_use]
pub fn without_cost(unknown: u64, tasks: u64) -> Option<String> {
    (unknown > 0).then(|| {
        format!(
            "The cost of {} of {} is not known; cost per solve is without them. `roleos witness replay` says why; \
             prices of models go into `[oversight.prices]` in `.role-os/config.toml` and count from the next seal on.",
            grouped(unknown),
            counted(tasks, "task")
        )
    })
}

/// Formats `66.7 %`.
#[must_use]
pub fn percent(ratio: f32) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// Returns a share in percent, rounded to the nearest whole one.
#[must_use]
pub fn whole_percent(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    u64::try_from((part * 200 + whole) / (whole * 2)).unwrap_or(u64::MAX)
}

/// Formats `17.3 KB`.
#[must_use]
pub fn bytes(number: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let size = number as f64;
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{:.1} KB", size / 1e3),
        _ => format!("{:.1} MB", size / 1e6),
    }
}

/// Formats a duration in at most two units, rounded down: `850 ms`, `12.3 s`, `2 min 05 s`, `3 h 02 min`.
#[must_use]
pub fn duration(milliseconds: impl Into<u64>) -> String {
    let milliseconds = milliseconds.into();
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..100 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        100..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", grouped(seconds / 3600), seconds / 60 % 60),
    }
}

/// Formats nanoseconds since 1970 as a time in UTC, to the second.
#[must_use]
pub fn time(nanoseconds: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(nanoseconds)) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => format!("{nanoseconds} ns after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let check = |number: u64, text: &str| assert_eq!(grouped(number), text);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(18_446_744_073_709_551_615, "18,446,744,073,709,551,615");
    }

    #[test]
    fn dollars_keep_what_they_have() {
        let check = |number: u64, text: &str| assert_eq!(dollars(number), text);
        check(0, "$0.00");
        check(15_000, "$0.015");
        check(1, "$0.000001");
        check(1_234_500_000, "$1,234.50");
    }

    #[test]
    fn what_is_not_known_is_not_nothing() {
        let costs = [(0_u64, true), (0, false), (15_000, true), (15_000, false)];
        assert_eq!(
            costs.map(|(money, known)| cost(money, known)).join(" | "),
            "$0.00 | unknown | $0.015 | ≥ $0.015"
        );
        let calls = [(0, true), (0, false), (7, false)];
        assert_eq!(
            calls
                .map(|(money, known)| call_cost(money, known))
                .join(" | "),
            "$0.000000 | – | $0.000007"
        );
        assert_eq!(without_cost(0, 3), None);
        let told = without_cost(1, 3).unwrap_or_default();
        assert!(
            told.starts_with("The cost of 1 of 3 tasks is not known;"),
            "{told}"
        );
    }

    #[test]
    fn columns_of_money_and_counts() {
        assert_eq!(dollars_in_full(15_000_u64), "$0.015000");
        assert_eq!(
            [1_u64, 2].map(|number| counted(number, "line")),
            ["1 line", "2 lines"]
        );
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let durations = [
            0,
            999,
            1000,
            12_345,
            99_999,
            125_000,
            3_599_999,
            3_600_000,
            u32::MAX,
        ];
        assert_eq!(
            durations.map(duration).join(" | "),
            "0 ms | 999 ms | 1.0 s | 12.3 s | 99.9 s | 2 min 05 s | 59 min 59 s | 1 h 00 min | 1,193 h 02 min"
        );
    }

    #[test]
    fn times_and_shares() {
        assert_eq!(time(1_771_156_800_000_000_000), "2026-02-15 12:00:00 UTC");
        assert_eq!(time(u64::MAX), "2554-07-21 23:34:33 UTC");
        let shares = [(0, 0), (1, 3), (2, 3), (3, 3)];
        assert_eq!(
            shares.map(|(part, whole)| whole_percent(part, whole)),
            [0, 33, 67, 100]
        );
    }
}
