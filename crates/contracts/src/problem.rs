//! Problems of a catalogue of contracts, with their positions: collected by the parser, shown by `contracts check`.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing fails, but it is most likely not intended.
    Warning,
    /// A part does not work, or flags every call.
    Error,
}

impl Weight {
    /// Returns the name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Problem of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path, such as `Bash.constraints[0].op`; `$` is the whole file.
    pub path: String,
    /// Description, with the right form.
    pub what: String,
    /// Severity of the problem.
    pub weight: Weight,
}

/// Position in the catalogue, from the root.
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

/// Collector of problems.
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

    /// Reports unknown keys.
    pub(super) fn unknown(&mut self, at: At<'_>, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let known = known.join("`, `");
            self.warning(
                At::Key(&at, key),
                format!("nothing reads this key; there are `{known}`"),
            );
        }
    }

    /// Returns a text, if the key is present.
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

    /// Returns a required text.
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

    /// Returns a required list of texts that is not empty.
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

/// Returns a list of texts, at least one.
pub(super) fn list_of_names(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    items
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}
