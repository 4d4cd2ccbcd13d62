//! Edge cases of numbers and positions.

use super::*;

#[test]
fn numbers_print_as_the_format_does() {
    let check = |number: f64, text: &str| assert_eq!(scalar::number_text(number), text);
    check(0.0, "0");
    check(-0.0, "0");
    check(3.0, "3");
    check(-12.5, "-12.5");
    check(1.5, "1.5");
    check(100.0, "100");
    check(123_456_789.125, "123456789.125");
    check(1e20, "100000000000000000000");
    check(1e21, "1e+21");
    check(1.25e21, "1.25e+21");
    check(0.000_001, "0.000001");
    check(0.000_000_15, "1.5e-7");
    check(f64::MAX, "1.7976931348623157e+308");
    check(5e-324, "5e-324");
    check(9_007_199_254_740_993.0, "9007199254740992");
    check(f64::NAN, "NaN");
    check(f64::NEG_INFINITY, "-Infinity");
}

#[test]
fn positions_count_characters_and_lines() {
    let source = Source::new("ab\r\né\tz\n\nlast".to_owned());
    let check = |offset: usize, line: usize, column: usize| {
        assert_eq!(
            source.position(offset),
            Position { line, column },
            "{offset}"
        );
    };
    check(0, 1, 1);
    check(2, 1, 3);
    check(4, 2, 1);
    check(6, 2, 2);
    check(9, 3, 1);
    check(14, 4, 5);
    check(99, 4, 1);
}

#[test]
fn a_long_line_is_shown_around_its_place() {
    let source = Source::new(format!("{}X{}\n", "é".repeat(1000), "b".repeat(1000)));
    let excerpt = source.excerpt(2000);
    assert_eq!(excerpt.text.chars().count(), MAX_EXCERPT);
    assert_eq!(excerpt.text.chars().nth(excerpt.before), Some('X'));
}
