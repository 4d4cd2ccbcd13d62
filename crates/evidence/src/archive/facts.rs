//! What is kept of a bundle beside its bytes, so that a scorecard over a million need not read them again.

use witness::bundle::Contents;
use witness::extension::field;
use witness::scorecard::{Row, suite_of};

/// The facts of one bundle, computed from its bytes when it is taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it contributes to a scorecard.
    pub row: Row,
    /// Governance mode, by its name.
    pub mode: Option<String>,
    /// The role that was played.
    pub role: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// Version of the adapter.
    pub specialist: Option<String>,
    /// The suite of the task.
    pub suite: Option<String>,
}

impl Facts {
    /// Reads the facts off a checked bundle.
    #[must_use]
    pub fn of(contents: &Contents<'_>) -> Self {
        let facts = &contents.extensions().provenance;
        let fact = |name| facts.get(name).cloned();
        Self {
            row: Row::of(contents),
            mode: contents.mode().map(|mode| mode.name().to_owned()),
            role: fact(field::ROLE),
            model: fact(field::MODEL),
            agent: fact(field::AGENT),
            specialist: fact(field::SPECIALIST),
            suite: suite_of(contents).map(str::to_owned),
        }
    }
}
