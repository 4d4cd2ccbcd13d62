//! Scorecards and curves over many bundle files, read on all cores.

use std::path::PathBuf;

use witness::bundle::{Contents, Strictness};
use witness::curve::{Attempts, Period, Point};
use witness::evidence::Verdict;
use witness::key::Keyring;
use witness::scorecard::{Collector, GroupBy, Report};

use crate::scan::{self, Options, Visit};
use crate::view::bundle::Judged;
use crate::view::score::Counts;

/// What counts, and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Bundle files, as [`scan::find`] gives them.
    pub paths: &'a [PathBuf],
    /// Keys that are believed.
    pub keyring: &'a Keyring,
    /// Count bundles that nobody vouches for as well. Damaged ones and bad signatures never count.
    pub unverified: bool,
    /// Threads and limits.
    pub options: Options,
}

/// The scorecard of all bundles, and what was met on the way.
pub fn scorecard(
    source: Source<'_>,
    by: Option<&GroupBy>,
    progress: impl Fn(usize) + Sync,
) -> (Report, Counts) {
    let (parts, mut counts) = gather(
        source,
        || Collector::new(by.cloned()),
        |collector, found| match found {
            Found::Evidence(judged, order) => collector.add(judged, order),
            Found::Claims(claims, order) => collector.add_unverified(claims, order),
        },
        progress,
    );
    let mut parts = parts.into_iter();
    // The first part takes in the others, so that there is never a further copy of all.
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|part| all.merge(part));
    let report = all.finish();
    counts.verified = report.verified;
    counts.unverified = report.unverified;
    counts.duplicates = report.duplicates;
    (report, counts)
}

/// The cost-to-outcome curve of all bundles, and what was met on the way.
pub fn curve(
    source: Source<'_>,
    period: Period,
    progress: impl Fn(usize) + Sync,
) -> (Vec<Point>, Counts) {
    let (parts, counts) = gather(
        source,
        Attempts::default,
        |attempts, found| match found {
            Found::Evidence(evidence, _) => attempts.add(evidence),
            Found::Claims(claims, _) => attempts.add_unverified(claims),
        },
        progress,
    );
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|part| all.merge(part));
    (all.curve(period), counts)
}

/// A bundle that counts, and the place of its file in the list.
enum Found<'a, 'b> {
    Evidence(&'a witness::evidence::Evidence<'b>, u64),
    Claims(&'a Contents<'b>, u64),
}

/// Reads every file, hands what counts to one of several collectors, and counts the rest.
fn gather<C: Send>(
    source: Source<'_>,
    new_collector: impl Fn() -> C + Sync,
    collect: impl Fn(&mut C, Found<'_, '_>) + Sync,
    progress: impl Fn(usize) + Sync,
) -> (Vec<C>, Counts) {
    let visit = |(collector, counts): &mut (C, Counts), visit: Visit<'_>| {
        let order = visit.index as u64;
        counts.files += 1;
        let Ok(bytes) = visit.bytes else {
            return leave_out(counts, "unreadable");
        };
        match Judged::of(bytes, Strictness::Strict, source.keyring) {
            Judged::Evidence(evidence) => {
                counts.verified += 1;
                collect(collector, Found::Evidence(&evidence, order));
            }
            Judged::Unproven(unproven) if source.unverified && is_harmless(&unproven.verdict) => {
                counts.unverified += 1;
                collect(collector, Found::Claims(unproven.bundle.claims(), order));
            }
            other => leave_out(counts, other.verdict().name()),
        }
    };
    let visitors = scan::scan(
        source.paths,
        source.options,
        || (new_collector(), Counts::default()),
        visit,
        progress,
    );
    let mut collectors = Vec::new();
    let mut total = Counts::default();
    for (collector, counts) in visitors {
        collectors.push(collector);
        total.add(counts);
    }
    (collectors, total)
}

/// Nobody vouches for it, and nothing speaks against it.
fn is_harmless(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unsigned { .. } | Verdict::Unchecked)
}

fn leave_out(counts: &mut Counts, why: &str) {
    *counts.left_out.entry(why.to_owned()).or_default() += 1;
}
