//! An always-valid test of agreement: it may be looked at after every probe, for as long as one likes.
//!
//! The claim under test is that the adapter agrees at a rate of at least `1 − tau`. For each of a few lower rates `p` a
//! bettor stakes on disagreement: his capital is multiplied by `p / p0` at an agreement and by `(1 − p) / (1 − p0)` at a
//! disagreement. If the claim is true no bettor gains on average, so by Ville's inequality the average capital ever
//! reaches `1 / error` with probability of at most `error`. That the average depends only on the two counts makes it cheap
//! to keep. (Robbins' mixture method; betting as in Waudby-Smith and Ramdas.)

/// How many rates are bet on; they lie evenly below the claimed one.
const BETTORS: u32 = 32;

/// Natural logarithm of the average capital after these probes. It is the evidence against the claim.
#[must_use]
pub fn log_evidence(agreed: u64, disagreed: u64, tau: f64) -> f64 {
    let claimed = 1.0 - tau;
    if claimed <= 0.0 {
        // A rate below zero cannot be: nothing is ever claimed wrongly.
        return 0.0;
    }
    if tau <= 0.0 && disagreed > 0 {
        // "Always" is disproved by once.
        return f64::INFINITY;
    }
    let (agreed, disagreed) = (count(agreed), count(disagreed));
    let capital = |bettor: u32| {
        let rate = claimed * (f64::from(bettor) + 0.5) / f64::from(BETTORS);
        let lost = agreed * (rate / claimed).ln();
        let won = if disagreed > 0.0 {
            disagreed * ((1.0 - rate) / tau).ln()
        } else {
            0.0
        };
        lost + won
    };
    let capitals = || (0..BETTORS).map(capital);
    let largest = capitals().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = capitals().map(|capital| (capital - largest).exp()).sum();
    largest + (sum / f64::from(BETTORS)).ln()
}

/// Whether the evidence is enough at this error rate.
#[must_use]
pub fn halts(agreed: u64, disagreed: u64, tau: f64, error: f64) -> bool {
    disagreed > 0 && log_evidence(agreed, disagreed, tau) >= -error.ln()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no role has more probes than a float counts exactly"
)]
fn count(number: u64) -> f64 {
    number as f64
}
