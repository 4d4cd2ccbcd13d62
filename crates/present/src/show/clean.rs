//! Makes untrusted text safe to show, as [`base::clean`] does, and cuts it to a width.

pub use base::clean::{line_count, lines, name, text};

use super::columns::cut;

/// Returns a [`name`] in at most this many columns; a cut one ends with `…`.
#[must_use]
pub fn line(text: &str, columns: usize) -> String {
    cut(&name(text.as_bytes()), columns).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_in_its_columns() {
        assert_eq!(line("a\x1bbc", 3), "a␛…");
    }
}
