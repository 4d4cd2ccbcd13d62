//! What can be wrong with a registry, where, and whether the entry or the whole file falls for it.

use std::fmt;

use crate::text::head;

/// The named reasons for a refusal.
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
    /// The schema is another.
    R7,
}

impl Rule {
    /// Its name.
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

/// What falls for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The entry that has it; the others stand.
    Entry,
    /// All of it: what the file says as a whole cannot be believed.
    Registry,
}

/// Where in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the entry and its role, when it has one.
    pub entry: Option<(usize, Option<String>)>,
    /// Number of the version and its id, when it has one.
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

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its rule, when it has one.
    pub rule: Option<Rule>,
    /// Where.
    pub place: Place,
    /// What, in words.
    pub what: String,
    /// What falls for it.
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

/// The problems in one line, as a receipt tells them.
#[must_use]
pub fn joined(problems: &[Problem]) -> String {
    let all: Vec<String> = problems.iter().take(20).map(Problem::to_string).collect();
    head(&all.join("; "), 2000).to_owned()
}
