//! From a raw score to a probability: two levels and a smooth step between them.
//!
//! A specialist is right nearly always at home and sometimes elsewhere, so the share of acceptable answers has a
//! floor and a ceiling, and Platt's sigmoid, which runs from 0 to 1, would place the step wrongly. Floor, ceiling and
//! step are fitted together by expectation maximisation. If the examples do not show two levels, both are the base
//! rate.

use serde::{Deserialize, Serialize};

/// Number of rounds of the fit.
const ROUNDS: usize = 60;
/// Prior spread of the slope, in standard deviations of the raw scores.
const SLOPE: f64 = 4.0;
/// Prior spread of the step's place.
const PLACE: f64 = 5.0;
/// Prior number of examples of floor and ceiling.
const BEFOREHAND: f64 = 2.0;
/// Parameters that two levels and a step have beyond one level.
const PARAMETERS: f64 = 3.0;

/// `low + (high − low) · sigmoid(slope · raw + place)`, which never falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    low: f64,
    high: f64,
    slope: f64,
    place: f64,
}

impl Calibration {
    /// Returns `true` if it gives probabilities and never falls.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let levels = 0.0 <= self.low && self.low <= self.high && self.high <= 1.0;
        levels && self.slope >= 0.0 && self.slope.is_finite() && self.place.is_finite()
    }

    /// Returns the highest probability.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.high
    }

    /// Returns the probability of a raw score.
    #[must_use]
    pub fn at(&self, raw: f64) -> f64 {
        let step = sigmoid(self.slope * raw + self.place);
        self.low + (self.high - self.low) * step
    }

    /// Fits the calibration to raw scores of examples that the raw scores were not learned from.
    #[must_use]
    pub fn fit(examples: &[(f64, bool)]) -> Self {
        let n = count(examples.len());
        let positive = count(examples.iter().filter(|(_, is)| *is).count());
        let base = (positive + 1.0) / (n + 2.0);
        let mean = examples.iter().map(|(raw, _)| raw).sum::<f64>() / n.max(1.0);
        let spread = examples.iter().map(|(raw, _)| (raw - mean).powi(2));
        let deviation = (spread.sum::<f64>() / n.max(1.0)).sqrt().max(1e-9);
        let scaled: Vec<(f64, bool)> = examples
            .iter()
            .map(|(raw, is)| ((raw - mean) / deviation, *is))
            .collect();
        let mut fit = Fit::start(base);
        for _ in 0..ROUNDS {
            fit.round(&scaled, base);
        }
        // Trust in two levels grows with the gain over one level, less the gain that more parameters have anyway.
        let gain: f64 = scaled.iter().map(|one| fit.gain(*one, base)).sum();
        let trust = sigmoid(gain - 0.5 * PARAMETERS * (n + 1.0).ln());
        let pulled = |level: f64| base + trust * (level - base);
        let (low, high) = (pulled(fit.low), pulled(fit.high));
        Self {
            low: low.min(high),
            high,
            slope: fit.slope / deviation,
            place: fit.place - fit.slope * mean / deviation,
        }
    }
}

/// Fit in progress, on scores with mean 0 and deviation 1.
struct Fit {
    low: f64,
    high: f64,
    slope: f64,
    place: f64,
}

impl Fit {
    fn start(base: f64) -> Self {
        let (low, high) = (0.3 * base, 1.0 - 0.1 * (1.0 - base));
        Self {
            low,
            high,
            slope: 2.0,
            place: ((base - low) / (high - base)).ln(),
        }
    }

    /// Runs one round: computes the probability of each example to lie on the upper level, then the levels and the
    /// step that fit this best.
    fn round(&mut self, examples: &[(f64, bool)], base: f64) {
        let above: Vec<f64> = examples.iter().map(|one| self.above(*one)).collect();
        let (mut upper, mut upper_right, mut lower, mut lower_right) = (0.0, 0.0, 0.0, 0.0);
        for ((_, is), above) in examples.iter().zip(&above) {
            let right = f64::from(u8::from(*is));
            upper += above;
            upper_right += above * right;
            lower += 1.0 - above;
            lower_right += (1.0 - above) * right;
        }
        let expected = 1.0 - 0.1 * (1.0 - base);
        self.high = (upper_right + BEFOREHAND * expected) / (upper + BEFOREHAND);
        self.low = (lower_right + BEFOREHAND * 0.5 * base) / (lower + BEFOREHAND);
        for _ in 0..3 {
            self.newton(examples, &above);
        }
    }

    /// Returns the logarithm of an example's likelihood ratio to the base rate.
    fn gain(&self, (raw, is): (f64, bool), base: f64) -> f64 {
        let step = sigmoid(self.slope * raw + self.place);
        let right = self.low + (self.high - self.low) * step;
        let of = |right: f64| if is { right } else { 1.0 - right };
        (of(right).max(1e-9) / of(base)).ln()
    }

    fn above(&self, (raw, is): (f64, bool)) -> f64 {
        let step = sigmoid(self.slope * raw + self.place);
        let (high, low) = if is {
            (self.high, self.low)
        } else {
            (1.0 - self.high, 1.0 - self.low)
        };
        let (upper, lower) = (step * high, (1.0 - step) * low);
        upper / (upper + lower).max(1e-12)
    }

    /// Takes one step of Newton's method for slope and place.
    fn newton(&mut self, examples: &[(f64, bool)], above: &[f64]) {
        let (slope_pull, place_pull) = (1.0 / (SLOPE * SLOPE), 1.0 / (PLACE * PLACE));
        let (mut slope_by, mut place_by) = (self.slope * slope_pull, self.place * place_pull);
        let (mut aa, mut ab, mut bb) = (slope_pull, 0.0, place_pull);
        for ((raw, _), above) in examples.iter().zip(above) {
            let step = sigmoid(self.slope * raw + self.place);
            let error = step - above;
            slope_by += error * raw;
            place_by += error;
            let weight = (step * (1.0 - step)).max(1e-6);
            aa += weight * raw * raw;
            ab += weight * raw;
            bb += weight;
        }
        let determinant = aa * bb - ab * ab;
        let slope = self.slope - (bb * slope_by - ab * place_by) / determinant;
        let place = self.place - (aa * place_by - ab * slope_by) / determinant;
        if slope.is_finite() && place.is_finite() {
            self.slope = slope.max(0.0);
            self.place = place.clamp(-30.0, 30.0);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of examples")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Returns a number from 0 to 1, one half at 0.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns examples at home and away, with a share of right ones in each, evenly spread.
    fn examples(n: usize, home: f64, away: f64) -> Vec<(f64, bool)> {
        let side = |at: usize, share: f64| {
            let place = count(at) * 0.618_034;
            place - place.floor() < share
        };
        (0..n)
            .map(|at| {
                let jitter = count(at % 7) / 7.0 - 0.5;
                match at % 4 {
                    0 => (3.0 + jitter, side(at, home)),
                    _ => (-1.0 + jitter, side(at, away)),
                }
            })
            .collect()
    }

    #[test]
    fn it_finds_both_levels() {
        for (home, away) in [(0.97, 0.3), (0.95, 0.05), (1.0, 0.6)] {
            let fit = Calibration::fit(&examples(400, home, away));
            assert!((fit.at(3.0) - home).abs() < 0.05, "{fit:?}");
            assert!((fit.at(-1.0) - away).abs() < 0.06, "{fit:?}");
        }
    }

    #[test]
    fn without_a_difference_it_is_the_base_rate() {
        for share in [0.0, 0.5, 0.95, 1.0] {
            let fit = Calibration::fit(&examples(400, share, share));
            for raw in [-1.5, 0.0, 3.5] {
                assert!(
                    (fit.at(raw) - share).abs() < 0.06,
                    "{share}: {}",
                    fit.at(raw)
                );
            }
        }
    }

    #[test]
    fn little_data_stays_near_the_base_rate() {
        let few = [(3.0, true), (3.1, true), (-1.0, false), (-1.1, false)];
        let fit = Calibration::fit(&few);
        assert!(fit.at(3.0) < 0.75 && fit.at(-1.0) > 0.25, "{fit:?}");
        let none = Calibration::fit(&[]);
        assert!((none.at(0.0) - 0.5).abs() < 0.1, "{none:?}");
        let chance = examples(40, 0.5, 0.5);
        assert!(Calibration::fit(&chance).at(3.5) < 0.75);
        let good: Vec<(f64, bool)> = (0..10).map(|at| (count(at), true)).collect();
        assert!(Calibration::fit(&good).at(0.0) > 0.8);
    }

    proptest! {
        #[test]
        fn it_never_falls_and_is_a_probability(
            examples in proptest::collection::vec((-1e3..1e3f64, any::<bool>()), 0..80),
            raw in -1e6..1e6f64,
            more in 0.0..1e6f64,
        ) {
            let fit = Calibration::fit(&examples);
            prop_assert!(fit.is_sound(), "{fit:?}");
            prop_assert!(fit.at(raw) <= fit.at(raw + more) + 1e-12);
            prop_assert!((0.0..=1.0).contains(&fit.at(raw)));
        }
    }
}
