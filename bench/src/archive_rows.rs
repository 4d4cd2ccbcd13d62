//! Evidence in the team's store: verified bundles beside a plain insert of the same bytes on the same server, the memory of
//! the program that takes them in, and a scorecard over a million of them.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement that cannot be made has no figure"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use base::files;
use base::workspace::Workspace;
use evidence::archive::facts::Facts;
use evidence::archive::intake::{Answer, Intake};
use evidence::archive::people::Act;
use evidence::archive::shipment::{Packer, Slice};
use evidence::archive::{Archive as _, Item, NewBundle};
use team::postgres::types::Type;
use team::postgres::{Client, Config, NoTls};
use team::throwaway::{Durability, Server};
use team::{Address, DatabaseArchive, Team};
use witness::builder::Builder;
use witness::bundle::{Bundle, Strictness};
use witness::key::SigningKey;
use witness::ledger::Leaf;
use witness::policy::Policy;
use witness::scorecard::Wanted;
use witness::wire::{Mode, Outcome, TaskId};

use crate::measure::{self, Figure};
use crate::row::{Goal, Row};

/// Bytes of a bundle.
const BYTES: usize = 17 * 1024;
/// Bundles of a shipment, and of one plain insert.
const BATCH: usize = 64;
/// Requests at once, as many as a server judges.
const CALLERS: usize = 3;
const TURNS: usize = 3;
/// Bundles of one turn.
const TURN: usize = 3072;
/// Bundles under the scorecard.
const MANY: usize = 1_000_000;
/// Of which so many are computed from their bytes again.
const CHECKED: u64 = 1000;

/// Rows whose names are wanted.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let (speed, memory, card) = (
        "team ingest of verified 17 KB bundles",
        "memory of a program that takes bundles in",
        "team scorecard over 1,000,000 bundles",
    );
    let mut rows = Vec::new();
    if wanted(speed) || wanted(memory) {
        let (ours, peer, megabytes) = ingest();
        let name = "plain batched insert of the same bytes, same server";
        rows.push(Row::new(
            speed,
            (ours, peer),
            name,
            "1/s",
            Goal::AtLeast(0.5),
        ));
        rows.push(Row::within(memory, megabytes, 150.0, "MB"));
    }
    if wanted(card) {
        rows.push(Row::within(card, scorecard(), 2.0, "s"));
    }
    rows
}

fn signer() -> SigningKey {
    SigningKey::new(&[7; 32])
}

fn archive(url: &str, folder: &Path) -> DatabaseArchive {
    let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
    DatabaseArchive::new(team, &Workspace::at(folder).unwrap())
}

/// A bundle of a task; `filler` bytes of text that differs from task to task.
fn bundle(number: usize, filler: usize, signer: &SigningKey) -> Vec<u8> {
    let created = 1_767_225_600_000_000_000 + number as u64 * 1_000_000_000;
    let task = TaskId((number as u128).to_be_bytes());
    let mut builder = Builder::new(task, Policy::of_mode(Mode::Autonomous), created);
    builder.spec(format!("task {number}"));
    builder.provenance(
        "model",
        ["small", "large", "other"].get(number % 3).unwrap(),
    );
    builder.provenance("role", "editor");
    let mut diff = String::new();
    let mut state = number as u64;
    while diff.len() < filler {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        diff.push_str(&format!(
            "+    let value_{:x} = compute({state:x});\n",
            state >> 40
        ));
    }
    builder.diff(format!("{diff}+1\n"));
    if number.is_multiple_of(2) {
        builder.test_log(
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        builder.outcome(Outcome::Solved);
    } else {
        builder.outcome(Outcome::Failed);
    }
    builder.build(None, Some(signer)).unwrap()
}

/// Bundles per second that a program takes in, rows per second of the plain insert, and the program's memory in MB.
fn ingest() -> (Figure, Figure, f64) {
    let server = Server::start(Durability::Synced).unwrap();
    let url = server.database().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&url, folder.path());
    let key = signer();
    archive
        .enroll(
            &key.public(),
            "bench",
            &Act::now("bench", "key.enroll", "bench", "bench"),
        )
        .unwrap();
    connect(&url)
        .batch_execute("CREATE TABLE plain (number bigint PRIMARY KEY, bytes bytea NOT NULL)")
        .unwrap();
    let (mut ours, mut peer, mut megabytes) = (Vec::new(), Vec::new(), 0.0);
    let turn = measure::size(TURN).next_multiple_of(BATCH * CALLERS);
    for number in 0..TURNS {
        let first = number * turn;
        let bundles: Vec<Vec<u8>> = (first..first + turn)
            .map(|task| bundle(task, BYTES - 512, &key))
            .collect();
        let shipments = tempfile::tempdir().unwrap();
        for (place, batch) in bundles.chunks(BATCH).enumerate() {
            let mut packer = Packer::new(0);
            assert!(batch.iter().all(|bytes| packer.bundle(bytes)));
            let path = shipments.path().join(place.to_string());
            files::write_plainly(&path, &packer.sign(&key)).unwrap();
        }
        peer.push(turn as f64 / plain(&url, first, &bundles));
        let (seconds, memory) = take_in(&url, shipments.path());
        ours.push(turn as f64 / seconds);
        megabytes = f64::max(megabytes, memory);
    }
    let size = archive.identity().unwrap().size;
    assert_eq!(size, (TURNS * turn) as u64, "everything is logged once");
    let places: Vec<u64> = (0..size).step_by(97).collect();
    assert!(archive.differing(&places).unwrap().is_empty());
    (Figure::of(ours), Figure::of(peer), megabytes)
}

fn connect(url: &str) -> Client {
    url.parse::<Config>().unwrap().connect(NoTls).unwrap()
}

/// Inserts the bytes and nothing else, over as many connections. Returns the seconds.
fn plain(url: &str, first: usize, bundles: &[Vec<u8>]) -> f64 {
    let next = AtomicUsize::new(0);
    let batches: Vec<&[Vec<u8>]> = bundles.chunks(BATCH).collect();
    let mut clients: Vec<Client> = (0..CALLERS).map(|_| connect(url)).collect();
    let began = Instant::now();
    thread::scope(|scope| {
        for client in &mut clients {
            let (next, batches) = (&next, &batches);
            scope.spawn(move || {
                let sql = "INSERT INTO plain SELECT * FROM unnest($1::bigint[], $2::bytea[])";
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = batches.get(place) else {
                        return;
                    };
                    let start = (first + place * BATCH) as i64;
                    let numbers: Vec<i64> = (start..).take(batch.len()).collect();
                    let arguments = [
                        (&numbers as _, Type::INT8_ARRAY),
                        (batch as _, Type::BYTEA_ARRAY),
                    ];
                    client.execute_typed(sql, &arguments).unwrap();
                }
            });
        }
    });
    began.elapsed().as_secs_f64()
}

/// Lets a program take shipments in. Returns its seconds and its memory in MB.
fn take_in(url: &str, shipments: &Path) -> (f64, f64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ingest-into", url, "--shipments"])
        .arg(shipments)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let (seconds, memory) = text.trim().split_once(' ').unwrap();
    (seconds.parse().unwrap(), memory.parse().unwrap())
}

/// The program that takes shipments in: prints its seconds and its memory.
pub(crate) fn intake(url: &str, shipments: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(url, folder.path());
    archive.identity().unwrap();
    let intake = Intake::of(Arc::new(archive));
    let count = fs::read_dir(shipments).unwrap().count();
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            let (next, intake) = (&next, &intake);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count {
                        return;
                    }
                    let bytes = fs::read(shipments.join(place.to_string())).unwrap();
                    let taken = intake.take(&bytes.into()).unwrap();
                    let is_new = |answer: &Answer| {
                        matches!(
                            answer,
                            Answer::Kept {
                                is_known: false,
                                proof: Some(_)
                            }
                        )
                    };
                    assert!(taken.answers.iter().all(is_new));
                }
            });
        }
    });
    format!(
        "{} {}",
        began.elapsed().as_secs_f64(),
        measure::peak_megabytes()
    )
}

/// Seconds of a scorecard.
fn scorecard() -> Figure {
    let server = Server::start(Durability::Quick).unwrap();
    let url = server.database().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&url, folder.path());
    let many = measure::size(MANY);
    thread::scope(|scope| {
        let (send, received) = std::sync::mpsc::sync_channel::<Vec<Item>>(2);
        scope.spawn(move || {
            let key = signer();
            for first in (0..many).step_by(2048) {
                let items = (first..many.min(first + 2048)).map(|number| item(number, &key));
                send.send(items.collect()).unwrap();
            }
        });
        for items in received {
            archive.commit(&items).unwrap();
        }
    });
    connect(&url)
        .batch_execute("VACUUM ANALYZE leaves")
        .unwrap();
    let wanted = Wanted::default();
    let mut work = || {
        let report = archive.scorecard(&wanted).unwrap();
        assert_eq!(report.all.total_tasks as usize, many);
    };
    let times = measure::times(5, &mut work);
    let mut state = 1_u64;
    let places: Vec<u64> = (0..CHECKED)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 20) % many as u64
        })
        .collect();
    assert!(archive.differing(&places).unwrap().is_empty());
    Figure::of_times(&times, 1.0)
}

fn item(number: usize, key: &SigningKey) -> Item {
    let bytes = bundle(number, 0, key);
    let parsed = Bundle::parse(&bytes, Strictness::Strict).unwrap();
    let claims = parsed.claims();
    Item::Bundle(Box::new(NewBundle {
        leaf: Leaf {
            task_id: claims.header().task_id,
            created_ns: claims.header().created_ns,
            bundle_sha256: base::digest(&bytes),
        },
        signer: key.public().id(),
        facts: Facts::of(claims),
        bytes: Slice::whole(bytes.clone()),
    }))
}
