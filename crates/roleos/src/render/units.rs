//! Numbers as people read them.

/// `12,345`.
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

/// Millionths of a dollar as `$0.015`: at least two decimals, and no more than the amount has.
#[must_use]
pub fn dollars(microdollars: impl Into<u64>) -> String {
    let microdollars = microdollars.into();
    let decimals = format!("{:06}", microdollars % 1_000_000);
    let decimals = decimals.trim_end_matches('0');
    format!("${}.{decimals:0<2}", grouped(microdollars / 1_000_000))
}

/// `66.7 %`.
#[must_use]
pub fn percent(ratio: f32) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// `17.3 KB`.
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
}
