//! Writes text as YAML that parses to the same text, in this dialect and in every other.
//!
//! Short texts are double-quoted, long ones are blocks if a block can represent them exactly.

use std::fmt::Write as _;

/// Returns a text on one line, between double quotes. Invisible characters are escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        // Writing to a string does not fail.
        let _ = match char {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            _ if is_printable(char) => out.write_char(char),
            _ if u32::from(char) > 0xffff => write!(out, "\\U{:08X}", u32::from(char)),
            _ => write!(out, "\\u{:04X}", u32::from(char)),
        };
    }
    out.push('"');
    out
}

/// Returns a text of several lines as a `|` block whose lines are indented by `indent` blanks; without a key, and
/// with the newline that ends it. A text that a block cannot represent exactly is [`quoted`].
#[must_use]
pub fn block(text: &str, indent: usize) -> String {
    let Some(header) = block_header(text) else {
        return format!("{}\n", quoted(text));
    };
    let mut out = format!("{header}\n");
    let body = text.strip_suffix('\n').unwrap_or(text);
    for line in body.split('\n') {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// Returns the header of the block. A first line that begins with a blank would count as indentation.
fn block_header(text: &str) -> Option<&'static str> {
    let fits = |char: char| char == '\n' || is_printable(char);
    let begins_well = text.starts_with(|first: char| !first.is_whitespace());
    // Parsers differ about a line of only blanks.
    let has_blank_line = text
        .split('\n')
        .any(|line| !line.is_empty() && line.trim().is_empty());
    let ends = text.len() - text.trim_end_matches('\n').len();
    (begins_well && !has_blank_line && text.chars().all(fits)).then_some(match ends {
        0 => "|-",
        1 => "|",
        _ => "|+",
    })
}

/// Returns `true` if a character is allowed in YAML as it is, and no parser takes it for the end of a line.
fn is_printable(char: char) -> bool {
    let is_line_end = matches!(char, '\u{85}' | '\u{2028}' | '\u{2029}');
    let is_nothing = matches!(char, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !char.is_control() && !is_line_end && !is_nothing
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::Document;

    fn check(text: &str) {
        let yaml = format!("a: {}\nb:\n  c: {}d: 1\n", quoted(text), block(text, 4));
        let document = Document::parse(yaml.clone().into()).unwrap_or_else(|_| panic!("{yaml}"));
        let root = document.root();
        assert_eq!(root.get("a").unwrap().text(), Some(text), "{yaml}");
        let inner = root.get("b").unwrap().get("c").unwrap();
        assert_eq!(inner.text(), Some(text), "{yaml}");
        assert_eq!(root.get("d").unwrap().number(), Some(1.0), "{yaml}");
    }

    #[test]
    fn hard_texts_read_back() {
        for text in [
            "",
            " ",
            "\n",
            "a",
            "a\n",
            "a\n\n",
            "\na",
            " a\nb",
            "a\n  b\n",
            "a\r\nb",
            "a\n \nb",
            "---\n...\n# x: y",
            "\t",
            "a\tb",
            "'\"\\",
            "\u{feff}\u{2028}\u{85}\u{7f}\0",
            "🏛️",
            "{a: [b]}",
            "a\n\tb",
            "a \nb",
            "...",
            "~",
        ] {
            check(text);
        }
    }

    #[test]
    fn long_text_is_a_block() {
        assert_eq!(block("a\n\n  b", 2), "|-\n  a\n\n    b\n");
        assert_eq!(block("a\n", 2), "|\n  a\n");
    }

    proptest! {
        #[test]
        fn every_text_reads_back(text in "[a-c \\n\\t:#'\"\\-\\r\\PC\u{85}\u{2028}]{0,40}") {
            check(&text);
        }
    }
}
