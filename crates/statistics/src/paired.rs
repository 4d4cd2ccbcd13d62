//! Compares two versions on the same cases: differences of quality, each from −1 to 1, and the bounds of their mean.
//!
//! The bounds come from betting: against the claim that the mean is at most `m`, a bettor stakes a share of what it
//! can lose at most, and its capital is multiplied by `1 + share · (d − m) / (1 + m)` at every difference `d`. They
//! hold for any number of cases, also if the exam grows while it is evaluated.

use crate::sequence::log_mean;

/// Number of shares that are staked, evenly spread between nothing and everything.
const BETTORS: u32 = 16;

/// Number of bisection steps; the last is below 1e-8.
const STEPS: usize = 28;

/// Comparison of a version with another on the same cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Number of cases.
    pub n: u64,
    /// Mean difference; positive if the version is better. 0 without cases.
    pub mean: f64,
    /// Lower bound of the mean.
    pub low: f64,
    /// Upper bound of the mean.
    pub high: f64,
}

/// Verdict of a comparison for a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// On these cases the version is worse by more than the margin.
    Worse,
    /// On these cases it is not, and there are too few for a general conclusion.
    Measured,
    /// It is not worse by more than the margin, at the error of the bounds.
    Proven,
}

impl Comparison {
    /// Compares by the differences, case by case; each bound is ever wrong with a chance of at most `error`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a count of cases")]
    pub fn of(differences: &[f64], error: f64) -> Self {
        let n = differences.len();
        let sum: f64 = differences.iter().map(|d| d.clamp(-1.0, 1.0)).sum();
        let mean = if n == 0 { 0.0 } else { sum / n as f64 };
        Self {
            n: n as u64,
            mean,
            low: lower(differences, mean, 1.0, error),
            high: -lower(differences, -mean, -1.0, error),
        }
    }

    /// Returns the verdict for a margin.
    #[must_use]
    pub fn verdict(&self, margin: f64) -> Verdict {
        if self.mean < -margin - 1e-9 {
            Verdict::Worse
        } else if self.low >= -margin {
            Verdict::Proven
        } else {
            Verdict::Measured
        }
    }
}

/// Returns the largest number that the mean of the differences, times `sign`, is above.
fn lower(differences: &[f64], mean: f64, sign: f64, error: f64) -> f64 {
    let is_above = |m: f64| {
        let capital = |bettor: u32| {
            let share = (f64::from(bettor) + 0.5) / f64::from(BETTORS) / (1.0 + m);
            let steps = differences
                .iter()
                .map(|d| share * (sign * d.clamp(-1.0, 1.0) - m));
            steps.map(f64::ln_1p).sum::<f64>()
        };
        log_mean((0..BETTORS).map(capital)) >= -error.ln()
    };
    let (mut low, mut high) = (-1.0, mean);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if is_above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(differences: &[f64], margin: f64, expected: Verdict) {
        let found = Comparison::of(differences, 0.01);
        assert_eq!(found.verdict(margin), expected, "{found:?}");
        assert!(found.low <= found.mean && found.mean <= found.high);
    }

    #[test]
    fn a_margin_is_measured_before_it_is_proven() {
        check(&[], 0.05, Verdict::Measured);
        check(&[0.0; 30], 0.05, Verdict::Measured);
        check(&[0.0; 300], 0.05, Verdict::Proven);
        check(&[1.0; 20], 0.05, Verdict::Proven);
        // Twelve of twenty against twenty of twenty.
        let mut lost = vec![0.0; 12];
        lost.extend([-1.0; 8]);
        check(&lost, 0.05, Verdict::Worse);
        // One case of thirty is within the margin, two are not.
        let mut one = vec![0.0; 29];
        one.push(-1.0);
        check(&one, 0.05, Verdict::Measured);
        one.push(-1.0);
        check(&one, 0.05, Verdict::Worse);
    }

    #[test]
    fn the_other_side_mirrors_it() {
        let differences: Vec<f64> = (0..60).map(|at| f64::from(at % 7) / 6.0 - 0.4).collect();
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        let (one, other) = (
            Comparison::of(&differences, 0.01),
            Comparison::of(&turned, 0.01),
        );
        assert!((one.low + other.high).abs() < 1e-9 && (one.mean + other.mean).abs() < 1e-12);
    }
}
