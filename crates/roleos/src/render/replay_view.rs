//! stub
pub struct ReplayView<'a> {
    pub file: &'a str,
    pub verdict: &'a witness::evidence::Verdict,
    pub signers: witness::evidence::Signers,
    pub warnings: &'a [witness::bundle::Reason],
    pub sha256: [u8; 32],
    pub contents: &'a witness::bundle::Contents<'a>,
    pub check: &'a witness::replay::OutcomeCheck,
}
