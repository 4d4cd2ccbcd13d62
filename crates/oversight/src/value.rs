//! What is known of a piece of text: one text, a few possible ones, and in each of them the places that stay unknown.
//!
//! A place that nobody can know is a single character in the text, a hole, so that `$(npm root)/.bin/gh-pages` still
//! ends in a name that is known. Sizes are bounded here, so that no caller has to think of it.

/// Stands for text that a program, a file or the network would deliver.
pub const HOLE: char = '\u{FFFF}';

/// Stands for text of a variable that nobody assigned: whatever the environment holds, usually nothing.
pub const ENVIRONMENT: char = '\u{FFFE}';

/// Stands for one name or number in a list that a program prints: data of a kind that is known, whatever it says.
pub const LISTED: char = '\u{FDD0}';

/// All that is not known.
const HOLES: [char; 3] = [HOLE, ENVIRONMENT, LISTED];

/// More possibilities than this are not told apart.
const MAX_POSSIBILITIES: usize = 16;

/// Longer texts are not followed.
pub const MAX_TEXT: usize = 256 * 1024;

/// The possible texts of a word, a variable or an output. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(Texts);

/// Nearly every value is one text, which then needs no list around it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Texts {
    One(String),
    /// Two or more.
    Many(Vec<String>),
}

impl Value {
    /// Exactly this text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.len() > MAX_TEXT {
            return Self::unknown();
        }
        Self(Texts::One(text))
    }

    /// The empty text.
    #[must_use]
    pub fn empty() -> Self {
        Self(Texts::One(String::new()))
    }

    /// Anything at all.
    #[must_use]
    pub fn unknown() -> Self {
        Self(Texts::One(HOLE.to_string()))
    }

    /// Whatever the environment holds.
    #[must_use]
    pub fn environment() -> Self {
        Self(Texts::One(ENVIRONMENT.to_string()))
    }

    /// One of these; anything when there is none or there are too many.
    pub fn one_of(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts = texts.into_iter();
        let Some(first) = texts.next() else {
            return Self::unknown();
        };
        let Some(second) = texts.next() else {
            return Self::text(first);
        };
        let mut possible = vec![first];
        for text in std::iter::once(second).chain(texts) {
            if !possible.contains(&text) {
                possible.push(text);
            }
            if possible.len() > MAX_POSSIBILITIES {
                return Self::unknown();
            }
        }
        if possible.iter().any(|text| text.len() > MAX_TEXT) {
            return Self::unknown();
        }
        match (possible.len(), possible.pop()) {
            (1, Some(only)) => Self(Texts::One(only)),
            (_, last) => {
                possible.extend(last);
                Self(Texts::Many(possible))
            }
        }
    }

    /// The possible texts.
    #[must_use]
    pub fn possibilities(&self) -> &[String] {
        match &self.0 {
            Texts::One(text) => std::slice::from_ref(text),
            Texts::Many(texts) => texts,
        }
    }

    /// The possible texts, taken out.
    #[must_use]
    pub fn into_possibilities(self) -> Vec<String> {
        match self.0 {
            Texts::One(text) => vec![text],
            Texts::Many(texts) => texts,
        }
    }

    /// The text, if there is only one and nothing in it is unknown.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        match &self.0 {
            Texts::One(text) if !has_hole(text) => Some(text),
            _ => None,
        }
    }

    /// The first possible text, holes included.
    #[must_use]
    pub fn first(&self) -> &str {
        self.possibilities().first().map_or("", String::as_str)
    }

    /// One text after the other, in every combination.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        if let (Texts::One(left), Texts::One(right)) = (&self.0, &next.0) {
            if left.is_empty() {
                return next.clone();
            }
            return Self::text(join_holes(left, right));
        }
        let pairs = self.possibilities().iter().flat_map(|left| {
            let rights = next.possibilities().iter();
            rights.map(move |right| join_holes(left, right))
        });
        Self::one_of(pairs.take(MAX_POSSIBILITIES + 1))
    }

    /// The same, when neither is needed any more.
    #[must_use]
    pub fn followed(self, next: Self) -> Self {
        match (self.0, &next.0) {
            (Texts::One(text), _) if text.is_empty() => next,
            (before, Texts::One(text)) if text.is_empty() => Self(before),
            // A long script prints line after line: the text grows in place.
            (Texts::One(mut before), Texts::One(text)) => {
                push_joined(&mut before, text);
                Self::text(before)
            }
            (before, _) => Self(before).then(&next),
        }
    }

    /// Either this or the other.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        Self::one_of(
            self.possibilities()
                .iter()
                .chain(other.possibilities())
                .cloned(),
        )
    }

    /// Every possibility changed.
    pub fn map(&self, change: impl FnMut(&String) -> String) -> Self {
        Self::one_of(self.possibilities().iter().map(change))
    }
}

/// Two holes side by side are one.
fn join_holes(left: &str, right: &str) -> String {
    let mut text = String::with_capacity(left.len().saturating_add(right.len()));
    text.push_str(left);
    push_joined(&mut text, right);
    text
}

fn push_joined(left: &mut String, right: &str) {
    let both = left.ends_with(HOLE) && right.starts_with(HOLE);
    left.push_str(if both {
        right.trim_start_matches(HOLE)
    } else {
        right
    });
}

/// Whether a part of the text is not known.
#[must_use]
pub fn has_hole(text: &str) -> bool {
    // All holes begin with this byte, which ordinary commands do not contain.
    memchr_byte(text) && text.contains(HOLES)
}

fn memchr_byte(text: &str) -> bool {
    text.as_bytes().contains(&0xEF)
}

/// The text with its holes taken as empty.
#[must_use]
pub fn without_holes(text: &str) -> String {
    text.replace(HOLES, "")
}

/// For people: holes shown as an ellipsis.
#[must_use]
pub fn for_people(text: &str) -> String {
    text.replace(HOLES, "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_side_by_side_are_one() {
        let two = Value::unknown().then(&Value::unknown());
        assert_eq!(two, Value::unknown());
    }

    #[test]
    fn combinations_are_bounded() {
        let few = Value::one_of((0..10).map(|number| number.to_string()));
        assert_eq!(few.then(&few), Value::unknown());
    }
}
