//! Refs of the snapshots for undoing a session.

use actions::git_command;
use authority::verdict::Verdict;
use shell::value::for_people;
use shell::words::names;

use crate::Guarded;

/// Git verbs that change refs.
const CHANGES_REFS: &[&str] =
    names!("update-ref symbolic-ref reflog fetch pull replace branch filter-branch filter-repo");

/// Returns the objection to a git call that changes the refs of the snapshots. `input` is its standard input.
pub fn change(arguments: &[String], input: Option<&str>) -> Option<Guarded> {
    const REFS: &str = "refs/roleos";
    let call = git_command(arguments);
    let (verb, rest) = call.rest.split_first()?;
    if !CHANGES_REFS.contains(&verb.as_str()) {
        return None;
    }
    let is_changed = |word: &str| word.rsplit(':').next().is_some_and(|to| to.contains(REFS));
    let by_input =
        rest.iter().any(|word| word == "--stdin") && input.is_some_and(|text| text.contains(REFS));
    let named = rest.iter().find(|word| is_changed(word)).cloned();
    let what = named.or_else(|| by_input.then(|| REFS.to_owned()))?;
    let reason = format!(
        "it changes `{}`: the repository holds the snapshots from which a session is undone",
        for_people(&what)
    );
    Some(Guarded::new(what, Verdict::Deny, reason))
}
