//! Which tests a run counts for, and which failures a later run lifts.
//!
//! A failed test is lifted by a later run that passes and includes it. Where the log names every failed test, that is
//! decided test by test; else the later run has to cover the selection of the failed one.

use super::{Credit, Judged, Run, RunEnd};
use crate::test_log::{Failure, Reading, Runner};

/// Which tests a command selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The program that runs the tests.
    pub program: String,
    /// The program finds the tests itself, so that without narrowing it runs them all.
    pub is_direct: bool,
    /// It looks for tests in the folders below as well.
    pub is_recursive: bool,
    /// It ends at the first failure.
    pub stops_early: bool,
    /// Names are compared whole.
    pub is_exact: bool,
    /// The folder in which it runs.
    pub folder: String,
    /// Files, folders and names, any of which is run; empty for all.
    pub places: Vec<String>,
    /// Options and values that narrow the selection, all of which hold.
    pub filters: Vec<(String, String)>,
    /// Options that widen it.
    pub widened: Vec<String>,
    /// A part of it is only known at run time.
    pub is_unclear: bool,
}

/// Options whose value is compared with the names of tests.
const BY_NAME: [&str; 14] = [
    "-k",
    "-t",
    "-g",
    "-e",
    "-run",
    "--run",
    "--grep",
    "--filter",
    "--name",
    "--example",
    "--testNamePattern",
    "--test-name-pattern",
    "--tests",
    "-n",
];

/// Characters with which a pattern may select less than what contains it.
const SPECIAL: [char; 11] = ['*', '?', '[', ']', '(', ')', '{', '}', '+', '\\', '~'];

/// The places of the runs that failed and that no later run lifts.
pub(super) fn failing(runs: &[(Run, Judged)]) -> Vec<usize> {
    let is_left = |place: &usize| {
        let Some((failed, later)) = runs.get(*place..).and_then(<[_]>::split_first) else {
            return false;
        };
        failed.1.end == RunEnd::Failed && !is_lifted(failed, later)
    };
    (0..runs.len()).filter(is_left).collect()
}

fn is_lifted(failed: &(Run, Judged), later: &[(Run, Judged)]) -> bool {
    let (run, judged) = failed;
    if later.iter().any(|one| covers(one, failed)) {
        return true;
    }
    let Some(reading) = &judged.reading else {
        return false;
    };
    let names_all = !run.scope.stops_early
        && reading.complete
        && reading.failures.len() as u64 >= reading.failed.saturating_add(reading.errors)
        && !reading.failures.is_empty();
    names_all
        && reading
            .failures
            .iter()
            .all(|failure| later.iter().any(|one| includes(one, failed, failure)))
}

/// Whether `later` passed and ran every test that `failed` could have run.
fn covers(later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
    let (new, old) = (&later.0.scope, &failed.0.scope);
    if !is_same_kind(later, failed) || new.is_unclear || !widens(new, old) {
        return false;
    }
    if new.program == old.program && new.folder == old.folder {
        let filters = new
            .filters
            .iter()
            .all(|filter| old.filters.contains(filter));
        let is_within = |place: &String| new.places.iter().any(|wide| is_below(place, wide));
        let places = new.places.is_empty()
            || !old.places.is_empty() && !old.is_unclear && old.places.iter().all(is_within);
        return filters && places;
    }
    let is_whole = new.places.is_empty() && new.filters.is_empty();
    // Another command that seems to run everything has to have run as much.
    is_whole && is_around(new, old) && (new.is_direct || ran(later) >= ran(failed))
}

/// Whether `later` passed and ran this test.
fn includes(later: &(Run, Judged), failed: &(Run, Judged), failure: &Failure) -> bool {
    let (new, old) = (&later.0.scope, &failed.0.scope);
    if !is_same_kind(later, failed) || new.is_unclear || !widens(new, old) || !is_around(new, old) {
        return false;
    }
    let Some(runner) = runner(later) else {
        return false;
    };
    let filters = new.filters.iter().all(|filter| {
        old.filters.contains(filter)
            || BY_NAME.contains(&&*filter.0) && matches(&filter.1, &failure.name, new.is_exact)
    });
    let is_meant = |place: &String| match runner {
        Runner::Pytest => is_below(&failure.name, place),
        _ => matches(place, &failure.name, new.is_exact),
    };
    let is_whole = new.places.is_empty()
        && (new.is_direct || new.program == old.program || ran(later) >= ran(failed));
    filters && (is_whole || new.places.iter().any(is_meant))
}

/// Whether `later` passed with the same runner. A failure that was only seen by the exit code is lifted by the same
/// program when it exits well.
fn is_same_kind(later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
    match (runner(later), runner(failed)) {
        (Some(new), Some(old)) => new == old && later.1.end == RunEnd::Passed,
        (Some(_), None) => later.1.end == RunEnd::Passed && is_same_program(later, failed),
        (None, None) => {
            later.1.end == RunEnd::CannotTell
                && !later.0.failed
                && later.0.credit == Credit::All
                && is_same_program(later, failed)
        }
        (None, Some(_)) => false,
    }
}

fn is_same_program(later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
    later.0.scope.program == failed.0.scope.program
}

fn runner(run: &(Run, Judged)) -> Option<Runner> {
    run.1.reading.as_ref().map(|reading| reading.runner)
}

fn ran(run: &(Run, Judged)) -> u64 {
    run.1.reading.as_ref().map_or(0, Reading::ran)
}

/// Whether everything that widened the old selection widens the new one.
fn widens(new: &Scope, old: &Scope) -> bool {
    old.widened
        .iter()
        .all(|option| new.widened.contains(option))
}

/// Whether the new run looks where the old one did.
fn is_around(new: &Scope, old: &Scope) -> bool {
    new.folder == old.folder || new.is_recursive && is_below(&old.folder, &new.folder)
}

/// Whether `place` is `wide` or lies in it: a file in a folder, a test in a file, a case of a test.
fn is_below(place: &str, wide: &str) -> bool {
    let wide = wide.trim_end_matches('/');
    let rest = place.strip_prefix(wide);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['/', '[']) || rest.starts_with("::")
    })
}

/// Whether a pattern selects a name. Alternatives are divided by `|` or ` or `; one with a meaning that is not
/// understood selects nothing.
fn matches(pattern: &str, name: &str, is_exact: bool) -> bool {
    let mut alternatives = pattern.split('|').flat_map(|part| part.split(" or "));
    alternatives.any(|one| {
        let one = one.trim();
        let anchored = one.strip_prefix('^').and_then(|one| one.strip_suffix('$'));
        let plain = anchored.unwrap_or(one);
        let is_special = plain.contains(SPECIAL) || plain.contains(['^', '$']);
        let is_spoken = plain
            .split_whitespace()
            .any(|word| matches!(word, "not" | "and"));
        if plain.is_empty() || is_special || is_spoken {
            return false;
        }
        // nextest puts the binary in front of the name.
        let whole = name == plain || name.rsplit(' ').next() == Some(plain);
        whole || anchored.is_none() && !is_exact && name.contains(plain)
    })
}
