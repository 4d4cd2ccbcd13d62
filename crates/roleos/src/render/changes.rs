//! Files before and after, as one line each or as a unified diff.

use std::fmt::Write as _;
use std::path::Path;

use guard::install::{Change, shown};
use similar::TextDiff;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Returns the verb for a file's change.
#[must_use]
pub fn verb(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "made",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    }
}

/// Formats the change as a unified diff for `patch -p1` and `git apply`.
#[must_use]
pub fn diff(root: &Path, change: &Change) -> String {
    let name = shown(root, &change.path);
    let text = |bytes: &Option<Vec<u8>>| match bytes {
        None => Some(String::new()),
        Some(bytes) => String::from_utf8(bytes.clone()).ok(),
    };
    let (Some(before), Some(after)) = (text(&change.before), text(&change.after)) else {
        return format!("Binary file {name} is {}\n", verb(change));
    };
    let side = |prefix: &str, bytes: &Option<Vec<u8>>| match bytes {
        None => "/dev/null".to_owned(),
        Some(_) => format!("{prefix}/{name}"),
    };
    let mut patch = String::new();
    let diff = TextDiff::from_lines(&before, &after);
    // Writing to a string cannot fail.
    let _ = write!(
        patch,
        "{}",
        diff.unified_diff()
            .context_radius(CONTEXT)
            .header(&side("a", &change.before), &side("b", &change.after))
    );
    patch
}
