//! Random draws: which answers are probed, and which requests are learned from.

use std::fmt;

/// A source of draws. Tests inject one that they know.
pub struct Chance(Box<dyn Fn() -> u64 + Send + Sync>);

impl Chance {
    /// Draws from `source`, each draw uniform over all numbers.
    pub fn new(source: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Box::new(source))
    }

    /// Returns `true` once in so many draws on average, when `since` draws were made since it last did.
    ///
    /// Each distance from 1 to twice `every` less 1 is as likely. So the share of a few hundred draws varies little, and
    /// no run of draws without one is long.
    #[must_use]
    pub fn about_one_in(&self, every: u64, since: u64) -> bool {
        let most = every.saturating_mul(2).saturating_sub(1);
        let left = most.saturating_sub(since).max(1);
        (self.0)().checked_rem(left) == Some(0)
    }

    /// Returns `true` in this share of the draws.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are a fraction exactly")]
    pub fn share(&self, share: f64) -> bool {
        let fraction = ((self.0)() >> 11) as f64 / (1_u64 << 53) as f64;
        fraction < share
    }
}

impl Default for Chance {
    /// The machine's own source. Where it fails, the draw is taken, so that nothing escapes a probe by it.
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
        for every in [1, 2, 20] {
            let mut distances = vec![0_u32; 2 * every];
            let mut since = 0;
            for _ in 0..draws {
                let taken = chance.about_one_in(every as u64, since as u64);
                since += 1;
                if taken {
                    distances[since] += 1;
                    since = 0;
                }
            }
            let taken: u32 = distances.iter().sum();
            let rate = f64::from(taken) * every as f64 / f64::from(draws);
            // Five standard deviations at most.
            assert!((rate - 1.0).abs() < 0.1, "{every}: {rate}");
            assert!(
                distances[1..].iter().all(|times| *times > 0),
                "{every}: {distances:?}"
            );
        }
        // A rate that was lowered meanwhile.
        assert!(chance.about_one_in(5, 100));
        for share in [0.0, 0.05, 1.0] {
            let taken = (0..draws).filter(|_| chance.share(share)).count();
            assert!((taken as f64 / f64::from(draws) - share).abs() < 0.01);
        }
        assert!(Chance::new(|| 0).share(1e-9) && !Chance::new(|| 0).share(0.0));
        assert!(!Chance::new(|| u64::MAX).share(0.999_999));
    }
}
