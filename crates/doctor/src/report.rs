//! Result of the examination of a workspace: checks, each with its standing.

use std::path::PathBuf;

use guard::agents::Agent;

/// Standing of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The expected state.
    Good,
    /// Informative; no action is needed.
    Note,
    /// Something is wrong.
    Wrong,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub standing: Standing,
    /// Description in a sentence.
    pub text: String,
    /// Remedy for a problem.
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

/// Report on one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReport {
    pub agent: Agent,
    /// File with the entries; `None` if there are none.
    pub settings: Option<PathBuf>,
    /// Set if the installed command just refused the forbidden call and allowed the harmless one.
    pub protected: bool,
    /// Results of the checks.
    pub checks: Vec<Check>,
}

/// Report on the workspace and all agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Checks of the workspace.
    pub checks: Vec<Check>,
    /// Reports on each agent.
    pub agents: Vec<AgentReport>,
}

impl Report {
    /// Returns `true` if no check failed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let agents = self.agents.iter().flat_map(|agent| &agent.checks);
        let mut all = self.checks.iter().chain(agents);
        all.all(|check| check.standing != Standing::Wrong)
    }
}
