//! Quality of a selector on unseen contests: the inputs that the gate would send to a version at the default
//! threshold, the share of acceptable answers among them, and the calibration of the scores.

use serde::{Deserialize, Serialize};
use statistics::ERROR;
use statistics::paired::Comparison;
use statistics::rate::{Rate, rate};

use super::{Example, Selector};

/// Threshold of a version that declares none.
pub const THRESHOLD: f64 = 0.75;

/// Number of bins of the calibration.
const BINS: usize = 10;

/// Result of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Number of held-out contests with at least one labelled version.
    pub contests: u64,
    /// Number of those that a version would answer.
    pub routed: u64,
    /// Number of those with an acceptable answer.
    pub acceptable: u64,
    /// Mean square of the distance between a score and its outcome.
    pub brier: f64,
    /// Distance between the scores of a bin and the share of acceptable answers in it, from 0 to 1.
    pub calibration_error: f64,
}

impl Evaluation {
    /// Returns the rate of contests that a version would answer, with its bounds.
    #[must_use]
    pub fn share(&self) -> Rate {
        rate(self.routed, self.contests)
    }

    /// Returns the rate of acceptable answers among those, with its bounds.
    #[must_use]
    pub fn quality(&self) -> Rate {
        rate(self.acceptable, self.routed)
    }
}

/// Evaluates a selector on held-out contests. It chooses among the versions that took part, as the gate does.
#[must_use]
pub fn evaluate(selector: &Selector, held_out: &[Example]) -> Evaluation {
    let mut found = Evaluation::default();
    let mut bins = [(0.0_f64, 0.0_f64); BINS];
    let (mut squares, mut labels) = (0.0, 0.0);
    for example in held_out {
        let scored = scored(selector, example);
        found.contests += u64::from(!scored.is_empty());
        for (probability, _, label) in &scored {
            squares += (probability - label).powi(2);
            labels += 1.0;
            fill(&mut bins, *probability, *label);
        }
        let over = scored
            .into_iter()
            .filter(|(probability, ..)| *probability >= THRESHOLD);
        if let Some((_, _, label)) =
            over.reduce(|best, next| if next.1 > best.1 { next } else { best })
        {
            found.routed += 1;
            found.acceptable += u64::from(label > 0.5);
        }
    }
    let off: f64 = bins
        .iter()
        .map(|(scores, labels)| (scores - labels).abs())
        .sum();
    found.brier = squares / f64::max(labels, 1.0);
    found.calibration_error = off / f64::max(labels, 1.0);
    found
}

/// Returns both mean squares if a new selector scores worse than the present one on the same contests, beyond chance.
#[must_use]
pub fn worse(new: &Selector, present: &Selector, held_out: &[Example]) -> Option<(f64, f64)> {
    let (mut gains, mut before, mut after) = (Vec::new(), 0.0, 0.0);
    for example in held_out {
        let (was, is) = (
            present.judge(&example.features),
            new.judge(&example.features),
        );
        for (version, outcome) in &example.outcomes {
            let Some(label) = outcome.acceptable else {
                continue;
            };
            let label = f64::from(u8::from(label));
            // A version that is unknown is not routed to, as if its score were 0.
            let off = |score: Option<super::Score>| {
                (score.map_or(0.0, |score| score.probability) - label).powi(2)
            };
            let (was, is) = (off(was.score(version)), off(is.score(version)));
            before += was;
            after += is;
            gains.push(was - is);
        }
    }
    // The check runs after every training, so the bound holds at any number of checks.
    let found = Comparison::of(&gains, ERROR);
    #[expect(clippy::cast_precision_loss, reason = "a count of answers")]
    let n = found.n as f64;
    (found.high < 0.0).then(|| (after / n, before / n))
}

/// Returns probability, expected reward and label of each version that took part, is known to the selector and has a
/// label.
fn scored(selector: &Selector, example: &Example) -> Vec<(f64, f64, f64)> {
    let judged = selector.judge(&example.features);
    let familiar = judged.is_familiar();
    let outcomes = example.outcomes.iter();
    let one = outcomes.filter_map(|(version, outcome)| {
        let score = judged.score(version)?;
        let probability = if familiar { score.probability } else { 0.0 };
        Some((
            probability,
            score.reward,
            f64::from(u8::from(outcome.acceptable?)),
        ))
    });
    one.collect()
}

fn fill(bins: &mut [(f64, f64); BINS], score: f64, label: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a score from 0 to 1 picks one of ten bins"
    )]
    let at = ((score * BINS as f64) as usize).min(BINS - 1);
    if let Some((scores, labels)) = bins.get_mut(at) {
        *scores += score;
        *labels += label;
    }
}
