//! Lists of names, written as one text and taken apart when the program is built: looking one up costs no parsing.

/// How many words a text has.
#[expect(
    clippy::indexing_slicing,
    reason = "runs only when the program is built, where a wrong place is an error of the build"
)]
pub const fn count(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut words = 0;
    let mut at = 0;
    while at < bytes.len() {
        let begins = at == 0 || bytes[at - 1] == b' ';
        if begins && bytes[at] != b' ' {
            words += 1;
        }
        at += 1;
    }
    words
}

/// The words of a text, which are divided by blanks.
#[expect(
    clippy::indexing_slicing,
    reason = "runs only when the program is built, where a wrong place is an error of the build"
)]
pub const fn split<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut words = [""; N];
    let mut rest = text;
    let mut word = 0;
    while word < N {
        let mut start = 0;
        while rest.as_bytes()[start] == b' ' {
            start += 1;
        }
        let mut end = start;
        while end < rest.len() && rest.as_bytes()[end] != b' ' {
            end += 1;
        }
        let (before, after) = rest.split_at(end);
        words[word] = before.split_at(start).1;
        rest = after;
        word += 1;
    }
    words
}

/// Returns the words of a literal, as a slice.
#[doc(hidden)]
#[macro_export]
macro_rules! __names {
    ($text:literal) => {
        const { &$crate::words::split::<{ $crate::words::count($text) }>($text) }
    };
}

pub use crate::__names as names;

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn words_are_divided_by_blanks() {
        const NAMES: &[&str] = names!(
            "a bc  d-e \
            ."
        );
        assert_eq!(NAMES, ["a", "bc", "d-e", "."]);
        const NONE: &[&str] = names!("");
        assert!(NONE.is_empty());
    }
}
