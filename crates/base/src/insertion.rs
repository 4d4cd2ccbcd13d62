//! A change that only adds: existing text stays byte for byte, and the change can be undone exactly.

use serde::{Deserialize, Serialize};

/// One inserted piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insertion {
    /// Offset in bytes in the text before.
    pub at: usize,
    /// The inserted text.
    pub text: String,
}

/// Returns the text with all insertions, which are in the order of their offsets. Invalid offsets are skipped.
#[must_use]
pub fn apply(text: &str, insertions: &[Insertion]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for insertion in insertions {
        let Some(before) = text.get(done..insertion.at) else {
            continue;
        };
        result.push_str(before);
        result.push_str(&insertion.text);
        done = insertion.at;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

/// Returns the text from before the insertions; `None` if one of them has moved.
#[must_use]
pub fn undo(text: &str, insertions: &[Insertion]) -> Option<String> {
    let mut rest = text;
    let mut result = String::with_capacity(text.len());
    for insertion in insertions {
        let (before, after) = rest.split_at_checked(insertion.at.checked_sub(result.len())?)?;
        result.push_str(before);
        rest = after.strip_prefix(insertion.text.as_str())?;
    }
    result.push_str(rest);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out_again() {
        let put = |at, text: &str| Insertion {
            at,
            text: text.to_owned(),
        };
        let insertions = [put(0, "<"), put(2, "--"), put(2, "+"), put(4, ">")];
        let after = apply("abcd", &insertions);
        assert_eq!(after, "<ab--+cd>");
        assert_eq!(undo(&after, &insertions).as_deref(), Some("abcd"));
        assert_eq!(undo("<ab-cd>", &insertions), None);
        assert_eq!(undo("", &insertions), None);
    }
}
