//! Growth of cost: the same work at one, ten and a hundred times the size, in turns, as time per item.
//!
//! A row compares the largest size with the smallest; 1 means that the cost per item is constant.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use evidence::scan::Options;
use evidence::score::{self, Source};
use routing::specialists::{Named, Paths};
use web::api;
use witness::scorecard::Wanted;

use crate::fill::Filled;
use crate::measure::{Figure, size, turns};
use crate::row::{Goal, Row};
use crate::{catalog_rows, selector_rows};

const SCORECARD: &str = "growth: scorecard, one bundle";
const APPEND: &str = "growth: ledger, one append";
const PROOF: &str = "growth: ledger, one proof";
const STATS: &str = "growth: run-log stats, one line";
const REBUILD: &str = "growth: index rebuild, one bundle with its lines";
const CATALOG: &str = "growth: catalog check, one role in 2 languages";
const SELECTOR: &str = "growth: selector training, one line";

/// Number of bundles and lines of the largest workspace.
const LARGEST: usize = 100_000;
/// Number of turns at each size.
const TURNS: usize = 5;
/// Number of roles of a bundle of the catalog.
const ROLES: usize = 25;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if [SCORECARD, APPEND, PROOF, STATS, REBUILD]
        .into_iter()
        .any(wanted)
    {
        let places = sizes(LARGEST).map(Filled::new);
        rows.extend(of_workspaces(&places));
    }
    if wanted(CATALOG) {
        rows.push(catalog());
    }
    if wanted(SELECTOR) {
        let training = |lines: &usize| Duration::from_secs_f64(selector_rows::training_s(*lines));
        let sizes = sizes(LARGEST);
        let times = in_turns(&sizes, training);
        rows.push(row(SELECTOR, sizes.into_iter().zip(times), true, 1.5));
    }
    rows.retain(|row| wanted(row.name));
    rows
}

/// Returns a hundredth, a tenth, and all of the size; a quick run uses less of everything.
fn sizes(largest: usize) -> [usize; 3] {
    let largest = size(largest);
    [largest / 100, largest / 10, largest]
}

/// Measures every size, one turn after another; the first warms caches and does not count.
fn in_turns<T>(sized: &[T], work: impl Fn(&T) -> Duration) -> Vec<Vec<Duration>> {
    let mut times: Vec<Vec<Duration>> = sized.iter().map(|_| Vec::new()).collect();
    for turn in 0..=turns(TURNS) {
        for (one, times) in sized.iter().zip(&mut times) {
            let took = work(one);
            if turn > 0 {
                times.push(took);
            }
        }
    }
    times
}

/// Returns a row with the time per item: of all at this size, or of the handled one.
#[expect(clippy::cast_precision_loss, reason = "a hundred thousand")]
fn row(
    name: &'static str,
    times: impl Iterator<Item = (usize, Vec<Duration>)>,
    is_of_all: bool,
    most: f64,
) -> Row {
    let sizes: Vec<(usize, Figure)> = times
        .map(|(size, times)| {
            let items = if is_of_all { size as f64 } else { 1.0 };
            (size, Figure::of_times(&times, 1e6 / items))
        })
        .collect();
    let figure = |at: Option<&(usize, Figure)>| at.map_or(f64::NAN.into(), |(_, figure)| *figure);
    let both = (figure(sizes.last()), figure(sizes.first()));
    Row {
        sizes,
        ..Row::new(
            name,
            both,
            "a hundredth of it",
            "µs each",
            Goal::AtMost(most),
        )
    }
}

fn of_workspaces(places: &[Filled]) -> Vec<Row> {
    let growth = |name, is_of_all, most, work: &dyn Fn(&Filled) -> Duration| {
        let sizes = places.iter().map(Filled::tasks);
        row(name, sizes.zip(in_turns(places, work)), is_of_all, most)
    };
    vec![
        growth(SCORECARD, true, 1.3, &score),
        growth(STATS, true, 1.3, &|place| {
            let log = place.root().join(".role-os/run_log.jsonl");
            timed(|| routing::runs::stats(&log).ok())
        }),
        growth(REBUILD, true, 1.5, &rebuild),
        growth(PROOF, false, 2.0, &prove()),
        growth(APPEND, false, 2.0, &|place| timed(|| place.one_more())),
    ]
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

/// Runs the whole path of `roleos scorecard`, without printing.
#[expect(
    clippy::expect_used,
    reason = "a measurement that cannot be set up has nothing to report"
)]
fn score(place: &Filled) -> Duration {
    let keys = place.store().keys().expect("keys");
    timed(|| {
        let paths = place.store().bundle_paths().expect("bundles");
        let source = Source {
            paths: &paths,
            keyring: &keys.keyring(),
            unverified: false,
            options: Options {
                threads: NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN),
                max_bytes: 1 << 20,
            },
            ledger: None,
        };
        let scored = score::scorecard(source, &Wanted::default(), |_| {});
        let all = scored.expect("no ledger is asked").result.all.total_tasks;
        assert!(all > 0, "nothing was scored");
    })
}

/// Measures a proof from a loaded ledger, as in a process that answers more than once.
#[expect(
    clippy::expect_used,
    reason = "a measurement that cannot be set up has nothing to report"
)]
fn prove() -> impl Fn(&Filled) -> Duration {
    |place| {
        // The first seal signs the checkpoint.
        place.one_more();
        let ledger = place.store().ledger().expect("a ledger").expect("a ledger");
        let signed = ledger.checkpoint().expect("signed").expect("signed");
        timed(|| {
            ledger
                .tree()
                .prove(place.tasks() as u64 / 2, signed)
                .expect("a proof")
                .to_text()
        })
    }
}

#[expect(
    clippy::expect_used,
    reason = "a measurement that cannot be set up has nothing to report"
)]
fn rebuild(place: &Filled) -> Duration {
    let workspace = Workspace::at(place.root()).expect("a workspace");
    let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
    let view = api::open_view(&workspace, &Config::default(), place.store(), &paths);
    let view = view.expect("a view");
    timed(|| view.rebuild(|_| {}).expect("a rebuild"))
}

#[expect(
    clippy::expect_used,
    reason = "a measurement that cannot be set up has nothing to report"
)]
fn catalog() -> Row {
    let sizes = sizes(10_000);
    let folders = sizes.map(|roles| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let bundles = roles.div_ceil(ROLES);
        catalog_rows::generate(folder.path(), bundles, ROLES.min(roles));
        (folder, bundles * ROLES.min(roles))
    });
    let times = in_turns(&folders, |(folder, roles)| {
        timed(|| catalog_rows::check_here(folder.path(), *roles))
    });
    let sizes = folders.iter().map(|(_, roles)| *roles);
    row(CATALOG, sizes.zip(times), true, 1.3)
}
