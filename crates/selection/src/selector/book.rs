//! The selectors of all roles in one file, each with what it showed on the contests that were held out from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluation::{Evaluation, evaluate};
use super::examples::Split;
use super::{BadSelector, Selector};

/// The format of the file.
const FORMAT: &str = "roleos-selector/v1";

/// Fewer contests than this teach nothing about a role.
pub const LEAST_CONTESTS: usize = 10;

/// All selectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    format: String,
    roles: BTreeMap<String, Trained>,
}

/// The selector of one role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// What it showed when it was trained.
    pub evaluation: Evaluation,
    /// The selector.
    pub selector: Selector,
}

/// Why a new book may not simply replace an old one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Worse {
    /// It chooses worse on the same held-out contests.
    #[error(
        "on the {contests} held-out contests of `{role}` the new one reaches a mean reward of {new:.4}, the present one {old:.4}"
    )]
    Chooses {
        /// The role.
        role: String,
        /// How many contests were held out.
        contests: u64,
        /// What the present one reaches.
        old: f64,
        /// What the new one reaches.
        new: f64,
    },
    /// It knows nothing of a role any more.
    #[error("the new one knows nothing of `{0}`, the present one does")]
    Forgets(String),
}

impl Book {
    /// Trains a selector for each role with enough contests; the others are left out.
    #[must_use]
    pub fn train(roles: &BTreeMap<String, Split>) -> Self {
        let enough = roles
            .iter()
            .filter(|(_, split)| split.training.len() >= LEAST_CONTESTS);
        let trained = enough.map(|(role, split)| {
            let selector = Selector::train(&split.training);
            let evaluation = evaluate(Some(&selector), &split.held_out);
            let trained = Trained {
                evaluation,
                selector,
            };
            (role.clone(), trained)
        });
        Self {
            format: FORMAT.to_owned(),
            roles: trained.collect(),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// It is no book of ours, or damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadSelector> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        let unreadable = |error: serde_json::Error| BadSelector(error.to_string());
        let Head { format } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if format != FORMAT {
            let why = format!("its format is `{format}`, not `{FORMAT}`");
            return Err(BadSelector(why));
        }
        serde_json::from_slice(bytes).map_err(unreadable)
    }

    /// The file's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The selector of a role.
    #[must_use]
    pub fn of(&self, role: &str) -> Option<&Selector> {
        self.roles.get(role).map(|trained| &trained.selector)
    }

    /// All roles.
    #[must_use]
    pub fn roles(&self) -> &BTreeMap<String, Trained> {
        &self.roles
    }

    /// Whether this one is worse than the one that it would replace, on the contests held out from both.
    #[must_use]
    pub fn worse_than(&self, present: &Self, roles: &BTreeMap<String, Split>) -> Vec<Worse> {
        let mut worse = Vec::new();
        for role in present.roles.keys() {
            let Some(new) = self.of(role) else {
                worse.push(Worse::Forgets(role.clone()));
                continue;
            };
            let held_out = roles.get(role).map_or(&[][..], |split| &split.held_out);
            let before = evaluate(present.of(role), held_out);
            let after = evaluate(Some(new), held_out);
            if after.total() + 1e-9 < before.total() {
                worse.push(Worse::Chooses {
                    role: role.clone(),
                    contests: before.contests,
                    old: before.chosen_reward,
                    new: after.chosen_reward,
                });
            }
        }
        worse
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    fn split(from: usize, training: usize) -> Split {
        Split {
            training: (from..from + training).map(example).collect(),
            held_out: (900..960).map(example).collect(),
        }
    }

    fn roles(training: usize) -> BTreeMap<String, Split> {
        BTreeMap::from([("editor".to_owned(), split(0, training))])
    }

    #[test]
    fn the_same_log_gives_the_same_file_and_it_reads_back() {
        let text = Book::train(&roles(300)).to_json();
        assert_eq!(text, Book::train(&roles(300)).to_json());
        assert_eq!(
            Book::parse(text.as_bytes()).unwrap(),
            Book::train(&roles(300))
        );
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let text = Book::train(&roles(30)).to_json();
        for bad in [
            text.replace("selector/v1", "selector/v9"),
            text.replacen("\"models\":[\"music\",", "\"models\":[", 1),
            text.replacen("\"models\":[\"music\"", "\"models\":[\"zebra\"", 1),
            "{}".to_owned(),
            String::new(),
            text.replacen(":\"", ":\"zz", 4),
        ] {
            assert!(Book::parse(bad.as_bytes()).is_err(), "{bad:.80}");
        }
    }

    #[test]
    fn few_contests_teach_nothing() {
        assert!(Book::train(&roles(LEAST_CONTESTS - 1)).roles().is_empty());
        assert!(Book::train(&roles(LEAST_CONTESTS)).of("editor").is_some());
    }

    #[test]
    fn a_worse_one_is_told_from_a_better_one() {
        let good = Book::train(&roles(300));
        // Rewards turned around teach the wrong thing.
        let mut turned = roles(300);
        for example in &mut turned.get_mut("editor").unwrap().training {
            for reward in example.rewards.values_mut() {
                *reward = reward.map(|reward| -reward);
            }
        }
        let bad = Book::train(&turned);
        assert!(matches!(
            bad.worse_than(&good, &roles(300)).as_slice(),
            [Worse::Chooses { .. }]
        ));
        assert_eq!(good.worse_than(&bad, &roles(300)), []);
        assert_eq!(good.worse_than(&good, &roles(300)), []);
        let nothing = Book::train(&BTreeMap::new());
        assert_eq!(
            nothing.worse_than(&good, &BTreeMap::new()),
            [Worse::Forgets("editor".to_owned())]
        );
    }
}
