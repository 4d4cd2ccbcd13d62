//! A line of the log, reduced to the fields that sums need. It borrows from the line, so that a million lines are
//! summed in a second or two.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::MAX_LINE;

/// Fields that are summed. A line that lacks a published field is invalid, as for [`super::Record`].
#[derive(Debug, Deserialize)]
pub struct Brief<'a> {
    #[serde(borrow)]
    pub model_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub role: Option<Cow<'a, str>>,
    /// Reward under the metric.
    pub reward: f64,
    pub cost: f64,
    /// Penalty for a refusal.
    pub refusal_penalty: f64,
    #[serde(borrow)]
    verifier_result: Cow<'a, str>,
    #[serde(borrow, default)]
    winner_model_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    winner_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    version: Option<Cow<'a, str>>,
    #[serde(rename = "timestamp")]
    _timestamp: IgnoredAny,
    #[serde(rename = "prompt_hash")]
    _prompt_hash: IgnoredAny,
    #[serde(rename = "metric_version")]
    _metric_version: IgnoredAny,
    #[serde(rename = "q0")]
    _q0: IgnoredAny,
}

impl<'a> Brief<'a> {
    /// Parses a line.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        (line.len() <= MAX_LINE)
            .then(|| serde_json::from_slice(line).ok())
            .flatten()
    }

    /// Returns `true` if the verifier passed the output.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verifier_result == "PASS"
    }

    /// Returns `true` if the execution won its contest.
    #[must_use]
    pub fn won(&self) -> bool {
        let named = self.winner_version.as_ref();
        self.passed()
            && self.winner_model_id.as_ref() == Some(&self.model_id)
            && named.is_none_or(|winner| self.version.as_ref() == Some(winner))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{More, Record};
    use super::*;

    #[test]
    fn a_brief_line_says_what_the_whole_one_does() {
        let record = |passed: bool, winner: Option<&str>, version: &str| Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "ab".repeat(32),
            model_id: "é\"m".to_owned(),
            metric_version: "metric_v1".to_owned(),
            verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
            q0: u8::from(passed),
            q1: None,
            cost: 0.25,
            refusal_penalty: 0.5,
            reward: 0.425,
            winner_model_id: winner.map(str::to_owned),
            more: More {
                role: Some("writer".to_owned()),
                version: Some("1".to_owned()),
                winner_version: winner.map(|_| version.to_owned()),
                ..More::default()
            },
        };
        for one in [
            record(true, Some("é\"m"), "1"),
            record(true, Some("é\"m"), "2"),
            record(true, Some("other"), "1"),
            record(false, None, "1"),
        ] {
            let line = one.to_line();
            let brief = Brief::parse(line.as_bytes()).unwrap();
            assert_eq!(brief.model_id, one.model_id);
            assert_eq!(brief.role.as_deref(), one.more.role.as_deref());
            assert_eq!((brief.passed(), brief.won()), (one.passed(), one.won()));
            for key in ["timestamp", "prompt_hash", "q0", "cost", "model_id"] {
                let without = line.replace(&format!("\"{key}\":"), "\"x\":");
                assert!(Brief::parse(without.as_bytes()).is_none(), "{key}");
            }
        }
    }
}
