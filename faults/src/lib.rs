//! The real programs under faults: failing calls, kills, full disks, damaged files, crowds, clocks, bad upstreams.
//!
//! `writer` is the table of commands, `trial` the oracle, `report` the table that comes out; every other module is one
//! kind of fault. Prints nothing; a trial that finds something counts it and goes on.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::disk::Wrong;
use crate::report::Finding;
pub use crate::report::{Report, Row};
pub use crate::walk::can_inject;
use crate::writer::WRITERS;

mod damage;
mod disk;
mod place;
mod report;
mod serving;
mod storm;
mod trial;
mod upstreams;
mod walk;
mod writer;

/// Extent of the trials.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `roleos` and `roleos-hook`.
    pub programs: PathBuf,
    /// Stride of the walk over calls; 1 for all.
    pub stride: usize,
    /// Time of the walk over failing calls; everything else is not limited.
    pub time: Duration,
    /// Text that the name of a row must contain.
    pub only: Option<String>,
}

impl Options {
    /// Runs the same work on a few threads and sums their findings.
    pub(crate) fn together(
        &self,
        work: impl Fn() -> place::Result<Row> + Sync,
    ) -> place::Result<Row> {
        let threads = thread::available_parallelism().map_or(2, NonZero::get);
        thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
            let mut sum: Option<Row> = None;
            for thread in started {
                let row = thread
                    .join()
                    .map_err(|_| "a worker panicked".to_owned())??;
                match &mut sum {
                    Some(sum) => sum.merge(row),
                    None => sum = Some(row),
                }
            }
            sum.ok_or_else(|| "no worker ran".to_owned())
        })
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }
}

/// Runs everything, and passes each row to `each` when it is done.
pub fn run(options: &Options, mut each: impl FnMut(&Row)) -> Report {
    let mut report = Report::default();
    // A trial that could not be run is a finding, and the others are run.
    let mut add = |fault: &str, subject: &str, row: place::Result<Row>| {
        let row = row.unwrap_or_else(|why| {
            let mut row = Row::new(fault, subject);
            row.finds(Finding::Crashed, &why);
            row
        });
        each(&row);
        report.rows.push(row);
    };
    let (kills, rounds) = if options.stride > 1 { (6, 1) } else { (200, 5) };
    for writer in WRITERS {
        let wants = |fault: &str| options.wants(&format!("{fault}: {}", writer.name));
        if wants("kill") {
            add("kill", writer.name, storm::kills(options, writer, kills));
        }
        if wants("crowd") {
            add("crowd", writer.name, storm::crowd(options, writer, rounds));
        }
        if wants("clock going back") {
            add(
                "clock going back",
                writer.name,
                storm::clocks(options, writer),
            );
        }
        for wrong in Wrong::ALL {
            if wants(wrong.name()) {
                let row = disk::disk(options, writer, wrong);
                add(wrong.name(), writer.name, row);
            }
        }
    }
    if options.wants("kill: up") {
        add("kill", "up, under load", serving::kills(options, kills));
    }
    if options.wants("full disk: up") {
        let row = serving::full_disk(options);
        add("full disk", "up, under load", row);
    }
    if options.wants("damage: every file") {
        add("damage", "every file", damage::damage(options));
    }
    for (name, row) in upstreams::upstreams(options) {
        add("upstream", name, row);
    }
    let started = Instant::now();
    let walked: Vec<_> = WRITERS
        .iter()
        .filter(|writer| options.wants(&format!("failing call: {}", writer.name)))
        .collect();
    for (at, writer) in walked.iter().enumerate() {
        if !can_inject() {
            let row = Row::skipped("failing call", writer.name, "install strace");
            add("failing call", writer.name, Ok(row));
            continue;
        }
        // Each gets the same part of the time that is left.
        let left = options.time.saturating_sub(started.elapsed());
        let share = left / u32::try_from(walked.len() - at).unwrap_or(1);
        let row = walk::walk(options, writer, Instant::now() + share);
        add("failing call", writer.name, row);
    }
    report
}
