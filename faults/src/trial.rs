//! The oracle: permitted results after a command failed in the middle, compared with clean runs of the same command.

use crate::place::{Place, Ran, Result};
use crate::report::{Finding, Row};
use crate::writer::Writer;

/// Exit code for "done, but not finished".
const UNFINISHED: &str = "exit 3";

/// Answers and states of successive clean runs.
#[derive(Debug)]
pub(crate) struct Clean {
    before: String,
    /// Answer of the first run, and the state after it.
    first: (String, String),
    /// Answer of a second run, and the state after it.
    second: (String, String),
}

impl Clean {
    /// Runs the command twice without faults.
    pub(crate) fn of(writer: &Writer, place: &Place) -> Result<Self> {
        place.restore()?;
        let before = writer.state(place)?;
        let run = || -> Result<(String, String)> {
            let ran = writer.step.run(place)?;
            Ok((writer.answer(&ran), writer.state(place)?))
        };
        let clean = Self {
            before,
            first: run()?,
            second: run()?,
        };
        // A trial that could not see the record would find nothing.
        match clean.before == clean.first.1 {
            true => Err(format!("`{}` changes nothing: {clean:?}", writer.name)),
            false => Ok(clean),
        }
    }
}

/// Judges the answer of a run that was hit and the records after it, and checks that the same command works again.
pub(crate) fn judge(
    writer: &Writer,
    place: &Place,
    clean: &Clean,
    ran: &Ran,
    name: &str,
    row: &mut Row,
) -> Result<()> {
    let answer = writer.answer(ran);
    let words = |more: &str| format!("{name}: {} {more}", ran.complaint());
    if ran.is_crash() {
        row.finds(Finding::Crashed, &words(""));
    }
    let is_allowed = answer == "allow";
    if writer.is_gated && (is_allowed || (answer != "deny" && ran.signal != Some(9))) {
        row.finds(Finding::FailedOpen, &words(&answer));
    }
    let state = writer.state(place)?;
    // A refusal needs no record, but must not remove an existing one.
    let is_acknowledged = answer == clean.first.0 && answer != "deny";
    if is_acknowledged && state != clean.first.1 {
        // Said in the answer: a record that failed, or one that was not begun.
        let told = ran.stderr.contains("warning: ") || ran.stdout.contains("\"not_logged\"");
        if !told {
            row.finds(Finding::Lost, &words(&format!("state {state}")));
        }
    }
    let is_done = state == clean.first.1;
    let is_answered = ran.code.is_some();
    if is_answered
        && !is_acknowledged
        && is_done
        && answer.starts_with("exit ")
        && answer != UNFINISHED
    {
        row.finds(Finding::Misreported, &words("although it was done"));
    }
    if answer == UNFINISHED && state == clean.before {
        row.finds(Finding::Misreported, &words("although nothing was done"));
    }
    let again = writer.step.run(place)?;
    let settled = (writer.answer(&again), writer.state(place)?);
    let is_first = settled == clean.first;
    let is_second = settled == clean.second;
    let is_good = match (is_acknowledged, state == clean.before) {
        // A use that was counted for a call that did not run is lost on purpose.
        (false, true) => is_first,
        (true, _) => is_second || is_first,
        (false, false) => {
            is_first || is_second || [&clean.first.1, &clean.second.1].contains(&&settled.1)
        }
    };
    if !is_good {
        let after = format!("then {settled:?}, {}", again.complaint());
        row.finds(Finding::NeededRepair, &words(&after));
    }
    Ok(())
}
