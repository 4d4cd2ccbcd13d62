//! What is wrong with a catalogue of contracts, and where: kept while reading, shown by `contracts check`.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It holds nothing up and is most likely not meant.
    Warning,
    /// A part does not work, or flags every call.
    Error,
}

impl Weight {
    /// As programs read it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as `Bash.constraints[0].op`; `$` is the whole file.
    pub path: String,
    /// What, and what would be right.
    pub what: String,
    /// How bad.
    pub weight: Weight,
}

/// A place in the catalogue, on the way down.
#[derive(Clone, Copy, Debug)]
pub(super) enum At<'a> {
    Root,
    Key(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_char('$'),
            Self::Key(Self::Root, key) if is_plain(key) => f.write_str(key),
            Self::Key(parent, key) if is_plain(key) => write!(f, "{parent}.{key}"),
            Self::Key(parent, key) => write!(f, "{parent}[{}]", Value::from(*key)),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn is_plain(key: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    !key.is_empty() && key.bytes().all(word)
}

/// Collects problems.
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    pub(super) fn error(&mut self, at: At<'_>, what: impl Into<String>) {
        self.push(at, what.into(), Weight::Error);
    }

    pub(super) fn warning(&mut self, at: At<'_>, what: impl Into<String>) {
        self.push(at, what.into(), Weight::Warning);
    }

    fn push(&mut self, at: At<'_>, what: String, weight: Weight) {
        let path = at.to_string();
        self.0.push(Problem { path, what, weight });
    }

    /// Keys that nobody reads.
    pub(super) fn unknown(&mut self, at: At<'_>, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let known = known.join("`, `");
            self.warning(
                At::Key(&at, key),
                format!("nothing reads this key; there are `{known}`"),
            );
        }
    }

    /// A text, if the key is there.
    pub(super) fn text(
        &mut self,
        at: At<'_>,
        object: &Map<String, Value>,
        key: &str,
    ) -> Option<String> {
        match object.get(key)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.error(At::Key(&at, key), "has to be a text");
                None
            }
        }
    }

    /// A text that has to be there.
    pub(super) fn name(
        &mut self,
        at: At<'_>,
        object: &Map<String, Value>,
        key: &str,
    ) -> Option<String> {
        if !object.contains_key(key) {
            self.error(at, format!("has no `{key}`; it has to be a text"));
        }
        self.text(at, object, key)
    }

    /// A list of texts that has to be there and to hold something.
    pub(super) fn names(
        &mut self,
        at: At<'_>,
        object: &Map<String, Value>,
        key: &str,
    ) -> Option<Vec<String>> {
        let Some(value) = object.get(key) else {
            self.error(at, format!("has no `{key}`; it has to be a list of names"));
            return None;
        };
        let names = list_of_names(value);
        if names.is_none() {
            self.error(
                At::Key(&at, key),
                "has to be a list of names, with at least one",
            );
        }
        names
    }
}

/// Texts, at least one.
pub(super) fn list_of_names(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    items
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}
