//! Which keys of a map are the same.

use std::collections::BTreeSet;

/// From so many keys on, a sorted set is faster than looking at each.
const MANY: usize = 16;

/// A key by its value: `1` and `1.0` are the same, `1` and `"1"` are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'t> {
    Null,
    Bool(bool),
    /// The bits of a number that is not NaN, which is not even itself.
    Number(u64),
    Text(&'t str),
}

impl Key<'_> {
    pub(super) fn number(number: f64) -> Option<Self> {
        // Adding zero makes one of the two zeros.
        (!number.is_nan()).then(|| Self::Number((number + 0.0).to_bits()))
    }
}

/// The first key that was there before.
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
