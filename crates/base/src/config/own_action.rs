//! Actions that the user adds: `[[oversight.action]]`.

use oversight::actions::check_rule;
#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

/// One `[[oversight.action]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnAction {
    /// Its id, as in the grants. The id of an action that is gated already adds another way to perform it.
    #[serde(deserialize_with = "one_word")]
    pub id: String,
    /// The program's name, without directory; with `subcommand` and `harmless` the short form of a rule.
    #[serde(default)]
    pub program: String,
    /// Subcommands in order, with blanks between; `a|b` are alternatives, `*` is any word.
    #[serde(default)]
    pub subcommand: String,
    /// Options that make it harmless.
    #[serde(default)]
    pub harmless: Vec<String>,
    /// Rules in the syntax of the table of actions.
    #[serde(default)]
    pub rules: Vec<String>,
    /// `destructive` or `secrets`: its answer, instead of a grant that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<OwnSet>,
    /// Commands that must be recognised; `roleos doctor` tries them.
    #[serde(default)]
    pub must_match: Vec<String>,
    /// Commands that must not be recognised.
    #[serde(default)]
    pub must_not_match: Vec<String>,
    /// What it does, for people.
    #[serde(default)]
    pub label: String,
    /// What undoes it, as far as possible.
    #[serde(default)]
    pub compensator: String,
}

/// A set to which an action of the user's belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OwnSet {
    /// It needs a grant.
    Gated,
    /// Something is lost.
    Destructive,
    /// A secret is read.
    Secrets,
}

impl OwnAction {
    /// Returns its rules; the short form is one of them.
    pub(super) fn all_rules(&self) -> Vec<String> {
        let mut rules = self.rules.clone();
        if !self.program.is_empty() {
            let harmless: String = self.harmless.iter().map(|one| format!(" !{one}")).collect();
            rules.push(format!("{} {}{harmless}", self.program, self.subcommand));
        }
        rules
    }

    /// Checks that its rules can be parsed.
    fn checked(self) -> Result<Self, String> {
        let rules = self.all_rules();
        if rules.is_empty() {
            return Err(format!(
                "action `{}` has neither `program` nor `rules`",
                self.id
            ));
        }
        rules.iter().try_for_each(|rule| check_rule(rule))?;
        Ok(self)
    }
}

/// Parses actions and checks their rules.
pub(super) fn own_actions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<OwnAction>, D::Error> {
    let all = Vec::<OwnAction>::deserialize(deserializer)?;
    let checked = all.into_iter().map(OwnAction::checked);
    checked.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// Parses a name for a grant: one word, and not a path.
fn one_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bad = text.is_empty() || text.contains(|c: char| c.is_whitespace() || c == '/');
    if bad {
        let expected = &"one word without blanks and slashes";
        return Err(D::Error::invalid_value(Unexpected::Str(&text), expected));
    }
    Ok(text)
}
