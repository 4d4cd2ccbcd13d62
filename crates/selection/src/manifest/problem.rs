//! Problems of a document, each with its path.

/// Problem in a manifest or an audit set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the value, for example `routing.fallback`; empty for the whole document.
    pub path: String,
    /// Description of the problem.
    pub message: String,
}

/// Drops the problems inside of a value that has a problem itself: everything in a missing mapping is missing too.
pub(super) fn outermost(mut problems: Vec<Problem>) -> Vec<Problem> {
    let paths: Vec<String> = problems.iter().map(|one| one.path.clone()).collect();
    let lies_in = |path: &str, outer: &str| {
        let rest = path.strip_prefix(outer);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    problems.retain(|one| !paths.iter().any(|outer| lies_in(&one.path, outer)));
    problems
}
