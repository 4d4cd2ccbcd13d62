//! Kills at moments spread over the run of a command, crowds of the same command, and clocks that go back.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::Options;
use crate::place::{Place, Ran, Result, Started};
use crate::report::{Finding, Row};
use crate::trial::{self, Clean};
use crate::writer::Writer;

/// Number of simultaneous commands of a crowd.
const CROWD: usize = 8;

/// Seconds by which the clock goes back: a correction, a day, ten years.
const BEHIND: &[u64] = &[3, 86_400, 315_360_000];

/// Kills the command repeatedly.
pub(crate) fn kills(options: &Options, writer: &Writer, times: u32) -> Result<Row> {
    let place = Place::new(&options.programs)?;
    writer.set_up(&place)?;
    let clean = Clean::of(writer, &place)?;
    place.restore()?;
    let started = Instant::now();
    writer.step.run(&place)?;
    let whole = started.elapsed();
    let mut row = Row::new("kill", writer.name);
    for attempt in 0..times {
        place.restore()?;
        let running = start(writer, &place, &[])?;
        // The golden ratio spreads the moments evenly, for any number of them.
        let moment = f64::from(attempt) * 0.618_034 % 1.0;
        thread::sleep(whole.mul_f64(moment));
        let ran = kill(running)?;
        row.tried += 1;
        let name = format!("killed after {moment:.2} of the run");
        trial::judge(writer, &place, &clean, &ran, &name, &mut row)?;
    }
    Ok(row)
}

fn kill(mut running: Started) -> Result<Ran> {
    // A command that has already ended is a trial like any other.
    running.child.kill().ok();
    running.wait(Duration::from_secs(5))
}

/// Runs the command many times at once, and one after the other: answers and records must be the same.
pub(crate) fn crowd(options: &Options, writer: &Writer, rounds: u32) -> Result<Row> {
    let place = Place::new(&options.programs)?;
    writer.set_up(&place)?;
    place.restore()?;
    let mut expected = Vec::new();
    for _ in 0..CROWD {
        expected.push(writer.answer(&writer.step.run(&place)?));
    }
    expected.sort();
    let state = writer.state(&place)?;
    let mut row = Row::new("crowd", writer.name);
    for _ in 0..rounds {
        place.restore()?;
        let running: Result<Vec<Started>> =
            (0..CROWD).map(|_| start(writer, &place, &[])).collect();
        let mut answers = Vec::new();
        for one in running? {
            let ran = one.wait(Duration::from_secs(60))?;
            if ran.is_crash() {
                row.finds(Finding::Crashed, &ran.complaint());
            }
            answers.push(writer.answer(&ran));
        }
        answers.sort();
        row.tried += CROWD as u64;
        let seen = writer.state(&place)?;
        if (&answers, &seen) != (&expected, &state) {
            let words = format!("{answers:?} {seen}, in a row {expected:?} {state}");
            row.finds(Finding::Lost, &words);
        }
    }
    Ok(row)
}

/// Runs the command with a clock that went back since the workspace was created.
pub(crate) fn clocks(options: &Options, writer: &Writer) -> Result<Row> {
    let place = Place::new(&options.programs)?;
    writer.set_up(&place)?;
    let clean = Clean::of(writer, &place)?;
    let mut row = Row::new("clock going back", writer.name);
    for seconds in BEHIND {
        place.restore()?;
        let seconds = seconds.to_string();
        let running = start(writer, &place, &[("ROLEOS_TEST_CLOCK_BEHIND", &seconds)])?;
        let ran = running.wait(Duration::from_secs(40))?;
        row.tried += 1;
        let name = format!("{seconds} s behind");
        trial::judge(writer, &place, &clean, &ran, &name, &mut row)?;
    }
    Ok(row)
}

fn start(writer: &Writer, place: &Place, variables: &[(&str, &str)]) -> Result<Started> {
    let (words, input) = writer.step.words(&place.root());
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = place.program(&names);
    let mut command = place.command(Path::new(&program));
    command.args(&words).envs(variables.iter().copied());
    Started::new(command, &input)
}
