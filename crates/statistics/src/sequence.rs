//! Always-valid tests of a rate: they may be evaluated after every observation, any number of times.
//!
//! The claim under test is that the rate is at least `claimed`. For each of a few lower rates `p` a bettor stakes on
//! a miss: its capital is multiplied by `p / claimed` at a hit and by `(1 − p) / (1 − claimed)` at a miss. If the
//! claim is true no bettor gains on average, so by Ville's inequality the average capital ever reaches `1 / error`
//! with probability of at most `error`. The average depends only on the two counts. (Robbins' mixture method; betting
//! as in Waudby-Smith and Ramdas.)

/// Number of rates that are bet on, evenly spread below the claimed one.
const BETTORS: u32 = 32;

/// Number of bisection steps; the last is below 1e-9.
const STEPS: usize = 30;

/// Returns the evidence that the rate is below `claimed`: the natural logarithm of the average capital.
#[must_use]
pub fn evidence_below(hits: u64, misses: u64, claimed: f64) -> f64 {
    if claimed <= 0.0 {
        // No rate is below zero.
        return 0.0;
    }
    let missing = 1.0 - claimed;
    if missing <= 0.0 {
        // "Always" is disproved by one miss, and by nothing else.
        return if misses > 0 { f64::INFINITY } else { 0.0 };
    }
    let (hits, misses) = (count(hits), count(misses));
    let capital = |bettor: u32| {
        let rate = claimed * (f64::from(bettor) + 0.5) / f64::from(BETTORS);
        hits * (rate / claimed).ln() + misses * ((1.0 - rate) / missing).ln()
    };
    log_mean((0..BETTORS).map(capital))
}

/// Returns the evidence that the rate is below `claimed`, from the beginning or from some later observation on:
/// `recent` are the last of all, oldest first.
///
/// A version that was good for a long time and no longer is would hide behind its history. So half of the stake is
/// bet from the beginning, and half is spread over all later beginnings, with shares that add up to at most 1. Each
/// part is a fair bet of its own if the claim is true, so their sum is one too; a part whose beginning is no longer
/// among `recent` is dropped.
#[must_use]
pub fn evidence_of_fall(recent: &[bool], hits: u64, n: u64, claimed: f64) -> f64 {
    let whole = evidence_below(hits, n.saturating_sub(hits), claimed);
    if claimed <= 0.0 || claimed >= 1.0 {
        return whole;
    }
    let missing = 1.0 - claimed;
    let later = |bettor: u32| {
        let rate = claimed * (f64::from(bettor) + 0.5) / f64::from(BETTORS);
        let (hit, miss) = (rate / claimed, (1.0 - rate) / missing);
        let (mut capital, mut sum, mut begins) = (1.0, 0.0, n);
        for is_hit in recent.iter().rev() {
            begins = begins.saturating_sub(1);
            if begins == 0 {
                break;
            }
            capital *= if *is_hit { hit } else { miss };
            sum += share(begins) * capital;
        }
        sum
    };
    let later = (0..BETTORS).map(later).sum::<f64>() / f64::from(BETTORS);
    // Both halves, each as a logarithm.
    log_mean([whole, later.ln()].into_iter())
}

/// Returns the part of the stake that is bet from this observation on, counted from 1. All of them add up to 0.992.
fn share(begins: u64) -> f64 {
    let next = count(begins) + 1.0;
    0.47 / (next * next.ln().powi(2))
}

/// Returns the evidence that the rate is above `claimed`.
#[must_use]
pub fn evidence_above(hits: u64, misses: u64, claimed: f64) -> f64 {
    evidence_below(misses, hits, 1.0 - claimed)
}

/// Returns `true` if the rate is below `claimed`, with this chance of ever being wrong.
#[must_use]
pub fn is_below(hits: u64, n: u64, claimed: f64, error: f64) -> bool {
    evidence_below(hits, n.saturating_sub(hits), claimed) >= -error.ln()
}

/// Returns `true` if the rate is above `claimed`, with this chance of ever being wrong.
#[must_use]
pub fn is_above(hits: u64, n: u64, claimed: f64, error: f64) -> bool {
    evidence_above(hits, n.saturating_sub(hits), claimed) >= -error.ln()
}

/// Returns bounds of the rate, each of which is ever wrong with a chance of at most `error`.
#[must_use]
pub fn bounds(hits: u64, n: u64, error: f64) -> (f64, f64) {
    let low = lower(hits, n, error);
    let high = 1.0 - lower(n.saturating_sub(hits), n, error);
    (low, high)
}

/// Returns the largest rate that the true one is above.
fn lower(hits: u64, n: u64, error: f64) -> f64 {
    let (mut low, mut high) = (0.0, count(hits.min(n)) / count(n.max(1)));
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if is_above(hits, n, middle, error) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the logarithm of the mean of numbers that are given by their logarithms.
pub(crate) fn log_mean(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    let (sum, n) = logs.fold((0.0, 0.0), |(sum, n), log| {
        (sum + (log - largest).exp(), n + 1.0)
    });
    largest + (sum / n).ln()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no log has more lines than a float counts exactly"
)]
fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_agrees_with_the_sum_over_bettors() {
        let claimed: f64 = 0.85;
        let sum: f64 = (0..32)
            .map(|bettor| {
                let rate = claimed * (f64::from(bettor) + 0.5) / 32.0;
                (rate / claimed).powi(3) * ((1.0 - rate) / (1.0 - claimed)).powi(4)
            })
            .sum();
        assert!((evidence_below(3, 4, claimed) - (sum / 32.0).ln()).abs() < 1e-9);
    }

    #[test]
    fn the_ends_of_the_scale_decide_at_once_or_never() {
        assert!(is_below(5, 6, 1.0, 0.01), "always is disproved by one miss");
        assert!(!is_below(9, 9, 1.0, 0.01));
        assert!(!is_below(0, 1_000, 0.0, 0.01), "no rate is below zero");
        assert!(!is_above(1_000, 1_000, 1.0, 0.01));
        assert!(is_above(1, 9, 0.0, 0.01));
        assert!(!is_below(0, 0, 0.85, 0.01) && !is_above(0, 0, 0.85, 0.01));
        assert!(!is_above(u64::MAX, u64::MAX, 1.0, 0.01));
    }

    #[test]
    fn a_fall_after_a_long_good_history_is_found_soon() {
        // A thousand hits, then only misses: by the counts alone it takes hundreds.
        let halts = |misses: u64| {
            let recent: Vec<bool> = (0..50).map(|at| at + misses < 50).collect();
            evidence_of_fall(&recent, 1000, 1000 + misses, 0.85) >= -0.01_f64.ln()
        };
        let soon = (0..50).find(|misses| halts(*misses));
        assert!(
            soon.is_some_and(|misses| (9..=14).contains(&misses)),
            "{soon:?}"
        );
        let counts = |misses: u64| is_below(1000, 1000 + misses, 0.85, 0.01);
        let late = (0..).find(|misses| counts(*misses));
        assert!(late > Some(200), "{late:?}");
        // Without a history both give the same.
        assert!((evidence_of_fall(&[false; 4], 0, 4, 0.85).exp() > 100.0) && halts(50));
        assert!(evidence_of_fall(&[false; 3], 0, 3, 0.85).exp() < 100.0);
        for claimed in [0.0, 1.0] {
            let found = evidence_of_fall(&[true, false], 1, 2, claimed);
            assert!((found - evidence_below(1, 1, claimed)).abs() < 1e-9 || found.is_infinite());
        }
    }

    #[test]
    fn shares_of_the_stake_add_up_to_less_than_one() {
        let sum: f64 = (1..2_000_000).map(share).sum();
        // The rest beyond n is about 0.47 / ln n.
        let rest = 0.47 / 2_000_000_f64.ln();
        assert!(sum + rest < 1.0 && sum + rest > 0.98, "{}", sum + rest);
    }

    #[test]
    fn bounds_enclose_the_rate_and_tighten() {
        assert_eq!(bounds(0, 0, 0.01), (0.0, 1.0));
        let mut width = 1.0;
        for n in [10, 100, 1_000, 10_000] {
            let (low, high) = bounds(n * 9 / 10, n, 0.01);
            assert!(low < 0.9 && 0.9 < high && high - low < width, "{n}");
            width = high - low;
        }
        assert!(width < 0.03, "{width}");
    }
}
