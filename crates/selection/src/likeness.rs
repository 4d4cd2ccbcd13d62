//! Equality of inputs as evidence. A claim needs different inputs, so a cheap addition must not turn one input into
//! another: digits, punctuation, letter case, word order, a field beside the text, one word in ten.
//!
//! An input is the set of its words. Its numbers belong to it only if it has few words and more numbers: a table of
//! measurements consists of them, a ticket stays the same ticket however many are appended.

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use statistics::sketch;
use unicode_normalization::UnicodeNormalization as _;

/// Symbols that change the meaning of a number after them.
const MEANING: &str = "+-*/=<>.%^";

/// Number of words from which an input is a text, whose numbers do not tell it from another.
const FEW: usize = 4;

/// Returns the tokens of an input, in order and each once; the input itself if there are none.
#[must_use]
pub fn form(input: &str) -> String {
    let tokens = tokens(input);
    let all: Vec<&str> = tokens.iter().map(String::as_str).collect();
    all.join(" ")
}

/// Returns a sketch of the tokens of an input, for [`sketch::are_alike`]. With a key, only its owner can tell which
/// words an input may have.
#[must_use]
pub fn sketch(input: &str, key: &str) -> String {
    let hash = |token: String| {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(key)
            .chain_update([0])
            .chain_update(token)
            .finalize()
            .into();
        let [first, second, ..] = digest;
        u16::from_be_bytes([first, second])
    };
    sketch::of(tokens(input).into_iter().map(hash))
}

fn tokens(input: &str) -> BTreeSet<String> {
    let mut found = Tokens::default();
    let structured = serde_json::from_str::<Value>(input).ok();
    match structured.filter(|value| value.is_object() || value.is_array()) {
        Some(value) => found.add_value("", &value),
        None => found.add_text(input),
    }
    let Tokens {
        mut words,
        mut numbers,
    } = found;
    if words.len() < FEW && words.len() < numbers.len() {
        words.append(&mut numbers);
    }
    if words.is_empty() {
        words.insert(input.to_owned());
    }
    words
}

#[derive(Default)]
struct Tokens {
    words: BTreeSet<String>,
    numbers: BTreeSet<String>,
}

impl Tokens {
    fn add_value(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(key, item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.add_value(key, value);
                }
            }
            other => {
                let number = other.as_f64().map(|number| number.to_string());
                let said = number.unwrap_or_else(|| other.to_string());
                self.numbers.insert(format!("{key}:{said}"));
            }
        }
    }

    /// Adds runs of letters and digits, normalised and in lower case. A symbol that changes the meaning of the digit
    /// behind it stays with that digit.
    fn add_text(&mut self, text: &str) {
        let composed = text.nfkc().flat_map(char::to_lowercase);
        let (mut token, mut symbols) = (String::new(), String::new());
        for letter in composed.filter(|letter| !is_invisible(*letter)) {
            let is_joined = letter.is_alphanumeric() && !is_seam(&token, letter);
            if !is_joined {
                self.add(std::mem::take(&mut token));
            }
            if letter.is_alphanumeric() {
                if letter.is_numeric() && token.is_empty() {
                    token.push_str(&symbols);
                }
                token.push(letter);
                symbols.clear();
            } else if MEANING.contains(letter) {
                symbols.push(letter);
            } else if !letter.is_whitespace() {
                symbols.clear();
            }
        }
        self.add(token);
    }

    fn add(&mut self, token: String) {
        if token.contains(char::is_numeric) {
            self.numbers.insert(token);
        } else if !token.is_empty() {
            self.words.insert(token);
        }
    }
}

/// Returns `true` if a letter begins another token: scripts without spaces write digits beside their words.
fn is_seam(token: &str, letter: char) -> bool {
    let Some(last) = token.chars().next_back() else {
        return false;
    };
    let is_other = |one: char| !one.is_ascii();
    last.is_numeric() != letter.is_numeric() && (is_other(last) || is_other(letter))
}

/// Returns `true` if the character is invisible: a soft hyphen, a joiner, a direction mark, a variation selector.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: &str = "my parcel from the sale last week has not come and nobody answers";

    #[test]
    fn what_costs_nothing_makes_no_other_input() {
        let json = |text: &str, more: &str| format!(r#"{{"text":"{text}"{more}}}"#);
        let ticket = TICKET.to_owned();
        for (one, other, is_same) in [
            (ticket.clone(), format!("{TICKET} ---5"), true),
            (ticket.clone(), format!("{TICKET} 1 1 1 1 7"), true),
            (
                format!("{TICKET} 1 2 3 4 5 6 7 8 9 10 11 12 13"),
                format!("{TICKET} 21 22 23 24 25 26 27 28 29 30 31 32 33"),
                true,
            ),
            (ticket.clone(), format!("[a8f3-17c2] {TICKET}"), true),
            (json(TICKET, ""), json(TICKET, r#","n":17"#), true),
            (
                json(TICKET, r#","id":"x1""#),
                json(TICKET, r#","id":"x2","ok":true"#),
                true,
            ),
            (format!("{TICKET} apple"), format!("{TICKET} pear"), true),
            (
                ticket,
                "the invoice for march is wrong, it lists two items that were never ordered"
                    .to_owned(),
                false,
            ),
            ("退款5".to_owned(), "退款6".to_owned(), true),
            ("退款".to_owned(), "发票".to_owned(), false),
            (
                r#"{"temp":21.5,"wind":3}"#.to_owned(),
                r#"{"temp":19,"wind":4}"#.to_owned(),
                false,
            ),
        ] {
            let sketches = (sketch(&one, "k"), sketch(&other, "k"));
            let found = sketch::are_alike(&sketches.0, &sketches.1);
            assert_eq!(found, is_same, "{one} / {other}");
        }
        assert_ne!(sketch(TICKET, "a"), sketch(TICKET, "b"), "keyed");
    }

    #[test]
    fn inputs_that_differ_in_what_is_not_read_have_one_form() {
        for (one, other, is_copy) in [
            ("Where is my parcel?", "where is my  parcel", true),
            ("Where is my parcel?", "my parcel: where IS it", false),
            (
                "Where is my parcel?",
                "Where is\u{200b} my par\u{ad}cel!?",
                true,
            ),
            ("Where is my parcel?", "Where is your parcel?", false),
            ("ÉTÉ", "été", true),
            ("1 2", "12", false),
            ("2+2", "22", false),
            ("2+2", "2 - 2", false),
            ("2+2", " 2 + 2 ?", true),
            ("It is 5.", "it is 5", true),
            ("1.5", "15", false),
            ("well-known", "well known!", true),
            ("therapist", "the rapist", false),
            ("ﬁle Ⅻ ｘ", "file xii x", true),
            ("e\u{301}t\u{e9}", "\u{e9}te\u{301}", true),
            ("?", "!", false),
            ("\"A b\"", "a B", true),
            (r#"{"q": "A b", "n": 1}"#, r#"{"n":2,"q":"a\nB."}"#, true),
            (r#"{"n": 1}"#, r#"{"n": 1.0}"#, true),
            (r#"{"n": 1}"#, r#"{"n": -1}"#, false),
            (r#"["a", "b"]"#, r#"["ab"]"#, false),
        ] {
            let forms = (form(one), form(other));
            assert_eq!(forms.0 == forms.1, is_copy, "{forms:?}");
        }
    }
}
