//! The five answers to a call, from the mildest to the strictest.

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run; there is something to say.
    Advise,
    /// It may run under supervision, which judges every program of it when that begins.
    Watch,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

impl Verdict {
    /// As programs read it.
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
