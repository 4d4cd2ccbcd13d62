//! Test for a rise or fall of a series, by the order of its pairs (Mann-Kendall), exact for any length.

/// Least number of values that can show a trend at 5 %.
pub const LEAST: usize = 5;

/// Trend of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Number of rising pairs minus falling ones.
    pub pairs: i64,
    /// Chance of at least this difference in either direction if the order were random.
    pub p_value: f64,
}

impl Trend {
    /// Tests a series in the order of time; `None` with too few values to ever show a trend.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.len() < LEAST {
            return None;
        }
        let pairs = values.iter().enumerate().flat_map(|(at, first)| {
            let later = values.iter().skip(at + 1);
            later.map(move |second| match second.total_cmp(first) {
                std::cmp::Ordering::Greater => 1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Less => -1,
            })
        });
        let pairs: i64 = pairs.sum();
        Some(Self {
            pairs,
            p_value: p_value(values.len(), pairs),
        })
    }

    /// Returns `true` if chance gives such a series in at most 5 % of all cases.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.p_value <= 0.05
    }
}

/// Sums the shares of orders of `n` values that have at least as many pairs in one direction. Equal values only make
/// it larger.
fn p_value(n: usize, pairs: i64) -> f64 {
    // The share of orders with each number of falling pairs; a further value adds 0 to all of those before it.
    let mut shares = vec![1.0_f64];
    let mut length = 1.0;
    for before in 1..n {
        length += 1.0;
        let mut next = vec![0.0; shares.len() + before];
        for (at, share) in shares.iter().enumerate() {
            for slot in next.iter_mut().skip(at).take(before + 1) {
                *slot += share / length;
            }
        }
        shares = next;
    }
    let most = shares.len() - 1;
    let wanted = usize::try_from(pairs.unsigned_abs()).unwrap_or(usize::MAX);
    // With `falls` falling pairs of `most`, the difference is `most - 2 * falls`.
    let tail = shares
        .iter()
        .enumerate()
        .filter(|(falls, _)| most.abs_diff(2 * falls) >= wanted);
    tail.map(|(_, share)| share).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_exactly() {
        for (values, pairs, p_value) in [
            (&[1.0, 2.0, 3.0, 4.0, 5.0][..], 10, 2.0 / 120.0),
            (&[5.0, 4.0, 3.0, 2.0, 1.0], -10, 2.0 / 120.0),
            (&[1.0, 2.0, 3.0, 5.0, 4.0], 8, 10.0 / 120.0),
            (&[1.0, 1.0, 1.0, 1.0, 1.0], 0, 1.0),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 15, 2.0 / 720.0),
        ] {
            let trend = Trend::of(values).unwrap();
            assert_eq!(trend.pairs, pairs, "{values:?}");
            assert!(
                (trend.p_value - p_value).abs() < 1e-12,
                "{values:?} {trend:?}"
            );
        }
        assert_eq!(Trend::of(&[1.0; 4]), None);
        let long: Vec<f64> = (0..200).map(f64::from).collect();
        assert!(Trend::of(&long).unwrap().is_clear());
    }
}
