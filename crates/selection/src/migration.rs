//! Migration from one metric to the next: both are computed and logged for a while, and the old one's share goes from
//! 1 to 0 in steps. Every step is published as an event, so steps are few.

use serde_json::{Value, json};

use crate::metric::{Metric, version_number};

/// Number of steps in which the old metric's share decreases, if the window is long enough.
const STEPS: u64 = 10;

/// Running change of the metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    /// Metric before the change.
    pub old: Metric,
    /// Metric after the change.
    pub new: Metric,
    /// Number of contests over which the share moves.
    pub window: u64,
}

/// Reason that a migration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMigration {
    /// The version number does not grow.
    #[error("`{new}` does not follow `{old}`: the number must be higher")]
    Order {
        /// Version of the old metric.
        old: String,
        /// Version of the new metric.
        new: String,
    },
    /// Both metrics are equal.
    #[error("the new metric is the old one under another name")]
    Same,
    /// The name is taken. A name means one metric, also after its change was aborted: the log's lines refer to the
    /// name.
    #[error("`{0}` names another metric already; take the next number")]
    Taken(String),
    /// The window is empty, so nothing would be compared.
    #[error("the mixing window is empty")]
    Window,
}

impl Migration {
    /// Plans a change.
    ///
    /// # Errors
    /// Fails if the versions do not follow each other, nothing changes, or the window is empty.
    pub fn plan(old: &Metric, new: &Metric, window: u64) -> Result<Self, BadMigration> {
        let (before, after) = (
            version_number(&old.metric_version),
            version_number(&new.metric_version),
        );
        if before.is_none() || after <= before {
            return Err(BadMigration::Order {
                old: old.metric_version.clone(),
                new: new.metric_version.clone(),
            });
        }
        let mut renamed = new.clone();
        renamed.metric_version.clone_from(&old.metric_version);
        if renamed == *old {
            return Err(BadMigration::Same);
        }
        if window == 0 {
            return Err(BadMigration::Window);
        }
        Ok(Self {
            old: old.clone(),
            new: new.clone(),
            window,
        })
    }

    /// Returns the old metric's share after `contests` contests.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most ten steps")]
    pub fn alpha(&self, contests: u64) -> f64 {
        let steps = self.window.clamp(1, STEPS);
        let window = u128::from(self.window.max(1));
        let step = u128::from(contests.min(self.window)) * u128::from(steps) / window;
        1.0 - step as f64 / steps as f64
    }

    /// Returns the mixed reward.
    #[must_use]
    pub fn mix(alpha: f64, old: f64, new: f64) -> f64 {
        alpha * old + (1.0 - alpha) * new
    }

    /// Returns the payload of the event for a step.
    #[must_use]
    pub fn event(&self, epoch: u64, alpha: f64) -> Value {
        json!({
            "old_metric": self.old.metric_version, "old_hash": self.old.hash(),
            "new_metric": self.new.metric_version, "new_hash": self.new.hash(),
            "epoch": epoch, "alpha": alpha, "window": self.window,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next() -> Metric {
        let mut metric = Metric::v1();
        metric.metric_version = "metric_v2".to_owned();
        metric.lambda = 0.5;
        metric
    }

    #[test]
    fn the_share_goes_from_one_to_none() {
        let migration = Migration::plan(&Metric::v1(), &next(), 4).unwrap();
        let shares: Vec<f64> = (0..6).map(|contests| migration.alpha(contests)).collect();
        assert_eq!(shares, [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
        let long = Migration::plan(&Metric::v1(), &next(), 200).unwrap();
        let long: Vec<f64> = [0, 19, 20, 199, 200, u64::MAX]
            .map(|n| long.alpha(n))
            .to_vec();
        for (share, expected) in long.iter().zip([1.0, 1.0, 0.9, 0.1, 0.0, 0.0]) {
            assert!((share - expected).abs() < 1e-12, "{long:?}");
        }
        assert!((Migration::mix(0.25, 1.0, 2.0) - 1.75).abs() < 1e-12);
    }

    #[test]
    fn a_change_must_be_one() {
        let mut same = Metric::v1();
        same.metric_version = "metric_v2".to_owned();
        assert_eq!(
            Migration::plan(&Metric::v1(), &same, 1),
            Err(BadMigration::Same)
        );
        assert_eq!(
            Migration::plan(&Metric::v1(), &next(), 0),
            Err(BadMigration::Window)
        );
        let mut unnamed = next();
        unnamed.metric_version = "latest".to_owned();
        assert!(matches!(
            Migration::plan(&Metric::v1(), &unnamed, 1),
            Err(BadMigration::Order { .. })
        ));
        assert!(matches!(
            Migration::plan(&next(), &Metric::v1(), 1),
            Err(BadMigration::Order { .. })
        ));
    }
}
