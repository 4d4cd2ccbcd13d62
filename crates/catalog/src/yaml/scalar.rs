//! The core schema: interpretation of plain scalars, and printing of numbers. Quoted scalars are text and are not
//! handled here.

use super::Kind;

/// Interprets an unquoted scalar.
pub(super) fn resolve(text: &str) -> Kind<'_> {
    // Most plain scalars are words, recognised by their first byte.
    let Some(first) = text.bytes().next() else {
        return Kind::Null;
    };
    match first {
        b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' => word(text),
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text).map_or(Kind::Text(text), Kind::Number),
        _ => Kind::Text(text),
    }
}

fn word(text: &str) -> Kind<'_> {
    match text {
        "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => Kind::Text(text),
    }
}

/// Parses a number in one of the five notations, as the nearest double.
pub(super) fn number(text: &str) -> Option<f64> {
    integer(text).or_else(|| float(text))
}

/// Parses a decimal with a sign, `0o17` or `0x1F`.
pub(super) fn integer(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    all_digits(digits).then(|| text.parse().ok()).flatten()
}

/// Parses a number with a point, an exponent or both; `.inf` and `.nan`.
pub(super) fn float(text: &str) -> Option<f64> {
    if let ".nan" | ".NaN" | ".NAN" = text {
        return Some(f64::NAN);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let ".inf" | ".Inf" | ".INF" = unsigned {
        let negative = text.starts_with('-');
        return Some(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let has_point = mantissa.contains('.');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.is_empty() || all_digits(part);
    let mantissa_fits =
        digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_fits = exponent.map_or(has_point, |exponent| {
        all_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
    });
    (mantissa_fits && exponent_fits)
        .then(|| text.parse().ok())
        .flatten()
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses digits of a radix; exact up to 128 bits, and approximate beyond.
fn radix(digits: &str, radix: u32) -> Option<f64> {
    let fits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    if !fits {
        return None;
    }
    if let Ok(number) = u128::from_str_radix(digits, radix) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "numbers of the format are doubles"
        )]
        return Some(number as f64);
    }
    let digit = |digit: char| f64::from(digit.to_digit(radix).unwrap_or_default());
    Some(
        digits
            .chars()
            .fold(0.0, |sum, next| sum * f64::from(radix) + digit(next)),
    )
}

/// Prints a number in the form of the format: the shortest digits that parse to the same value, whole numbers without
/// a point, an exponent from 21 digits on and below a millionth.
#[must_use]
pub fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 {
            "-Infinity"
        } else {
            "Infinity"
        }
        .to_owned();
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", laid_out(&digits, exponent))
}

/// Prints digits, with the point after the first, times ten to the exponent.
fn laid_out(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or_default());
    match exponent {
        -6..=-1 => format!("0.{}{digits}", zeros(-exponent - 1)),
        0..=20 if count <= exponent + 1 => format!("{digits}{}", zeros(exponent + 1 - count)),
        0..=20 => {
            let (whole, fraction) = split(exponent + 1).unwrap_or((digits, ""));
            format!("{whole}.{fraction}")
        }
        _ => {
            let (whole, fraction) = split(1).unwrap_or((digits, ""));
            let point = if fraction.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{whole}{point}{fraction}e{sign}{}", exponent.abs())
        }
    }
}
