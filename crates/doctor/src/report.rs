//! The outcome of a look at a workspace: checks, each with its standing.

use std::path::PathBuf;

use guard::agents::Agent;

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something is wrong.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub standing: Standing,
    /// In a sentence.
    pub text: String,
    /// What to do about it.
    pub next: Option<String>,
}

impl Check {
    pub(crate) fn good(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            standing: Standing::Good,
            text: text.into(),
            next: None,
        }
    }

    pub(crate) fn note(
        name: &'static str,
        text: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            standing: Standing::Note,
            next: Some(next.into()),
            ..Self::good(name, text)
        }
    }

    pub(crate) fn wrong(
        name: &'static str,
        text: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            standing: Standing::Wrong,
            ..Self::note(name, text, next)
        }
    }
}

/// How one agent stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReport {
    pub agent: Agent,
    /// The file with the entries; `None` when there are none.
    pub settings: Option<PathBuf>,
    /// Whether a call that must be refused was refused by the installed command, just now, and a harmless one was not.
    pub protected: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// About the workspace.
    pub checks: Vec<Check>,
    /// About each agent.
    pub agents: Vec<AgentReport>,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let agents = self.agents.iter().flat_map(|agent| &agent.checks);
        let mut all = self.checks.iter().chain(agents);
        all.all(|check| check.standing != Standing::Wrong)
    }
}
