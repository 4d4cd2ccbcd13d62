//! Equality of the keys of a map.

use std::collections::BTreeSet;

/// Number of keys from which a sorted set is faster than a linear search.
const MANY: usize = 16;

/// Key by its value: `1` and `1.0` are equal, `1` and `"1"` are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'t> {
    Null,
    Bool(bool),
    /// Bits of a number that is not NaN, because NaN does not equal itself.
    Number(u64),
    Text(&'t str),
}

impl Key<'_> {
    pub(super) fn number(number: f64) -> Option<Self> {
        // Adding zero normalises negative zero.
        (!number.is_nan()).then(|| Self::Number((number + 0.0).to_bits()))
    }
}

/// Returns the first key that occurred before.
pub(super) fn second_time<P: Copy>(keys: &[(Key<'_>, P)]) -> Option<P> {
    let mut seen = BTreeSet::new();
    let mut numbered = keys.iter().enumerate();
    let (_, (_, place)) = numbered.find(|(number, (key, _))| {
        if keys.len() < MANY {
            let before = keys.iter().take(*number);
            return before.clone().any(|(other, _)| other == key);
        }
        !seen.insert(*key)
    })?;
    Some(*place)
}
