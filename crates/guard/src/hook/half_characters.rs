//! Lone surrogates in JSON. Agents written in JavaScript cut long strings between the two surrogates of an emoji and
//! still print them; strict parsers then reject the whole event.

/// Length of `\uXXXX`.
const ESCAPE: usize = 6;

/// Replaces each lone surrogate, as happens when the agent passes the string to a program; `None` if there is none.
pub(super) fn mended(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = json.get(at..)?.iter().position(|&byte| byte == b'\\') {
        at = at.saturating_add(found);
        let Some(unit) = unit_of(json, at) else {
            // Another escape; the letter after the backslash does not begin one.
            at = at.saturating_add(2);
            continue;
        };
        let second = unit_of(json, at.saturating_add(ESCAPE));
        let is_pair = is_first(unit) && second.is_some_and(is_second);
        if is_pair {
            at = at.saturating_add(ESCAPE);
        } else if is_first(unit) || is_second(unit) {
            let text = mended.get_or_insert_with(|| json.to_vec());
            if let Some(place) = text.get_mut(at..at.saturating_add(ESCAPE)) {
                place.copy_from_slice(br"\ufffd");
            }
        }
        at = at.saturating_add(ESCAPE);
    }
    mended
}

fn is_first(unit: u16) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

fn is_second(unit: u16) -> bool {
    (0xDC00..0xE000).contains(&unit)
}

/// Returns the number of the escape at this place, if one begins there.
fn unit_of(json: &[u8], at: usize) -> Option<u16> {
    let escape = json.get(at..at.saturating_add(ESCAPE))?;
    let digits = escape.strip_prefix(br"\u")?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::mended;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let text = mended(json.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(text.as_deref(), expected, "{json}");
        let parsed: Result<String, _> = serde_json::from_str(text.as_deref().unwrap_or(json));
        parsed.unwrap();
    }

    #[test]
    fn halves_are_replaced_and_nothing_else_is() {
        check(r#""plain \n \\ \" é""#, None);
        check(r#""\ud83d\ude00 \u00e9""#, None);
        check(r#""a\ud83d""#, Some(r#""a\ufffd""#));
        check(r#""\ude00b""#, Some(r#""\ufffdb""#));
        check(r#""\uD83D\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#));
        check(r#""\ud83d\u0041""#, Some(r#""\ufffd\u0041""#));
        check(r#""\\ud83d""#, None);
        check(r#""\\\ud83d""#, Some(r#""\\\ufffd""#));
    }

    #[test]
    fn what_is_cut_off_is_left_alone() {
        for json in [r#""\"#, r#""\u"#, r#""\ud83"#, "\\", ""] {
            assert_eq!(mended(json.as_bytes()), None, "{json}");
        }
    }
}
