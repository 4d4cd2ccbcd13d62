//! What a replay is made of, whether it becomes text or a page.

use witness::bundle::{Contents, Reason};
use witness::evidence::{Signers, Verdict};
use witness::replay::OutcomeCheck;

/// One bundle, judged, with the check of its outcome.
#[derive(Clone, Copy, Debug)]
pub struct ReplayView<'a> {
    /// Name of the file, as the user gave it.
    pub file: &'a str,
    /// What became of the bundle.
    pub verdict: &'a Verdict,
    /// Whose signatures were found good.
    pub signers: Signers,
    /// What a reader should know although the bundle was read.
    pub warnings: &'a [Reason],
    /// SHA-256 of the bundle.
    pub sha256: [u8; 32],
    /// What it says.
    pub contents: &'a Contents<'a>,
    /// Whether the outcome agrees with the test log.
    pub check: &'a OutcomeCheck,
}
