//! Problems of a registry: the rule, the position, and the extent of the refusal.

use std::fmt;

use crate::text::head;

/// Named rules of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The base model is of the Claude family.
    R1,
    /// The active version is uncertified.
    R2,
    /// Two versions of a role share an id.
    R3,
    /// The active version is not among the versions.
    R4,
    /// A threshold is out of range.
    R5,
    /// A quota is out of range.
    R6,
    /// The schema is not the supported one.
    R7,
}

impl Rule {
    /// Returns the name of the rule.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::R1 => "R1",
            Self::R2 => "R2",
            Self::R3 => "R3",
            Self::R4 => "R4",
            Self::R5 => "R5",
            Self::R6 => "R6",
            Self::R7 => "R7",
        }
    }
}

/// Extent of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The entry that has the problem; the others stay.
    Entry,
    /// The whole file: it cannot be trusted.
    Registry,
}

/// Position in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the entry and its role, if it has one.
    pub entry: Option<(usize, Option<String>)>,
    /// Index of the version and its id, if it has one.
    pub version: Option<(usize, Option<String>)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, role)) = &self.entry {
            write!(f, "specialists[{number}]")?;
            if let Some(role) = role {
                write!(f, " (role={role:?})")?;
            }
        }
        if let Some((number, id)) = &self.version {
            write!(f, ".versions[{number}]")?;
            if let Some(id) = id {
                write!(f, " (id={id:?})")?;
            }
        }
        Ok(())
    }
}

/// Problem of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Rule that is violated, if it has a name.
    pub rule: Option<Rule>,
    /// Position of the problem.
    pub place: Place,
    /// Description of the problem.
    pub what: String,
    /// Extent of the refusal.
    pub refused: Refused,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rule, self.place.entry.is_some()) {
            (Some(rule), true) => write!(f, "{}: {} — {}", self.place, rule.name(), self.what),
            (Some(rule), false) => write!(f, "{}: {}", rule.name(), self.what),
            (None, true) => write!(f, "{}: {}", self.place, self.what),
            (None, false) => f.write_str(&self.what),
        }
    }
}

/// Returns the problems in one line, for a receipt.
#[must_use]
pub fn joined(problems: &[Problem]) -> String {
    let all: Vec<String> = problems.iter().take(20).map(Problem::to_string).collect();
    head(&all.join("; "), 2000).to_owned()
}
