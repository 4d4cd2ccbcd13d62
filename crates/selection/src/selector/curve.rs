//! Effect of a threshold: the share of inputs that versions would answer, the share of acceptable answers, and the
//! cost against the general model alone. Scores were not learned from the contest they belong to.

use super::{Example, Outcome, Selector};

/// Number of steps between the thresholds 0 and 1.
const STEPS: u32 = 20;

/// Point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub threshold: f64,
    /// Share of inputs that a version answers.
    pub share: f64,
    /// Share of acceptable answers, the general model's included.
    pub quality: f64,
    /// Price relative to the general model alone, which is 1; `None` if no contest has both prices.
    pub cost: Option<f64>,
}

/// Goal for a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Not worse than the general model alone.
    AsGeneral,
    /// At least this share of acceptable answers.
    Quality(f64),
    /// At most this cost against the general model alone.
    Cost(f64),
}

/// Returns the curve over all contests in which one of these versions took part, from the lowest threshold to the
/// highest. Empty if there is none.
#[must_use]
pub fn curve(examples: &[Example], serving: &[&str]) -> Vec<Point> {
    let tried = Selector::try_out(examples);
    let trial = |(at, example): (usize, &Example)| {
        let scored = |version: &&str| {
            let outcome = *example.outcomes.get(*version)?;
            outcome.acceptable?;
            let score = tried.score(version, at);
            Some((
                score.map(|score| (score.probability, score.reward)),
                outcome,
            ))
        };
        let versions: Vec<_> = serving.iter().filter_map(scored).collect();
        (tried.is_tried(at) && !versions.is_empty()).then_some(Trial {
            versions,
            general: example.general,
        })
    };
    let trials: Vec<Trial> = examples.iter().enumerate().filter_map(trial).collect();
    if trials.is_empty() {
        return Vec::new();
    }
    let point = |step: u32| point(&trials, f64::from(step) / f64::from(STEPS));
    (0..=STEPS).map(point).collect()
}

/// Returns the point of a curve that meets the goal: the lowest with the quality, or the highest within the cost.
#[must_use]
pub fn propose(curve: &[Point], wanted: Wanted) -> Option<Point> {
    let least = |quality: f64| {
        curve
            .iter()
            .copied()
            .find(|point| point.quality >= quality - 1e-12)
    };
    match wanted {
        Wanted::AsGeneral => least(curve.last()?.quality),
        Wanted::Quality(quality) => least(quality),
        Wanted::Cost(most) => {
            let within = |point: &Point| point.cost.is_some_and(|cost| cost <= most);
            curve.iter().copied().rev().find(within)
        }
    }
}

/// One contest: each version's probability and expected reward, if it has them, with the outcome of its answer.
struct Trial {
    versions: Vec<(Option<(f64, f64)>, Outcome)>,
    general: Option<Outcome>,
}

impl Trial {
    /// Returns the served answer: that of the version with the highest expected reward among those over the
    /// threshold.
    fn served(&self, threshold: f64) -> Option<Outcome> {
        let over = self.versions.iter().filter_map(|(score, outcome)| {
            let (probability, reward) = (*score)?;
            // No score is over a threshold of 1, so that the curve ends at the general model.
            (probability >= threshold && threshold < 1.0).then_some((reward, *outcome))
        });
        let best = over.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, outcome)| outcome)
    }

    /// Returns the cost of the served answer and of the general model's in dollars. A contest counts at every
    /// threshold or at none: if one of its prices is unknown, a ratio would compare other contests with each other.
    fn prices(&self, served: Option<Outcome>) -> Option<(f64, f64)> {
        let mut own = self.versions.iter().map(|(_, outcome)| outcome.price_usd);
        let general = self.general?.price_usd?;
        if own.any(|price| price.is_none()) {
            return None;
        }
        Some((served.map_or(Some(general), |one| one.price_usd)?, general))
    }
}

fn point(trials: &[Trial], threshold: f64) -> Point {
    let (mut routed, mut good, mut spent, mut usual) = (0.0, 0.0, 0.0, 0.0);
    for trial in trials {
        let served = trial.served(threshold);
        routed += f64::from(u8::from(served.is_some()));
        // The general model is the reference, unless a right answer is known.
        let general = trial.general.and_then(|general| general.acceptable);
        let acceptable = served.map_or(general.unwrap_or(true), |one| one.acceptable == Some(true));
        good += f64::from(u8::from(acceptable));
        if let Some((own, other)) = trial.prices(served) {
            spent += own;
            usual += other;
        }
    }
    let n = super::number(trials.len());
    Point {
        threshold,
        share: routed / n,
        quality: good / n,
        cost: (usual > 0.0).then(|| spent / usual),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn a_threshold_trades_share_and_cost_for_quality() {
        let examples: Vec<Example> = (0..300).map(example).collect();
        let curve = curve(&examples, &["music", "numbers"]);
        let (first, last) = (curve[0], curve[STEPS as usize]);
        assert!((first.share, last.share) == (1.0, 0.0), "{curve:?}");
        assert!((last.quality, last.cost) == (1.0, Some(1.0)), "{curve:?}");
        assert!(
            first.quality < 0.9 && first.cost.unwrap() < 0.2,
            "{first:?}"
        );
        assert!(curve.is_sorted_by(|one, other| one.share >= other.share));
        let as_good = propose(&curve, Wanted::AsGeneral).unwrap();
        assert!((as_good.share - 2.0 / 3.0).abs() < 0.05, "{as_good:?}");
        let cheap = propose(&curve, Wanted::Cost(0.5)).unwrap();
        assert!(
            cheap.cost.unwrap() <= 0.5 && cheap.quality > 0.95,
            "{cheap:?}"
        );
        assert_eq!(propose(&curve, Wanted::Quality(0.0)), Some(first));
        assert_eq!(propose(&curve, Wanted::Cost(0.01)), None);
    }

    #[test]
    fn nothing_known_is_no_curve() {
        assert_eq!(curve(&[], &["music"]), []);
        let examples: Vec<Example> = (0..50).map(example).collect();
        assert_eq!(curve(&examples, &["stranger"]), []);
    }
}
