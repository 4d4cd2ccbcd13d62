//! The witness crate against `rvf-runtime`, the crate whose format it reads and writes.
//!
//! The bundle is the one of the format's own figures: 2 KB spec, 1 KB plan, 50 calls, 8 KB diff, 4 KB test log.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot be set up has nothing to report"
)]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use evidence::scan::{self, Options};
use evidence::score::{self, Source};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rvf_runtime::{GovernancePolicy, ParsedWitness, ScorecardBuilder, WitnessBuilder};
use rvf_types::witness::{PolicyCheck, TaskOutcome, ToolCallEntry};
use sha2::Sha256;
use witness::builder::Builder;
use witness::bundle::{Bundle, Strictness};
use witness::key::{HmacKey, Keyring};
use witness::policy::{Check, Policy};
use witness::scorecard::{Collector, Wanted};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

use crate::measure::{Figure, peak_megabytes, per_second, size};
use crate::row::{Goal, Row};

const PEER: &str = "rvf-runtime 0.5.0";
const KEY: &[u8; 32] = b"bench key of thirty-two bytes ok";
/// Number of bundles of the scorecard rows.
const MANY: usize = 100_000;
/// Number of bundles per measured call of the single-bundle rows.
const BATCH: usize = 2_000;
const CALLS: usize = 50;
const THREADS: NonZeroUsize = NonZeroUsize::new(2).unwrap();
const TOOLS: [&str; 5] = ["Read", "Grep", "Edit", "Bash", "Write"];

struct Material {
    spec: Vec<u8>,
    plan: Vec<u8>,
    diff: Vec<u8>,
    test_log: Vec<u8>,
}

impl Material {
    fn new() -> Self {
        let text =
            |line: &str, length: usize| line.bytes().cycle().take(length).collect::<Vec<u8>>();
        Self {
            spec: text("The export must keep the order of the rows.\n", 2048),
            plan: text("1. reproduce 2. fix 3. test\n", 1024),
            diff: text("-    rows.sort()\n+    rows.sort_by_key(order)\n", 8192),
            test_log: text("test export::keeps_order ... ok\n", 4096),
        }
    }
}

/// Rows over many bundles, which take a while to prepare.
const LARGE: [&str; 3] = [
    "witness: scorecard 100,000, from memory",
    "witness: scorecard 100,000, one file each",
    "witness: memory of that, of the files' size",
];

/// Figures of one row: ours, the peer's, and the name of the peer.
type Figures = (Figure, Figure, &'static str);

pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let material = Material::new();
    let one = bundle(&material, 0);
    let mut rows = Rows {
        wanted,
        rows: Vec::new(),
    };
    rows.add(
        "witness: build + sign",
        "bundles/s",
        Goal::AtLeast(5.0),
        || build(&material),
    );
    rows.add(
        "witness: parse + verify",
        "bundles/s",
        Goal::AtLeast(5.0),
        || verify(&one),
    );
    rows.add(
        "witness: verify, of raw HMAC",
        "MB/s",
        Goal::AtLeast(0.8),
        || raw(&one),
    );
    if !LARGE.iter().any(|name| wanted(name)) {
        return rows.rows;
    }
    let bundles: Vec<Vec<u8>> = (0..size(MANY))
        .map(|number| bundle(&material, number))
        .collect();
    rows.add(LARGE[0], "bundles/s", Goal::AtLeast(6.0), || {
        from_memory(&bundles)
    });
    let size = bundles.iter().map(Vec::len).sum::<usize>();
    let directory = tempfile::tempdir().expect("a temporary directory");
    fill(directory.path(), &bundles);
    drop(bundles);
    rows.add(LARGE[1], "bundles/s", Goal::AtLeast(6.0), || {
        from_files(directory.path())
    });
    rows.add(LARGE[2], "MB", Goal::AtMost(0.05), || {
        #[expect(clippy::cast_precision_loss, reason = "a few gigabytes")]
        let files = size as f64 / 1e6;
        (
            memory_in_child(directory.path()).into(),
            files.into(),
            "the files",
        )
    });
    rows.rows
}

struct Rows<'a> {
    wanted: &'a dyn Fn(&str) -> bool,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(
        &mut self,
        name: &'static str,
        unit: &'static str,
        goal: Goal,
        measure: impl FnOnce() -> Figures,
    ) {
        if (self.wanted)(name) {
            let (ours, peer, peer_name) = measure();
            self.rows
                .push(Row::new(name, (ours, peer), peer_name, unit, goal));
        }
    }
}

fn task_id(number: usize) -> [u8; 16] {
    (number as u128).to_be_bytes()
}

/// Returns a bundle. Half of the tasks are solved, so that every branch of the scorecard is taken.
fn bundle(material: &Material, number: usize) -> Vec<u8> {
    let mut builder = Builder::new(
        TaskId(task_id(number)),
        Policy::of_mode(Mode::Autonomous),
        1_760_000_000_000_000_000 + number as u64,
    )
    .plain();
    builder
        .spec(material.spec.as_slice())
        .plan(material.plan.as_slice())
        .diff(material.diff.as_slice())
        .test_log(material.test_log.as_slice())
        .outcome(if number.is_multiple_of(2) {
            Outcome::Solved
        } else {
            Outcome::Failed
        });
    for tool in TOOLS.iter().cycle().take(CALLS) {
        builder.record(&call(tool)).expect("fifty calls fit");
    }
    builder
        .build(Some(&HmacKey::new(KEY)), None)
        .expect("seventeen kilobytes fit")
}

fn call(tool: &str) -> Call<'_> {
    Call {
        action: tool.as_bytes(),
        check: Check::Allowed,
        args_hash: [7; 8],
        result_hash: [9; 8],
        latency_ms: 40,
        cost_microdollars: 110,
        tokens: 620,
    }
}

fn peer_bundle(material: &Material, number: usize) -> Vec<u8> {
    let mut builder = WitnessBuilder::new(task_id(number), GovernancePolicy::autonomous())
        .with_spec(&material.spec)
        .with_plan(&material.plan)
        .with_diff(&material.diff)
        .with_test_log(&material.test_log)
        .with_outcome(TaskOutcome::Solved);
    for tool in TOOLS.iter().cycle().take(CALLS) {
        builder.record_tool_call(ToolCallEntry {
            action: tool.as_bytes().to_vec(),
            args_hash: [7; 8],
            result_hash: [9; 8],
            latency_ms: 40,
            cost_microdollars: 110,
            tokens: 620,
            policy_check: PolicyCheck::Allowed,
        });
    }
    builder
        .build_and_sign(KEY)
        .expect("the reference builds it")
        .0
}

fn build(material: &Material) -> Figures {
    let (ours, peer) = per_second(
        BATCH,
        || (0..BATCH).for_each(|number| drop(black_box(bundle(material, number)))),
        || (0..BATCH).for_each(|number| drop(black_box(peer_bundle(material, number)))),
    );
    (ours, peer, PEER)
}

fn verify(bytes: &[u8]) -> Figures {
    let keyring = Keyring::hmac(HmacKey::new(KEY));
    let (ours, peer) = per_second(
        BATCH,
        || (0..BATCH).for_each(|_| assert!(is_valid(black_box(bytes), &keyring))),
        || (0..BATCH).for_each(|_| assert!(peer_parse(black_box(bytes)).is_some())),
    );
    (ours, peer, PEER)
}

fn is_valid(bytes: &[u8], keyring: &Keyring) -> bool {
    Bundle::parse(bytes, Strictness::Strict).is_ok_and(|bundle| bundle.verify(keyring).is_ok())
}

fn peer_parse(bytes: &[u8]) -> Option<ParsedWitness<'_>> {
    let parsed = ParsedWitness::parse(bytes).ok()?;
    parsed.verify_all(KEY, bytes).is_ok().then_some(parsed)
}

/// Measures reading against the hash alone, which no reader can avoid.
#[expect(clippy::cast_precision_loss, reason = "seventeen kilobytes")]
fn raw(bytes: &[u8]) -> Figures {
    let keyring = Keyring::hmac(HmacKey::new(KEY));
    let keyed = Hmac::<Sha256>::new_from_slice(KEY).expect("a key of any length");
    let (ours, peer) = per_second(
        BATCH,
        || (0..BATCH).for_each(|_| assert!(is_valid(black_box(bytes), &keyring))),
        || {
            for _ in 0..BATCH {
                let mut mac = keyed.clone();
                mac.update(black_box(bytes));
                black_box(mac.finalize());
            }
        },
    );
    let megabytes = bytes.len() as f64 / 1e6;
    (
        ours.times(megabytes),
        peer.times(megabytes),
        "hmac 0.13 + sha2 0.11",
    )
}

fn from_memory(bundles: &[Vec<u8>]) -> Figures {
    let keyring = Keyring::hmac(HmacKey::new(KEY));
    let (ours, peer) = per_second(
        bundles.len(),
        || {
            let parts = on_two_threads(bundles, |part, first| {
                let mut collector = Collector::default();
                for (order, bytes) in (first..).zip(part) {
                    let bundle = Bundle::parse(bytes, Strictness::Strict).expect("well-formed");
                    collector.add(&bundle.verify(&keyring).expect("signed"), Some(order));
                }
                collector
            });
            let mut all = Collector::default();
            parts.into_iter().for_each(|part| all.merge(part));
            assert_eq!(all.finish().all.total_tasks as usize, bundles.len());
        },
        || {
            let parts = on_two_threads(bundles, |part, _| {
                part.iter()
                    .filter_map(|bytes| peer_parse(bytes))
                    .collect::<Vec<_>>()
            });
            let mut card = ScorecardBuilder::new();
            parts
                .iter()
                .flatten()
                .for_each(|parsed| card.add_witness(parsed, 0, 0));
            assert_eq!(card.finish().total_tasks as usize, bundles.len());
        },
    );
    (ours, peer, PEER)
}

fn from_files(directory: &Path) -> Figures {
    let paths = scan::find(&[directory.to_owned()]).expect("the files that were just written");
    let (ours, peer) = per_second(
        paths.len(),
        || assert_eq!(score_files(&paths) as usize, paths.len()),
        || {
            let parts = on_two_threads(&paths, |part, _| {
                let mut card = ScorecardBuilder::new();
                for path in part {
                    let bytes = std::fs::read(path).expect("a file that was just written");
                    card.add_witness(&peer_parse(&bytes).expect("signed"), 0, 0);
                }
                card.finish().total_tasks
            });
            assert_eq!(parts.iter().sum::<u32>() as usize, paths.len());
        },
    );
    (ours, peer, PEER)
}

/// Runs the whole path of `roleos scorecard`, without printing.
fn score_files(paths: &[PathBuf]) -> u32 {
    let source = Source {
        paths,
        keyring: &Keyring::hmac(HmacKey::new(KEY)),
        unverified: false,
        options: Options {
            threads: THREADS,
            max_bytes: 1 << 20,
        },
        ledger: None,
    };
    let scored = score::scorecard(source, &Wanted::default(), |_| {});
    scored.expect("no ledger is asked").result.all.total_tasks
}

/// Splits the work in two halves; each gets its start index.
fn on_two_threads<'a, T: Sync, R: Send>(
    all: &'a [T],
    work: impl Fn(&'a [T], u64) -> R + Sync,
) -> Vec<R> {
    let middle = all.len() / 2;
    let (first, second) = all.split_at(middle);
    thread::scope(|scope| {
        let other = scope.spawn(|| work(second, middle as u64));
        let mine = work(first, 0);
        vec![mine, other.join().expect("the other half")]
    })
}

fn fill(directory: &Path, bundles: &[Vec<u8>]) {
    for (number, bytes) in bundles.iter().enumerate() {
        // A thousand files per directory, as after months of use.
        let folder = directory.join(format!("{:03}", number / 1000));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join(format!("{number:06}.rvww"));
        std::fs::File::create(path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
            .expect("room for the files");
    }
}

/// Returns the largest resident size of a separate process that computes a scorecard, in megabytes.
fn memory_in_child(directory: &Path) -> f64 {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg("--memory-of")
        .arg(directory)
        .output()
        .expect("a child process");
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .expect("a number")
}

/// Runs the child of [`memory_in_child`].
pub(crate) fn memory_of_scorecard(directory: &Path) -> f64 {
    let paths = scan::find(&[directory.to_owned()]).expect("the directory");
    score_files(&paths);
    peak_megabytes()
}
