//! Limits of the parsers, which recurse and cannot handle every text. One pass over the bytes, no recursion.

/// Limit of the length of a text.
pub const MAX_BYTES: usize = 512 * 1024;

/// Limit of the nesting of brackets, braces and substitutions.
const MAX_BRACKETS: usize = 48;

/// Limit of open `((`: a parser that tries both readings of each takes exponential time.
const MAX_DOUBLE: usize = 6;

/// Limit of the braces that one word opens and does not close: the parser of brace expansion takes exponential time.
const MAX_BRACES: usize = 6;

/// Limit of nested braces that are not a brace expression, or do not end: the parser reads the content of each one
/// twice.
const MAX_FAILED_BRACES: usize = 12;

/// Limit of the subscripts of a word that may contain another. The parser of words parses a subscript again for every
/// form that the expansion around it may have, so each level of nesting costs twenty times the one before.
const MAX_SUBSCRIPTS: usize = 2;

/// Limit of nested `${!`, each of which doubles the time.
const MAX_INDIRECT: usize = 8;

/// Limit of the digits of a descriptor before a redirection, beyond which the parser would fail.
const MAX_DIGITS: usize = 9;

/// Limit of the digits in a sequence of braces or behind a tilde: longer numbers overflow, and the parser would fail.
const MAX_NUMBER: usize = 18;

/// Limit of nested expansions in a text without tokenization, beyond which the parser takes exponential time.
const MAX_EXPANSIONS: usize = 6;

/// Limit of the nesting of compound commands.
const MAX_KEYWORDS: usize = 48;

/// Checks the length of a text.
///
/// # Errors
/// Fails if the text is too long.
pub fn check_length(text: &str) -> Result<(), &'static str> {
    if text.len() > MAX_BYTES {
        return Err("the text is too long to be analysed");
    }
    Ok(())
}

/// Checks the length and the depth of a text.
///
/// Quotes are not distinguished here: a text that only looks deep is refused as well, which is the safe side.
///
/// # Errors
/// Fails with the exceeded limit.
pub fn check(text: &str) -> Result<(), &'static str> {
    check_parts(text, true)
}

/// Checks the depth of a text that is expanded and is not a program by itself.
///
/// # Errors
/// Fails with the exceeded limit.
pub fn check_expanded(text: &str) -> Result<(), &'static str> {
    if !text.contains(['$', '`']) {
        return Ok(());
    }
    check_parts(text, false)?;
    check_expansions(text)
}

/// Skips a quoted part; returns `false` if it does not end, or may contain further quotes.
fn passes_plain_quotes(quote: u8, bytes: &mut impl Iterator<Item = u8>) -> bool {
    let mut before = 0_u8;
    for byte in bytes {
        if byte == quote {
            return true;
        }
        let nests = matches!(byte, b'`' | b'\\') || (before == b'$' && b"([{".contains(&byte));
        if quote == b'"' && nests {
            return false;
        }
        before = byte;
    }
    false
}

/// Checks the depth of nested expansions. The tokenizer has not verified that they end, and if they do not, the
/// parser tries each reading of one for every reading of the one around it.
fn check_expansions(text: &str) -> Result<(), &'static str> {
    let mut open: Vec<bool> = Vec::new();
    // Set if a closing bracket can be distinguished from a quoted one.
    let mut are_quotes_clear = true;
    let mut bytes = text.bytes();
    let mut before = 0_u8;
    while let Some(byte) = bytes.next() {
        let is_expansion = before == b'$';
        before = byte;
        match byte {
            b'(' | b'{' | b'[' if is_expansion || !open.is_empty() => open.push(is_expansion),
            b')' | b'}' | b']' if are_quotes_clear => drop(open.pop()),
            b'\\' => drop(bytes.next()),
            b'`' if !open.is_empty() => are_quotes_clear = false,
            b'\'' | b'"' if !open.is_empty() && are_quotes_clear => {
                are_quotes_clear = passes_plain_quotes(byte, &mut bytes);
            }
            _ => {}
        }
        if open.iter().filter(|is_expansion| **is_expansion).count() > MAX_EXPANSIONS {
            return Err("expansions are nested too deeply to be analysed");
        }
    }
    Ok(())
}

fn check_parts(text: &str, is_program: bool) -> Result<(), &'static str> {
    check_length(text)?;
    if text.contains('\0') {
        return Err("the text holds a NUL character");
    }
    let mut depth = 0_usize;
    let mut double = 0_usize;
    let mut before = 0_u8;
    let mut digits = 0_usize;
    let mut lead = 0_u8;
    let mut keywords = 0_usize;
    for line in text.split(['\n', ';']) {
        for byte in line.bytes() {
            if byte.is_ascii_lowercase() {
                // Most bytes; only the trace of the bytes before changes.
                (before, lead, digits) = (byte, byte, 0);
                continue;
            }
            match (before, byte) {
                (b'(', b'(') => double = double.saturating_add(1),
                (b')', b')') => double = double.saturating_sub(1),
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                before = byte;
            }
            if matches!(byte, b'<' | b'>') && digits > MAX_DIGITS {
                return Err("the number of a descriptor is too large to be analysed");
            }
            digits = if byte.is_ascii_digit() {
                digits.saturating_add(1)
            } else {
                lead = byte;
                0
            };
            if digits > MAX_NUMBER && is_before_number(lead) {
                return Err("a number is too large to be analysed");
            }
            match byte {
                b'(' | b'{' | b'[' => depth = depth.saturating_add(1),
                b')' | b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_BRACKETS || double > MAX_DOUBLE {
                return Err("brackets are nested too deeply to be analysed");
            }
        }
        if !is_program {
            continue;
        }
        let braced = line.as_bytes().contains(&b'{');
        if braced
            && line
                .split_ascii_whitespace()
                .any(|word| open_braces(word) > MAX_BRACES)
        {
            return Err("braces are nested too deeply to be analysed");
        }
        for word in line.as_bytes().split(|byte| divides(*byte)) {
            match word {
                b"if" | b"while" | b"until" | b"for" | b"case" | b"select" | b"time"
                | b"coproc" | b"function" => keywords = keywords.saturating_add(1),
                b"fi" | b"done" | b"esac" => keywords = keywords.saturating_sub(1),
                _ => {}
            }
        }
        if keywords > MAX_KEYWORDS {
            return Err("commands are nested too deeply to be analysed");
        }
    }
    Ok(())
}

/// Returns `true` if a keyword may be next to this byte.
fn divides(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'(' | b')' | b'{' | b'}' | b'&' | b'|' | b'`' | b'"' | b'\'' | b'!'
    )
}

/// Returns `true` if the parser of words can parse the word in acceptable time.
pub fn is_bearable_word(text: &str) -> bool {
    if has_large_number(text) {
        return false;
    }
    if !text.contains("${") {
        return true;
    }
    let subscripts = text
        .match_indices('[')
        .filter(|(at, _)| may_hold_another(text, *at));
    subscripts.count() <= MAX_SUBSCRIPTS && text.matches("${!").count() <= MAX_INDIRECT
}

/// Returns `true` if the parser of brace expansion can parse the word in acceptable time.
pub fn is_bearable_braces(word: &str) -> bool {
    // For each open brace: `true` if it contains a comma, and the depth of failed ones inside.
    let mut open = vec![(false, 0_usize)];
    let mut are_quotes_clear = true;
    let mut bytes = word.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'`' => are_quotes_clear = false,
            b'\'' | b'"' if are_quotes_clear => {
                are_quotes_clear = passes_plain_quotes(byte, &mut bytes);
            }
            b'{' => open.push((false, 0)),
            b',' if are_quotes_clear => {
                if let Some((has_comma, _)) = open.last_mut() {
                    *has_comma = true;
                }
            }
            b'}' if open.len() > 1 => {
                let (has_comma, failed) = open.pop().unwrap_or_default();
                let failed = failed.saturating_add(usize::from(!has_comma));
                if let Some((_, most)) = open.last_mut() {
                    *most = failed.max(*most);
                }
            }
            _ => {}
        }
    }
    let inside = open.iter().map(|(_, failed)| *failed).max();
    let unended = open.len().saturating_sub(1).saturating_mul(2);
    unended.saturating_add(inside.unwrap_or_default()) <= MAX_FAILED_BRACES
}

/// Returns `true` if the parser of programs can handle the word as an assignment or an element of an array: it parses
/// the subscript at once.
pub fn is_bearable_assignment(word: &str) -> bool {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let begins = word.bytes().find(|byte| !name(byte)) == Some(b'[');
    !begins || is_bearable_word(word)
}

/// Returns `true` if the parser of words would fail on a number. The tokenizer joins `${ 1` to a word in which `{1`
/// is read.
fn has_large_number(text: &str) -> bool {
    let mut digits = 0_usize;
    let mut lead = 0_u8;
    text.bytes().any(|byte| {
        if byte.is_ascii_digit() {
            digits = digits.saturating_add(1);
        } else {
            (lead, digits) = (byte, 0);
        }
        digits > MAX_NUMBER && is_before_number(lead)
    })
}

/// Returns `true` for a byte before a number of a sequence in braces, or of a tilde.
fn is_before_number(byte: u8) -> bool {
    matches!(byte, b'{' | b'.' | b'~' | b'-' | b'+')
}

/// Returns `true` if the subscript that begins here could contain an expansion with its own subscript.
fn may_hold_another(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(at.wrapping_sub(1)).copied();
    if !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return false;
    }
    let rest = text.get(at.saturating_add(1)..).unwrap_or_default();
    let Some((inside, _)) = rest.split_once(']') else {
        return true;
    };
    let unquoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| inside.strip_prefix(quote)?.strip_suffix(quote));
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"_@*+-/%.,: $#{}".contains(&byte);
    let without_expansions = |text: &str| !text.bytes().any(|byte| b"\"'`$\\([".contains(&byte));
    !(inside.bytes().all(harmless) || unquoted.is_some_and(without_expansions))
}

/// Counts the braces of a word that stay open; `${` belongs to another grammar.
fn open_braces(word: &str) -> usize {
    let mut open = 0_usize;
    let mut before = 0_u8;
    for byte in word.bytes() {
        match byte {
            b'{' if before != b'$' => open = open.saturating_add(1),
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        before = byte;
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_subscripts_in_subscripts_are_refused() {
        for one in [
            "${a[${a[",
            "${a[\"${a[",
            "${a[\"]\"",
            "${a[$(echo ])",
            "${a[$((1+",
            "${a[\\]",
        ] {
            assert!(!is_bearable_word(&one.repeat(5)), "{one}");
        }
        assert!(!is_bearable_word(&"${!x".repeat(9)));
        let usual =
            "${a[0]}${a[@]}${#a[*]}${a[$i]}${a[${i}]}${a[i+1]}${a[\"key of it\"]}${x//b[cd]/}";
        assert!(is_bearable_word(&usual.repeat(50)));
        assert!(is_bearable_word("${a[${b[0]}]} and ${a[$((i+1))]}"));
    }

    #[test]
    fn words_whose_braces_fail_in_each_other_are_refused() {
        let nested = |one: &str| format!("{}{}", one.repeat(20), "}".repeat(20));
        for word in [
            "np{,z,{ro{,}${{ro{,=${,}${{ro{,}ror,{ro{,}${{ro{,}${,}${{r,}ror,{ro{,}${{ro{,}${,}${{ro{,}ro{,}roroBl/l/}l/l/}",
            &nested("{a"),
            &nested("{a','"),
            &nested("{a\",\""),
            &nested("{a\\,"),
            &nested("\"$(a)\"{a\",\""),
            &"${{ro{,}".repeat(9),
        ] {
            assert!(!is_bearable_braces(word), "{word}");
            // Does not end in time if the word reaches the parser.
            drop(crate::lower::program(&format!("echo {word} >/")));
        }
        let json = format!("'{}'", nested("{\"a\":"));
        for word in [
            &nested("{a,"),
            &json,
            &"${a}{b}{c,d}".repeat(50),
            "{a,{b,{1..3}}}",
        ] {
            assert!(is_bearable_braces(word), "{word}");
        }
    }

    #[test]
    fn words_with_numbers_that_overflow_are_refused() {
        let large = "9".repeat(MAX_NUMBER + 1);
        for word in [
            format!("${{{large} w}}"),
            format!("{{1..{large}}}"),
            format!("{{-{large}..2}}"),
            format!("~{large}"),
        ] {
            assert!(!is_bearable_word(&word), "{word}");
        }
        assert!(is_bearable_word(&format!("id={large},\"{large}\"")));
    }

    #[test]
    fn expansions_that_do_not_end_are_refused() {
        for one in [
            "$(a",
            "$((a",
            "${a-",
            "$[a",
            "${a-$(b",
            "$( (a",
            "$(a(b)",
            "$(a ')'",
            "$(a \")\"",
            "$(a \\)",
            "$(a \"$(b)\"",
            "$(a \"`b`)\"",
            "\"$(a",
            "$(a `)`",
        ] {
            assert!(check_expanded(&one.repeat(9)).is_err(), "{one}");
        }
        for one in [
            "${a} ",
            "$(date \"+%F\") ",
            "$(echo \"$x\") ",
            "$(a 'b)') ",
            "$((1 + (2))) ",
            "(a [b] {c ",
            "$a' ",
            "$(a $(b $(c ${d:-e}))) ",
            "it's $(a) ",
        ] {
            assert_eq!(check_expanded(&one.repeat(40)), Ok(()), "{one}");
        }
    }

    #[test]
    fn deep_texts_are_refused_and_wide_ones_are_not() {
        assert!(check(&"(".repeat(1000)).is_err());
        assert!(check(&"if true; then ".repeat(1000)).is_err());
        assert!(check(&format!("a|{}", "(".repeat(30))).is_err());
        assert!(check(&"{a,".repeat(12)).is_err());
        assert!(check(r#"curl -d '{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":1}}}}}}}}' x"#).is_ok());
        assert!(check(&format!("a {}< x", "7".repeat(30))).is_err());
        for lead in ["{", "{1..", "{-", "~", "~+", "~-"] {
            assert!(check(&format!("echo {lead}{}", "7".repeat(30))).is_err());
        }
        assert!(check(&format!("echo {}", "7".repeat(30))).is_ok());
        assert_eq!(check(&"echo $((1+((2*(3)))));".repeat(100)), Ok(()));
        assert_eq!(check(&"if true; then :; fi; (a)\n".repeat(1000)), Ok(()));
    }
}
