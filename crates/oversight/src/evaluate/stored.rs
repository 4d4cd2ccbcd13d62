//! What a variable holds: a text, an array, or one of several arrays.

use crate::value::Value;

/// What it holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored {
    Scalar(Value),
    /// Keys in order of assignment; numbers for plain arrays.
    Array(Elements),
    /// One of several arrays: `[ "$CI" ] && command+=(--verbose)`.
    Either(Vec<Elements>),
}

/// The keys and values of an array.
pub(crate) type Elements = Vec<(String, Value)>;

/// More arrays that a variable may hold are not kept apart.
pub(super) const MAX_ARRAYS: usize = 16;

impl Stored {
    pub(crate) fn scalar(&self) -> Value {
        let first = |elements: &Elements| {
            let first = elements.iter().find(|(key, _)| key == "0");
            first.map_or_else(Value::empty, |(_, value)| value.clone())
        };
        match self {
            Self::Scalar(value) => value.clone(),
            Self::Array(elements) => first(elements),
            Self::Either(arrays) => {
                let firsts = arrays.iter().map(first);
                firsts
                    .reduce(|one, two| one.or(&two))
                    .unwrap_or_else(Value::empty)
            }
        }
    }

    /// The arrays that it may hold; none when it is none.
    pub(crate) fn arrays(&self) -> Option<&[Elements]> {
        match self {
            Self::Scalar(_) => None,
            Self::Array(elements) => Some(std::slice::from_ref(elements)),
            Self::Either(arrays) => Some(arrays),
        }
    }

    /// What is held after two ways.
    pub(crate) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Scalar(one), Self::Scalar(two)) => Self::Scalar(one.or(two)),
            (Self::Array(one), Self::Array(two)) if same_keys(one, two) => {
                let pairs = one.iter().zip(two);
                let joined = pairs.map(|((key, one), (_, two))| (key.clone(), one.or(two)));
                Self::Array(joined.collect())
            }
            _ => match (self.arrays(), other.arrays()) {
                (Some(one), Some(two)) => Self::either([one, two].concat()),
                _ => Self::Scalar(Value::unknown()),
            },
        }
    }

    pub(crate) fn either(arrays: Vec<Elements>) -> Self {
        let mut kept: Vec<Elements> = Vec::new();
        for array in arrays {
            if !kept.contains(&array) {
                kept.push(array);
            }
        }
        if kept.len() > MAX_ARRAYS {
            return Self::Scalar(Value::unknown());
        }
        Self::Either(kept)
    }
}

fn same_keys(one: &Elements, two: &Elements) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.0 == two.0)
}
