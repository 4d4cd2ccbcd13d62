//! Compares a run with an earlier one, with its history and with fresh attempts.

use std::path::Path;

use prove::compare::Comparison;
use prove::run::{self, RunFolder, Runner};

use crate::failure::Failure;
use crate::ui::{DIM, Ui};

/// Compares a run with an earlier one, and repeats lost tasks that were solid.
///
/// # Errors
/// There is no such run, or a trial cannot be run.
pub(super) fn compare_with(
    ui: &Ui,
    runs: &Path,
    runner: &Runner<'_>,
    name: &str,
    times: u32,
) -> Result<Option<(String, Comparison)>, Failure> {
    let (facts, folder) = (&runner.facts, &runner.folder);
    let before = match name {
        "last" => run::list(runs).into_iter().rev().find(|other| {
            let known = RunFolder::of(runs, other).facts();
            *other != facts.run
                && known.is_ok_and(|known| {
                    known.suite_name == facts.suite_name && known.agent == facts.agent
                })
        }),
        name => Some(name.to_owned()),
    };
    let Some(before) = before else {
        ui.note("there is no earlier run to compare with");
        return Ok(None);
    };
    let mut found = compare(runs, &before, folder)?;
    if times > 0 && !found.solid.is_empty() {
        ui.note(format_args!(
            "{DIM}{} tasks are tried again{DIM:#}",
            found.solid.len()
        ));
        runner.recheck(&found.solid, times, &|_, _| {})?;
        found.add_rechecks(&folder.rechecks(facts));
    }
    Ok(Some((before, found)))
}

/// Compares two runs, with the history of the later one.
///
/// # Errors
/// There is no such run.
pub(super) fn compare(runs: &Path, before: &str, now: &RunFolder) -> Result<Comparison, Failure> {
    let records = |folder: &RunFolder| Ok::<_, Failure>(folder.records(&folder.facts()?));
    let facts = now.facts()?;
    let today = now.records(&facts);
    let mut found = Comparison::of(&records(&RunFolder::of(runs, before))?, &today);
    let history: Result<Vec<_>, Failure> =
        run::comparable(runs, &facts).iter().map(records).collect();
    found.add_history(&history?, &today);
    found.add_rechecks(&now.rechecks(&facts));
    Ok(found)
}
