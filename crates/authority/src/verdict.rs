//! The five answers to a call, from the mildest to the strictest.

/// Answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run, with advice.
    Advise,
    /// It may run under supervision, which judges every program of it when that begins.
    Watch,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

impl Verdict {
    /// Returns the name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Advise => "advise",
            Self::Watch => "watch",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}
