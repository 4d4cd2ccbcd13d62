//! Answers to a tree that would arrive over protected things.

use crate::value::for_people;
use crate::verdict::Verdict;

pub(crate) use super::things::Thing;
use super::{Guard, Guarded, is_within};

/// Returns `true` if a thing is refused rather than asked about.
pub(crate) fn is_denied(thing: Thing) -> bool {
    thing.is_denied()
}

/// Returns the question about a source that cannot be listed and goes over the workspace or the home directory.
pub(crate) fn unlisted(guard: &Guard, target: &str, home: &str) -> Option<Guarded> {
    let holds = |place: &str| place.len() > 1 && is_within(place, target);
    if !guard.root.as_deref().is_some_and(holds) && !holds(home) {
        return None;
    }
    let shown = for_people(target);
    Some(Guarded {
        reason: format!(
            "it brings files that cannot be listed into `{shown}`, where the rules of Role OS and the settings of \
             agents lie; unpack or copy into a new folder first"
        ),
        what: shown,
        verdict: Verdict::Ask,
        span: None,
    })
}
