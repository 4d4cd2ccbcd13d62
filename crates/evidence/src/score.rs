//! Scorecards and curves over many bundle files, read on all cores.

use std::path::PathBuf;

use serde::Serialize;
use witness::bundle::{Bundle, Strictness};
use witness::curve::{Attempts, Period, Point};
use witness::evidence::{Evidence, Verdict};
use witness::key::Keyring;
use witness::scorecard::{Collector, Reason, Report, Wanted};

use crate::judged::Judged;
use crate::scan::{self, Options, Visit};
use crate::store::audit::{Audit, BundleFacts, Comparison, Found};
use base::files::FileError;

/// Counts of a scan, beside the tasks that count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Files looked at.
    pub files: u64,
    /// Tasks backed by verified bundles.
    pub verified: u64,
    /// Tasks without verified bundles; 0 unless they were requested.
    pub unverified: u64,
    /// Bundles set aside for a newer one of the same task.
    pub duplicates: u64,
    /// Bundles that the filter left out.
    pub filtered: u64,
    /// Sessions without a test and without a diff; 0 if they were requested.
    pub not_tasks: u64,
    /// Bundles that a process below an agent sealed by hand; they never count.
    pub sealed_below_agent: u64,
    /// Tasks that claim to be solved over a test log that shows otherwise; they count as failed.
    pub corrected: u64,
    /// Files left out, by verdict; `unreadable` for those that could not be read.
    pub left_out: std::collections::BTreeMap<String, u64>,
}

impl Counts {
    /// Copies the counts that the report knows better.
    pub fn take_from(&mut self, report: &Report) {
        self.verified = report.verified;
        self.unverified = report.unverified;
        self.duplicates = report.duplicates;
        self.filtered = report.filtered;
        self.not_tasks = report.not_tasks;
        self.sealed_below_agent = report.by_agent;
        self.corrected = report.corrected;
    }

    /// Adds the counts of another thread.
    pub(crate) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.verified += other.verified;
        self.unverified += other.unverified;
        self.duplicates += other.duplicates;
        for (why, number) in other.left_out {
            *self.left_out.entry(why).or_default() += number;
        }
    }
}

/// Input of a scorecard or curve.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Bundle files, as [`scan::find`] gives them.
    pub paths: &'a [PathBuf],
    /// Trusted keys.
    pub keyring: &'a Keyring,
    /// Set if bundles without a trusted signature count as well. Damaged ones and bad signatures never count.
    pub unverified: bool,
    /// Threads and limits.
    pub options: Options,
    /// The ledger that the bundles are compared with while they are read. Without a ledger nothing is accepted.
    pub ledger: Option<&'a Comparison>,
}

/// Result of a scan.
#[derive(Clone, Debug)]
pub struct Scored<T> {
    /// The scorecard or the curve.
    pub result: T,
    /// Counts of files and of those that do not count.
    pub counts: Counts,
    /// The comparison with the ledger, if there was one.
    pub audit: Option<Audit>,
}

impl<T> Scored<T> {
    /// Returns the reasons against acceptance beside the metrics: the ledger, and bundles that do not count.
    #[must_use]
    pub fn reasons(&self) -> Vec<Reason> {
        outside_reasons(self.audit.as_ref(), &self.counts)
    }
}

/// Returns the reasons against acceptance beside the metrics.
#[must_use]
pub fn outside_reasons(audit: Option<&Audit>, counts: &Counts) -> Vec<Reason> {
    let mut reasons = Vec::new();
    match audit {
        None => reasons.push(Reason::new(
            "no_ledger",
            "the bundles were not compared with their ledger; `--ledger DIR` names it",
        )),
        Some(audit) => {
            let found = audit.summary();
            reasons.extend(
                found.map(|found| {
                    Reason::new("ledger", format!("the ledger does not hold: {found}"))
                }),
            );
            if !audit.is_recorded {
                let text = "no trust store keeps a record that would show removed leaves";
                reasons.push(Reason::new("no_record", text));
            }
        }
    }
    for (verdict, count) in &counts.left_out {
        let bundles = if *count == 1 {
            "bundle is"
        } else {
            "bundles are"
        };
        let count_not = if *count == 1 { "does" } else { "do" };
        let help = match verdict.as_str() {
            "unchecked" => "; `--key-file FILE` gives the public key of those who sealed",
            _ => "",
        };
        let text = format!(
            "{count} {bundles} {} and {count_not} not count{help}",
            verdict.replace('_', " ")
        );
        reasons.push(Reason::new("left_out", text));
    }
    reasons
}

/// Computes the scorecard of all bundles, with counts.
///
/// # Errors
/// The existence of a bundle of the ledger cannot be checked.
pub fn scorecard(
    source: Source<'_>,
    wanted: &Wanted,
    progress: impl Fn(usize) + Sync,
) -> Result<Scored<Report>, FileError> {
    let (parts, mut counts, audit) = gather(
        source,
        || Collector::new(wanted.clone()),
        |collector, met| match met {
            Met::Evidence(evidence, leaf) => collector.add(evidence, leaf),
            Met::Claims(bundle) => collector.add_unverified(bundle),
        },
        progress,
    )?;
    let mut parts = parts.into_iter();
    // The first part absorbs the others, so that there is never a further copy of all.
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|part| all.merge(part));
    let report = all.finish();
    counts.take_from(&report);
    Ok(Scored {
        result: report,
        counts,
        audit,
    })
}

/// Computes the cost-to-outcome curve of all bundles, with counts.
///
/// # Errors
/// The existence of a bundle of the ledger cannot be checked.
pub fn curve(
    source: Source<'_>,
    period: Period,
    wanted: &Wanted,
    progress: impl Fn(usize) + Sync,
) -> Result<Scored<Vec<Point>>, FileError> {
    let (parts, counts, audit) = gather(
        source,
        || Attempts::new(wanted.filter.clone(), wanted.all),
        |attempts, met| match met {
            Met::Evidence(evidence, leaf) => attempts.add(evidence, leaf),
            Met::Claims(bundle) => attempts.add_unverified(bundle),
        },
        progress,
    )?;
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|part| all.merge(part));
    Ok(Scored {
        result: all.curve(period),
        counts,
        audit,
    })
}

/// A bundle that counts, and its leaf.
enum Met<'a, 'b> {
    Evidence(&'a Evidence<'b>, Option<u64>),
    Claims(&'a Bundle<'b>),
}

type Gathered<C> = (Vec<C>, Counts, Option<Audit>);

/// Reads every file, passes those that count to one of several collectors, and counts the rest.
fn gather<C: Send>(
    source: Source<'_>,
    new_collector: impl Fn() -> C + Sync,
    collect: impl Fn(&mut C, Met<'_, '_>) + Sync,
    progress: impl Fn(usize) + Sync,
) -> Result<Gathered<C>, FileError> {
    let visit = |(collector, counts, found): &mut (C, Counts, Found), visit: Visit<'_>| {
        counts.files += 1;
        let look = |found: &mut Found, seen: Option<&BundleFacts>| {
            let ledger = source.ledger?;
            ledger.look(found, visit.path, seen)
        };
        let Ok(bytes) = visit.bytes else {
            look(found, None);
            return leave_out(counts, "unreadable");
        };
        let judged = Judged::of(bytes, Strictness::Strict, source.keyring);
        let seen = source
            .ledger
            .map(|ledger| BundleFacts::of(bytes, &judged, ledger.others()));
        let leaf = look(found, seen.as_ref());
        match judged {
            Judged::Evidence(evidence) => {
                counts.verified += 1;
                collect(collector, Met::Evidence(&evidence, leaf));
            }
            Judged::Unproven(unproven) if source.unverified && is_harmless(&unproven.verdict) => {
                counts.unverified += 1;
                collect(collector, Met::Claims(&unproven.bundle));
            }
            other => leave_out(counts, other.verdict().name()),
        }
    };
    let visitors = scan::scan(
        source.paths,
        source.options,
        || (new_collector(), Counts::default(), Found::default()),
        visit,
        progress,
    );
    let mut collectors = Vec::new();
    let mut total = Counts::default();
    let mut parts = Vec::new();
    for (collector, counts, found) in visitors {
        collectors.push(collector);
        total.add(counts);
        parts.push(found);
    }
    let audit = source
        .ledger
        .map(|ledger| ledger.finish(parts))
        .transpose()?;
    Ok((collectors, total, audit))
}

/// Returns `true` if no trusted key signed it, and nothing speaks against it.
fn is_harmless(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unsigned { .. } | Verdict::Unchecked)
}

fn leave_out(counts: &mut Counts, why: &str) {
    *counts.left_out.entry(why.to_owned()).or_default() += 1;
}
