//! Levels of certification by evidence: L1 by an exam, L2 by the log and the supply chain, L3 by agreement in the
//! field.
//!
//! Each condition is a number against a number. A level needs all conditions of the levels below it as well.

use crate::audit::MIN_CASES;
use crate::audit::record::AuditRecord;
use crate::promotion::{Condition, PASS_PERCENT, Windows};
use statistics::rate::{Rate, rate};
use statistics::{ERROR, sequence};

/// Evidence about a version.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// Newest exam, or the reason that none counts.
    pub audit: Result<&'a AuditRecord, &'a str>,
    /// Last runs and contests under the present metric.
    pub windows: &'a Windows,
    /// Integrity of the run log (its chain and every reward), or the reason that it fails. A broken log counts for
    /// nothing.
    pub run_log: Result<(), String>,
    /// Integrity of the manifest and the weights, or the reason that it fails.
    pub supply_chain: Result<(), String>,
    /// Result of the shadow probes.
    pub shadow: Shadow,
}

/// Shadow probes of a version since the last clearing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shadow {
    /// Number of probes, each input once.
    pub probes: u64,
    /// Number of probes that agreed.
    pub agreed: u64,
    /// Number of probes that are needed.
    pub needed: u64,
    /// Tolerated share of disagreement.
    pub tau: f64,
    /// Set if the version is halted.
    pub halted: bool,
    /// Reason that earlier probes do not count.
    pub doubt: Option<String>,
}

/// One condition with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Level that needs the condition.
    pub level: u8,
    /// Subject of the condition.
    pub name: &'static str,
    /// Set if the condition holds.
    pub met: bool,
    /// The numbers as text.
    pub said: String,
    /// The rate, if the condition is about one.
    pub rate: Option<Rate>,
}

/// Result of the assessment.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Every condition, by level.
    pub checks: Vec<Check>,
    /// Earned level, 0 to 3.
    pub earned: u8,
}

impl Assessment {
    /// Returns the conditions that keep the version from a level.
    pub fn missing(&self, level: u8) -> impl Iterator<Item = &Check> {
        self.checks
            .iter()
            .filter(move |check| check.level <= level && !check.met)
    }
}

/// Assesses the evidence.
#[must_use]
pub fn assess(evidence: &Evidence<'_>) -> Assessment {
    let mut checks = exam(evidence.audit);
    checks.push(run_log(&evidence.run_log));
    checks.extend(windows(evidence.windows));
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

fn exam(audit: Result<&AuditRecord, &str>) -> Vec<Check> {
    let check = |name, met, said, rate| Check {
        level: 1,
        name,
        met,
        said,
        rate,
    };
    let record = match audit {
        Ok(record) => record,
        Err(why) => return vec![check("audit pass rate", false, why.to_owned(), None)],
    };
    let wrong = match record.wrong_answers {
        0 => String::new(),
        wrong => format!(
            "; {wrong} of {} answers differ from the expected output",
            record.cases
        ),
    };
    let said = format!(
        "{} graded, {} of all {}; {PASS_PERCENT} % are needed{wrong}; {}",
        percent(record.proof()),
        record.passed,
        record.cases,
        record.attempts_said()
    );
    let (holds, against) = match &record.baseline {
        None => (true, "no baseline to compare with".to_owned()),
        Some(baseline) => (baseline.holds(), baseline.said()),
    };
    vec![
        check(
            "audit pass rate",
            record.is_passed(),
            said,
            Some(record.proof()),
        ),
        check(
            "audit size",
            record.proof().n >= MIN_CASES,
            record.proof_said(),
            None,
        ),
        check("audit comparison", holds, against, None),
    ]
}

fn run_log(found: &Result<(), String>) -> Check {
    Check {
        level: 2,
        name: "run log",
        met: found.is_ok(),
        said: match found {
            Ok(()) => "chain and rewards hold".to_owned(),
            Err(why) => format!("{why}; nothing in it counts, `roleos runs verify` shows more"),
        },
        rate: None,
    }
}

fn windows(windows: &Windows) -> Vec<Check> {
    let mut checks: Vec<Check> = windows.conditions().iter().map(window).collect();
    // The check of wins is the last one.
    if let (count @ 1.., Some(wins)) = (windows.unpriced(), checks.last_mut()) {
        wins.said.push_str(&format!(
            "; {count} inputs do not count: the general model was as good, and its price is not known; set `usd_per_call`, or `usd_per_million_input` and `usd_per_million_output`, under `[fallback.claude]` in `.role-os/config.toml`"
        ));
    }
    checks
}

fn window(condition: &Condition) -> Check {
    let seen = percent(condition.rate);
    let all = condition.all;
    let above = if condition.is_above_floor() {
        "are"
    } else {
        "are not yet"
    };
    let more = match (condition.window as u64).saturating_sub(condition.rate.n) {
        0 => String::new(),
        more => format!(", {more} more before they are full"),
    };
    Check {
        level: 2,
        name: condition.name,
        met: condition.met(),
        said: format!(
            "{seen}; {} % of the last {} are needed{more}; {} of all {} {above} enough to be above {} % at an error of {:.0} %",
            condition.percent,
            condition.window,
            all.hits,
            all.n,
            condition.floor,
            100.0 * ERROR
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
    let required = 1.0 - shadow.tau;
    let agrees = sequence::is_above(shadow.agreed, shadow.probes, required, ERROR);
    let halted = if shadow.halted { "; it is halted" } else { "" };
    let doubt = shadow.doubt.as_ref().map_or_else(String::new, |doubt| {
        format!("; probes so far do not count: {doubt}; later ones will")
    });
    Check {
        level: 3,
        name: "shadow agreement",
        met: enough && agrees && !shadow.halted,
        said: format!(
            "{}; {} probes of different inputs are needed, and enough of them to be above {:.0} % at an error of {:.0} %{halted}{doubt}",
            percent(found),
            shadow.needed,
            100.0 * required,
            100.0 * ERROR
        ),
        rate: Some(found),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::audit::record::{Attempt, Baseline, Given};
    use crate::promotion::Rival;
    use crate::run_log::{More, Record};

    fn audit(passed: u64, difference: f64) -> AuditRecord {
        let found = rate(passed, 40);
        AuditRecord {
            format: "roleos-audit/v1".to_owned(),
            role: "editor".to_owned(),
            version: "v2".to_owned(),
            model_id: "a".to_owned(),
            subject: None,
            exam_hash: "e".to_owned(),
            audit_id: "s".to_owned(),
            audit_version: "v1".to_owned(),
            metric_version: "metric_v1".to_owned(),
            metric_hash: String::new(),
            finished_at: String::new(),
            cases: 40,
            passed,
            verifier_failures: 40 - passed,
            wrong_answers: 0,
            graded: 40,
            pass_rate: found.value,
            pass_low: found.low,
            pass_high: found.high,
            mean_reward: 1.0,
            baseline: Some(Baseline {
                version: "v1".to_owned(),
                regressions: Vec::new(),
                lost_reward: 0.0,
                difference,
                low: -1.0,
                high: 1.0,
                margin: 0.05,
            }),
            ok: true,
            scores: BTreeMap::new(),
            answers: (0..40).map(|index| answer(index, index < passed)).collect(),
            attempts: vec![Attempt {
                right: passed,
                total: 40,
                ..Attempt::default()
            }],
            seal: None,
        }
    }

    fn answer(index: u64, right: bool) -> Given {
        let index = usize::try_from(index).unwrap();
        Given {
            index,
            verifier_result: "PASS".to_owned(),
            reason: None,
            q1: None,
            right: Some(right),
            cost: 0.0,
            refusal_penalty: 0.0,
            reward: 1.0,
            time_ms: 1,
            output_tokens: 1,
            output_hash: String::new(),
            output: serde_json::json!("x"),
            expected_output: None,
            copy_of: None,
            ungraded: false,
        }
    }

    /// Regression: sixty ungraded cases, and forty copies of one case, certified.
    #[test]
    fn cases_that_were_not_graded_and_copies_certify_nothing() {
        type Change = fn(&mut Given);
        let table: [(&str, usize, Change, &str); 4] = [
            (
                "decided by nothing",
                11,
                |one| one.ungraded = true,
                "11 do not count: not graded",
            ),
            (
                "ungraded",
                11,
                |one| one.right = None,
                "11 do not count: not graded",
            ),
            (
                "copies",
                11,
                |one| one.copy_of = Some(39),
                "11 do not count: copies",
            ),
            (
                "enough stay",
                10,
                |one| one.right = None,
                "30 of 40 cases are graded",
            ),
        ];
        for (name, spoiled, change, said) in table {
            let mut record = audit(40, 0.0);
            record.answers.iter_mut().take(spoiled).for_each(change);
            let found = assess_exam(&record);
            assert_eq!(found.earned, u8::from(spoiled < 11), "{name}");
            assert_eq!(record.certifies(), spoiled < 11, "{name}");
            let size = found.checks.iter().find(|one| one.name == "audit size");
            assert!(size.unwrap().said.contains(said), "{name}: {size:?}");
            let says = |text: &str| size.unwrap().said.contains(text);
            let is_copied = name == "copies";
            assert_eq!(
                says("roleos audit draft"),
                spoiled >= 11 && !is_copied,
                "{name}"
            );
            assert_eq!(says("add 1 cases with other inputs"), is_copied, "{name}");
        }
    }

    /// Assesses an exam by itself, with nothing against it.
    fn assess_exam(record: &AuditRecord) -> Assessment {
        assess(&Evidence {
            audit: Ok(record),
            windows: &Windows::default(),
            run_log: Ok(()),
            supply_chain: Ok(()),
            shadow: AGREED,
        })
    }

    /// Regression: an exam was repeated until it passed.
    #[test]
    fn attempts_at_one_exam_count_together() {
        let earlier = |right: u64, subject: Option<&str>| Attempt {
            finished_at: "earlier".to_owned(),
            subject: subject.map(str::to_owned),
            right,
            total: 40,
            ..Default::default()
        };
        for (name, before, earned, said) in [
            ("the first", vec![], 1, "1 attempt, 40 of 40 right"),
            (
                "after a failure",
                vec![earlier(35, None)],
                0,
                "2 attempts, 75 of 80 right, which is too few",
            ),
            (
                "after a near miss",
                vec![earlier(36, None)],
                1,
                "2 attempts, 76 of 80 right",
            ),
            (
                "of another backend",
                vec![earlier(0, Some("other"))],
                1,
                "1 attempt, 40 of 40 right",
            ),
        ] {
            let record = audit(40, 0.0).after(before);
            let found = assess_exam(&record);
            assert_eq!(found.earned, earned, "{name}");
            assert_eq!(record.certifies(), earned == 1, "{name}");
            let exam = found.checks.first().unwrap();
            assert!(exam.said.contains(said), "{name}: {}", exam.said);
        }
    }

    fn log(wins: usize) -> Vec<Record> {
        let line = |run: usize| Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: format!("{run:064x}"),
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
        probes: 100,
        agreed: 97,
        needed: 50,
        tau: 0.15,
        halted: false,
        doubt: None,
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
        log.iter()
            .for_each(|record| windows.add(record, Rival::Somebody));
        let found = assess(&Evidence {
            audit: audit.ok_or("no audit was run"),
            windows: &windows,
            run_log: Ok(()),
            supply_chain,
            shadow,
        });
        assert_eq!(found.earned, expected, "{found:#?}");
        assert_eq!(found.missing(found.earned).count(), 0);
    }

    #[test]
    fn levels_are_earned_one_after_the_other() {
        check(None, 400, Ok(()), AGREED, 0);
        check(Some(&audit(37, 0.0)), 400, Ok(()), AGREED, 0);
        check(Some(&audit(38, 0.0)), 199, Ok(()), AGREED, 1);
        check(
            Some(&audit(38, 0.0)),
            400,
            Err("changed".to_owned()),
            AGREED,
            1,
        );
        check(Some(&audit(38, 0.0)), 1000, Ok(()), AGREED, 3);
        check(Some(&audit(38, 0.0)), 300, Ok(()), Shadow::default(), 2);
        check(Some(&audit(38, 0.0)), 300, Ok(()), AGREED, 3);
        check(Some(&audit(38, 0.0)), 200, Ok(()), AGREED, 1);
        let mut small = audit(38, 0.0);
        (small.cases, small.passed) = (29, 29);
        small.answers.truncate(29);
        check(Some(&small), 400, Ok(()), AGREED, 0);
    }

    #[test]
    fn a_broken_log_counts_for_nothing() {
        let (record, windows) = (audit(40, 0.0), Windows::default());
        let found = assess(&Evidence {
            audit: Ok(&record),
            windows: &windows,
            run_log: Err("line 81: `prev` is not the hash of the line before".to_owned()),
            supply_chain: Ok(()),
            shadow: AGREED,
        });
        assert_eq!(found.earned, 1);
        let said: Vec<&str> = found.missing(2).map(|check| check.said.as_str()).collect();
        assert!(said.first().is_some_and(|said| said.contains("line 81")));
    }

    #[test]
    fn a_loss_and_a_halt_weigh() {
        check(Some(&audit(40, -0.1)), 400, Ok(()), AGREED, 0);
        check(Some(&audit(40, -0.03)), 400, Ok(()), AGREED, 3);
        let halted = Shadow {
            halted: true,
            ..AGREED
        };
        check(Some(&audit(40, 0.0)), 400, Ok(()), halted, 2);
        let few = Shadow {
            probes: 49,
            agreed: 49,
            ..AGREED
        };
        check(Some(&audit(40, 0.0)), 400, Ok(()), few, 2);
        let disagreeing = Shadow {
            agreed: 88,
            ..AGREED
        };
        check(Some(&audit(40, 0.0)), 400, Ok(()), disagreeing, 2);
    }
}
