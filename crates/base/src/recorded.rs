//! The mark that this process has recorded the act of its command. From then on an error does not mean that nothing
//! was done, whatever failed.
//!
//! One command is one process, so one mark is enough. `roleos up` serves many requests and never looks at it.

use std::sync::atomic::{AtomicBool, Ordering};

static RECORDED: AtomicBool = AtomicBool::new(false);

/// Marks the point behind which the command counts as done.
pub fn mark() {
    RECORDED.store(true, Ordering::Relaxed);
}

/// Returns `true` if that point was passed.
#[must_use]
pub fn is_marked() -> bool {
    RECORDED.load(Ordering::Relaxed)
}
