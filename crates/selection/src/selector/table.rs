//! Hash table that finds the row of a feature in one step.

use super::features::Features;

const WORD: u64 = 1 << 63;

/// Returns the features of an input, words first, each as often as it occurs.
pub(super) fn keys(features: &Features) -> impl Iterator<Item = u64> + '_ {
    let words = features.words().iter().map(|word| word | WORD);
    words.chain(features.others().iter().map(|other| u64::from(*other)))
}

/// Returns `true` if a key is that of a word.
pub(super) fn is_word(key: u64) -> bool {
    key & WORD != 0
}

/// Rows by key, at most a quarter full, so that a search ends after a step or two.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Pairs of a key and its row, counted from 1; 0 means free.
    places: Vec<(u64, u32)>,
}

impl Table {
    /// Builds the table; each key's row is its index in the list.
    pub(super) fn of(keys: &[u64]) -> Self {
        let mut places = vec![(0, 0); (4 * keys.len() + 1).next_power_of_two()];
        for (key, row) in keys.iter().zip(1..) {
            let mut at = spot(*key, places.len());
            while let Some(place) = places.get_mut(at) {
                if place.1 == 0 {
                    *place = (*key, row);
                    break;
                }
                at = (at + 1) % places.len();
            }
        }
        Self { places }
    }

    /// Returns the row of a key.
    pub(super) fn row(&self, key: u64) -> Option<usize> {
        let mut at = spot(key, self.places.len());
        loop {
            let (found, row) = *self.places.get(at)?;
            if row == 0 {
                return None;
            }
            if found == key {
                return usize::try_from(row - 1).ok();
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }
}

/// Returns the index where a search begins; the length is a power of two. Hashes need no further mixing.
fn spot(key: u64, length: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "the lower bits are taken")]
    let low = key as usize;
    low & length.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let keys: Vec<u64> = (0..1000).map(|at| at * 64).collect();
        let table = Table::of(&keys);
        for (row, key) in keys.iter().enumerate() {
            assert_eq!(table.row(*key), Some(row));
            assert_eq!(table.row(key + 1), None);
        }
        assert_eq!(Table::of(&[]).row(0), None);
        assert_eq!(Table::default().row(7), None);
    }
}
