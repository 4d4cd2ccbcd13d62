//! Filter and grouping of the bundles of a scorecard or a curve.

use crate::bundle::Contents;
use crate::curve::Period;
use crate::extension::field;

/// Filter of the bundles, and grouping of the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Grouping of the result.
    pub by: Option<GroupBy>,
    /// Filter of the bundles.
    pub filter: Filter,
    /// Set if sessions that attempted no task count as well.
    pub all: bool,
}

/// Conditions that a bundle must meet; an empty filter accepts every bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Created at this time or later, in nanoseconds since 1970.
    pub since_ns: Option<u64>,
    /// Created before this time.
    pub until_ns: Option<u64>,
    /// Role of the agent.
    pub role: Option<String>,
    /// Model that answered.
    pub model: Option<String>,
    /// Suite of the task.
    pub suite: Option<String>,
}

impl Filter {
    /// Returns `true` if the bundle meets every condition.
    #[must_use]
    pub fn holds(&self, contents: &Contents<'_>) -> bool {
        let facts = &contents.extensions().provenance;
        let is = |wanted: &Option<String>, name| {
            wanted
                .as_ref()
                .is_none_or(|wanted| facts.get(name) == Some(wanted))
        };
        self.is_in_time(contents.header().created_ns)
            && is(&self.role, field::ROLE)
            && is(&self.model, field::MODEL)
            && self
                .suite
                .as_ref()
                .is_none_or(|wanted| suite_of(contents) == Some(wanted))
    }

    /// Returns `true` if a bundle of this time is neither too old nor too new.
    #[must_use]
    pub fn is_in_time(&self, created_ns: u64) -> bool {
        self.since_ns.is_none_or(|since| created_ns >= since)
            && self.until_ns.is_none_or(|until| created_ns < until)
    }
}

/// Returns the suite of a bundle: the fact `suite`, else the part of `suite_task` before the last slash.
#[must_use]
pub fn suite_of<'a>(contents: &'a Contents<'_>) -> Option<&'a str> {
    let facts = &contents.extensions().provenance;
    let named = facts.get(field::SUITE).map(String::as_str);
    named.or_else(|| {
        let (suite, _) = facts.get(field::SUITE_TASK)?.rsplit_once('/')?;
        Some(suite)
    })
}

/// Grouping of a scorecard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Calendar week or day of the bundle.
    Period(Period),
    /// Governance mode of the header.
    Mode,
    /// The suite of the task.
    Suite,
    /// A provenance fact.
    Field(String),
}

impl GroupBy {
    /// Values of [`GroupBy::parse`], for people.
    pub const WORDS: &'static str =
        "week, day, mode, role, model, agent, specialist, suite, or fact:NAME";

    /// Parses one of [`GroupBy::WORDS`]; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "week" => Self::Period(Period::Week),
            "day" => Self::Period(Period::Day),
            "mode" => Self::Mode,
            "suite" => Self::Suite,
            field::ROLE | field::MODEL | field::AGENT | field::SPECIALIST => {
                Self::Field(text.to_owned())
            }
            other => {
                let name = other.strip_prefix("fact:")?;
                (!name.is_empty()).then(|| Self::Field(name.to_owned()))?
            }
        })
    }

    /// Returns the group of one bundle; `(none)` if it does not name it.
    #[must_use]
    pub fn group(&self, contents: &Contents<'_>) -> String {
        let known = match self {
            Self::Period(period) => Some(period.label(contents.header().created_ns)),
            Self::Mode => contents.mode().map(|mode| mode.name().to_owned()),
            Self::Suite => suite_of(contents).map(str::to_owned),
            Self::Field(name) => contents.extensions().provenance.get(name).cloned(),
        };
        known.unwrap_or_else(|| "(none)".to_owned())
    }
}
