//! Random draws: for the probes of answers, and for requests to learn from.

use std::fmt;

/// A source of draws. Tests inject a deterministic one.
pub struct Chance(Box<dyn Fn() -> u64 + Send + Sync>);

impl Chance {
    /// Creates a source from a function that returns uniform numbers.
    pub fn new(source: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Box::new(source))
    }

    /// Returns `true` for one of every `every` draws, with equal probability, given that `before` draws of this run
    /// were not taken.
    #[must_use]
    pub fn one_of(&self, every: u64, before: u64) -> bool {
        let left = every.saturating_sub(before).max(1);
        (self.0)().checked_rem(left) == Some(0)
    }

    /// Returns `true` with probability `share`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are a fraction exactly")]
    pub fn share(&self, share: f64) -> bool {
        let fraction = ((self.0)() >> 11) as f64 / (1_u64 << 53) as f64;
        fraction < share
    }
}

impl Default for Chance {
    /// Uses the machine's source. If it fails, the draw is taken, so that no answer escapes its probe.
    fn default() -> Self {
        Self::new(|| getrandom::u64().unwrap_or(0))
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_fall_at_the_set_rate() {
        let chance = Chance::default();
        let draws = 20_000_u32;
        for every in [1_u64, 2, 20] {
            let mut places = vec![0_u32; usize::try_from(every).unwrap()];
            for _ in 0..u64::from(draws) / every {
                let taken = (0..every).find(|before| chance.one_of(every, *before));
                places[usize::try_from(taken.unwrap()).unwrap()] += 1;
            }
            let mean = f64::from(draws) / every.pow(2) as f64;
            // Six standard deviations at most.
            let is_even = |times: &u32| (f64::from(*times) - mean).abs() <= 6.0 * mean.sqrt();
            assert!(places.iter().all(is_even), "{every}: {places:?}");
        }
        // A rate that was lowered meanwhile.
        assert!(chance.one_of(5, 100));
        for share in [0.0, 0.05, 1.0] {
            let taken = (0..draws).filter(|_| chance.share(share)).count();
            assert!((taken as f64 / f64::from(draws) - share).abs() < 0.01);
        }
        assert!(Chance::new(|| 0).share(1e-9) && !Chance::new(|| 0).share(0.0));
        assert!(!Chance::new(|| u64::MAX).share(0.999_999));
    }
}
