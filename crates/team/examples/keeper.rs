//! A program that takes shipments of bundles and lines into the team's archive as fast as it can, for tests that kill it.
//!
//! Arguments: URL, folder, number of the first task, offset of its clock in seconds. It delivers everything twice, as a
//! machine does that missed an answer, and again while the archive is away. It prints the number of every task that was
//! acknowledged with a proof and of the line beside it.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot be prepared has failed"
)]

use std::io::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base::workspace::Workspace;
use evidence::archive::LogName;
use evidence::archive::intake::{Answer, Intake, Refused};
use evidence::archive::shipment::Packer;
use team::{Address, DatabaseArchive, Team};
use witness::builder::Builder;
use witness::key::SigningKey;
use witness::policy::Policy;
use witness::wire::{Mode, TaskId};

/// Bundles, and lines, of a shipment.
const BATCH: u64 = 8;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, folder, first, offset] = arguments.as_slice() else {
        std::process::exit(2);
    };
    let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
    let workspace = Workspace::at(folder.as_ref()).unwrap();
    let intake = Intake::of(Arc::new(DatabaseArchive::new(team, &workspace)));
    let (first, offset): (u64, i64) = (first.parse().unwrap(), offset.parse().unwrap());
    thread::scope(|scope| {
        for worker in 0..2 {
            let intake = &intake;
            scope.spawn(move || keep(intake, first + worker * 1_000_000, offset));
        }
    });
}

fn keep(intake: &Intake, first: u64, offset: i64) {
    let key = SigningKey::new(&[9; 32]);
    let log = LogName::runs();
    for start in (first..).step_by(8) {
        let mut packer = Packer::new(0);
        for number in start..start + BATCH {
            let now = base::clock::now_ns().saturating_add_signed(offset * 1_000_000_000);
            let task = TaskId(u128::from(number).to_be_bytes());
            let mut builder = Builder::new(task, Policy::of_mode(Mode::Autonomous), now);
            builder.spec(format!("task {number}"));
            assert!(packer.bundle(&builder.build(None, Some(&key)).unwrap()));
            assert!(packer.line(&log, number, format!("{{\"n\":{number}}}").as_bytes()));
        }
        let bytes: Arc<[u8]> = packer.sign(&key).into();
        for _ in 0..2 {
            let answers = deliver(intake, &bytes);
            assert!(
                answers.iter().all(|one| matches!(one, Answer::Kept { .. })),
                "{answers:?}"
            );
        }
        let mut out = std::io::stdout().lock();
        for number in start..start + BATCH {
            writeln!(out, "{number}").unwrap();
        }
        out.flush().unwrap();
    }
}

fn deliver(intake: &Intake, bytes: &Arc<[u8]>) -> Vec<Answer> {
    loop {
        match intake.take(bytes) {
            Ok(taken) => return taken.answers,
            Err(Refused::Archive(error)) if error.is_retryable() => {
                thread::sleep(Duration::from_millis(50));
            }
            Err(other) => panic!("{other}"),
        }
    }
}
