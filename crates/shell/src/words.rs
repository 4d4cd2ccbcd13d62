//! Lists of names, written as one string and split at compile time: a look-up costs no parsing.

/// Returns the number of words in a string.
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

/// Returns the words of a string, which are separated by blanks.
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

/// Bit set over the 256 shapes of the words of a list. Most other words have none of these shapes, and are not
/// searched for.
#[derive(Clone, Copy, Debug)]
pub struct Shapes([u64; 4]);

impl Shapes {
    /// Creates the set of an empty list.
    #[must_use]
    pub const fn none() -> Self {
        Self([0; 4])
    }

    /// Returns the set with one more word.
    #[must_use]
    #[expect(
        clippy::indexing_slicing,
        reason = "the first part of a shape is below four"
    )]
    pub const fn with(mut self, word: &str) -> Self {
        let (part, bit) = shape(word.as_bytes());
        self.0[part] |= bit;
        self
    }

    /// Returns the set with more words.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the place is below the length")]
    pub const fn with_all(mut self, words: &[&str]) -> Self {
        let mut at = 0;
        while at < words.len() {
            self = self.with(words[at]);
            at += 1;
        }
        self
    }

    /// Returns `false` if the word is certainly not in the list.
    #[must_use]
    pub fn may_hold(&self, word: &str) -> bool {
        let (part, bit) = shape(word.as_bytes());
        self.0.get(part).is_some_and(|bits| bits & bit != 0)
    }
}

/// Returns the index of a word's shape, by its length and its first and last byte.
const fn shape(word: &[u8]) -> (usize, u64) {
    let (Some(first), Some(last)) = (word.first(), word.last()) else {
        return (0, 1);
    };
    let sum = first.wrapping_mul(31) ^ last.wrapping_mul(7);
    let [sum, ..] = (sum as usize).wrapping_add(word.len()).to_le_bytes();
    ((sum >> 6) as usize, 1 << (sum & 63))
}

/// Long list of names with fast look-up of missing ones.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    words: &'static [&'static str],
    shapes: Shapes,
}

impl Names {
    /// Creates a list.
    #[must_use]
    pub const fn new(words: &'static [&'static str]) -> Self {
        let shapes = Shapes::none().with_all(words);
        Self { words, shapes }
    }

    /// Returns `true` if the list contains the word.
    #[must_use]
    pub fn contains(&self, word: &str) -> bool {
        self.shapes.may_hold(word) && self.words.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, names};

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

    #[test]
    fn a_list_holds_its_names_and_no_other() {
        const WORDS: &[&str] = names!("cat bat grep [ . sha256sum");
        static NAMES: Names = Names::new(WORDS);
        assert!(WORDS.iter().all(|name| NAMES.contains(name)));
        for other in ["", "ca", "cut", "bar", "grip", "]", "sha512sum", "é"] {
            assert!(!NAMES.contains(other), "{other}");
        }
    }
}
