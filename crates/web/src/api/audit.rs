//! Who did what and why, in the audit log of the archive (`roleos token log`, `/api/acts`).

use evidence::archive::people::Act;

use super::Desk;
use crate::login::Person;
use crate::problem::Problem;

/// What stands in the log where an act asks for no reason and none was given.
const NO_REASON: &str = "(no reason given)";

/// Notes an act, does it, and notes if it failed. What cannot be noted is not done.
pub(crate) fn audited<T>(
    desk: &Desk,
    person: &Person,
    (what, subject, why): (&str, &str, &str),
    work: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let why = match why.trim() {
        "" => NO_REASON,
        why => why,
    };
    let note = |what: &str, why: &str| {
        let act = Act::now(&person.name, what, subject, why);
        desk.gate.archive().note(&act)
    };
    note(what, why)?;
    let done = work();
    if let Err(problem) = &done {
        // The act itself is in the log; that it failed is said to the person in any case.
        note(&format!("{what}.failed"), &problem.message).ok();
    }
    done
}
