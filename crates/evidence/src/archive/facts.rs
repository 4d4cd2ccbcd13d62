//! Data that is stored beside a bundle's bytes, so that a scorecard over a million bundles need not read them again.

use witness::bundle::Contents;
use witness::extension::field;
use witness::scorecard::{Row, suite_of};

/// The facts of one bundle, computed from its bytes when it is taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its contribution to a scorecard.
    pub row: Row,
    /// Governance mode, by its name.
    pub mode: Option<String>,
    /// The role that the agent played.
    pub role: Option<String>,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// Version of the adapter.
    pub specialist: Option<String>,
    /// The suite of the task.
    pub suite: Option<String>,
}

impl Facts {
    /// Extracts the facts from a checked bundle.
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
