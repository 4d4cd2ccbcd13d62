//! Rates for people, with Wilson bounds, and the evenness of a distribution.

/// z of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// A rate with its Wilson interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Number of hits.
    pub hits: u64,
    /// Number of cases.
    pub n: u64,
    /// Plain rate; 0 without cases.
    pub value: f64,
    /// Lower bound; 0 without cases.
    pub low: f64,
    /// Upper bound; 1 without cases.
    pub high: f64,
}

/// Returns the rate of `hits` out of `n`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of log lines")]
pub fn rate(hits: u64, n: u64) -> Rate {
    if n == 0 {
        return Rate {
            hits,
            n,
            value: 0.0,
            low: 0.0,
            high: 1.0,
        };
    }
    let hits = hits.min(n);
    let (count, total) = (hits as f64, n as f64);
    let value = count / total;
    let spread = Z * Z / total;
    let middle = (value + spread / 2.0) / (1.0 + spread);
    let half = Z / (1.0 + spread) * (value * (1.0 - value) / total + spread / (4.0 * total)).sqrt();
    let low = if hits == 0 {
        0.0
    } else {
        (middle - half).max(0.0)
    };
    let high = if hits == n {
        1.0
    } else {
        (middle + half).min(1.0)
    };
    Rate {
        hits,
        n,
        value,
        low,
        high,
    }
}

/// Returns the entropy of counts in bits, and the largest share. Both are 0 without counts.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of log lines")]
pub fn spread(counts: &[u64]) -> (f64, f64) {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return (0.0, 0.0);
    }
    let shares = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| *count as f64 / total as f64);
    shares.fold((0.0, 0.0), |(entropy, largest): (f64, f64), share| {
        (entropy - share * share.log2(), largest.max(share))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_books() {
        // 95 of 100: Wilson gives 0.8882 to 0.9785.
        let found = rate(95, 100);
        assert!(
            (found.low - 0.8882).abs() < 5e-4 && (found.high - 0.9785).abs() < 5e-4,
            "{found:?}"
        );
        let none = rate(0, 10);
        assert!(
            none.low.abs() < 1e-12 && (none.high - 0.2775).abs() < 5e-4,
            "{none:?}"
        );
        assert_eq!(
            rate(0, 0),
            Rate {
                hits: 0,
                n: 0,
                value: 0.0,
                low: 0.0,
                high: 1.0
            }
        );
    }

    #[test]
    fn an_even_field_has_the_most_entropy() {
        let (entropy, largest) = spread(&[5, 5, 5, 5]);
        assert!((entropy - 2.0).abs() < 1e-12 && (largest - 0.25).abs() < 1e-12);
        let (entropy, largest) = spread(&[9, 0]);
        assert!(entropy.abs() < 1e-12 && (largest - 1.0).abs() < 1e-12);
        assert_eq!(spread(&[]), (0.0, 0.0));
    }
}
