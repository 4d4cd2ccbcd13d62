//! Tests that a run counts for, and failures that a later run clears.
//!
//! A failed test is cleared by a later run that passes and includes it. If a log names the passed tests, the names
//! decide. If not, the later command must select the test by the same arguments or wider ones, in the same directory,
//! with the same settings of the runner, and must have run no fewer tests and skipped no more.

use super::{Credit, Judged, Run, RunEnd};
use testlog::{Failure, Reading, Runner};

/// Tests that a command selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The program that runs the tests.
    pub program: String,
    /// Set if the program finds the tests itself, so that it runs them all unless narrowed.
    pub is_direct: bool,
    /// Set if it runs the tests of all packages below its directory.
    pub is_recursive: bool,
    /// Set if it ends at the first failure.
    pub stops_early: bool,
    /// Set if names are compared as a whole.
    pub is_exact: bool,
    /// Real path of the working directory.
    pub folder: String,
    /// Files, directories and names, any of which is run; empty for all.
    pub places: Vec<String>,
    /// Options and values that narrow the selection, all of which apply.
    pub filters: Vec<(String, String)>,
    /// Options that widen it.
    pub widened: Vec<String>,
    /// Set if a part of it is only known at run time.
    pub is_unclear: bool,
}

/// Options whose value is matched against the names of tests.
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

/// Characters that may make a pattern select less than its text suggests.
const SPECIAL: [char; 11] = ['*', '?', '[', ']', '(', ')', '{', '}', '+', '\\', '~'];

/// Rule for a run that does not name a failure: the settings of the runner that it needs to clear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setup {
    /// Any settings.
    Any,
    /// Only the same settings.
    Same,
}

impl Setup {
    fn allows(self, later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
        self == Self::Any || later.0.setup == failed.0.setup
    }
}

/// Returns the indices of the runs that failed and that no later run clears. `deleted` are tests that the task
/// removed.
pub(super) fn failing(runs: &[(Run, Judged)], deleted: &[String], setup: Setup) -> Vec<usize> {
    let is_left = |place: &usize| {
        let Some((failed, later)) = runs.get(*place..).and_then(<[_]>::split_first) else {
            return false;
        };
        failed.1.end == RunEnd::Failed && !is_lifted(failed, later, deleted, setup)
    };
    (0..runs.len()).filter(is_left).collect()
}

fn is_lifted(
    failed: &(Run, Judged),
    later: &[(Run, Judged)],
    deleted: &[String],
    setup: Setup,
) -> bool {
    let (run, judged) = failed;
    let alike = || later.iter().filter(|one| setup.allows(one, failed));
    let is_covered = || alike().any(|one| covers(one, failed));
    let Some(reading) = &judged.reading else {
        return is_covered();
    };
    let is_shown = |failure: &Failure| later.iter().any(|one| shows(one, failed, failure));
    let mut failures = reading.failures.iter();
    // A run that does not name the test as passed cannot have included a test that is gone.
    if failures.any(|failure| deleted.contains(&failure.name) && !is_shown(failure)) {
        return false;
    }
    let names_all = !run.scope.stops_early
        && reading.complete
        && reading.failures.len() as u64 >= reading.failed.saturating_add(reading.errors)
        && !reading.failures.is_empty();
    let is_passed =
        |failure: &Failure| is_shown(failure) || alike().any(|one| selects(one, failed, failure));
    is_covered() || names_all && reading.failures.iter().all(is_passed)
}

/// Returns `true` if each of the runs in `places` selects less than another run does.
pub(super) fn are_narrower(runs: &[(Run, Judged)], places: &[usize]) -> bool {
    let ran = |one: &&(Run, Judged)| matches!(one.1.end, RunEnd::Passed | RunEnd::Failed);
    let is_narrower = |new: &(Run, Judged)| {
        let mut others = runs.iter().filter(ran);
        others.any(|old| is_as_wide(old, new) && !is_as_wide(new, old))
    };
    let mut chosen = places.iter().filter_map(|place| runs.get(*place));
    chosen.all(is_narrower)
}

/// Returns `true` if a run selects all tests that another one selects, by its arguments.
fn is_as_wide(wide: &(Run, Judged), other: &(Run, Judged)) -> bool {
    let (new, old) = (&wide.0.scope, &other.0.scope);
    let is_whole = new.places.is_empty() && new.filters.is_empty();
    let is_above = new.folder == old.folder
        || is_in_folder(&old.folder, &new.folder) && runner(wide) != Some(Runner::GoTest);
    if new.is_unclear || !is_above || !widens(new, old) {
        return false;
    }
    // Another command that seems to run everything must have run as many tests.
    if is_whole && (new.is_direct || ran(wide) >= ran(other)) {
        return new.is_recursive || !old.is_recursive;
    }
    new.program == old.program
        && new.folder == old.folder
        && new
            .filters
            .iter()
            .all(|filter| old.filters.contains(filter))
        && covers_places(wide, old)
}

/// Returns `true` if `later` passed and ran every test that `failed` could have run.
fn covers(later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
    let (new, old) = (&later.0.scope, &failed.0.scope);
    let is_candidate = is_same_kind(later, failed)
        && new.folder == old.folder
        && !new.is_unclear
        && widens(new, old)
        && !lost_tests(later, failed);
    if !is_candidate {
        return false;
    }
    if new.program == old.program {
        let filters = new
            .filters
            .iter()
            .all(|filter| old.filters.contains(filter));
        return filters && covers_places(later, old);
    }
    // Another command that seems to run everything must have run as many tests.
    let is_whole = new.places.is_empty() && new.filters.is_empty();
    is_whole && (new.is_direct || ran(later) >= ran(failed))
}

/// Returns `true` if the passing run `later` names this test among the passed ones and cannot mean another of that
/// name.
fn shows(later: &(Run, Judged), failed: &(Run, Judged), failure: &Failure) -> bool {
    let (new, old) = (&later.0.scope, &failed.0.scope);
    let Some(reading) = &later.1.reading else {
        return false;
    };
    // Names of the other runners contain neither the file nor the package.
    let is_unique = matches!(
        reading.runner,
        Runner::Pytest | Runner::Nextest | Runner::Unittest | Runner::JunitXml
    );
    let is_whole = new.places.is_empty()
        && new.filters.is_empty()
        && (new.is_recursive || new.folder == old.folder && !old.is_recursive);
    is_same_kind(later, failed)
        && is_in_folder(&old.folder, &new.folder)
        && (is_unique && begins_alike(new, old) || is_whole)
        && has_passed(reading, &failure.name)
}

/// Returns `true` if the names of both runs begin alike: the names of tests that `unittest discover` finds in a
/// directory do not contain the directory.
fn begins_alike(new: &Scope, old: &Scope) -> bool {
    let is_found = new.places.iter().any(|place| place == "discover");
    !is_found
        || new
            .places
            .iter()
            .all(|place| place == "discover" || old.places.contains(place))
}

/// Returns `true` if `later` passed and its command selects this test.
fn selects(later: &(Run, Judged), failed: &(Run, Judged), failure: &Failure) -> bool {
    let (new, old) = (&later.0.scope, &failed.0.scope);
    let Some(reading) = &later.1.reading else {
        return false;
    };
    let is_candidate = is_same_kind(later, failed)
        && new.folder == old.folder
        && !new.is_unclear
        && widens(new, old)
        && (has_passed(reading, &failure.name)
            || !reading.names_all() && !skips_more(later, failed));
    if !is_candidate {
        return false;
    }
    let filters = new.filters.iter().all(|filter| {
        old.filters.contains(filter)
            || BY_NAME.contains(&&*filter.0) && matches(&filter.1, &failure.name, new.is_exact)
    });
    let is_meant = |place: &String| match reading.runner {
        Runner::Pytest => is_below(&failure.name, place),
        // Its arguments are packages, which its names do not contain.
        Runner::GoTest => false,
        _ => matches(place, &failure.name, new.is_exact),
    };
    let is_whole = covers_places(later, old)
        && (new.program == old.program
            || new.places.is_empty() && (new.is_direct || ran(later) >= ran(failed)));
    // A narrowed run may be smaller; one that is not narrowed further has lost a test.
    let is_narrower = (&new.places, &new.filters) != (&old.places, &old.filters)
        && !(new.places.is_empty() && new.filters.is_empty());
    filters
        && (is_whole || new.places.iter().any(is_meant))
        && (is_narrower || !lost_tests(later, failed))
}

/// Returns `true` if the places of the new run contain all those of the old one.
fn covers_places(later: &(Run, Judged), old: &Scope) -> bool {
    let new = &later.0.scope;
    if new.places.is_empty() {
        return new.is_recursive || !old.is_recursive;
    }
    let is_go = runner(later) == Some(Runner::GoTest) || new.program == "go test";
    let is_within = |place: &String| {
        let mut wide = new.places.iter();
        match is_go {
            true => wide.any(|wide| is_in_package(place, wide)),
            false => wide.any(|wide| is_below(place, wide)),
        }
    };
    !old.places.is_empty() && !old.is_unclear && old.places.iter().all(is_within)
}

/// Returns `true` if the later run has fewer tests than the failed one, skips more, or names all of them, or all
/// packages, without a failed one: a test was deleted, renamed or skipped.
fn lost_tests(later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
    let (Some(new), Some(old)) = (&later.1.reading, &failed.1.reading) else {
        return false;
    };
    let is_missing = |failure: &Failure| !has_passed(new, &failure.name);
    counts_tests(new) && new.passed < old.passed.saturating_add(old.failed)
        || skips_more(later, failed)
        || !old.failed_groups.is_subset(&new.passed_groups)
        || new.names_all() && old.failures.iter().any(is_missing)
}

/// Returns `true` if the later run skips more tests than the failed one, or expects more to fail.
fn skips_more(later: &(Run, Judged), failed: &(Run, Judged)) -> bool {
    let (new, old) = (&later.1.reading, &failed.1.reading);
    let pair = new.as_ref().zip(old.as_ref());
    pair.is_some_and(|(new, old)| counts_tests(new) && new.skipped > old.skipped)
}

/// Returns `false` for runners that count packages, or print nothing on success.
fn counts_tests(reading: &Reading) -> bool {
    !matches!(reading.runner, Runner::GoTest | Runner::Gradle)
}

/// Returns `true` if a log names a test, or the tests of a file or class that could not be loaded before, as passed.
fn has_passed(reading: &Reading, name: &str) -> bool {
    if reading.named.contains(name) {
        return true;
    }
    let mut named = reading.named.iter();
    match reading.runner {
        Runner::Pytest => named.any(|passed| is_below(passed, name)),
        Runner::JunitXml if !name.contains(' ') => named.any(|passed| {
            passed
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(' '))
        }),
        // `setUpClass (mod.Class)`, `mod (unittest.loader._FailedTest.mod)`.
        Runner::Unittest => name.split_once(" (").is_some_and(|(first, place)| {
            let inside = match (place.contains("_FailedTest"), first.starts_with("test")) {
                (true, _) => format!("({first}."),
                (false, true) => return false,
                (false, false) => format!("({}.", place.trim_end_matches(')')),
            };
            named.any(|passed| passed.contains(&inside))
        }),
        _ => false,
    }
}

/// Returns `true` if `later` passed with the same runner. A failure that was only seen by the exit code is cleared by
/// the same program when it succeeds.
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

/// Returns `true` if every option that widened the old selection widens the new one.
fn widens(new: &Scope, old: &Scope) -> bool {
    old.widened
        .iter()
        .all(|option| new.widened.contains(option))
}

/// Returns `true` if a directory is `wide` or below it.
fn is_in_folder(folder: &str, wide: &str) -> bool {
    std::path::Path::new(folder).starts_with(wide)
}

/// Returns `true` if the packages of `place` are among those of `wide`: `a/...` contains `a`, `a/b` and `a/b/...`.
fn is_in_package(place: &str, wide: &str) -> bool {
    match wide.strip_suffix("...") {
        Some(wide) => is_below(place.trim_end_matches("..."), wide),
        None => place == wide,
    }
}

/// Returns `true` if `place` is `wide` or inside it: a file in a directory, a test in a file, a case of a test.
fn is_below(place: &str, wide: &str) -> bool {
    let wide = wide.trim_end_matches('/');
    let rest = place.strip_prefix(wide);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['/', '[']) || rest.starts_with("::")
    })
}

/// Returns `true` if a pattern selects a name. Alternatives are separated by `|` or ` or `; one that is not
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
        // nextest prints the binary before the name.
        let whole = name == plain || name.rsplit(' ').next() == Some(plain);
        whole || anchored.is_none() && !is_exact && name.contains(plain)
    })
}
