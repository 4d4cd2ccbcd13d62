//! What can be wrong in a document, and where.

/// Something wrong in a manifest or an audit set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, `routing.fallback`; empty for the whole.
    pub path: String,
    /// What.
    pub message: String,
}

/// Leaves out what lies inside of something that is wrong itself: what is in a mapping that is not there is missing too,
/// and saying so again helps nobody.
pub(super) fn outermost(mut problems: Vec<Problem>) -> Vec<Problem> {
    let paths: Vec<String> = problems.iter().map(|one| one.path.clone()).collect();
    let lies_in = |path: &str, outer: &str| {
        let rest = path.strip_prefix(outer);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    problems.retain(|one| !paths.iter().any(|outer| lies_in(&one.path, outer)));
    problems
}
