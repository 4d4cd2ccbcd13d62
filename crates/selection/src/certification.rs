//! How far the evidence carries a version: L1 by an exam, L2 by the log and the supply chain, L3 by agreement in the field.
//!
//! Each condition is a number against a number. A level needs all conditions of the levels below it as well.

use crate::audit::record::{AuditRecord, passes};
use crate::promotion::{Condition, PASS_PERCENT, Windows};
use crate::statistics::{Rate, rate};

/// What is known of a version.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// Its newest exam.
    pub audit: Option<&'a AuditRecord>,
    /// Its last runs and contests under the present metric.
    pub windows: &'a Windows,
    /// Whether its manifest and weights are what they were; why not.
    pub supply_chain: Result<(), String>,
    /// What the shadow probes say.
    pub shadow: Shadow,
}

/// Shadow probes of a version since it became active.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shadow {
    /// Probes that count: the last ones, at most as many as are needed.
    pub probes: u64,
    /// Those of them that agreed.
    pub agreed: u64,
    /// How many are needed.
    pub needed: u64,
    /// The share of disagreement that is tolerated.
    pub tau: f64,
    /// Whether the role is halted.
    pub halted: bool,
}

/// One condition with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The level that needs it.
    pub level: u8,
    /// What it is about.
    pub name: &'static str,
    /// Whether it holds.
    pub met: bool,
    /// The numbers, in words.
    pub said: String,
    /// The rate, where it is one.
    pub rate: Option<Rate>,
}

/// What the evidence comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Every condition, by level.
    pub checks: Vec<Check>,
    /// The level that is earned, 0 to 3.
    pub earned: u8,
}

impl Assessment {
    /// The conditions that keep it from a level.
    pub fn missing(&self, level: u8) -> impl Iterator<Item = &Check> {
        self.checks
            .iter()
            .filter(move |check| check.level <= level && !check.met)
    }
}

/// Weighs the evidence.
#[must_use]
pub fn assess(evidence: &Evidence<'_>) -> Assessment {
    let mut checks = exam(evidence.audit);
    checks.extend(evidence.windows.conditions().iter().map(window));
    checks.push(supply_chain(&evidence.supply_chain));
    checks.push(shadow(&evidence.shadow));
    let holds = |level: u8| checks.iter().all(|check| check.level > level || check.met);
    let earned = (1..=3).rev().find(|level| holds(*level)).unwrap_or(0);
    Assessment { checks, earned }
}

fn percent(rate: Rate) -> String {
    format!(
        "{} of {}, {:.1} % ({:.1}–{:.1})",
        rate.hits,
        rate.n,
        100.0 * rate.value,
        100.0 * rate.low,
        100.0 * rate.high
    )
}

fn exam(audit: Option<&AuditRecord>) -> Vec<Check> {
    let passed = match audit {
        None => Check {
            level: 1,
            name: "audit pass rate",
            met: false,
            said: "no audit was run".to_owned(),
            rate: None,
        },
        Some(record) => Check {
            level: 1,
            name: "audit pass rate",
            met: passes(record.rate()),
            said: format!("{}; {PASS_PERCENT} % are needed", percent(record.rate())),
            rate: Some(record.rate()),
        },
    };
    let baseline = audit.and_then(|record| record.baseline.as_ref());
    let (met, said) = match baseline {
        None => (audit.is_some(), "no baseline to compare with".to_owned()),
        Some(baseline) => (
            baseline.regressions.is_empty() && baseline.lost_reward <= 1e-12,
            format!(
                "{} cases failed that `{}` passed, mean reward {:+.4}",
                baseline.regressions.len(),
                baseline.version,
                -baseline.lost_reward
            ),
        ),
    };
    let regressions = Check {
        level: 1,
        name: "audit regressions",
        met,
        said,
        rate: None,
    };
    vec![passed, regressions]
}

fn window(condition: &Condition) -> Check {
    let seen = percent(condition.rate);
    Check {
        level: 2,
        name: condition.name,
        met: condition.met(),
        said: format!(
            "{seen}; {} % of the last {} are needed",
            condition.percent, condition.window
        ),
        rate: Some(condition.rate),
    }
}

fn supply_chain(found: &Result<(), String>) -> Check {
    Check {
        level: 2,
        name: "supply chain",
        met: found.is_ok(),
        said: match found {
            Ok(()) => "manifest complete, hashes match".to_owned(),
            Err(why) => why.clone(),
        },
        rate: None,
    }
}

fn shadow(shadow: &Shadow) -> Check {
    let found = rate(shadow.agreed, shadow.probes);
    let enough = shadow.probes >= shadow.needed.max(1);
    let agrees = found.value >= 1.0 - shadow.tau - 1e-12;
    let halted = if shadow.halted {
        "; the role is halted"
    } else {
        ""
    };
    Check {
        level: 3,
        name: "shadow agreement",
        met: enough && agrees && !shadow.halted,
        said: format!(
            "{}; {:.0} % of the last {} probes are needed{halted}",
            percent(found),
            100.0 * (1.0 - shadow.tau),
            shadow.needed
        ),
        rate: Some(found),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::audit::record::Baseline;
    use crate::run_log::{More, Record};

    fn audit(passed: u64, regressions: Vec<usize>) -> AuditRecord {
        let found = rate(passed, 20);
        AuditRecord {
            format: "roleos-audit/v1".to_owned(),
            role: "editor".to_owned(),
            version: "v2".to_owned(),
            model_id: "a".to_owned(),
            exam_hash: "e".to_owned(),
            audit_id: "s".to_owned(),
            audit_version: "v1".to_owned(),
            metric_version: "metric_v1".to_owned(),
            metric_hash: String::new(),
            finished_at: String::new(),
            cases: 20,
            passed,
            pass_rate: found.value,
            pass_low: found.low,
            pass_high: found.high,
            mean_reward: 1.0,
            baseline: Some(Baseline {
                version: "v1".to_owned(),
                regressions,
                lost_reward: 0.0,
            }),
            ok: true,
            scores: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    fn log(wins: usize) -> Vec<Record> {
        let line = |run: usize| Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "ab".repeat(32),
            model_id: "a".to_owned(),
            metric_version: "metric_v1".to_owned(),
            verifier_result: "PASS".to_owned(),
            q0: 1,
            q1: None,
            cost: 0.0,
            refusal_penalty: 0.0,
            reward: 1.0,
            winner_model_id: Some(if run < wins { "a" } else { "b" }.to_owned()),
            more: More {
                run_id: Some(format!("r{run}")),
                mode: Some("learn".to_owned()),
                ..More::default()
            },
        };
        (0..1000).map(line).collect()
    }

    const AGREED: Shadow = Shadow {
        probes: 50,
        agreed: 43,
        needed: 50,
        tau: 0.15,
        halted: false,
    };

    #[track_caller]
    fn check(
        audit: Option<&AuditRecord>,
        wins: usize,
        supply_chain: Result<(), String>,
        shadow: Shadow,
        expected: u8,
    ) {
        let log = log(wins);
        let mut windows = Windows::default();
        log.iter().for_each(|record| windows.add(record));
        let found = assess(&Evidence {
            audit,
            windows: &windows,
            supply_chain,
            shadow,
        });
        assert_eq!(found.earned, expected, "{found:#?}");
        assert_eq!(found.missing(found.earned).count(), 0);
    }

    #[test]
    fn levels_are_earned_one_after_the_other() {
        check(None, 400, Ok(()), AGREED, 0);
        check(Some(&audit(18, vec![])), 400, Ok(()), AGREED, 0);
        check(Some(&audit(19, vec![])), 199, Ok(()), AGREED, 1);
        check(
            Some(&audit(19, vec![])),
            400,
            Err("changed".to_owned()),
            AGREED,
            1,
        );
        check(Some(&audit(19, vec![])), 1000, Ok(()), AGREED, 3);
        check(Some(&audit(19, vec![])), 200, Ok(()), Shadow::default(), 2);
        check(Some(&audit(19, vec![])), 200, Ok(()), AGREED, 3);
    }

    #[test]
    fn a_regression_and_a_halt_weigh() {
        check(Some(&audit(20, vec![3])), 400, Ok(()), AGREED, 0);
        let halted = Shadow {
            halted: true,
            ..AGREED
        };
        check(Some(&audit(20, vec![])), 400, Ok(()), halted, 2);
        let few = Shadow {
            probes: 49,
            agreed: 49,
            ..AGREED
        };
        check(Some(&audit(20, vec![])), 400, Ok(()), few, 2);
        let disagreeing = Shadow {
            agreed: 42,
            ..AGREED
        };
        check(Some(&audit(20, vec![])), 400, Ok(()), disagreeing, 2);
    }
}
