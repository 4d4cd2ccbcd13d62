//! The learning loop, run from registration to serving through the real program, with its results.
//!
//! Only the models are simulated: exams, certificates, promotions, contests, training and requests go through
//! `roleos`. Only figures that need thousands of repetitions call the deciding functions directly ([`repeated`]).
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to the person who runs it"
)]

mod chance;
#[path = "../../xtask/src/failure.rs"]
mod failure;
mod models;
mod place;
mod repeated;
mod report;
mod scenario;
#[path = "../../e2e/src/serving.rs"]
mod serving;
mod traffic;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use clap::Parser;

use crate::failure::{Failure, Result};
use crate::report::Run;

/// What to play.
#[derive(Debug, Parser)]
struct Arguments {
    /// The `roleos` to play with.
    #[arg(long, value_name = "FILE", default_value = "roleos")]
    roleos: PathBuf,
    /// Where words, inputs and answers come from; several make several columns.
    #[arg(long = "seed", value_name = "N", default_values_t = [1])]
    seeds: Vec<u64>,
    /// Only these scenarios; nothing is written then.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Fresh requests per scenario.
    #[arg(long, value_name = "N", default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1000..=100_000))]
    requests: u64,
    /// Folder of documents, for the table and the picture.
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a goal was missed");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool> {
    let started = Instant::now();
    // Seeds share nothing, and most of the time is spent waiting for other processes.
    let runs: Vec<Result<Run>> = thread::scope(|scope| {
        let seeds = arguments.seeds.iter();
        let threads: Vec<_> = seeds
            .map(|seed| scope.spawn(move || play(arguments, *seed, started)))
            .collect();
        let broken = || Err(Failure::new("a seed was not played to its end"));
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Run>>| {
            thread.join().unwrap_or_else(|_| broken())
        };
        threads.into_iter().map(join).collect()
    });
    let runs: Vec<Run> = runs.into_iter().collect::<Result<_>>()?;
    println!("{}", report::table(&runs));
    if let Some(docs) = arguments
        .docs
        .as_ref()
        .filter(|_| arguments.only.is_empty())
    {
        report::write(docs, &runs)?;
    }
    Ok(runs.iter().all(Run::holds))
}

/// Runs one seed.
fn play(arguments: &Arguments, seed: u64, started: Instant) -> Result<Run> {
    let wanted = |name: &str| {
        let mut only = arguments.only.iter();
        arguments.only.is_empty() || only.any(|only| name.contains(only.as_str()))
    };
    let tell = |text: &str| {
        eprintln!("[{:>4} s] seed {seed}: {text}", started.elapsed().as_secs());
    };
    tell("begins");
    let roleos = &arguments.roleos;
    let mut figures = scenario::play(roleos, seed, arguments.requests, &wanted, &tell)?;
    let (repeated, halting) = repeated::figures(seed, &wanted, &tell);
    figures.extend(repeated);
    Ok(Run {
        seed,
        figures,
        halting,
    })
}
