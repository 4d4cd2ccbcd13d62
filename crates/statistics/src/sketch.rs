//! Sketches of sets: the smallest hashes of the elements, for comparing two sets without keeping either.

/// Limit of the hashes of a sketch.
pub const SIZE: usize = 16;

/// Number of hex digits of a hash.
const DIGITS: usize = 4;

/// Returns the sketch of a set from hashes of its elements: the smallest ones in hex, in order.
#[must_use]
pub fn of(hashes: impl IntoIterator<Item = u16>) -> String {
    let all: std::collections::BTreeSet<u16> = hashes.into_iter().collect();
    let smallest = all.iter().take(SIZE);
    smallest.map(|hash| format!("{hash:0DIGITS$x}")).collect()
}

/// Returns `true` if nine tenths of the larger set are in the other one, by the sketches. Sets of fewer than ten
/// elements are alike if they are equal.
#[must_use]
pub fn are_alike(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let larger = one.len().max(other.len()) / DIGITS;
    let (mut left, mut right) = (
        one.chunks(DIGITS).peekable(),
        other.chunks(DIGITS).peekable(),
    );
    let mut shared = 0;
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                shared += 1;
                left.next();
                right.next();
            }
        }
    }
    10 * shared >= 9 * larger
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sketch of numbers, spread like hashes.
    fn sketch(elements: impl IntoIterator<Item = u16>) -> String {
        of(elements
            .into_iter()
            .map(|element| element.wrapping_mul(40503)))
    }

    #[test]
    fn one_element_in_ten_makes_no_difference() {
        for (name, one, other, alike) in [
            ("equal", sketch(0..5), sketch(0..5), true),
            ("one of five differs", sketch(0..5), sketch(1..6), false),
            ("one of nine is missing", sketch(0..9), sketch(0..8), false),
            ("one of ten is missing", sketch(0..10), sketch(0..9), true),
            ("one more of forty", sketch(0..40), sketch(0..41), true),
            ("one of forty differs", sketch(0..40), sketch(1..41), true),
            ("half of forty differ", sketch(0..40), sketch(20..60), false),
            ("none is shared", sketch(0..10), sketch(10..20), false),
            ("nothing in both", String::new(), String::new(), true),
        ] {
            assert_eq!(are_alike(&one, &other), alike, "{name}");
            assert_eq!(are_alike(&other, &one), alike, "{name}");
        }
    }
}
